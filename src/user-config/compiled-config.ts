// A user config as the dataplane uses it: checked once when its bytes change, looked up per request. Immutable. When the bytes change, so
// does the identity of each compiled virtual host; otherwise only after eviction from the cache (user-configs.ts).
import type { BackendAuth } from './auth.js';
import type { Curation } from './curation.js';

/** A backend URL, split once when a config is compiled. */
export interface UpstreamTarget {
  /** Scheme, host and port, as in `http://127.0.0.1:3000`. Never shown to a caller. */
  readonly origin: string;
  /** Path and query, as in `/mcp?tenant=7`. */
  readonly path: string;
}

/** Why a backend of a config can never be reached as configured (specification 2.6, 2.7). */
export type BackendObstacle = 'plain-text-refused' | 'transport-unsupported';

/** The transport used. An unsupported one that a config may name has an obstacle, and counts as `STREAMABLEHTTP`. */
export type BackendTransport = 'STREAMABLEHTTP' | 'SSE';

/** Bare names; `undefined` allows all. Resources may also be given by URI, and templates by their own text. */
export interface AllowedNames {
  readonly tools: ReadonlySet<string> | undefined;
  readonly prompts: ReadonlySet<string> | undefined;
  readonly resources: ReadonlySet<string> | undefined;
}

export interface CompiledBackend {
  /** The key in `backends`: the prefix of ids of its tasks, before the `-`. */
  readonly name: string;
  /** Prefix of its tool and prompt names, with the `-`; `''` for none. Unique among the backends of the virtual host. */
  readonly prefix: string;
  /** The name in the URIs of its resources. */
  readonly uriName: string;
  /** Whether another backend's name differs from this one only in case. */
  readonly hasTwin: boolean;
  readonly target: UpstreamTarget;
  readonly transport: BackendTransport;
  /** Set when the config makes the backend unavailable, whatever state the backend is in. */
  readonly obstacle: BackendObstacle | undefined;
  /** Lower-case names of headers to copy from the caller's request; headers that must never be copied are already removed. */
  readonly passthroughHeaders: ReadonlySet<string>;
  /** The credentials that it requires; none of these headers is copied from the caller. */
  readonly auth: BackendAuth | undefined;
  readonly allowedNames: AllowedNames;
  readonly curation: Curation;
}

/** What `tools/list` shows: all tools, or two with which clients find and call the others. */
export type Exposure = 'all' | 'search';

export interface CompiledVirtualHost {
  readonly id: string;
  readonly exposure: Exposure;
  readonly backends: ReadonlyMap<string, CompiledBackend>;
  /** The same backends, longest name first (equally long names in the config's order): the first that matches wins. */
  readonly backendsByNameLength: readonly CompiledBackend[];
  /** The same, ordered by prefix length; the identical array when every prefix is the backend's name. */
  readonly backendsByPrefixLength: readonly CompiledBackend[];
  /** The same backends, by their names in URIs. */
  readonly backendsByUriName: ReadonlyMap<string, CompiledBackend>;
  /** The union of all backends' `passthroughHeaders`, and `authorization` where a backend uses token exchange. */
  readonly passthroughHeaders: ReadonlySet<string>;
}

export interface CompiledUserConfig {
  readonly virtualHosts: ReadonlyMap<string, CompiledVirtualHost>;
}

/** The result of a look-up of a user config. */
export type UserConfigRead =
  | {
      readonly kind: 'found';
      readonly config: CompiledUserConfig;
      /** For the log: members that look misspelt, and names that not every client accepts; absent when there are none. */
      readonly oddities?: string;
    }
  /** No value, or an empty one: 400. */
  | { readonly kind: 'missing' }
  /** The config cannot be decoded, or the store failed (`isForAll`: for every subject): 500. The reason is for the log. */
  | { readonly kind: 'failed'; readonly reason: string; readonly isForAll?: true };
