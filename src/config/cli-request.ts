// What a command for people is to ask of the control plane, as the command line and the environment say it.
import { deepFreeze } from './deep-freeze.js';
import {
  compositionsCreateOptionTable,
  compositionsUpdateOptionTable,
  requestOptionTable,
  serversAddOptionTable,
  serversConnectOptionTable,
  serversImportOptionTable,
  serversListOptionTable,
  serversUpdateOptionTable,
} from './cli-option-table.js';
import { readAuth } from './auth-options.js';
import type { CommandName, CommandWords } from './command-line.js';
import { OptionReader } from './option-reader.js';
import { TOKEN_VARIABLE } from './unknown-variables.js';
import type { OptionTable, OptionValues } from './option.js';

export type CliAction =
  | { readonly command: 'servers list'; readonly tags: readonly string[]; readonly status: string | undefined }
  | {
      readonly command: 'servers add';
      readonly name: string;
      readonly url: string;
      readonly description: string | undefined;
      readonly tags: readonly string[];
      readonly transport: string | undefined;
      readonly auth?: Readonly<Record<string, unknown>>;
      /** `null`: none. */
      readonly team?: string | null;
    }
  | { readonly command: 'whoami' | 'servers export' }
  | {
      readonly command: 'servers import';
      /** `-` for standard input. */
      readonly file: string;
      readonly way: {
        readonly secretsIn: 'store' | 'files';
        readonly bridge: 'supergateway' | 'mcp-proxy';
        readonly bridgePort: number;
      };
      readonly isTrial: boolean;
    }
  | { readonly command: 'servers show' | 'servers refresh' | 'servers remove'; readonly server: string }
  | { readonly command: 'servers connect'; readonly server: string; readonly isForProbes: boolean }
  /** By the name that it had when it was connected. */
  | { readonly command: 'servers disconnect'; readonly name: string }
  /** Only what is another. */
  | {
      readonly command: 'servers update';
      readonly server: string;
      readonly change: Readonly<Record<string, unknown>>;
    }
  | {
      readonly command: 'compositions update';
      readonly composition: string;
      readonly change: Readonly<Record<string, unknown>>;
      /** `undefined`: those that it has. */
      readonly servers: readonly { readonly name: string; readonly tools: readonly string[] }[] | undefined;
      readonly isForced: boolean;
    }
  | { readonly command: 'compositions list' }
  | {
      readonly command: 'compositions create';
      readonly name: string;
      readonly description: string | undefined;
      readonly exposure: 'all' | 'search' | undefined;
      readonly servers: readonly { readonly name: string; readonly tools: readonly string[] }[];
      /** `undefined`: the token's own. */
      readonly subjects: readonly string[] | undefined;
      /** Tools that their server does not have may be named. */
      readonly isForced: boolean;
      readonly team?: string | null;
    }
  | { readonly command: 'compositions show' | 'compositions delete'; readonly composition: string };

export interface CliRequest {
  /** Ends without a slash. */
  readonly controlPlaneUrl: string;
  readonly token: string;
  /** The control plane's answer is wanted as it is, not as a table. */
  readonly isJson: boolean;
  readonly action: CliAction;
}

export type CliCommandName = Extract<CommandName, `servers ${string}` | `compositions ${string}` | 'whoami'>;

/** Throws OptionFaults with every fault. */
export function loadCliRequest(
  words: CommandWords & { readonly command: CliCommandName },
  environment: NodeJS.ProcessEnv = process.env,
): CliRequest {
  // Tokens are secrets: they are never taken on the command line, where every user of the machine can read them.
  const token = environment[TOKEN_VARIABLE] ?? '';
  const complete = token === '' ? { ...words, faults: [...words.faults, TOKEN_FAULT] } : words;
  const { values, action } = readAction(complete, environment);
  return deepFreeze({ controlPlaneUrl: values['control-plane-url'], token, isJson: values.json, action });
}

const TOKEN_FAULT = `${TOKEN_VARIABLE}: is not set; put an access token into it, as \`switchyard token\` mints them`;

interface ReadAction {
  readonly values: OptionValues<typeof requestOptionTable>;
  readonly action: CliAction;
}

function readAction(
  words: CommandWords & { readonly command: CliCommandName },
  environment: NodeJS.ProcessEnv,
): ReadAction {
  const read = <Table extends OptionTable>(table: Table, faults: readonly string[] = []): OptionValues<Table> =>
    new OptionReader(table, { ...words, faults: [...words.faults, ...faults] }, environment).finish();
  const { command, operands } = words;
  const [first = '', second = ''] = operands;
  switch (command) {
    case 'servers list': {
      const values = read(serversListOptionTable);
      return { values, action: { command, tags: values.tags ?? [], status: values.status } };
    }
    case 'servers add': {
      const reader = new OptionReader(serversAddOptionTable, words, environment);
      const auth = readAuth(reader);
      const values = reader.finish();
      const { description, tags = [], transport } = values;
      const said = { description, tags, transport, ...(auth && { auth }), ...teamOf(values) };
      return { values, action: { command, name: first, url: second, ...said } };
    }
    case 'servers import': {
      const values = read(serversImportOptionTable);
      const way = { secretsIn: values['secrets-in'], bridge: values.bridge, bridgePort: values['bridge-port'] };
      return { values, action: { command, file: first, way, isTrial: values['dry-run'] } };
    }
    case 'servers update': {
      const reader = new OptionReader(serversUpdateOptionTable, words, environment);
      if (!CHANGES_OF_SERVER.some((name) => reader.isGiven(name))) {
        reader.fault('name', `or another of ${CHANGES_OF_SERVER.map((name) => `--${name}`).join(', ')} is needed`);
      }
      const auth = readAuth(reader);
      const values = reader.finish();
      const { name, url, enabled, description, tags, transport } = values;
      const change = known({ name, url, enabled, description, tags, transport, auth, ...teamOf(values) });
      return { values, action: { command, server: first, change } };
    }
    case 'servers enable':
    case 'servers disable': {
      const change = { enabled: command === 'servers enable' };
      return { values: read(requestOptionTable), action: { command: 'servers update', server: first, change } };
    }
    case 'servers rename': {
      const change = { name: second };
      return { values: read(requestOptionTable), action: { command: 'servers update', server: first, change } };
    }
    case 'servers connect': {
      const { probes, ...values } = read(serversConnectOptionTable);
      return { values, action: { command, server: first, isForProbes: probes } };
    }
    case 'servers disconnect':
      return { values: read(requestOptionTable), action: { command, name: first } };
    case 'compositions update': {
      const reader = new OptionReader(compositionsUpdateOptionTable, words, environment);
      if (!CHANGES_OF_COMPOSITION.some((name) => reader.isGiven(name))) {
        reader.fault('name', `or another of ${CHANGES_OF_COMPOSITION.map((name) => `--${name}`).join(', ')} is needed`);
      }
      const named = reader.value('tools');
      const grouped = named && groupTools(named);
      for (const fault of grouped?.faults ?? []) reader.fault('tools', fault);
      const { name, description, exposure, tools: _tools, subjects, team: _team, force, ...values } = reader.finish();
      const change = known({ name, description, exposure, subjects, ...teamOf(reader.finish()) });
      return { values, action: { command, composition: first, change, servers: grouped?.servers, isForced: force } };
    }
    case 'compositions create': {
      const { servers, faults } = groupTools(operands.slice(1));
      const values = read(compositionsCreateOptionTable, faults);
      const { description, exposure, subjects } = values;
      return {
        values,
        action: {
          ...{ command, name: first, description, exposure, servers, subjects },
          ...{ ...teamOf(values), isForced: values.force },
        },
      };
    }
    case 'servers show':
    case 'servers refresh':
    case 'servers remove':
      return { values: read(requestOptionTable), action: { command, server: first } };
    case 'compositions show':
    case 'compositions delete':
      return { values: read(requestOptionTable), action: { command, composition: first } };
    case 'whoami':
    case 'servers export':
    case 'compositions list':
      return { values: read(requestOptionTable), action: { command } };
  }
}

const CHANGES_OF_SERVER = [
  'name',
  'url',
  'enabled',
  'description',
  'tags',
  'transport',
  'team',
  'auth',
  'auth-headers',
] as const;
const CHANGES_OF_COMPOSITION = ['name', 'tools', 'description', 'exposure', 'subjects', 'team'] as const;

/** An empty text takes the team away. */
function teamOf({ team }: { readonly team: string | undefined }): { readonly team?: string | null } {
  if (team === undefined) return {};
  return { team: team === '' ? null : team };
}

/** Without what was not said. */
function known(members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

/** Words as `calculator:add`. Names of servers have no colon; names of tools may. */
function groupTools(words: readonly string[]): {
  servers: { name: string; tools: string[] }[];
  faults: string[];
} {
  const servers = new Map<string, string[]>();
  const faults: string[] = [];
  for (const word of words) {
    const [, server, tool] = /^([^:]+):(.+)$/s.exec(word) ?? [];
    if (server === undefined || tool === undefined) {
      faults.push(`${word}: is not a tool of a server; write <server>:<tool>, as in calculator:add`);
      continue;
    }
    servers.set(server, [...(servers.get(server) ?? []), tool]);
  }
  return { servers: [...servers].map(([name, tools]) => ({ name, tools })), faults };
}
