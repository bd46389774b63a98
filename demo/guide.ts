// What the quick start prints, and the guide that it writes: commands and settings to paste, with this run's URL and token in them.

export interface GuideFacts {
  /** The virtual host's MCP endpoint. */
  readonly url: string;
  readonly token: string;
  /** Prints another token like it. */
  readonly tokenCommand: string;
  /** Listener and path prefix. */
  readonly baseUrl: string;
  readonly subject: string;
  readonly controlPlaneUrl: string;
  readonly compositionId: string;
  /** `host:port` of the gateway's listener for operators. */
  readonly adminAddress: string;
  /** Opens the store that both programs share. */
  readonly storeWords: string;
}

/** What a newcomer needs first, with the address to open at its end. @param guidePath where the rest is. */
export function greeting(
  { url, token, subject, controlPlaneUrl }: GuideFacts,
  guidePath: string,
  logPath: string,
): string {
  return `
Switchyard is running: two demo servers behind one endpoint.

  URL    ${url}
  TOKEN  ${token}

  Commands for curl, and settings for Claude, Cursor and VS Code:  ${guidePath}
  What the gateway and its control plane log:                      ${logPath}

Next: open the console in a browser, and sign in with the token above as ${subject}:

  ${controlPlaneUrl}/ui

Stop with Ctrl-C.`;
}

export function guide(facts: GuideFacts): string {
  const { url, token, tokenCommand, baseUrl, subject, controlPlaneUrl, compositionId, adminAddress, storeWords } =
    facts;
  const settings = { type: 'http', url, headers: { Authorization: `Bearer ${token}` } };
  // Such clients only start programs, and split the arguments at spaces.
  const remote = {
    command: 'npx',
    args: ['-y', 'mcp-remote', url, '--header', 'Authorization:${AUTHORIZATION}'],
    env: { AUTHORIZATION: `Bearer ${token}` },
  };
  return `The quick start of Switchyard, for this run. The console, to sign in with the token below as ${subject}:

  ${controlPlaneUrl}/ui

Step by step with curl (paste into a second terminal):

  URL='${url}'
  TOKEN='${token}'
  mcp() { curl -sS "$URL" -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' \\
    -H 'accept: application/json, text/event-stream' -H 'mcp-protocol-version: 2025-11-25' "$@"; echo; }

  : '1. initialize, and keep the session id'
  SESSION=$(mcp -o /dev/null -D - -d '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"curl","version":"1"}}}' \\
    | tr -d '\\r' | sed -n 's/^mcp-session-id: //p')
  : '2. say that the client is ready'
  mcp -H "mcp-session-id: $SESSION" -d '{"jsonrpc":"2.0","method":"notifications/initialized"}'
  : '3. the tools of both backends'
  mcp -H "mcp-session-id: $SESSION" -d '{"jsonrpc":"2.0","id":2,"method":"tools/list"}'
  : '4. call one that answers as JSON, and one that streams its progress'
  mcp -H "mcp-session-id: $SESSION" -d '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"calculator-add","arguments":{"a":19,"b":23}}}'
  mcp -N -H "mcp-session-id: $SESSION" -d '{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"wordsmith-countdown","arguments":{"from":5},"_meta":{"progressToken":"p"}}}'
  : '5. end the session'
  mcp -X DELETE -H "mcp-session-id: $SESSION"

MCP Inspector:

  ${inspector()} --cli '${url}' --transport http \\
    --header 'Authorization: Bearer ${token}' --method tools/list

Claude Code:

  claude mcp add --transport http switchyard '${url}' --header 'Authorization: Bearer ${token}'

Cursor (~/.cursor/mcp.json) and others that read "mcpServers":

${indent(JSON.stringify({ mcpServers: { switchyard: settings } }, null, 2))}

Claude Desktop (claude_desktop_config.json):

${indent(JSON.stringify({ mcpServers: { switchyard: remote } }, null, 2))}

VS Code (.vscode/mcp.json):

${indent(JSON.stringify({ servers: { switchyard: settings } }, null, 2))}

The control plane knows both backends, and has composed three of their tools for ${subject}:

  ${controlPlaneUrl}/docs   its interface, as a page
  ${controlPlaneUrl}/mcp    every tool of every registered server
  ${controlPlaneUrl}/servers/${compositionId}/mcp   the composition, "desk"
  ${baseUrl}/servers/${compositionId}/mcp   the same, on the gateway

  export SWITCHYARD_TOKEN='${token}' SWITCHYARD_CONTROL_PLANE_URL='${controlPlaneUrl}'
  node dist-quickstart/main.js servers list
  node dist-quickstart/main.js servers show calculator
  node dist-quickstart/main.js compositions show desk
  curl -sS '${controlPlaneUrl}/mcp' -H "authorization: Bearer $SWITCHYARD_TOKEN" \\
    -H 'content-type: application/json' -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'

Your own servers (by URL, or those in a client's file), and another user with tools of one of them:

  node dist-quickstart/main.js servers add mine http://127.0.0.1:3000/mcp
  node dist-quickstart/main.js servers import ~/.cursor/mcp.json --dry-run
  node dist-quickstart/main.js compositions create bobs 'mine:*' --subjects bob@example.com
  ${tokenCommand.replace(subject, 'bob@example.com')}

The gateway's listener for operators, which needs no token (/ready, /metrics, /workers):

  http://${adminAddress}/ready
  node dist-quickstart/main.js sessions --admin-address ${adminAddress}

A secret for a server that wants credentials, read from standard input:

  printf 'Bearer %s' "$GITHUB_TOKEN" | node dist-quickstart/main.js secrets set github --origins any ${storeWords}

The token lasts a day. A new one:  ${tokenCommand}
`;
}

/** With an older Node.js, npx would choose a very old Inspector, which takes no headers: the command then brings a newer Node.js. */
function inspector(): string {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const isEnough = major > 22 || (major === 22 && minor >= 19);
  return isEnough
    ? 'npx -y @modelcontextprotocol/inspector@2'
    : 'npx -y -p node@22 -p @modelcontextprotocol/inspector@2 mcp-inspector';
}

function indent(text: string): string {
  return text.replace(/^/gm, '  ');
}
