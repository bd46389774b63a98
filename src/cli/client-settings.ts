// What clients' settings look like: where in them servers are, and what members of a server are called. Each row of the two tables forgives
// what some clients write in their own way. Types are checked in mcp-file.ts; docs/cli.md has the tables for people. The console reads
// files with this one, too, so it imports nothing that needs Node.js.

type Members = Readonly<Record<string, unknown>>;

/** `*` is any member. All places of a file are read. */
export const SERVER_MAP_PATHS = [
  { path: 'mcpServers', clients: 'Claude, Cursor, Windsurf, Cline, Gemini CLI, LibreChat; as a list: Continue' },
  { path: 'servers', clients: 'VS Code, in mcp.json' },
  { path: 'mcp.servers', clients: 'VS Code, in settings.json; opencode 2' },
  { path: 'mcp', clients: 'opencode 1' },
  { path: 'context_servers', clients: 'Zed' },
  { path: 'mcp_servers', clients: 'Codex' },
  { path: 'projects.*.mcpServers', clients: 'Claude Code, for one project' },
] as const;

const as = (name: string) => (value: unknown) => ({ [name]: value });

/**
 * `read` says the same in our words. Objects of one meaning are merged, texts of one meaning have to be equal, and `null` or `''` is
 * absent.
 */
export const SERVER_MEMBERS: readonly { member: string; clients: string; read: (value: unknown) => Members }[] = [
  { member: 'url', clients: 'most', read: as('url') },
  { member: 'serverUrl', clients: 'Windsurf', read: as('url') },
  { member: 'httpUrl', clients: 'Gemini CLI', read: as('url') },
  { member: 'type', clients: 'most', read: as('type') },
  { member: 'transport', clients: 'FastMCP', read: as('type') },
  { member: 'transportType', clients: 'Cline, formerly', read: as('type') },
  { member: 'headers', clients: 'most', read: as('headers') },
  { member: 'http_headers', clients: 'Codex', read: as('headers') },
  { member: 'requestOptions.headers', clients: 'Continue', read: as('headers') },
  { member: 'apiKey', clients: 'Continue', read: () => ({ elsewhere: { Authorization: 'Bearer <its apiKey>' } }) },
  { member: 'env_http_headers', clients: 'Codex', read: (names) => ({ elsewhere: variablesOf(names) }) },
  {
    member: 'bearer_token_env_var',
    clients: 'Codex',
    read: (name) => ({ elsewhere: variablesOf({ Authorization: name }, 'Bearer ') }),
  },
  { member: 'command', clients: 'most; as a list: opencode; as an object: Zed, formerly', read: commandOf },
  { member: 'args', clients: 'most', read: as('args') },
  { member: 'env', clients: 'most', read: as('env') },
  { member: 'environment', clients: 'opencode', read: as('env') },
  { member: 'cwd', clients: 'most', read: as('cwd') },
  { member: 'disabled', clients: 'Windsurf, Cline', read: as('disabled') },
  {
    member: 'enabled',
    clients: 'opencode, Codex, Zed',
    read: (is) => (is === true ? {} : { disabled: is === false || is }),
  },
  { member: 'x-switchyard', clients: 'switchyard servers export', read: as('x-switchyard') },
];

/** @property said the server in our words, or `undefined` when it is not an object. */
export interface SettingsServer {
  readonly name: string;
  readonly place: string;
  readonly said: Members | undefined;
}

/** @returns the servers of all places, or `undefined` when the file has none of the places. */
export function serversIn(settings: unknown): readonly SettingsServer[] | undefined {
  const places = SERVER_MAP_PATHS.flatMap(({ path }) => placesAt(path.split('.'), settings));
  if (places.length === 0) return undefined;
  return places.flatMap(({ place, holder, entries }) =>
    entries.map(([name, server]) => {
      const said = membersOf(server) && {
        ...inOurWords(server),
        ...(isDisabledBeside(holder, name) && { disabled: true }),
      };
      return { name, place, said };
    }),
  );
}

interface Place {
  readonly place: string;
  readonly holder: Members;
  readonly entries: readonly (readonly [name: string, server: unknown])[];
}

function placesAt([step = '', ...rest]: readonly string[], value: unknown, before = ''): readonly Place[] {
  const holder = membersOf(value) ?? {};
  if (rest.length > 0) {
    const names = step === '*' ? Object.keys(holder) : [step];
    return names.flatMap((name) => placesAt(rest, holder[name], `${before}${name}.`));
  }
  const entries = entriesOf(holder[step], step);
  return entries === undefined ? [] : [{ place: before + step, holder, entries }];
}

function entriesOf(value: unknown, step: string): Place['entries'] | undefined {
  if (step === 'mcpServers' && Array.isArray(value)) {
    return value.map((server: unknown, index) => {
      const name = membersOf(server)?.['name'];
      return typeof name === 'string' ? [name, server] : [`number ${index + 1}`, undefined];
    });
  }
  const members = membersOf(value);
  if (members === undefined || step !== 'mcp') return members && Object.entries(members);
  // Where opencode 1 has servers, other clients have `servers`, and options that are no objects.
  return 'servers' in members ? undefined : Object.entries(members).filter(([, each]) => membersOf(each) !== undefined);
}

/** Claude Code and Gemini CLI keep beside the servers which of them are not used. */
function isDisabledBeside({ disabledMcpServers, mcp }: Members, name: string): boolean {
  const { excluded, allowed } = membersOf(mcp) ?? {};
  const has = (names: unknown): boolean => Array.isArray(names) && names.includes(name);
  return has(disabledMcpServers) || has(excluded) || (Array.isArray(allowed) && !has(allowed));
}

function inOurWords(server: unknown): Members {
  const said: Record<string, unknown> = {};
  for (const { member, read } of SERVER_MEMBERS) {
    const value = member.split('.').reduce<unknown>((holder, step) => membersOf(holder)?.[step], server);
    if (value === undefined || value === null || value === '') continue;
    for (const [name, part] of Object.entries(read(value))) {
      const before = said[name];
      if (typeof before === 'string' && before !== part) said['conflict'] = name;
      said[name] = membersOf(before) && membersOf(part) ? { ...membersOf(before), ...membersOf(part) } : part;
    }
  }
  return said;
}

function commandOf(value: unknown): Members {
  if (Array.isArray(value)) return { command: value[0] as unknown, args: value.slice(1) };
  const { path, args = [], env = {} } = membersOf(value) ?? {};
  return path === undefined ? { command: value } : { command: path, args, env };
}

/** Where the value of each header is, in words, without what may be a secret that somebody wrote instead of a variable's name. */
function variablesOf(names: unknown, before = ''): Members {
  const isName = (name: unknown): name is string => typeof name === 'string' && /^[A-Z][A-Z_]*$/.test(name);
  const words = Object.entries(membersOf(names) ?? {}).map(([header, name]) => [
    header,
    `${before}${isName(name) ? `$${name}` : '<its variable>'}`,
  ]);
  return Object.fromEntries(words) as Members;
}

function membersOf(value: unknown): Members | undefined {
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isMap ? (value as Members) : undefined;
}
