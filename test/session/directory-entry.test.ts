// A store that contradicts itself: it tells each write that another was first, and each read that there is no record. The record of a
// session is then written a few times, and again with its next change; it is never written and read in an endless loop.
import t from 'tap';
import { DirectoryEntry } from '../../src/session/directory-entry.js';
import { SessionDirectory } from '../../src/session/directory/session-directory.js';
import { logInto } from '../support/log-lines.js';
import { MemorySessions } from '../support/memory-sessions.js';
import { until } from '../support/until.js';
import { REQUEST_ID } from '../upstream/scripted-upstream.js';
import { RelayScene, SESSION_ID } from '../relay/relay-scene.js';
import { virtualHostOf } from '../relay/virtual-host.js';

/** After this many writes the store accepts one, so that a failing test ends. */
const WRITES_MAX = 1_000;
/** More writes than it takes to give up, and far fewer than an endless loop would make. */
const TRIES_MAX = 16;

class Contradiction extends MemorySessions {
  override read(): undefined {
    this.readsCount += 1;
    return undefined;
  }

  override async write(): Promise<boolean> {
    this.writesCount += 1;
    return this.writesCount > WRITES_MAX;
  }
}

t.test(
  'a record that can be neither read nor written over is tried a few times, and again with a change',
  async (t) => {
    const sessions = new Contradiction();
    const directory = new SessionDirectory(sessions, {
      idleTimeoutMs: 60_000,
      outlivesGateway: false,
      isPossibleId: (id) => id.startsWith(SESSION_ID),
      logger: logInto([]),
    });
    const answer = JSON.stringify({
      jsonrpc: '2.0',
      id: REQUEST_ID,
      result: { protocolVersion: '2025-11-25', capabilities: { tools: {}, logging: {} } },
    });
    const scene = new RelayScene(t, virtualHostOf({ b: {} }), {}, directory).open({}, answer);
    await until(() => sessions.writesCount > 0, 'the first write');
    for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
    const before = sessions.writesCount;
    t.ok(before > 1 && before <= TRIES_MAX, `${before} writes`);
    scene.post('logging/setLevel', { level: 'error' }, 2);
    await until(() => sessions.writesCount > before, 'the change to be written');
    for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
    t.ok(sessions.writesCount <= before + TRIES_MAX, `${sessions.writesCount} writes`);
  },
);

t.test('who comes while a record is being read waits for that read alone, also when it fails', async (t) => {
  const reads: ((found: 'failed') => void)[] = [];
  const directory = {
    ...{ listener: 'here', isMultiMachine: true, isRetired: false },
    watch: () => undefined,
    unwatch: () => undefined,
    find: () => new Promise<'failed'>((resolve) => reads.push(resolve)),
  } as unknown as SessionDirectory;
  const record = { upstreams: [], listeners: ['here'] };
  const session = {
    identity: { id: SESSION_ID, subject: 'a', virtualHostId: 'v' },
    record: () => record,
  };
  const events = { onEnded: () => undefined, onPeerMessage: () => undefined };
  const found = { version: 1, record, isStale: false };
  const entry = new DirectoryEntry(directory, session as never, events, found as never);
  entry.onChangedElsewhere();
  const settled = [entry.settle()];
  settled.push(entry.settle());
  t.equal(reads.length, 1);
  reads[0]?.('failed');
  await Promise.all(settled);
  t.equal(reads.length, 1, 'nothing is read again for them');
  const next = entry.settle();
  t.equal(reads.length, 2, 'the next request has it read again');
  reads[1]?.('failed');
  await next;
});

t.test(
  'a process with a successor does not bring back what that one has ended, and uses what it has written',
  async (t) => {
    for (const isThere of [false, true]) {
      let [writesCount, mergesCount] = [0, 0];
      const record = { upstreams: [], listeners: [] };
      const found = { version: 1, record, isStale: false };
      const directory = {
        ...{ listener: undefined, isMultiMachine: false, isRetired: true },
        watch: () => undefined,
        unwatch: () => undefined,
        renew: async () => false,
        find: () => (isThere ? { ...found, version: 2 } : 'unknown'),
        write: async () => {
          writesCount += 1;
          return 'written';
        },
      } as unknown as SessionDirectory;
      const session = {
        identity: { id: SESSION_ID, subject: 'a', virtualHostId: 'v' },
        record: () => record,
        merge: () => (mergesCount += 1),
      };
      const events = { onEnded: () => undefined, onPeerMessage: () => undefined };
      const entry = new DirectoryEntry(directory, session as never, events, found as never);
      entry.renew();
      await new Promise(setImmediate);
      entry.onChanged();
      await new Promise(setImmediate);
      t.same(
        { writesCount, mergesCount },
        isThere ? { writesCount: 1, mergesCount: 1 } : { writesCount: 0, mergesCount: 0 },
      );
    }
  },
);

/** Fails the first write, when it is told to. */
class Outage extends MemorySessions {
  override isMultiMachine = true;
  fail: (() => void) | undefined;

  override write(...session: Parameters<MemorySessions['write']>): Promise<boolean> {
    if (this.fail !== undefined) return super.write(...session);
    return new Promise((_, reject) => (this.fail = () => reject(new Error('connection lost'))));
  }
}

t.test('a record that could not be written is written when the store is back, also if it is back first', async (t) => {
  for (const isBackFirst of [false, true]) {
    const sessions = new Outage();
    const directory = new SessionDirectory(sessions, {
      idleTimeoutMs: 60_000,
      outlivesGateway: false,
      isPossibleId: (id) => id.startsWith(SESSION_ID),
      logger: logInto([]),
    });
    const answer = JSON.stringify({
      jsonrpc: '2.0',
      id: REQUEST_ID,
      result: { protocolVersion: '2025-11-25', capabilities: { tools: {} } },
    });
    new RelayScene(t, virtualHostOf({ b: {} }), {}, directory).open({}, answer);
    await until(() => sessions.fail !== undefined, 'the first write');
    if (isBackFirst) sessions.onChanged?.(undefined);
    sessions.fail?.();
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    if (!isBackFirst) {
      t.equal(sessions.records.size, 0);
      sessions.onChanged?.(undefined);
    }
    await until(() => sessions.records.size === 1, 'the record');
  }
});
