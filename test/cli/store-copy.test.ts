// A copy of an embedded store is complete whatever is written meanwhile, and opens like the store itself.
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { CliFault } from '../../src/cli/command-result.js';
import { copyStore } from '../../src/cli/store-use.js';
import { checkEmbedded } from '../../src/store/check-embedded.js';
import { EmbeddedStore } from '../../src/store/embedded-store.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

const USERS = 400;

t.test('in a copy made during writes every user has one of the written values, as a whole', async (t) => {
  const [from, to] = [join(createScratchDirectory(t), 'store'), join(createScratchDirectory(t), 'copy')];
  const store = new EmbeddedStore(from);
  t.teardown(() => store.close());
  const value = (round: number): Buffer => Buffer.from(String(round).repeat(3_000));
  const names = Array.from({ length: USERS }, (_, number) => `user-${number}`);
  await Promise.all(names.map((name) => store.write(name, value(1))));
  let isOver = false;
  const writing = (async () => {
    for (let round = 2; !isOver; round = (round % 9) + 1)
      await Promise.all(names.map((name) => store.write(name, value(round))));
  })();
  const { text } = await copyStore({ from, directory: to });
  isOver = true;
  await writing;
  t.match(text, /^Copied the embedded store in /);
  t.equal(statSync(to).mode & 0o777, 0o700);
  t.strictSame(
    readdirSync(to).map((file) => statSync(join(to, file)).mode & 0o077),
    readdirSync(to).map(() => 0),
    'nobody else reads it',
  );
  await checkEmbedded(to);
  const copied = new EmbeddedStore(to);
  t.teardown(() => copied.close());
  for (const name of names) {
    const read = copied.read(name);
    const bytes = read.kind === 'found' ? read.value : Buffer.alloc(0);
    if (bytes.length !== 3_000 || !bytes.every((byte) => byte === bytes[0])) t.fail(`${name}: ${bytes.length} bytes`);
  }
  t.equal(copied.read('user-0').kind, 'found');
});

t.test('a store that is missing or cannot be copied is reported', async (t) => {
  const directory = createScratchDirectory(t);
  const refusal = async (from: string, to: string): Promise<CliFault> => {
    const fault: unknown = await copyStore({ from, directory: to }).catch((error: unknown) => error);
    if (!(fault instanceof CliFault)) throw new Error('it was not refused');
    return fault;
  };
  t.match(await refusal(directory, join(directory, 'to')), { exitStatus: 66, message: /there is no embedded store/ });
  const from = join(directory, 'store');
  await new EmbeddedStore(from).close();
  const full = join(directory, 'full');
  mkdirSync(full);
  writeFileSync(join(full, 'a'), '');
  t.match(await refusal(from, full), { exitStatus: 65, message: /is not empty/ });
  t.strictSame(readdirSync(full), ['a'], 'what was there stays');
  t.match(await refusal(from, join(full, 'a', 'b')), { exitStatus: 69, message: /cannot be copied/ });
  writeFileSync(join(from, 'data.mdb'), 'x'.repeat(9_000));
  t.match(await refusal(from, join(directory, 'to')), { exitStatus: 69, message: /is damaged/ });
});
