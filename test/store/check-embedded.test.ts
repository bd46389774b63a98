// A store damaged in every way that a disk, an incomplete copy or a careless user can cause, and distinguished from a new store.
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { checkEmbedded } from '../../src/store/check-embedded.js';
import { EmbeddedStore } from '../../src/store/embedded-store.js';
import { Random } from '../support/random.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

const PAGE_BYTES = 4_096;
const ENTRIES = 600;

let template: string;

t.before(async () => {
  template = createScratchDirectory({ teardown: (end) => t.teardown(end) });
  const store = new EmbeddedStore(template);
  const values = Array.from({ length: ENTRIES }, (_, n) => Buffer.alloc(50 + (n % 90) * 60, n));
  await Promise.all(values.map((value, n) => store.write(`subject-${n}@example.com`, value)));
  await store.close();
});

/** A copy of an intact store, and the path of its file. */
function copyStore(t: Test): { path: string; file: string } {
  const path = createScratchDirectory(t);
  const file = join(path, 'data.mdb');
  copyFileSync(join(template, 'data.mdb'), file);
  return { path, file };
}

function overwrite(file: string, offset: number, bytes: Uint8Array): void {
  const descriptor = openSync(file, 'r+');
  writeSync(descriptor, bytes, 0, bytes.length, offset);
  closeSync(descriptor);
}

t.test('no folder, an empty folder and an intact store pass the check', async (t) => {
  await checkEmbedded(join(createScratchDirectory(t), 'not', 'there'));
  await checkEmbedded(createScratchDirectory(t));
  const { path } = copyStore(t);
  await checkEmbedded(path);
  rmSync(join(path, 'data.mdb'));
  await checkEmbedded(path);
});

t.test('a store that others write to meanwhile passes the check', async (t) => {
  const { path } = copyStore(t);
  const store = new EmbeddedStore(path);
  t.teardown(() => store.close());
  let isChecked = false;
  const checking = checkEmbedded(path).then(() => (isChecked = true));
  let writes = 0;
  while (!isChecked) await store.write(`subject-${writes++ % 900}@example.com`, Buffer.alloc(writes % 9_000, writes));
  await checking;
  t.ok(writes > 0);
});

t.test('a file that was cut short', async (t) => {
  const { path, file } = copyStore(t);
  const { size } = statSync(file);
  for (const bytes of [size - 1, size - PAGE_BYTES, Math.floor(size / 2), 2 * PAGE_BYTES]) {
    truncateSync(file, bytes);
    await t.rejects(checkEmbedded(path), {
      message: `the embedded store in ${path} is damaged: data.mdb has ${bytes} bytes and should have ${size}. Restore its files from a copy, or move them away to start with an empty store`,
    });
  }
  for (const bytes of [PAGE_BYTES + 10, PAGE_BYTES, 100, 1]) {
    truncateSync(file, bytes);
    await t.rejects(checkEmbedded(path), { message: /data\.mdb ends within its first pages/ }, `${bytes} bytes`);
  }
  truncateSync(file, 0);
  await t.rejects(checkEmbedded(path), { message: /data\.mdb is empty/ });
});

t.test('an empty file that is still being created is waited for', async (t) => {
  const { path, file } = copyStore(t);
  const whole = readFileSync(file);
  writeFileSync(file, '');
  const checking = checkEmbedded(path);
  writeFileSync(file, whole);
  await checking;
  t.pass();
});

t.test('first pages that are not LMDB’s are damage', async (t) => {
  const random = new Random(1);
  const garbage = (bytes: number): Buffer => Buffer.from(Array.from({ length: bytes }, () => random.below(256)));
  const damages: readonly (readonly [offset: number, bytes: Buffer, words: RegExp])[] = [
    [0, Buffer.alloc(PAGE_BYTES), /are not those of a store/],
    [PAGE_BYTES, Buffer.alloc(PAGE_BYTES), /are not those of a store/],
    [0, garbage(PAGE_BYTES), /are not those of a store/],
    [PAGE_BYTES, garbage(PAGE_BYTES), /are not those of a store/],
    [24, Buffer.from([0]), /are not those of a store/],
    [28, Buffer.from([1]), /has format 1, and this program reads 2/],
    [48, Buffer.from([1, 1]), /an impossible page size/],
    [48, Buffer.from([0, 0, 0, 0]), /an impossible page size/],
    [48, Buffer.from([0, 0, 0, 1]), /an impossible page size/],
    [144, Buffer.from([255, 255, 255, 255]), /bytes and should have/],
  ];
  for (const [offset, bytes, words] of damages) {
    const { path, file } = copyStore(t);
    overwrite(file, offset, bytes);
    await t.rejects(checkEmbedded(path), { message: words }, `${bytes.length} bytes at ${offset}`);
  }
  const { path, file } = copyStore(t);
  writeFileSync(file, Buffer.alloc(statSync(file).size));
  await t.rejects(checkEmbedded(path), { message: /are not those of a store/ }, 'all zeroes');
  writeFileSync(file, 'a text that somebody put there '.repeat(1_000));
  await t.rejects(checkEmbedded(path), { message: /are not those of a store/ }, 'another file');
});

t.test('pages in the middle that are zeroed, or hold foreign data, are damage', async (t) => {
  const { path, file } = copyStore(t);
  const whole = readFileSync(file);
  const zeroed = Buffer.from(whole);
  zeroed.fill(0, 2 * PAGE_BYTES);
  writeFileSync(file, zeroed);
  await t.rejects(checkEmbedded(path), { message: /is damaged: MDB_CORRUPTED: / }, 'everything but the first pages');
  const garbled = Buffer.from(whole);
  const random = new Random(7);
  for (let offset = 2 * PAGE_BYTES; offset < garbled.length; offset++) garbled[offset] = random.below(256);
  writeFileSync(file, garbled);
  await t.rejects(checkEmbedded(path), { message: /is damaged: / }, 'noise');
});

t.test('a store that takes too long to read through is used without the rest being checked', async (t) => {
  const { path, file } = copyStore(t);
  const bytes = readFileSync(file);
  bytes.fill(0, 2 * PAGE_BYTES);
  writeFileSync(file, bytes);
  await t.rejects(checkEmbedded(path), { message: /is damaged: / });
  await t.resolves(checkEmbedded(path, 1), 'no process starts in so short a time');
});

t.test('a path that is no folder, or whose data file is a folder, is refused', async (t) => {
  const path = join(createScratchDirectory(t), 'file');
  writeFileSync(path, '');
  await t.rejects(checkEmbedded(path), { message: /ENOTDIR/ });
  const odd = createScratchDirectory(t);
  mkdirSync(join(odd, 'data.mdb'));
  await t.rejects(checkEmbedded(odd), { message: /EISDIR/ });
});
