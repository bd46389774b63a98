// Sign-ins that were begun: kept by the browsers that have begun them, sealed, so that nothing grows here with who begins and never
// ends. What has ended is remembered for as long as it could come again. Cold.
import { randomBytes } from 'node:crypto';
import { openText, sealText } from '../../secrets/sealed-text.js';
import { SecretKeys } from '../../secrets/secret-keys.js';
import { limits } from '../../shared/limits.js';
import { ControlPlaneFault } from '../common/control-plane-fault.js';

export interface BegunSignIn {
  readonly state: string;
  readonly nonce: string;
  /** Of PKCE. */
  readonly verifier: string;
  readonly untilMs: number;
}

const USE = 'console sign-in';
const KEY_BYTES = 32;

export class BegunSignIns {
  readonly #keys: SecretKeys;
  /** State → until when, the oldest first. */
  readonly #ended = new Map<string, number>();

  /** @param keys as the options have them; with none, only this process opens what it has sealed. */
  constructor(keys: readonly string[]) {
    this.#keys = new SecretKeys(keys.length > 0 ? keys : [randomBytes(KEY_BYTES).toString('base64')]);
  }

  /** @returns what the browser keeps. */
  seal(begun: BegunSignIn): string {
    const { first } = this.#keys;
    if (first === undefined) throw new Error('there is no key to seal with');
    return sealText(first, USE, JSON.stringify(begun)).toString('base64url');
  }

  /** Once for each. Throws a `ControlPlaneFault`. @param kept by the browser. @param state that has come back. */
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
      if (nowMs < oldUntilMs && this.#ended.size < limits.signInsEndedMax) break;
      this.#ended.delete(old);
    }
    this.#ended.set(state, untilMs);
  }
}

const NOT_HERE =
  'This sign-in was not started in this browser, was already completed, or was replaced by a newer one: sign in again.';
