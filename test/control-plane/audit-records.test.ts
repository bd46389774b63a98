// The list of changes on both stores: bounded, newest first, written by several writers, and complete again after an outage of the store.
import t, { type Test } from 'tap';
import {
  AuditRecords,
  type AuditBounds,
  type AuditEntry,
  AUDIT_ENTRY_BYTES_MAX,
} from '../../src/store/audit-records.js';
import { maySee } from '../../src/control-plane/http/view-operations.js';
import { openRecordStore } from '../../src/store/open-store.js';
import { RecordStoreFault, type RecordStore } from '../../src/store/record-store.js';
import { logInto } from '../support/log-lines.js';
import { until } from '../support/until.js';
import { stores } from './stage.js';

const AMPLE: AuditBounds = { entriesKept: 1_000, bytesKept: 1_000_000, waitingMax: 1_000, retryMs: 5 };

function entryOf(name: string, more: Partial<AuditEntry> = {}): AuditEntry {
  return {
    at: '2026-01-01T00:00:00.000Z',
    operation: 'o',
    kind: 'servers',
    subject: 's',
    id: `id-${name}`,
    name,
    ...more,
  };
}

async function namesOf(changes: AuditRecords, record = ''): Promise<string[]> {
  const names: string[] = [];
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const page = await changes.list({ record, limit: 7, cursor }, () => true);
    names.push(...page.items.map(({ name = '' }) => name));
    cursor = page.cursor;
  }
  return names;
}

/** The store, with some of its methods replaced. */
function storeLike(records: RecordStore, others: Partial<RecordStore>): RecordStore {
  return {
    kind: records.kind,
    location: records.location,
    subjects: () => records.subjects(),
    read: (key) => records.read(key),
    readMany: (keys) => records.readMany(keys),
    listKeys: (prefix, after, countMax) => records.listKeys(prefix, after, countMax),
    swap: (changes) => records.swap(changes),
    readChanges: (position) => records.readChanges(position),
    ping: () => records.ping(),
    close: () => records.close(),
    ...others,
  };
}

const named = (count: number, prefix = 'n'): string[] => Array.from({ length: count }, (_, n) => `${prefix}${n}`);

for (const [kind, optionsOf] of Object.entries(stores)) {
  t.test(kind, async (t) => {
    const options = await optionsOf(t);
    const records = await openRecordStore(options, logInto([]));
    t.teardown(() => records.close());
    const listOf = (t: Test, bounds: Partial<AuditBounds> = {}, store: RecordStore = records): AuditRecords => {
      const changes = new AuditRecords(store, logInto([]), { ...AMPLE, ...bounds });
      t.teardown(() => changes.stop());
      return changes;
    };

    await t.test('several writers lose no entry, and all see the newest first', async (t) => {
      t.same((await listOf(t).list({ record: '', limit: 5, cursor: undefined }, () => true)).items, []);
      const writers = [listOf(t), listOf(t), listOf(t)];
      for (const name of named(40)) for (const [n, writer] of writers.entries()) writer.append(entryOf(`${n}${name}`));
      await until(async () => (await namesOf(writers[0]!)).length === 120, 'all are written');
      const names = await namesOf(writers[1]!);
      t.same(names.toSorted(), [0, 1, 2].flatMap((n) => named(40, `${n}n`)).toSorted());
      for (const n of [0, 1, 2]) {
        const own = names.filter((name) => name.startsWith(`${n}`));
        t.same(own, named(40, `${n}n`).reverse(), 'each one’s in their order');
      }
      t.same(await namesOf(writers[2]!, '1n7'), ['1n7']);
      t.same(await namesOf(writers[2]!, 'id-1n7'), ['1n7']);
    });

    await t.test('a page stays in place while entries are added, and shows what its reader may see', async (t) => {
      const changes = listOf(t);
      const { items, cursor } = await changes.list({ record: '', limit: 3, cursor: undefined }, () => true);
      changes.append(entryOf('late'));
      await until(async () => (await namesOf(changes))[0] === 'late', 'it is written');
      const next = await changes.list({ record: '', limit: 3, cursor }, () => true);
      t.same(
        [...items, ...next.items].map(({ name }) => name),
        (await namesOf(changes)).slice(1, 7),
      );
      const mine = await changes.list({ record: '', limit: 200, cursor: undefined }, ({ name }) => name === 'late');
      t.same(
        mine.items.map(({ name }) => name),
        ['late'],
      );
    });

    await t.test('the oldest entries are dropped, by number and by bytes, and leave nothing behind', async (t) => {
      const few = listOf(t, { entriesKept: 10 });
      few.append(entryOf('last'));
      await until(async () => (await namesOf(few)).length === 10, 'the older ones are gone');
      t.equal((await namesOf(few))[0], 'last');
      t.equal((await records.listKeys('audit/', '', 1_000)).length, 11, 'ten and the head');
      const small = listOf(t, { bytesKept: 5_000 });
      for (const name of named(100, 'b')) small.append(entryOf(name));
      await until(async () => (await namesOf(small))[0] === 'b99', 'all are written');
      const kept = await records.readMany((await records.listKeys('audit/', '', 1_000)).slice(0, -1));
      const bytes = kept.reduce((sum, value) => sum + (value?.length ?? 0), 0);
      t.ok(bytes <= 5_000 && bytes > 4_500, `${bytes} bytes`);
    });

    await t.test('an entry that was written although the response got lost is listed once', async (t) => {
      let isLost = false;
      const swap: RecordStore['swap'] = async (asked) => {
        const isDone = await records.swap(asked);
        if (!isLost && isDone) {
          isLost = true;
          throw new RecordStoreFault('the answer was lost');
        }
        return isDone;
      };
      const changes = listOf(t, {}, storeLike(records, { swap }));
      changes.append(entryOf('once'));
      changes.append(entryOf('after'));
      await until(async () => (await namesOf(changes))[0] === 'after', 'both are written');
      t.ok(isLost);
      t.same((await namesOf(changes)).slice(0, 2), ['after', 'once']);
      t.equal((await namesOf(changes, 'once')).length, 1);
    });
  });
}

t.test('during an outage of the store a bounded number of entries waits, and losses are reported', async (t) => {
  const lines: string[] = [];
  const records = await openRecordStore(await stores['embedded']!(t), logInto([]));
  t.teardown(() => records.close());
  let isAway = true;
  const read: RecordStore['read'] = (key) =>
    isAway ? Promise.reject(new RecordStoreFault('gone')) : records.read(key);
  const changes = new AuditRecords(storeLike(records, { read }), logInto(lines), { ...AMPLE, waitingMax: 5 });
  for (const name of named(20)) changes.append(entryOf(name));
  await new Promise(setImmediate);
  isAway = false;
  await until(() => lines.length > 0, 'it is said');
  const names = await namesOf(changes);
  t.same(names.slice(0, 5), ['n19', 'n18', 'n17', 'n16', 'n15'], 'the newest are kept');
  t.match(JSON.parse(lines[0]!), { level: 40, lost: 20 - names.length });
  isAway = true;
  changes.append(entryOf('never'));
  await changes.stop();
  t.match(JSON.parse(lines[1]!), { lost: 1 }, 'who stops does not wait for it');
});

t.test('the length of an entry is bounded', async (t) => {
  const records = await openRecordStore(await stores['embedded']!(t), logInto([]));
  t.teardown(() => records.close());
  const changes = new AuditRecords(records, logInto([]));
  const after = { description: 'x'.repeat(AUDIT_ENTRY_BYTES_MAX), tags: [] };
  changes.append(entryOf('large', { after }));
  await changes.stop();
  const { items } = await changes.list({ record: '', limit: 1, cursor: undefined }, () => true);
  t.match(items, [{ name: 'large', after: { leftOut: 'description, tags' } }]);
});

t.test('admins see all changes, editors their own and those of records that they may change', async (t) => {
  const editor = { subject: 'ed', role: 'editor', teams: ['pay'] } as const;
  for (const [more, isSeen] of [
    [{ subject: 'ed', owner: 'other' }, true],
    [{ owner: 'ed' }, true],
    [{ owner: 'other', team: 'pay' }, true],
    [{ owner: 'other', team: 'ops' }, false],
    [{ owner: 'other' }, false],
    [{}, true],
    [{ kind: 'connections' }, false],
    [{ kind: 'connections', subject: 'ed' }, true],
    [{ kind: 'user-configs', subject: 'ed' }, false],
    [{ kind: 'secrets' }, false],
  ] as const) {
    const entry = entryOf('x', more);
    t.equal(maySee(editor, entry), isSeen, JSON.stringify(more));
    t.ok(maySee({ ...editor, role: 'admin' }, entry));
    t.ok(maySee(undefined, entry), 'without roles everybody sees all');
  }
});
