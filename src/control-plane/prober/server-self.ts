// What a server says of itself, within bounds: it is kept in the server's record, told in every listing, and a server may
// put anything there. What is too large is cut down to what has a meaning here; nothing fails for it.
import { limits } from '../../shared/limits.js';

type Members = Readonly<Record<string, unknown>>;

/** As it is, or its name, title and version alone. */
export function boundedServerInfo(serverInfo: Members): Members {
  if (isWithin(serverInfo)) return serverInfo;
  const kept = ['name', 'title', 'version'].filter((name) => typeof serverInfo[name] === 'string');
  return Object.fromEntries(kept.map((name) => [name, String(serverInfo[name]).slice(0, TEXT_CHARS_MAX)]));
}

/** As they are, or those of MCP alone, without what each says of itself. */
export function boundedCapabilities(capabilities: Members): Members {
  if (isWithin(capabilities)) return capabilities;
  const kept = CAPABILITIES.filter((name) => Object.hasOwn(capabilities, name));
  return Object.fromEntries(kept.map((name) => [name, {}]));
}

const CAPABILITIES = ['completions', 'logging', 'prompts', 'resources', 'tasks', 'tools'];
const TEXT_CHARS_MAX = 256;

function isWithin(members: Members): boolean {
  return Buffer.byteLength(JSON.stringify(members)) <= limits.serverSelfBytesMax;
}
