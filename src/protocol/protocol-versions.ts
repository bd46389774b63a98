// The MCP revisions spoken on either side of the gateway: four that have sessions, and one that has none.

/** MCP has sessions up to 2025-11-25 (legacy), and none since (modern). */
export type Era = 'legacy' | 'modern';

/** The one revision without sessions that is spoken. */
export const MODERN_PROTOCOL_VERSION = '2026-07-28';

export function eraOfVersion(protocolVersion: string): Era {
  return protocolVersion === MODERN_PROTOCOL_VERSION ? 'modern' : 'legacy';
}

/** What is offered to every backend, and to a caller that asks for anything not supported (C05, S27). */
export const LATEST_PROTOCOL_VERSION = '2025-11-25';

/**
 * Those in which a POST may carry several messages in an array: that of 2025-03-26, and the one before, as its clients that
 * speak streamable HTTP at all speak it as 2025-03-26 has it.
 */
export const BATCH_PROTOCOL_VERSIONS: ReadonlySet<string> = new Set(['2025-03-26', '2024-11-05']);

/** Whether a client of this version can go on with a stream that broke: older ones take no event without data (S42). */
export function canResume(protocolVersion: string): boolean {
  return protocolVersion >= '2025-11-25';
}

/**
 * What a caller may negotiate and name in `mcp-protocol-version` (decisions 2.4, S24), and what a backend may answer; later
 * requests to that backend carry its own version (C08, C10). Newest first.
 */
export const PROTOCOL_VERSIONS: ReadonlySet<string> = new Set([
  LATEST_PROTOCOL_VERSION,
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
]);
