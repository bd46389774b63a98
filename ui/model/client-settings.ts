// Settings of MCP clients for one endpoint, to be copied. They never contain a token: clients that can ask for one or read it from the
// environment do so, and the settings of the others have a placeholder.

export interface ClientSettings {
  readonly client: string;
  /** Where the settings go. */
  readonly place: string;
  readonly text: string;
}

const PLACE_OF_TOKEN = '<your token>';

/** @param name under which the client is to list the server. */
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
            // mcp-remote's arguments are split at spaces, so a header value that contains one comes from a variable.
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

/** A name that every client accepts. */
export function settingsName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]+/g, '-').replaceAll(/^-+|-+$/g, '') || 'switchyard';
}

/** @returns the endpoint of a composition; `undefined` when the base is no HTTP URL. @param base URL of the gateway or a control plane. */
export function endpointOf(base: string, id: string): string | undefined {
  if (!URL.canParse(base)) return undefined;
  const { protocol, origin, pathname } = new URL(base);
  if (protocol !== 'http:' && protocol !== 'https:') return undefined;
  // Quotes are escaped, so that nothing in the address can end a shell's quoted string.
  return `${origin}${pathname.replace(/\/+$/, '').replaceAll("'", '%27')}/servers/${id}/mcp`;
}
