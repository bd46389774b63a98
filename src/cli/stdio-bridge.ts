// Stdio servers and URLs: the command line that runs a stdio server behind a bridge, which gives it a URL, and the URL of a stdio server that
// is only mcp-remote, a bridge the other way. The command line contains no values of variables: whoever runs it has them in the environment.
import { parseArgs } from 'node:util';

export interface StdioServer {
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, unknown>> | undefined;
  readonly cwd?: string | undefined;
}

export function bridgeCommand(
  { command, args = [], env = {}, cwd }: StdioServer,
  bridge: 'supergateway' | 'mcp-proxy',
  port: number,
): string {
  const words = [command, ...args].map(quoted).join(' ');
  const bridged =
    bridge === 'supergateway'
      ? `npx -y supergateway --stdio ${quoted(words)} --outputTransport streamableHttp --stateful --port ${port}`
      : `npx -y mcp-proxy --host 127.0.0.1 --server stream --port ${port} -- ${words}`;
  const names = Object.keys(env).filter((name) => /^[A-Za-z_]\w*$/.test(name));
  const variables = names.map((name) => `${name}="$${name}" `).join('');
  return `${cwd === undefined ? '' : `cd ${quoted(cwd)} && `}${variables}${bridged}`;
}

/** Quotes a word for a POSIX shell. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

const MCP_REMOTE = /^(?:.*[\\/])?mcp-remote(?:@.*)?$/;
/** What may stand before it: programs that start another one, and their words for that. */
const LAUNCHER =
  /^(?:.*[\\/])?(?:npx|pnpx|bunx|bun|pnpm|yarn|npm|cmd)(?:\.cmd|\.exe)?$|^(?:-.*|\/c|exec|dlx|x|mcp-remote@?.*)$/i;
/** Options about its transport, its page for consent and its log. */
const NEEDLESS = /^(?:header|transport|allow-http|host|callback-path|auth-timeout|debug|silent)$/;

/**
 * @returns what mcp-remote connects to, or `undefined` when the command is another one.
 * `lost` has the options that have no counterpart where the URL is used without it.
 */
export function bridgedUrl({ command, args = [] }: StdioServer) {
  const words = [command, ...args];
  const isIt = (word: string, at: number) =>
    MCP_REMOTE.test(word) && words.slice(0, at).every((each) => LAUNCHER.test(each));
  const at = words.findLastIndex(isIt);
  if (at < 0) return undefined;
  const text = { type: 'string' } as const;
  const options = { header: { ...text, multiple: true }, transport: text, resource: text } as const;
  const { values, positionals } = parseArgs({ args: words.slice(at + 1), options, strict: false });
  const lines = [values.header ?? []].flat().map((line) => /^([^\s:]+):\s*(.+)$/s.exec(String(line))?.slice(1));
  const headers = lines.filter((line) => line !== undefined);
  return {
    url: positionals.find((word) => word.includes('://')) ?? positionals[0] ?? '',
    type: /^(?:http|sse)-only|^sse/.exec(String(values.transport))?.[0].replace('-only', ''),
    headers: Object.fromEntries(headers) as Record<string, string>,
    lost: Object.keys(values).filter(
      (name) => !NEEDLESS.test(name) || (name === 'header' && headers.length < lines.length),
    ),
  };
}
