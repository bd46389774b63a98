import { fork } from 'node:child_process';
import { once } from 'node:events';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { limits } from '../../src/shared/limits.js';
import { createLogger } from '../../src/shared/logger.js';
import { openRoot } from '../../src/store/embedded-databases.js';
import { EmbeddedRecords } from '../../src/store/embedded-store.js';
import { EmbeddedStore } from '../../src/store/embedded-store.js';
import { openStore } from '../../src/store/open-store.js';
import { StoreCounts, type StoreRead } from '../../src/store/store.js';
import type { WriteOrder } from '../support/embedded-writer.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

const KIB = 1024;
const MIB = 1024 * KIB;

function openAt(t: Test, path: string): EmbeddedStore {
  const store = new EmbeddedStore(path);
  t.teardown(() => store.close());
  return store;
}

function valueOf(read: StoreRead): Buffer | undefined {
  return read.kind === 'found' ? read.value : undefined;
}

/** Starts another process that writes; each write resolves once it is committed. */
async function startWriter(t: Test, path: string): Promise<(subject: string, value: Buffer) => Promise<void>> {
  const writer = fork(fileURLToPath(new URL('../support/embedded-writer.js', import.meta.url)), [path]);
  t.teardown(() => writer.kill('SIGKILL'));
  await once(writer, 'message');
  return async (subject, value) => {
    const written = once(writer, 'message');
    const order: WriteOrder = { subject, value: value.toString('base64') };
    writer.send(order);
    await written;
  };
}

t.test('the folder is created for its owner alone, whatever its name', async (t) => {
  const path = join(createScratchDirectory(t), 'deep', 'store.d');
  openAt(t, path);
  t.ok(statSync(path).isDirectory());
  t.equal(statSync(path).mode & 0o777, 0o700);
});

t.test('a written value is read as the same object while it does not change', async (t) => {
  const store = openAt(t, createScratchDirectory(t));
  t.same(store.read('alice'), { kind: 'missing' });
  await store.write('alice', Buffer.from('one'));
  const first = store.read('alice');
  t.equal(valueOf(first)?.toString(), 'one');
  t.equal(valueOf(store.read('alice')), valueOf(first));

  await store.write('alice', Buffer.from('two'));
  t.equal(valueOf(store.read('alice'))?.toString(), 'two');
  t.equal(valueOf(first)?.toString(), 'one', 'an earlier answer is not overwritten');
  t.same(store.read('bob'), { kind: 'missing' });
});

t.test('what is kept of the values that were read is bounded in bytes', async (t) => {
  const store = openAt(t, createScratchDirectory(t));
  const subjects = ['alice', 'bob', 'carol', 'dave', 'erin'];
  for (const subject of subjects) await store.write(subject, Buffer.alloc(limits.cacheBytesMax / 4));
  const first = valueOf(store.read('alice'));
  for (const subject of subjects.slice(1)) store.read(subject);
  t.not(valueOf(store.read('alice')), first, 'the first was dropped for the others');
});

t.test('a store may be read by as many processes as there can be workers and their predecessors', async (t) => {
  const root = openRoot(join(createScratchDirectory(t), 'new'));
  t.teardown(async () => root.close());
  const { maxReaders } = root.getStats() as { readonly maxReaders: number };
  t.equal(maxReaders, limits.storeReadersMax);
});

t.test('a path that cannot be a folder is refused with the path and what to do', async (t) => {
  const path = join(createScratchDirectory(t), 'file');
  writeFileSync(path, '');
  const message = /^the embedded store in .*\/file cannot be opened: .*EEXIST.*give --store-path a directory/;
  await t.rejects(openStore({ kind: 'embedded', path }, createLogger('silent', {})), { message });
});

t.test('values of every size come back whole', async (t) => {
  const store = openAt(t, createScratchDirectory(t));
  const values = new Map<string, Buffer>();
  for (const size of [0, 1, 4 * KIB, 33 * KIB, 70 * KIB, 4 * MIB, 2 * KIB, 5 * MIB, 12]) {
    values.set(`size ${size}`, Buffer.alloc(size, `${size} `));
  }
  for (const [subject, value] of values) await store.write(subject, value);
  const reads = [...values.keys()].map((subject) => [subject, valueOf(store.read(subject))] as const);
  for (const [subject, value] of reads) t.ok(value?.equals(values.get(subject)!), subject);
});

t.test('the key is the subject exactly', async (t) => {
  const store = openAt(t, createScratchDirectory(t));
  const subjects = [
    'user@example.com',
    'USER@example.com',
    'é',
    'e\u0301',
    '😀',
    'a\0b',
    'a',
    '__proto__',
    '\x01',
    '*',
  ];
  for (const subject of subjects) await store.write(subject, Buffer.from(`of ${subject}`));
  for (const subject of subjects)
    t.equal(valueOf(store.read(subject))?.toString(), `of ${subject}`, JSON.stringify(subject));
});

t.test('a subject without a key is refused both ways', async (t) => {
  const store = openAt(t, createScratchDirectory(t));
  for (const subject of ['\ud800', 'a\udc00b', '', 'x'.repeat(1_979), 'é'.repeat(990)]) {
    t.match(store.read(subject), { kind: 'failed', reason: /cannot be encoded/ });
    await t.rejects(store.write(subject, Buffer.from('x')), /cannot be encoded/);
  }
  await store.write('x'.repeat(1_978), Buffer.from('longest'));
  t.equal(valueOf(store.read('x'.repeat(1_978)))?.toString(), 'longest');
});

t.test('no subject reads a record, however it is spelled', async (t) => {
  const path = createScratchDirectory(t);
  const records = new EmbeddedRecords(path);
  await records.swap([
    { space: 'records', key: 'servers/a', expected: undefined, value: Buffer.from('the record') },
    { space: 'records', key: 'alone', expected: undefined, value: Buffer.from('x') },
  ]);
  await records.close();
  const store = openAt(t, path);
  t.equal(valueOf(store.readRecord('servers/a'))?.toString(), 'the record');
  for (const subject of ['\udfff', '\udfffservers/a', '\udfffservers/b', `\udfff${'x'.repeat(1_979)}`]) {
    t.match(store.read(subject), { kind: 'failed', reason: /cannot be encoded/ });
    await t.rejects(store.write(subject, Buffer.from('x')), /cannot be encoded/);
  }
  for (const subject of ['servers/a', 'alone']) t.same(store.read(subject), { kind: 'missing' });
  for (const key of ['', '\ud800', 'x'.repeat(1_979)]) {
    t.match(store.readRecord(key), { kind: 'failed', reason: /cannot be encoded/ });
  }
});

t.test('the very next read sees what another process committed', async (t) => {
  const path = createScratchDirectory(t);
  const store = openAt(t, path);
  const writeElsewhere = await startWriter(t, path);
  for (let round = 0; round < 200; round++) {
    // Reads just before, so that a snapshot that outlives its read would be caught.
    store.read('shared');
    await writeElsewhere('shared', Buffer.from(`round ${round}`));
    const value = valueOf(store.read('shared'))?.toString();
    if (value !== `round ${round}`) t.fail(`round ${round} read ${value}`);
    store.read('shared');
  }
  t.equal(valueOf(store.read('shared'))?.toString(), 'round 199');
});

t.test('another process may grow the store far beyond what was mapped when it was opened', async (t) => {
  const path = createScratchDirectory(t);
  const store = openAt(t, path);
  const writeElsewhere = await startWriter(t, path);
  for (let n = 0; n < 24; n++) await writeElsewhere(`grown ${n}`, Buffer.alloc(MIB, n));
  for (let n = 0; n < 24; n++) t.ok(valueOf(store.read(`grown ${n}`))?.equals(Buffer.alloc(MIB, n)), `value ${n}`);
});

t.test('one path may be open several times in one process', async (t) => {
  const path = createScratchDirectory(t);
  const store = openAt(t, path);
  await Promise.all(
    Array.from({ length: 10 }, async (_, n) => {
      const other = new EmbeddedStore(path);
      await other.write(`subject ${n}`, Buffer.from(`value ${n}`));
      await other.close();
    }),
  );
  for (let n = 0; n < 10; n++) t.equal(valueOf(store.read(`subject ${n}`))?.toString(), `value ${n}`);
});

t.test('values outlive the process, even one that is killed', async (t) => {
  const path = createScratchDirectory(t);
  const writer = fork(fileURLToPath(new URL('../support/embedded-writer.js', import.meta.url)), [path]);
  await once(writer, 'message');
  const written = once(writer, 'message');
  writer.send({ subject: 'alice', value: Buffer.from('kept').toString('base64') } satisfies WriteOrder);
  await written;
  writer.kill('SIGKILL');
  await once(writer, 'exit');
  t.equal(valueOf(openAt(t, path).read('alice'))?.toString(), 'kept');
});

t.test('a closed store answers that it failed, and reads of user configs are counted', async (t) => {
  const counts = new StoreCounts();
  const store = new EmbeddedStore(createScratchDirectory(t), counts);
  await store.write('alice', Buffer.from('one'));
  store.read('alice');
  store.read('bob');
  store.readRecord('servers/a');
  await store.close();
  t.match(store.read('alice'), { kind: 'failed', reason: /cannot be read/, isForAll: true });
  t.same(counts.reads, { remembered: 0, asked: 2, stale: 0, failed: 1 });
});

t.test('a record is replaced only by who knows its value', async (t) => {
  const store = openAt(t, createScratchDirectory(t));
  const [one, two] = [Buffer.from('one'), Buffer.from('two')];
  t.equal(await store.swapRecord('a', undefined, one), true);
  t.equal(await store.swapRecord('a', undefined, two), false);
  t.equal(await store.swapRecord('a', two, undefined), false);
  t.equal(valueOf(store.readRecord('a'))?.toString(), 'one');
  t.equal(await store.swapRecord('a', one, two), true);
  t.equal(valueOf(store.readRecord('a'))?.toString(), 'two');
  t.same(store.read('a'), { kind: 'missing' }, 'it is no user config');
  t.equal(await store.swapRecord('a', two, undefined), true);
  t.same(store.readRecord('a'), { kind: 'missing' });
});

t.test('a folder that cannot be used is reported when it is opened', async (t) => {
  const file = join(createScratchDirectory(t), 'file');
  writeFileSync(file, '');
  t.throws(() => new EmbeddedStore(join(file, 'store')), { code: 'ENOTDIR' });
});
