// The command line that runs a stdio server behind a bridge, which gives it a URL. It contains no values of variables: whoever runs it has
// them in the environment.

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
