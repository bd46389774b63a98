// Clients' settings as these write them: a file for every row of what is forgiven, in its client's own format, and what is registered of it.
import { readFileSync } from 'node:fs';
import t from 'tap';
import { SERVER_MEMBERS, SERVER_MAP_PATHS } from '../../src/cli/client-settings.js';
import { readMcpFile, type ImportOptions } from '../../src/cli/mcp-file.js';

const WAY: ImportOptions = { secretsIn: 'store', bridge: 'supergateway', bridgePort: 8100 };
const SECRET = 'tok_4f9c0d7e1b2a48c6a5d3e9f0b1c2d3e4';
const URL_A = 'https://wiki.example/mcp';

interface Row {
  readonly client: string;
  /** The rows of the two tables that the file needs. */
  readonly places: readonly string[];
  readonly members: readonly string[];
  readonly text: string;
  readonly filed: readonly Parameters<typeof countsOf>[0][];
}

const remote = (name: string, body: object = {}, more: object = {}) => ({
  ...{ kind: 'remote', name, notes: [], secrets: [] },
  ...{ body: { url: URL_A, transport: 'STREAMABLEHTTP', enabled: undefined, auth: undefined, ...body }, ...more },
});
const secret = (name: string, header: string) => ({ type: 'headers', headers: { [header]: { secret: name } } });
const needed = (name: string, header: string, more: object = {}) => ({
  secrets: [{ secret: name, header, origin: new URL(URL_A).origin, ...more }],
});
const bridged = (name: string, command: RegExp, more: object = {}) => ({
  ...{ kind: 'stdio', name, notes: [], url: 'http://127.0.0.1:8100/mcp', command },
  ...more,
});
/** For what `match` leaves open. */
const countsOf = ({
  notes = [],
  secrets = [],
}: {
  readonly notes?: readonly unknown[];
  readonly secrets?: readonly unknown[];
}) => [notes.length, secrets.length];
const off = { notes: ['disabled in the file'] };
const chosen = { notes: [/^with all tools/] };

const ROWS: readonly Row[] = [
  {
    client: 'Windsurf: mcp_config.json',
    places: ['mcpServers'],
    members: ['serverUrl', 'headers', 'disabled', 'disabledTools', 'command', 'args', 'env'],
    text: `{
      "mcpServers": {
        "wiki": { "serverUrl": "${URL_A}", "headers": { "Authorization": "Bearer ${SECRET}" } },
        "mail": { "serverUrl": "${URL_A}", "disabledTools": ["send"] },
        "old": { "serverUrl": "${URL_A}", "disabled": true, "disabledTools": [] },
        "git": { "command": "uvx", "args": ["mcp-server-git"], "env": { "GIT_TOKEN": "${SECRET}" }, "disabled": true }
      }
    }`,
    filed: [
      remote(
        'wiki',
        { auth: secret('wiki-authorization', 'Authorization') },
        needed('wiki-authorization', 'Authorization'),
      ),
      remote('mail', {}, chosen),
      remote('old', { enabled: false }, off),
      bridged('git', /^GIT_TOKEN="\$GIT_TOKEN" npx -y supergateway --stdio 'uvx mcp-server-git' /, off),
    ],
  },
  {
    client: 'Cline: cline_mcp_settings.json',
    places: ['mcpServers'],
    members: ['url', 'type', 'transportType', 'disabled'],
    text: `{ "mcpServers": {
      "wiki": { "type": "streamableHttp", "url": "${URL_A}", "disabled": false, "autoApprove": ["find"], "timeout": 60 },
      "news": { "transportType": "sse", "url": "${URL_A}", "disabled": true, "autoApprove": [] }
    } }`,
    filed: [remote('wiki'), remote('news', { transport: 'SSE', enabled: false }, off)],
  },
  {
    client: 'FastMCP: mcp.json',
    places: ['mcpServers'],
    members: ['transport'],
    text: `{ "mcpServers": { "wiki": { "command": "", "url": "${URL_A}", "transport": "streamable-http" } } }`,
    filed: [remote('wiki')],
  },
  {
    client: 'Gemini CLI: settings.json',
    places: ['mcpServers'],
    members: ['httpUrl', 'url', 'includeTools', 'excludeTools', 'cwd'],
    text: `{
      "theme": "Default",
      "mcp": { "excluded": ["old"], "serverCommand": "" },
      "mcpServers": {
        "wiki": { "httpUrl": "${URL_A}", "headers": { "X-Key": "$WIKI_KEY" }, "timeout": 5000, "trust": false },
        "news": { "url": "https://wiki.example/sse", "includeTools": ["read"], "excludeTools": ["send"] },
        "old": { "httpUrl": "${URL_A}" },
        "local": { "command": "node", "args": ["server.js"], "cwd": "./servers" }
      }
    }`,
    filed: [
      remote('wiki', { auth: secret('wiki-x-key', 'X-Key') }, needed('wiki-x-key', 'X-Key')),
      remote('news', { url: 'https://wiki.example/sse', transport: 'SSE' }, chosen),
      remote('old', { enabled: false }, off),
      bridged('local', /^cd \.\/servers && npx /),
    ],
  },
  {
    client: 'Gemini CLI: settings.json with a list of what is allowed',
    places: ['mcpServers'],
    members: [],
    text: `{ "mcp": { "allowed": ["wiki"] }, "mcpServers": { "wiki": { "httpUrl": "${URL_A}" }, "b": { "httpUrl": "${URL_A}" } } }`,
    filed: [remote('wiki'), remote('b', { enabled: false }, off)],
  },
  {
    client: 'VS Code: mcp.json, saved with a byte order mark',
    places: ['servers'],
    members: ['url', 'type', 'headers'],
    text: `\uFEFF// of the team
    {
      "inputs": [{ "id": "key", "type": "promptString", "description": "Key", "password": true }],
      "servers": { "wiki": { "type": "http", "url": "${URL_A}", "headers": { "X-Key": "\${input:key}" }, }, },
    }`,
    filed: [remote('wiki', { auth: secret('wiki-x-key', 'X-Key') }, needed('wiki-x-key', 'X-Key'))],
  },
  {
    client: 'VS Code: settings.json',
    places: ['mcp.servers'],
    members: ['url'],
    text: `{ "editor.tabSize": 2, "mcp": { "inputs": [], "servers": { "wiki": { "url": "${URL_A}" } } } }`,
    filed: [remote('wiki')],
  },
  {
    client: 'Claude Code: ~/.claude.json',
    places: ['mcpServers', 'projects.*.mcpServers'],
    members: ['url', 'type', 'command', 'args', 'env'],
    text: `{
      "numStartups": 41,
      "projects": {
        "/home/kim/shop": {
          "allowedTools": [],
          "mcpServers": {
            "wiki": { "type": "http", "url": "${URL_A}" },
            "files": { "type": "stdio", "command": "npx", "args": ["-y", "files-mcp"], "env": {} },
            "news": { "type": "sse", "url": "${URL_A}" }
          },
          "disabledMcpServers": ["news"]
        },
        "/home/kim/site": { "mcpServers": { "shop": { "type": "http", "url": "${URL_A}" } } },
        "/home/kim/site2": { "mcpServers": { "shop": { "type": "http", "url": "https://shop.example/mcp" } } },
        "/home/kim/notes": { "mcpServers": {} },
        "/home/kim/none": {}
      },
      "mcpServers": { "wiki": { "type": "http", "url": "${URL_A}" } }
    }`,
    filed: [
      remote('wiki'),
      bridged('files', /'npx -y files-mcp'/),
      remote('news', { transport: 'SSE', enabled: false }, off),
      remote('shop'),
      {
        ...{ kind: 'refused', name: 'shop' },
        notes: [
          /another one in projects\.\/home\/kim\/site2\.mcpServers than in projects\.\/home\/kim\/site\.mcpServers/,
        ],
      },
    ],
  },
  {
    client: 'Zed: settings.json',
    places: ['context_servers'],
    members: ['url', 'command', 'enabled', 'env'],
    text: `{
      // Zed settings
      "ui_font_size": 16,
      "context_servers": {
        "wiki": { "source": "custom", "url": "${URL_A}", "headers": {}, },
        "old": { "enabled": false, "url": "${URL_A}" },
        "former": { "command": { "path": "/opt/former", "args": ["run"], "env": { "KEY": "${SECRET}" } }, "settings": {} },
        "bare": { "command": { "path": "/opt/bare", "args": null, "env": null } },
        "boards": { "source": "extension", "enabled": true, "settings": { "token": "${SECRET}" } },
      },
    }`,
    filed: [
      remote('wiki'),
      remote('old', { enabled: false }, off),
      bridged('former', /^KEY="\$KEY" .*'\/opt\/former run'/),
      bridged('bare', / \/opt\/bare /, { url: 'http://127.0.0.1:8101/mcp' }),
      { kind: 'refused', name: 'boards', notes: [/neither a url nor a command/] },
    ],
  },
  {
    client: 'opencode 1: opencode.jsonc',
    places: ['mcp'],
    members: ['type', 'url', 'enabled', 'command', 'environment'],
    text: `{
      "$schema": "https://opencode.ai/config.json",
      "mcp": {
        "wiki": { "type": "remote", "url": "${URL_A}", "enabled": true, "headers": { "X-Key": "{env:WIKI_KEY}" } },
        "old": { "type": "remote", "url": "https://wiki.example/sse/", "enabled": false, "oauth": false },
        "files": { "type": "local", "command": ["bun", "x", "files-mcp"], "environment": { "KEY": "${SECRET}" } },
      },
    }`,
    filed: [
      remote('wiki', { auth: secret('wiki-x-key', 'X-Key') }, needed('wiki-x-key', 'X-Key')),
      remote('old', { url: 'https://wiki.example/sse/', transport: 'SSE', enabled: false }, off),
      bridged('files', /^KEY="\$KEY" .*'bun x files-mcp'/),
    ],
  },
  {
    client: 'opencode 2: opencode.json',
    places: ['mcp.servers'],
    members: ['type', 'url'],
    text: `{ "mcp": { "timeout": { "startup": 5 }, "servers": { "wiki": { "type": "remote", "url": "${URL_A}" } } } }`,
    filed: [remote('wiki')],
  },
  {
    client: 'goose: config.yaml',
    places: ['extensions'],
    members: ['type', 'uri', 'headers', 'enabled', 'cmd', 'args', 'envs', 'available_tools'],
    text: `GOOSE_PROVIDER: openai
extensions:
  developer:
    type: builtin
    name: developer
    enabled: true
  wiki:
    type: streamable_http
    name: Wiki
    uri: ${URL_A}
    headers:
      X-Key: ${SECRET}
    enabled: true
    bundled: null
    available_tools: []
  old:
    type: sse
    uri: https://wiki.example/sse/
    enabled: false
  files:
    type: stdio
    cmd: npx
    args: [-y, files-mcp]
    envs:
      KEY: ${SECRET}
    env_keys: []
    enabled: true
    available_tools: [read]
`,
    filed: [
      remote('wiki', { auth: secret('wiki-x-key', 'X-Key') }, needed('wiki-x-key', 'X-Key')),
      remote('old', { url: 'https://wiki.example/sse/', transport: 'SSE', enabled: false }, off),
      bridged('files', /^KEY="\$KEY" .*'npx -y files-mcp'/, chosen),
    ],
  },
  {
    client: 'Gemini CLI: settings.json, whose extensions are no servers',
    places: ['mcpServers'],
    members: ['httpUrl'],
    text: `{ "extensions": { "disabled": ["x"], "a": { "enabled": true } }, "mcpServers": { "wiki": { "httpUrl": "${URL_A}" } } }`,
    filed: [remote('wiki')],
  },
  {
    client: 'Codex: config.toml',
    places: ['mcp_servers'],
    members: [
      'url',
      'bearer_token_env_var',
      'http_headers',
      'env_http_headers',
      'enabled',
      'enabled_tools',
      'disabled_tools',
      'command',
      'args',
      'env',
    ],
    text: `# Codex
model = "gpt-5-codex"

[projects."/home/kim/shop"]
trust_level = "trusted"

[mcp_servers.wiki]
url = "${URL_A}"
bearer_token_env_var = "WIKI_TOKEN"

[mcp_servers.news]
url = "${URL_A}"
http_headers = { "X-Key" = "${SECRET}" }
enabled = false

[mcp_servers.shop]
url = "${URL_A}"
env_http_headers = { "X-Key" = "SHOP_KEY" }

[mcp_servers.wrong]
url = "${URL_A}"
bearer_token_env_var = "${SECRET}"

[mcp_servers.files]
command = "npx"
args = ["-y", "files-mcp"]
startup_timeout_sec = 20
enabled_tools = ["read", "write"]
disabled_tools = ["write"]

[mcp_servers.files.env]
KEY = "${SECRET}"
`,
    filed: [
      remote(
        'wiki',
        { auth: secret('wiki-authorization', 'Authorization') },
        needed('wiki-authorization', 'Authorization', { value: 'Bearer $WIKI_TOKEN' }),
      ),
      remote(
        'news',
        { auth: secret('news-x-key', 'X-Key'), enabled: false },
        { ...needed('news-x-key', 'X-Key'), ...off },
      ),
      remote('shop', { auth: secret('shop-x-key', 'X-Key') }, needed('shop-x-key', 'X-Key', { value: '$SHOP_KEY' })),
      remote(
        'wrong',
        { auth: secret('wrong-authorization', 'Authorization') },
        needed('wrong-authorization', 'Authorization', { value: 'Bearer <its variable>' }),
      ),
      bridged('files', /^KEY="\$KEY" .*'npx -y files-mcp'/, chosen),
    ],
  },
  {
    client: 'LibreChat: librechat.yaml',
    places: ['mcpServers'],
    members: ['url', 'type', 'headers', 'command', 'args'],
    text: `version: 1.3.1
cache: true
interface:
  mcpServers:
    use: true
x-timeouts: &timeouts
  timeout: 60000
mcpServers:
  wiki:
    <<: *timeouts
    type: streamable-http
    url: ${URL_A}
    headers:
      X-User: "{{LIBRECHAT_USER_ID}}"
  news:
    # type: sse
    url: http://localhost:3001/sse
    serverInstructions: true
  files:
    command: npx
    args:
      - -y
      - "files-mcp"
    env:
`,
    filed: [
      remote('wiki', { auth: secret('wiki-x-user', 'X-User') }, needed('wiki-x-user', 'X-User')),
      remote('news', { url: 'http://localhost:3001/sse', transport: 'SSE' }),
      bridged('files', /'npx -y files-mcp'/),
    ],
  },
  {
    client: 'LiteLLM: config.yaml',
    places: ['mcp_servers'],
    members: ['auth_type', 'transport', 'static_headers', 'allowed_tools', 'disallowed_tools'],
    text: `model_list: []
mcp_servers:
  wiki:
    url: ${URL_A}
    transport: http
    auth_type: bearer_token
    auth_value: ${SECRET}
  news:
    url: ${URL_A}
    auth_type: api_key
    auth_value: os.environ/NEWS_KEY
  archive:
    url: ${URL_A}
    auth_type: basic
    auth_value: ${SECRET}
  other:
    url: ${URL_A}
    auth_type: authorization
    auth_value: ${SECRET}
  open:
    url: ${URL_A}
    auth_type: none
  fixed:
    url: ${URL_A}
    static_headers:
      X-Key: ${SECRET}
    allowed_tools: [read]
    disallowed_tools: [write]
`,
    filed: [
      remote(
        'wiki',
        { auth: secret('wiki-authorization', 'Authorization') },
        needed('wiki-authorization', 'Authorization', { value: 'Bearer <its auth_value>' }),
      ),
      remote(
        'news',
        { auth: secret('news-x-api-key', 'x-api-key') },
        needed('news-x-api-key', 'x-api-key', { value: '<its auth_value>' }),
      ),
      remote(
        'archive',
        { auth: secret('archive-authorization', 'Authorization') },
        needed('archive-authorization', 'Authorization', { value: 'Basic <its auth_value, in base64>' }),
      ),
      remote(
        'other',
        { auth: secret('other-authorization', 'Authorization') },
        needed('other-authorization', 'Authorization', { value: '<its auth_value>' }),
      ),
      remote('open', {}),
      remote('fixed', { auth: secret('fixed-x-key', 'X-Key') }, { ...needed('fixed-x-key', 'X-Key'), ...chosen }),
    ],
  },
  {
    client: 'Continue: config.yaml',
    places: ['mcpServers'],
    members: ['requestOptions.headers', 'apiKey', 'type', 'command'],
    text: `name: Local Config
version: 0.0.1
schema: v1
mcpServers:
  - name: My wiki
    type: streamable-http
    url: ${URL_A}
    requestOptions:
      headers:
        X-Key: \${{ secrets.WIKI_KEY }}
  - name: News
    type: sse
    url: ${URL_A}
    apiKey: ${SECRET}
  - name: Browser
    command: npx
    args: ["browser-mcp@latest"]
  - uses: somebody/somewhere
`,
    filed: [
      remote('My wiki', { auth: secret('my-wiki-x-key', 'X-Key') }, needed('my-wiki-x-key', 'X-Key')),
      remote(
        'News',
        { transport: 'SSE', auth: secret('news-authorization', 'Authorization') },
        needed('news-authorization', 'Authorization', { value: 'Bearer <its apiKey>' }),
      ),
      bridged('Browser', /'npx browser-mcp@latest'/),
      { kind: 'refused', name: 'number 4', notes: [/has no name/] },
    ],
  },
  {
    client: 'Cherry Studio: the JSON of its servers',
    places: ['mcpServers'],
    members: ['isActive', 'type', 'url', 'baseUrl'],
    text: `{ "mcpServers": {
      "wiki": { "name": "Wiki", "type": "streamableHttp", "isActive": true, "url": "${URL_A}" },
      "old": { "name": "Old", "type": "sse", "isActive": false, "url": "${URL_A}" },
      "web": { "name": "Web", "type": "streamableHttp", "isActive": true, "baseUrl": "${URL_A}", "command": "" }
    } }`,
    filed: [remote('wiki'), remote('old', { transport: 'SSE', enabled: false }, off), remote('web')],
  },
  {
    client: 'AnythingLLM: anythingllm_mcp_servers.json',
    places: ['mcpServers'],
    members: ['type', 'url'],
    text: `{ "mcpServers": { "wiki": { "type": "streamable", "url": "${URL_A}", "anythingllm": { "autoStart": false } } } }`,
    filed: [remote('wiki')],
  },
  {
    client: 'Jan: mcp_config.json',
    places: ['mcpServers'],
    members: ['active', 'type', 'url'],
    text: `{ "mcpServers": { "old": { "active": false, "type": "http", "url": "${URL_A}", "env": {} } } }`,
    filed: [remote('old', { enabled: false }, off)],
  },
  {
    client: 'Agent Client Protocol: the servers of a session',
    places: ['mcpServers'],
    members: ['headers', 'env'],
    text: `{ "mcpServers": [
      { "type": "http", "name": "wiki", "url": "${URL_A}", "headers": [{ "name": "X-Key", "value": "${SECRET}" }] },
      { "name": "news", "url": "${URL_A}", "type": "sse", "headers": [] },
      { "name": "files", "command": "npx", "args": [], "env": [{ "name": "KEY", "value": "${SECRET}" }] },
      { "name": "wrong", "url": "${URL_A}", "headers": ["X-Key: ${SECRET}"] }
    ] }`,
    filed: [
      remote('wiki', { auth: secret('wiki-x-key', 'X-Key') }, needed('wiki-x-key', 'X-Key')),
      remote('news', { transport: 'SSE' }),
      bridged('files', /^KEY="\$KEY" npx /),
      { kind: 'refused', name: 'wrong', notes: [/wrong type: headers/] },
    ],
  },
  {
    client: 'a plugin of Claude Code: .mcp.json without mcpServers',
    places: [],
    members: ['url', 'type', 'command'],
    text: `{ "wiki": { "type": "http", "url": "${URL_A}" }, "git": { "command": "uvx", "args": ["mcp-server-git"] } }`,
    filed: [remote('wiki'), bridged('git', /'uvx mcp-server-git'/)],
  },
  {
    client: 'switchyard servers export',
    places: ['mcpServers'],
    members: ['x-switchyard', 'disabled'],
    text: `{ "mcpServers": { "wiki": { "type": "http", "url": "${URL_A}", "disabled": true, "x-switchyard": { "tags": ["t"] } } } }`,
    filed: [remote('wiki', { enabled: false, tags: ['t'] }, off)],
  },
];

t.test('what each client writes is read, and what is disabled stays disabled', async (t) => {
  for (const { client, text, filed } of ROWS) {
    const read = await readMcpFile(text, WAY);
    t.match(read, filed, client);
    t.same(read.map(countsOf), filed.map(countsOf), `${client}: nothing is left out, and nothing said beside`);
    t.notMatch(JSON.stringify(read), SECRET, `${client}: no secret`);
  }
});

t.test('every row of what is forgiven has a file that needs it, and is in the documents', async (t) => {
  const documents = readFileSync(new URL('../../../docs/cli.md', import.meta.url), 'utf8');
  for (const [said, needs] of [
    [SERVER_MAP_PATHS.map(({ path }) => path), ROWS.flatMap(({ places }) => places)],
    [SERVER_MEMBERS.map(({ member }) => member), ROWS.flatMap(({ members }) => members)],
  ] as const) {
    t.same([...new Set(needs)].sort(), [...said].sort());
    for (const name of said) t.ok(documents.includes(`\`${name}\``), name);
  }
});

t.test('a command that only runs mcp-remote is registered as the URL that it connects to', async (t) => {
  const header = `Authorization: Bearer ${SECRET}`;
  const auth = { auth: secret('a-authorization', 'Authorization') };
  const sse = { url: 'https://wiki.example/v1/sse', transport: 'SSE' };
  for (const [command, args, body, notes] of [
    ['npx', ['mcp-remote', URL_A], {}, []],
    ['npx', ['-y', 'mcp-remote@latest', URL_A, '9696', '--allow-http'], {}, []],
    ['npx', ['-y', '-p', 'mcp-remote@0.1.38', 'mcp-remote', URL_A], {}, []],
    ['/usr/local/bin/npx', ['--yes', 'mcp-remote', URL_A, '--header', header], auth, []],
    ['C:\\Program Files\\nodejs\\npx.cmd', ['mcp-remote', URL_A, `--header=${header}`], auth, []],
    ['cmd', ['/c', 'npx', '-y', 'mcp-remote', URL_A, '--header', 'Authorization:${AUTH_HEADER}'], auth, []],
    ['pnpm', ['dlx', 'mcp-remote', URL_A, '--debug'], {}, []],
    ['bunx', ['mcp-remote', sse.url], sse, []],
    ['mcp-remote', [sse.url, '--transport', 'http-only'], { url: sse.url }, []],
    ['npx', ['mcp-remote', URL_A, '--transport', 'sse-only'], { transport: 'SSE' }, []],
    ['npx', ['mcp-remote', '--resource', 'https://b.example/', URL_A], {}, ["without mcp-remote's --resource"]],
    ['npx', ['mcp-remote', URL_A, '--header', SECRET], {}, ["without mcp-remote's --header"]],
    ['npx', ['mcp-remote', URL_A, `--${SECRET}`], {}, ["without mcp-remote's other options"]],
    ['npx', ['mcp-remote', URL_A, '--ignore-tool', 'drop*'], {}, ["without mcp-remote's --ignore-tool"]],
  ] as const) {
    const text = JSON.stringify({ mcpServers: { a: { type: 'stdio', command, args, env: { AUTH_HEADER: SECRET } } } });
    const read = await readMcpFile(text, WAY);
    const secrets = 'auth' in body ? needed('a-authorization', 'Authorization') : {};
    const filed = remote('a', body, { notes, ...secrets });
    t.match(read, [filed], args.join(' '));
    t.same(read.map(countsOf), [countsOf(filed)]);
    t.notMatch(JSON.stringify(read), SECRET);
  }
  const others = [
    ['node', ['server.js', 'mcp-remote', URL_A]],
    ['npx', ['some-mcp', '--with', 'mcp-remote', URL_A]],
    ['npx', ['mcp-remote-client', URL_A]],
  ] as const;
  for (const [command, args] of others) {
    t.match(await readMcpFile(JSON.stringify({ mcpServers: { a: { command, args } } }), WAY), [{ kind: 'stdio' }]);
  }
});

t.test('a fault is reported by its line and column in TOML and YAML, too, without any of the text', async (t) => {
  const faults: readonly (readonly [string, RegExp])[] = [
    ['[mcp_servers.a]\nurl = "x"\nurl = "y"\n', /is not TOML: at line 3, column 1: trying to redefine/],
    [`[mcp_servers.a]\nkey = ${SECRET}\n`, /is not TOML: at line 2, column 7: invalid value$/],
    [`\uFEFF[mcp_servers.a]\nkey = "${SECRET}\n`, /is not TOML: at line 2, column \d+: \w+/],
    ['mcpServers:\n  a:\n    url: x\n   type: http\n', /is not YAML: at line 4, column 1: All mapping items must/],
    [`mcpServers:\n  a:\n    headers: k: ${SECRET}\n`, /is not YAML: at line 3, column 14: Nested mappings/],
    [`mcpServers:\n\ta:\n`, /is not YAML: at line 2, column 1: Tabs are not allowed/],
    [`mcpServers:\n  a: "${SECRET}\n`, /is not YAML: at line \d+, column \d+: Missing closing/],
    [
      `mcpServers:\n  a: |${SECRET}\n    x\n`,
      /is not YAML: at line 2, column \d+: Block scalar header includes extra characters$/,
    ],
    [`mcpServers:\n  a: !x!${SECRET} b\n`, /is not YAML: at line 2, column \d+: Could not resolve tag$/],
    [`%YAML 1.${SECRET}\n---\nmcpServers: {}\n`, /is not YAML: at line 1, column \d+: Unsupported YAML version$/],
    [`mcpServers:\n  a: *${SECRET}\n`, /is not YAML: an alias has no anchor/],
    ['mcpServers: {}\n---\nmcpServers: {}\n', /is not YAML: at line 2, column 1: /],
    [`a: &a [x, x]\n${bomb()}mcpServers: *f\n`, /is not YAML: .* too many aliases/],
    [`mcpServers: ${'['.repeat(20_000)}`, /is not YAML: at line 1, column \d+: /],
    [
      '[tool.poetry]\nname = "x"\n',
      /has none of mcpServers, servers, .*mcp_servers, .*projects\.\*\.mcpServers; is it/,
    ],
    ['openapi: 3.1.0\nservers:\n  - url: https://a.example\n', /has none of mcpServers/],
    ['hello', /has none of mcpServers/],
    ['mcpServers:\n  a: {url: x}\n  a: {url: y}\n', /is not YAML: at line 3, column 3: names must be unique/],
    [
      '{"mcpServers":{"a":{\n"__pr\\u006fto__":{"url":"x"}}}}',
      /is not JSON: at line 2, column 1 is a name that nothing/,
    ],
    // Read in time and room that grow with the text alone.
    [`mcpServers:\n${manyNames(2 ** 16)}`, /has more than 1000 servers/],
    [`${'\n'.repeat(2 ** 20)}#`, /is not JSON: at line \d+, column 1 /],
    ['a'.repeat(2 ** 23), /has none of mcpServers/],
    [`${' '.repeat(2 ** 20)}\n#`, /is not JSON: at line \d+, column 1 /],
  ];
  for (const [text, message] of faults) {
    const read = readMcpFile(text, WAY);
    await t.rejects(read, { name: 'CliFault', exitStatus: 65, message }, text.slice(0, 60));
    await read.catch((error: unknown) => t.notMatch(String(error), SECRET));
  }
});

function manyNames(count: number): string {
  return Array.from({ length: count }, (_, place) => `  s${place}: {}\n`).join('');
}

/** Lists that each contain the one before six times. */
function bomb(): string {
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  return names
    .slice(1)
    .map((name, index) => `${name}: &${name} [${Array(6).fill(`*${names[index]!}`).join(', ')}]\n`)
    .join('');
}
