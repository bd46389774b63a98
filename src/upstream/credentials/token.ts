// One access token as it comes and goes: asked for when it is first needed, and again before it expires, by one request at a
// time. While it is good nobody waits. Warm: a comparison of times a request.
//
//   none ── read ──> fetching ── issued ──> good ── most of its life is over, and read ──> good, being renewed
//   fetching ── fault ──> failed ── read, the delay is over ──> fetching         good ── expired ──> none
//   good ── refused, and read ──> fetching ── fault ──> good, being renewed: another caller's path may still take it
import { Backoff } from '../../shared/backoff.js';
import { limits } from '../../shared/limits.js';
import { isShareFault, type UpstreamFault } from '../http/upstream-fault.js';
import type { IssuedToken } from './token-endpoint.js';

/** Headers: name, value, …; the fault when they cannot be had. */
export type CredentialRead = readonly string[] | UpstreamFault;

export interface TokenClock {
  nowMs(): number;
  /** From 0 to 1. */
  random(): number;
}

/** It is renewed somewhere between these parts of its life: tokens of many processes do not all end at once. */
const RENEWAL_FROM = 0.7;
const RENEWAL_UNTIL = 0.85;
/** Servers count in whole seconds, from when they made it. */
const MARGIN_MS = 1_000;

export class Token {
  readonly #fetch: (subject: string) => Promise<IssuedToken | UpstreamFault>;
  readonly #clock: TokenClock;
  #headers: readonly string[] | undefined;
  #goodUntilMs = 0;
  #renewAtMs = 0;
  #fetching: Promise<CredentialRead> | undefined;
  /** In whose share of connections. */
  #fetchingFor = '';
  /** Of the last fetch; `undefined` when it succeeded. */
  #fault: UpstreamFault | undefined;
  #retryAtMs = 0;
  /** Made for the first failure. */
  #backoff: Backoff | undefined;
  #replaceableAtMs = 0;
  /** Whether the backend did not take it, and there is no other one yet. */
  #isRefused = false;

  constructor(fetch: (subject: string) => Promise<IssuedToken | UpstreamFault>, clock: TokenClock) {
    this.#fetch = fetch;
    this.#clock = clock;
  }

  /** The same headers for as long as the token is the same. @param subject on whose behalf one is fetched, if so. */
  read(subject: string): CredentialRead | Promise<CredentialRead> {
    const nowMs = this.#clock.nowMs();
    const good = this.#goodAt(nowMs);
    // Another one in place of one that was refused is waited for, but not where the last fetch has failed.
    if (good !== undefined && (!this.#isRefused || this.#fault !== undefined)) {
      if ((this.#isRefused || nowMs >= this.#renewAtMs) && nowMs >= this.#retryAtMs) void this.#start(subject);
      return good;
    }
    if (this.#fetching === undefined && this.#fault !== undefined && nowMs < this.#retryAtMs) return this.#fault;
    return this.#wait(this.#start(subject), subject);
  }

  /** As last issued; nothing when none is known. */
  get headers(): readonly string[] | undefined {
    return this.#headers;
  }

  /**
   * The backend does not take it. Where no other one can be had it goes on being shown: it may be one path that does not.
   * @returns whether it is worth another try: another one is known, or may be asked for. Not often: a backend that takes none
   *   must not make us ask for one with each request.
   */
  refuse(headers: readonly string[]): boolean {
    if (this.#headers !== headers) return this.#headers !== undefined || this.#fetching !== undefined;
    if (!this.#isRefused) {
      const nowMs = this.#clock.nowMs();
      if (nowMs < this.#replaceableAtMs) return false;
      this.#replaceableAtMs = nowMs + limits.tokenRenewalGapMs;
      this.#isRefused = true;
    }
    return this.#fault === undefined;
  }

  #goodAt(nowMs: number): readonly string[] | undefined {
    return nowMs < this.#goodUntilMs ? this.#headers : undefined;
  }

  #start(subject: string): Promise<CredentialRead> {
    if (this.#fetching !== undefined) return this.#fetching;
    const askedAtMs = this.#clock.nowMs();
    this.#fetchingFor = subject;
    this.#fetching = this.#fetch(subject).then((outcome) => this.#settle(outcome, askedAtMs));
    return this.#fetching;
  }

  async #wait(fetching: Promise<CredentialRead>, subject: string): Promise<CredentialRead> {
    const isForAnother = subject !== this.#fetchingFor;
    const read = await fetching;
    if (!('kind' in read)) return read;
    // What another subject has used up is no reason for this one.
    if (isForAnother && isShareFault(read)) return this.read(subject);
    return this.#goodAt(this.#clock.nowMs()) ?? read;
  }

  /** @param askedAtMs from when on its life counts: it may have begun before its answer came. */
  #settle(outcome: IssuedToken | UpstreamFault, askedAtMs: number): CredentialRead {
    this.#fetching = undefined;
    if ('kind' in outcome) {
      this.#fail(outcome);
      return outcome;
    }
    this.#backoff?.reset();
    this.#fault = undefined;
    this.#isRefused = false;
    this.#retryAtMs = 0;
    this.#headers = outcome.headers;
    const lifeMs = Math.max(outcome.lifetimeMs / 2, outcome.lifetimeMs - MARGIN_MS);
    this.#goodUntilMs = askedAtMs + lifeMs;
    const part = RENEWAL_FROM + (RENEWAL_UNTIL - RENEWAL_FROM) * this.#clock.random();
    this.#renewAtMs = askedAtMs + lifeMs * part;
    return outcome.headers;
  }

  #fail(fault: UpstreamFault): void {
    const nowMs = this.#clock.nowMs();
    if (isShareFault(fault)) {
      // It says nothing of the authorization server: only a renewal, which nobody waits for, is put off.
      if (this.#goodAt(nowMs) !== undefined) this.#retryAtMs = nowMs + limits.tokenRetryDelayMsMin;
      return;
    }
    this.#backoff ??= new Backoff(limits.tokenRetryDelayMsMin, limits.tokenRetryDelayMsMax);
    this.#retryAtMs = nowMs + this.#backoff.nextSpread(this.#clock.random());
    this.#fault = fault;
  }
}
