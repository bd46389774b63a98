// Reads the files in which clients keep their servers (client-settings.ts). Passes on nothing that may be a secret: a header's value
// becomes the name of a secret, a URL with a secret is refused, and values of environment variables are left out.
import { isDeepStrictEqual, parseArgs } from 'node:util';
import * as z from 'zod';
import { exitStatus, limits } from '../shared/index.js';
import { readSecretLocation } from '../config/index.js';
import { CliFault } from './command-result.js';
import { SERVER_MAP_PATHS, serversIn, type SettingsServer } from './client-settings.js';
import { readSettings } from './settings-text.js';

/** The command line that runs a stdio server behind a bridge. It names environment variables, but contains no values of them. */
export function bridgeCommand(
  { command, args = [], env = {}, cwd }: StdioServer,
  bridge: 'supergateway' | 'mcp-proxy',
  port: number,
): string {
  const words = [command, ...args].map(quoteWord).join(' ');
  const bridged =
    bridge === 'supergateway'
      ? `npx -y supergateway --stdio ${quoteWord(words)} --outputTransport streamableHttp --stateful --port ${port}`
      : `npx -y mcp-proxy --host 127.0.0.1 --server stream --port ${port} -- ${words}`;
  const names = Object.keys(env).filter((name) => /^[A-Za-z_]\w*$/.test(name));
  const variables = names.map((name) => `${name}="$${name}" `).join('');
  return `${cwd === undefined ? '' : `cd ${quoteWord(cwd)} && `}${variables}${bridged}`;
}

/** Quotes a word for a POSIX shell. */
function quoteWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

const MCP_REMOTE = /^(?:.*[\\/])?mcp-remote(?:@.*)?$/;
/** A word that may precede `mcp-remote`: a program that starts other programs, or an option of such a program. */
const LAUNCHER =
  /^(?:.*[\\/])?(?:npx|pnpx|bunx|bun|pnpm|yarn|npm|cmd)(?:\.cmd|\.exe)?$|^(?:-.*|\/c|exec|dlx|x|mcp-remote@?.*)$/i;
/** Options of mcp-remote that can be left out when the URL is used directly. */
const DROPPABLE_OPTIONS = /^(?:header|transport|allow-http|host|callback-path|auth-timeout|debug|silent)$/;

/**
 * @returns what mcp-remote connects to; `undefined` for another command. `droppedOptions` has the options that would matter but
 * cannot be kept when the URL is used directly.
 */
function bridgedUrl({ command, args = [] }: StdioServer) {
  const words = [command, ...args];
  const isMcpRemote = (word: string, at: number) =>
    MCP_REMOTE.test(word) && words.slice(0, at).every((each) => LAUNCHER.test(each));
  const at = words.findLastIndex(isMcpRemote);
  if (at < 0) return undefined;
  const text = { type: 'string' } as const;
  const options = { header: { ...text, multiple: true }, transport: text, resource: text } as const;
  const { values, positionals } = parseArgs({ args: words.slice(at + 1), options, strict: false });
  const parsed = [values.header ?? []].flat().map((line) => /^([^\s:]+):\s*(.+)$/s.exec(String(line))?.slice(1));
  const headers = parsed.filter((pair) => pair !== undefined);
  return {
    url: positionals.find((word) => word.includes('://')) ?? positionals[0] ?? '',
    type: /^(?:http|sse)-only|^sse/.exec(String(values.transport))?.[0].replace('-only', ''),
    headers: Object.fromEntries(headers) as Record<string, string>,
    droppedOptions: Object.keys(values).filter(
      (name) => !DROPPABLE_OPTIONS.test(name) || (name === 'header' && headers.length < parsed.length),
    ),
  };
}

export interface NeededSecret {
  readonly secret: string;
  readonly header: string;
  readonly origin: string;
  /** Where the header's value comes from, if it is not in the file. */
  readonly value?: string;
}

/** A server in a client's file. `notes` are for people. */
export type ServerInFile = { readonly name: string; readonly notes: readonly string[] } & (
  | { readonly kind: 'remote'; readonly body: object; readonly secrets: readonly NeededSecret[] }
  /** A stdio server needs a bridge. `url` is where the bridge will listen. */
  | { readonly kind: 'stdio'; readonly command: string; readonly url: string }
  | { readonly kind: 'refused' }
);

export interface ImportOptions {
  /** Where the values of headers will be kept. */
  readonly secretsIn: 'store' | 'files';
  readonly bridge: 'supergateway' | 'mcp-proxy';
  /** The port of the first bridge. Each further bridge gets the next port. */
  readonly bridgePort: number;
}

const stringMapSchema = z.record(z.string(), z.string());
const serverShape = z.object({
  type: z.string().optional(),
  url: z.string().trim().optional(),
  headers: stringMapSchema.optional(),
  elsewhere: stringMapSchema.optional(),
  command: z.string().optional(),
  args: z.array(z.string()).optional(),
  env: z.record(z.string(), z.unknown()).optional(),
  cwd: z.string().optional(),
  disabled: z.boolean().optional(),
  choosesTools: z.boolean().optional(),
  conflict: z.string().optional(),
  'x-switchyard': z.record(z.string(), z.unknown()).optional(),
});
type NormalizedServer = z.infer<typeof serverShape>;
type StdioServer = NormalizedServer & { readonly command: string };

/** The servers in a client's file. Rejects with a CliFault. */
export async function readMcpFile(text: string, options: ImportOptions): Promise<readonly ServerInFile[]> {
  const settings = await readSettings(text);
  if (settings.fault !== undefined) {
    throw new CliFault(exitStatus.refused, `the file is not ${settings.language}: ${settings.fault}`);
  }
  const servers = serversIn(settings.value);
  if (servers === undefined) {
    const paths = SERVER_MAP_PATHS.map(({ path }) => path).join(', ');
    throw new CliFault(exitStatus.refused, `the file has none of ${paths}; is it an MCP client config file?`);
  }
  if (servers.length > limits.importedServersMax) {
    throw new CliFault(exitStatus.refused, `the file has more than ${limits.importedServersMax} servers: split it`);
  }
  const taken = new Set<string>();
  const byName = new Map<string, SettingsServer>();
  let port = options.bridgePort;
  return servers.flatMap((server): ServerInFile | [] => {
    const { name, path: place } = server;
    const first = byName.get(name) ?? server;
    byName.set(name, first);
    if (first === server) return parseServer(server, options, taken, () => port++);
    // Several projects often have the same server: it is imported once.
    if (isDeepStrictEqual(first.members, server.members)) return [];
    return refused(name, `is another one in ${place} than in ${first.path}: rename one of them`);
  });
}

function parseServer(
  { name, members }: SettingsServer,
  options: ImportOptions,
  taken: Set<string>,
  takePort: () => number,
): ServerInFile {
  if (members === undefined) return refused(name, 'is not an object that describes a server, or has no name');
  const { data: server, error } = serverShape.safeParse(members);
  if (server === undefined) return refused(name, `has a member of a wrong type: ${error.issues[0]?.path.join('.')}`);
  const { command, conflict } = server;
  if (conflict !== undefined) return refused(name, `has two members for its ${conflict}, which differ: keep one`);
  const notes = server.disabled === true ? ['disabled in the file'] : [];
  if (server.choosesTools === true)
    notes.push('with all tools, not only those chosen in the file: compositions choose');
  if (command === undefined) return remoteServer(name, server, options, taken, notes);
  const bridged = bridgedUrl({ ...server, command });
  if (bridged !== undefined) {
    // A word that does not look like an option may be a value with a leading dash, and so a secret: it is not repeated.
    const dropped = bridged.droppedOptions.map((option) =>
      /^[a-z-]+\d?$/.test(option) ? `--${option}` : 'other options',
    );
    notes.push(...dropped.map((option) => `without mcp-remote's ${option}`));
    return remoteServer(name, { ...server, ...bridged }, options, taken, notes);
  }
  const port = takePort();
  const url = `http://127.0.0.1:${port}/mcp`;
  return { kind: 'stdio', name, notes, url, command: bridgeCommand({ ...server, command }, options.bridge, port) };
}

/** The transport that `type` names, in any of the clients' spellings; without a type, SSE for a URL that ends with `/sse`. */
function transportOf(url: string, type = 'remote'): 'STREAMABLEHTTP' | 'SSE' | undefined {
  if (type === 'remote') return /\/sse\/?$/.test(new URL(url).pathname) ? 'SSE' : 'STREAMABLEHTTP';
  if (/^(?:(?:streamable[-_]?)?http|streamable)$/i.test(type)) return 'STREAMABLEHTTP';
  return /^sse$/i.test(type) ? 'SSE' : undefined;
}

function remoteServer(
  name: string,
  server: NormalizedServer,
  options: ImportOptions,
  taken: Set<string>,
  notes: readonly string[],
): ServerInFile {
  const { url = '', headers = {}, elsewhere = {}, disabled } = server;
  const fault = urlFault(url);
  if (fault !== undefined) return refused(name, fault);
  const transport = transportOf(url, server.type);
  if (transport === undefined) return refused(name, 'has a type that is neither http nor sse');
  const { description, tags, auth, curation, enabled } = server['x-switchyard'] ?? {};
  const secrets: NeededSecret[] = [];
  const references: [string, object][] = [];
  for (const [header, value] of Object.entries({ ...headers, ...elsewhere })) {
    // A placeholder as `switchyard servers export` writes it: `${secret:name}`.
    const known = readSecretLocation(/^\$\{(.*)\}$/.exec(value)?.[1] ?? '');
    const secret = known === undefined ? createSecretName(`${name}-${header}`, taken) : '';
    const words = elsewhere[header] === undefined ? {} : { value };
    if (known === undefined) secrets.push({ secret, header, origin: new URL(url).origin, ...words });
    references.push([header, known ?? (options.secretsIn === 'store' ? { secret } : { file: secret })]);
  }
  const ownAuth = references.length === 0 ? auth : { type: 'headers', headers: Object.fromEntries(references) };
  const body = { name, url, transport, description, tags, curation, auth: ownAuth };
  return { kind: 'remote', name, notes, secrets, body: { ...body, enabled: disabled === true ? false : enabled } };
}

/** Why a URL cannot be imported; `undefined` if it can. URLs are stored and shown, so none may contain a secret. */
function urlFault(text: string): string | undefined {
  if (text === '') return 'has neither a url nor a command: add the URL where it is reached';
  if (/[{}]|\$[A-Z_]/.test(text)) return 'has a placeholder in its URL: write the URL itself';
  if (!URL.canParse(text)) return 'has a URL that is not absolute';
  const { username, password, searchParams, protocol } = new URL(text);
  if (protocol !== 'http:' && protocol !== 'https:') return 'has a URL that is neither http nor https';
  if (username !== '' || password !== '') return 'has a user or password in its URL: put it into a header';
  const secret = [...searchParams].find(([key, value]) => SECRET_NAMES.test(key) || LIKE_A_SECRET.test(value));
  if (secret === undefined) return undefined;
  return 'has what looks like a secret in the query of its URL, where it would be stored in clear: put it into a header';
}

const SECRET_NAMES = /key|token|secret|passw|auth|credential|signature|\bsig\b|\bcode\b/i;
/** A text that looks like a secret: long, with letters and digits. */
const LIKE_A_SECRET = /^(?=.*\d)(?=.*[A-Za-z])[\w.~+/=-]{20,}$/;

function createSecretName(text: string, taken: Set<string>): string {
  const letters = text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  const base = letters.replaceAll(/^-+|-+$/g, '').slice(0, limits.secretNameCharsMax - 5) || 'secret';
  let name = base;
  for (let number = 2; taken.has(name); number++) name = `${base}-${number}`;
  taken.add(name);
  return name;
}

function refused(name: string, why: string): ServerInFile {
  return { kind: 'refused', name, notes: [why] };
}
