// What a session keeps of its subscriptions, and for how long; how they reach backends is in test/spec/streams.rows.ts.
import t from 'tap';
import { Subscriptions } from '../../src/session/subscriptions.js';
import { limits } from '../../src/shared/limits.js';
import { RelayScene } from '../relay/relay-scene.js';
import { readEvents } from '../support/event-stream.js';
import type { RecordedExchange } from '../support/recorded-exchange.js';
import { REQUEST_ID } from '../upstream/scripted-upstream.js';
import { BoundedShare } from '../support/bounded-share.js';
import { until } from '../support/until.js';
import { virtualHostOf } from '../relay/virtual-host.js';
import { TEMPLATES_TRIED_MAX } from '../../src/lists/grant.js';

t.test('the number and the bytes of subscriptions are bounded', async (t) => {
  const many = new Subscriptions(new BoundedShare(Infinity));
  for (let number = 0; number < limits.subscriptionsMax; number += 1) many.add('b', `a:${number}`);
  t.notOk(many.hasRoomFor('a:b'));
  const memory = new BoundedShare(10_000);
  const few = new Subscriptions(memory);
  t.notOk(few.hasRoomFor('x'.repeat(5_000)));
  few.add('b', 'x'.repeat(5_000));
  t.equal(memory.heldBytes, 0, 'what has no room is not kept');
  t.ok(few.hasRoomFor('x'.repeat(1_000)));
});

t.test('subscriptions that are too long for a record are not in it, until they are fewer', async (t) => {
  const subscriptions = new Subscriptions(new BoundedShare(Infinity));
  const uris = Array.from({ length: 17 }, (_, number) => `${number}:${'x'.repeat(16_000)}`);
  for (const uri of uris) subscriptions.add('b', uri);
  t.same(subscriptions.recorded(), {});
  subscriptions.delete('b', uris[0]!);
  t.equal(subscriptions.recorded()['b']?.length, 16);
});

t.test('subscriptions that another process has ended end here, whatever the name of their backend', async (t) => {
  const subscriptions = new Subscriptions(new BoundedShare(Infinity));
  for (const name of ['b', 'constructor', '__proto__']) subscriptions.add(name, 'a:b');
  subscriptions.merge({ b: ['a:b'] }, true);
  t.same(
    ['b', 'constructor', '__proto__'].map((name) => subscriptions.has(name, 'a:b')),
    [true, false, false],
  );
});

t.test('subscriptions at a backend that was removed take no room', async (t) => {
  const memory = new BoundedShare(10_000);
  const subscriptions = new Subscriptions(memory);
  for (const uri of ['a:b', 'a:c']) subscriptions.add('one', uri);
  subscriptions.add('two', 'a:b');
  const three = memory.heldBytes;
  subscriptions.forget('one');
  t.equal(memory.heldBytes, three / 3);
  subscriptions.delete('two', 'a:b');
  t.equal(memory.heldBytes, 0);
});

t.test('a subscription counts once, however often it is made, and not at all once it has ended', async (t) => {
  const memory = new BoundedShare(Infinity);
  const subscriptions = new Subscriptions(memory);
  subscriptions.add('b', 'a:b');
  const { heldBytes } = memory;
  subscriptions.add('b', 'a:b');
  subscriptions.delete('b', 'a:c');
  subscriptions.delete('c', 'a:b');
  t.equal(memory.heldBytes, heldBytes);
  for (let number = 1; number < limits.subscriptionsMax; number += 1) subscriptions.add('b', `a:${number}`);
  t.notOk(subscriptions.hasRoomFor('x'));
  subscriptions.delete('b', 'a:b');
  t.ok(subscriptions.hasRoomFor('x'));
  subscriptions.delete('b', 'a:b');
  subscriptions.add('b', 'a:b');
  t.notOk(subscriptions.hasRoomFor('x'), 'and not twice');
});

/** What a backend answers to `initialize`. */
function introduction(resources: object | undefined): string {
  const result = { protocolVersion: '2025-11-25', capabilities: { tools: {}, resources } };
  return JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result });
}

const DONE = JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result: {} });

t.test('a backend that has lost its session is subscribed to again, if it still has resources', async (t) => {
  for (const [resources, expected] of [
    [{ subscribe: true }, ['x:1', 'x:3']],
    [{}, ['x:1', 'x:3']],
    [undefined, []],
  ] as const) {
    const scene = new RelayScene(t, virtualHostOf({ b: {}, c: {} })).open({}, introduction({ subscribe: true }));
    const { http } = scene;
    for (const [method, uri] of [
      ['resources/subscribe', 'b+x:1'],
      ['resources/subscribe', 'b+x:2'],
      ['resources/subscribe', 'c+x:4'],
      ['resources/unsubscribe', 'b+x:2'],
      ['resources/subscribe', 'b+x:3'],
    ] as const) {
      const exchange = scene.post(method, { uri }, 7);
      http.last.json(DONE.replace(`"${REQUEST_ID}"`, '7'));
      t.match(exchange.answer?.body.toString(), /"result":{}/, `${method} ${uri}`);
    }
    const { length } = http.calls;
    scene.post('tools/call', { name: 'b-x' }, 8);
    http.last.empty(404);
    http.last.json(introduction(resources), 'second');
    http.last.empty();
    const texts = http.calls.slice(length).map(({ text }) => text);
    const told = texts.filter((text) => text.includes('resources/subscribe'));
    t.same(
      told.map((text) => (JSON.parse(text) as { params: { uri: string } }).params.uri),
      expected,
    );
  }
});

/** The URIs of all requests of one method to the backends, in order. */
function asked({ http }: RelayScene, method: string): string[] {
  const texts = http.calls.map(({ text }) => text).filter((text) => text.includes(`"resources/${method}"`));
  return texts.map((text) => (JSON.parse(text) as { params: { uri: string } }).params.uri);
}

function answerLast({ http }: RelayScene, id: number): void {
  http.last.json(DONE.replace(`"${REQUEST_ID}"`, `${id}`));
}

const TAKES = introduction({ subscribe: true });

t.test('a subscription takes its room when it is requested, and gives it back when refused', async (t) => {
  const scene = new RelayScene(t, virtualHostOf({ b: {} })).open({}, TAKES);
  const { http } = scene;
  const subscribe = (uri: string, id: number) => scene.post('resources/subscribe', { uri }, id);
  for (let number = 0; number < limits.subscriptionsMax; number += 1) subscribe(`b+a:${number}`, 7);
  const begun = http.calls.slice(-limits.subscriptionsMax);
  t.match(subscribe('b+a:x', 8).answer?.body.toString(), /Too many subscriptions/);
  for (const call of begun.slice(1)) call.json(DONE.replace(`"${REQUEST_ID}"`, '7'));
  t.match(subscribe('b+a:x', 8).answer?.body.toString(), /Too many subscriptions/);
  t.equal(subscribe('b+a:1', 9).answer, undefined, 'one that is held goes to its backend again');
  t.equal(asked(scene, 'subscribe').at(-1), 'a:1');
  begun[0]!.json('{"jsonrpc":"2.0","id":7,"error":{"code":-32002,"message":"no"}}');
  t.equal(subscribe('b+a:x', 10).answer, undefined, 'there is room again');
});

t.test('a subscription accepted after the allow-list became narrower is ended again', async (t) => {
  const scene = new RelayScene(t, virtualHostOf({ b: {} })).open({}, TAKES);
  scene.post('resources/subscribe', { uri: 'b+a:1' }, 7);
  const call = scene.http.last;
  const virtualHost = virtualHostOf({ b: { allowed_resource_names: ['a:2'] } });
  const body = Buffer.from('{"jsonrpc":"2.0","id":8,"method":"ping"}');
  scene.relay.handle({ subject: 'alice', virtualHost }, scene.exchange({ body }));
  t.same(asked(scene, 'unsubscribe'), []);
  call.json(DONE.replace(`"${REQUEST_ID}"`, '7'));
  t.same(asked(scene, 'unsubscribe'), ['a:1']);
});

t.test('a subscription accepted after its backend has moved is not repeated at the new place', async (t) => {
  const scene = new RelayScene(t, virtualHostOf({ b: {} })).open({}, TAKES);
  scene.post('resources/subscribe', { uri: 'b+a:1' }, 7);
  const call = scene.http.last;
  const virtualHost = virtualHostOf({ b: { url: 'https://elsewhere.example/mcp' } });
  const handle = (text: string): void =>
    scene.relay.handle({ subject: 'alice', virtualHost }, scene.exchange({ body: Buffer.from(text) }));
  handle('{"jsonrpc":"2.0","id":8,"method":"ping"}');
  call.json(DONE.replace(`"${REQUEST_ID}"`, '7'));
  handle('{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"b-x"}}');
  scene.http.last.json(TAKES, 'second');
  scene.http.last.empty();
  t.equal(scene.http.last.summary, 'tools/call', 'the new one is open');
  t.same(asked(scene, 'subscribe'), ['a:1'], 'the first alone');
});

t.test('a subscription is ended without asking whether lists still have its resource', async (t) => {
  const virtualHost = virtualHostOf({ b: { allowed_resource_names: ['named'] } });
  const scene = new RelayScene(t, virtualHost).open({}, TAKES);
  const { http } = scene;
  scene.post('resources/subscribe', { uri: 'b+a:1' }, 7);
  t.equal(http.last.summary, 'resources/list');
  const result = { resources: [{ name: 'named', uri: 'a:1' }] };
  http.last.json(JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result }));
  t.equal(http.last.summary, 'resources/subscribe');
  answerLast(scene, 7);
  scene.post('resources/unsubscribe', { uri: 'b+a:1' }, 8);
  t.equal(http.last.summary, 'resources/unsubscribe');
  answerLast(scene, 8);
  scene.post('resources/unsubscribe', { uri: 'b+a:1' }, 9);
  t.equal(http.last.summary, 'resources/list', 'it is held no more');
});

t.test('a backend that does not declare subscriptions may take them, and its news come', async (t) => {
  const scene = new RelayScene(t, virtualHostOf({ b: {}, c: {} })).open({}, introduction({ subscribe: false }));
  const { http } = scene;
  const get = (): RecordedExchange =>
    scene.request({ method: 'GET', body: Buffer.alloc(0), acceptedTypes: 'event-stream' });
  const listened = (): number => http.summary.filter((summary) => summary === 'GET').length;
  const first = get();
  t.equal(listened(), 2, 'each is listened to while the client listens');
  const streams = http.calls.slice(-2);
  scene.post('resources/subscribe', { uri: 'b+x:1' }, 7);
  t.equal(http.last.summary, 'resources/subscribe');
  answerLast(scene, 7);
  const updated = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'x:1' } });
  streams[0]!.head(200, 'text/event-stream').data(`data: ${updated}\n\n`);
  t.same(readEvents(first.written), [updated.replace('x:1', 'b+x:1')]);
  const refused = scene.post('resources/subscribe', { uri: 'c+x:1' }, 9);
  http.last.json('{"jsonrpc":"2.0","id":9,"error":{"code":-32601,"message":"Method not found"}}');
  t.match(refused.answer?.body.toString(), /-32601/, 'another says itself that it does not');
  t.equal(listened(), 2, 'once is enough');
});

t.test(
  'a subscription is ended when another entry takes the place of its own in the allow-list, and nothing more is heard of it',
  (t) => {
    const resources = (...names: string[]) => virtualHostOf({ b: { allowed_resource_names: names } });
    const scene = new RelayScene(t, resources('a:1', 'a:2')).open({}, TAKES);
    const { http } = scene;
    const listening = scene.request({ method: 'GET', body: Buffer.alloc(0), acceptedTypes: 'event-stream' });
    const stream = http.last.head(200, 'text/event-stream');
    for (const uri of ['a:1', 'a:2']) {
      scene.post('resources/subscribe', { uri: `b+${uri}` }, 7);
      answerLast(scene, 7);
    }
    const updated = (uri: string): string =>
      JSON.stringify({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } });
    const body = Buffer.from('{"jsonrpc":"2.0","id":8,"method":"ping"}');
    scene.relay.handle({ subject: 'alice', virtualHost: resources('a:2', 'a:3') }, scene.exchange({ body }));
    t.same(asked(scene, 'unsubscribe'), ['a:1']);
    for (const uri of ['a:1', 'a:2']) stream.data(`data: ${updated(uri)}\n\n`);
    t.same(readEvents(listening.written), [updated('b+a:2')]);
    t.end();
  },
);

t.test('a subscription allowed by name goes on when the allow-list changes only its order', (t) => {
  const resources = (...names: string[]) => virtualHostOf({ b: { allowed_resource_names: names } });
  const scene = new RelayScene(t, resources('named', 'a:2')).open({}, TAKES);
  const { http } = scene;
  scene.post('resources/subscribe', { uri: 'b+a:1' }, 7);
  const result = { resources: [{ name: 'named', uri: 'a:1' }] };
  http.last.json(JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result }));
  answerLast(scene, 7);
  t.same(asked(scene, 'subscribe'), ['a:1']);
  const ping = (...names: string[]): void => {
    const body = Buffer.from('{"jsonrpc":"2.0","id":8,"method":"ping"}');
    scene.relay.handle({ subject: 'alice', virtualHost: resources(...names) }, scene.exchange({ body }));
  };
  ping('a:2', 'named');
  t.same(asked(scene, 'unsubscribe'), []);
  ping('a:2', 'other');
  t.same(asked(scene, 'unsubscribe'), ['a:1'], 'who may subscribes again');
  t.end();
});

t.test('a subscription allowed by name is renewed in a new session; one that is no longer allowed is not', (t) => {
  const resources = (...names: string[]) => virtualHostOf({ b: { allowed_resource_names: names } });
  const scene = new RelayScene(t, resources('named', 'a:2')).open({}, TAKES);
  const { http } = scene;
  scene.post('resources/subscribe', { uri: 'b+a:1' }, 7);
  const result = { resources: [{ name: 'named', uri: 'a:1' }] };
  http.last.json(JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result }));
  answerLast(scene, 7);
  scene.post('resources/subscribe', { uri: 'b+a:2' }, 8);
  answerLast(scene, 8);
  t.same(asked(scene, 'subscribe'), ['a:1', 'a:2']);
  const callInNewSession = (virtualHost: ReturnType<typeof resources>, name: string): string[] => {
    const { length } = asked(scene, 'subscribe');
    const body = Buffer.from('{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"b-x"}}');
    scene.relay.handle({ subject: 'alice', virtualHost }, scene.exchange({ body }));
    http.last.empty(404);
    http.last.json(TAKES, name);
    http.last.empty();
    return asked(scene, 'subscribe').slice(length);
  };
  t.same(callInNewSession(resources('named', 'a:2'), 'second'), ['a:1', 'a:2']);
  t.same(callInNewSession(resources('other'), 'third'), []);
  t.end();
});

t.test('many subscriptions are matched against many templates over several turns', async (t) => {
  const count = 64;
  const scene = new RelayScene(t, virtualHostOf({ b: {} })).open({}, TAKES);
  const uris = Array.from({ length: count }, (_, number) => `x:${'y'.repeat(4_000)}${number}`);
  for (const uri of uris) {
    scene.post('resources/subscribe', { uri: `b+${uri}` }, 7);
    answerLast(scene, 7);
  }
  const templates = Array.from({ length: TEMPLATES_TRIED_MAX }, (_, number) => `x:{a}/${number}/{b}`);
  const virtualHost = virtualHostOf({ b: { allowed_resource_names: templates } });
  const body = Buffer.from('{"jsonrpc":"2.0","id":8,"method":"ping"}');
  scene.relay.handle({ subject: 'alice', virtualHost }, scene.exchange({ body }));
  const atOnce = asked(scene, 'unsubscribe').length;
  t.ok(atOnce < count, `${atOnce} were held against them at once`);
  await until(() => asked(scene, 'unsubscribe').length === count, 'the others');
  t.same(asked(scene, 'unsubscribe'), uris);
});
