// Reads the files in which clients keep their servers (`mcp.json`, `claude_desktop_config.json`, VS Code's) for the registry. Nothing that
// is or may be a secret leaves this file: a header becomes the name of a secret, and a URL that contains one is refused. Names and
// descriptions of servers are passed on; values of headers and of environment variables never are.
import { z } from 'zod';
import { exitStatus } from '../shared/exit-status.js';
import { limits } from '../shared/limits.js';
import { isSecretName } from '../shared/secret-name.js';
import { CliFault } from './cli-fault.js';
import { readJsonWithComments } from './json-text.js';
import { bridgeCommand } from './stdio-bridge.js';

/** A secret that somebody has to set before the server accepts requests. */
export interface NeededSecret {
  readonly secret: string;
  readonly header: string;
  readonly origin: string;
}

export type FiledServer =
  | { readonly kind: 'remote'; readonly name: string; readonly body: object; readonly secrets: readonly NeededSecret[] }
  /** `url`: where the server is reached once the command runs. */
  | { readonly kind: 'stdio'; readonly name: string; readonly command: string; readonly url: string }
  | { readonly kind: 'refused'; readonly name: string; readonly why: string };

export interface ImportWay {
  /** Where the secrets in headers are to be kept. */
  readonly secretsIn: 'store' | 'files';
  readonly bridge: 'supergateway' | 'mcp-proxy';
  /** Port of the first bridge; further ones count up. */
  readonly bridgePort: number;
}

const texts = z.record(z.string(), z.string());
const serverShape = z.looseObject({
  type: z.string().optional(),
  url: z.string().optional(),
  headers: texts.optional(),
  command: z.string().optional(),
  args: z.array(z.string()).optional(),
  env: z.record(z.string(), z.unknown()).optional(),
  cwd: z.string().optional(),
  disabled: z.boolean().optional(),
  'x-switchyard': z.record(z.string(), z.unknown()).optional(),
});
type Said = z.infer<typeof serverShape>;

const serversShape = z.record(z.string(), z.unknown());

/** Throws a CliFault when the file is not of one of these kinds. */
export function readMcpFile(text: string, way: ImportWay): readonly FiledServer[] {
  const servers = Object.entries(serversIn(text));
  if (servers.length > limits.importedServersMax) {
    throw new CliFault(exitStatus.refused, `the file has more than ${limits.importedServersMax} servers: split it`);
  }
  const taken = new Set<string>();
  let port = way.bridgePort;
  return servers.map(([name, value]): FiledServer => {
    const { data: said } = serverShape.safeParse(value);
    if (said === undefined) return refused(name, 'is not an object that describes a server');
    if (said.command !== undefined) {
      const url = `http://127.0.0.1:${port}/mcp`;
      return {
        kind: 'stdio',
        name,
        url,
        command: bridgeCommand({ ...said, command: said.command }, way.bridge, port++),
      };
    }
    return remoteOf(name, said, way, taken);
  });
}

function serversIn(text: string): Readonly<Record<string, unknown>> {
  const file = readJsonWithComments(text);
  if (file.fault !== undefined) throw new CliFault(exitStatus.refused, `the file is not JSON: ${file.fault}`);
  const { mcpServers, servers, mcp } = Object(file.value) as Readonly<Record<string, unknown>>;
  const inSettings = (Object(mcp) as { readonly servers?: unknown }).servers;
  const found = serversShape.safeParse(mcpServers ?? servers ?? inSettings).data;
  if (found !== undefined) return found;
  throw new CliFault(
    exitStatus.refused,
    'the file has neither mcpServers nor servers; is it an MCP client config file?',
  );
}

const TRANSPORTS: Readonly<Record<string, 'STREAMABLEHTTP' | 'SSE'>> = {
  http: 'STREAMABLEHTTP',
  'streamable-http': 'STREAMABLEHTTP',
  streamableHttp: 'STREAMABLEHTTP',
  sse: 'SSE',
};

function remoteOf(name: string, said: Said, way: ImportWay, taken: Set<string>): FiledServer {
  const { url = '', type = 'http', headers = {}, disabled } = said;
  const fault = urlFault(url);
  if (fault !== undefined) return refused(name, fault);
  const transport = Object.hasOwn(TRANSPORTS, type) ? TRANSPORTS[type] : undefined;
  if (transport === undefined) return refused(name, 'has a type that is neither http nor sse');
  const { description, tags, auth, curation, enabled } = said['x-switchyard'] ?? {};
  const secrets: NeededSecret[] = [];
  const references: [string, object][] = [];
  for (const [header, value] of Object.entries(headers)) {
    const known = referenceIn(value);
    const secret = known === undefined ? freshName(`${name}-${header}`, taken) : '';
    if (known === undefined) secrets.push({ secret, header, origin: new URL(url).origin });
    references.push([header, known ?? (way.secretsIn === 'store' ? { secret } : { file: secret })]);
  }
  const named = references.length === 0 ? auth : { type: 'headers', headers: Object.fromEntries(references) };
  const body = { name, url, transport, description, tags, curation, auth: named };
  return { kind: 'remote', name, secrets, body: { ...body, enabled: disabled === true ? false : enabled } };
}

/** URLs are stored and shown as they are, so none may contain a secret. */
function urlFault(text: string): string | undefined {
  if (text === '') return 'has neither a url nor a command';
  if (text.includes('${')) return 'has a placeholder in its URL: write the URL itself';
  if (!URL.canParse(text)) return 'has a URL that is not absolute';
  const { username, password, searchParams, protocol } = new URL(text);
  if (protocol !== 'http:' && protocol !== 'https:') return 'has a URL that is neither http nor https';
  if (username !== '' || password !== '') return 'has a user or password in its URL: put it into a header';
  const secret = [...searchParams].find(([key, value]) => SECRET_KEY.test(key) || LIKE_A_SECRET.test(value));
  if (secret === undefined) return undefined;
  return 'has what looks like a secret in the query of its URL, where it would be stored in clear: put it into a header';
}

const SECRET_KEY = /key|token|secret|passw|auth|credential|signature|\bsig\b|\bcode\b/i;
/** Long, and with letters and digits mixed as in no ordinary word. */
const LIKE_A_SECRET = /^(?=.*\d)(?=.*[A-Za-z])[\w.~+/=-]{20,}$/;

/** A reference to a secret, as written by `switchyard servers export`. */
function referenceIn(value: string): object | undefined {
  const [, kind, name = ''] = /^\$\{(secret|file):(.*)\}$/.exec(value) ?? [];
  if (kind === undefined || !isSecretName(name)) return undefined;
  return kind === 'secret' ? { secret: name } : { file: name };
}

function freshName(text: string, taken: Set<string>): string {
  const letters = text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  const base = letters.replaceAll(/^-+|-+$/g, '').slice(0, limits.secretNameCharsMax - 5) || 'secret';
  let name = base;
  for (let number = 2; taken.has(name); number++) name = `${base}-${number}`;
  taken.add(name);
  return name;
}

function refused(name: string, why: string): FiledServer {
  return { kind: 'refused', name, why };
}
