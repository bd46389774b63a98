// `switchyard servers import` and `export`: from clients' config files to the registry, and back.
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { exitStatus, limits } from '../shared/index.js';
import { CliFault, jsonText, type CommandResult, parseResponse, printable, textTable } from './command-result.js';
import type { ControlPlaneConnection, CommandContext } from './control-plane-connection.js';
import { readInput } from './input-file.js';
import { readMcpFile, type ServerInFile, type ImportOptions, type NeededSecret } from './mcp-file.js';
import type { Columns } from './views.js';

type ServersConnection = Pick<ControlPlaneConnection, 'request' | 'list'>;
type ServersContext = Omit<CommandContext, 'connection'> & { readonly connection: ServersConnection };

interface ImportResult {
  readonly name: string;
  readonly outcome: 'registered' | 'registered already' | 'refused' | 'to be registered' | 'to be bridged';
  /** The server's status: `active` or `inactive`. */
  readonly status?: string;
  /** Why the server is inactive. */
  readonly lastError?: string;
  readonly why?: string;
  readonly command?: string;
  readonly url?: string;
  readonly secrets?: readonly NeededSecret[];
}

export interface ImportRequest {
  /** The file to read; `-` for standard input. */
  readonly file: string;
  readonly importOptions: ImportOptions;
  /** Whether the command only shows what it would do, without the control plane. */
  readonly isTrial: boolean;
}

export async function importServers(
  { file, importOptions, isTrial }: ImportRequest,
  { connection, columns, print }: ServersContext,
): Promise<CommandResult> {
  const results: ImportResult[] = [];
  const servers = await readMcpFile(await readText(file), importOptions);
  const known = isTrial ? [] : z.array(z.looseObject({ name: z.string() })).parse(await connection.list('/servers'));
  const byName = new Map(known.map((server) => [server.name, server]));
  const longestName = servers.reduce((longest, { name }) => (name.length > longest.length ? name : longest), '');
  for (const server of servers) {
    const result: ImportResult =
      server.kind === 'remote' && isRegistered(server.body, byName.get(server.name))
        ? { ...withNotes(server), outcome: 'registered already', secrets: server.secrets }
        : await register(server, isTrial, connection);
    const lines = outcomeTable(result, longestName, columns);
    // Each line is printed as soon as its server is done, so that an interrupted import has said what it did.
    await print(results.length === 0 ? lines : lines.slice(lines.indexOf('\n') + 1));
    results.push(result);
  }
  const isRefused = results.some(({ outcome }) => outcome === 'refused');
  return {
    answer: results,
    text: adviceText(results, importOptions),
    exitStatus: isRefused ? exitStatus.refused : exitStatus.ok,
  };
}

/** Whether the registered server has all members of the server in the file. @param known `undefined` if none has the name. */
function isRegistered(body: object, known: Readonly<Record<string, unknown>> | undefined): boolean {
  if (known === undefined) return false;
  return Object.entries(body).every(([name, value]) => value === undefined || isDeepStrictEqual(value, known[name]));
}

const registeredServerShape = z.object({ status: z.string(), lastError: z.string().nullish() }).catch({ status: '' });

async function register(server: ServerInFile, isTrial: boolean, connection: ServersConnection): Promise<ImportResult> {
  const known = withNotes(server);
  if (server.kind === 'refused') return { ...known, outcome: 'refused' };
  if (server.kind === 'stdio') return { ...known, outcome: 'to be bridged', command: server.command, url: server.url };
  const { secrets } = server;
  if (isTrial) return { ...known, outcome: 'to be registered', secrets };
  try {
    const answer = await connection.request('POST', '/servers', server.body);
    const { status, lastError } = registeredServerShape.parse(answer);
    return { ...known, outcome: 'registered', status, ...(lastError && { lastError }), secrets };
  } catch (error) {
    // The import goes on after a refusal: the control plane may accept the other servers.
    if (!(error instanceof CliFault) || error.exitStatus !== exitStatus.refused) throw error;
    return { name: server.name, outcome: 'refused', why: error.message };
  }
}

function withNotes({ name, notes }: ServerInFile): { readonly name: string; readonly why?: string } {
  return { name, ...(notes.length > 0 && { why: notes.join(', ') }) };
}

/** The table of outcomes with its head and one row. */
function outcomeTable(
  { name, outcome, status, lastError, why }: ImportResult,
  longestName: string,
  columns: Columns,
): string {
  const row = [name, outcome, [status, lastError, why].filter((word) => word !== undefined).join(', ')];
  return textTable(['NAME', 'OUTCOME', 'DETAIL'], [row], columns, [longestName, 'registered already']);
}

/** A text that says what the user still has to do. */
function adviceText(results: readonly ImportResult[], { secretsIn, bridgePort }: ImportOptions): string {
  if (results.length === 0) return 'The file has no servers.\n';
  const secrets = results.flatMap((result) => (result.outcome === 'refused' ? [] : (result.secrets ?? [])));
  const lines: string[] = [];
  if (secrets.length > 0) {
    lines.push(
      '\nThese headers refer to secrets; their values were not imported. Set each one to the complete value in the file, or to what is shown here (in the store with the options --secrets-key-file and --store-path or --redis-… of both planes):\n',
    );
    for (const { secret, header, origin, value } of secrets) {
      const what = printable(value === undefined ? header : `${header}: ${value}`);
      lines.push(
        secretsIn === 'store'
          ? `  switchyard secrets set ${secret} --origins ${printable(origin)}    # ${what}\n`
          : `  a file ${secret} in --secrets-directory, for ${printable(origin)}    # ${what}\n`,
      );
    }
  }
  const bridged = results.filter(({ command }) => command !== undefined);
  if (bridged.length > 0) {
    const next = bridgePort + bridged.length;
    const other = `for those of another file, begin with --bridge-port ${next}`;
    lines.push(`\nThese servers use stdio. Run each behind a bridge, then register it (${other}):\n`);
    for (const { name, command = '', url = '' } of bridged) {
      lines.push(`  ${printable(command)}\n  switchyard servers add ${shellWord(name)} ${url}\n`);
    }
  }
  return lines.join('');
}

function shellWord(name: string): string {
  return /^[\w.-]+$/.test(name) ? name : printable(`'${name.replaceAll("'", "'\\''")}'`);
}

const exportedServerShape = z.looseObject({
  name: z.string(),
  url: z.string(),
  transport: z.string().default('STREAMABLEHTTP'),
  description: z.string().default(''),
  tags: z.array(z.string()).default([]),
  enabled: z.boolean().default(true),
  auth: z.looseObject({ type: z.string() }).nullish(),
  curation: z.unknown().optional(),
});
const headersShape = z.record(z.string(), z.union([z.object({ file: z.string() }), z.object({ secret: z.string() })]));

/** Prints the servers in the form that `servers import` and clients read, with placeholders instead of secrets. */
export async function exportServers(
  _action: object,
  { connection }: Pick<ServersContext, 'connection'>,
): Promise<CommandResult> {
  const servers = parseResponse('control plane', z.array(exportedServerShape), await connection.list('/servers'));
  const mcpServers = Object.fromEntries(servers.map((server) => [server.name, exportServer(server)]));
  const answer = { mcpServers };
  return { answer, text: jsonText(answer) };
}

function exportServer(server: z.infer<typeof exportedServerShape>): object {
  const { url, transport, description, tags, enabled, auth, curation } = server;
  const headers = auth?.type === 'headers' ? headersShape.safeParse(auth['headers']).data : undefined;
  const headersWithPlaceholders = Object.entries(headers ?? {}).map(([header, reference]): [string, string] => [
    header,
    'secret' in reference ? `\${secret:${reference.secret}}` : `\${file:${reference.file}}`,
  ]);
  const others = {
    ...(description !== '' && { description }),
    ...(tags.length > 0 && { tags }),
    ...(auth && headers === undefined && { auth }),
    ...(curation !== undefined && curation !== null && { curation }),
  };
  return {
    type: transport === 'SSE' ? 'sse' : 'http',
    url,
    ...(headersWithPlaceholders.length > 0 && { headers: Object.fromEntries(headersWithPlaceholders) }),
    ...(!enabled && { disabled: true }),
    ...(Object.keys(others).length > 0 && { 'x-switchyard': others }),
  };
}

async function readText(file: string): Promise<string> {
  const bytes = await readInput(file, limits.importFileBytesMax);
  // PowerShell writes files in UTF-16, which begin with these two bytes.
  const isWide = bytes[0] === 0xff && bytes[1] === 0xfe;
  if (bytes.length <= limits.importFileBytesMax) return bytes.toString(isWide ? 'utf16le' : 'utf8');
  throw new CliFault(exitStatus.refused, `${file} has more than ${limits.importFileBytesMax} bytes`);
}
