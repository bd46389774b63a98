// Both planes with an embedded store that was damaged while nobody used it.
import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { EmbeddedStore } from '../../src/store/embedded-store.js';
import { runProgram } from '../support/gateway.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

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
