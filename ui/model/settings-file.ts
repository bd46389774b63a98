// The servers in a client's settings (JSON, TOML or YAML), as they would be registered, read by the same code as by `switchyard servers
// import`. As there, values of headers stay where they are: each header becomes the name of a secret that somebody has to set.
import { serversIn, type SettingsServer } from '../../src/cli/client-settings.js';
import { readSettings } from '../../src/cli/settings-text.js';
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

const SECRET_CHARS_MAX = 60;

/** @returns the servers, or in words why there are none to read: with line and column where the text is wrong. */
export async function serversInSettings(text: string): Promise<readonly ImportedServer[] | string> {
  const { fault, value, language } = { value: undefined, ...(await readSettings(text)) };
  if (fault !== undefined) return `This is not ${language}: ${fault}`;
  if (!isObject(value)) return `This is ${language}, but no object`;
  // A file may be nothing but the servers themselves.
  const isBare = Object.values(value).some(looksLikeServer);
  const servers = serversIn(value) ?? (isBare ? serversIn({ mcpServers: value }) : undefined);
  if (servers === undefined)
    return 'There is no member mcpServers or servers: is this the settings file of an MCP client?';
  if (servers.length === 0) return 'The file names no server';
  // Projects of one file often have the same servers.
  const byName = new Map(servers.toReversed().map((server) => [server.name, server]));
  const taken = new Set<string>();
  return [...byName.values()].toReversed().map(({ name, members }) => importedServer(name, members, taken));
}

function looksLikeServer(value: unknown): boolean {
  return (
    isObject(value) && ['url', 'serverUrl', 'httpUrl', 'command'].some((member) => typeof value[member] === 'string')
  );
}

function importedServer(name: string, members: SettingsServer['members'], taken: Set<string>): ImportedServer {
  const refused = (note: string): ImportedServer => ({ name, body: undefined, note, secrets: [] });
  if (members === undefined) return refused('is no object that describes a server');
  const { url, type, conflict, disabled } = members;
  if (typeof conflict === 'string') return refused(`has two members for its ${conflict}, which differ: keep one`);
  if (url === undefined && members['command'] !== undefined) {
    return refused(
      'runs as a command on one machine, not at an address: "switchyard servers import" says how to give it one',
    );
  }
  if (typeof url !== 'string') return refused('has no URL');
  const fault = urlFault(url);
  if (fault !== '') return refused(fault);
  const transport = transportOf(url, type);
  if (transport === undefined) return refused('has a type that is neither http nor sse');
  // A header whose value is elsewhere, such as in a variable of the environment.
  const elsewhere = membersOf(members['elsewhere']);
  const headers = Object.keys({ ...membersOf(members['headers']), ...elsewhere });
  const secrets = headers.map((header) => freshName(`${name}-${header}`, taken));
  const references = headers.map((header, index) => [header, { secret: secrets[index] ?? '' }] as const);
  const notes = [
    disabled === true && 'is disabled in the file, and stays so',
    headers.length > 1 && `has ${headers.length} headers, each a secret of its own: ${headers.join(', ')}`,
    ...Object.entries(elsewhere).map(([header, words]) => `its ${header} is ${String(words)}`),
  ].filter((note) => note !== false);
  const body: ImportBody = {
    ...{ name, url, transport },
    ...(headers.length > 0 && { auth: { type: 'headers', headers: Object.fromEntries(references) } }),
    ...(disabled === true && { enabled: false }),
  };
  return { name, body, note: notes.join('; '), secrets };
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

function freshName(text: string, taken: Set<string>): string {
  const letters = text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  const base = letters.replaceAll(/^-+|-+$/g, '').slice(0, SECRET_CHARS_MAX) || 'secret';
  let name = base;
  for (let number = 2; taken.has(name); number++) name = `${base}-${number}`;
  taken.add(name);
  return name;
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
