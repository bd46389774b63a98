// The headers that one upstream session adds to its requests because of its backend's `auth`. Warm path: nothing waits while
// the credentials are known.
import type { BackendAuth } from '../user-config/index.js';
import { type RequestMetadata, type UpstreamFault, upstreamFault } from '../http-client/index.js';
import type { NamedBackend } from './connect-links.js';
import { OAuthSource, type OAuthSourceDependencies } from './oauth-source.js';
import type { HeadersOrFault } from './token.js';
import { userGrantKey } from './user-tokens.js';

/** Where a backend's credentials come from. `metadata` is that of the request that gets the headers. */
interface CredentialSource {
  read(metadata: RequestMetadata): HeadersOrFault | Promise<HeadersOrFault>;
  /** The headers as last obtained; empty if the last attempt failed. */
  currentHeaders(metadata: RequestMetadata): readonly string[];
  /** Called when the backend has rejected these headers. @returns whether another attempt may succeed. */
  onRejected(headers: readonly string[]): boolean;
}

interface JoinedHeaders {
  readonly headers: readonly string[];
  readonly credentials: readonly string[];
  readonly all: readonly string[];
}

const NO_HEADERS: readonly string[] = [];

export class Credentials {
  readonly #source: CredentialSource;
  /** Makes a link where the user consents to a scope in addition; `undefined` without such a consent. */
  readonly connect: ((missingScope: string) => string | undefined) | undefined;
  #joined: JoinedHeaders | undefined;

  /** The credentials for a backend; `undefined` if it has no `auth`. */
  static of(
    auth: BackendAuth | undefined,
    backend: NamedBackend,
    subject: string,
    dependencies: OAuthSourceDependencies,
  ): Credentials | undefined {
    const connect =
      auth?.type === 'oauth2-user'
        ? (scope: string) => dependencies.users.links.linkTo(backend, auth, subject, scope)
        : undefined;
    return auth && new Credentials(sourceOf(auth, backend, subject, dependencies), connect);
  }

  /** Credentials that never change; `undefined` for none. @param headers name, value, … */
  static ofHeaders(headers: readonly string[]): Credentials | undefined {
    const read = (): readonly string[] => headers;
    return headers.length === 0 ? undefined : new Credentials({ read, currentHeaders: read, onRejected: () => false });
  }

  private constructor(source: CredentialSource, connect?: Credentials['connect']) {
    this.#source = source;
    this.connect = connect;
  }

  /** Updates the credentials, synchronously if they are known. @returns the fault if they cannot be obtained now. */
  refresh(metadata: RequestMetadata): UpstreamFault | undefined | Promise<UpstreamFault | undefined> {
    const outcome = this.#source.read(metadata);
    return outcome instanceof Promise ? outcome.then(faultOf) : faultOf(outcome);
  }

  /**
   * The given headers, the credentials as last refreshed, and the caller's headers for this backend. The array is the same while nothing
   * changes, unless the caller has headers.
   */
  addTo(headers: readonly string[], metadata: RequestMetadata): readonly string[] {
    const credentials = this.#source.currentHeaders(metadata);
    const callerHeaders = metadata.headers;
    if (this.#joined?.headers !== headers || this.#joined.credentials !== credentials) {
      this.#joined = { headers, credentials, all: [...headers, ...credentials] };
    }
    const { all } = this.#joined;
    return callerHeaders.length === 0 ? all : [...all, ...callerHeaders];
  }

  /** Called when the backend has rejected the credentials (401). @returns whether `refresh` may bring others. */
  onRejected(metadata: RequestMetadata): boolean {
    return this.#source.onRejected(this.#source.currentHeaders(metadata));
  }
}

function sourceOf(
  auth: BackendAuth,
  backend: NamedBackend,
  subject: string,
  dependencies: OAuthSourceDependencies,
): CredentialSource {
  const { target } = backend;
  const { origin } = target;
  const { secrets, users } = dependencies;
  // After a 401, a request with configured headers is not tried again: there are no other secrets to try.
  if (auth.type === 'headers')
    return new SubjectSource(
      () => secrets.headersOf(auth, origin),
      () => false,
    );
  if (auth.type !== 'oauth2-user') return new OAuthSource(auth, origin, subject, dependencies);
  const consentFault: UpstreamFault = {
    ...upstreamFault('consent-missing', true),
    makeConnectUrl: () => users.links.linkTo(backend, auth, subject),
  };
  const wanted = { key: userGrantKey(auth, target, subject), subject, origin, auth, consentFault };
  return new SubjectSource(
    () => users.read(wanted),
    (headers) => users.onRejected(wanted, headers),
  );
}

/** Headers that do not depend on the request: configured secrets, or the access token of the user's grant. */
class SubjectSource implements CredentialSource {
  readonly #read: () => HeadersOrFault | Promise<HeadersOrFault>;
  readonly onRejected: CredentialSource['onRejected'];
  #headers: readonly string[] | undefined;

  constructor(read: () => HeadersOrFault | Promise<HeadersOrFault>, onRejected: CredentialSource['onRejected']) {
    this.#read = read;
    this.onRejected = onRejected;
  }

  read(): HeadersOrFault | Promise<HeadersOrFault> {
    const outcome = this.#read();
    return outcome instanceof Promise ? outcome.then((late) => this.#keep(late)) : this.#keep(outcome);
  }

  currentHeaders(): readonly string[] {
    // A session that another process opened may send something before this process has read its credentials.
    if (this.#headers === undefined) void this.read();
    return this.#headers ?? NO_HEADERS;
  }

  #keep(outcome: HeadersOrFault): HeadersOrFault {
    this.#headers = 'kind' in outcome ? NO_HEADERS : outcome;
    return outcome;
  }
}

function faultOf(outcome: HeadersOrFault): UpstreamFault | undefined {
  return 'kind' in outcome ? outcome : undefined;
}
