// The table of commands, in the order of `--help`: each row has a command's options and operands, and the function that runs it. The code
// of a command is imported only when the command runs, so that short commands start quickly.
import type { CommandResult, AdminContext, CommandContext } from './cli/index.js';
import {
  controlPlaneClientOptions,
  checkSecretName,
  checkTools,
  compositionChange,
  compositionProperties,
  isForced,
  isJson,
  sealingOptions,
  secretsOptions,
  serverChange,
  serverProperties,
  subject,
  userConfigChange,
  adminClientOptions,
  type CommandDeclaration,
  type CommandWords,
  type CommandRequest,
  controlPlaneOptions,
  dataplaneOptions,
  option,
  required,
  type Schema,
  type ValuesOf,
  readRequest,
  storeOptions,
  storePath,
  mintingOptions,
  duration,
  oneOf,
  parseSecretOrigins,
  parseSwitch,
  parseText,
  parseTexts,
  PORT_MAX,
  wholeNumber,
} from './config/index.js';
import { mintToken, runControlPlane, runDataplane } from './planes.js';
import { exitStatus } from './shared/index.js';
import { workerBounds } from './primary/index.js';

interface Command extends CommandDeclaration {
  /** Parses the command's options and operands for `run`. Throws an `OptionFaults` that lists every fault. */
  readonly read: (words: CommandWords) => object;
  /** Calls `read`, and runs the command. Resolves with the exit status; rejects with the `OptionFaults` that `read` throws. */
  readonly run: (words: CommandWords) => Promise<number>;
}

interface CommandRow<Options extends Schema, Names extends readonly string[]> extends CommandDeclaration {
  readonly options: Options;
  readonly operands?: Names;
}

function defineCommand<Options extends Schema, const Names extends readonly string[] = []>({
  run,
  ...row
}: CommandRow<Options, Names> & {
  readonly run: (request: CommandRequest<Options, Names>, words: CommandWords) => Promise<number>;
}): Command {
  const read = (words: CommandWords): CommandRequest<Options, Names> => readRequest(row, words);
  return { ...row, read, run: async (words) => run(read(words), words) };
}

type CommandAction<Context> = (context: Context) => Promise<CommandResult>;

/** Makes a function that declares commands: each has `commonOptions` beside its own options, and is run by `run`. */
function makeCommandKind<CommonOptions extends Schema, Context>(
  commonOptions: CommonOptions,
  run: (request: ValuesOf<CommonOptions>, perform: CommandAction<Context>) => Promise<number>,
) {
  return <Options extends Schema = Record<never, never>, const Names extends readonly string[] = []>({
    options,
    load,
    ...row
  }: Omit<CommandRow<Options, Names>, 'options'> & {
    readonly options?: Options;
    readonly load: () => Promise<
      (request: CommandRequest<Options & CommonOptions, Names>, context: Context) => Promise<CommandResult>
    >;
  }): Command => {
    return defineCommand({
      ...row,
      options: { ...(options as Options), ...commonOptions },
      run: async (request) => {
        const perform = await load();
        return run(request, (context) => perform(request, context));
      },
    });
  };
}

/** Declares a command that sends requests to a running control plane. */
const controlPlaneCommand = makeCommandKind(
  controlPlaneClientOptions,
  async (request, perform: CommandAction<CommandContext>) => {
    return (await import('./cli/control-plane-connection.js')).runControlPlaneCommand(request, perform);
  },
);

/** Declares a command that queries a running dataplane's admin listener. */
const dataplaneCommand = makeCommandKind(adminClientOptions, async (request, perform: CommandAction<AdminContext>) => {
  return (await import('./cli/admin-commands.js')).runAdminCommand(request, perform);
});

/** Declares a command that needs no running plane. */
const localCommand = makeCommandKind({ isJson }, async (request, perform: CommandAction<undefined>) => {
  return (await import('./cli/command-result.js')).printResult(request.isJson, async () => perform(undefined));
});

/** Declares a command that needs no running plane, and has no `--json`, because only people read its output. */
const textCommand = makeCommandKind({}, async (_request, perform: CommandAction<undefined>) => {
  return (await import('./cli/command-result.js')).printResult(false, async () => perform(undefined));
});

const SHELLS = ['bash', 'zsh', 'fish'];

const explainOptions = {
  subject,
  virtualHost: option('virtual-host <id>', 'virtual host to explain', parseText),
  tool: option(
    'tool <name>',
    'tool, by the name that clients see: why it is listed or not, and what a call would do',
    parseText,
  ),
};

const loadServers = async () => import('./cli/servers.js');
const loadServerFiles = async () => import('./cli/server-files.js');
const loadCompositions = async () => import('./cli/compositions.js');
const loadUserConfigs = async () => import('./cli/user-configs.js');
const loadAdmin = async () => import('./cli/admin-commands.js');
const loadSecrets = async () => import('./cli/secrets.js');

export const commands = {
  dataplane: defineCommand({
    summary: 'serve MCP: a primary and its workers (the default)',
    options: dataplaneOptions,
    run: runDataplane,
  }),
  'control-plane': defineCommand({
    summary: 'run the control plane: registry of servers, health checks, compositions and console',
    options: controlPlaneOptions,
    run: runControlPlane,
  }),
  token: defineCommand({
    summary: 'mint an access token and print it',
    options: {
      subject: required(subject),
      expiresInMs: option(
        'expires-in <duration>',
        'how long the token is valid',
        // A longer time is probably a typing error.
        duration({ minMs: 1_000, maxMs: 10 * 365 * 24 * 3_600_000 }),
        '1h',
      ),
      token: { ...mintingOptions, privateKey: required(mintingOptions.privateKey) },
    },
    run: mintToken,
  }),
  'servers list': controlPlaneCommand({
    summary: 'list the registered servers',
    options: {
      tags: option('tags <list>', 'comma-separated tags: only servers that have at least one of them', parseTexts),
      status: option(
        'status <status>',
        'only servers with this status: active or inactive',
        oneOf('active', 'inactive'),
      ),
    },
    load: async () => (await loadServers()).list,
  }),
  'servers add': controlPlaneCommand({
    summary: 'register a server',
    options: { properties: serverProperties },
    operands: ['name', 'url'],
    load: async () => (await loadServers()).add,
  }),
  'servers show': controlPlaneCommand({
    summary: 'show a server and its tools',
    operands: ['server'],
    load: async () => (await loadServers()).show,
  }),
  'servers refresh': controlPlaneCommand({
    summary: 'probe a server now and read its lists again',
    operands: ['server'],
    load: async () => (await loadServers()).refresh,
  }),
  'servers update': controlPlaneCommand({
    summary: 'change the given properties of a server',
    options: { change: serverChange },
    operands: ['server'],
    load: async () => (await loadServers()).update,
  }),
  'servers enable': controlPlaneCommand({
    summary: 'enable a server again',
    operands: ['server'],
    load: async () => (await loadServers()).enable,
  }),
  'servers disable': controlPlaneCommand({
    summary: 'disable a server',
    operands: ['server'],
    load: async () => (await loadServers()).disable,
  }),
  'servers rename': controlPlaneCommand({
    summary: 'rename a server',
    operands: ['server', 'name'],
    load: async () => (await loadServers()).rename,
  }),
  'servers import': controlPlaneCommand({
    summary: "import servers from an MCP client's config file",
    options: {
      isTrial: option(
        'dry-run [true|false]',
        'show what would be registered, without contacting the control plane',
        parseSwitch,
        'false',
      ),
      importOptions: {
        secretsIn: option(
          'secrets-in <place>',
          'where header values are to be kept: store (set with `switchyard secrets`) or files',
          oneOf('store', 'files'),
          'store',
        ),
        bridge: option(
          'bridge <program>',
          'bridge to run stdio servers behind: supergateway or mcp-proxy',
          oneOf('supergateway', 'mcp-proxy'),
          'supergateway',
        ),
        bridgePort: option(
          'bridge-port <port>',
          'port of the first bridged server; the next ones count up',
          wholeNumber({ min: 1, max: PORT_MAX }),
          '8100',
        ),
      },
    },
    operands: ['file'],
    load: async () => (await loadServerFiles()).importServers,
  }),
  'servers export': controlPlaneCommand({
    summary: "print the registered servers as an MCP client's config file",
    load: async () => (await loadServerFiles()).exportServers,
  }),
  'servers remove': controlPlaneCommand({
    summary: 'remove a server from the registry',
    operands: ['server'],
    load: async () => (await loadServers()).remove,
  }),
  'servers connect': controlPlaneCommand({
    summary: 'print the URL where you give the consent that a server needs, in a browser',
    options: {
      isForProbes: option(
        'probes [true|false]',
        "for the control plane's own probes instead of for the token's subject",
        parseSwitch,
        'false',
      ),
    },
    operands: ['server'],
    load: async () => (await loadServers()).connect,
  }),
  'servers disconnect': controlPlaneCommand({
    summary: 'withdraw your consent for a server and delete its tokens',
    operands: ['name'],
    load: async () => (await loadServers()).disconnect,
  }),
  'compositions list': controlPlaneCommand({
    summary: 'list the compositions',
    load: async () => (await loadCompositions()).list,
  }),
  'compositions create': controlPlaneCommand({
    summary: 'create a virtual server from tools of registered servers',
    options: {
      properties: {
        ...compositionProperties,
        subjects: option('subjects <list>', 'comma-separated token subjects that may use it', parseTexts, {
          text: "the token's own",
        }),
      },
      isForced,
    },
    operands: ['name', 'server:tool...'],
    check: checkTools,
    load: async () => (await loadCompositions()).create,
  }),
  'compositions update': controlPlaneCommand({
    summary: 'change a composition; its URL stays',
    options: { change: compositionChange, isForced },
    operands: ['composition'],
    load: async () => (await loadCompositions()).update,
  }),
  'compositions show': controlPlaneCommand({
    summary: 'show a composition',
    operands: ['composition'],
    load: async () => (await loadCompositions()).show,
  }),
  'compositions delete': controlPlaneCommand({
    summary: 'delete a composition',
    operands: ['composition'],
    load: async () => (await loadCompositions()).remove,
  }),
  whoami: controlPlaneCommand({
    summary: 'show whose token SWITCHYARD_TOKEN is, and what it may do at the control plane',
    load: async () => (await import('./cli/control-plane-connection.js')).whoami,
  }),
  'config list': localCommand({
    summary: 'list the subjects that have a user config',
    options: { store: storeOptions },
    load: async () => (await loadUserConfigs()).list,
  }),
  'config get': localCommand({
    summary: 'print a user config',
    options: { store: storeOptions },
    operands: ['subject'],
    load: async () => (await loadUserConfigs()).get,
  }),
  'config put': localCommand({
    summary: 'check a user config from a file or standard input, and store it',
    options: userConfigChange,
    operands: ['subject', 'file?'],
    load: async () => (await loadUserConfigs()).put,
  }),
  'config check': localCommand({
    summary: 'check a user config from a file or standard input, without storing it',
    operands: ['file?'],
    load: async () => (await loadUserConfigs()).check,
  }),
  'config delete': localCommand({
    summary: 'delete a user config',
    options: userConfigChange,
    operands: ['subject'],
    load: async () => (await loadUserConfigs()).remove,
  }),
  sessions: dataplaneCommand({
    summary: 'list the sessions of a running dataplane',
    options: { subject },
    load: async () => (await loadAdmin()).listSessions,
  }),
  explain: dataplaneCommand({
    summary: 'explain what happened to a request, the state of a session, or why a subject has a tool or not',
    options: explainOptions,
    operands: ['id?'],
    check: (reader, [id]) => {
      for (const option of [subject, explainOptions.virtualHost]) {
        if (id !== undefined || reader.isGiven(option)) continue;
        reader.addFault(option, 'is required, unless the id of a request or a session is given');
      }
    },
    load: async () => (await loadAdmin()).explain,
  }),
  top: defineCommand({
    summary: 'show live figures of a running dataplane (Ctrl-C to quit)',
    options: {
      intervalMs: option(
        'interval <duration>',
        'time between two measurements, and refresh interval on a terminal',
        // At least two gatherings: the primary gathers figures at most once per `metricGatheringAgeMsMax`.
        duration({ minMs: 2 * workerBounds.metricGatheringAgeMsMax, maxMs: 3_600_000 }),
        '2s',
      ),
      ...adminClientOptions,
    },
    run: async (request) => (await import('./cli/top.js')).runTop(request),
  }),
  'log-level': dataplaneCommand({
    summary: 'change the log level of a running dataplane',
    operands: ['level'],
    load: async () => (await loadAdmin()).setLogLevel,
  }),
  'store copy': localCommand({
    summary: 'copy the embedded store, also while it is in use, to an empty directory',
    options: { from: storePath },
    operands: ['directory'],
    load: async () => (await import('./cli/store-use.js')).copyStore,
  }),
  completion: defineCommand({
    summary: 'print a shell completion script: bash, zsh or fish',
    options: {},
    operands: ['shell'],
    check: (reader, [shell = 'bash']) => {
      if (!SHELLS.includes(shell)) reader.addOtherFault(`<shell>: expects one of ${SHELLS.join(', ')}`);
    },
    run: async ({ shell }) => {
      (await import('./cli/completion.js')).printCompletionScript(shell);
      return exitStatus.ok;
    },
  }),
  'config schema': defineCommand({
    summary: 'print the JSON Schema of user configs',
    options: {},
    run: async () => {
      const { printResult } = await import('./cli/command-result.js');
      return printResult(true, (await loadUserConfigs()).schema);
    },
  }),
  'secrets set': textCommand({
    summary: 'store a secret read from standard input, encrypted',
    options: {
      origins: required(
        option(
          'origins <list>',
          'comma-separated origins that the secret may be sent to, e.g. https://api.example.com; or any',
          parseSecretOrigins,
        ),
      ),
      ...sealingOptions,
    },
    operands: ['name'],
    check: checkSecretName,
    load: async () => (await loadSecrets()).set,
  }),
  'secrets list': textCommand({
    summary: 'list the secrets in the store, without their values',
    options: secretsOptions,
    load: async () => (await loadSecrets()).list,
  }),
  'secrets delete': textCommand({
    summary: 'delete a secret from the store',
    options: secretsOptions,
    operands: ['name'],
    check: checkSecretName,
    load: async () => (await loadSecrets()).remove,
  }),
  'secrets rotate': textCommand({
    summary: 'encrypt every secret again with the first key',
    options: sealingOptions,
    load: async () => (await loadSecrets()).rotate,
  }),
} as const satisfies Readonly<Record<string, CommandDeclaration>>;
