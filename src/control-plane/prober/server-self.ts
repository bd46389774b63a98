// Bounds what a server says about itself: it is kept in the server's record and shown in every listing, and may be
// anything. An oversized value is cut down to what matters here; nothing fails because of it.
import { KIB } from '../../shared/limits/units.js';

/**
 * A server's capabilities or its `serverInfo`, which are part of every listing. Beyond it, only the names of MCP's capabilities, or name,
 * title and version, are kept.
 */
export const SERVER_SELF_BYTES_MAX = 64 * KIB;
/** Characters of the name, the title and the version that are kept of a larger `serverInfo`. Beyond it, it is cut. */
const SERVER_SELF_TEXT_CHARS_MAX = 256;

type Members = Readonly<Record<string, unknown>>;

/** Unchanged if small enough, else only its name, title and version. */
export function boundedServerInfo(serverInfo: Members): Members {
  if (isWithin(serverInfo)) return serverInfo;
  const kept = ['name', 'title', 'version'].filter((name) => typeof serverInfo[name] === 'string');
  return Object.fromEntries(kept.map((name) => [name, String(serverInfo[name]).slice(0, SERVER_SELF_TEXT_CHARS_MAX)]));
}

/** Unchanged if small enough, else only MCP's own capabilities, without their contents. */
export function boundedCapabilities(capabilities: Members): Members {
  if (isWithin(capabilities)) return capabilities;
  const kept = CAPABILITIES.filter((name) => Object.hasOwn(capabilities, name));
  return Object.fromEntries(kept.map((name) => [name, {}]));
}

const CAPABILITIES = ['completions', 'logging', 'prompts', 'resources', 'tasks', 'tools'];

function isWithin(members: Members): boolean {
  return Buffer.byteLength(JSON.stringify(members)) <= SERVER_SELF_BYTES_MAX;
}
