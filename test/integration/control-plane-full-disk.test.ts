// A control plane with a full disk refuses writes, still serves reads, stays alive, and accepts writes again as soon as there is
// room. test/store/disk-full.test.ts tests the store alone.
import t from 'tap';
import { startControlPlane } from '../support/control-plane.js';
import { backendFor } from '../support/deployment.js';
import { until } from '../support/until.js';

const FILE_BLOCKS_MAX = 3_000;
const SERVERS_MAX = 200;

t.test('the disk of a control plane is full', async (t) => {
  const description = 'd'.repeat(1_000);
  const tools = Array.from({ length: 50 }, (_, n) => ({ name: `t${n}`, description, inputSchema: { type: 'object' } }));
  const backend = await backendFor(t, { tools });
  const controlPlane = await startControlPlane(t, { fileBlocksMax: FILE_BLOCKS_MAX });
  const operator = await controlPlane.caller(t);
  const names: string[] = [];
  let refused = 201;
  for (let n = 0; n < SERVERS_MAX && refused === 201; n += 1) {
    const name = `server-${n}`;
    refused = (await operator.post('/servers', { name, url: backend.url })).status;
    if (refused === 201) names.push(name);
  }
  t.equal(refused, 503, `after ${names.length} servers`);
  t.ok(names.length > 3, 'there was room for some');

  const listed = (await operator.get('/servers?limit=100')).json() as { name: string }[];
  t.equal(listed.length, names.length, 'what was written is told');
  t.equal((await operator.get(`/servers/${names[0]}/tools`)).status, 200);

  let removed = 0;
  for (const name of names) removed += (await operator.delete(`/servers/${name}`)).status < 300 ? 1 : 0;
  t.ok(removed > 0, 'what is removed makes room');
  await until(
    async () => (await operator.post('/servers', { name: 'again', url: backend.url })).status === 201,
    'servers to be taken again',
  );
  t.equal((await operator.get('/health')).status, 200);
  t.same(await controlPlane.program.stop(), { code: 0, signal: null });
});
