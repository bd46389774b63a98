// What one upstream session shows of its backend's auth: headers beside its own. Only sessions with such a backend have one.
// Warm: while they are known nothing waits for them.
import type { BackendAuth } from '../../user-config/auth.js';
import type { RequestMetadata } from '../http/request-metadata.js';
import type { UpstreamFault } from '../http/upstream-fault.js';
import type { NamedBackend } from './connect-links.js';
import { OAuthSource, type OAuthSourceMeans } from './oauth-source.js';
import type { CredentialRead } from './token.js';
import { UserSource } from './user-source.js';

/** Where they come from. @param metadata of the request that is to show them. */
interface CredentialSource {
  read(metadata: RequestMetadata): CredentialRead | Promise<CredentialRead>;
  /** As last read; none when they could not be had. */
  current(metadata: RequestMetadata): readonly string[];
  /** The backend does not take these. @returns whether it is worth another try. */
  refuse(headers: readonly string[]): boolean;
}

interface Joined {
  readonly headers: readonly string[];
  readonly shown: readonly string[];
  readonly together: readonly string[];
}

const NO_HEADERS: readonly string[] = [];

export class Credentials {
  readonly #source: CredentialSource;
  /** As last asked for. */
  #joined: Joined | undefined;

  /** @returns `undefined` for a backend that wants none. */
  static of(
    auth: BackendAuth | undefined,
    backend: NamedBackend,
    subject: string,
    means: OAuthSourceMeans,
  ): Credentials | undefined {
    return auth && new Credentials(sourceOf(auth, backend, subject, means));
  }

  private constructor(source: CredentialSource) {
    this.#source = source;
  }

  /** Brings them up to date. @returns why they cannot be had now, if so; without a promise when they are known. */
  refresh(metadata: RequestMetadata): UpstreamFault | undefined | Promise<UpstreamFault | undefined> {
    const read = this.#source.read(metadata);
    return read instanceof Promise ? read.then(faultOf) : faultOf(read);
  }

  /**
   * What is shown beside a request's own headers: they, as they were when last brought up to date, and what the caller has for
   * the backend. The same array for as long as all of it is the same, but for a caller that has something.
   */
  addTo(headers: readonly string[], metadata: RequestMetadata): readonly string[] {
    const shown = this.#source.current(metadata);
    const own = metadata.headers;
    if (this.#joined?.headers !== headers || this.#joined.shown !== shown) {
      this.#joined = { headers, shown, together: [...headers, ...shown] };
    }
    const { together } = this.#joined;
    return own.length === 0 ? together : [...together, ...own];
  }

  /** The backend has refused them (401). @returns whether `refresh` may bring others. */
  refuse(metadata: RequestMetadata): boolean {
    return this.#source.refuse(this.#source.current(metadata));
  }
}

function sourceOf(
  auth: BackendAuth,
  backend: NamedBackend,
  subject: string,
  means: OAuthSourceMeans,
): CredentialSource {
  const { origin } = backend.target;
  if (auth.type === 'headers') return new FixedSource(() => means.secrets.headersOf(auth, origin));
  if (auth.type === 'oauth2-user') return new UserSource(auth, backend, subject, means.users);
  return new OAuthSource(auth, origin, subject, means);
}

/** Headers whose values are secrets. */
class FixedSource implements CredentialSource {
  readonly #read: () => CredentialRead | Promise<CredentialRead>;
  #headers: readonly string[] | undefined;

  constructor(read: () => CredentialRead | Promise<CredentialRead>) {
    this.#read = read;
  }

  read(): CredentialRead | Promise<CredentialRead> {
    const read = this.#read();
    return read instanceof Promise ? read.then((late) => this.#keep(late)) : this.#keep(read);
  }

  current(): readonly string[] {
    // A session that another process has opened may have to say something before anybody asks whether it is open.
    if (this.#headers === undefined) void this.read();
    return this.#headers ?? NO_HEADERS;
  }

  /** There are no others. */
  refuse(): boolean {
    return false;
  }

  #keep(read: CredentialRead): CredentialRead {
    this.#headers = 'kind' in read ? NO_HEADERS : read;
    return read;
  }
}

function faultOf(read: CredentialRead): UpstreamFault | undefined {
  return 'kind' in read ? read : undefined;
}
