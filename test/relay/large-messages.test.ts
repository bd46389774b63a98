// Large messages of a caller, which are read in slices: what happens to their session while they are read.
import t, { type Test } from 'tap';
import { limits } from '../../src/shared/limits.js';
import { until } from '../support/until.js';
import { RelayScene } from './relay-scene.js';
import { virtualHostOf } from './virtual-host.js';
import { DETACHED_CALL_MS_MAX } from '../../src/calls/answered-request.js';
import { CANCELLED_ANSWER_MS_MAX } from '../../src/calls/relayed-request.js';

/** Takes more than one turn of the event loop to read, since every byte is a token. The character has more than one byte. */
const BULK = ['ü', [[Array.from({ length: 2 ** 20 }, () => [])]]];
const BULK_TEXT = JSON.stringify(BULK);

function open(t: Test): RelayScene {
  return new RelayScene(t, virtualHostOf({ b: {}, c: {} })).open();
}

/** What the backends were sent after the first `count` requests. */
function sentSince(scene: RelayScene, count: number): string[] {
  return scene.http.summary.slice(count);
}

t.test('a large call is read in slices and sent byte for byte, and other calls overtake it', async (t) => {
  const scene = open(t);
  const sentCount = scene.http.calls.length;
  const call = scene.post('tools/call', { name: 'b-x', arguments: { bulk: BULK } }, 7);
  t.same(sentSince(scene, sentCount), []);
  scene.post('tools/call', { name: 'c-x' }, 8);
  t.match(scene.http.last.text, /"id":8/);
  await until(() => scene.http.calls.length === sentCount + 2, 'the large call');
  t.ok(scene.http.last.text === call.request.body.toString().replace('b-x', 'x'));
  scene.http.last.json('{"jsonrpc":"2.0","id":7,"result":{}}');
  t.equal(call.answer?.body.toString(), '{"jsonrpc":"2.0","id":7,"result":{}}');
});

t.test('a large body that is no message is refused with the code that fits', async (t) => {
  const scene = open(t);
  const notJson = scene.request({ body: Buffer.from(`{"jsonrpc":"2.0","x":${BULK_TEXT}`) });
  const notRpc = scene.request({ body: Buffer.from(`{"x":${BULK_TEXT}}`) });
  await until(() => notJson.answer !== undefined && notRpc.answer !== undefined, 'both refusals');
  t.match(notJson.answer, { status: 400, body: /-32700/ });
  t.match(notRpc.answer, { status: 400, body: /-32600/ });
});

t.test('a cancellation that overtakes its large call takes effect once the call is read', async (t) => {
  const scene = open(t);
  const sentCount = scene.http.calls.length;
  const call = scene.post('tools/call', { name: 'b-x', arguments: { bulk: BULK } }, 7);
  const other = scene.post('tools/call', { name: 'b-x', arguments: { bulk: BULK } }, 8);
  const notice = scene.post('notifications/cancelled', { requestId: 7 });
  const later = scene.post('ping', { bulk: 'x'.repeat(limits.readAtOnceBytesMax) }, 9);
  t.equal(notice.answer?.status, 202);
  await until(() => scene.http.calls.length === sentCount + 3, 'both calls and the notice');
  // The later ping is neither waited for nor cancelled, even when it is read first.
  t.same(sentSince(scene, sentCount).toSorted(), ['notifications/cancelled', 'tools/call', 'tools/call']);
  scene.context.advance(CANCELLED_ANSWER_MS_MAX + 100);
  t.match(call.answer?.body.toString(), /"id":7,.*Request cancelled/);
  t.equal(other.answer, undefined);
  t.ok(later.answer);
  // The id is free again, and the earlier cancellation is not about its next use.
  scene.post('tools/call', { name: 'b-x' }, 7);
  t.same(sentSince(scene, sentCount).length, 4);
  t.equal(scene.http.last.summary, 'tools/call');
});

t.test(
  'a large cancellation waits for no call that is still being read, since nothing counts its memory',
  async (t) => {
    const scene = open(t);
    const sentCount = scene.http.calls.length;
    scene.post('tools/call', { name: 'b-x', arguments: { bulk: BULK } }, 7);
    const reason = 'x'.repeat(limits.countedFromBytes);
    t.equal(scene.post('notifications/cancelled', { requestId: 7, reason }).answer?.status, 202);
    await until(() => scene.http.calls.length > sentCount, 'the call');
    scene.post('tools/call', { name: 'b-x' }, 8);
    t.same(sentSince(scene, sentCount), ['tools/call', 'tools/call'], 'nor is it read when its memory is another’s');
  },
);

t.test('a large message whose session ended while it was read is answered 404', async (t) => {
  const scene = open(t);
  const call = scene.post('tools/call', { name: 'b-x', arguments: { bulk: BULK } }, 7);
  scene.request({ method: 'DELETE', body: Buffer.alloc(0) });
  const sentCount = scene.http.calls.length;
  await until(() => call.answer !== undefined, 'the refusal');
  t.equal(call.answer?.status, 404);
  t.same(sentSince(scene, sentCount), []);
});

t.test('a session with a large message that is not read yet is busy', async (t) => {
  const scene = open(t);
  const call = scene.post('tools/call', { name: 'b-x', arguments: { bulk: BULK } }, 7);
  scene.context.advance(60_000 + 1_000);
  await until(() => scene.http.last.summary === 'tools/call', 'the call');
  t.equal(call.answer, undefined);
});

t.test('a large message obeys a config that changed while it was read', async (t) => {
  const scene = open(t);
  const call = scene.post('tools/call', { name: 'b-x', arguments: { bulk: BULK } }, 7);
  const narrower = new RelayScene(t, virtualHostOf({ b: { allowed_tool_names: ['y'] }, c: {} }));
  scene.relay.handle(
    { subject: 'alice', virtualHost: narrower.virtualHost },
    scene.exchange({ body: Buffer.from('{"jsonrpc":"2.0","id":9,"method":"ping"}') }),
  );
  await until(() => call.answer !== undefined, 'the refusal');
  t.match(call.answer?.body.toString(), /Unknown tool: b-x/);
});

t.test(
  'a caller that went away while its call was read has not cancelled it: the call is sent, and ends at a bound',
  async (t) => {
    const scene = open(t);
    const call = scene.post('tools/call', { name: 'b-x', arguments: { bulk: BULK } }, 7);
    call.isAborted = true;
    await until(() => scene.http.last.summary === 'tools/call', 'the call');
    const sent = scene.http.last;
    scene.context.advance(DETACHED_CALL_MS_MAX - 1_000);
    t.notOk(sent.isAborted);
    t.throws(() => scene.context.advance(2_000), { message: /after the abort/ }, 'its answer goes nowhere');
    t.ok(sent.isAborted);
  },
);
