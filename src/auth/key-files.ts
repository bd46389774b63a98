// The keys in the files that the options name, read again when a file changes, without a restart. If a file cannot be used, the
// previous keys stay in use. Cold path: checked once a second.
import { stat } from 'node:fs/promises';
import {
  type KeyPaths,
  type TokenOptions,
  readTokenSecret,
  readTokenJwks,
  readTokenPublicKey,
  UnreadableFile,
  checkedKeys,
  keysOfJwks,
  keysOfPem,
  keysOfSecret,
} from '../config/index.js';
import type { Logger } from '../shared/index.js';
import { KeySet } from './key-set.js';

/** Interval between checks of the files. Changed files are read once they look the same at two checks in a row. */
const KEY_FILE_CHECK_MS = 1_000;

type KeyTexts = Pick<TokenOptions, 'publicKey' | 'secret' | 'jwks'>;

export class KeyFiles {
  readonly #paths: KeyPaths;
  readonly #onChange: (before: KeySet) => void;
  readonly #onFault: () => void;
  readonly #checkIntervalMs: number;
  #keys: KeySet;
  /** Why the present files cannot be used; `''` if they can. */
  fault = '';
  /** The version of the files as last read, valid or not. */
  #usedVersion = '';
  /** The version of the files about which `fault` was logged. */
  #faultVersion = '';
  /** The version of the files at the last check. While it changes, their writer may not be done. */
  #checkedVersion = '';
  #timer: NodeJS.Timeout | undefined = undefined;

  /** @param onChange receives the previous keys. @param onFault called when `fault` may have changed. */
  constructor(
    options: TokenOptions,
    onChange: (before: KeySet) => void,
    onFault: () => void,
    checkIntervalMs: number = KEY_FILE_CHECK_MS,
  ) {
    this.#paths = options.keyPaths;
    this.#onChange = onChange;
    this.#onFault = onFault;
    this.#checkIntervalMs = checkIntervalMs;
    this.#keys = keySetOf(options);
  }

  get keys(): KeySet {
    return this.#keys;
  }

  /** Watches the files. Resolves after a first check, as they may have changed since the options were read. */
  async watch(logger: Logger): Promise<void> {
    if (Object.values(this.#paths).every((path) => path === undefined)) return;
    this.#checkedVersion = await this.#readVersion();
    await this.check(logger);
    const checkLater = (): void => {
      this.#timer = setTimeout(() => void this.check(logger).finally(checkLater), this.#checkIntervalMs).unref();
    };
    checkLater();
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  /** Reads the files if they have changed since they were read, but not since the last check. */
  async check(logger: Logger): Promise<void> {
    const version = await this.#readVersion();
    const isUnchanged = version === this.#checkedVersion;
    this.#checkedVersion = version;
    if (!isUnchanged || version === this.#usedVersion) return;
    try {
      this.#replaceKeys(keySetOf(readKeyTexts(this.#paths)), logger);
      this.#noteFault('');
    } catch (error) {
      this.#reportError(error, version, logger);
      // A read error may be temporary, so the next check tries again. Invalid content is read again only after a change.
      if (error instanceof Error && error.cause instanceof UnreadableFile) return;
    }
    this.#usedVersion = version;
  }

  #reportError(error: unknown, version: string, logger: Logger): void {
    const reason = error instanceof Error ? error.message : String(error);
    if (reason === this.fault && version === this.#faultVersion) return;
    this.#faultVersion = version;
    logger.error({ reason }, 'a changed file of token verification keys cannot be used; the previous keys stay in use');
    this.#noteFault(reason);
  }

  #noteFault(fault: string): void {
    this.fault = fault;
    this.#onFault();
  }

  #replaceKeys(keys: KeySet, logger: Logger): void {
    const before = this.#keys;
    if (!keys.lacksSomeOf(before) && !before.lacksSomeOf(keys)) return;
    this.#keys = keys;
    logger.info({ keys: keys.size, before: before.size }, 'token verification keys have changed');
    this.#onChange(before);
  }

  async #readVersion(): Promise<string> {
    const versions = Object.values(this.#paths).map(async (path: string | undefined) => {
      // Unlike `lstat`, `stat` follows the symbolic links that Kubernetes swaps.
      const status = path === undefined ? undefined : await stat(path).catch(() => undefined);
      return status === undefined ? '' : `${status.ino} ${status.size} ${status.mtimeMs} ${status.ctimeMs}`;
    });
    return (await Promise.all(versions)).join();
  }
}

/** Reads the files. Throws an error whose message is for the operator. */
function readKeyTexts({ publicKey, secret, jwks }: KeyPaths): KeyTexts {
  return {
    publicKey:
      publicKey === undefined
        ? undefined
        : readOptionFile('token-verification-public-key', publicKey, readTokenPublicKey).pem,
    secret:
      secret === undefined
        ? undefined
        : readOptionFile('token-verification-secret-file', secret, readTokenSecret).secret,
    jwks: jwks === undefined ? undefined : readOptionFile('token-jwks-file', jwks, readTokenJwks).text,
  };
}

function readOptionFile<Content>(option: string, path: string, readFile: (path: string) => Content): Content {
  try {
    return readFile(path);
  } catch (error) {
    throw new Error(`--${option}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

function keySetOf({ publicKey, secret, jwks }: KeyTexts): KeySet {
  const keys = [
    ...(publicKey === undefined ? [] : keysOfPem(publicKey)),
    ...(secret === undefined ? [] : keysOfSecret(secret)),
    ...(jwks === undefined ? [] : keysOfJwks(jwks, 'operator')),
  ];
  return new KeySet(checkedKeys(keys));
}
