// Which folder may import which (ARCHITECTURE.md, "Folders"). The graph is read from the sources, printed when it breaks a
// rule, and includes type imports: a folder that only uses another's types still depends on it.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';

const src = fileURLToPath(new URL('../../src', import.meta.url));

const mayImport: Readonly<Record<string, readonly string[]>> = {
  shared: [],
  config: ['shared'],
  protocol: ['shared'],
  names: ['shared'],
  store: ['shared', 'config'],
  'user-config': ['store', 'protocol', 'config', 'shared'],
  auth: ['shared', 'config'],
  secrets: ['store', 'config', 'shared'],
  metrics: ['shared'],
  ipc: ['metrics', 'config', 'shared'],
  upstream: ['user-config', 'secrets', 'protocol', 'names', 'config', 'shared'],
  'session-directory': ['store', 'shared'],
  relay: ['session-directory', 'secrets', 'upstream', 'user-config', 'protocol', 'config', 'shared'],
  process: ['config', 'shared'],
  primary: ['metrics', 'process', 'ipc', 'config', 'shared'],
  observation: ['metrics', 'relay', 'upstream', 'config', 'shared'],
  worker: [
    'observation',
    'metrics',
    'process',
    'relay',
    'session-directory',
    'upstream',
    'user-config',
    'names',
    'secrets',
    'store',
    'auth',
    'ipc',
    'protocol',
    'config',
    'shared',
  ],
  'control-plane': [
    'observation',
    'process',
    'relay',
    'upstream',
    'user-config',
    'names',
    'secrets',
    'store',
    'auth',
    'protocol',
    'config',
    'shared',
  ],
  cli: ['user-config', 'store', 'config', 'shared'],
  bootstrap: ['user-config', 'auth', 'store', 'config', 'shared'],
};

/**
 * What each room of a folder may import from its neighbours. In the worker the inbound and the outbound side never see each other, and
 * meet in the files above them. In the other folders a room sees only rooms listed before it; `relay` and `control-plane` assemble their
 * rooms, and `upstream` is what all upstream sessions share.
 */
const roomsMayImport: Readonly<Record<string, readonly string[]>> = {
  'worker/admission': ['relay/exchange'],
  'worker/hop': ['relay/exchange'],
  'worker/edge': ['relay/exchange'],
  'relay/exchange': [],
  'relay/message': ['relay/exchange'],
  'relay/list-merge': ['relay/message', 'relay/exchange'],
  'relay/asking': ['relay/message', 'relay/exchange'],
  'relay/stream': ['relay/asking', 'relay/exchange'],
  'relay/in-flight': ['relay/asking', 'relay/exchange'],
  'relay/session': [
    'relay/in-flight',
    'relay/stream',
    'relay/asking',
    'relay/list-merge',
    'relay/message',
    'relay/exchange',
  ],
  'relay/request': [
    'relay/session',
    'relay/in-flight',
    'relay/stream',
    'relay/asking',
    'relay/list-merge',
    'relay/message',
    'relay/exchange',
  ],
  'relay/lists': [
    'relay/request',
    'relay/session',
    'relay/in-flight',
    'relay/list-merge',
    'relay/message',
    'relay/exchange',
  ],
  'relay/dispatch': [
    'relay/lists',
    'relay/request',
    'relay/session',
    'relay/in-flight',
    'relay/list-merge',
    'relay/message',
    'relay/exchange',
  ],
  'relay/modern': [
    'relay/dispatch',
    'relay/lists',
    'relay/request',
    'relay/session',
    'relay/in-flight',
    'relay/asking',
    'relay/message',
    'relay/exchange',
  ],
  'upstream/http': [],
  'upstream/credentials': ['upstream/http'],
  'upstream/http1': ['upstream/http'],
  'upstream/reach': ['upstream/http'],
  upstream: ['upstream/reach', 'upstream/credentials', 'upstream/http'],
  'upstream/rpc': ['upstream/reach', 'upstream/http'],
  'upstream/sse': ['upstream/rpc', 'upstream', 'upstream/reach', 'upstream/http'],
  'upstream/session': [
    'upstream/sse',
    'upstream/rpc',
    'upstream',
    'upstream/reach',
    'upstream/credentials',
    'upstream/http',
  ],
  'control-plane/common': [],
  'control-plane/mirror': [],
  'control-plane/connect': ['control-plane/common'],
  'control-plane/dataplane': ['control-plane/common'],
  'control-plane/records': ['control-plane/common'],
  'control-plane/prober': ['control-plane/records'],
  'control-plane/sign-in': ['control-plane/connect', 'control-plane/common'],
  'control-plane/registry': [
    'control-plane/compositions',
    'control-plane/prober',
    'control-plane/records',
    'control-plane/mirror',
    'control-plane/common',
  ],
  'control-plane/compositions': ['control-plane/registry', 'control-plane/mirror', 'control-plane/common'],
  'control-plane/mcp': ['control-plane/compositions', 'control-plane/registry'],
  'control-plane/http': [
    'control-plane/mcp',
    'control-plane/compositions',
    'control-plane/registry',
    'control-plane/sign-in',
    'control-plane/records',
    'control-plane/dataplane',
    'control-plane/connect',
    'control-plane/common',
  ],
};

/** Packages that only one folder or file, or a few, may import. */
const packageHomes: Readonly<Record<string, string | readonly string[]>> = {
  'uWebSockets.js': 'worker/edge/',
  jose: 'auth/',
  oauth4webapi: ['upstream/credentials/', 'control-plane/connect/', 'control-plane/sign-in/'],
  ioredis: 'store/',
  lmdb: 'store/',
  pino: 'shared/logger.ts',
  piscina: ['relay/list-merge/', 'user-config/config-thread.ts', 'shared/task-thread.ts'],
  commander: 'config/',
  '@bomb.sh/tab': 'cli/completion.ts',
  'prom-client': 'primary/metrics-page.ts',
  fastify: 'control-plane/http/',
  ajv: 'control-plane/http/',
  // Parses what others have written: configs, what a control plane or a dataplane answers to commands and to each other, and what servers
  // answer to probes, where the SDK's client takes its schemas.
  zod: ['user-config/', 'cli/', 'control-plane/prober/', 'shared/dataplane-answers.ts'],
  minisearch: 'relay/list-merge/tool-catalogue.ts',
  'jsonc-parser': 'cli/json-text.ts',
  'smol-toml': 'cli/settings-text.ts',
  yaml: 'cli/settings-text.ts',
  '@modelcontextprotocol/sdk': 'control-plane/prober/',
};

interface Import {
  readonly file: string;
  readonly specifier: string;
  readonly isTypeOnly: boolean;
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(src, file), 'utf8');
  const statements = text.matchAll(/^(?:import|export)\s+(type\s)?[^;]*?from\s+'([^']+)'|import\('([^']+)'\)/gms);
  return [...statements].map(([, type, from, dynamic]) => ({
    file,
    specifier: from ?? dynamic ?? '',
    isTypeOnly: type !== undefined,
  }));
}

const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
const imports = files.flatMap(importsOf);

function folderOf(file: string): string {
  return file.includes(sep) ? (file.split(sep)[0] ?? '') : 'main';
}

/** The folder and its subfolder: `worker/edge`. Anything deeper belongs to that. */
function roomOf(file: string): string {
  return file.split(sep).slice(0, -1).slice(0, 2).join('/');
}

/** For example `@scope/name` for `@scope/name/some/file.js`. */
function packageOf(specifier: string): string {
  return /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier;
}

t.test('folders import only what the table allows', async (t) => {
  const faults: string[] = [];
  const edges = new Set<string>();
  for (const { file, specifier } of imports) {
    if (!specifier.startsWith('.')) continue;
    const from = folderOf(file);
    const to = folderOf(relative(src, resolve(src, dirname(file), specifier)));
    if (from === to || from === 'main') continue;
    edges.add(`${from} → ${to}`);
    if (!mayImport[from]?.includes(to)) faults.push(`${file} imports ${specifier}`);
  }
  t.ok(edges.size > 5, 'the graph was read');
  t.same(faults, [], `folder graph: ${[...edges].sort().join(', ')}`);
  const permissions = Object.entries(mayImport).flatMap(([from, all]) => all.map((to) => `${from} → ${to}`));
  t.same(
    permissions.filter((permission) => !edges.has(permission)),
    [],
    'nothing is allowed that nobody does',
  );
});

t.test('the rooms of a folder see only what the table allows', async (t) => {
  const faults: string[] = [];
  const seen = new Set<string>();
  for (const { file, specifier } of imports) {
    const from = roomOf(file);
    const allowed = roomsMayImport[from];
    if (allowed === undefined || !specifier.startsWith('.')) continue;
    const to = roomOf(relative(src, resolve(src, dirname(file), specifier)));
    const wings = from.startsWith('worker/') ? ['worker', 'relay', 'upstream'] : [from.split('/')[0]];
    if (from === to || !wings.includes(to.split('/')[0])) continue;
    seen.add(`${from} → ${to}`);
    if (!allowed.includes(to)) faults.push(`${file} imports ${specifier}`);
  }
  t.same(faults, []);
  const permissions = Object.entries(roomsMayImport).flatMap(([from, all]) => all.map((to) => `${from} → ${to}`));
  t.same([...seen].sort(), permissions.sort(), 'nothing is allowed that nobody does');
});

/** The one exception: a composition is made of servers, and a changed server is republished with the compositions that use it. */
const KNOT = 'control-plane/registry → control-plane/compositions';

t.test('every room is in the table, and none sees one listed after it', async (t) => {
  const inTable = Object.keys(roomsMayImport);
  for (const wing of ['relay', 'upstream', 'control-plane']) {
    const rooms = inTable.filter((room) => room === wing || room.startsWith(`${wing}/`));
    const there = new Set(files.map(roomOf).filter((room) => room.startsWith(`${wing}/`)));
    t.same([...there].filter((room) => !rooms.includes(room)).sort(), [], 'all of them');
    const upwards = rooms.flatMap((from, at) =>
      (roomsMayImport[from] ?? []).filter((to) => rooms.indexOf(to) >= at).map((to) => `${from} → ${to}`),
    );
    t.same(upwards, wing === 'control-plane' ? [KNOT] : []);
  }
});

/** The files that import each other, by value or by type, because none can be said without the others. */
const MUTUAL: readonly (readonly string[])[] = [
  // A call and the connection that carries it: each tells the other what happens.
  ['upstream/http1/http1-call.ts', 'upstream/http1/http1-connection.ts'],
  // A part and its whole.
  ['relay/dispatch/batch-part.ts', 'relay/dispatch/batch.ts'],
  ['relay/in-flight/requests-in-flight.ts', 'relay/in-flight/slow-requests.ts'],
  ['relay/modern/held-call.ts', 'relay/modern/held-calls.ts'],
  ['relay/stream/caller-stream.ts', 'relay/stream/replay-buffer.ts', 'relay/stream/stream-keeper.ts'],
  // A watched request tells the watch of its end, which tells the log and the tracer about the request.
  ['observation/access-log.ts', 'observation/request-watch.ts', 'observation/tracer.ts'],
  // A plan has the form of its request, and the form is asked about the plan.
  ['relay/request/relayed-request-plan.ts', 'relay/request/request-form.ts'],
  // Parts of what a session does, in files of their own: they are given the session.
  ['relay/session/session-upstreams.ts', 'relay/session/session.ts', 'relay/session/unsolicited-messages.ts'],
];

/** The files that each file leads to, itself only if there is a way back. */
function reachOf(): ReadonlyMap<string, ReadonlySet<string>> {
  const next = new Map<string, string[]>(files.map((file) => [file, []]));
  for (const { file, specifier } of imports) {
    if (!specifier.startsWith('.')) continue;
    next.get(file)?.push(relative(src, resolve(src, dirname(file), specifier)).replace(/\.js$/, '.ts'));
  }
  return new Map(
    files.map((file) => {
      const reached = new Set(next.get(file));
      for (const each of reached) for (const further of next.get(each) ?? []) reached.add(further);
      return [file, reached];
    }),
  );
}

t.test('files import each other only where they are named here', async (t) => {
  const reach = reachOf();
  const groups = new Set<string>();
  for (const file of files) {
    const group = files.filter((other) => reach.get(file)?.has(other) === true && reach.get(other)?.has(file) === true);
    if (group.length > 0) groups.add(group.sort().join(', ').replaceAll(sep, '/'));
  }
  t.same([...groups].sort(), MUTUAL.map((group) => group.join(', ')).sort());
});

/** The folders, however deep, that import each other, and why. */
const MUTUAL_FOLDERS: readonly string[] = [
  // The table of options stands beside what reads it, and is made of the same readers of values.
  'config ↔ config/table',
  // As KNOT.
  'control-plane/compositions ↔ control-plane/registry',
  // The app mounts the routes, which answer with what all routes share.
  'control-plane/http ↔ control-plane/http/routes',
];

t.test('folders import each other only where they are named here', async (t) => {
  const edges = new Set<string>();
  for (const { file, specifier } of imports) {
    if (!specifier.startsWith('.')) continue;
    const [from, to] = [dirname(file), dirname(relative(src, resolve(src, dirname(file), specifier)))];
    if (from !== to) edges.add(`${from} ↔ ${to}`.replaceAll(sep, '/'));
  }
  const bothWays = [...edges].filter((edge) => edges.has(edge.split(' ↔ ').reverse().join(' ↔ ')));
  t.same(bothWays.filter((edge) => edge === edge.split(' ↔ ').sort().join(' ↔ ')).sort(), MUTUAL_FOLDERS);
});

t.test('every folder is in the table', async (t) => {
  const folders = new Set(files.map(folderOf));
  folders.delete('main');
  t.same([...folders].sort(), Object.keys(mayImport).sort());
});

t.test('packages are imported only in their own folders', async (t) => {
  const used = new Set<string>();
  const strays = imports.filter(({ file, specifier }) => {
    if (/^(?:\.|node:)/.test(specifier)) return false;
    const name = packageOf(specifier);
    const homes = [packageHomes[name] ?? []].flat();
    const home = homes.find((each) => file.split(sep).join('/').startsWith(each));
    used.add(`${name} in ${home}`);
    return home === undefined;
  });
  t.same(strays, []);
  const homes = Object.entries(packageHomes).flatMap(([name, all]) => [all].flat().map((each) => `${name} in ${each}`));
  t.same([...used].sort(), homes.sort(), 'no home is kept for what is gone');
});

/** The packages that a process loads at startup: those that its entry file leads to. */
function packagesAtStart(entry: string): string[] {
  const packages = new Set<string>();
  const reached = new Set([entry]);
  for (const file of reached) {
    const text = readFileSync(join(src, file), 'utf8');
    for (const [, specifier = ''] of text.matchAll(/^(?:import|export)\s+(?!type\s)[^;]*?from\s+'([^']+)'/gms)) {
      if (specifier.startsWith('.')) {
        reached.add(relative(src, resolve(src, dirname(file), specifier)).replace(/\.js$/, '.ts'));
      } else if (!specifier.startsWith('node:')) packages.add(packageOf(specifier));
    }
  }
  return [...packages].sort();
}

t.test('packages that are seldom needed are not loaded at startup', async (t) => {
  t.same(packagesAtStart('main.ts'), ['commander', 'pino']);
  t.same(packagesAtStart('primary/run-primary.ts'), ['pino']);
  t.same(packagesAtStart('worker/main.ts'), ['jose', 'pino', 'piscina', 'zod']);
  t.same(packagesAtStart('control-plane/run-control-plane.ts'), ['ajv', 'fastify', 'jose', 'pino', 'piscina', 'zod']);
});

t.test('process.env is read only in config', async (t) => {
  const readers = files.filter(
    (file) => folderOf(file) !== 'config' && readFileSync(join(src, file), 'utf8').includes('process.env'),
  );
  t.same(readers, []);
});
