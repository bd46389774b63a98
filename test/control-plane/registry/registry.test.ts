// The registry on both stores, with real servers and real probes.
import { pino } from 'pino';
import t, { type Test } from 'tap';
import type { StoreOptions } from '../../../src/config/table/store-options.js';
import { Directory } from '../../../src/control-plane/registry/directory.js';

import { CredentialedProber } from '../../../src/control-plane/prober/probe-thread.js';
import { DeadlineWheel } from '../../../src/fair/deadline-wheel.js';
import { createCredentials } from '../../../src/credentials/oauth-source.js';
import { Http1Upstream } from '../../../src/http-client/http1-upstream.js';
import { Names } from '../../../src/http-client/names/names.js';
import { Prober } from '../../../src/control-plane/prober/prober.js';
import { ProberClosedError } from '../../../src/control-plane/prober/probe-fault.js';
import { Registry } from '../../../src/control-plane/registry/registry.js';
import type { ServerInput, ServerRecord, ListName } from '../../../src/control-plane/records/server-record.js';
import type { ServerTool } from '../server-tool.js';
import { ControlPlaneFault } from '../../../src/control-plane/common/control-plane-fault.js';
import { openRecordStore } from '../../../src/store/open-store.js';
import { Failure, startMcpBackend, type McpBackend, type McpBackendOptions } from '../../support/mcp-backend.js';
import { startRawBackend } from '../../support/raw-backend.js';
import { startRedis } from '../../support/redis.js';
import { createScratchDirectory } from '../../support/scratch-directory.js';
import { until } from '../../support/until.js';

/** Waited out by failing tests alone. */
const AMPLE_MS = 120_000;
const NEVER_MS = 3_600_000;
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

interface OpenRegistry {
  readonly registry: Registry;
  /** How many changes the registry has reported. */
  readonly changes: () => number;
  /** The registry's log lines, as JSON text. */
  readonly lines: readonly string[];
}

interface RegistrySettings {
  readonly timeoutMs?: number;
  readonly healthIntervalMs?: number;
}

async function open(t: Test, options: StoreOptions, settings: RegistrySettings = {}): Promise<OpenRegistry> {
  const lines: string[] = [];
  const logger = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
  const records = await openRecordStore(options, logger);
  const prober = new CredentialedProber(
    new Prober({ timeoutMs: settings.timeoutMs ?? AMPLE_MS }),
    createCredentials(
      { mode: 'plain-text-or-tls', secretsDirectory: undefined, secretKeys: [], connectUrl: undefined },
      { http: new Http1Upstream({ connectTimeoutMs: AMPLE_MS, names: new Names() }), deadlines: new DeadlineWheel() },
    ),
  );
  const registry = new Registry({
    serversMax: 10_000,
    records,
    directory: new Directory(records),
    prober,
    logger,
    healthIntervalMs: settings.healthIntervalMs ?? NEVER_MS,
  });
  t.teardown(async () => {
    await registry.stop();
    await records.close();
  });
  let changes = 0;
  registry.addChangeListener(() => void changes++);
  return { registry, changes: () => changes, lines };
}

const NOTHING_CHANGED = {
  ...{ toolsAdded: 0, toolsUpdated: 0, toolsRemoved: 0 },
  ...{ promptsAdded: 0, promptsUpdated: 0, promptsRemoved: 0 },
  ...{ resourcesAdded: 0, resourcesUpdated: 0, resourcesRemoved: 0 },
  ...{ templatesAdded: 0, templatesUpdated: 0, templatesRemoved: 0 },
};

async function startMcp(t: Test, options: McpBackendOptions): Promise<McpBackend> {
  const backend = await startMcpBackend(options);
  t.teardown(() => backend.close());
  return backend;
}

async function toolsOf(registry: Registry, reference: string): Promise<ServerTool[]> {
  return JSON.parse((await registry.listJson(reference, 'tools')).toString()) as ServerTool[];
}

/** A URL where nothing listens. */
async function deadUrl(t: Test): Promise<string> {
  const backend = await startRawBackend(() => {});
  t.teardown(() => backend.close());
  backend.stopListening();
  return backend.url;
}

async function expectFault(
  t: Test,
  promise: Promise<unknown>,
  code: ControlPlaneFault['code'],
  words: RegExp,
): Promise<void> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  t.ok(error instanceof ControlPlaneFault, String(error));
  t.match(error, { code, message: words });
}

const stores: Readonly<Record<string, (t: Test) => Promise<StoreOptions>>> = {
  embedded: async (t) => ({ kind: 'embedded', path: createScratchDirectory(t) }),
  redis: async (t) => (await startRedis(t)).storeOptions,
};

t.jobs = 2;

for (const [kind, optionsOf] of Object.entries(stores)) {
  t.test(kind, async (t) => {
    t.jobs = 3;

    t.test('a reachable server is active, with everything that it reported', async (t) => {
      const { registry, changes } = await open(t, await optionsOf(t));
      const backend = await startMcp(t, { name: 'adder', tools: ['add', 'sub'], withSessions: true });
      const record = await registry.register({
        name: 'My Server',
        url: backend.url,
        description: 'Adds',
        tags: ['math', 'demo'],
      });
      t.match(record, {
        id: /^[0-9a-f]{32}$/,
        name: 'My Server',
        slug: 'my-server',
        url: backend.url,
        description: 'Adds',
        tags: ['math', 'demo'],
        transport: 'STREAMABLEHTTP',
        status: 'active',
        enabled: true,
        reachable: true,
        toolCount: 2,
        promptCount: 0,
        resourceCount: 0,
        templateCount: 0,
        capabilities: { tools: {} },
        serverInfo: { name: 'adder' },
        createdAt: ISO_TIME,
        updatedAt: ISO_TIME,
        lastSeen: ISO_TIME,
        lastRefreshAt: ISO_TIME,
        lastError: null,
      });
      t.equal(changes(), 1);
      t.same((await registry.list()).items, [record]);
      for (const reference of [record.id, record.id.toUpperCase(), 'My Server', 'MY SERVER', 'my-server']) {
        t.same(await registry.find(reference), record, reference);
      }
      t.same(
        (await toolsOf(registry, 'my server')).map(({ name }) => name),
        ['add', 'sub'],
      );
    });

    t.test('an unreachable server is kept, inactive, with the reason', async (t) => {
      const { registry } = await open(t, await optionsOf(t));
      const record = await registry.register({ name: 'gone', url: await deadUrl(t), enabled: false });
      t.match(record, {
        status: 'inactive',
        enabled: false,
        reachable: false,
        toolCount: 0,
        capabilities: {},
        serverInfo: null,
        lastSeen: null,
        lastRefreshAt: null,
        lastError: 'it refuses connections',
      });
      t.same(await toolsOf(registry, 'gone'), []);
    });

    t.test('an unknown name or id finds no server', async (t) => {
      const { registry } = await open(t, await optionsOf(t));
      for (const reference of ['', 'nobody', 'a/b', '\ud800', 'x'.repeat(5_000), 'f'.repeat(32), '__proto__', 'é']) {
        t.equal(await registry.find(reference), undefined, reference.slice(0, 40));
        const words = /^Server not found: /;
        await expectFault(t, registry.listJson(reference, 'tools'), 'not-found', words);
        await expectFault(t, registry.listJson(reference, 'prompts'), 'not-found', words);
        await expectFault(t, registry.refresh(reference), 'not-found', words);
        await expectFault(t, registry.remove(reference), 'not-found', words);
        await expectFault(t, registry.replace(reference, { name: 'a', url: 'http://a/' }), 'not-found', words);
      }
    });

    t.test('names are unique regardless of case, slugs get a number', async (t) => {
      const { registry } = await open(t, await optionsOf(t));
      const url = await deadUrl(t);
      t.equal((await registry.register({ name: 'a b', url })).slug, 'a-b');
      await expectFault(t, registry.register({ name: 'A B', url }), 'name-taken', /named A B is already registered/);
      const second = await registry.register({ name: 'A-B', url });
      t.equal(second.slug, 'a-b-2');
      t.equal((await registry.register({ name: 'A.B', url })).slug, 'a-b-3');
      t.same(await registry.find('a-b'), second, 'a name goes before a slug');
      t.same(
        (await registry.list()).items.map(({ name }) => name),
        ['a b', 'A-B', 'A.B'],
        'sorted by name',
      );
    });

    t.test('an invalid input is refused before any request is made', async (t) => {
      const { registry } = await open(t, await optionsOf(t));
      await expectFault(t, registry.register({ name: 'a/b', url: 'http://a/' }), 'invalid', /^name must be/);
      await expectFault(t, registry.register({ name: 'a', url: 'http://169.254.1.1/' }), 'invalid', /^url must not/);
      t.same((await registry.list()).items, []);
    });

    t.test('the descriptive members can be changed without a probe', async (t) => {
      const { registry, changes } = await open(t, await optionsOf(t));
      const backend = await startMcp(t, { tools: ['add'] });
      const before = await registry.register({ name: 'old', url: backend.url, description: 'x', tags: ['x'] });
      const requestCount = backend.raw.requests.length;
      const after = await registry.replace('old', { name: 'New Name', url: backend.url, enabled: false });
      t.same(after, {
        ...before,
        name: 'New Name',
        slug: 'new-name',
        enabled: false,
        updatedAt: after.updatedAt,
      });
      t.equal(backend.raw.requests.length, requestCount);
      t.equal(changes(), 2);
      t.equal(await registry.find('old'), undefined, 'the old name is free');
      t.same(await registry.find('new-name'), after);
      const again = await registry.replace(before.id, { name: 'NEW name', url: backend.url });
      t.match(again, { name: 'NEW name', slug: 'new-name', enabled: false }, 'only the case is another');
      t.equal((await toolsOf(registry, 'new name')).length, 1);
      t.equal((await registry.register({ name: 'old', url: backend.url })).slug, 'old');
      await expectFault(t, registry.replace('old', { name: 'new name', url: backend.url }), 'name-taken', /new name/);
    });

    t.test('with another URL a server is probed again, and nothing of the old one is left', async (t) => {
      const { registry } = await open(t, await optionsOf(t));
      const one = await startMcp(t, { name: 'one', tools: ['a', 'b'] });
      const other = await startMcp(t, { name: 'other', tools: ['c'] });
      const before = await registry.register({ name: 'moving', url: one.url });
      const moved = await registry.replace('moving', { name: 'moving', url: other.url });
      t.match(moved, { id: before.id, createdAt: before.createdAt, serverInfo: { name: 'other' }, toolCount: 1 });
      t.same(
        (await toolsOf(registry, 'moving')).map(({ name }) => name),
        ['c'],
      );
      const lost = await registry.replace('moving', { name: 'moving', url: await deadUrl(t) });
      t.match(lost, { status: 'inactive', serverInfo: null, toolCount: 0, lastSeen: null, slug: 'moving' });
      t.same(await toolsOf(registry, 'moving'), []);
    });

    t.test('a probe of the old URL decides nothing about a server that has moved meanwhile', async (t) => {
      const { registry } = await open(t, await optionsOf(t));
      let release = (): void => {};
      const held = new Promise<void>((resolve) => (release = resolve));
      let isHeld = false;
      const old = await startMcp(t, {
        name: 'old',
        tools: ['a', 'b'],
        onRequest: async () => {
          if (isHeld) await held;
          return false;
        },
      });
      const next = await startMcp(t, { name: 'next', tools: ['c'] });
      await registry.register({ name: 'moving', url: old.url });
      isHeld = true;
      const requestCount = old.raw.requests.length;
      const refresh = registry.refresh('moving');
      await old.raw.request(requestCount);
      await registry.replace('moving', { name: 'moving', url: next.url });
      release();
      t.match(await refresh, { error: /changed while it was being read/, toolsAdded: 0, toolsRemoved: 0 });
      t.match(await registry.find('moving'), { url: next.url, serverInfo: { name: 'next' }, toolCount: 1 });
      t.same(
        (await toolsOf(registry, 'moving')).map(({ name }) => name),
        ['c'],
      );
    });

    t.test('a removed server is gone, and its name is free', async (t) => {
      const { registry, changes } = await open(t, await optionsOf(t));
      const backend = await startMcp(t, { tools: ['add'] });
      const { id } = await registry.register({ name: 'demo', url: backend.url });
      await registry.remove('demo');
      t.equal(changes(), 2);
      t.same((await registry.list()).items, []);
      t.equal(await registry.find(id), undefined);
      const again = await registry.register({ name: 'DEMO', url: backend.url });
      t.not(again.id, id);
      t.equal(again.slug, 'demo');
    });

    t.test('a refresh reports what changed, and sets the status both ways', async (t) => {
      const { registry, changes } = await open(t, await optionsOf(t));
      const tools: Readonly<Record<string, unknown>>[] = [
        { name: 'stays', inputSchema: {} },
        { name: 'changes', inputSchema: {} },
        { name: 'goes', inputSchema: {} },
      ];
      const backend = await startMcp(t, { tools });
      await registry.register({ name: 'demo', url: backend.url });
      t.match(await registry.refresh('demo'), { status: 'active', toolsAdded: 0, toolsUpdated: 0, toolsRemoved: 0 });
      t.equal(changes(), 1, 'nothing new is no change');

      tools.splice(1, 2, { name: 'changes', inputSchema: { type: 'object' } }, { name: 'x', inputSchema: {} });
      tools.push({ name: 'y', inputSchema: {} });
      const report = await registry.refresh('demo');
      t.match(report, { status: 'active', toolsAdded: 2, toolsUpdated: 1, toolsRemoved: 1, refreshedAt: ISO_TIME });
      t.ok(Number.isInteger(report.durationMs) && report.durationMs >= 0);
      t.notOk('error' in report);
      t.equal((await registry.find('demo'))?.toolCount, 4);
      t.equal(changes(), 2);

      backend.raw.stopListening();
      backend.raw.closeConnections();
      t.match(await registry.refresh('demo'), {
        status: 'inactive',
        toolsAdded: 0,
        toolsUpdated: 0,
        toolsRemoved: 0,
        error: 'it refuses connections',
      });
      t.match(await registry.find('demo'), { status: 'inactive', reachable: false, toolCount: 4 });
      t.equal((await toolsOf(registry, 'demo')).length, 4, 'the tools last read are kept');
      t.equal(changes(), 3);

      await backend.raw.listenAgain();
      const back = await registry.refresh('demo');
      t.equal(back.status, 'active');
      t.notOk('error' in back);
      t.match(await registry.find('demo'), { status: 'active', lastError: null });
      t.equal(changes(), 4);
    });

    t.test('a refresh reports what changed in prompts, resources and templates', async (t) => {
      const { registry, changes, lines } = await open(t, await optionsOf(t));
      const lists: Record<string, unknown[]> = {
        prompts: [{ name: 'stays' }, { name: 'changes' }, { name: 'goes' }],
        resources: [{ uri: 'x://a', name: 'a' }],
        resourceTemplates: [{ uriTemplate: 'x://{a}', name: 'a' }],
      };
      let areRefused = false;
      const page = (member: string) => () =>
        areRefused ? new Failure({ code: -32603, message: 'not now' }) : { [member]: lists[member] };
      const backend = await startMcp(t, {
        capabilities: { tools: {}, prompts: {}, resources: {} },
        methods: {
          'prompts/list': page('prompts'),
          'resources/list': page('resources'),
          'resources/templates/list': page('resourceTemplates'),
        },
      });
      const record = await registry.register({ name: 'demo', url: backend.url });
      t.match(record, { promptCount: 3, resourceCount: 1, templateCount: 1 });
      t.match(await registry.refresh('demo'), NOTHING_CHANGED);

      lists['prompts'] = [{ name: 'new' }, { name: 'changes', title: 'x' }, { name: 'stays' }];
      lists['resources'] = [...Array.from({ length: 4 }, (_, n) => ({ uri: `x://${n}`, name: 'same' }))];
      lists['resourceTemplates'] = [
        { name: 'a', uriTemplate: 'x://{a}' },
        { uriTemplate: 'x://{b}', name: 'a' },
      ];
      t.match(await registry.refresh('demo'), {
        ...NOTHING_CHANGED,
        ...{ promptsAdded: 1, promptsUpdated: 1, promptsRemoved: 1 },
        ...{ resourcesAdded: 4, resourcesUpdated: 0, resourcesRemoved: 1 },
        ...{ templatesAdded: 1, templatesUpdated: 0, templatesRemoved: 0 },
      });
      t.match(await registry.find('demo'), { promptCount: 3, resourceCount: 4, templateCount: 2 });
      t.match(await registry.refresh('demo'), NOTHING_CHANGED);
      const told = async (name: ListName): Promise<unknown> =>
        JSON.parse((await registry.listJson('demo', name)).toString());
      t.same(await told('prompts'), lists['prompts'], 'as the server told it');
      t.same(await told('templates'), lists['resourceTemplates']);
      t.ok(lines.some((line) => line.includes('server prompts changed') && line.includes('"updated":1')));
      t.equal(changes(), 1, 'nobody goes by what is in these lists');

      areRefused = true;
      t.match(await registry.refresh('demo'), { ...NOTHING_CHANGED, status: 'active' });
      t.match(await registry.find('demo'), { promptCount: 3, resourceCount: 4, templateCount: 2 }, 'they stay');
      t.ok(
        lines.some((line) => line.includes('"lists":["prompts","resources","templates"]')),
        'the log names them',
      );
      areRefused = false;
      t.match(await registry.refresh('demo'), NOTHING_CHANGED);

      lists['prompts'] = [];
      t.match(await registry.refresh('demo'), { promptsRemoved: 3, promptsAdded: 0 });
      t.same(await told('prompts'), []);
      lists['prompts'] = [{ name: 'stays' }];
      t.match(await registry.refresh('demo'), { promptsRemoved: 0, promptsAdded: 1 });

      const other = await startMcp(t, {});
      await registry.replace('demo', { name: 'demo', url: other.url });
      t.match(await registry.find('demo'), { promptCount: 0, resourceCount: 0, templateCount: 0 });
      await registry.replace('demo', { name: 'demo', url: backend.url });
      t.match(await registry.find('demo'), { promptCount: 1, resourceCount: 4 });
      t.match(await registry.refresh('demo'), NOTHING_CHANGED);
      await registry.remove('demo');
      await registry.register({ name: 'demo', url: backend.url });
      t.match(await registry.refresh('demo'), NOTHING_CHANGED);
    });

    t.test('one refresh at a time, and the server may be removed meanwhile', async (t) => {
      const { registry } = await open(t, await optionsOf(t));
      let isHeld = false;
      let release = (): void => {};
      const held = new Promise<void>((resolve) => (release = resolve));
      const backend = await startMcp(t, {
        tools: ['a'],
        onRequest: async () => {
          if (isHeld) await held;
          return false;
        },
      });
      await registry.register({ name: 'demo', url: backend.url });
      isHeld = true;
      const requestCount = backend.raw.requests.length;
      const refresh = registry.refresh('demo');
      await backend.raw.request(requestCount);
      await expectFault(t, registry.refresh('DEMO'), 'refresh-running', /refresh of demo is running/);
      await registry.remove('demo');
      release();
      await expectFault(t, refresh, 'not-found', /demo/);
      t.same((await registry.list()).items, [], 'and does not come back');
    });

    t.test('everything survives a restart', async (t) => {
      const options = await optionsOf(t);
      const backend = await startMcp(t, { tools: ['add'] });
      const first = await open(t, options);
      const record = await first.registry.register({ name: 'demo', url: backend.url, tags: ['x'] });
      await first.registry.stop();
      const second = await open(t, options);
      t.same((await second.registry.list()).items, [record]);
      t.equal((await toolsOf(second.registry, 'demo')).length, 1);
      await expectFault(t, second.registry.register({ name: 'Demo', url: backend.url }), 'name-taken', /Demo/);
    });

    t.test('of simultaneous registrations with one name exactly one wins', async (t) => {
      const options = await optionsOf(t);
      const url = await deadUrl(t);
      const registries = [(await open(t, options)).registry, (await open(t, options)).registry];
      for (let round = 0; round < 5; round++) {
        const results = await Promise.allSettled(
          Array.from({ length: 6 }, async (_, n) =>
            registries[n % 2]!.register({ name: n < 3 ? `name ${round}` : `NAME ${round}`, url }),
          ),
        );
        const winners = results.filter((result) => result.status === 'fulfilled').map(({ value }) => value);
        const losers = results.filter((result) => result.status === 'rejected').map(({ reason }): unknown => reason);
        t.equal(winners.length, 1);
        t.ok(losers.every((reason) => reason instanceof ControlPlaneFault && reason.code === 'name-taken'));
        t.same(await registries[0]!.find(`name ${round}`), winners[0]);
      }
      t.equal((await registries[1]!.list()).items.length, 5, 'and nothing of the others is left');
    });

    t.test('simultaneous registrations whose names have the same slug all get one of their own', async (t) => {
      const options = await optionsOf(t);
      const url = await deadUrl(t);
      const registries = [(await open(t, options)).registry, (await open(t, options)).registry];
      const names = ['a b', 'A-B', 'a_b', 'a.b', 'a  b', 'a--b'];
      const records = await Promise.all(names.map(async (name, n) => registries[n % 2]!.register({ name, url })));
      t.same(new Set(records.map(({ slug }) => slug)), new Set(['a-b', 'a-b-2', 'a-b-3', 'a-b-4', 'a-b-5', 'a-b-6']));
      for (const record of records) t.same(await registries[0]!.find(record.name), record);
    });

    t.test('simultaneous changes are all made, and none overwrites another', async (t) => {
      const options = await optionsOf(t);
      const backend = await startMcp(t, { tools: ['a'] });
      const registries = [(await open(t, options)).registry, (await open(t, options)).registry];
      const { id } = await registries[0]!.register({ name: 'start', url: backend.url });
      const inputs: ServerInput[] = Array.from({ length: 6 }, (_, n) => ({ name: `name ${n}`, url: backend.url }));
      await Promise.all([
        ...inputs.map(async (input, n) => registries[n % 2]!.replace(id, input)),
        registries[0]!.refresh(id),
        registries[1]!.refresh(id),
      ]);
      const [record, ...others] = (await registries[0]!.list()).items;
      t.same(others, []);
      t.match(record, { id, status: 'active', toolCount: 1 });
      const found = await Promise.all(
        ['start', ...inputs.map(({ name }) => name)].map(async (name) => registries[1]!.find(name)),
      );
      t.same(
        found.filter((server) => server !== undefined),
        [record],
        'one name is left, and it is the one in the record',
      );
    });

    t.test('health checks: inactive after three failures, active after one success, tools and all', async (t) => {
      const { registry, changes, lines } = await open(t, await optionsOf(t), { healthIntervalMs: 30 });
      const tools = ['a'];
      const backend = await startMcp(t, { tools });
      const { lastSeen } = await registry.register({ name: 'demo', url: backend.url });
      const isSeen = async (wanted: (record: ServerRecord) => boolean): Promise<boolean> => {
        const record = await registry.find('demo');
        return record !== undefined && wanted(record);
      };
      registry.start();
      await until(() => isSeen((record) => record.lastSeen !== lastSeen), 'a health check');
      t.equal(changes(), 1, 'a check that finds nothing new is no change');

      const probeCount = backend.raw.requests.length;
      backend.raw.handler = (request) => request.empty(503);
      await until(() => isSeen(({ status }) => status === 'inactive'), 'three failures');
      t.ok(backend.raw.requests.length >= probeCount + 3, 'each failed check was one request');
      t.match(await registry.find('demo'), { lastError: 'it responded with HTTP status 503', toolCount: 1 });
      await until(() => changes() === 2, 'word of the change');

      tools.push('b');
      const replacement = await startMcp(t, { tools });
      backend.raw.handler = replacement.raw.handler;
      await until(() => isSeen(({ status }) => status === 'active'), 'a success');
      t.match(await registry.find('demo'), { toolCount: 2, lastError: null, reachable: true });
      t.equal((await toolsOf(registry, 'demo')).length, 2);
      await until(() => changes() === 3, 'word of the next change');
      t.notOk(
        lines.some((line) => line.includes(backend.raw.origin)),
        'no URL is logged',
      );
      const told = lines.map((line) => JSON.parse(line) as { msg: string; level: number; status: string });
      t.same(
        told.filter(({ msg }) => msg === 'server status changed').map(({ level, status }) => [status, level]),
        [
          ['inactive', 40],
          ['active', 30],
        ],
        'that it is lost is a warning',
      );
      const history = await registry.health('demo');
      t.match(
        history.map(({ status, reachable }) => `${status} ${reachable}`),
        ['active true', 'inactive false', 'active false', 'active true'],
        'what was found, the latest first, and once however often it was found',
      );
      t.match(history[1], { at: ISO_TIME, error: 'it responded with HTTP status 503' });
      await registry.remove('demo');
      await registry.register({ name: 'demo', url: replacement.url });
      t.equal((await registry.health('demo')).length, 1, 'another server has a history of its own');
    });

    t.test('a server that hangs delays only itself', async (t) => {
      const { registry } = await open(t, await optionsOf(t), { healthIntervalMs: 50 });
      let isHanging = false;
      const hanging = await startMcp(t, { tools: ['a'], onRequest: () => isHanging });
      const backend = await startMcp(t, { tools: ['a'] });
      await registry.register({ name: 'good', url: backend.url });
      await registry.register({ name: 'hanging', url: hanging.url });
      isHanging = true;
      const before = hanging.raw.requests.length;
      // Both are checked in one round: the good one may be over before the other has been asked.
      const seen = (await registry.find('good'))?.lastSeen;
      const lastOfHanging = await registry.find('hanging');
      registry.start();
      await hanging.raw.request(before);
      await until(async () => (await registry.find('good'))?.lastSeen !== seen, 'the good one to be checked');
      t.match(await registry.find('good'), { status: 'active', reachable: true });
      t.same(await registry.find('hanging'), lastOfHanging, 'nothing is known yet of the other, which still hangs');
    });

    t.test('a server that never answers is registered as inactive, with the reason', async (t) => {
      const { registry } = await open(t, await optionsOf(t), { timeoutMs: 200 });
      const silent = await startRawBackend(() => {});
      t.teardown(() => silent.close());
      t.match(await registry.register({ name: 'silent', url: silent.url }), {
        status: 'inactive',
        lastError: /in time/,
      });
    });

    t.test('a stop aborts what is in flight, and changes no server’s status by that', async (t) => {
      const { registry } = await open(t, await optionsOf(t), { healthIntervalMs: 10 });
      let isHanging = false;
      const backend = await startMcp(t, { tools: ['a'], onRequest: () => isHanging });
      await registry.register({ name: 'demo', url: backend.url });
      isHanging = true;
      registry.start();
      const requestCount = backend.raw.requests.length;
      await backend.raw.request(requestCount);
      const registration = registry.register({ name: 'other', url: backend.url });
      await backend.raw.request(requestCount + 1);
      const rejected = t.rejects(registration, ProberClosedError);
      await registry.stop();
      await rejected;
      t.match((await registry.list()).items, [{ name: 'demo', status: 'active', reachable: true, lastError: null }]);
    });
  });
}
