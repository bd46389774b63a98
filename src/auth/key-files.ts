// The keys that the options name files of, read again when a file has changed, so that keys are renewed without a restart. What
// cannot be read or used leaves the last good keys in place, and says so. Cold: looked at once a second, off the way of requests.
import { stat } from 'node:fs/promises';
import type { KeyPaths, TokenOptions } from '../config/dataplane-options.js';
import { readSecret, readTokenJwks, readTokenPublicKey, UnreadableFile } from '../config/files.js';
import { checked, keysOfJwks, keysOfPem, keysOfSecret } from '../config/verification-keys.js';
import { limits } from '../shared/limits.js';
import type { Logger } from '../shared/logger.js';
import { KeySet } from './key-set.js';

type KeyTexts = Pick<TokenOptions, 'publicKey' | 'secret' | 'jwks'>;

export class KeyFiles {
  readonly #paths: KeyPaths;
  readonly #onChange: (before: KeySet) => void;
  #keys: KeySet;
  /** Of the files as they were last read, good or not; `''` before the first look. */
  #readVersion = '';
  /** What was last said to be wrong with them, and in which version. */
  #complaint = '';
  /** Of the files at the last look: who writes one may not be done yet. */
  #seenVersion = '';
  #timer: NodeJS.Timeout | undefined = undefined;

  /** @param onChange hears the keys that were there before. */
  constructor(options: TokenOptions, onChange: (before: KeySet) => void) {
    this.#paths = options.keyPaths;
    this.#onChange = onChange;
    this.#keys = keysOf(options);
  }

  get keys(): KeySet {
    return this.#keys;
  }

  /** Resolves when the keys are as the files are now: the options may have been read long ago. */
  async watch(logger: Logger): Promise<void> {
    if (Object.values(this.#paths).every((path) => path === undefined)) return;
    this.#seenVersion = await this.#versionNow();
    await this.look(logger);
    const lookAgain = (): void => {
      this.#timer = setTimeout(() => void this.look(logger).finally(lookAgain), limits.keyFileCheckMs).unref();
    };
    lookAgain();
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  /** Reads the files when they have changed, and are the same as at the look before. */
  async look(logger: Logger): Promise<void> {
    const version = await this.#versionNow();
    const isSettled = version === this.#seenVersion;
    this.#seenVersion = version;
    if (!isSettled || version === this.#readVersion) return;
    try {
      this.#take(keysOf(read(this.#paths)), logger);
    } catch (error) {
      this.#complain(error, version, logger);
      // There may have been no descriptor for it, and there is one at the next look. What is in a file stays as it is.
      if (error instanceof Error && error.cause instanceof UnreadableFile) return;
    }
    this.#readVersion = version;
  }

  #complain(error: unknown, version: string, logger: Logger): void {
    const reason = error instanceof Error ? error.message : String(error);
    const complaint = `${version} ${reason}`;
    if (complaint === this.#complaint) return;
    this.#complaint = complaint;
    logger.error({ reason }, 'a changed file of token verification keys cannot be used; the previous keys stay in use');
  }

  #take(keys: KeySet, logger: Logger): void {
    const before = this.#keys;
    if (!keys.lacksSomeOf(before) && !before.lacksSomeOf(keys)) return;
    this.#keys = keys;
    logger.info({ keys: keys.size, before: before.size }, 'token verification keys have changed');
    this.#onChange(before);
  }

  async #versionNow(): Promise<string> {
    const versions = Object.values(this.#paths).map(async (path: string | undefined) => {
      if (path === undefined) return '';
      // Through the links that Kubernetes turns round.
      const status = await stat(path).catch(() => undefined);
      return status === undefined ? 'absent' : `${status.ino} ${status.size} ${status.mtimeMs} ${status.ctimeMs}`;
    });
    return (await Promise.all(versions)).join();
  }
}

/** Throws in words for a person. */
function read({ publicKey, secret, jwks }: KeyPaths): KeyTexts {
  return {
    publicKey:
      publicKey === undefined ? undefined : named('token-verification-public-key', publicKey, readTokenPublicKey).pem,
    secret: secret === undefined ? undefined : named('token-verification-secret-file', secret, readSecret).secret,
    jwks: jwks === undefined ? undefined : named('token-jwks-file', jwks, readTokenJwks).text,
  };
}

function named<File>(option: string, path: string, readFile: (path: string) => File): File {
  try {
    return readFile(path);
  } catch (error) {
    throw new Error(`--${option}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

function keysOf({ publicKey, secret, jwks }: KeyTexts): KeySet {
  const keys = [
    ...(publicKey === undefined ? [] : keysOfPem(publicKey)),
    ...(secret === undefined ? [] : keysOfSecret(secret)),
    ...(jwks === undefined ? [] : keysOfJwks(jwks, 'refused')),
  ];
  return new KeySet(checked(keys));
}
