// Which servers are checked in which order, what one failure decides, and who is told. The findings of probes are made up.
import t, { type Test } from 'tap';
import { Directory } from '../../../src/control-plane/registry/directory.js';
import { PROBES_AT_ONCE_MAX } from '../../../src/control-plane/prober/health-checks.js';
import type { ProbeResult } from '../../../src/control-plane/prober/prober.js';
import { NO_LISTS, serverListOf } from '../../../src/control-plane/records/server-record.js';
import { Registry } from '../../../src/control-plane/registry/registry.js';
import { openRecordStore } from '../../../src/store/open-store.js';
import { createScratchDirectory } from '../../support/scratch-directory.js';
import { logInto } from '../../support/log-lines.js';
import { until } from '../../support/until.js';

function reachedWith(tools: readonly string[], lists: object = {}): ProbeResult {
  const items = new Map(tools.map((name) => [name, { name }] as const));
  const empty = serverListOf(new Map());
  const found = {
    ...NO_LISTS,
    prompts: empty,
    resources: empty,
    templates: empty,
    tools: serverListOf(items),
    ...lists,
  };
  return {
    kind: 'reached',
    findings: { era: 'legacy', eras: ['legacy'], serverInfo: {}, capabilities: {}, lists: found },
  };
}

const FAILED: ProbeResult = { kind: 'failed', reason: 'it refuses connections' };

interface Scene {
  readonly registry: Registry;
  /** Names of the servers in the order in which they were probed. */
  readonly probed: string[];
  readonly findings: Map<string, ProbeResult>;
  readonly lines: readonly string[];
  /** How often listeners were called. */
  changes: number;
}

async function scene(t: Test, { serversMax = 100, healthIntervalMs = 3_600_000 } = {}): Promise<Scene> {
  const [lines, probed]: [string[], string[]] = [[], []];
  const records = await openRecordStore({ kind: 'embedded', path: createScratchDirectory(t) }, logInto([]));
  const findings = new Map<string, ProbeResult>();
  const probe = async ({ url }: { readonly url: string }): Promise<ProbeResult> => {
    const name = new URL(url).pathname.slice(1);
    probed.push(name);
    return findings.get(name) ?? reachedWith(['a']);
  };
  const registry = new Registry({
    ...{ serversMax, healthIntervalMs, records, directory: new Directory(records), logger: logInto(lines) },
    prober: { probe, close: () => {} },
  });
  const self: Scene = { registry, probed, findings, lines, changes: 0 };
  registry.addChangeListener(async () => void (self.changes += 1));
  t.teardown(async () => {
    await registry.stop();
    await records.close();
  });
  return self;
}

const inputOf = (name: string): { name: string; url: string } => ({ name, url: `http://127.0.0.1:1/${name}` });

t.test('active servers are checked first, and one failure of a check decides nothing', async (t) => {
  const { registry, probed, findings } = await scene(t, { healthIntervalMs: 5 });
  const names = Array.from({ length: PROBES_AT_ONCE_MAX + 4 }, (_, n) => `s${String(n).padStart(2, '0')}`);
  for (const name of names.slice(0, 10)) findings.set(name, FAILED);
  for (const name of names) await registry.register(inputOf(name));
  const inactive = (await registry.list({ status: 'inactive' })).items.map(({ name }) => name);
  t.same(inactive, names.slice(0, 10), 'a registration decides at once');
  probed.length = 0;
  findings.set('s15', FAILED);
  registry.start();
  await until(() => probed.length >= names.length, 'the first round');
  t.same(probed.slice(0, 10).sort(), names.slice(10), 'active ones first');
  t.same(probed.slice(10, 20).sort(), names.slice(0, 10));
  await until(async () => (await registry.find('s15'))?.status === 'inactive', 'three failures');
  t.ok(probed.filter((name) => name === 's15').length >= 3);
  findings.delete('s00');
  await until(async () => (await registry.find('s00'))?.status === 'active', 'one success');
});

t.test('no more servers are registered than fit', async (t) => {
  const { registry, probed } = await scene(t, { serversMax: 1 });
  await registry.register(inputOf('one'));
  await t.rejects(registry.register(inputOf('two')), {
    code: 'registry-full',
    message: 'No more than 1 servers can be registered',
  });
  t.same(probed, ['one'], 'and none is probed');
  t.match(await registry.preview(inputOf('two')), { server: { name: 'two' } });
  await registry.remove('one');
  t.match(await registry.register(inputOf('two')), { name: 'two', status: 'active' });
});

t.test('servers are listed by status and by any of some tags', async (t) => {
  const { registry, findings } = await scene(t);
  findings.set('down', FAILED);
  await registry.register({ ...inputOf('down'), tags: ['x'] });
  await registry.register({ ...inputOf('up'), tags: ['y', 'z'] });
  const names = async (query: object): Promise<string[]> => (await registry.list(query)).items.map(({ name }) => name);
  t.same(await names({}), ['down', 'up']);
  t.same(await names({ status: 'active' }), ['up']);
  t.same(await names({ status: 'inactive' }), ['down']);
  t.same(await names({ tags: ['x', 'z'] }), ['down', 'up']);
  t.same(await names({ tags: ['z'] }), ['up']);
  t.same(await names({ tags: ['x'], status: 'active' }), []);
  t.match(await registry.count(), { active: 1, inactive: 1 });
});

t.test('who depends on servers is told of what matters, and the log of each change', async (t) => {
  const self = await scene(t);
  const { registry, findings, lines } = self;
  await registry.register(inputOf('one'));
  t.equal(self.changes, 1);
  t.match(JSON.parse(lines.at(-1) ?? ''), { level: 30, server: 'one', status: 'active', msg: 'server registered' });
  await registry.refresh('one');
  t.equal(self.changes, 1, 'nothing new');
  findings.set('one', reachedWith(['a'], { prompts: serverListOf(new Map([['p', { name: 'p' }]])) }));
  t.match(await registry.refresh('one'), { promptsAdded: 1, toolsAdded: 0 });
  t.equal(self.changes, 1, 'prompts matter to nobody');
  t.match(JSON.parse(lines.at(-1) ?? ''), { server: 'one', added: 1, msg: 'server prompts changed' });
  findings.set('one', reachedWith(['a', 'b'], { prompts: undefined }));
  t.match(await registry.refresh('one'), { toolsAdded: 1 });
  t.equal(self.changes, 2);
  t.ok(lines.some((line) => /"lists":\["prompts"\].*the previous ones are kept/.test(line)));
  findings.set('one', FAILED);
  await registry.refresh('one');
  t.equal(self.changes, 3);
  t.match(JSON.parse(lines.at(-1) ?? ''), {
    level: 40,
    status: 'inactive',
    error: 'it refuses connections',
    msg: 'server status changed',
  });
  await registry.remove('one');
  t.equal(self.changes, 4);
  t.match(JSON.parse(lines.at(-1) ?? ''), { server: 'one', msg: 'server removed' });
});

t.test('what is kept of a server is what was last read, and goes with it', async (t) => {
  const { registry, findings } = await scene(t);
  findings.set('one', reachedWith(['a', 'b']));
  const { id } = await registry.register(inputOf('one'));
  t.same(JSON.parse(String(await registry.listJson('one', 'tools'))), [{ name: 'a' }, { name: 'b' }]);
  t.same(String(await registry.listJson('one', 'prompts')), '[]');
  t.same(await registry.toolNames(id), ['a', 'b']);
  findings.set('one', reachedWith([]));
  t.match(await registry.refresh('one'), { toolsRemoved: 2 });
  t.same(String(await registry.listJson('one', 'tools')), '[]');
  findings.set('one', FAILED);
  await registry.refresh('one');
  t.match(await registry.health('one'), [{ reachable: false, error: 'it refuses connections' }, { reachable: true }]);
  await registry.remove('one');
  t.same(await registry.toolNames(id), []);
  await t.rejects(registry.health('one'), { code: 'not-found' });
  await t.rejects(registry.listJson('one', 'tools'), { code: 'not-found' });
  await t.rejects(registry.refresh('one'), { code: 'not-found' });
});
