// The servers of the field, and what clients are to do with each.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bridgeCommand } from '../../src/cli/mcp-file.js';
import { BACKEND_KINDS } from '../eras/backends.js';
import { foreignBackends } from '../eras/sdks/kinds.js';
import { findFreePort } from '../support/free-port.js';
import { childEnvironment, projectRoot } from '../support/gateway.js';
import { killWithProcess } from '../support/leftovers.js';
import { startMcpBackend } from '../support/mcp-backend.js';
import { until } from '../support/until.js';
import { LISTS } from './lists.js';
import { modules, type Step } from './plan.js';
import { bridges, type Field } from './preparation.js';
import { startSdkServer } from './sdk-server.js';

/** What a server may need to start. */
export interface Ground {
  readonly field: Field;
  /** A directory of its own. */
  readonly scratch: string;
  readonly teardown: (ending: () => unknown) => void;
}

export interface FieldServer {
  readonly label: string;
  readonly steps: readonly Step[];
  readonly answer?: Readonly<Record<string, string>>;
  /** @returns its URL for a session with this name. */
  start(ground: Ground): Promise<(session: string) => string | Promise<string>>;
}

const LISTINGS: readonly Step[] = [['tools'], ['prompts'], ['resources'], ['templates']];
const COUNTING: readonly Step[] = [1, 2, 3].map(() => ['call', 'counter', {}]);
const entry = (name: string, ...path: string[]): string =>
  join(modules, name, ...(path.length > 0 ? path : ['dist', 'index.js']));

const ownSteps: readonly Step[] = [
  ...LISTINGS,
  ['call', 'add', { a: 1.5, b: 2 }],
  ['call', 'add', { a: 'one' }],
  ...COUNTING,
  ['progress', 'steps', {}],
  ['prompt', 'greet', { name: 'Zoë' }],
  ['read', 'field://doc'],
  ['read', 'field://places/here'],
  // Last, because some clients do not survive a question that they do not know.
  ['ask', 'ask', {}],
];
const pythonSteps: readonly Step[] = [
  ['call', 'find', { places: [{ name: 'a', inner: { name: 'b', kind: 'städtisch' } }], limit: 2 }],
  ...ownSteps,
];
const eraSteps: readonly Step[] = [
  ...LISTINGS,
  ['call', 'echo', {}],
  ['progress', 'count', {}],
  ['prompt', 'greet', {}],
  ['read', 'test://doc'],
  ['ask', 'ask_user', {}],
];

/** A program that listens on the port that it is given. */
async function listening(
  { teardown }: Ground,
  [command = '', ...words]: readonly string[],
  port: number,
  path: string,
  options: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<() => string> {
  const env = childEnvironment({ PYTHONDONTWRITEBYTECODE: '1', PORT: String(port), ...options.env });
  const child = spawn(command, words, { ...options, env, stdio: 'ignore', detached: true });
  killWithProcess(child);
  teardown(() => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
  });
  const url = `http://127.0.0.1:${port}/${path}`;
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`${[command, ...words].join(' ')} has ended`);
    return fetch(`http://127.0.0.1:${port}/`).then(
      async (answer) => answer.body?.cancel().then(() => true) ?? true,
      () => false,
    );
  }, `a listener at ${url}`);
  return () => url;
}

/** A server on standard input and output, behind the bridge as `switchyard servers import` says. */
async function bridged(
  ground: Ground,
  bridge: 'supergateway' | 'mcp-proxy',
  [command = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<() => string> {
  const port = await findFreePort();
  const line = bridgeCommand({ command, args }, bridge, port);
  return listening(ground, ['sh', '-c', `exec ${line}`], port, 'mcp', { cwd: bridges, env });
}

const python = (label: string, environment: string, framework: string, path = 'mcp'): FieldServer => ({
  label,
  steps: pythonSteps,
  start: async (ground) => {
    const port = await findFreePort();
    const program = join(projectRoot, 'test', 'field', 'programs', 'server.py');
    const transport = path === 'sse' ? path : 'streamable-http';
    const words = [ground.field.python(environment), program, framework, transport, String(port)];
    return listening(ground, words, port, path);
  },
});

/** For a server that does not survive the end of a session: each session has a process of its own. */
const afresh = (server: FieldServer): FieldServer => ({
  ...server,
  start: async (ground) => async (session) => (await server.start(ground))(session),
});

const typescript = (label: string, sdk: string, steps = ownSteps): FieldServer => ({
  label,
  steps,
  start: (ground) => startSdkServer(ground, sdk),
});

const era = (label: string, kind: string): FieldServer => ({
  label,
  steps: eraSteps,
  start: async ({ teardown }) => {
    const backend = await BACKEND_KINDS.find((each) => each.label === kind)!.start();
    teardown(() => backend.close());
    return () => backend.url;
  },
});

const everything = async (ground: Ground, program: string): Promise<() => string> => {
  const port = await findFreePort();
  return listening(ground, [process.execPath, program, 'streamableHttp'], port, 'mcp');
};

const listed = ([label, tools]: [string, (typeof LISTS)[string]]): FieldServer => ({
  label: `list: ${label}`,
  steps: [['tools']],
  start: async ({ teardown }) => {
    const backend = await startMcpBackend({
      tools,
      withSessions: true,
      pageSize: 40,
      answerAs: 'event-stream',
      protocolVersion: '2024-11-05',
    });
    teardown(() => backend.close());
    return () => backend.url;
  },
});

export const SERVERS: readonly FieldServer[] = [
  {
    label: 'everything 2026.8',
    answer: { name: 'Ada' },
    steps: [
      ...LISTINGS,
      ['call', 'echo', { message: 'to and fro: “é”' }],
      ['call', 'get-sum', { a: 19.5, b: 23 }],
      ['call', 'get-structured-content', { location: 'Chicago' }],
      ['call', 'get-annotated-message', { messageType: 'error', includeImage: true }],
      ['call', 'get-resource-links', { count: 2 }],
      ['progress', 'trigger-long-running-operation', { duration: 0.2, steps: 2 }],
      ['prompt', 'args-prompt', { city: 'Köln' }],
      ['read', 'demo://resource/static/document/features.md'],
      ['ask', 'trigger-elicitation-request', {}],
    ],
    start: (ground) =>
      everything(ground, fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'))),
  },
  {
    label: 'everything 2025.8',
    steps: [
      ...LISTINGS,
      ['call', 'add', { a: 19.5, b: 23 }],
      ['call', 'structuredContent', { location: 'Chicago' }],
      ['call', 'getResourceReference', { resourceId: 3 }],
      ['progress', 'longRunningOperation', { duration: 0.2, steps: 2 }],
      ['prompt', 'complex_prompt', { temperature: '0.5' }],
      ['read', 'test://static/resource/1'],
      ['ask', 'startElicitation', {}],
    ],
    answer: { color: 'green', number: '7', pets: 'cats' },
    start: (ground) => everything(ground, entry('everything-2025')),
  },
  ...(['2026.8', '2025.3'] as const).map((version): FieldServer => ({
    label: `filesystem ${version}`,
    steps: [
      ['tools'],
      ['call', version === '2026.8' ? 'read_text_file' : 'read_file', { path: '/proc/sys/kernel/ostype' }],
      ['call', 'list_directory', { path: join(projectRoot, 'deploy') }],
    ],
    start: (ground) => {
      const name = version === '2026.8' ? '@modelcontextprotocol/server-filesystem' : 'filesystem-2025';
      return bridged(ground, 'supergateway', [process.execPath, entry(name), join(projectRoot, 'deploy')]);
    },
  })),
  {
    label: 'memory 2026.8',
    steps: [['tools'], ['call', 'read_graph', {}], ['call', 'search_nodes', { query: 'Ada' }]],
    start: (ground) => {
      const file = join(ground.scratch, 'memory.json');
      const entity = { type: 'entity', name: 'Ada', entityType: 'person', observations: ['counts — “well”'] };
      writeFileSync(file, `${JSON.stringify(entity)}\n`);
      const words = [process.execPath, entry('@modelcontextprotocol/server-memory')];
      return bridged(ground, 'mcp-proxy', words, { MEMORY_FILE_PATH: file });
    },
  },
  {
    label: 'sequential-thinking 2026.8',
    // Its history is its session's.
    steps: [
      ['tools'],
      ...[1, 2, 3].map((thoughtNumber): Step => {
        const words = { thought: 'So?', nextThoughtNeeded: true, thoughtNumber, totalThoughts: 3 };
        return ['call', 'sequentialthinking', words];
      }),
    ],
    start: (ground) =>
      bridged(ground, 'supergateway', [process.execPath, entry('@modelcontextprotocol/server-sequential-thinking')]),
  },
  {
    label: 'playwright 0.0.83',
    steps: [['tools']],
    start: async (ground) => {
      const port = await findFreePort();
      const words = [
        process.execPath,
        entry('@playwright/mcp', 'cli.js'),
        '--host',
        '127.0.0.1',
        '--port',
        String(port),
      ];
      const urlOf = await listening(ground, [...words, '--headless'], port, 'mcp');
      // It refuses other names of this machine.
      return () => urlOf().replace('127.0.0.1', 'localhost');
    },
  },
  {
    label: 'time 2026.10',
    steps: [
      ['tools'],
      ['call', 'convert_time', { source_timezone: 'Asia/Tokyo', time: '14:30', target_timezone: 'UTC' }],
      ['call', 'get_current_time', { timezone: 'Nowhere/Here' }],
    ],
    start: (ground) =>
      bridged(ground, 'mcp-proxy', [
        ground.field.python('servers'),
        '-m',
        'mcp_server_time',
        '--local-timezone',
        'UTC',
      ]),
  },
  {
    label: 'git 2026.10',
    steps: [['tools'], ['call', 'git_status', { repo_path: '.' }], ['call', 'git_log', { repo_path: '/nowhere' }]],
    start: (ground) => {
      const repository = join(ground.scratch, 'repository');
      mkdirSync(repository);
      execFileSync('git', ['init', '--quiet', repository]);
      return bridged(ground, 'supergateway', [
        ground.field.python('servers'),
        '-m',
        'mcp_server_git',
        '--repository',
        repository,
      ]);
    },
  },
  typescript('TypeScript 1.10', 'sdk-1.10'),
  typescript('TypeScript 1.12', 'sdk-1.12'),
  typescript('TypeScript 1.32', 'sdk'),
  typescript('TypeScript 1.32, restarted', 'sdk', [
    ['tools'],
    ...COUNTING,
    ['call', 'restart', {}],
    // Some clients lose this one directly, and have a new session for the others.
    ['call', 'add', { a: 1, b: 2 }],
    ...COUNTING,
    ['tools'],
  ]),
  era('TypeScript 2.4', 'modern'),
  era('TypeScript 1 and 2', 'dual'),
  python('Python 1.6, SSE', 'mcp-1.6', 'mcp', 'sse'),
  afresh(python('Python 1.8', 'mcp-1.8', 'mcp')),
  // Without the slash it redirects, as the one before does.
  python('Python 1.10', 'mcp-1.10', 'mcp', 'mcp/'),
  python('Python 1.30', 'python-1', 'mcp'),
  python('Python 2.3', 'python-2', 'mcp2'),
  python('fastmcp 2', 'fastmcp-2', 'fastmcp'),
  python('fastmcp 4', 'fastmcp-4', 'fastmcp'),
  {
    label: 'Go 1.8',
    steps: [...COUNTING, ...eraSteps],
    start: async ({ field, teardown }) => {
      const backend = await foreignBackends(field.sdks)
        .find(({ label }) => label === 'Go legacy')!
        .start();
      teardown(() => backend.close());
      return () => backend.url;
    },
  },
  ...Object.entries(LISTS).map(listed),
];
