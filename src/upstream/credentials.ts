// What one upstream session shows of its backend's auth: headers beside its own. Only sessions with such a backend have one.
import type { CompiledBackend } from '../user-config/compiled-config.js';
import type { Secrets } from './secrets.js';
import type { UpstreamFault } from './upstream-fault.js';

interface Joined {
  readonly headers: readonly string[];
  readonly secrets: readonly string[];
  readonly together: readonly string[];
}

const NO_HEADERS: readonly string[] = [];

export class Credentials {
  readonly #read: () => readonly string[] | UpstreamFault;
  /** As last asked for. */
  #joined: Joined | undefined;

  /** @returns `undefined` for a backend that wants none. */
  static of({ auth, target }: CompiledBackend, secrets: Secrets): Credentials | undefined {
    return auth && new Credentials(() => secrets.headersOf(auth, target.origin));
  }

  private constructor(read: () => readonly string[] | UpstreamFault) {
    this.#read = read;
  }

  /** Why they cannot be had now, if so. */
  get fault(): UpstreamFault | undefined {
    const read = this.#read();
    return 'kind' in read ? read : undefined;
  }

  /** Name, value, …; none when they cannot be had. */
  get headers(): readonly string[] {
    const read = this.#read();
    return 'kind' in read ? NO_HEADERS : read;
  }

  /** @returns these headers and its own: the same array for as long as both are the same. */
  addTo(headers: readonly string[]): readonly string[] {
    const secrets = this.headers;
    if (this.#joined?.headers === headers && this.#joined.secrets === secrets) return this.#joined.together;
    const together = [...headers, ...secrets];
    this.#joined = { headers, secrets, together };
    return together;
  }
}
