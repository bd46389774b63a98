// What the control plane returns, as its OpenAPI document describes it: only the members that pages show.
import type { Curation } from '../model/curation.js';

/** Whose token this is, and what it permits. */
export interface Caller {
  readonly subject: string;
  /** `null`: no role. */
  readonly role: 'reader' | 'editor' | 'admin' | null;
  readonly teams: readonly string[];
}

export interface Server {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly url: string;
  readonly transport?: 'STREAMABLEHTTP' | 'SSE';
  readonly description: string;
  readonly tags: readonly string[];
  readonly status: 'active' | 'inactive';
  readonly enabled: boolean;
  readonly owner?: string;
  readonly team?: string;
  readonly reachable: boolean;
  readonly auth?: Auth | null;
  readonly curation?: Curation | null;
  readonly toolCount: number;
  readonly promptCount?: number;
  readonly resourceCount?: number;
  readonly templateCount?: number;
  readonly era?: 'legacy' | 'modern';
  readonly eras?: readonly ('legacy' | 'modern')[];
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly serverInfo: Readonly<Record<string, unknown>> | null;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly lastSeen: string | null;
  readonly lastRefreshAt: string | null;
  readonly lastError: string | null;
}

/** A finding of probes about a server, and since when it holds. */
export interface HealthEntry {
  readonly at: string;
  readonly status: 'active' | 'inactive';
  readonly reachable: boolean;
  readonly error: string | null;
}

/** Where a secret is, never its value. */
export type SecretPlace = { readonly file: string } | { readonly secret: string };

export type Auth =
  | { readonly type: 'headers'; readonly headers: Readonly<Record<string, SecretPlace>> }
  | {
      readonly type: 'oauth2-client-credentials';
      readonly token_endpoint: string;
      readonly client_id: string;
      readonly client_secret: SecretPlace;
      readonly scope?: string;
      readonly resource?: string;
    }
  | {
      readonly type: 'oauth2-user';
      readonly issuer?: string;
      readonly client_id?: string;
      readonly client_secret?: SecretPlace;
      readonly scope?: string;
      readonly resource?: string;
    };

/** What a user has granted at a server. */
export interface Connection {
  readonly server: string;
  readonly url: string;
  readonly issuer: string;
  readonly connectedAt: string;
}

/** A tool as its server lists it. */
export interface Tool {
  readonly name: string;
  readonly title?: unknown;
  readonly description?: unknown;
  readonly inputSchema?: unknown;
  readonly annotations?: unknown;
}

export interface ComposedServer {
  readonly name: string;
  readonly tools: readonly string[];
  readonly prompts?: readonly string[];
  readonly resources?: readonly string[];
  readonly curation?: Curation;
}

export interface Composition {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly servers: readonly ComposedServer[];
  readonly exposure?: 'all' | 'search';
  readonly subjects: readonly string[];
  readonly owner?: string;
  readonly team?: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly missingTools: readonly { readonly server: string; readonly tool: string }[];
}

export interface Version {
  readonly app: { readonly name: string; readonly version: string };
  readonly store: { readonly kind: 'embedded' | 'redis'; readonly reachable: boolean };
  /** `null` while the store cannot be reached. */
  readonly unpublishedChanges: number | null;
}

export interface RefreshReport {
  readonly status: 'active' | 'inactive';
  readonly toolsAdded: number;
  readonly toolsUpdated: number;
  readonly toolsRemoved: number;
  readonly durationMs: number;
  readonly error?: string;
}
