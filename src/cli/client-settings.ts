// Where MCP clients' config files have their servers, and what a server's members are called there. mcp-file.ts checks types; docs/cli.md
// has these tables for people. The console uses this file, too, so it imports nothing of Node.js.

type Members = Readonly<Record<string, unknown>>;

/** The paths in a config file at which servers may be; `*` stands for any member. */
export const SERVER_MAP_PATHS = [
  { path: 'mcpServers', clients: 'Claude, Cursor, Windsurf, Cline, Gemini CLI, LibreChat; as a list: Continue' },
  { path: 'servers', clients: 'VS Code, in mcp.json' },
  { path: 'mcp.servers', clients: 'VS Code, in settings.json; opencode 2' },
  { path: 'mcp', clients: 'opencode 1' },
  { path: 'context_servers', clients: 'Zed' },
  { path: 'mcp_servers', clients: 'Codex, LiteLLM' },
  { path: 'extensions', clients: 'goose' },
  { path: 'projects.*.mcpServers', clients: 'Claude Code, for one project' },
] as const;

const namedAs = (name: string) => (value: unknown) => ({ [name]: value });
const pairsAs = (name: string) => (value: unknown) => ({ [name]: Array.isArray(value) ? objectOf(value) : value });
const asEnabled = (value: unknown) => (value === true ? {} : { disabled: value === false || value });
const asChoice = (tools: unknown) => (Array.isArray(tools) && tools.length > 0 ? { choosesTools: true } : {});

/** The headers in which LiteLLM sends a server's `auth_value`, by its `auth_type`. */
const HEADERS_BY_AUTH_TYPE: ReadonlyMap<unknown, Members> = new Map([
  ['api_key', { 'x-api-key': '<its auth_value>' }],
  ['authorization', { Authorization: '<its auth_value>' }],
  ['basic', { Authorization: 'Basic <its auth_value, in base64>' }],
  ['bearer_token', { Authorization: 'Bearer <its auth_value>' }],
]);

/**
 * The members of a server that are read, as each client names them. `read` turns a member's value into members of `serverShape` in
 * mcp-file.ts. If two become the same member, objects are merged, and texts must be equal. `null` and `''` count as absent.
 */
export const SERVER_MEMBERS: readonly { member: string; clients: string; read: (value: unknown) => Members }[] = [
  { member: 'url', clients: 'most', read: namedAs('url') },
  { member: 'serverUrl', clients: 'Windsurf', read: namedAs('url') },
  { member: 'httpUrl', clients: 'Gemini CLI', read: namedAs('url') },
  { member: 'baseUrl', clients: 'Cherry Studio', read: namedAs('url') },
  { member: 'uri', clients: 'goose', read: namedAs('url') },
  { member: 'type', clients: 'most', read: namedAs('type') },
  { member: 'transport', clients: 'FastMCP', read: namedAs('type') },
  { member: 'transportType', clients: 'Cline, formerly', read: namedAs('type') },
  { member: 'headers', clients: 'most; as a list: Agent Client Protocol', read: pairsAs('headers') },
  { member: 'http_headers', clients: 'Codex', read: namedAs('headers') },
  { member: 'static_headers', clients: 'LiteLLM', read: namedAs('headers') },
  { member: 'requestOptions.headers', clients: 'Continue', read: namedAs('headers') },
  { member: 'apiKey', clients: 'Continue', read: () => ({ elsewhere: { Authorization: 'Bearer <its apiKey>' } }) },
  { member: 'env_http_headers', clients: 'Codex', read: (names) => ({ elsewhere: variablesOf(names) }) },
  {
    member: 'bearer_token_env_var',
    clients: 'Codex',
    read: (name) => ({ elsewhere: variablesOf({ Authorization: name }, 'Bearer ') }),
  },
  { member: 'auth_type', clients: 'LiteLLM', read: (type) => ({ elsewhere: HEADERS_BY_AUTH_TYPE.get(type) ?? {} }) },
  { member: 'command', clients: 'most; as a list: opencode; as an object: Zed, formerly', read: commandOf },
  { member: 'cmd', clients: 'goose', read: commandOf },
  { member: 'args', clients: 'most', read: namedAs('args') },
  { member: 'env', clients: 'most; as a list: Agent Client Protocol', read: pairsAs('env') },
  { member: 'envs', clients: 'goose', read: namedAs('env') },
  { member: 'environment', clients: 'opencode', read: namedAs('env') },
  { member: 'cwd', clients: 'most', read: namedAs('cwd') },
  { member: 'disabled', clients: 'Windsurf, Cline', read: namedAs('disabled') },
  { member: 'enabled', clients: 'opencode, Codex, Zed', read: asEnabled },
  { member: 'isActive', clients: 'Cherry Studio', read: asEnabled },
  { member: 'active', clients: 'Jan', read: asEnabled },
  { member: 'disabledTools', clients: 'Windsurf', read: asChoice },
  { member: 'enabled_tools', clients: 'Codex', read: asChoice },
  { member: 'disabled_tools', clients: 'Codex', read: asChoice },
  { member: 'allowed_tools', clients: 'LiteLLM', read: asChoice },
  { member: 'disallowed_tools', clients: 'LiteLLM', read: asChoice },
  { member: 'available_tools', clients: 'goose', read: asChoice },
  { member: 'includeTools', clients: 'Gemini CLI', read: asChoice },
  { member: 'excludeTools', clients: 'Gemini CLI', read: asChoice },
  { member: 'x-switchyard', clients: 'switchyard servers export', read: namedAs('x-switchyard') },
];

export interface SettingsServer {
  readonly name: string;
  readonly path: string;
  /** The server's members under the names of `serverShape` in mcp-file.ts; `undefined` if the server is not an object. */
  readonly members: Members | undefined;
}

/** The servers in a client's config file. @returns `undefined` if the file has nothing at any of `SERVER_MAP_PATHS`. */
export function serversIn(settings: unknown): readonly SettingsServer[] | undefined {
  const maps = SERVER_MAP_PATHS.flatMap(({ path }) => serverMapsAt(path.split('.'), settings));
  if (maps.length === 0) {
    // Plugins of Claude Code may have the servers in the file itself.
    const entries = Object.entries(membersOf(settings) ?? {});
    const isServer = (value: unknown) => /^(?:url|command)$/m.test(Object.keys(normalizeServer(value)).join('\n'));
    if (entries.length === 0 || !entries.every(([, each]) => isServer(each))) return undefined;
    maps.push({ path: 'the file', holder: {}, entries });
  }
  return maps.flatMap(({ path, holder, entries }) =>
    entries.map(([name, server]) => {
      const members = membersOf(server) && {
        ...normalizeServer(server),
        ...(isInDisabledList(holder, name) && { disabled: true }),
      };
      return { name, path, members };
    }),
  );
}

interface ServerMap {
  readonly path: string;
  readonly holder: Members;
  readonly entries: readonly (readonly [name: string, server: unknown])[];
}

function serverMapsAt([step = '', ...rest]: readonly string[], value: unknown, prefix = ''): readonly ServerMap[] {
  const holder = membersOf(value) ?? {};
  if (rest.length > 0) {
    const names = step === '*' ? Object.keys(holder) : [step];
    return names.flatMap((name) => serverMapsAt(rest, holder[name], `${prefix}${name}.`));
  }
  const entries = entriesOf(holder[step], step);
  return entries === undefined ? [] : [{ path: prefix + step, holder, entries }];
}

function entriesOf(value: unknown, step: string): ServerMap['entries'] | undefined {
  if (step === 'mcpServers' && Array.isArray(value)) {
    return value.map((server: unknown, index) => {
      const name = membersOf(server)?.['name'];
      return typeof name === 'string' ? [name, server] : [`number ${index + 1}`, undefined];
    });
  }
  const entries = Object.entries(membersOf(value) ?? {});
  if (step === 'extensions') {
    // Other files have other extensions there, and goose has some that are parts of itself.
    const servers = entries.filter(([, each]) => ['uri', 'cmd'].some((name) => name in (membersOf(each) ?? {})));
    return servers.length > 0 ? servers : undefined;
  }
  const members = membersOf(value);
  if (members === undefined || step !== 'mcp') return members && entries;
  // opencode 1 has its servers in `mcp` itself; others have `mcp.servers` (VS Code), or only lists there, as `mcp.allowed` (Gemini CLI).
  return 'servers' in members ? undefined : entries.filter(([, each]) => membersOf(each) !== undefined);
}

/** Whether a list beside the map of servers disables the server: Claude Code and Gemini CLI have such lists. */
function isInDisabledList({ disabledMcpServers, mcp }: Members, name: string): boolean {
  const { excluded, allowed } = membersOf(mcp) ?? {};
  const has = (names: unknown): boolean => Array.isArray(names) && names.includes(name);
  return has(disabledMcpServers) || has(excluded) || (Array.isArray(allowed) && !has(allowed));
}

function normalizeServer(server: unknown): Members {
  const members: Record<string, unknown> = {};
  for (const { member, read } of SERVER_MEMBERS) {
    const value = member.split('.').reduce<unknown>((holder, step) => membersOf(holder)?.[step], server);
    if (value === undefined || value === null || value === '') continue;
    for (const [name, part] of Object.entries(read(value))) {
      const before = members[name];
      if (typeof before === 'string' && before !== part) members['conflict'] = name;
      members[name] = membersOf(before) && membersOf(part) ? { ...membersOf(before), ...membersOf(part) } : part;
    }
  }
  return members;
}

/** A list of `name` and `value` as an object; any other list as it is. */
function objectOf(list: readonly unknown[]): unknown {
  const pairs = list.map(membersOf).map((each) => [each?.['name'], each?.['value']]);
  return pairs.every(([name]) => typeof name === 'string') ? (Object.fromEntries(pairs) as Members) : list;
}

function commandOf(value: unknown): Members {
  if (Array.isArray(value)) return { command: value[0] as unknown, args: value.slice(1) };
  const { path, args, env } = membersOf(value) ?? {};
  return path === undefined ? { command: value } : { command: path, args: args ?? [], env: env ?? {} };
}

/** For each header, a text that names its environment variable. A name that no variable can have may be a secret, and is left out. */
function variablesOf(names: unknown, prefix = ''): Members {
  const isName = (name: unknown): name is string => typeof name === 'string' && /^[A-Z][A-Z_]*$/.test(name);
  const words = Object.entries(membersOf(names) ?? {}).map(([header, name]) => [
    header,
    `${prefix}${isName(name) ? `$${name}` : '<its variable>'}`,
  ]);
  return Object.fromEntries(words) as Members;
}

function membersOf(value: unknown): Members | undefined {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? (value as Members) : undefined;
}
