// Whose keys verify a token: each issuer has its own, and a token of one is never tried with those of another. Cold but for
// one look-up for each token that was not seen before.
import type { TokenOptions } from '../config/dataplane-options.js';
import { limits } from '../shared/limits.js';
import type { Logger } from '../shared/logger.js';
import { IssuerKeys, type IssuerKeyBounds } from './issuer-keys.js';
import { KeyFiles } from './key-files.js';
import { fetchKeys } from './key-fetch.js';
import type { KeySet } from './key-set.js';

export interface KeySource {
  readonly keys: KeySet;
  /** Nobody has said which they are, or too long ago: a token of theirs is neither good nor bad. */
  readonly areUnknown?: boolean;
  /** Resolves when these are the newest that can be had. */
  renew?(): Promise<void>;
}

/**
 * @param obstacle why tokens of some issuer cannot be told good from bad, `''` once they can.
 * @param isInTheWay there is no key at all, of whatever issuer.
 */
export type KeyObstacleListener = (obstacle: string, isInTheWay: boolean) => void;

export class TokenKeys {
  readonly #files: KeyFiles;
  readonly #issuers = new Map<string, IssuerKeys>();
  readonly #sources = new Map<string, KeySource>();
  /** Called when a key is gone: what it has verified is good no more. */
  onLoss: () => void = () => {};
  /** Called when something gets in the way of an issuer's tokens, and when it no longer is. */
  onObstacle: KeyObstacleListener = () => {};

  constructor(options: TokenOptions, bounds: IssuerKeyBounds = limits) {
    this.#files = new KeyFiles(options, (before) => {
      this.#compare(this.#files.keys, before);
      this.#tellStanding();
    });
    for (const issuer of options.issuers) this.#sources.set(issuer, this.#files);
    for (const source of options.issuerKeys) {
      const keys: IssuerKeys = new IssuerKeys(source, {
        fetchKeys: () => fetchKeys(source, options.isPlainTextAllowed),
        graceMs: options.issuerKeyGraceMs,
        bounds,
        onChange: (before) => this.#compare(keys.keys, before),
        onStanding: () => this.#tellStanding(),
      });
      this.#issuers.set(source.issuer, keys);
      this.#sources.set(source.issuer, keys);
    }
  }

  /** No token can be good, now or later. */
  get isEmpty(): boolean {
    return this.#files.keys.isEmpty && this.#issuers.size === 0;
  }

  /** `undefined` for an issuer that nobody has configured. */
  of(issuer: string): KeySource | undefined {
    return this.#sources.get(issuer);
  }

  /** Resolves when the keys are as their files are; from then on they follow them. Those of issuers come when they come. */
  async watch(logger: Logger): Promise<void> {
    for (const keys of this.#issuers.values()) void keys.watch(logger);
    await this.#files.watch(logger);
  }

  close(): void {
    this.#files.close();
    for (const keys of this.#issuers.values()) keys.close();
  }

  #compare(keys: KeySet, before: KeySet): void {
    if (keys.lacksSomeOf(before)) this.onLoss();
  }

  #tellStanding(): void {
    this.onObstacle(this.#obstacle(), !this.#hasSome);
  }

  /** Tokens of some issuer can be told good from bad. */
  get #hasSome(): boolean {
    return !this.#files.keys.isEmpty || Array.from(this.#issuers.values()).some(({ keys }) => !keys.isEmpty);
  }

  #obstacle(): string {
    const all = Array.from(this.#issuers.values());
    const without = all.filter(({ areMissing }) => areMissing).length;
    if (without === 0) return '';
    const whose = all.length === 1 ? 'the keys of the issuer' : `the keys of ${without} of ${all.length} issuers`;
    return `${whose} in --token-jwks-url cannot be fetched (see the log); their tokens get 503`;
  }
}
