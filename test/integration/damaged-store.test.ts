// Both planes with an embedded store that was damaged while no process used it, and the dataplane with a store that is truncated
// while it runs.
import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { EmbeddedStore } from '../../src/store/embedded-store.js';
import { backendFor, startDeployment, type ConfiguredCaller } from '../support/deployment.js';
import { runProgram } from '../support/gateway.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { until } from '../support/until.js';

for (const plane of ['dataplane', 'control-plane']) {
  t.test(`the ${plane} does not start with a damaged store, says why, and leaves it as it is`, async (t) => {
    const path = createScratchDirectory(t);
    const file = join(path, 'data.mdb');
    const store = new EmbeddedStore(path);
    await store.write('alice', Buffer.alloc(100_000, 'a'));
    await store.close();
    const whole = readFileSync(file);
    const words = [plane, '--address', '127.0.0.1:0', '--store-path', path];

    truncateSync(file, whole.length / 2);
    const cut = await runProgram(words);
    t.same([cut.code, cut.signal], [73, null]);
    t.match(cut.output, /"level":60.*the embedded store in .* is damaged: data\.mdb has \d+ bytes and should have \d+/);
    t.equal(statSync(file).size, whole.length / 2);

    const zeroed = Buffer.from(whole);
    zeroed.fill(0, 2 * 4_096);
    writeFileSync(file, zeroed);
    const empty = await runProgram(words);
    t.same([empty.code, empty.signal], [73, null], 'it is not taken for an empty one');
    t.match(empty.output, /is damaged/);
    t.ok(readFileSync(file).equals(zeroed));
  });
}

t.test('no worker is started on a store that is truncated while in use, and the log says why', async (t) => {
  const deployment = await startDeployment(t, { workerCount: 1 });
  const backend = await backendFor(t);
  const { storeOptions, gateway } = deployment;
  if (storeOptions.kind !== 'embedded') throw new Error('the default is the embedded store');
  const file = join(storeOptions.path, 'data.mdb');
  // More records than the kernel may have read ahead, so that some are in no cache.
  const callers: ConfiguredCaller[] = [];
  for (let each = 0; each < 40; each++) callers.push(await deployment.caller({ one: { url: backend.url } }));
  const whole = readFileSync(file);
  truncateSync(file, 8_192);
  const countOf = (words: RegExp): number => gateway.logs.filter(({ msg }) => words.test(String(msg))).length;
  let next = 0;
  await until(async () => {
    await callers[next++ % callers.length]?.initialize().catch(() => undefined);
    return countOf(/worker died/) > 0;
  }, 'a request that needs what is gone');
  t.match(await gateway.waitForLog(({ msg }) => msg === 'worker died; replacing it'), { ending: /^SIGBUS/ });
  t.match(await gateway.waitForLog(({ msg }) => msg === 'worker cannot start'), {
    reason: /the embedded store in .* is damaged: /,
  });
  await until(() => countOf(/worker cannot start/) >= 3, 'the store to be looked at again');
  t.equal(countOf(/worker died/), 1, 'no worker is sacrificed to it');
  writeFileSync(file, whole);
  await until(
    async () => (await callers[0]?.initialize().catch(() => undefined))?.status === 200,
    'a worker, now that the store is whole',
  );
});
