// Look-ups of sessions that this process does not know: bounded, in turns by subject, and cheap for ids that cannot exist.
import t from 'tap';
import {
  SessionDirectory,
  type LookUp,
  SESSION_REMOVALS_KEPT,
  PEER_MESSAGES_UNDER_WAY_PER_SUBJECT_MAX,
  SESSION_LOOK_UPS_MAX,
  SESSION_MARK_MS,
} from '../../../src/session/directory/session-directory.js';
import { limits, perSubject } from '../../../src/shared/limits.js';
import type { SealedRead, SessionPeers } from '../../../src/store/sealed-sessions.js';
import { logInto } from '../../support/log-lines.js';
import { MemorySessions } from '../../support/memory-sessions.js';
import { until } from '../../support/until.js';

/** Answers a read when the test says so. */
class SlowSessions extends MemorySessions {
  readonly pending: ((read: SealedRead) => void)[] = [];

  override read(): Promise<SealedRead> {
    this.readsCount += 1;
    return new Promise((resolve) => this.pending.push(resolve));
  }
}

function directoryOf(sessions: MemorySessions, lines: string[] = []): SessionDirectory {
  return new SessionDirectory(sessions, {
    idleTimeoutMs: 60_000,
    outlivesGateway: false,
    isPossibleId: (id) => id !== 'impossible',
    logger: logInto(lines),
  });
}

function ownedBy(subject: string): { readonly subject: string; readonly virtualHostId: string } {
  return { subject, virtualHostId: 'vh' };
}

const RECORD = {
  protocolVersion: '2025-11-25',
  clientInfo: Buffer.from('{}'),
  capabilities: Buffer.from('{}'),
  logLevel: undefined,
  upstreams: [],
  subscriptions: {},
  allowLists: {},
};

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

t.test('a subject that invents session ids fills its own queue of look-ups, and no other', async (t) => {
  const sessions = new SlowSessions();
  const directory = directoryOf(sessions);
  const outcomes: LookUp[] = [];
  const waitingMax = perSubject(limits.waitingMax);
  const flood = SESSION_LOOK_UPS_MAX + waitingMax + 5;
  for (let id = 0; id < flood; id++) {
    void Promise.resolve(directory.find({ id: `id-${id}`, ...ownedBy('mallory') })).then((outcome) =>
      outcomes.push(outcome),
    );
  }
  await turn();
  t.equal(sessions.readsCount, SESSION_LOOK_UPS_MAX, 'so many are under way');
  t.same(outcomes, Array(5).fill('full'), 'so many may wait');
  let found: LookUp | undefined;
  void Promise.resolve(directory.find({ id: 'hers', ...ownedBy('alice') })).then((outcome) => (found = outcome));
  const answer = async (): Promise<void> => {
    sessions.pending.shift()?.(undefined);
    await turn();
  };
  for (let count = 0; count < 2; count++) await answer();
  t.equal(sessions.readsCount, SESSION_LOOK_UPS_MAX + 2, 'the next of his, and hers');
  sessions.pending.pop()?.(undefined);
  await turn();
  t.equal(found, 'unknown');
  while (sessions.pending.length > 0) await answer();
  t.equal(sessions.readsCount, SESSION_LOOK_UPS_MAX + waitingMax + 1, 'all come to an end');
});

t.test('look-ups that wait for a session that ends meanwhile leave none behind them waiting', async (t) => {
  const sessions = new SlowSessions();
  const directory = directoryOf(sessions);
  const found: LookUp[] = [];
  const find = (id: string): void =>
    void Promise.resolve(directory.find({ id, ...ownedBy('alice') })).then((outcome) => found.push(outcome));
  for (let id = 0; id < SESSION_LOOK_UPS_MAX; id++) find(`id-${id}`);
  for (let count = 0; count < SESSION_LOOK_UPS_MAX; count++) find('ended');
  find('last');
  const forever = new Promise<never>(() => undefined);
  void directory.remove({ id: 'ended', ...ownedBy('alice') }, forever);
  while (sessions.pending.length > 0) {
    sessions.pending.shift()?.(undefined);
    await turn();
  }
  t.equal(found.filter((outcome) => outcome === 'ended').length, SESSION_LOOK_UPS_MAX);
  t.equal(found.filter((outcome) => outcome === 'unknown').length, SESSION_LOOK_UPS_MAX + 1);
});

t.test(
  'the mark of an ended session stays for a minute, or where others held it as long as its record would have',
  async (t) => {
    for (const [idleTimeoutMs, hasHadPeers, markMs] of [
      [60_000, false, SESSION_MARK_MS],
      [60_000, true, 90_000],
      [10_000, false, 15_000],
    ] as const) {
      const marks: (number | undefined)[] = [];
      const sessions = new (class extends MemorySessions {
        override async remove(key: Buffer, keptMs?: number): Promise<boolean> {
          marks.push(keptMs);
          return super.remove(key);
        }
      })();
      const options = { idleTimeoutMs, outlivesGateway: false, isPossibleId: () => true, logger: logInto([]) };
      const directory = new SessionDirectory(sessions, options);
      await directory.write({ id: 'one', ...ownedBy('alice') }, RECORD, 0);
      await directory.remove({ id: 'one', ...ownedBy('alice') }, { version: 1, hasHadPeers, listeners: [] });
      t.same(marks, [markMs]);
      t.equal(sessions.records.size, 0);
    }
  },
);

t.test('an impossible session id is not looked up', async (t) => {
  const sessions = new MemorySessions();
  t.equal(directoryOf(sessions).find({ id: 'impossible', ...ownedBy('alice') }), 'unknown');
  t.equal(sessions.readsCount, 0);
});

t.test('failures are counted, and logged once in a while', async (t) => {
  const sessions = new MemorySessions();
  sessions.mood = 'broken';
  const lines: string[] = [];
  const directory = directoryOf(sessions, lines);
  for (let count = 0; count < 10; count++) t.equal(directory.find({ id: 'an-id', ...ownedBy('alice') }), 'failed');
  t.equal(await directory.renew('an-id'), true, 'nobody can say that it is gone');
  t.equal(directory.failedCount, 11);
  t.equal(lines.length, 1);
});

t.test('a record that is too long is not written', async (t) => {
  const sessions = new MemorySessions();
  const lines: string[] = [];
  const upstreams = [{ backendName: 'x'.repeat(limits.sessionRecordBytesMax), origin: '', path: '', sessionId: '' }];
  const record = {
    ...RECORD,
    upstreams: upstreams.map((upstream) => ({ ...upstream, protocolVersion: '', capabilities: 0 })),
  };
  t.equal(await directoryOf(sessions, lines).write({ id: 'an-id', ...ownedBy('alice') }, record, 0), 'failed');
  t.equal(sessions.writesCount, 0);
  t.match(lines.join(''), /too long/);
});

t.test(
  'a subject with endless writes takes only its share of the writes to a slow store, and others can still write',
  async (t) => {
    const sessions = new MemorySessions();
    sessions.mood = 'silent';
    const directory = directoryOf(sessions);
    const sessionWritesPerSubjectMax = perSubject(limits.waitingMax);
    const sessionWritesMax = limits.waitingMax;
    const write = (subject: string, id: string): Promise<string> =>
      directory.write({ id, ...ownedBy(subject) }, RECORD, 0);
    for (let each = 0; each < sessionWritesPerSubjectMax; each += 1) void write('mallory', `m-${each}`);
    t.equal(await write('mallory', 'one-more'), 'failed');
    t.equal(sessions.writesCount, sessionWritesPerSubjectMax);
    void write('alice', 'hers');
    t.equal(sessions.writesCount, sessionWritesPerSubjectMax + 1);
    for (let each = sessions.writesCount; each < sessionWritesMax; each += 1) void write(`s-${each}`, `id-${each}`);
    t.ok(sessions.writesCount > sessionWritesMax / 2 && sessions.writesCount <= sessionWritesMax);
    t.equal(await write('bob', 'his'), 'failed', 'there is an end to what all of them take');
  },
);

t.test('a write that succeeded or failed makes room for the next', async (t) => {
  const sessions = new MemorySessions();
  const directory = directoryOf(sessions);
  for (const [mood, outcome] of [
    ['broken', 'failed'],
    ['prompt', 'written'],
  ] as const) {
    sessions.mood = mood;
    const writes = Array.from({ length: perSubject(limits.waitingMax) }, (_, n) =>
      directory.write({ id: `${mood}-${n}`, ...ownedBy('alice') }, RECORD, 0),
    );
    t.same(new Set(await Promise.all(writes)), new Set([outcome]));
    t.equal(sessions.writesCount, perSubject(limits.waitingMax));
    sessions.writesCount = 0;
  }
});

t.test(
  'a session that ended during an outage of the store cannot be found, and is removed when the store is back',
  async (t) => {
    const sessions = new MemorySessions();
    sessions.isMultiMachine = true;
    const directory = directoryOf(sessions);
    const owner = ownedBy('alice');
    const known = { version: 1, hasHadPeers: false, listeners: [] };
    for (const id of ['one', 'two']) t.equal(await directory.write({ id, ...owner }, RECORD, 0), 'written');
    sessions.mood = 'broken';
    for (const id of ['one', 'two']) await directory.remove({ id, ...owner }, known);
    t.equal(directory.find({ id: 'one', ...owner }), 'ended', 'also while nothing can be read');
    sessions.mood = 'prompt';
    t.equal(directory.find({ id: 'one', ...owner }), 'ended');
    sessions.onChanged?.(undefined);
    await until(() => sessions.records.size === 0, 'both to be removed');
    await turn();
    t.equal(directory.find({ id: 'one', ...owner }), 'unknown');
  },
);

t.test('the next successful removal also removes the sessions that failed before it', async () => {
  const sessions = new MemorySessions();
  const directory = directoryOf(sessions);
  const owner = ownedBy('alice');
  const known = { version: 1, hasHadPeers: false, listeners: [] };
  for (const id of ['one', 'two']) await directory.write({ id, ...owner }, RECORD, 0);
  sessions.mood = 'broken';
  await directory.remove({ id: 'one', ...owner }, known);
  sessions.mood = 'prompt';
  await directory.remove({ id: 'two', ...owner }, known);
  await until(() => sessions.records.size === 0, 'both to be removed');
});

t.test('the number of remembered failed removals is bounded, and the oldest is forgotten', async (t) => {
  const sessions = new MemorySessions();
  const directory = directoryOf(sessions);
  const owner = ownedBy('alice');
  const known = { version: 1, hasHadPeers: false, listeners: [] };
  await directory.write({ id: 'first', ...owner }, RECORD, 0);
  sessions.mood = 'broken';
  await directory.remove({ id: 'first', ...owner }, known);
  for (let each = 0; each < SESSION_REMOVALS_KEPT; each++)
    await directory.remove({ id: `id-${each}`, ...owner }, known);
  sessions.mood = 'prompt';
  t.type(directory.find({ id: 'first', ...owner }), 'object');
  t.equal(directory.find({ id: 'id-0', ...owner }), 'ended');
});

t.test('a session that ends while its record is being read is given to nobody', async (t) => {
  const owner = ownedBy('alice');
  const written = new MemorySessions();
  await directoryOf(written).write({ id: 'one', ...owner }, RECORD, 0);
  const [name = '', sealed] = [...written.records][0] ?? [];

  const here = new SlowSessions();
  const directory = directoryOf(here);
  const found = directory.find({ id: 'one', ...owner });
  void directory.remove({ id: 'one', ...owner }, new Promise(() => {}));
  here.pending.shift()?.(sealed);
  t.equal(await found, 'ended', 'in this process');

  const there = new SlowSessions();
  there.isMultiMachine = true;
  const peers: SessionPeers = {
    listener: 'this',
    tellEnded: async () => 0,
    send: async () => {},
    onEnded: undefined,
    onReceived: undefined,
  };
  const other = directoryOf(Object.assign(there, { peers }));
  const [ended, unharmed] = [other.find({ id: 'one', ...owner }), other.find({ id: 'one', ...owner })];
  peers.onEnded?.(Buffer.from('of another session'));
  there.pending.shift()?.(sealed);
  t.match(await ended, { version: 1 }, 'the end of another session changes nothing');
  peers.onEnded?.(Buffer.from(name, 'hex'));
  there.pending.shift()?.(sealed);
  t.equal(await unharmed, 'ended', 'in another process');
  const later = other.find({ id: 'one', ...owner });
  there.pending.shift()?.(sealed);
  t.match(await later, { version: 1 }, 'a read that begins later sees what is stored');
});

t.test('a record that others change while it is being read is known to be stale, and no other is', async (t) => {
  const owner = ownedBy('alice');
  const written = new MemorySessions();
  await directoryOf(written).write({ id: 'one', ...owner }, RECORD, 0);
  const [name = '', sealed] = [...written.records][0] ?? [];
  const sessions = new SlowSessions();
  sessions.isMultiMachine = true;
  const directory = directoryOf(sessions);
  for (const [changed, isStale] of [
    [Buffer.from('another'), false],
    [Buffer.from(name, 'hex'), true],
    [undefined, true],
  ] as const) {
    const found = directory.find({ id: 'one', ...owner });
    sessions.onChanged?.(changed);
    sessions.pending.shift()?.(sealed);
    t.match(await found, { version: 1, isStale }, String(isStale));
  }
});

t.test('what is passed on to a silent process is bounded by subject', async (t) => {
  const sessions = new MemorySessions();
  let passed = 0;
  const send = (): Promise<void> => {
    passed += 1;
    return new Promise(() => {});
  };
  const peers = { listener: 'this', tellEnded: async () => 0, send, onEnded: undefined, onReceived: undefined };
  const directory = directoryOf(Object.assign(sessions, { isMultiMachine: true, peers }));
  const max = PEER_MESSAGES_UNDER_WAY_PER_SUBJECT_MAX;
  for (let each = 0; each < max + 3; each += 1)
    directory.sendToPeers({ id: 'one', ...ownedBy('mallory') }, ['other'], Buffer.from('notice'));
  t.equal(passed, max);
  directory.sendToPeers({ id: 'two', ...ownedBy('alice') }, ['other'], Buffer.from('notice'));
  t.equal(passed, max + 1, 'others still pass theirs on');
  directory.sendToPeers({ id: 'two', ...ownedBy('alice') }, ['this'], Buffer.from('notice'));
  t.equal(passed, max + 1, 'and nobody to itself');
});
