// A store that contradicts itself: it tells each write that another was first, and each read that there is no record. The record of a
// session is then written a few times, and again with its next change; it is never written and read in an endless loop.
import t from 'tap';
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
