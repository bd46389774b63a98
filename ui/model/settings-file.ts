// The servers in a client's settings (`mcpServers`, `servers`, `mcp.servers`, `context_servers`), as they would be registered. As in
// `switchyard servers import`, values of headers stay in the browser: each header becomes the name of a secret that somebody has to set.
import type { Auth } from '../api/types.js';

export interface ImportedServer {
  readonly name: string;
  /** What is sent to register it; `undefined`: it cannot be. */
  readonly body: ImportBody | undefined;
  /** Why it cannot be registered, or what else there is to know; `''` when there is nothing. */
  readonly note: string;
  /** Names of secrets that have to be set before it accepts requests. */
  readonly secrets: readonly string[];
}

export interface ImportBody {
  readonly name: string;
  readonly url: string;
  readonly transport: 'STREAMABLEHTTP' | 'SSE';
  readonly auth?: Auth;
  readonly enabled?: boolean;
}

type Members = Readonly<Record<string, unknown>>;

const PLACES = [['mcpServers'], ['servers'], ['mcp', 'servers'], ['mcp_servers'], ['context_servers']] as const;
const SECRET_CHARS_MAX = 60;

/** @returns the servers, or in words why there are none to read. */
export function serversInSettings(text: string): readonly ImportedServer[] | string {
  const settings = objectIn(text);
  if (typeof settings === 'string') return settings;
  const found = PLACES.map((path) => memberAt(settings, path)).filter((each) => each !== undefined);
  // A file that is nothing but the servers themselves.
  const servers = found.length > 0 ? found : Object.values(settings).some(looksLikeServer) ? [settings] : [];
  if (servers.length === 0)
    return 'There is no member mcpServers or servers: is this the settings file of an MCP client?';
  const entries = servers.flatMap((each) => Object.entries(each));
  if (entries.length === 0) return 'The file names no server';
  return entries.map(([name, said]) => importedServer(name, said));
}

function objectIn(text: string): Members | string {
  try {
    const value: unknown = JSON.parse(withoutComments(text));
    return isObject(value) ? value : 'This is JSON, but no object';
  } catch (error) {
    return `This is not JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Editors' files have comments and commas at the ends of lists; texts in quotes stay as they are. */
function withoutComments(text: string): string {
  const bare = text
    .replace(/^\uFEFF/, '')
    .replaceAll(/("(?:[^"\\]|\\.)*")|\/\/[^\n]*|\/\*[^]*?\*\//g, (_, quoted: string | undefined) => quoted ?? ' ');
  return bare.replaceAll(/("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])/g, (_, quoted: string | undefined) => quoted ?? '');
}

function memberAt(settings: Members, path: readonly string[]): Members | undefined {
  let value: unknown = settings;
  for (const name of path) value = isObject(value) ? value[name] : undefined;
  return isObject(value) ? value : undefined;
}

function looksLikeServer(value: unknown): boolean {
  return (
    isObject(value) && ['url', 'serverUrl', 'httpUrl', 'command'].some((member) => typeof value[member] === 'string')
  );
}

function importedServer(name: string, said: unknown): ImportedServer {
  const refused = (note: string): ImportedServer => ({ name, body: undefined, note, secrets: [] });
  if (!isObject(said)) return refused('is no object that describes a server');
  const url = said['url'] ?? said['serverUrl'] ?? said['httpUrl'];
  if (url === undefined && said['command'] !== undefined) {
    return refused(
      'runs as a command on one machine, not at an address: "switchyard servers import" says how to give it one',
    );
  }
  if (typeof url !== 'string') return refused('has no URL');
  const fault = urlFault(url);
  if (fault !== '') return refused(fault);
  const type = said['type'] ?? said['transport'] ?? said['transportType'];
  const transport = transportOf(url, type);
  if (transport === undefined) return refused('has a type that is neither http nor sse');
  const headers = isObject(said['headers']) ? Object.keys(said['headers']) : [];
  const secrets = headers.map((header) => secretName(`${name}-${header}`));
  const references = headers.map((header, index) => [header, { secret: secrets[index] ?? '' }] as const);
  const isOff = said['disabled'] === true || said['enabled'] === false;
  const body: ImportBody = {
    ...{ name, url, transport },
    ...(headers.length > 0 && { auth: { type: 'headers', headers: Object.fromEntries(references) } }),
    ...(isOff && { enabled: false }),
  };
  return { name, body, note: isOff ? 'is disabled in the file, and stays so' : '', secrets };
}

/** Where a file leaves it open, the URL says it by custom. */
function transportOf(url: string, type: unknown): ImportBody['transport'] | undefined {
  if (type === undefined || type === 'remote')
    return /\/sse\/?$/.test(new URL(url).pathname) ? 'SSE' : 'STREAMABLEHTTP';
  if (typeof type !== 'string') return undefined;
  if (/^(?:streamable[-_]?)?http$/i.test(type)) return 'STREAMABLEHTTP';
  return /^sse$/i.test(type) ? 'SSE' : undefined;
}

const SECRET_KEY = /key|token|secret|passw|auth|credential|signature|\bsig\b|\bcode\b/i;
/** Long, and with letters and digits mixed as in no ordinary word. */
const LIKE_A_SECRET = /^(?=.*\d)(?=.*[A-Za-z])[\w.~+/=-]{20,}$/;

/** URLs are stored and shown as they are, so none may contain a secret. `''`: nothing is wrong with it. */
function urlFault(text: string): string {
  if (/[{}]|\$[A-Z_]/.test(text)) return 'has a placeholder in its URL: write the URL itself';
  if (!URL.canParse(text)) return 'has a URL that is not absolute';
  const { username, password, searchParams, protocol } = new URL(text);
  if (protocol !== 'http:' && protocol !== 'https:') return 'has a URL that is neither http nor https';
  if (username !== '' || password !== '') return 'has a user or password in its URL: put it into a header';
  const isSecret = [...searchParams].some(([key, value]) => SECRET_KEY.test(key) || LIKE_A_SECRET.test(value));
  return isSecret ? 'has what looks like a secret in its URL, where everybody would see it: put it into a header' : '';
}

function secretName(text: string): string {
  const letters = text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  return letters.replaceAll(/^-+|-+$/g, '').slice(0, SECRET_CHARS_MAX) || 'secret';
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
