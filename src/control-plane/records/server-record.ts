// A registered server as everyone but the registry's own storage sees it (decisions 3). Plain data, JSON-ready.
import type { Era } from '../../protocol/protocol-versions.js';
import type { BackendAuth } from '../../user-config/auth.js';
import type { WrittenCuration } from '../common/curation.js';

export type ServerStatus = 'active' | 'inactive';

/** How the server is spoken to: `SSE` is the transport of 2024-11-05. */
export type ServerTransport = 'STREAMABLEHTTP' | 'SSE';

export interface ServerRecord {
  /** 32 hexadecimal digits; the same for the server's whole life. */
  readonly id: string;
  /** As it was written; unique without regard to case. */
  readonly name: string;
  /** The name in the form of a path segment; unique. */
  readonly slug: string;
  readonly url: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly transport: ServerTransport;
  readonly status: ServerStatus;
  /** What it wants to see before it answers: names of secrets, never a secret. Absent when it wants nothing. */
  readonly auth?: BackendAuth;
  /** How its tools and prompts are shown to everybody who uses it. Absent: as it has them. */
  readonly curation?: WrittenCuration;
  /** False: people have taken it out of service, whatever its status. */
  readonly enabled: boolean;
  /** Who registered it, where roles are taken from tokens. */
  readonly owner?: string;
  /** Whose it is beside: its members may change it. */
  readonly team?: string;
  /** Whether the last probe reached it; `status` follows only after several failures. */
  readonly reachable: boolean;
  readonly toolCount: number;
  /** These are there once they were counted, which earlier versions did not do. */
  readonly promptCount?: number;
  readonly resourceCount?: number;
  readonly templateCount?: number;
  /** In which it was last reached: there once it was, which earlier versions did not write down. */
  readonly era?: Era;
  /** All that it was found to speak then; the same. */
  readonly eras?: readonly Era[];
  /** What the server declared when it was last reached. */
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly serverInfo: Readonly<Record<string, unknown>> | null;
  /** Times are ISO 8601, UTC. */
  readonly createdAt: string;
  /** When people last changed it. */
  readonly updatedAt: string;
  /** When a probe last reached it. */
  readonly lastSeen: string | null;
  /** When its lists were last read. */
  readonly lastRefreshAt: string | null;
  /** Why the last probe failed; `null` when it did not. Names no URL. */
  readonly lastError: string | null;
}

/** A tool as its server told it, with every member. */
export interface ServerTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: unknown;
  readonly [member: string]: unknown;
}

/** What people say of a server: everything else the registry finds out. */
export interface ServerInput {
  readonly name: string;
  readonly url: string;
  /** Absent: empty for a new server, unchanged for a known one. */
  readonly description?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  /** Absent: `STREAMABLEHTTP` for a new server, unchanged for a known one. */
  readonly transport?: ServerTransport | undefined;
  /** Absent: `true` for a new server, unchanged for a known one. */
  readonly enabled?: boolean | undefined;
  /** Absent: none for a new server, unchanged for a known one. `null` takes it away. */
  readonly auth?: BackendAuth | null | undefined;
  /** The same. */
  readonly curation?: WrittenCuration | null | undefined;
  /** Absent: the caller's only team for a new server, unchanged for a known one. `null`: none. */
  readonly team?: string | null | undefined;
}

/** What would be registered. */
export interface ServerPreview {
  readonly server: Omit<ServerRecord, 'id'>;
  /** An array. */
  readonly toolsJson: Uint8Array;
}

export interface RefreshReport {
  readonly status: ServerStatus;
  readonly toolsAdded: number;
  readonly toolsUpdated: number;
  readonly toolsRemoved: number;
  readonly promptsAdded: number;
  readonly promptsUpdated: number;
  readonly promptsRemoved: number;
  readonly resourcesAdded: number;
  readonly resourcesUpdated: number;
  readonly resourcesRemoved: number;
  readonly templatesAdded: number;
  readonly templatesUpdated: number;
  readonly templatesRemoved: number;
  readonly durationMs: number;
  readonly refreshedAt: string;
  /** Why the server could not be read; absent when it was. */
  readonly error?: string;
}
