// What clients without a token are told of where to get one (RFC 9728): the metadata of this resource at its well-known
// addresses, and the name of that address in a refusal. Cold.
import type { Refusal } from './refusals.js';

export const METADATA_PATH = '/.well-known/oauth-protected-resource';

export interface ProtectedResourceOptions {
  /** Scheme, host and port by which callers know the program; `undefined`: as they say, where that is checked. */
  readonly publicUrl: string | undefined;
  /** None: nothing is told. */
  readonly authorizationServers: readonly string[];
}

/** How a request came. */
export interface RequestOrigin {
  readonly isTls: boolean;
  readonly host: string;
  /** Callers cannot choose the host: it is in a list, or of this machine. */
  readonly isHostTrusted: boolean;
}

/** Anybody's page may read it: it says what everybody may know, and nobody is known by it. */
export const metadataCorsHeaders: readonly string[] = [
  ...['access-control-allow-origin', '*', 'access-control-allow-methods', 'GET, HEAD, OPTIONS'],
  ...['access-control-allow-headers', 'accept, content-type, mcp-protocol-version', 'access-control-max-age', '86400'],
];

export class ProtectedResource {
  readonly #options: ProtectedResourceOptions;

  constructor(options: ProtectedResourceOptions) {
    this.#options = options;
  }

  /** Whether anything is told at all. */
  get isDescribed(): boolean {
    return this.#options.authorizationServers.length > 0;
  }

  /**
   * JSON.
   * @param path of the resource, percent-encoded; `''` for all of the program.
   * @returns `undefined` where nothing can be told.
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

  /** The refusal of a request without a good token, or with one that is not enough, with where to read on. */
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
