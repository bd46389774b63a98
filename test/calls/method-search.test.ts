// Requests of a method that no backend is known to have, while there are backends that have not been opened.
import t, { type Test } from 'tap';
import { REQUEST_ID } from '../upstream/scripted-upstream.js';
import { RelayScene } from '../relay/relay-scene.js';
import { virtualHostOf } from '../relay/virtual-host.js';

function initialized(experimental: object): string {
  const result = { protocolVersion: '2025-11-25', capabilities: { experimental } };
  return JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result });
}

/** A session with two backends, neither of which could be reached when the session began. */
function unopened(t: Test, backends: Readonly<Record<string, object>> = { a: {}, b: {} }): RelayScene {
  const scene = new RelayScene(t, virtualHostOf(backends));
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }));
  scene.request({ body, sessionId: '' });
  for (const call of [...scene.http.calls]) call.fault('connection-lost');
  // Long enough that both may be tried again.
  scene.context.advance(30_000);
  scene.http.calls.length = 0;
  return scene;
}

/** Each backend is asked for `initialize`, and answers. */
function answerAll(scene: RelayScene, answers: readonly string[]): void {
  for (const [index, call] of [...scene.http.calls].entries()) {
    call.json(answers[index] ?? '', `upstream-${index}`);
    scene.http.last.empty();
  }
}

t.test('the request goes to the one backend that turns out to declare the method, or to none', (t) => {
  for (const [declared, receiver] of [
    [[{ 'acme/x': {} }, {}], 'https://61.example'],
    [[{}, { 'acme/x': {} }], 'https://62.example'],
    [[{ 'acme/x': {} }, { 'acme/x': {} }], undefined],
    [[{}, { 'acme/y': {} }], undefined],
  ] as const) {
    const scene = unopened(t);
    const exchange = scene.post('acme/x', {}, 7);
    t.same(scene.http.summary, ['initialize', 'initialize']);
    answerAll(scene, declared.map(initialized));
    if (receiver === undefined) {
      t.match(exchange.answer?.body.toString(), '-32601', JSON.stringify(declared));
      t.notOk(scene.http.summary.includes('acme/x'));
    } else {
      t.equal(scene.http.last.text, '{"jsonrpc":"2.0","id":7,"method":"acme/x","params":{}}');
      t.equal(scene.http.last.request.target.origin, receiver, JSON.stringify(declared));
      scene.http.last.json('{"jsonrpc":"2.0","id":7,"result":{}}');
      t.equal(exchange.answer?.status, 200);
    }
    t.equal(scene.accounts.used('requests'), 0);
  }
  t.end();
});

t.test('a silent backend is waited for briefly, a failing one not at all', (t) => {
  for (const isSilent of [true, false]) {
    const scene = unopened(t);
    const exchange = scene.post('acme/x', {}, 7);
    const [a, b] = [...scene.http.calls];
    a?.json(initialized({ 'acme/x': {} }), 'upstream-a');
    scene.http.last.empty();
    if (isSilent) {
      t.equal(scene.http.summary.includes('acme/x'), false, 'another might have it, too');
      scene.context.advance(scene.context.options.initializePatienceMs + 100);
    } else {
      b?.fault('connection-lost');
    }
    t.equal(scene.http.summary.at(-1), 'acme/x');
    t.equal(exchange.outcome, 'none');
  }
  t.end();
});

t.test('a request can be cancelled during the search, and the end of the session ends it', (t) => {
  for (const isCancelled of [true, false]) {
    const scene = unopened(t);
    const exchange = scene.post('acme/x', {}, 7);
    if (isCancelled) scene.post('notifications/cancelled', { requestId: 7 });
    else scene.request({ method: 'DELETE' });
    t.match(exchange.answer?.body.toString(), isCancelled ? 'Request cancelled' : 'session ended');
    if (isCancelled) answerAll(scene, [initialized({ 'acme/x': {} }), initialized({})]);
    t.notOk(scene.http.summary.includes('acme/x'), 'nobody is asked any more');
    t.equal(scene.accounts.used('requests'), 0);
  }
  t.end();
});

t.test('a backend with an allow-list is not opened for an unknown method', (t) => {
  const scene = unopened(t, { a: { allowed_tool_names: ['x'] } });
  t.match(scene.post('acme/x', {}, 7).answer?.body.toString(), '-32601');
  t.same(scene.http.summary, []);
  t.end();
});
