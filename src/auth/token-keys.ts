// Which keys verify a token: each issuer has its own, and a token of one issuer is never tried with the keys of
// another. Cold path, except for one look-up for each token that was not seen before.
import type { TokenOptions } from '../config/dataplane-options.js';
import { limits } from '../shared/limits.js';
import type { Logger } from '../shared/logger.js';
import { IssuerKeys, type IssuerKeyBounds } from './issuer-keys.js';
import { KeyFiles } from './key-files.js';
import { fetchKeys } from './key-fetch.js';
import type { KeySet } from './key-set.js';

export interface KeySource {
  readonly keys: KeySet;
  /** The keys have never been fetched, or not recently enough: a token of this issuer can be neither accepted nor rejected. */
  readonly areUnknown?: boolean;
  /** Resolves when the keys are the newest available. */
  renew?(): Promise<void>;
}

/**
 * @param obstacle why tokens of some issuer cannot be verified; `''` once they can.
 * @param isInTheWay whether there is no key at all, of any issuer.
 */
export type KeyObstacleListener = (obstacle: string, isInTheWay: boolean) => void;

export class TokenKeys {
  readonly #files: KeyFiles;
  readonly #issuers = new Map<string, IssuerKeys>();
  readonly #sources = new Map<string, KeySource>();
  /** Called when a key is gone: tokens that it verified are no longer valid. */
  onLoss: () => void = () => {};
  /** Called when the keys of an issuer become unavailable, and when they are available again. */
  onObstacle: KeyObstacleListener = () => {};

  constructor(options: TokenOptions, bounds: IssuerKeyBounds & { readonly keyFileCheckMs?: number } = limits) {
    const onChange = (before: KeySet): void => {
      this.#compare(this.#files.keys, before);
      this.#tellStanding();
    };
    this.#files = new KeyFiles(options, onChange, bounds.keyFileCheckMs);
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

  /** Whether no token can be valid, now or later. */
  get isEmpty(): boolean {
    return this.#files.keys.isEmpty && this.#issuers.size === 0;
  }

  /** `undefined` for an issuer that is not configured. */
  of(issuer: string): KeySource | undefined {
    return this.#sources.get(issuer);
  }

  /** Resolves when the keys from files match their files, which they follow from then on. The issuers' keys are not waited for. */
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

  /** Whether there is at least one key. */
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
