// Compositions on a Redis cluster, which refuses commands whose keys are in several slots, or on another of its nodes.
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { RedisRecords } from '../../../src/store/redis-records.js';
import { startRedis, startRedisCluster } from '../../support/redis.js';
import { setStage, type Stage } from '../stage.js';

const DEAD_URL = 'http://127.0.0.1:1/mcp';
/** Subjects of different slots, some with braces in them. */
const SUBJECTS = ['alice', 'bob@example.com', 'a{b}c', '}{', '{}', 'é😀'];

async function useAll(t: Test, { registry, compositions, records, directory }: Stage): Promise<void> {
  await registry.register({ name: 'files', url: DEAD_URL });
  const input = { name: 'Desk', servers: [{ name: 'files', tools: ['read'] }], subjects: SUBJECTS };
  const { id } = await compositions.create(input, 'maker');
  const configOf = async (key: string): Promise<string | undefined> =>
    (await records.read({ space: 'user-configs', key }))?.toString();
  for (const subject of SUBJECTS) t.equal(await configOf(subject), `{"virtual_hosts":{"${id}":{"backends":{}}}}`);
  await registry.replace('files', { name: 'archive', url: DEAD_URL });
  t.match((await compositions.list()).items, [{ servers: [{ name: 'archive' }] }]);
  const [first = '', ...others] = SUBJECTS;
  await compositions.replace(id, { ...input, servers: [], subjects: others }, 'maker');
  t.equal(await configOf(first), undefined);
  await compositions.remove(id);
  await registry.remove('archive');
  for (const subject of SUBJECTS) t.equal(await configOf(subject), undefined);
  await directory.sync();
  t.equal(directory.servers.size + directory.compositions.size, 0);
}

t.test('a registry and compositions work for subjects of any slot', async (t) => {
  const redis = await startRedis(t, { isCluster: true });
  await useAll(t, await setStage(t, redis.storeOptions));
});

t.test('no command needs more than one of three nodes', async (t) => {
  const nodes = await startRedisCluster(t);
  const [{ host, port, storeOptions } = unexpected()] = nodes;
  const logger = pino({ level: 'silent' });
  const records = await RedisRecords.open({ ...storeOptions, location: { nodes: [{ host, port }] } }, logger);
  t.teardown(() => records.close());
  const stage = await setStage(t, storeOptions, { records });
  await useAll(t, stage);
  const subjects = Array.from({ length: 60 }, (_, n) => `subject ${n}`);
  await stage.registry.register({ name: 'files', url: DEAD_URL });
  await stage.compositions.create({ name: 'Desk', servers: [{ name: 'files', tools: ['read'] }], subjects }, 'maker');
  t.equal(await stage.compositions.countUnpublished(), 0);
  for (const node of nodes) {
    const configs = (await (await node.connect()).keys('subject *')).length;
    t.ok(configs > 0 && configs < subjects.length, `${configs} of the user configs are on one of the nodes`);
  }
  await stage.compositions.remove('Desk');
  for (const node of nodes) t.same(await (await node.connect()).keys('subject *'), []);
});

function unexpected(): never {
  throw new Error('a cluster has nodes');
}
