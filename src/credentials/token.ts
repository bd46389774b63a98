// The life cycle of one access token. It is fetched when first needed and again before it expires, by one request at a time. While it is
// valid, no request waits. Warm path: one comparison of times per request.
//
//   none ── read ──> fetching ── issued ──> good ── most of its life is over, and read ──> good, being renewed
//   fetching ── fault ──> failed ── read, the delay is over ──> fetching         good ── expired ──> none
//   good ── refused, and read ──> fetching ── fault ──> good, being renewed: another caller's path may still take it
import { Backoff, limits } from '../shared/index.js';
import { isShareFault, type UpstreamFault } from '../http-client/index.js';
import type { IssuedToken } from './token-endpoint.js';

/** Least time between two replacements of an access token that a backend refused. If it refuses sooner, its 401 is passed on. */
export const TOKEN_RENEWAL_GAP_MS = 10_000;

/** Until when an access token is used, and when it is renewed: in milliseconds, on the clock of `issuedAtMs`. */
interface TokenLife {
  readonly goodUntilMs: number;
  readonly renewAtMs: number;
}

/** A token is renewed at a random point between these fractions of its life, so that many processes do not renew at once. */
const RENEWAL_FROM = 0.7;
const RENEWAL_UNTIL = 0.85;
/** A token is not used in the last second of its life, because servers count lifetimes in whole seconds. */
const MARGIN_MS = 1_000;

/** @param random from 0 up to 1. */
export function tokenLife(issuedAtMs: number, lifetimeMs: number, random: number): TokenLife {
  const lifeMs = Math.max(lifetimeMs / 2, lifetimeMs - MARGIN_MS);
  const part = RENEWAL_FROM + (RENEWAL_UNTIL - RENEWAL_FROM) * random;
  return { goodUntilMs: issuedAtMs + lifeMs, renewAtMs: issuedAtMs + lifeMs * part };
}

/** Headers: name, value, …; or the fault if they cannot be obtained. */
export type CredentialRead = readonly string[] | UpstreamFault;

export interface ClockAndRandom {
  nowMs(): number;
  /** From 0 up to 1. */
  random(): number;
}

export class Token {
  readonly #fetch: (subject: string) => Promise<IssuedToken | UpstreamFault>;
  readonly #clock: ClockAndRandom;
  #headers: readonly string[] | undefined;
  #goodUntilMs = 0;
  #renewAtMs = 0;
  #fetching: Promise<CredentialRead> | undefined;
  /** The subject whose share of connections the fetch in progress counts against. */
  #fetchingFor = '';
  /** The fault of the last fetch; `undefined` when it succeeded. */
  #fault: UpstreamFault | undefined;
  #retryAtMs = 0;
  /** `undefined` before the first failure. */
  #backoff: Backoff | undefined;
  /** From this time on, the token may be replaced if the backend rejects it. */
  #replaceableAtMs = 0;
  /** Whether the backend has rejected the token and there is no new one yet. */
  #isRefused = false;

  constructor(fetch: (subject: string) => Promise<IssuedToken | UpstreamFault>, clock: ClockAndRandom) {
    this.#fetch = fetch;
    this.#clock = clock;
  }

  /** Returns the same array as long as the token is the same. @param subject on whose behalf a fetch is made, if needed. */
  read(subject: string): CredentialRead | Promise<CredentialRead> {
    const nowMs = this.#clock.nowMs();
    const good = this.#goodAt(nowMs);
    // If the token was rejected, the request waits for another token, unless the last fetch has failed.
    if (good !== undefined && (!this.#isRefused || this.#fault !== undefined)) {
      if ((this.#isRefused || nowMs >= this.#renewAtMs) && nowMs >= this.#retryAtMs) void this.#start(subject);
      return good;
    }
    if (this.#fetching === undefined && this.#fault !== undefined && nowMs < this.#retryAtMs) return this.#fault;
    return this.#wait(this.#start(subject), subject);
  }

  /** The headers with the last token; `undefined` if there was none. */
  get headers(): readonly string[] | undefined {
    return this.#headers;
  }

  /**
   * The backend has rejected the token. If no other token can be obtained, this one stays in use: perhaps only one path rejects it.
   * @returns whether to try again, because another token is known or may be fetched. This is limited in rate: a backend that rejects every
   *   token must not cause a fetch for each request.
   */
  refuse(headers: readonly string[]): boolean {
    if (this.#headers !== headers) return this.#headers !== undefined || this.#fetching !== undefined;
    if (!this.#isRefused) {
      const nowMs = this.#clock.nowMs();
      if (nowMs < this.#replaceableAtMs) return false;
      this.#replaceableAtMs = nowMs + TOKEN_RENEWAL_GAP_MS;
      this.#isRefused = true;
    }
    return this.#fault === undefined;
  }

  #goodAt(nowMs: number): readonly string[] | undefined {
    return nowMs < this.#goodUntilMs ? this.#headers : undefined;
  }

  #start(subject: string): Promise<CredentialRead> {
    if (this.#fetching !== undefined) return this.#fetching;
    const requestedAtMs = this.#clock.nowMs();
    this.#fetchingFor = subject;
    this.#fetching = this.#fetch(subject).then((outcome) => this.#settle(outcome, requestedAtMs));
    return this.#fetching;
  }

  async #wait(fetching: Promise<CredentialRead>, subject: string): Promise<CredentialRead> {
    const isForAnother = subject !== this.#fetchingFor;
    const read = await fetching;
    if (!('kind' in read)) return read;
    // Another subject's exhausted share is no reason to fail this subject.
    if (isForAnother && isShareFault(read)) return this.read(subject);
    return this.#goodAt(this.#clock.nowMs()) ?? read;
  }

  /** @param requestedAtMs counts as the time of issue, which may be any time before the response arrived. */
  #settle(outcome: IssuedToken | UpstreamFault, requestedAtMs: number): CredentialRead {
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
    const { goodUntilMs, renewAtMs } = tokenLife(requestedAtMs, outcome.lifetimeMs, this.#clock.random());
    this.#goodUntilMs = goodUntilMs;
    this.#renewAtMs = renewAtMs;
    return outcome.headers;
  }

  #fail(fault: UpstreamFault): void {
    const nowMs = this.#clock.nowMs();
    if (isShareFault(fault)) {
      // A share fault says nothing about the authorization server, so it is not kept. A renewal that no request waits for is postponed.
      if (this.#goodAt(nowMs) !== undefined) this.#retryAtMs = nowMs + limits.retryDelayMsMin;
      return;
    }
    this.#backoff ??= new Backoff(limits.retryDelayMsMin, limits.retryDelayMsMax);
    this.#retryAtMs = nowMs + this.#backoff.nextSpread(this.#clock.random());
    this.#fault = fault;
  }
}
