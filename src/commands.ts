// Every command of the program, one row each: its words and options, the function that reads its command line, and the function that runs
// it. The code that runs a command is imported only when that command runs, because most commands are short. In the order of `--help`.
import { loadAdminRequest, type AdminCommandName } from './config/admin-request.js';
import {
  adminRequestOptionTable,
  compositionsCreateOptionTable,
  compositionsUpdateOptionTable,
  configChangeOptionTable,
  configCheckOptionTable,
  configStoreOptionTable,
  explainOptionTable,
  requestOptionTable,
  serversAddOptionTable,
  serversConnectOptionTable,
  serversImportOptionTable,
  serversListOptionTable,
  serversUpdateOptionTable,
  sessionsOptionTable,
  storeCopyOptionTable,
  topOptionTable,
} from './config/cli-option-table.js';
import {
  loadCliRequest,
  readCompositionChange,
  readCompositionCreation,
  readServerAddition,
  readServerChange,
  type ReadAction,
  loadCompletionRequest,
  loadStoreCopyRequest,
} from './config/cli-request.js';
import type { CommandDeclaration, CommandWords } from './config/command.js';
import { loadControlPlaneOptions } from './config/load-control-plane-options.js';
import { loadDataplaneOptions } from './config/load-dataplane-options.js';
import { loadSecretsRequest, type SecretsCommandName } from './config/load-secrets-request.js';
import { loadTokenRequest } from './config/load-token-request.js';
import {
  controlPlaneOptionTable,
  dataplaneOptionTable,
  secretsOptionTable,
  secretsSealOptionTable,
  secretsSetOptionTable,
  tokenOptionTable,
} from './config/option-table.js';
import type { OptionTable } from './config/option.js';
import { loadUserConfigRequest, type UserConfigCommandName } from './config/user-config-request.js';
import { mintToken, runControlPlane, runDataplane } from './planes.js';
import { exitStatus } from './shared/exit-status.js';
import type { Perform } from './cli/run-cli.js';

type Read<Request> = (words: CommandWords, environment?: NodeJS.ProcessEnv) => Request;

interface Command<Request = unknown> extends CommandDeclaration {
  /** Throws OptionFaults with every fault. */
  readonly read: Read<Request>;
  /** Resolves with the program's exit status. Can throw OptionFaults as well. */
  readonly run: (words: CommandWords) => Promise<number>;
}

interface Row<Request> extends CommandDeclaration {
  readonly read: Read<Request>;
  readonly run: (request: Request, words: CommandWords) => Promise<number>;
}

function command<Request>({ run, ...row }: Row<Request>): Command<Request> {
  return { ...row, run: async (words) => run(row.read(words), words) };
}

interface AskingRow<Table extends OptionTable, Action> extends CommandDeclaration {
  readonly options: Table;
  readonly read: ReadAction<Table, Action>;
  readonly load: () => Promise<Perform<Action>>;
}

/** A command that sends requests to a running control plane. */
function asking<Table extends OptionTable, Action extends object>({ read, load, ...row }: AskingRow<Table, Action>) {
  return command({
    ...row,
    read: (words, environment) => loadCliRequest(row.options, read, words, environment),
    run: async (request) => {
      const { runCli } = await import('./cli/run-cli.js');
      return runCli(request, await load());
    },
  });
}

/** A command that reads from a running dataplane's admin listener. */
function watching(name: AdminCommandName, declaration: CommandDeclaration) {
  return command({
    ...declaration,
    read: (words, environment) => loadAdminRequest({ ...words, command: name }, environment),
    run: async (request) => (await import('./cli/admin-commands.js')).runAdminCommand(request),
  });
}

function ofUserConfigs(name: UserConfigCommandName, declaration: CommandDeclaration) {
  return command({
    ...declaration,
    read: (words, environment) => loadUserConfigRequest({ ...words, command: name }, environment),
    run: async (request) => (await import('./cli/user-configs.js')).runUserConfigCommand(request),
  });
}

function ofSecrets(name: SecretsCommandName, declaration: CommandDeclaration) {
  return command({
    ...declaration,
    read: (words, environment) => loadSecretsRequest({ ...words, command: name }, environment),
    run: async (request) => (await import('./secrets/run-secrets.js')).runSecrets(request),
  });
}

const nothing = (): object => ({});
const server = (_reader: unknown, [name = '']: readonly string[]) => ({ server: name });
const composition = (_reader: unknown, [name = '']: readonly string[]) => ({ composition: name });

export const commands = {
  dataplane: command({
    summary: 'serve MCP: a primary and its workers (the default)',
    options: dataplaneOptionTable,
    read: loadDataplaneOptions,
    run: runDataplane,
  }),
  'control-plane': command({
    summary: 'run the control plane: registry of servers, health checks, compositions and console',
    options: controlPlaneOptionTable,
    read: loadControlPlaneOptions,
    run: runControlPlane,
  }),
  token: command({
    summary: 'mint an access token and print it',
    options: tokenOptionTable,
    read: loadTokenRequest,
    run: mintToken,
  }),
  'servers list': asking({
    summary: 'list the registered servers',
    options: serversListOptionTable,
    read: (reader) => {
      const { tags = [], status } = reader.finish();
      return { tags, status };
    },
    load: async () => (await import('./cli/servers.js')).list,
  }),
  'servers add': asking({
    summary: 'register a server',
    options: serversAddOptionTable,
    operands: ['name', 'url'],
    read: readServerAddition,
    load: async () => (await import('./cli/servers.js')).add,
  }),
  'servers show': asking({
    summary: 'show a server and its tools',
    options: requestOptionTable,
    operands: ['server'],
    read: server,
    load: async () => (await import('./cli/servers.js')).show,
  }),
  'servers refresh': asking({
    summary: 'probe a server now and read its lists again',
    options: requestOptionTable,
    operands: ['server'],
    read: server,
    load: async () => (await import('./cli/servers.js')).refresh,
  }),
  'servers update': asking({
    summary: 'change the given properties of a server',
    options: serversUpdateOptionTable,
    operands: ['server'],
    read: readServerChange,
    load: async () => (await import('./cli/servers.js')).update,
  }),
  'servers enable': asking({
    summary: 'enable a server again',
    options: requestOptionTable,
    operands: ['server'],
    read: (_reader, [name = '']) => ({ server: name, change: { enabled: true } }),
    load: async () => (await import('./cli/servers.js')).update,
  }),
  'servers disable': asking({
    summary: 'disable a server',
    options: requestOptionTable,
    operands: ['server'],
    read: (_reader, [name = '']) => ({ server: name, change: { enabled: false } }),
    load: async () => (await import('./cli/servers.js')).update,
  }),
  'servers rename': asking({
    summary: 'rename a server',
    options: requestOptionTable,
    operands: ['server', 'name'],
    read: (_reader, [before = '', name = '']) => ({ server: before, change: { name } }),
    load: async () => (await import('./cli/servers.js')).update,
  }),
  'servers import': asking({
    summary: "import servers from an MCP client's config file",
    options: serversImportOptionTable,
    operands: ['file'],
    read: (reader, [file = '']) => {
      const { bridge, 'secrets-in': secretsIn, 'bridge-port': bridgePort, 'dry-run': isTrial } = reader.finish();
      return { file, way: { secretsIn, bridge, bridgePort }, isTrial };
    },
    load: async () => (await import('./cli/server-files.js')).importServers,
  }),
  'servers export': asking({
    summary: "print the registered servers as an MCP client's config file",
    options: requestOptionTable,
    read: nothing,
    load: async () => (await import('./cli/server-files.js')).exportServers,
  }),
  'servers remove': asking({
    summary: 'remove a server from the registry',
    options: requestOptionTable,
    operands: ['server'],
    read: server,
    load: async () => (await import('./cli/servers.js')).remove,
  }),
  'servers connect': asking({
    summary: 'print the URL where you give the consent that a server needs, in a browser',
    options: serversConnectOptionTable,
    operands: ['server'],
    read: (reader, [name = '']) => ({ server: name, isForProbes: reader.finish().probes }),
    load: async () => (await import('./cli/servers.js')).connect,
  }),
  'servers disconnect': asking({
    summary: 'withdraw your consent for a server and delete its tokens',
    options: requestOptionTable,
    operands: ['name'],
    read: (_reader, [name = '']) => ({ name }),
    load: async () => (await import('./cli/servers.js')).disconnect,
  }),
  'compositions list': asking({
    summary: 'list the compositions',
    options: requestOptionTable,
    read: nothing,
    load: async () => (await import('./cli/compositions.js')).list,
  }),
  'compositions create': asking({
    summary: 'create a virtual server from tools of registered servers',
    options: compositionsCreateOptionTable,
    operands: ['name', 'server:tool...'],
    read: readCompositionCreation,
    load: async () => (await import('./cli/compositions.js')).create,
  }),
  'compositions update': asking({
    summary: 'change a composition; its URL stays',
    options: compositionsUpdateOptionTable,
    operands: ['composition'],
    read: readCompositionChange,
    load: async () => (await import('./cli/compositions.js')).update,
  }),
  'compositions show': asking({
    summary: 'show a composition',
    options: requestOptionTable,
    operands: ['composition'],
    read: composition,
    load: async () => (await import('./cli/compositions.js')).show,
  }),
  'compositions delete': asking({
    summary: 'delete a composition',
    options: requestOptionTable,
    operands: ['composition'],
    read: composition,
    load: async () => (await import('./cli/compositions.js')).remove,
  }),
  whoami: asking({
    summary: 'show whose token SWITCHYARD_TOKEN is, and what it may do at the control plane',
    options: requestOptionTable,
    read: nothing,
    load: async () => (await import('./cli/run-cli.js')).whoami,
  }),
  'config list': ofUserConfigs('config list', {
    summary: 'list the subjects that have a user config',
    options: configStoreOptionTable,
  }),
  'config get': ofUserConfigs('config get', {
    summary: 'print a user config',
    options: configStoreOptionTable,
    operands: ['subject'],
  }),
  'config put': ofUserConfigs('config put', {
    summary: 'check a user config from a file or standard input, and store it',
    options: configChangeOptionTable,
    operands: ['subject', 'file?'],
  }),
  'config check': ofUserConfigs('config check', {
    summary: 'check a user config from a file or standard input, without storing it',
    options: configCheckOptionTable,
    operands: ['file?'],
  }),
  'config delete': ofUserConfigs('config delete', {
    summary: 'delete a user config',
    options: configChangeOptionTable,
    operands: ['subject'],
  }),
  sessions: watching('sessions', {
    summary: 'list the sessions of a running dataplane',
    options: sessionsOptionTable,
  }),
  explain: watching('explain', {
    summary: 'explain what happened to a request, the state of a session, or why a subject has a tool or not',
    options: explainOptionTable,
    operands: ['id?'],
  }),
  top: watching('top', {
    summary: 'show live figures of a running dataplane (Ctrl-C to quit)',
    options: topOptionTable,
  }),
  'log-level': watching('log-level', {
    summary: 'change the log level of a running dataplane',
    options: adminRequestOptionTable,
    operands: ['level'],
  }),
  'store copy': command({
    summary: 'copy the embedded store, also while it is in use, to an empty directory',
    options: storeCopyOptionTable,
    operands: ['directory'],
    read: loadStoreCopyRequest,
    run: async (request) => (await import('./cli/store-copy.js')).runStoreCopy(request),
  }),
  completion: command({
    summary: 'print a shell completion script: bash, zsh or fish',
    options: {},
    operands: ['shell'],
    read: loadCompletionRequest,
    run: async (shell) => {
      (await import('./cli/completion.js')).printCompletionScript(shell);
      return exitStatus.ok;
    },
  }),
  'config schema': ofUserConfigs('config schema', { summary: 'print the JSON Schema of user configs', options: {} }),
  'secrets set': ofSecrets('secrets set', {
    summary: 'store a secret read from standard input, encrypted',
    options: secretsSetOptionTable,
    operands: ['name'],
  }),
  'secrets list': ofSecrets('secrets list', {
    summary: 'list the secrets in the store, without their values',
    options: secretsOptionTable,
  }),
  'secrets delete': ofSecrets('secrets delete', {
    summary: 'delete a secret from the store',
    options: secretsOptionTable,
    operands: ['name'],
  }),
  'secrets rotate': ofSecrets('secrets rotate', {
    summary: 'encrypt every secret again with the first key',
    options: secretsSealOptionTable,
  }),
} as const satisfies Readonly<Record<string, CommandDeclaration>>;
