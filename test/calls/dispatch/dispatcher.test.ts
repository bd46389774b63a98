// How the dispatcher classifies a message of a session, and what it answers without a backend. The methods have tests of their own.
import t from 'tap';
import { limits } from '../../../src/shared/limits.js';
import type { RecordedExchange } from '../../support/recorded-exchange.js';
import { until } from '../../support/until.js';
import { RelayScene } from '../../relay/relay-scene.js';
import { virtualHostOf } from '../../relay/virtual-host.js';

function open(t: { teardown(end: () => void): unknown }): RelayScene {
  return new RelayScene(t, virtualHostOf({ a: {}, b: {} })).open();
}

/** The status, and the error's code or the result, as JSON. */
function said({ answer }: RecordedExchange): string {
  const text = answer?.body.toString() ?? '';
  const { error, result } = (text === '' ? {} : JSON.parse(text)) as { error?: { code: number }; result?: unknown };
  return `${answer?.status} ${error?.code ?? (result === undefined ? '' : JSON.stringify(result))}`.trim();
}

t.test('what the gateway can answer by itself is sent to no backend', async (t) => {
  const scene = open(t);
  const sentCount = scene.http.calls.length;
  t.equal(said(scene.post('ping', {}, 1)), '200 {}');
  t.equal(said(scene.post('initialize', { protocolVersion: '2025-11-25' }, 2)), '400 -32600');
  t.equal(said(scene.post('no/such', {}, 3)), '200 -32601', 'no backend declares it');
  t.equal(said(scene.post('prompts/get', { name: 'a-x' }, 4)), '200 -32601', 'none has prompts');
  t.equal(said(scene.post('tools/call', { name: 'c-x' }, 5)), '200 -32602');
  t.equal(said(scene.post('tools/list', { cursor: 'c' }, 6)), '200 -32602', 'no cursor was ever given out');
  t.equal(said(scene.post('notifications/no/such', {})), '202');
  t.equal(scene.http.calls.length, sentCount);
});

t.test('a request for one backend is sent to that backend, a list request to all', async (t) => {
  const scene = open(t);
  const sentCount = scene.http.calls.length;
  scene.post('tools/call', { name: 'b-x' }, 1);
  t.same(scene.http.summary.slice(sentCount), ['tools/call']);
  t.equal(scene.http.last.request.target, scene.virtualHost.backends.get('b')?.target);
  scene.post('tools/list', {}, 2);
  t.same(scene.http.summary.slice(sentCount + 1), ['tools/list', 'tools/list']);
});

t.test('a session with too much in flight still answers what needs no backend', async (t) => {
  const scene = open(t);
  for (let id = 1; id <= limits.sessionRequestsInFlightMax; id += 1) scene.post('tools/call', { name: 'a-x' }, id);
  const sentCount = scene.http.calls.length;
  t.equal(said(scene.post('tools/call', { name: 'a-x' }, 'more')), '200 -32000');
  t.equal(said(scene.post('tools/list', {}, 'more')), '200 -32000');
  t.equal(said(scene.post('no/such', {}, 'more')), '200 -32601');
  t.equal(said(scene.post('ping', {}, 'more')), '200 {}');
  t.equal(scene.http.calls.length, sentCount);
});

t.test('a large message whose session ended while it was read is answered 404', async (t) => {
  const scene = open(t);
  const large = { x: 'x'.repeat(limits.readAtOnceBytesMax) };
  // Reading this message takes longer than one turn of the event loop allows, and the next message waits behind it.
  scene.post('tools/call', { name: 'a-x', arguments: { x: Array.from({ length: 4_000_000 }, () => 0) } }, 1);
  const exchange = scene.post('tools/call', { name: 'a-x', arguments: large }, 2);
  scene.request({ method: 'DELETE', body: Buffer.alloc(0) });
  const sentCount = scene.http.calls.length;
  await until(() => exchange.outcome === 'responded', 'the answer');
  t.equal(exchange.answer?.status, 404);
  t.equal(scene.http.calls.length, sentCount, 'it was asked of nobody');
});

t.test('an invalid body is refused with the code that fits', async (t) => {
  const scene = open(t);
  t.equal(said(scene.request({ body: Buffer.from('{') })), '400 -32700');
  t.equal(said(scene.request({ body: Buffer.from('{}') })), '400 -32600');
  t.equal(said(scene.request({ body: Buffer.from('[]') })), '400 -32600', 'nor are several in this version');
});
