// Secrets that backends want to see. Those that the operator keeps as files of one directory, as systemd's credentials and
// Kubernetes' secrets are, are read when first needed, and again once they have changed, so that a new one is obeyed a second
// later; those of the store are as new as the store. Warm: a look at a map a request for backends that want one; nobody else
// comes here.
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { limits } from '../../shared/limits.js';
import { RecentMap } from '../../shared/recent-map.js';
import type { StoredSecretRead, StoredSecrets } from '../../secrets/stored-secrets.js';
import { HOSTS_FILE_SUFFIX, isSecretValue } from '../../shared/secret-name.js';
import type { HeadersAuth, SecretReference } from '../../user-config/auth.js';
import { upstreamFault, type UpstreamFault } from '../http/upstream-fault.js';

/** As it was last read. */
interface SecretFile {
  /** `undefined` when it cannot be used. */
  readonly text: string | undefined;
  /** What is wrong with it, for the log; names no secret. */
  readonly fault: string;
  /** Another one when the file is another. */
  readonly stamp: string;
  checkedAtMs: number;
}

interface AuthHeaders {
  readonly texts: readonly string[];
  /** Name, value, …: the same array for as long as the secrets are the same. */
  readonly headers: readonly string[];
}

/** A secret's text; the fault when it cannot be had. */
export type SecretText = string | UpstreamFault;

const ABSENT = 'absent';

export class Secrets {
  readonly #directory: string | undefined;
  readonly #nowMs: () => number;
  readonly #stored: Pick<StoredSecrets, 'read'> | undefined;
  readonly #files = new RecentMap<SecretFile>(
    limits.secretsKnownMax,
    limits.secretsKnownMax * limits.secretBytesMax,
    ({ text = '' }) => text.length,
  );
  readonly #headers = new WeakMap<HeadersAuth, AuthHeaders>();

  /**
   * @param directory of files; without one nothing that is in a file can be had.
   * @param stored those of the store; without them nothing that is there can be had.
   */
  constructor(directory: string | undefined, nowMs: () => number, stored?: Pick<StoredSecrets, 'read'>) {
    this.#directory = directory;
    this.#nowMs = nowMs;
    this.#stored = stored;
  }

  /**
   * Without a promise, but for what the store has to be asked for.
   * @param origin of the backend: a secret that names where it may go goes nowhere else.
   * @returns headers, name, value, …; the fault when one of their secrets cannot be had.
   */
  headersOf(
    auth: HeadersAuth,
    origin: string,
  ): readonly string[] | UpstreamFault | Promise<readonly string[] | UpstreamFault> {
    const texts: string[] = [];
    for (const reference of Object.values(auth.headers)) {
      const text = this.textOf(reference, origin);
      if (text instanceof Promise) return this.#headersLater(auth, origin);
      if (typeof text !== 'string') return text;
      texts.push(text);
    }
    return this.#headersWith(auth, texts);
  }

  async #headersLater(auth: HeadersAuth, origin: string): Promise<readonly string[] | UpstreamFault> {
    const texts: SecretText[] = [];
    for (const reference of Object.values(auth.headers)) texts.push(await this.textOf(reference, origin));
    const fault = texts.find((text) => typeof text !== 'string');
    return fault ?? this.#headersWith(auth, texts.map(String));
  }

  #headersWith(auth: HeadersAuth, texts: readonly string[]): readonly string[] {
    const known = this.#headers.get(auth);
    if (known?.texts.every((text, index) => text === texts[index]) === true) return known.headers;
    const headers = Object.keys(auth.headers).flatMap((name, index) => [name.toLowerCase(), texts[index] ?? '']);
    this.#headers.set(auth, { texts, headers });
    return headers;
  }

  /** @param origins to all of which it is to go. */
  textOf(reference: SecretReference, ...origins: readonly string[]): SecretText | Promise<SecretText> {
    if ('file' in reference) return this.#textOfFile(reference.file, origins);
    const { secret: name } = reference;
    if (this.#stored === undefined) return upstreamFault('secret-keys-missing', true);
    const read = this.#stored.read(name);
    return read instanceof Promise
      ? read.then((late) => textOfStored(name, late, origins))
      : textOfStored(name, read, origins);
  }

  #textOfFile(file: string, origins: readonly string[]): SecretText {
    if (this.#directory === undefined) return upstreamFault('secrets-off', true);
    const { text, fault } = this.#read(this.#directory, file);
    if (text === undefined) return { kind: 'secret-unreadable', isUnsent: true, logDetail: `(${file}: ${fault})` };
    for (const origin of origins) {
      if (!this.#mayGoTo(this.#directory, file, origin)) return withheld(file);
    }
    return text;
  }

  #mayGoTo(directory: string, file: string, origin: string): boolean {
    const { text, stamp } = this.#read(directory, file + HOSTS_FILE_SUFFIX);
    // One that is there and cannot be read withholds its secret from everybody.
    return stamp === ABSENT || (text ?? '').split(/\s+/).includes(origin.slice(origin.indexOf('//') + 2));
  }

  #read(directory: string, name: string): SecretFile {
    const nowMs = this.#nowMs();
    const known = this.#files.get(name);
    if (known !== undefined && nowMs - known.checkedAtMs < limits.secretCheckMs) return known;
    const path = join(directory, name);
    const found = stampOf(path);
    if (known !== undefined && known.stamp === found.stamp) {
      known.checkedAtMs = nowMs;
      return known;
    }
    const file = {
      ...readSecret(path, found, name.endsWith(HOSTS_FILE_SUFFIX)),
      stamp: found.stamp,
      checkedAtMs: nowMs,
    };
    this.#files.set(name, file);
    return file;
  }
}

function textOfStored(name: string, read: StoredSecretRead, origins: readonly string[]): SecretText {
  if (read.kind === 'failed')
    return { kind: 'secret-unreadable', isUnsent: true, logDetail: `(${name}: ${read.reason})` };
  const { secret } = read;
  if (secret.origins === 'any') return secret.value;
  for (const origin of origins) if (!secret.origins.includes(origin)) return withheld(name);
  return secret.value;
}

function withheld(name: string): UpstreamFault {
  return { kind: 'secret-withheld', isUnsent: true, logDetail: `(${name})` };
}

interface FoundFile {
  readonly stamp: string;
  readonly fault?: string;
}

function stampOf(path: string): FoundFile {
  try {
    const { mtimeMs, ctimeMs, size, ino } = statSync(path);
    // What is no file might keep the process waiting.
    if (!statSync(path).isFile()) return { stamp: 'no file', fault: 'is no file' };
    if (size > limits.secretBytesMax)
      return { stamp: `${size}`, fault: `is larger than ${limits.secretBytesMax} bytes` };
    return { stamp: `${ino} ${size} ${mtimeMs} ${ctimeMs}` };
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    return code === 'ENOENT'
      ? { stamp: ABSENT, fault: 'is not there' }
      : { stamp: code, fault: `cannot be read: ${code}` };
  }
}

function readSecret(path: string, { fault }: FoundFile, isList: boolean): Pick<SecretFile, 'text' | 'fault'> {
  if (fault !== undefined) return { text: undefined, fault };
  try {
    const text = readFileSync(path, 'latin1').replace(/\r?\n$/, '');
    if (isList || isSecretValue(text)) return { text, fault: '' };
    return { text: undefined, fault: 'is not a valid header value: one line of ASCII, without spaces around it' };
  } catch (error) {
    return { text: undefined, fault: `cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}` };
  }
}
