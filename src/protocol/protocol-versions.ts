// The MCP revisions spoken on both sides of the gateway: four with sessions, and one without.

/** MCP has sessions up to 2025-11-25 (legacy), and none since (modern). */
export type Era = 'legacy' | 'modern';

/** The only supported revision without sessions. */
export const MODERN_PROTOCOL_VERSION = '2026-07-28';

export function eraOfVersion(protocolVersion: string): Era {
  return protocolVersion === MODERN_PROTOCOL_VERSION ? 'modern' : 'legacy';
}

/** Offered to every backend, and to a caller that asks for an unsupported version (C05, S27). */
export const LATEST_PROTOCOL_VERSION = '2025-11-25';

/**
 * The revisions in which a POST may carry several messages in an array: 2025-03-26, and the one before it, whose clients use streamable
 * HTTP, if at all, as in 2025-03-26.
 */
export const BATCH_PROTOCOL_VERSIONS: ReadonlySet<string> = new Set(['2025-03-26', '2024-11-05']);

/** Whether a client of this version can resume a broken stream: older clients cannot handle an event without data (S42). */
export function canResume(protocolVersion: string): boolean {
  return protocolVersion >= '2025-11-25';
}

/** The versions that a caller may negotiate and name in `mcp-protocol-version` (decisions 2.4, S24). Newest first. */
export const PROTOCOL_VERSIONS: ReadonlySet<string> = new Set([
  LATEST_PROTOCOL_VERSION,
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
]);

/**
 * The versions that a backend may choose; later requests to it carry the version it chose (C08, C10). 2024-10-07 is a draft of the first
 * revision: servers answer it, and the SDK's clients take it.
 */
export const BACKEND_VERSIONS: ReadonlySet<string> = new Set([...PROTOCOL_VERSIONS, '2024-10-07']);
