// What a caller gets of a slow answer: the head of an event stream in time, and then the answer as its event; and that a quick answer
// is not affected.
import t, { type Test } from 'tap';
import type { AcceptedTypes } from '../../src/exchange/exchange.js';
import { readEvents } from '../support/event-stream.js';
import type { RecordedExchange } from '../support/recorded-exchange.js';
import { RelayScene } from './relay-scene.js';
import { virtualHostOf } from './virtual-host.js';

const RESULT = '{"jsonrpc":"2.0","id":7,"result":{"n":1.0}}';

function open(t: Test): RelayScene {
  return new RelayScene(t, virtualHostOf({ b: {} })).open();
}

function call(scene: RelayScene, answerForms: AcceptedTypes = 'both'): RecordedExchange {
  const body = Buffer.from('{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"b-x"}}');
  return scene.request({ body, acceptedTypes: answerForms });
}

/** Advances the clock a tick at a time, as the event loop would. */
function wait(scene: RelayScene, ms: number): void {
  for (let passed = 0; passed < ms; passed += 50) scene.context.advance(50);
}

t.test('a slow answer is an event on a stream that began before; a quick one is plain JSON', async (t) => {
  const scene = open(t);
  const { slowAnswerMs } = scene.context.answers;
  const quick = call(scene);
  wait(scene, slowAnswerMs - 100);
  t.equal(quick.outcome, 'none', 'not early');
  scene.http.last.json(RESULT);
  t.match(quick.answer, { status: 200, contentType: 'application/json', body: Buffer.from(RESULT) });
  const slow = call(scene);
  wait(scene, 1.3 * slowAnswerMs);
  t.equal(slow.outcome, 'streaming');
  t.ok(slow.writtenBytes > 0, 'the head goes with its first bytes on some servers');
  t.same(readEvents(slow.written), []);
  const { writtenBytes } = slow;
  wait(scene, 5 * slowAnswerMs);
  t.equal(slow.writtenBytes, writtenBytes, 'the exchange sees to the rest of the silence');
  scene.http.last.json(RESULT);
  t.same(readEvents(slow.written), [RESULT]);
  t.equal(slow.outcome, 'ended');
});

t.test('a caller that takes only JSON waits for it; one that takes only events gets one', async (t) => {
  const scene = open(t);
  const { slowAnswerMs } = scene.context.answers;
  const json = call(scene, 'json');
  wait(scene, 2 * slowAnswerMs);
  t.equal(json.outcome, 'none');
  scene.http.last.json(RESULT);
  t.equal(json.answer?.contentType, 'application/json');
  const events = call(scene, 'event-stream');
  wait(scene, 2 * slowAnswerMs);
  scene.http.last.json(RESULT);
  t.same(readEvents(events.written), [RESULT]);
});

t.test('a late failure, or a late end of the session, is an error sent as an event', async (t) => {
  const ends: [string, (scene: RelayScene) => void, number][] = [
    ['a fault', (scene) => scene.http.last.fault('connection-lost'), -32603],
    ['a status', (scene) => scene.http.last.empty(500), -32603],
    ['the end of the session', (scene) => void scene.request({ method: 'DELETE' }), -32603],
  ];
  for (const [why, end, code] of ends) {
    const scene = open(t);
    const exchange = call(scene);
    wait(scene, 2 * scene.context.answers.slowAnswerMs);
    end(scene);
    const [event = '{}'] = readEvents(exchange.written);
    t.match(JSON.parse(event), { id: 7, error: { code } }, why);
    t.equal(exchange.outcome, 'ended');
  }
});

t.test('a caller that is gone is sent nothing', async (t) => {
  const scene = open(t);
  const exchange = call(scene);
  exchange.abort();
  // Any further call would make the exchange throw.
  wait(scene, 2 * scene.context.answers.slowAnswerMs);
  t.equal(exchange.outcome, 'none');
});

t.test('a slow list is an event as well, whole or failed', async (t) => {
  const scene = open(t);
  const { slowAnswerMs } = scene.context.answers;
  const list = scene.post('tools/list', {}, 5);
  wait(scene, 2 * slowAnswerMs);
  t.equal(list.outcome, 'streaming');
  scene.http.last.json('{"jsonrpc":"2.0","id":"id of the request","result":{"tools":[{"name":"a","inputSchema":{}}]}}');
  const [event = '{}'] = readEvents(list.written);
  t.match(JSON.parse(event), { id: 5, result: { tools: [{ name: 'b-a' }] } });
  t.equal(list.outcome, 'ended');
  const ended = scene.post('tools/list', {}, 6);
  wait(scene, 2 * slowAnswerMs);
  scene.request({ method: 'DELETE' });
  t.match(JSON.parse(readEvents(ended.written)[0] ?? '{}'), { id: 6, error: { code: -32603 } });
});

t.test('each call has its own time, however many begin one after another', async (t) => {
  const scene = open(t);
  const { slowAnswerMs } = scene.context.answers;
  const calls: RecordedExchange[] = [];
  for (let number = 0; number < 10; number += 1) {
    calls.push(call(scene));
    wait(scene, slowAnswerMs / 2);
  }
  // The last call began half the time ago, and the one before it the whole time ago.
  t.same(
    calls.map(({ outcome }) => outcome),
    [...Array<string>(8).fill('streaming'), calls[8]?.outcome, 'none'],
  );
});

t.test('a call that begins after an idle time has its full time', async (t) => {
  const scene = open(t);
  call(scene);
  scene.http.last.json(RESULT);
  wait(scene, 10 * scene.context.answers.slowAnswerMs);
  const late = call(scene);
  wait(scene, scene.context.answers.slowAnswerMs - 100);
  t.equal(late.outcome, 'none', 'the time counts from its beginning');
  wait(scene, 0.5 * scene.context.answers.slowAnswerMs);
  t.equal(late.outcome, 'streaming');
});

t.test('a GET after the answer is told that nothing follows, however often it comes', async (t) => {
  const scene = open(t);
  const slow = call(scene, 'event-stream');
  scene.http.last.head(200, 'text/event-stream').data(`data: ${RESULT}\n\n`).end();
  t.equal(slow.outcome, 'ended');
  const [first = '', last = ''] = [...slow.written.toString().matchAll(/^id: (.*)$/gm)].map(([, id]) => id ?? '');
  const get = (lastEventId: string): RecordedExchange =>
    scene.request({ method: 'GET', lastEventId, acceptedTypes: 'event-stream', body: Buffer.alloc(0) });
  for (let times = 0; times < 2; times += 1) {
    t.match(get(last).answer, { status: 204, contentType: '', body: Buffer.alloc(0) });
    t.same(readEvents(get(first).written), [RESULT], 'who does not have it gets it');
  }
});
