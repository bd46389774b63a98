// The keys of one issuer, fetched every few minutes, and sooner when no key fits a token. If the issuer cannot be
// reached, its last keys stay in use for a limited time. Cold path, except for its getters.
import type { IssuerKeySource, VerificationKey } from '../config/index.js';
import { delayMsAfter, limits, type Logger } from '../shared/index.js';
import { KeySet } from './key-set.js';

export interface IssuerKeyBounds {
  readonly keyRefreshMs: number;
  readonly keyFetchCooldownMs: number;
  readonly retryDelayMsMin: number;
  readonly waitingMax: number;
}

interface IssuerKeysDependencies {
  readonly fetchKeys: () => Promise<readonly VerificationKey[]>;
  readonly graceMs: number;
  /** Called with the previous keys when the keys have changed. */
  readonly onChange: (before: KeySet) => void;
  /** Called when keys become known, are found to be missing, or become too old. */
  readonly onAvailabilityChange: () => void;
  readonly nowMs?: () => number;
  readonly bounds?: IssuerKeyBounds;
}

export class IssuerKeys {
  readonly #issuer: string;
  readonly #dependencies: Required<IssuerKeysDependencies>;
  #keys = KeySet.none;
  #areUnknown = true;
  #fetching: Promise<void> | undefined = undefined;
  #waiterCount = 0;
  #triedAtMs = -Infinity;
  #fetchedAtMs = 0;
  #failureCount = 0;
  #timer: NodeJS.Timeout | undefined = undefined;
  #logger: Logger | undefined = undefined;
  #isClosed = false;

  constructor({ issuer }: Pick<IssuerKeySource, 'issuer'>, dependencies: IssuerKeysDependencies) {
    this.#issuer = issuer;
    this.#dependencies = { nowMs: () => performance.now(), bounds: limits, ...dependencies };
  }

  get keys(): KeySet {
    return this.#keys;
  }

  /** Whether the keys were never fetched, or not within `graceMs`. An issuer that publishes no keys is known to have none. */
  get areUnknown(): boolean {
    return this.#areUnknown;
  }

  /** Whether a fetch failed and the keys are unknown. */
  get areMissing(): boolean {
    return this.#failureCount > 0 && this.#areUnknown;
  }

  /** Starts to fetch the keys. Resolves after the first try, successful or not. */
  watch(logger: Logger): Promise<void> {
    this.#logger = logger;
    return this.#fetch();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  /** Fetches the keys again, because none fits a token. Does nothing if the last fetch was just made, or too many callers wait. */
  async renew(): Promise<void> {
    const { nowMs, bounds } = this.#dependencies;
    const isTooSoon = nowMs() - this.#triedAtMs < bounds.keyFetchCooldownMs;
    if (this.#isClosed || this.#waiterCount >= bounds.waitingMax) return;
    if (this.#fetching === undefined && isTooSoon) return;
    this.#waiterCount += 1;
    await this.#fetch();
    this.#waiterCount -= 1;
  }

  /** Fetches the keys. Never rejects. */
  #fetch(): Promise<void> {
    this.#fetching ??= this.#fetchNow().finally(() => (this.#fetching = undefined));
    return this.#fetching;
  }

  async #fetchNow(): Promise<void> {
    const { fetchKeys, nowMs } = this.#dependencies;
    clearTimeout(this.#timer);
    try {
      const keys = new KeySet(await fetchKeys());
      this.#fetchedAtMs = nowMs();
      if (this.#failureCount > 0)
        this.#logger?.info({ issuer: this.#issuer }, 'keys of an issuer can be fetched again');
      this.#failureCount = 0;
      this.#onKeysFetched(keys);
    } catch (error) {
      this.#failureCount += 1;
      this.#onFetchFailed(error instanceof Error ? error.message : String(error));
    }
    this.#triedAtMs = nowMs();
    if (!this.#isClosed) this.#timer = setTimeout(() => void this.#fetch(), this.#nextFetchDelayMs()).unref();
  }

  #onKeysFetched(keys: KeySet): void {
    const before = this.#keys;
    const wereUnknown = this.#areUnknown;
    this.#areUnknown = false;
    const haveChanged = keys.lacksSomeOf(before) || before.lacksSomeOf(keys);
    if (haveChanged || wereUnknown) this.#logChange(keys, before);
    if (haveChanged) {
      this.#keys = keys;
      this.#dependencies.onChange(before);
    }
    if (wereUnknown) this.#dependencies.onAvailabilityChange();
  }

  #logChange(keys: KeySet, before: KeySet): void {
    const fields = { issuer: this.#issuer, keys: keys.size, before: before.size };
    if (!keys.isEmpty) this.#logger?.info(fields, 'keys of an issuer have changed');
    else this.#logger?.warn(fields, 'an issuer publishes no key that can verify tokens: all of its tokens are refused');
  }

  #onFetchFailed(reason: string): void {
    const before = this.#keys;
    const isGraceOver = this.#dependencies.nowMs() - this.#fetchedAtMs > this.#dependencies.graceMs;
    const fields = { issuer: this.#issuer, reason, keys: before.size };
    // Only the beginning and the end of an outage are logged.
    if (this.#failureCount === 1) this.#logger?.warn(fields, 'keys of an issuer cannot be fetched; retrying');
    if (this.#areUnknown) {
      if (this.#failureCount === 1) this.#dependencies.onAvailabilityChange();
      return;
    }
    if (!isGraceOver) return;
    this.#keys = KeySet.none;
    this.#areUnknown = true;
    this.#logger?.error(
      fields,
      'keys of an issuer are too old to be used: they could not be fetched within --token-jwks-grace',
    );
    this.#dependencies.onChange(before);
    this.#dependencies.onAvailabilityChange();
  }

  /** The wait before the next fetch. It grows with failures, so that a recovering issuer is not overrun. */
  #nextFetchDelayMs(): number {
    const { keyRefreshMs, retryDelayMsMin, keyFetchCooldownMs } = this.#dependencies.bounds;
    if (this.#failureCount === 0) return keyRefreshMs;
    return delayMsAfter(this.#failureCount - 1, retryDelayMsMin, keyFetchCooldownMs);
  }
}
