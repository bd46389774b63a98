// Whose keys verify a token: each issuer has its own, and a token of one is never tried with those of another. Cold but for
// one look-up for each token that was not seen before.
import type { TokenOptions } from '../config/dataplane-options.js';
import type { Logger } from '../shared/logger.js';
import { KeyFiles } from './key-files.js';
import type { KeySet } from './key-set.js';

export class TokenKeys {
  readonly #files: KeyFiles;
  readonly #fileIssuers: ReadonlySet<string>;
  /** Called when a key is gone: what it has verified is good no more. */
  onLoss: () => void = () => {};

  constructor(options: TokenOptions) {
    this.#files = new KeyFiles(options, (before) => {
      if (this.#files.keys.lacksSomeOf(before)) this.onLoss();
    });
    this.#fileIssuers = new Set(options.issuers);
  }

  /** No token can be good. */
  get isEmpty(): boolean {
    return this.#files.keys.isEmpty;
  }

  /** `undefined` for an issuer that nobody has configured. */
  of(issuer: string): KeySet | undefined {
    return this.#fileIssuers.has(issuer) ? this.#files.keys : undefined;
  }

  /** Resolves when the keys are as their files are; from then on they follow them. */
  async watch(logger: Logger): Promise<void> {
    await this.#files.watch(logger);
  }

  close(): void {
    this.#files.close();
  }
}
