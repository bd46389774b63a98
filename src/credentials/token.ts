// The life of one access token, which is fetched when needed and again before it expires, by one request at a time. No request
// waits while it is valid. Warm path: one comparison of times per request.
//
//   none ── read ──> fetching ── issued ──> good ── most of its life is over, and read ──> good, being renewed
//   fetching ── fault ──> failed ── read, the delay is over ──> fetching         good ── expired ──> none
//   good ── rejected, and read ──> fetching ── fault ──> good, being renewed: another caller may still succeed with it
import { Backoff, limits } from '../shared/index.js';
import { isShareFault, type UpstreamFault } from '../http-client/index.js';
import type { IssuedToken } from './token-endpoint.js';

/** Least time between two replacements of an access token that a backend rejects. Within this time, the backend's 401 is passed on. */
export const TOKEN_RENEWAL_GAP_MS = 10_000;

/** The life of a token, by the clock of `issuedAtMs`. */
interface TokenLife {
  readonly goodUntilMs: number;
  readonly renewAtMs: number;
}

/** A token is renewed at a random time between these fractions of its life, so that many processes do not renew at once. */
const RENEWAL_FROM = 0.7;
const RENEWAL_UNTIL = 0.85;
/** How long before its end a token is no longer used: servers count lifetimes in whole seconds. */
const EXPIRY_MARGIN_MS = 1_000;

/** @param random a number from 0 up to 1. */
export function tokenLife(issuedAtMs: number, lifetimeMs: number, random: number): TokenLife {
  const lifeMs = Math.max(lifetimeMs / 2, lifetimeMs - EXPIRY_MARGIN_MS);
  const part = RENEWAL_FROM + (RENEWAL_UNTIL - RENEWAL_FROM) * random;
  return { goodUntilMs: issuedAtMs + lifeMs, renewAtMs: issuedAtMs + lifeMs * part };
}

/** Headers (name, value, …), or why they cannot be obtained. */
export type HeadersOrFault = readonly string[] | UpstreamFault;

export interface ClockAndRandom {
  nowMs(): number;
  /** A random number from 0 up to 1. */
  random(): number;
}

export class Token {
  readonly #fetch: (subject: string) => Promise<IssuedToken | UpstreamFault>;
  readonly #clock: ClockAndRandom;
  #headers: readonly string[] | undefined;
  #goodUntilMs = 0;
  #renewAtMs = 0;
  #fetching: Promise<HeadersOrFault> | undefined;
  /** The subject in whose share of connections the fetch counts. */
  #fetchingFor = '';
  /** The fault of the last fetch; `undefined` if it succeeded. */
  #fault: UpstreamFault | undefined;
  #retryAtMs = 0;
  #backoff: Backoff | undefined;
  /** The time from which on a rejected token may be replaced. */
  #replaceableAtMs = 0;
  /** Whether the backend has rejected the token, and there is no newer one. */
  #isRejected = false;

  constructor(fetch: (subject: string) => Promise<IssuedToken | UpstreamFault>, clock: ClockAndRandom) {
    this.#fetch = fetch;
    this.#clock = clock;
  }

  /** Gets the headers, the same array while the token is the same. @param subject the one in whose share a fetch would count. */
  read(subject: string): HeadersOrFault | Promise<HeadersOrFault> {
    const nowMs = this.#clock.nowMs();
    const good = this.#goodHeadersAt(nowMs);
    // If the token was rejected, the request waits for another one, unless the last fetch has failed.
    if (good !== undefined && (!this.#isRejected || this.#fault !== undefined)) {
      if ((this.#isRejected || nowMs >= this.#renewAtMs) && nowMs >= this.#retryAtMs) void this.#startFetch(subject);
      return good;
    }
    if (this.#fetching === undefined && this.#fault !== undefined && nowMs < this.#retryAtMs) return this.#fault;
    return this.#awaitFetch(this.#startFetch(subject), subject);
  }

  /** The headers with the last token; `undefined` if there was none. */
  get headers(): readonly string[] | undefined {
    return this.#headers;
  }

  /**
   * Called when the backend has rejected the token, which stays in use if no other can be obtained.
   * @returns whether to try again with another token. Limited in rate, so that a backend that rejects every token does not cause a fetch
   * for each request.
   */
  onRejected(headers: readonly string[]): boolean {
    if (this.#headers !== headers) return this.#headers !== undefined || this.#fetching !== undefined;
    if (!this.#isRejected) {
      const nowMs = this.#clock.nowMs();
      if (nowMs < this.#replaceableAtMs) return false;
      this.#replaceableAtMs = nowMs + TOKEN_RENEWAL_GAP_MS;
      this.#isRejected = true;
    }
    return this.#fault === undefined;
  }

  #goodHeadersAt(nowMs: number): readonly string[] | undefined {
    return nowMs < this.#goodUntilMs ? this.#headers : undefined;
  }

  #startFetch(subject: string): Promise<HeadersOrFault> {
    if (this.#fetching !== undefined) return this.#fetching;
    const requestedAtMs = this.#clock.nowMs();
    this.#fetchingFor = subject;
    this.#fetching = this.#fetch(subject).then((outcome) => this.#onFetched(outcome, requestedAtMs));
    return this.#fetching;
  }

  async #awaitFetch(fetching: Promise<HeadersOrFault>, subject: string): Promise<HeadersOrFault> {
    const isForAnother = subject !== this.#fetchingFor;
    const outcome = await fetching;
    if (!('kind' in outcome)) return outcome;
    // That another subject's share was used up is no reason to fail this subject.
    if (isForAnother && isShareFault(outcome)) return this.read(subject);
    return this.#goodHeadersAt(this.#clock.nowMs()) ?? outcome;
  }

  /** Takes the outcome of a fetch. @param requestedAtMs counts as the time of issue. */
  #onFetched(outcome: IssuedToken | UpstreamFault, requestedAtMs: number): HeadersOrFault {
    this.#fetching = undefined;
    if ('kind' in outcome) {
      this.#fail(outcome);
      return outcome;
    }
    this.#backoff?.reset();
    this.#fault = undefined;
    this.#isRejected = false;
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
      // A used-up share says nothing about the authorization server, so the fault is not kept. While the old token is good, no request
      // waits for the renewal: it is tried again after a delay.
      if (this.#goodHeadersAt(nowMs) !== undefined) this.#retryAtMs = nowMs + limits.retryDelayMsMin;
      return;
    }
    this.#backoff ??= new Backoff(limits.retryDelayMsMin, limits.retryDelayMsMax);
    this.#retryAtMs = nowMs + this.#backoff.nextDelayMsWithJitter(this.#clock.random());
    this.#fault = fault;
  }
}
