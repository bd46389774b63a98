// A user config as the dataplane uses it; immutable. Changed bytes are compiled into new objects. Unchanged bytes keep their
// objects until they are evicted from the cache (user-configs.ts).
import type { BackendAuth } from './auth.js';
import type { Curation } from './curation.js';

export interface UpstreamTarget {
  /** Scheme, host and port, such as `http://127.0.0.1:3000`. Callers are never shown this. */
  readonly origin: string;
  /** Path and query, such as `/mcp?tenant=7`. */
  readonly path: string;
}

/** Why a backend can never be reached as configured (specification 2.6, 2.7). */
export type BackendObstacle = 'plain-text-refused' | 'transport-unsupported';

/** The transport that the gateway uses. A backend with an unsupported one has an `obstacle`, and `STREAMABLEHTTP` here. */
export type BackendTransport = 'STREAMABLEHTTP' | 'SSE';

/** The bare names that callers may use; `undefined` allows all. Resources may also be named by URI, templates by their text. */
export interface AllowedNames {
  readonly tools: ReadonlySet<string> | undefined;
  readonly prompts: ReadonlySet<string> | undefined;
  readonly resources: ReadonlySet<string> | undefined;
}

export interface CompiledBackend {
  /** The backend's key in `backends`. Task ids begin with it and a `-`. */
  readonly name: string;
  /** The prefix of the backend's tool and prompt names, with the `-`; `''` for none. Unique in the virtual host. */
  readonly prefix: string;
  /** The backend's name in the URIs of its resources. */
  readonly uriName: string;
  /** Whether another backend's name differs from this one only in case. */
  readonly hasCaseVariant: boolean;
  readonly target: UpstreamTarget;
  readonly transport: BackendTransport;
  /** Why the config makes the backend unavailable; `undefined` if it does not. */
  readonly obstacle: BackendObstacle | undefined;
  /** Lower-case names of headers to copy from the caller, without the gateway's own and those that `auth` sets. */
  readonly passthroughHeaders: ReadonlySet<string>;
  readonly auth: BackendAuth | undefined;
  readonly allowedNames: AllowedNames;
  readonly curation: Curation;
  /** Hashes of what decides which items are listed, and how. They are made with the config, since lists of names may be long. */
  readonly listHashes: ListHashes;
}

/** `resourceNames` is the hash of the resources' allow-list alone; absent without one: everything is allowed. */
export interface ListHashes {
  readonly tools: string;
  readonly prompts: string;
  readonly resources: string;
  readonly resourceNames?: string;
}

/** What `tools/list` shows: all tools, or two with which clients find and call the others. */
export type Exposure = 'all' | 'search';

export interface CompiledVirtualHost {
  readonly id: string;
  readonly exposure: Exposure;
  readonly backends: ReadonlyMap<string, CompiledBackend>;
  /** The backends, longest name first, then in the config's order: the first that matches wins. */
  readonly backendsByNameLength: readonly CompiledBackend[];
  /** The backends, longest prefix first; the same array as by name if every prefix is the backend's name. */
  readonly backendsByPrefixLength: readonly CompiledBackend[];
  readonly backendsByUriName: ReadonlyMap<string, CompiledBackend>;
  /** The union of all backends' headers, and `authorization` if a backend uses token exchange. */
  readonly passthroughHeaders: ReadonlySet<string>;
}

export interface CompiledUserConfig {
  readonly virtualHosts: ReadonlyMap<string, CompiledVirtualHost>;
}

export type UserConfigRead =
  | {
      readonly kind: 'found';
      readonly config: CompiledUserConfig;
      /** Members that look misspelt, and names that not every client accepts, for the log. */
      readonly oddities?: string;
    }
  /** There is no config, or it is empty: 400. */
  | { readonly kind: 'missing' }
  /** The config is invalid, or the store failed (`isForAll`: for every subject): 500. The reason is for the log. */
  | { readonly kind: 'failed'; readonly reason: string; readonly isForAll?: true };
