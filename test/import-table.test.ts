// Which folder may import which (ARCHITECTURE.md, "Folders"). The graph is read from the sources, printed when it breaks a
// rule, and includes type imports: a folder that only uses another's types still depends on it.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { behindDoor, isDoor, namesIn } from './runner/doors.js';

const src = fileURLToPath(new URL('../../src', import.meta.url));

/** The packages, each after those that it may import. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  shared: [],
  config: ['shared'],
  fair: ['shared'],
  metrics: ['shared'],
  auth: ['config', 'shared'],
  bytes: ['fair', 'shared'],
  process: ['metrics', 'config', 'shared'],
  mcp: ['bytes', 'shared'],
  primary: ['process', 'metrics', 'fair', 'config', 'shared'],
  store: ['config', 'shared'],
  'user-config': ['store', 'mcp', 'bytes', 'config', 'shared'],
  bootstrap: ['user-config', 'store', 'auth', 'config', 'shared'],
  'http-client': ['user-config', 'mcp', 'fair', 'shared'],
  credentials: ['http-client', 'user-config', 'store', 'fair', 'config', 'shared'],
  cli: ['credentials', 'user-config', 'store', 'metrics', 'config', 'shared'],
  upstream: ['credentials', 'http-client', 'user-config', 'mcp', 'bytes', 'fair', 'config', 'shared'],
  exchange: ['upstream', 'http-client', 'user-config', 'mcp', 'bytes', 'fair', 'shared'],
  messages: ['exchange', 'upstream', 'http-client', 'user-config', 'mcp', 'bytes', 'shared'],
  observation: ['exchange', 'upstream', 'http-client', 'metrics', 'config', 'shared'],
  lists: ['messages', 'exchange', 'upstream', 'http-client', 'user-config', 'mcp', 'bytes', 'fair', 'shared'],
  streams: [
    'messages',
    'exchange',
    'upstream',
    'http-client',
    'user-config',
    'mcp',
    'bytes',
    'fair',
    'config',
    'shared',
  ],
  session: [
    'streams',
    'lists',
    'messages',
    'exchange',
    'upstream',
    'http-client',
    'user-config',
    'store',
    'mcp',
    'bytes',
    'fair',
    'config',
    'shared',
  ],
  calls: [
    'session',
    'streams',
    'lists',
    'messages',
    'exchange',
    'upstream',
    'http-client',
    'user-config',
    'mcp',
    'bytes',
    'fair',
    'shared',
  ],
  modern: [
    'calls',
    'session',
    'streams',
    'messages',
    'exchange',
    'upstream',
    'http-client',
    'user-config',
    'mcp',
    'bytes',
    'fair',
    'shared',
  ],
  relay: [
    'modern',
    'calls',
    'session',
    'streams',
    'lists',
    'exchange',
    'upstream',
    'credentials',
    'http-client',
    'user-config',
    'mcp',
    'fair',
    'config',
    'shared',
  ],
  edge: ['exchange', 'process', 'bytes', 'fair', 'config', 'shared'],
  'control-plane': [
    'edge',
    'relay',
    'calls',
    'observation',
    'exchange',
    'upstream',
    'credentials',
    'http-client',
    'user-config',
    'store',
    'mcp',
    'process',
    'bytes',
    'auth',
    'metrics',
    'fair',
    'config',
    'shared',
  ],
  worker: [
    'edge',
    'relay',
    'session',
    'observation',
    'exchange',
    'upstream',
    'credentials',
    'http-client',
    'user-config',
    'store',
    'process',
    'bytes',
    'auth',
    'metrics',
    'fair',
    'config',
    'shared',
  ],
};

/** The subfolders of packages that have some: each imports only those that stand before it. `.` is what stands in the package itself. */
const SUBFOLDERS: Readonly<Record<string, readonly string[]>> = {
  shared: ['limits', '.'],
  // The table of options stands beside what reads it, and is made of the same readers of values.
  config: ['table', '.'],
  'http-client': ['names', '.'],
  credentials: ['secrets', '.'],
  upstream: ['reach', '.', 'rpc', 'sse', 'session'],
  streams: ['asking', '.', 'in-flight'],
  session: ['directory', '.'],
  calls: ['.', 'dispatch'],
  // The inbound and the outbound side never see each other, and meet in the files above them.
  worker: ['admission', 'hop', '.'],
  'control-plane': [
    'common',
    'mirror',
    'connect',
    'dataplane',
    'records',
    'prober',
    'sign-in',
    'registry',
    'compositions',
    'mcp',
    'http',
    '.',
  ],
};

/** Exceptions to that order, and why. */
const UPWARDS: readonly string[] = [
  'config/table → config',
  // A composition is made of servers, and a changed server is republished with the compositions that use it.
  'control-plane/registry → control-plane/compositions',
];

/** Packages that only one folder or file, or a few, may import. */
const packageHomes: Readonly<Record<string, string | readonly string[]>> = {
  'uWebSockets.js': 'edge/',
  jose: 'auth/',
  oauth4webapi: ['credentials/', 'control-plane/connect/', 'control-plane/sign-in/'],
  ioredis: 'store/',
  lmdb: 'store/',
  pino: 'shared/logger.ts',
  piscina: ['lists/', 'user-config/config-thread.ts', 'user-config/task-thread.ts'],
  commander: 'config/',
  '@bomb.sh/tab': 'cli/completion.ts',
  'prom-client': 'primary/metrics-page.ts',
  fastify: 'control-plane/http/',
  ajv: 'control-plane/http/',
  // Parses what others have written: configs, what a control plane or a dataplane answers to commands and to each other, and what servers
  // answer to probes.
  zod: [
    'user-config/',
    'cli/',
    'control-plane/prober/',
    'control-plane/http/schemas.ts',
    'shared/dataplane-answers.ts',
  ],
  minisearch: 'lists/tool-catalogue.ts',
  'jsonc-parser': 'cli/settings-text.ts',
  'smol-toml': 'cli/settings-text.ts',
  yaml: 'cli/settings-text.ts',
};

interface Import {
  readonly file: string;
  readonly specifier: string;
  /** The names between the braces. */
  readonly names: string;
  readonly isTypeOnly: boolean;
  /** `import('…')`: a part that is loaded when it is needed. */
  readonly isLate: boolean;
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(src, file), 'utf8');
  const statements = text.matchAll(/^(?:import|export)\s+(type\s)?([^;]*?)from\s+'([^']+)'|import\('([^']+)'\)/gms);
  return [...statements].map(([, type, names = '', from, late]) => ({
    file,
    specifier: from ?? late ?? '',
    names: names.replace(/[{}]/g, ''),
    isTypeOnly: type !== undefined,
    isLate: late !== undefined,
  }));
}

const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
const doors = files.filter((file) => isDoor(join('src', file)));
const imports = files.filter((file) => !doors.includes(file)).flatMap(importsOf);

/** The files that an import is about, behind a door, too: `fair/share.ts`. */
function targetsOf({ file, specifier, names }: Import): string[] {
  if (!specifier.startsWith('.')) return [];
  const target = relative(src, resolve(src, dirname(file), specifier)).replace(/\.js$/, '.ts');
  if (!doors.includes(target)) return [target];
  return behindDoor(names, readFileSync(join(src, target), 'utf8')).map((each) =>
    join(dirname(target), each).replace(/\.js$/, '.ts'),
  );
}

function folderOf(file: string): string {
  return file.includes(sep) ? (file.split(sep)[0] ?? '') : 'main';
}

/** What the listeners, admission and hops of a worker never see: they know exchanges only. */
const OUTBOUND: ReadonlySet<string> = new Set(
  'upstream http-client credentials messages lists streams session calls modern relay'.split(' '),
);

/** The folder and its subfolder: `worker/hop`. Anything deeper belongs to that. */
function subfolderOf(file: string): string {
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

t.test('a package is imported through its door only, which has no name that nobody uses', async (t) => {
  const used = new Set<string>();
  const faults: string[] = [];
  for (const { file, specifier, names, isLate } of imports) {
    if (!specifier.startsWith('.')) continue;
    const target = relative(src, resolve(src, dirname(file), specifier)).replace(/\.js$/, '.ts');
    if (doors.includes(target)) for (const name of namesIn(names)) used.add(`${folderOf(target)}: ${name}`);
    const isInside = folderOf(target) === folderOf(file);
    if (isInside === doors.includes(target) && !isLate && folderOf(target) !== 'main') {
      faults.push(`${file} imports ${specifier}`);
    }
  }
  t.same(faults, []);
  const offered = doors.flatMap((door) =>
    [...readFileSync(join(src, door), 'utf8').matchAll(/\{([^}]*)\}/g)].flatMap(([, names = '']) =>
      namesIn(names).map((name) => `${folderOf(door)}: ${name}`),
    ),
  );
  t.same(offered.sort(), [...used].sort());
});

t.test('the subfolders of a package see only those before them', async (t) => {
  const upwards = new Set<string>();
  const wings = new Set<string>();
  const there = new Set<string>();
  for (const each of imports) {
    const from = subfolderOf(each.file);
    const [top = '', own = '.'] = from.split('/');
    there.add(own === '.' ? top : from);
    const order = SUBFOLDERS[top] ?? ['.'];
    for (const target of targetsOf(each)) {
      const to = subfolderOf(target);
      const [toTop, toOwn = '.'] = to.split('/');
      if (top === 'worker' && own !== '.' && OUTBOUND.has(toTop ?? '')) wings.add(`${each.file} imports ${target}`);
      if (toTop !== top || to === from) continue;
      if (order.indexOf(toOwn) >= order.indexOf(own)) upwards.add(`${from} → ${to}`);
      if (top === 'worker' && own !== '.') wings.add(`${from} → ${to}`);
    }
  }
  const missing = [...there].filter(
    (folder) => folder.includes('/') && !SUBFOLDERS[folder.split('/')[0] ?? '']?.includes(folder.split('/')[1] ?? ''),
  );
  t.same(missing, [], 'all subfolders are in the table');
  t.same([...upwards].sort(), [...UPWARDS].sort());
  t.same([...wings], [], 'the inbound side is apart');
});

/** The files that import each other, by value or by type, because none can be said without the others. */
const MUTUAL: readonly (readonly string[])[] = [
  // A part and its whole.
  ['calls/dispatch/batch-part.ts', 'calls/dispatch/batch.ts'],
  ['modern/suspended-call.ts', 'modern/suspended-calls.ts'],
  ['streams/caller-stream.ts', 'streams/stream-keeper.ts'],
  // A watched request tells the watch of its end, which tells the log and the tracer about the request.
  ['observation/access-log.ts', 'observation/request-watch.ts', 'observation/tracer.ts'],
  // Parts of what a session does, in files of their own: they are given the session.
  ['session/session.ts', 'session/unsolicited-messages.ts'],
];

/** The files that each file leads to, itself only if there is a way back. */
function reachOf(): ReadonlyMap<string, ReadonlySet<string>> {
  const next = new Map<string, string[]>(files.map((file) => [file, []]));
  for (const each of imports) next.get(each.file)?.push(...targetsOf(each));
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

t.test('every folder is in the table', async (t) => {
  const folders = new Set(files.map(folderOf));
  folders.delete('main');
  t.same([...folders].sort(), Object.keys(mayImport).sort());
});

t.test('every package says what it owns and how to change it', async (t) => {
  const silent = Object.keys(mayImport).filter((name) => !existsSync(join(src, name, 'README.md')));
  t.same(silent, [], 'each has a README.md');
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
  const valuesOf = (names: string): string =>
    names
      .split(',')
      .filter((name) => !name.trim().startsWith('type '))
      .join(',');
  for (const file of reached) {
    for (const each of imports.filter((one) => one.file === file && !one.isTypeOnly && !one.isLate)) {
      for (const target of targetsOf({ ...each, names: valuesOf(each.names) })) reached.add(target);
      if (!/^(?:\.|node:)/.test(each.specifier)) packages.add(packageOf(each.specifier));
    }
  }
  return [...packages].sort();
}

t.test('packages that are seldom needed are not loaded at startup', async (t) => {
  t.same(packagesAtStart('main.ts'), ['commander', 'pino']);
  t.same(packagesAtStart('primary/run-primary.ts'), ['pino']);
  t.same(packagesAtStart('worker/main.ts'), ['jose', 'pino', 'zod']);
  t.same(packagesAtStart('control-plane/run-control-plane.ts'), ['ajv', 'fastify', 'jose', 'pino', 'zod']);
});

t.test('process.env is read only in config', async (t) => {
  const readers = files.filter(
    (file) => folderOf(file) !== 'config' && readFileSync(join(src, file), 'utf8').includes('process.env'),
  );
  t.same(readers, []);
});
