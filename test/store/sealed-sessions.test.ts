// Where records of sessions are kept: the behaviour that all places share, and what is specific to each.
import { randomBytes } from 'node:crypto';
import { rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mock } from 'node:test';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { openRoot } from '../../src/store/embedded-databases.js';
import { EmbeddedSessions, SESSION_COMMIT_MS, SESSION_SWEEP_MS } from '../../src/store/embedded-sessions.js';
import { openSealedSessions } from '../../src/store/open-store.js';
import { RedisSessions } from '../../src/store/redis-sessions.js';
import type { SealedRead, SealedSessions } from '../../src/store/sealed-sessions.js';

import { logInto } from '../support/log-lines.js';
import { startRedis } from '../support/redis.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { until } from '../support/until.js';

const LIFE_MS = 60_000;
const SHORT_MS = 50;

function newKey(): Buffer {
  return randomBytes(32);
}

function textOf(read: SealedRead): string {
  return typeof read === 'object' ? `${read.version} ${read.bytes.toString()}` : (read ?? 'nothing');
}

async function readText(sessions: SealedSessions, key: Buffer): Promise<string> {
  return textOf(await sessions.read(key));
}

async function write(sessions: SealedSessions, key: Buffer, version: number, text: string, lifeMs = LIFE_MS) {
  return sessions.write(key, { version, bytes: Buffer.from(text) }, lifeMs);
}

function closing<Sessions extends SealedSessions>(t: Test, sessions: Sessions): Sessions {
  t.teardown(() => sessions.close());
  return sessions;
}

const places = ['embedded', 'embedded without a flush', 'Redis'] as const;

/** One place, as two processes see it. */
async function openBoth(t: Test, place: (typeof places)[number]): Promise<readonly [SealedSessions, SealedSessions]> {
  const path = createScratchDirectory(t);
  if (place !== 'Redis') {
    const sessions = closing(t, new EmbeddedSessions(path, place === 'embedded'));
    // A process opens a folder only once: the view of another process is tested in the tests of the gateway.
    return [sessions, sessions];
  }
  const redis = await startRedis(t);
  const open = async (): Promise<SealedSessions> =>
    closing(t, await RedisSessions.open(redis.storeOptions, logInto([])));
  return [await open(), await open()];
}

t.test('in Redis, a record is under a key of the form that its user has a right to', async (t) => {
  const redis = await startRedis(t);
  const sessions = closing(t, await RedisSessions.open(redis.storeOptions, logInto([])));
  const key = newKey();
  t.equal(await write(sessions, key, 1, 'first'), true);
  const stored = Buffer.concat([Buffer.from('\xffsession/', 'latin1'), key]);
  t.equal(await (await redis.connect()).exists(stored), 1);
  t.equal(sessions.isMultiMachine, true, 'with other machines');
  t.equal((await openBoth(t, 'embedded'))[0].isMultiMachine, false);
});

for (const place of places) {
  t.test(`${place}: a write is held against the version that its writer knew`, async (t) => {
    const [one, other] = await openBoth(t, place);
    const key = newKey();
    t.equal(await readText(one, key), 'nothing');
    t.equal(await write(one, key, 1, 'first'), true);
    t.equal(await readText(other, key), '1 first');
    t.equal(await write(other, key, 2, 'second'), true);
    t.equal(await write(one, key, 2, 'too late'), false);
    t.equal(await write(one, key, 4, 'too far'), false);
    t.equal(await readText(one, key), '2 second');
    t.equal(await write(one, key, 3, 'third'), true);
    t.equal(await write(one, newKey(), 2, 'of nothing'), false);
  });

  t.test(`${place}: a record ends in time unless it is renewed, or when it is removed`, async (t) => {
    const [one] = await openBoth(t, place);
    const [short, renewed, removed] = [newKey(), newKey(), newKey()];
    // On a busy machine a record may have ended before it can be renewed.
    await until(async () => {
      await write(one, renewed, 1, 'renewed', SHORT_MS);
      return one.renew(renewed, LIFE_MS);
    }, 'a renewal in time');
    await write(one, short, 1, 'short', SHORT_MS);
    // By then the renewed one, which was written before, would have ended as well.
    await until(async () => (await readText(one, short)) === 'nothing', 'its end');
    t.equal(await readText(one, renewed), '1 renewed');
    t.equal(await one.renew(short, LIFE_MS), false);
    await write(one, removed, 1, 'removed');
    t.equal(await one.remove(removed, LIFE_MS, Infinity), true);
    t.equal(await readText(one, removed), 'ended');
    t.equal(await one.renew(removed, LIFE_MS), false);
    t.equal(await write(one, removed, 2, 'again'), false, 'it does not come back');
    t.equal(await write(one, removed, 1, 'anew'), false, 'nor as a new one');
    const forgotten = newKey();
    await write(one, forgotten, 1, 'a');
    t.equal(await write(one, forgotten, 1, 'b'), false, 'nothing that lives is written over');
    await one.remove(forgotten, SHORT_MS, Infinity);
    await until(async () => (await readText(one, forgotten)) === 'nothing', 'the end of the mark');
    t.equal(await write(one, forgotten, 1, 'c'), true);
  });
}

t.test('Redis reports changes of others, but not the process’s own', async (t) => {
  const redis = await startRedis(t);
  const open = async (): Promise<RedisSessions> =>
    closing(t, await RedisSessions.open(redis.storeOptions, logInto([])));
  const [one, other] = [await open(), await open()];
  const heard: string[] = [];
  one.onChanged = (key) => heard.push(key?.toString('hex') ?? 'all');
  const [written, read, unknown] = [newKey(), newKey(), newKey()];
  await write(one, written, 1, 'a');
  await write(one, written, 2, 'b');
  await one.renew(written, LIFE_MS);
  await write(other, read, 1, 'c');
  await one.read(read);
  await write(other, unknown, 1, 'd');
  t.same(heard, []);
  const isHeard = async (key: Buffer, what: string): Promise<void> => {
    await until(() => heard.length > 0, what);
    t.same(heard.splice(0), [key.toString('hex')], what);
  };
  await other.read(written);
  await write(other, written, 3, 'e');
  await isHeard(written, 'what was written here and elsewhere after');
  await one.read(written);
  await other.renew(written, LIFE_MS);
  await isHeard(written, 'what was renewed');
  await other.remove(read, LIFE_MS, Infinity);
  await isHeard(read, 'what was removed');
});

t.test('a Redis that comes back may have changed anything, and one that is away fails at once', async (t) => {
  const redis = await startRedis(t);
  const sessions = closing(t, await RedisSessions.open(redis.storeOptions, logInto([])));
  let allCount = 0;
  sessions.onChanged = (key) => (allCount += key === undefined ? 1 : 0);
  const key = newKey();
  await write(sessions, key, 1, 'a');
  await redis.kill();
  await t.rejects(async () => {
    for (;;) await sessions.read(key);
  }, /Redis/);
  await redis.start();
  await until(() => allCount > 0, 'it to be back');
  t.equal(await write(sessions, newKey(), 1, 'b'), true);
});

t.test('exactly one of several machines ends a session, and none while it is renewed', async (t) => {
  const redis = await startRedis(t);
  const open = async (): Promise<RedisSessions> =>
    closing(t, await RedisSessions.open(redis.storeOptions, logInto([])));
  const [one, other] = [await open(), await open()];
  const key = newKey();
  await write(one, key, 1, 'a');
  t.equal(await other.remove(key, LIFE_MS, LIFE_MS / 2), false);
  t.equal(await readText(one, key), '1 a');
  await one.renew(key, LIFE_MS / 3);
  t.same(
    await Promise.all([one, other].map((each) => each.remove(key, LIFE_MS, LIFE_MS / 2))).then((all) => all.sort()),
    [false, true],
  );
  t.equal(await one.remove(newKey(), LIFE_MS, LIFE_MS / 2), true, 'what Redis has lost is used by nobody');
});

t.test('an expired record in an embedded place is never found, and is overwritten', async (t) => {
  const sessions = closing(t, new EmbeddedSessions(createScratchDirectory(t), true));
  const key = newKey();
  await write(sessions, key, 1, 'a', 1);
  await sleep(5);
  t.equal(await write(sessions, key, 1, 'b'), true);
  t.equal(await readText(sessions, key), '1 b');
});

t.test('changes that come together each have an outcome of their own, and are kept by a close', async (t) => {
  for (const isFlushed of [true, false]) {
    const path = createScratchDirectory(t);
    const sessions = new EmbeddedSessions(path, isFlushed);
    const [key, other] = [newKey(), newKey()];
    const outcomes = [write(sessions, key, 1, 'a'), write(sessions, key, 1, 'b'), write(sessions, key, 2, 'c')];
    outcomes.push(sessions.renew(other, LIFE_MS), write(sessions, other, 1, 'd'));
    await sessions.close();
    t.same(await Promise.all(outcomes), [true, false, true, false, true]);
    const after = closing(t, new EmbeddedSessions(path, isFlushed));
    t.equal(await readText(after, key), '2 c');
    t.equal(await readText(after, other), '1 d');
  }
});

t.test('who changes much is written together with others: a hundred times a second at most', async (t) => {
  const path = createScratchDirectory(t);
  const sessions = closing(t, new EmbeddedSessions(path, false));
  const commits = (): number => (openRoot(path, false).getStats() as { lastTxnId: number }).lastTxnId;
  await write(sessions, newKey(), 1, 'a');
  const before = commits();
  const startedMs = performance.now();
  const written: Promise<boolean>[] = [];
  for (let count = 0; count < 200; count += 1) {
    written.push(write(sessions, newKey(), 1, 'a'));
    await turn();
  }
  t.same(new Set(await Promise.all(written)), new Set([true]));
  // A timer may be early by a millisecond.
  const most = (performance.now() - startedMs) / (SESSION_COMMIT_MS / 2) + 2;
  t.ok(commits() - before <= most, `${commits() - before} commits, ${most} at most`);
});

t.test('a change that fails leaves the others of its turn alone', async (t) => {
  for (const isFlushed of [true, false]) {
    const sessions = closing(t, new EmbeddedSessions(createScratchDirectory(t), isFlushed));
    const [first, last] = [newKey(), newKey()];
    const tooLong = Buffer.alloc(5_000, 1);
    const outcomes = [first, tooLong, last].map((key) => write(sessions, key, 1, 'a'));
    const [before, failed, after] = await Promise.allSettled(outcomes);
    t.match([before, failed, after], [{ value: true }, { status: 'rejected' }, { value: true }]);
    t.same([await readText(sessions, first), await readText(sessions, last)], ['1 a', '1 a']);
    t.equal(await write(sessions, first, 2, 'b'), true, 'and the next ones are not held up');
  }
});

t.test('a record that is too short to be one is written over, and harms no other', async (t) => {
  const path = createScratchDirectory(t);
  const sessions = closing(t, new EmbeddedSessions(path, false));
  const records = openRoot(path, false).openDB({
    ...{ name: 'sessions', encoding: 'binary', keyEncoding: 'binary', useVersions: true },
  });
  const [bad, good] = [newKey(), newKey()];
  await records.put(bad, Buffer.from('short'), 1);
  t.equal(await readText(sessions, bad), 'nothing');
  t.equal(await sessions.renew(bad, LIFE_MS), false);
  t.same(await Promise.all([bad, good].map((key) => write(sessions, key, 1, 'a'))), [true, true]);
  t.equal(await readText(sessions, bad), '1 a');
});

t.test('records are readable by their owner alone, and those of another slot are not seen', async (t) => {
  const path = createScratchDirectory(t);
  const place = { sessionDirectory: 'process', store: { kind: 'embedded', path: 'unused' } } as const;
  const open = async (slot: number): Promise<SealedSessions> => {
    const sessions = await openSealedSessions(place, path, slot, logInto([]));
    if (sessions === undefined) throw new Error('it cannot be opened');
    return closing(t, sessions);
  };
  const key = newKey();
  const first = await open(0);
  await write(first, key, 1, 'a');
  await write(first, key, 2, 'b');
  t.equal(await readText(await open(0), key), '2 b', 'the next worker of the slot finds it');
  t.equal(await readText(await open(1), key), 'nothing');
  const folder = join(path, 'sessions', '0');
  t.equal(statSync(folder).mode & 0o777, 0o700);
});

t.test('a folder that was removed is created again', async (t) => {
  const path = join(createScratchDirectory(t), 'sessions');
  mock.timers.enable({ apis: ['setTimeout', 'Date'], now: Date.now() });
  t.teardown(() => mock.timers.reset());
  const sessions = closing(t, new EmbeddedSessions(path, false));
  const [before, after] = [newKey(), newKey()];
  await write(sessions, before, 1, 'a');
  rmSync(path, { recursive: true });
  mock.timers.tick(SESSION_SWEEP_MS);
  t.equal(await readText(sessions, before), 'nothing');
  const renewed = sessions.renew(before, LIFE_MS);
  mock.timers.tick(SESSION_COMMIT_MS);
  t.equal(await renewed, false);
  const written = write(sessions, after, 1, 'b');
  mock.timers.tick(SESSION_COMMIT_MS);
  t.equal(await written, true);
  t.equal(await readText(closing(t, new EmbeddedSessions(path, false)), after), '1 b');
});

t.test('who ends sessions without end does not fill the folder: a sweep goes on to the last mark', async (t) => {
  const path = join(createScratchDirectory(t), 'sessions');
  mock.timers.enable({ apis: ['setTimeout', 'Date'], now: Date.now() });
  t.teardown(() => mock.timers.reset());
  const sessions = closing(t, new EmbeddedSessions(path, false));
  const keys = Array.from({ length: 2_000 }, newKey);
  await Promise.all(keys.map((key) => sessions.remove(key, 1)));
  const records = openRoot(path, false).openDB({ name: 'sessions', encoding: 'binary', keyEncoding: 'binary' });
  const count = (): number => [...records.getKeys()].length;
  t.equal(count(), keys.length);
  // The first sweep begins at a random place, the second with the first record.
  for (let sweep = 0; sweep < 2; sweep++) {
    mock.timers.tick(SESSION_SWEEP_MS);
    for (let step = 0; step < 10; step++) {
      mock.timers.tick(50);
      await turn();
    }
  }
  records.resetReadTxn();
  t.equal(count(), 0);
});

t.test('a damaged folder of sessions is removed before it can kill its reader', async (t) => {
  const path = createScratchDirectory(t);
  const lines: string[] = [];
  const place = { sessionDirectory: 'store', store: { kind: 'embedded', path } } as const;
  const folder = join(path, 'sessions');
  const before = new EmbeddedSessions(folder, true);
  for (let count = 0; count < 50; count++) await write(before, newKey(), 1, 'x'.repeat(1_000));
  await before.close();
  const file = join(folder, 'data.mdb');
  truncateSync(file, statSync(file).size / 2);
  const sessions = await openSealedSessions(place, 'unused', 0, logInto(lines));
  if (sessions === undefined) throw new Error('it cannot be opened');
  closing(t, sessions);
  t.match(lines.join(''), /are damaged/);
  const key = newKey();
  t.equal(await write(sessions, key, 1, 'a'), true);
  t.equal(await readText(sessions, key), '1 a');
});

t.test('a place that cannot be used is done without, and the log says so', async (t) => {
  const lines: string[] = [];
  const file = join(createScratchDirectory(t), 'a-file');
  writeFileSync(file, '');
  const store = { kind: 'embedded', path: 'unused' } as const;
  t.equal(await openSealedSessions({ sessionDirectory: 'process', store }, file, 0, logInto(lines)), undefined);
  t.match(lines.join(''), /cannot be stored/);
  t.equal(await openSealedSessions({ sessionDirectory: 'none', store }, file, 0, logInto(lines)), undefined);
});
