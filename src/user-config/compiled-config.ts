// A user config as the dataplane uses it: checked once when its bytes change, looked up per request. Immutable; the
// identity of a compiled virtual host changes if and only if the user config's bytes changed.
import type { BackendAuth } from './auth.js';
import type { Curation } from './curation.js';
import type { UpstreamTarget } from './upstream-target.js';

/** Why a backend of a config can never be reached as configured (decisions 2.6, 2.7). */
export type BackendObstacle = 'plain-text-refused' | 'transport-unsupported';

/** How it is spoken to. What is read and cannot be reached has an obstacle, and counts as the first. */
export type BackendTransport = 'STREAMABLEHTTP' | 'SSE';

/** Bare names; `undefined` allows all. A resource may be named by its URI, too, and a template by itself. */
export interface AllowedNames {
  readonly tools: ReadonlySet<string> | undefined;
  readonly prompts: ReadonlySet<string> | undefined;
  readonly resources: ReadonlySet<string> | undefined;
}

export interface CompiledBackend {
  /** The key in `backends`: the prefix of ids of its tasks, before the `-`. */
  readonly name: string;
  /** Of the names of its tools and prompts, with the `-`; `''` for none. No other backend of the virtual host has the same. */
  readonly prefix: string;
  /** The name in the URIs of its resources. */
  readonly uriName: string;
  /** Whether another backend's name differs from it in capitals alone. */
  readonly hasTwin: boolean;
  readonly target: UpstreamTarget;
  readonly transport: BackendTransport;
  /** Set when the backend is unavailable whatever its state. */
  readonly obstacle: BackendObstacle | undefined;
  /** Lower-case names that may be copied from the caller's request; what may never be copied is already out. */
  readonly passthroughHeaders: ReadonlySet<string>;
  /** What it wants to see before it answers; none of these headers is copied from the caller. */
  readonly auth: BackendAuth | undefined;
  readonly allowedNames: AllowedNames;
  readonly curation: Curation;
}

/** What `tools/list` shows: all tools, or two with which the others are found and called. */
export type Exposure = 'all' | 'search';

export interface CompiledVirtualHost {
  readonly id: string;
  readonly exposure: Exposure;
  readonly backends: ReadonlyMap<string, CompiledBackend>;
  /** The same backends, longest name first (names of one length: in order of the config): the first that fits wins. */
  readonly backendsByNameLength: readonly CompiledBackend[];
  /** The same by their prefixes; the same array where every prefix is the backend's name. */
  readonly backendsByPrefixLength: readonly CompiledBackend[];
  /** By their names in URIs. */
  readonly backendsByUriName: ReadonlyMap<string, CompiledBackend>;
  /** The union of all backends' `passthroughHeaders`. */
  readonly passthroughHeaders: ReadonlySet<string>;
}

export interface CompiledUserConfig {
  readonly virtualHosts: ReadonlyMap<string, CompiledVirtualHost>;
}

/** What a look-up of a user config comes to. */
export type UserConfigRead =
  | {
      readonly kind: 'found';
      readonly config: CompiledUserConfig;
      /** Members of it that look misspelt, in words for the log; absent when there are none. */
      readonly oddities?: string;
    }
  /** No value, or an empty one: 400. */
  | { readonly kind: 'missing' }
  /** Not decodable, or the store failed, and then for every subject: 500. The reason is for the log. */
  | { readonly kind: 'failed'; readonly reason: string; readonly isForAll?: true };
