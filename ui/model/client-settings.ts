// Settings of MCP clients for one endpoint, to be copied. There is never a token in them: clients that can ask for it or take it from the
// environment do so, and the others have a place to put it.

export interface ClientSettings {
  readonly client: string;
  /** Where it goes. */
  readonly place: string;
  readonly text: string;
}

const PLACE_OF_TOKEN = '<your token>';

/** @param name as the client is to call the server. */
export function clientSettings(name: string, url: string): readonly ClientSettings[] {
  const server = settingsName(name);
  const json = (value: object): string => JSON.stringify(value, null, 2);
  return [
    {
      client: 'Claude Desktop',
      place: 'claude_desktop_config.json; put the token where indicated. It starts mcp-remote, which needs Node.js',
      text: json({
        mcpServers: {
          [server]: {
            command: 'npx',
            // What it starts is split at spaces: the one in the header's value stands in a variable.
            args: ['-y', 'mcp-remote', url, '--header', 'Authorization:${AUTHORIZATION}'],
            env: { AUTHORIZATION: `Bearer ${PLACE_OF_TOKEN}` },
          },
        },
      }),
    },
    {
      client: 'VS Code',
      place: '.vscode/mcp.json; it asks for the token once and stores it',
      text: json({
        inputs: [{ type: 'promptString', id: `${server}-token`, description: `Token for ${server}`, password: true }],
        servers: {
          [server]: { type: 'http', url, headers: { Authorization: `Bearer \${input:${server}-token}` } },
        },
      }),
    },
    {
      client: 'Cursor',
      place: '~/.cursor/mcp.json; the token is in SWITCHYARD_TOKEN of its environment',
      text: json({ mcpServers: { [server]: { url, headers: { Authorization: 'Bearer ${env:SWITCHYARD_TOKEN}' } } } }),
    },
    {
      client: 'Claude Code',
      place: 'in a shell where SWITCHYARD_TOKEN is set',
      text: `claude mcp add --transport http ${server} '${url}' --header "Authorization: Bearer $SWITCHYARD_TOKEN"`,
    },
    {
      client: 'Any other',
      place: 'streamable HTTP, with this header',
      text: `${url}\nAuthorization: Bearer ${PLACE_OF_TOKEN}`,
    },
  ];
}

/** What every client takes for a name. */
export function settingsName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]+/g, '-').replaceAll(/^-+|-+$/g, '') || 'switchyard';
}

/** @returns the endpoint of a composition; `undefined` when the base is no address. @param base of the gateway or a control plane. */
export function endpointOf(base: string, id: string): string | undefined {
  if (!URL.canParse(base)) return undefined;
  const { protocol, origin, pathname } = new URL(base);
  if (protocol !== 'http:' && protocol !== 'https:') return undefined;
  // Nothing in the address can end a shell's quotes.
  return `${origin}${pathname.replace(/\/+$/, '').replaceAll("'", '%27')}/servers/${id}/mcp`;
}
