// A session that ends while its tools are listed or its stream begins: callers are answered at once, and no further backend is asked.
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { RelayScene } from './relay-scene.js';
import { REQUEST_ID } from '../upstream/scripted-upstream.js';
import { virtualHostOf } from './virtual-host.js';
import { VISITED_AT_ONCE_MAX } from '../../src/streams/in-flight/requests-in-flight.js';

const PAGE = JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result: { tools: [], nextCursor: 'more' } });

t.test('DELETE answers a list that is under way, and its next page is not asked for', async (t) => {
  const scene = new RelayScene(t, virtualHostOf({ a: {} })).open();
  const list = scene.post('tools/list', {}, 7);
  const page = scene.http.last;
  const deletion = scene.request({ method: 'DELETE', body: Buffer.alloc(0) });
  t.equal(deletion.answer?.status, 200);
  const answer: unknown = JSON.parse(list.answer?.body.toString() ?? '');
  t.match(answer, { id: 7, error: { code: -32603, message: /session ended/ } });
  const sentCount = scene.http.calls.length;
  page.json(PAGE);
  t.equal(scene.http.calls.length, sentCount, 'no further page');
});

t.test('a session that ends while its GET stream begins opens no more backends', async (t) => {
  const backends = Object.fromEntries(Array.from({ length: 100 }, (_, number) => [`b${number}`, {}]));
  const scene = new RelayScene(t, virtualHostOf(backends));
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }));
  scene.request({ body, sessionId: '' });
  scene.request({ method: 'GET', body: Buffer.alloc(0), acceptedTypes: 'event-stream' });
  scene.request({ method: 'DELETE', body: Buffer.alloc(0) });
  const sentCount = scene.http.calls.length;
  t.ok(sentCount < 100, 'some were still to be opened');
  for (let count = 0; count < 50; count += 1) await turn();
  t.equal(scene.http.calls.length, sentCount);
});

t.test('a gateway that stops answers all calls at once, however many there are', async (t) => {
  const scene = new RelayScene(t, virtualHostOf({ a: {} })).open();
  const calls = Array.from({ length: VISITED_AT_ONCE_MAX + 50 }, (_, id) =>
    scene.post('tools/call', { name: 'a-x' }, id),
  );
  t.ok(calls.every(({ answer }) => answer === undefined));
  const stopped = scene.relay.stop();
  t.ok(calls.every(({ answer }) => answer !== undefined));
  scene.http.last.empty();
  await stopped;
});
