// Bounds what a server says about itself: it is kept in the server's record and shown in every listing, and may be
// anything. An oversized value is cut down to what matters here; nothing fails because of it.
import { limits } from '../../shared/limits.js';

type Members = Readonly<Record<string, unknown>>;

/** Unchanged if small enough, else only its name, title and version. */
export function boundedServerInfo(serverInfo: Members): Members {
  if (isWithin(serverInfo)) return serverInfo;
  const kept = ['name', 'title', 'version'].filter((name) => typeof serverInfo[name] === 'string');
  return Object.fromEntries(
    kept.map((name) => [name, String(serverInfo[name]).slice(0, limits.serverSelfTextCharsMax)]),
  );
}

/** Unchanged if small enough, else only MCP's own capabilities, without their contents. */
export function boundedCapabilities(capabilities: Members): Members {
  if (isWithin(capabilities)) return capabilities;
  const kept = CAPABILITIES.filter((name) => Object.hasOwn(capabilities, name));
  return Object.fromEntries(kept.map((name) => [name, {}]));
}

const CAPABILITIES = ['completions', 'logging', 'prompts', 'resources', 'tasks', 'tools'];

function isWithin(members: Members): boolean {
  return Buffer.byteLength(JSON.stringify(members)) <= limits.serverSelfBytesMax;
}
