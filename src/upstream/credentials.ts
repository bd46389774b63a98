// What one upstream session shows of its backend's auth: headers beside its own. Only sessions with such a backend have one.
import type { CompiledBackend } from '../user-config/compiled-config.js';
import type { Secrets } from './secrets.js';
import type { UpstreamFault } from './upstream-fault.js';

interface Joined {
  readonly headers: readonly string[];
  readonly secrets: readonly string[];
  readonly together: readonly string[];
}

/** Headers: name, value, …; the fault when they cannot be had. */
export type CredentialRead = readonly string[] | UpstreamFault;

const NO_HEADERS: readonly string[] = [];

export class Credentials {
  readonly #read: () => CredentialRead | Promise<CredentialRead>;
  /** As last read. */
  #headers: readonly string[] | undefined;
  /** As last asked for. */
  #joined: Joined | undefined;

  /** @returns `undefined` for a backend that wants none. */
  static of({ auth, target }: CompiledBackend, secrets: Secrets): Credentials | undefined {
    return auth && new Credentials(() => secrets.headersOf(auth, target.origin));
  }

  private constructor(read: () => CredentialRead | Promise<CredentialRead>) {
    this.#read = read;
  }

  /** Brings them up to date. @returns why they cannot be had now, if so; without a promise when they are known. */
  refresh(): UpstreamFault | undefined | Promise<UpstreamFault | undefined> {
    const read = this.#read();
    return read instanceof Promise ? read.then((late) => this.#keep(late)) : this.#keep(read);
  }

  /** Name, value, …, as they were when last brought up to date; none when they could not be had. */
  get headers(): readonly string[] {
    // A session that another process has opened may have to say something before anybody asks whether it is open.
    if (this.#headers === undefined) void this.refresh();
    return this.#headers ?? NO_HEADERS;
  }

  /** @returns these headers and its own: the same array for as long as both are the same. */
  addTo(headers: readonly string[]): readonly string[] {
    const secrets = this.headers;
    if (this.#joined?.headers === headers && this.#joined.secrets === secrets) return this.#joined.together;
    const together = [...headers, ...secrets];
    this.#joined = { headers, secrets, together };
    return together;
  }

  #keep(read: CredentialRead): UpstreamFault | undefined {
    if ('kind' in read) {
      this.#headers = NO_HEADERS;
      return read;
    }
    this.#headers = read;
    return undefined;
  }
}
