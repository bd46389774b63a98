// Tells clients without a token where to get one (RFC 9728): the metadata of this resource at its well-known addresses, and the header that
// names such an address in a refusal. Cold path.
import type { Refusal } from '../shared/index.js';

export const METADATA_PATH = '/.well-known/oauth-protected-resource';

export interface ProtectedResourceOptions {
  /** Scheme, host and port under which callers know the program; `undefined`: taken from the request's host where that is checked. */
  readonly publicUrl: string | undefined;
  /** If empty, no metadata is served. */
  readonly authorizationServers: readonly string[];
}

/** How a request arrived. */
export interface RequestOrigin {
  readonly isTls: boolean;
  readonly host: string;
  /** Callers cannot choose the host: it is an allowed one, or a loopback name. */
  readonly isHostTrusted: boolean;
}

/** Pages of any origin may read the metadata: it is public, and the same for everybody. */
export const metadataCorsHeaders: readonly string[] = [
  ...['access-control-allow-origin', '*', 'access-control-allow-methods', 'GET, HEAD, OPTIONS'],
  ...['access-control-allow-headers', 'accept, content-type, mcp-protocol-version', 'access-control-max-age', '86400'],
];

export class ProtectedResource {
  readonly #options: ProtectedResourceOptions;

  constructor(options: ProtectedResourceOptions) {
    this.#options = options;
  }

  /** Whether metadata is served at all. */
  get isDescribed(): boolean {
    return this.#options.authorizationServers.length > 0;
  }

  /**
   * @param path of the resource, percent-encoded; `''` for the whole program.
   * @returns the metadata as JSON; `undefined` where none can be given.
   */
  metadata(path: string, origin: RequestOrigin): string | undefined {
    const resource = this.#resource(path, origin);
    if (resource === undefined) return undefined;
    return JSON.stringify({
      resource: path === '' ? resource.origin : resource.href,
      authorization_servers: this.#options.authorizationServers,
      bearer_methods_supported: ['header'],
    });
  }

  /** Adds the metadata's address to a refusal of a request whose token is missing, invalid or insufficient. */
  challenge<Code extends string>(refusal: Refusal<Code>, path: string, origin: RequestOrigin): Refusal<Code> {
    const resource = refusal.status === 401 || refusal.status === 403 ? this.#resource(path, origin) : undefined;
    if (resource === undefined) return refusal;
    const address = `${resource.origin}${METADATA_PATH}${path === '' ? '' : resource.pathname}`;
    const headers = refusal.headers.map((value, index) =>
      refusal.headers[index - 1] === 'www-authenticate' ? `${value}, resource_metadata="${address}"` : value,
    );
    return { ...refusal, headers };
  }

  #resource(path: string, { isTls, host, isHostTrusted }: RequestOrigin): URL | undefined {
    if (!this.isDescribed) return undefined;
    const named = isHostTrusted && host !== '' ? `${isTls ? 'https' : 'http'}://${host}` : undefined;
    const url = `${this.#options.publicUrl ?? named ?? ''}${path}`;
    return URL.canParse(url) ? new URL(url) : undefined;
  }
}
