// Compositions on a cluster of Redis, which refuses whatever is not kept in one slot.
import t from 'tap';
import { startRedis } from '../../support/redis.js';
import { setStage } from '../stage.js';

const DEAD_URL = 'http://127.0.0.1:1/mcp';
/** Of different slots, some with braces of their own. */
const SUBJECTS = ['alice', 'bob@example.com', 'a{b}c', '}{', '{}', 'é😀'];

t.test('a registry and compositions for subjects of any slot', async (t) => {
  const redis = await startRedis(t, { isCluster: true });
  const { registry, compositions, records, directory } = await setStage(t, redis.storeOptions);
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
});
