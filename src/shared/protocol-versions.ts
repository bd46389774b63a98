// The MCP revisions spoken on either side of the gateway.

/** What is offered to every backend, and to a caller that asks for anything not supported (C05, S27). */
export const LATEST_PROTOCOL_VERSION = '2025-11-25';

/** Downstream: what a caller may negotiate and name in `mcp-protocol-version` (decisions 2.4, S24). */
export const DOWNSTREAM_PROTOCOL_VERSIONS: ReadonlySet<string> = new Set([LATEST_PROTOCOL_VERSION, '2025-06-18']);

/** Upstream: what a backend may answer; later requests to it carry its own version (decisions 2.4, C08, C10). */
export const UPSTREAM_PROTOCOL_VERSIONS: ReadonlySet<string> = new Set([
  LATEST_PROTOCOL_VERSION,
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
]);
