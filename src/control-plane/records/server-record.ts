// A registered server as seen outside of the registry's storage (decisions 3). Plain data, JSON-ready.
import type { Era } from '../../mcp/index.js';
import type { BackendAuth } from '../../user-config/index.js';
import type { WrittenCuration } from '../common/curation.js';

export type ServerStatus = 'active' | 'inactive';

/** The transport that the server speaks: `SSE` is the one of 2024-11-05. */
export type ServerTransport = 'STREAMABLEHTTP' | 'SSE';

export interface ServerRecord {
  /** 32 hexadecimal digits; never changes. */
  readonly id: string;
  /** As written; unique without regard to case. */
  readonly name: string;
  /** The name in the form of a path segment; unique. */
  readonly slug: string;
  readonly url: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly transport: ServerTransport;
  readonly status: ServerStatus;
  /** What the server requires before it answers: names of secrets, never a secret. Absent when it requires nothing. */
  readonly auth?: BackendAuth;
  /** How its tools and prompts are shown to everybody who uses it. Absent: as the server has them. */
  readonly curation?: WrittenCuration;
  /** False: people have taken the server out of service, whatever its status. */
  readonly enabled: boolean;
  /** Subject that registered it, where roles are taken from tokens. */
  readonly owner?: string;
  /** Team that it also belongs to, whose members may change it. */
  readonly team?: string;
  /** Whether the last probe reached it; `status` follows only after several failures. */
  readonly reachable: boolean;
  readonly toolCount: number;
  /** The counts are absent until the lists are read by a version that counts them. */
  readonly promptCount?: number;
  readonly resourceCount?: number;
  readonly templateCount?: number;
  /** Era in which it was last reached; absent if it never was, and in records of earlier versions. */
  readonly era?: Era;
  /** Every era that it was found to speak then; absent in the same cases. */
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

/** A tool as its server sent it, with every member. */
export interface ServerTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: unknown;
  readonly [member: string]: unknown;
}

/** What people set on a server: the registry finds out everything else. */
export interface ServerInput {
  readonly name: string;
  readonly url: string;
  /** Absent: empty for a new server, unchanged for an existing one. */
  readonly description?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  /** Absent: `STREAMABLEHTTP` for a new server, unchanged for an existing one. */
  readonly transport?: ServerTransport | undefined;
  /** Absent: `true` for a new server, unchanged for an existing one. */
  readonly enabled?: boolean | undefined;
  /** Absent: none for a new server, unchanged for an existing one. `null` removes it. */
  readonly auth?: BackendAuth | null | undefined;
  /** As for `auth`. */
  readonly curation?: WrittenCuration | null | undefined;
  /** Absent: the caller's only team for a new server, unchanged for an existing one. `null`: no team. */
  readonly team?: string | null | undefined;
}

/** What would be registered. */
export interface ServerPreview {
  readonly server: Omit<ServerRecord, 'id'>;
  /** A JSON array. */
  readonly toolsJson: Uint8Array;
}

type ReportedList = 'tools' | 'prompts' | 'resources' | 'templates';

/** For each list, how many of its items are new, changed and gone. */
export type ReportedCounts = Readonly<Record<`${ReportedList}${'Added' | 'Updated' | 'Removed'}`, number>>;

export interface RefreshReport extends ReportedCounts {
  readonly status: ServerStatus;
  readonly durationMs: number;
  readonly refreshedAt: string;
  /** Why the server could not be read; absent if it was. */
  readonly error?: string;
}
