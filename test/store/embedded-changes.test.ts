// The embedded store's log of changes, and commits of other processes.
import { execFileSync } from 'node:child_process';
import t, { type Test } from 'tap';
import { openDatabase, openRoot } from '../../src/store/embedded-databases.js';
import { EmbeddedRecords } from '../../src/store/embedded-store.js';
import type { RecordChange } from '../../src/store/record-store.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

const RECORDS_MODULE = new URL('../../src/store/embedded-store.js', import.meta.url).href;

function createRecords(t: Test): { path: string; records: EmbeddedRecords } {
  const path = createScratchDirectory(t);
  const records = new EmbeddedRecords(path);
  t.teardown(() => records.close());
  return { path, records };
}

function made(key: string): RecordChange {
  return { space: 'records', key, expected: undefined, value: Buffer.from('value'), isLogged: true };
}

/** Creates a record in another process, and returns once it exists: synchronously, so nothing else happens here meanwhile. */
function makeElsewhere(path: string, key: string): void {
  const program = `
    const { EmbeddedRecords } = await import(${JSON.stringify(RECORDS_MODULE)});
    const records = new EmbeddedRecords(${JSON.stringify(path)});
    await records.swap([{ space: 'records', key: '${key}', expected: undefined, value: Buffer.from('x'), isLogged: true }]);
    await records.close();`;
  execFileSync(process.execPath, ['--input-type=module', '--eval', program]);
}

t.test('a commit of another process is seen in the same turn of the event loop', async (t) => {
  const { path, records } = createRecords(t);
  await records.swap([made('a/0')]);
  const { position } = await records.readChanges('');
  const key = { space: 'records', key: 'a/1' } as const;
  const reads = [records.read(key)];
  makeElsewhere(path, 'a/1');
  reads.push(records.read(key));
  const [before, after] = await Promise.all(reads);
  t.equal(before, undefined);
  t.equal(after?.toString(), 'x');

  const first = records.readChanges(position);
  makeElsewhere(path, 'a/2');
  const second = records.readChanges(position);
  t.same((await first).keys, ['a/1']);
  t.same((await second).keys, ['a/1', 'a/2']);
});

t.test('a swap that fails halfway changes nothing', async (t) => {
  const { path, records } = createRecords(t);
  await records.swap([made('a/0')]);
  // A log of changes with a key that is no position fails once the record has been put.
  const root = openRoot(path);
  await openDatabase(root, 'changes').put(Buffer.from([0xff]), Buffer.alloc(1));
  const silent = { ...made('a/1'), isLogged: false };
  const outcomes = await Promise.allSettled([records.swap([silent, made('a/2')]), records.swap([made('a/3')])]);
  t.match(outcomes, [{ reason: { name: 'RecordStoreFault' } }, { reason: { name: 'RecordStoreFault' } }]);
  t.same(await records.readMany(['a/0', 'a/1', 'a/2', 'a/3']), [Buffer.from('value'), undefined, undefined, undefined]);
});

t.test('each change is reported once, from the position on', async (t) => {
  const { records } = createRecords(t);
  const { position: start } = await records.readChanges('');
  await records.swap([made('a/1'), made('a/2')]);
  const first = await records.readChanges(start);
  t.same(first.keys, ['a/1', 'a/2']);
  await records.swap([made('a/3')]);
  t.same((await records.readChanges(first.position)).keys, ['a/3']);
});

t.test('a position that was never reached is unknown', async (t) => {
  const { records } = createRecords(t);
  await records.swap([made('a/1')]);
  for (const position of ['', '-1', '2', '1000', 'noise']) {
    t.same(await records.readChanges(position), { position: '1', keys: 'unknown' }, position);
  }
});
