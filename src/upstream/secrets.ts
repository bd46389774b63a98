// Secrets that the operator keeps as files of one directory, as systemd's credentials and Kubernetes' secrets are: read when
// first needed, and again once they have changed, so that a new one is obeyed a second later. Warm: a look at a map a request
// for backends that want one; nobody else comes here.
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { limits } from '../shared/limits.js';
import { RecentMap } from '../shared/recent-map.js';
import { HOSTS_FILE_SUFFIX, type BackendAuth } from '../user-config/auth.js';
import { upstreamFault, type UpstreamFault } from './upstream-fault.js';

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

const ABSENT = 'absent';
/** A header's value that every server takes. */
const HEADER_VALUE = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;

export class Secrets {
  readonly #directory: string | undefined;
  readonly #nowMs: () => number;
  readonly #files = new RecentMap<SecretFile>(
    limits.secretsKnownMax,
    limits.secretsKnownMax * limits.secretBytesMax,
    ({ text = '' }) => text.length,
  );
  readonly #headers = new WeakMap<BackendAuth, AuthHeaders>();

  constructor(directory: string | undefined, nowMs: () => number) {
    this.#directory = directory;
    this.#nowMs = nowMs;
  }

  /**
   * @param origin of the backend: a secret that names its hosts goes nowhere else.
   * @returns headers, name, value, …; the fault when one of their secrets cannot be had.
   */
  headersOf(auth: BackendAuth, origin: string): readonly string[] | UpstreamFault {
    if (this.#directory === undefined) return upstreamFault('secrets-off', true);
    const texts: string[] = [];
    for (const { file } of Object.values(auth.headers)) {
      const { text, fault } = this.#read(this.#directory, file);
      if (text === undefined) return { kind: 'secret-unreadable', isUnsent: true, logDetail: `(${file}: ${fault})` };
      if (!this.#mayGoTo(this.#directory, file, origin))
        return { kind: 'secret-withheld', isUnsent: true, logDetail: `(${file})` };
      texts.push(text);
    }
    const known = this.#headers.get(auth);
    if (known?.texts.every((text, index) => text === texts[index]) === true) return known.headers;
    const headers = Object.keys(auth.headers).flatMap((name, index) => [name.toLowerCase(), texts[index] ?? '']);
    this.#headers.set(auth, { texts, headers });
    return headers;
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
    if (isList || HEADER_VALUE.test(text)) return { text, fault: '' };
    return { text: undefined, fault: 'is no value of a header: one line of ASCII, without spaces around it' };
  } catch (error) {
    return { text: undefined, fault: `cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}` };
  }
}
