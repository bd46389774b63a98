// Sign-ins in progress: each is sealed and kept by the browser that began it, so that abandoned ones take no memory
// here. Completed ones are remembered for as long as they could be replayed. Cold path.
import { randomBytes } from 'node:crypto';
import { openText, sealText } from '../../secrets/sealed-text.js';
import { SecretKeys } from '../../secrets/secret-keys.js';
import { ControlPlaneFault } from '../common/control-plane-fault.js';

/**
 * Sign-ins completed within `signInMs`, remembered so that none completes twice. Beyond it, the oldest is forgotten; its issuer accepts no
 * code twice.
 */
export const SIGN_INS_ENDED_MAX = 10_000;

export interface BegunSignIn {
  readonly state: string;
  readonly nonce: string;
  /** PKCE's code verifier. */
  readonly verifier: string;
  readonly untilMs: number;
}

const USE = 'console sign-in';
const KEY_BYTES = 32;

export class BegunSignIns {
  readonly #keys: SecretKeys;
  /** State → when the sign-in expires, the oldest first. */
  readonly #ended = new Map<string, number>();

  /** @param keys from the options; without any, only this process can open what it has sealed. */
  constructor(keys: readonly string[]) {
    this.#keys = new SecretKeys(keys.length > 0 ? keys : [randomBytes(KEY_BYTES).toString('base64')]);
  }

  /** @returns what the browser has to keep. */
  seal(begun: BegunSignIn): string {
    const { first } = this.#keys;
    if (first === undefined) throw new Error('there is no key to seal with');
    return sealText(first, USE, JSON.stringify(begun)).toString('base64url');
  }

  /** Takes each sign-in once. Throws a `ControlPlaneFault`. @param kept by the browser. @param state as the issuer sent it back. */
  take(kept: string, state: string, nowMs: number): BegunSignIn {
    const opened = openText(this.#keys, USE, Buffer.from(kept, 'base64url'));
    if (opened.kind !== 'opened') throw new ControlPlaneFault('sign-in-refused', NOT_HERE);
    const begun = JSON.parse(opened.text) as BegunSignIn;
    if (begun.state !== state) throw new ControlPlaneFault('sign-in-refused', NOT_HERE);
    if (nowMs >= begun.untilMs)
      throw new ControlPlaneFault('sign-in-refused', 'This sign-in has expired: sign in again.');
    if (this.#ended.has(state))
      throw new ControlPlaneFault('sign-in-refused', 'This sign-in was already completed: sign in again.');
    this.#remember(begun, nowMs);
    return begun;
  }

  #remember({ state, untilMs }: BegunSignIn, nowMs: number): void {
    for (const [old, oldUntilMs] of this.#ended) {
      if (nowMs < oldUntilMs && this.#ended.size < SIGN_INS_ENDED_MAX) break;
      this.#ended.delete(old);
    }
    this.#ended.set(state, untilMs);
  }
}

const NOT_HERE =
  'This sign-in was not started in this browser, was already completed, or was replaced by a newer one: sign in again.';
