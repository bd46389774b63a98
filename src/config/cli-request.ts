// What an interactive command asks of the control plane, read from the command line and the environment: the control plane's URL, and for
// some commands how options and operands become an action.
import { deepFreeze } from './values.js';
import {
  requestOptionTable,
  type compositionsCreateOptionTable,
  type compositionsUpdateOptionTable,
  type serversAddOptionTable,
  type serversUpdateOptionTable,
  storeCopyOptionTable,
} from './cli-option-table.js';
import { readAuth } from './auth-options.js';
import type { CommandWords } from './command.js';
import { OptionReader } from './option-reader.js';
import { TOKEN_VARIABLE } from './environment.js';
import type { OptionTable } from './option.js';
import { OptionFaults } from './faults.js';

/** The `store copy` command: what to copy, and where to. */
export interface StoreCopyRequest {
  readonly isJson: boolean;
  /** Both are directories. */
  readonly from: string;
  readonly to: string;
}

/** @throws {OptionFaults} with every fault. */
export function loadStoreCopyRequest(
  words: CommandWords,
  environment: NodeJS.ProcessEnv = process.env,
): StoreCopyRequest {
  const values = new OptionReader(storeCopyOptionTable, words, environment).finish();
  return { isJson: values.json, from: values['store-path'], to: words.operands[0] ?? '' };
}

// The `completion` command: which shell it is for.

const shells = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof shells)[number];

/** @throws {OptionFaults} with every fault. */
export function loadCompletionRequest({ operands, faults }: CommandWords): Shell {
  const shell = shells.find((each) => each === operands[0]);
  const unknown = shell === undefined && operands.length > 0 ? [`<shell>: expects one of ${shells.join(', ')}`] : [];
  const all = [...faults, ...unknown];
  if (all.length > 0 || shell === undefined) throw new OptionFaults(all, 'See `switchyard completion --help`.');
  return shell;
}

export interface CliRequest<Action> {
  /** Without a trailing slash. */
  readonly controlPlaneUrl: string;
  readonly token: string;
  /** Print the control plane's response as it is, not as a table. */
  readonly isJson: boolean;
  readonly action: Action;
}

/** Throws OptionFaults, or adds faults to the reader, which throws them when it finishes. */
export type ReadAction<Table extends OptionTable, Action> = (
  reader: OptionReader<Table>,
  operands: readonly string[],
) => Action;

/** @param options all options of the command. @throws {OptionFaults} with every fault. */
export function loadCliRequest<Table extends OptionTable, Action extends object>(
  options: Table,
  readAction: ReadAction<Table, Action>,
  words: CommandWords,
  environment: NodeJS.ProcessEnv = process.env,
): CliRequest<Action> {
  // Tokens are secrets: they are never taken from the command line, which every user of the machine can read.
  const token = environment[TOKEN_VARIABLE] ?? '';
  const complete = token === '' ? { ...words, faults: [...words.faults, TOKEN_FAULT] } : words;
  const reader = new OptionReader(options, complete, environment);
  const action = readAction(reader, words.operands);
  reader.finish();
  const { 'control-plane-url': controlPlaneUrl, json } = new OptionReader(
    requestOptionTable,
    complete,
    environment,
  ).finish();
  return deepFreeze({ controlPlaneUrl, token, isJson: json, action });
}

const TOKEN_FAULT = `${TOKEN_VARIABLE}: is not set; set it to an access token, as minted by \`switchyard token\``;

export interface ServerAddition {
  readonly name: string;
  readonly url: string;
  readonly description: string | undefined;
  readonly tags: readonly string[];
  readonly transport: string | undefined;
  readonly auth?: Readonly<Record<string, unknown>>;
  /** `null`: no team. */
  readonly team?: string | null;
}

export function readServerAddition(
  reader: OptionReader<typeof serversAddOptionTable>,
  [name = '', url = '']: readonly string[],
): ServerAddition {
  const auth = readAuth(reader);
  const values = reader.finish();
  const { description, tags = [], transport } = values;
  return { name, url, description, tags, transport, ...(auth && { auth }), ...teamOf(values) };
}

/** Only the members that change. */
export interface ServerChange {
  readonly server: string;
  readonly change: Readonly<Record<string, unknown>>;
}

export function readServerChange(
  reader: OptionReader<typeof serversUpdateOptionTable>,
  [server = '']: readonly string[],
): ServerChange {
  if (!CHANGES_OF_SERVER.some((name) => reader.isGiven(name))) {
    reader.fault('name', `or another of ${CHANGES_OF_SERVER.map((name) => `--${name}`).join(', ')} is required`);
  }
  const auth = readAuth(reader);
  const values = reader.finish();
  const { name, url, enabled, description, tags, transport } = values;
  return { server, change: known({ name, url, enabled, description, tags, transport, auth, ...teamOf(values) }) };
}

/** Tools of one server. */
interface NamedTools {
  readonly name: string;
  readonly tools: readonly string[];
}

export interface CompositionCreation {
  readonly name: string;
  readonly description: string | undefined;
  readonly exposure: 'all' | 'search' | undefined;
  readonly servers: readonly NamedTools[];
  /** `undefined`: only the token's own subject. */
  readonly subjects: readonly string[] | undefined;
  /** Whether tools may be named that their server does not have. */
  readonly isForced: boolean;
  readonly team?: string | null;
}

export function readCompositionCreation(
  reader: OptionReader<typeof compositionsCreateOptionTable>,
  [name = '', ...tools]: readonly string[],
): CompositionCreation {
  const { servers, faults } = groupTools(tools);
  for (const fault of faults) reader.faultOfOperand(fault);
  const values = reader.finish();
  const { description, exposure, subjects, force: isForced } = values;
  return { name, description, exposure, servers, subjects, ...teamOf(values), isForced };
}

export interface CompositionChange {
  readonly composition: string;
  readonly change: Readonly<Record<string, unknown>>;
  /** `undefined`: the tools stay as they are. */
  readonly servers: readonly NamedTools[] | undefined;
  readonly isForced: boolean;
}

export function readCompositionChange(
  reader: OptionReader<typeof compositionsUpdateOptionTable>,
  [composition = '']: readonly string[],
): CompositionChange {
  if (!CHANGES_OF_COMPOSITION.some((name) => reader.isGiven(name))) {
    reader.fault('name', `or another of ${CHANGES_OF_COMPOSITION.map((name) => `--${name}`).join(', ')} is required`);
  }
  const named = reader.value('tools');
  const grouped = named && groupTools(named);
  for (const fault of grouped?.faults ?? []) reader.fault('tools', fault);
  const values = reader.finish();
  const { name, description, exposure, subjects, force: isForced } = values;
  const change = known({ name, description, exposure, subjects, ...teamOf(values) });
  return { composition, change, servers: grouped?.servers, isForced };
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

/** An empty text removes the team. */
function teamOf({ team }: { readonly team: string | undefined }): { readonly team?: string | null } {
  if (team === undefined) return {};
  return { team: team === '' ? null : team };
}

/** Leaves out members that were not given. */
function known(members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

/** @param words such as `calculator:add`. Server names have no colon; tool names may have some. */
function groupTools(words: readonly string[]): {
  servers: { name: string; tools: string[] }[];
  faults: string[];
} {
  const servers = new Map<string, string[]>();
  const faults: string[] = [];
  for (const word of words) {
    const [, server, tool] = /^([^:]+):(.+)$/s.exec(word) ?? [];
    if (server === undefined || tool === undefined) {
      faults.push(`${word}: is not a tool of a server; write <server>:<tool>, e.g. calculator:add`);
      continue;
    }
    servers.set(server, [...(servers.get(server) ?? []), tool]);
  }
  return { servers: [...servers].map(([name, tools]) => ({ name, tools })), faults };
}
