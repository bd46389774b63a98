// How long an unused session lives: the time is counted from the end of the last request or stream in it.
import t, { type Test } from 'tap';
import type { RecordedExchange } from '../support/recorded-exchange.js';
import { RelayScene } from './relay-scene.js';
import { virtualHostOf } from './virtual-host.js';

const IDLE_MS = 60_000;
const RESULT = '{"jsonrpc":"2.0","id":7,"result":{}}';

function open(t: Test): RelayScene {
  return new RelayScene(t, virtualHostOf({ b: {} })).open();
}

/** Advances the clock in small steps, as the event loop would. */
function wait(scene: RelayScene, ms: number): void {
  for (let passed = 0; passed < ms; passed += 100) scene.context.advance(100);
}

function call(scene: RelayScene): RecordedExchange {
  return scene.post('tools/call', { name: 'b-x' }, 7);
}

function isThere(scene: RelayScene): boolean {
  return scene.accounts.used('sessions') === 1;
}

t.test('after a long call a session has its full idle time', async (t) => {
  // One call is shorter than the idle time, and one is longer.
  for (const callMs of [IDLE_MS - 2_000, 2 * IDLE_MS - 2_000]) {
    const scene = open(t);
    const exchange = call(scene);
    wait(scene, callMs);
    scene.http.last.json(RESULT);
    t.equal(exchange.outcome, 'ended', `a call of ${callMs} ms`);
    wait(scene, IDLE_MS - 1_000);
    t.equal(isThere(scene), true, 'it is there until then');
    wait(scene, 2_000);
    t.equal(isThere(scene), false, 'and no longer');
  }
});

t.test('after quick calls a session has no more than its idle time', async (t) => {
  const scene = open(t);
  const exchange = call(scene);
  scene.http.last.json(RESULT);
  t.equal(exchange.outcome, 'responded');
  wait(scene, IDLE_MS + 2_000);
  t.equal(isThere(scene), false);
});

t.test('a session that was ended during a long call stays ended', async (t) => {
  const scene = open(t);
  call(scene);
  wait(scene, IDLE_MS / 2);
  scene.request({ method: 'DELETE' });
  t.equal(isThere(scene), false);
  wait(scene, 2 * IDLE_MS);
  t.equal(isThere(scene), false);
});

t.test('after its client has listened a session has its full idle time', async (t) => {
  for (const listenedMs of [IDLE_MS - 2_000, 2 * IDLE_MS - 2_000]) {
    const scene = open(t);
    const exchange = scene.request({ method: 'GET', acceptedTypes: 'event-stream', body: Buffer.alloc(0) });
    t.equal(exchange.outcome, 'streaming');
    wait(scene, listenedMs);
    exchange.abort();
    wait(scene, IDLE_MS - 1_000);
    t.equal(isThere(scene), true, `${listenedMs} ms: it is there until then`);
    wait(scene, 2_000);
    t.equal(isThere(scene), false, 'and no longer');
  }
});
