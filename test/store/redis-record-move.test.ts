// Data that an earlier version left in either store, written as that version wrote it.
import { createHash } from 'node:crypto';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { EmbeddedRecords } from '../../src/store/embedded-records.js';
import { openDatabase, openRoot } from '../../src/store/embedded-databases.js';
import type { RecordStore } from '../../src/store/record-store.js';
import { RedisRecords } from '../../src/store/redis-records.js';
import { startRedis, type RedisServer } from '../support/redis.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { recordsUnder } from '../support/stored-records.js';

const silent = pino({ level: 'silent' });
const EARLIER_KEY = Buffer.from('\xffswitchyard:records', 'latin1');
const SUBJECTS = Array.from({ length: 600 }, (_, n) => `subject ${n}`);
const SERVERS = Array.from({ length: 700 }, (_, n) => `servers/${String(n).padStart(32, '0')}`);

function publication(subject: string): string {
  return JSON.stringify({ subject, virtualHosts: ['x'], isConfigOurs: true });
}

/** Fields and values in the layout of the earlier version. */
function earlierRecords(): Map<string, string> {
  const records = new Map(SERVERS.map((key) => [key, `at ${key}`]));
  records.set('server-names/demo', 'id').set('composition-names/desk', 'id');
  for (const subject of SUBJECTS) {
    records.set(`published/${createHash('sha256').update(subject).digest('hex')}`, publication(subject));
  }
  return records;
}

async function expectMoved(t: Test, records: RecordStore): Promise<void> {
  t.same(
    (await recordsUnder(records, 'servers/')).map(({ key, value }) => [key, value.toString()]),
    SERVERS.map((key) => [key, `at ${key}`]),
  );
  t.same((await records.read({ space: 'records', key: 'server-names/demo' }))?.toString(), 'id');
  const published = await Promise.all(SUBJECTS.map((key) => records.read({ space: 'publications', key })));
  t.same(
    published.map((value) => value?.toString()),
    SUBJECTS.map(publication),
  );
  t.same(await records.listKeys('published/', '', 1), []);
}

async function withEarlierRecords(t: Test): Promise<RedisServer> {
  const redis = await startRedis(t);
  const client = await redis.connect();
  await client.hset(EARLIER_KEY, ...[...earlierRecords()].flat());
  return redis;
}

t.test('Redis: two control planes that start at once move the records together, and lose nothing', async (t) => {
  const redis = await withEarlierRecords(t);
  const both = await Promise.all([1, 2].map(() => RedisRecords.open(redis.storeOptions, silent)));
  t.teardown(() => Promise.all(both.map((records) => records.close())));
  for (const records of both) await expectMoved(t, records);
  t.equal(await (await redis.connect()).exists(EARLIER_KEY), 0);
});

t.test(
  'Redis: a process that dies half-way leaves the rest to the next, and later changes are not undone by it',
  async (t) => {
    const redis = await withEarlierRecords(t);
    const dying = RedisRecords.open(redis.storeOptions, silent);
    const client = await redis.connect();
    while ((await client.dbsize()) < 100) await new Promise(setImmediate);
    await redis.restart();
    await (await dying).close();
    const records = await RedisRecords.open(redis.storeOptions, silent);
    t.teardown(() => records.close());
    await expectMoved(t, records);

    // A process of the earlier version that is still running writes once more.
    const [first = ''] = SERVERS;
    const change = { space: 'records', key: first, expected: Buffer.from(`at ${first}`) } as const;
    t.ok(await records.swap([{ ...change, value: undefined }]));
    await (await redis.connect()).hset(EARLIER_KEY, first, `at ${first}`);
    const lines: string[] = [];
    const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
    const later = await RedisRecords.open(redis.storeOptions, logger);
    t.teardown(() => later.close());
    t.equal(await later.read({ space: 'records', key: first }), undefined);
    t.match(lines, [/control plane of an earlier version/]);
  },
);

t.test('embedded store: the records are moved within the store, by one process or by two', async (t) => {
  const path = createScratchDirectory(t);
  const root = openRoot(path);
  const database = openDatabase(root, 'records');
  await root.transaction(() => {
    for (const [key, value] of earlierRecords()) database.putSync(Buffer.from(key), Buffer.from(value));
  });
  await root.close();
  const both = await Promise.all([EmbeddedRecords.open(path), EmbeddedRecords.open(path)]);
  t.teardown(() => Promise.all(both.map((records) => records.close())));
  for (const records of both) await expectMoved(t, records);
});
