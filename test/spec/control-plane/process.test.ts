// The control plane as a process: its start, its end, and that everything survives both (decisions sections 1 and 3).
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { newName, startControlPlane, type ApiCaller, type ControlPlane } from '../../support/control-plane.js';
import { backendFor } from '../../support/deployment.js';
import { launchProgram, runProgram, startGateway, startProgram, verifyWith } from '../../support/gateway.js';
import { McpCaller } from '../../support/mcp-caller.js';
import { send } from '../../support/raw-http.js';
import { startRedis } from '../../support/redis.js';
import { createScratchDirectory } from '../../support/scratch-directory.js';
import { until } from '../../support/until.js';
import type { StoreOptions } from '../../../src/config/table/store-options.js';

const EXIT_USAGE = 64;
const EXIT_UNAVAILABLE = 69;
const EXIT_CANNOT_CREATE = 73;
const UNREACHABLE_URL = 'http://127.0.0.1:1/mcp';

t.jobs = 2;

const stores: Readonly<Record<string, (t: Test) => Promise<StoreOptions>>> = {
  'embedded store': async (t) => ({ kind: 'embedded', path: join(createScratchDirectory(t), 'store') }),
  Redis: async (t) => (await startRedis(t)).storeOptions,
};

/** Everything that a control plane's callers can read, except for what health checks keep changing. */
async function everything(caller: ApiCaller, server: string): Promise<string[]> {
  const paths = ['/servers', `/servers/${server}/tools`, '/compositions'];
  const answers = await Promise.all(paths.map(async (path) => (await caller.get(path)).text));
  return answers.map((text) => text.replaceAll(/"(lastSeen|lastRefreshAt)":"[^"]*"/g, '"$1"'));
}

for (const [store, createStore] of Object.entries(stores)) {
  void t.test(
    `${store}: everything survives an end in order and a kill; the dataplane serves on throughout`,
    async (t) => {
      const storeOptions = await createStore(t);
      let controlPlane = await startControlPlane(t, { storeOptions });
      const { key } = controlPlane;
      const caller = await controlPlane.caller(t, 'alice');
      const backend = await backendFor(t, { tools: ['one', 'two'] });
      const server = newName('server');
      await caller.post('/servers', { name: server, url: backend.url, description: 'd', tags: ['t'] });
      await caller.post('/servers', { name: newName('down'), url: UNREACHABLE_URL });
      const servers = [{ name: server, tools: ['two'] }];
      const created = await caller.post('/compositions', { name: 'composed', servers });
      const { id } = created.json() as { id: string };
      const before = await everything(caller, server);

      const dataplane = await startGateway(t, {
        storeOptions,
        keyOptions: verifyWith(key),
        upstreamConnectionMode: 'plain-text-or-tls',
      });
      const mcp = new McpCaller(dataplane.origin, dataplane.path(id), await controlPlane.token('alice'));
      const session = await mcp.openSession();
      for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
        controlPlane.program.signal(signal);
        const exit = await controlPlane.program.exit;
        t.same(exit, signal === 'SIGTERM' ? { code: 0, signal: null } : { code: null, signal }, signal);
        t.equal((await session.call(`${server}-two`)).status, 200, `the dataplane after ${signal}`);
        controlPlane = await startControlPlane(t, { storeOptions, key });
        t.same(await everything(await controlPlane.caller(t, 'alice'), server), before, signal);
        t.equal((await session.call(`${server}-two`)).status, 200);
      }
    },
  );
}

void t.test(
  'two control planes on one Redis: one of two simultaneous registrations of a name wins, and each sees all',
  async (t) => {
    const { storeOptions } = await startRedis(t);
    const first = await startControlPlane(t, { storeOptions });
    const second = await startControlPlane(t, { storeOptions, key: first.key });
    const callers = [await first.caller(t), await second.caller(t)];
    for (let round = 0; round < 5; round++) {
      const input = { name: newName('race'), url: UNREACHABLE_URL };
      const answers = await Promise.all(callers.map(async (caller) => caller.post('/servers', input)));
      t.same(answers.map(({ status }) => status).sort(), [201, 409]);
      for (const caller of callers) t.equal((await caller.get(`/servers/${input.name}`)).status, 200);
    }
    const lists = await Promise.all(callers.map(async (caller) => (await caller.get('/servers')).json()));
    t.same(lists[0], lists[1]);
  },
);

void t.test('an address in use: exit 69, with the address and what to do', async (t) => {
  const controlPlane = await startControlPlane(t);
  const address = new URL(controlPlane.origin).host;
  const store = ['--store-path', createScratchDirectory(t)];
  const run = await runProgram(['control-plane', '--address', address, ...store]);
  t.equal(run.code, EXIT_UNAVAILABLE);
  t.match(run.output, new RegExp(`cannot listen on ${address.replaceAll('.', '\\.')}: it is in use; .*--address`));
  t.equal(run.errorOutput, '');
  t.equal((await controlPlane.stranger(t).get('/health')).status, 200, 'and the first goes on');
});

void t.test('an embedded store that cannot be used: exit 73, with what to do', async (t) => {
  const run = await runProgram(['control-plane', '--address', '127.0.0.1:0', '--store-path', '/dev/null/store']);
  t.equal(run.code, EXIT_CANNOT_CREATE);
  t.match(run.output, /store cannot be opened: .*--store-path/);
});

void t.test('wrong options are reported all together, exit 64', async (t) => {
  const wrong = [
    ...['--address', 'nowhere', '--rate-limit', '-1', '--health-check-interval', '60', '--probe-timeout', 'soon'],
    ...['--number-of-cpus', '2', '--tls-address', '127.0.0.1:0'],
  ];
  const environment = { SWITCHYARD_REDIS_MODE: 'plain-text', SWITCHYARD_MAX_BODY_BYTES: 'all' };
  const run = await runProgram(['control-plane', ...wrong], { environment });
  t.equal(run.code, EXIT_USAGE);
  for (const name of [
    'address',
    'rate-limit',
    'health-check-interval',
    'probe-timeout',
    'number-of-cpus',
    'tls-address',
  ]) {
    t.match(run.errorOutput, new RegExp(`--${name}\\b`), name);
  }
  t.match(run.errorOutput, /--redis-mode \(from SWITCHYARD_REDIS_MODE\): has no effect without/);
  t.match(run.errorOutput, /--max-body-bytes \(from SWITCHYARD_MAX_BODY_BYTES\)/);
});

void t.test('--address: 127.0.0.1:4444 by default', async (t) => {
  const words = ['control-plane', '--store-path', createScratchDirectory(t)];
  const program = await startProgram(t, words).catch((error: unknown) => {
    if (String(error).includes('in use')) return undefined;
    throw error;
  });
  if (program === undefined) {
    t.pass('the default address', { skip: 'another process of this machine listens on port 4444' });
    return;
  }
  t.equal(program.origin, 'http://127.0.0.1:4444');
});

void t.test('without a key it warns once, and answers 401 to any token', async (t) => {
  const store = ['--store-path', createScratchDirectory(t)];
  const program = await startProgram(t, ['control-plane', '--address', '127.0.0.1:0', ...store]);
  const warnings = program.logs.filter(({ level, msg }) => level === 40 && String(msg).startsWith('no token'));
  // A line that the control plane is not ready for lack of a key follows soon after it listens.
  t.equal(warnings.length, 1);
  const headers = [['authorization', 'Bearer x.y.z']] as const;
  t.equal((await send(program.origin, { method: 'GET', path: '/servers', headers })).status, 401);
  t.equal((await send(program.origin, { method: 'GET', path: '/version', headers: [] })).status, 200);
});

void t.test(
  'where every valid token is an admin’s, it warns once; where roles are read from tokens, it does not',
  async (t) => {
    for (const [options, count] of [
      [[], 1],
      [['--token-roles-claim', 'role'], 0],
    ] as const) {
      const { program } = await startControlPlane(t, { options });
      await program.waitForLog(({ msg }) => msg === 'ready');
      const warnings = program.logs.filter(
        ({ level, msg }) => level === 40 && String(msg).includes('--token-roles-claim'),
      );
      t.equal(warnings.length, count, options.join(' '));
    }
  },
);

void t.test('SIGTERM during probes of servers: it ends in order', async (t) => {
  const controlPlane = await startControlPlane(t, { options: ['--health-check-interval', '10ms'] });
  const caller = await controlPlane.caller(t);
  let isSilent = false;
  const backend = await backendFor(t, { onRequest: () => isSilent });
  t.equal((await caller.post('/servers', { name: newName('silent'), url: backend.url })).status, 201);
  isSilent = true;
  const { length } = backend.raw.requests;
  await until(() => backend.raw.requests.length > length, 'a health check');
  controlPlane.program.signal('SIGTERM');
  t.same(await controlPlane.program.exit, { code: 0, signal: null });
});

/** A control plane with a probe in progress that lasts until `letGo` is called, and the request that waits for it. */
async function withHeldRequest(
  t: Test,
  options: readonly string[] = [],
): Promise<{ controlPlane: ControlPlane; answered: Promise<number>; letGo: () => void }> {
  const controlPlane = await startControlPlane(t, { options });
  let letGo = (): void => {};
  const held = new Promise<void>((resolve) => (letGo = resolve));
  const backend = await backendFor(t, { onRequest: () => held.then(() => false) });
  const caller = await controlPlane.caller(t);
  const answered = caller.post('/servers', { name: newName('held'), url: backend.url }).then(
    ({ status }) => status,
    () => 0,
  );
  await until(() => backend.raw.requests.length > 0, 'the probe to be under way');
  return { controlPlane, answered, letGo };
}

void t.test('SIGHUP without a terminal: it says that it reloads nothing, and serves on', async (t) => {
  const controlPlane = await startControlPlane(t);
  controlPlane.program.signal('SIGHUP');
  await controlPlane.program.waitForLog(({ msg }) => String(msg).startsWith('SIGHUP reloads nothing'));
  t.equal((await controlPlane.stranger(t).get('/health')).status, 200);
});

void t.test('SIGTERM and SIGINT: what is in flight finishes, exit 0', async (t) => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const { controlPlane, answered, letGo } = await withHeldRequest(t);
    controlPlane.program.signal(signal);
    await controlPlane.program.waitForLog(({ msg }) => msg === 'draining');
    await t.rejects(send(controlPlane.origin, { method: 'GET', path: '/health', headers: [] }), 'nobody new');
    letGo();
    t.equal(await answered, 201, signal);
    t.same(await controlPlane.program.exit, { code: 0, signal: null });
    t.equal(controlPlane.program.errorOutput, '');
  }
});

void t.test('--drain-timeout: what is still in flight is then cut off, exit 0', async (t) => {
  const { controlPlane, answered, letGo } = await withHeldRequest(t, ['--drain-timeout', '50ms']);
  controlPlane.program.signal('SIGTERM');
  t.equal(await answered, 0);
  t.same(await controlPlane.program.exit, { code: 0, signal: null });
  letGo();
});

void t.test('a second signal cuts the drain short', async (t) => {
  const { controlPlane, letGo } = await withHeldRequest(t);
  controlPlane.program.signal('SIGTERM');
  await controlPlane.program.waitForLog(({ msg }) => msg === 'draining');
  // Signals in quick succession count as one.
  await until(() => {
    controlPlane.program.signal('SIGTERM');
    return controlPlane.program.logs.some(({ msg }) => String(msg).includes('drain aborted'));
  }, 'the second signal to count');
  t.same(await controlPlane.program.exit, { code: 143, signal: null });
  letGo();
});

void t.test('--access-log: a line for each request, without identities', async (t) => {
  const controlPlane = await startControlPlane(t, { options: ['--access-log'] });
  const caller = await controlPlane.caller(t, 'alice@example.com');
  await caller.get('/servers/x?tags=secret');
  const line = await controlPlane.program.waitForLog(({ msg, status }) => msg === 'request' && status === 404);
  t.match(line, {
    method: 'GET',
    route: '/servers/:server',
    server: 'x',
    subject: /^[0-9a-f]{12}$/,
    durationMs: Number,
  });
  t.notMatch(JSON.stringify(line), /alice|secret/);
});

void t.test('--log-level: lines below it are not written', async (t) => {
  const words = ['control-plane', '--address', '127.0.0.1:0', '--store-path', createScratchDirectory(t)];
  const program = launchProgram(t, [...words, '--log-level', 'warn']);
  await program.waitForLog(({ level }) => level === 40);
  program.signal('SIGTERM');
  await program.exit;
  t.same([...new Set(program.logs.map(({ level }) => level))], [40]);
});
