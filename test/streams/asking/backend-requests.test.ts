// Requests of backends to the client: timeouts, lost sessions and slow callers. How the requests are passed on is in
// test/spec/backend-requests.rows.ts.
import t, { type Test } from 'tap';
import type { ShareOptions } from '../../../src/config/dataplane-options.js';
import { limits } from '../../../src/shared/limits.js';
import { readEvents } from '../../support/event-stream.js';
import { until } from '../../support/until.js';
import type { RecordedExchange } from '../../support/recorded-exchange.js';
import { initializeResult, RelayScene, SESSION_IDLE_MS } from '../../relay/relay-scene.js';
import type { ScriptedCall } from '../../upstream/scripted-upstream.js';
import { virtualHostOf } from '../../relay/virtual-host.js';
import { BACKEND_REQUEST_BYTES_EACH } from '../../../src/streams/asking/backend-requests.js';

const ROOTS = 'data: {"jsonrpc":"2.0","id":1,"method":"roots/list"}\n\n';
const CAPABILITIES = { roots: {}, sampling: {} };

interface Begun {
  readonly scene: RelayScene;
  readonly exchange: RecordedExchange;
  readonly call: ScriptedCall;
}

/** A call whose backend has begun an event stream. */
function begin(t: Test, capabilities: object = CAPABILITIES, shares: Partial<ShareOptions> = {}): Begun {
  const scene = new RelayScene(t, virtualHostOf({ b: {} }), shares).open(capabilities);
  const exchange = scene.post('tools/call', { name: 'b-x' }, 7);
  return { scene, exchange, call: scene.http.last.head(200, 'text/event-stream') };
}

function messages({ exchange }: Begun): { id?: unknown; method?: string; params?: { requestId?: unknown } }[] {
  return readEvents(exchange.written).map((text) => JSON.parse(text) as object);
}

function respond({ scene }: Begun, id: unknown, result: object = { roots: [] }): RecordedExchange {
  return scene.request({ body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, result })) });
}

t.test("while the client is asked the backend's silence does not count; then it does again", async (t) => {
  const begun = begin(t);
  const { scene, exchange, call } = begun;
  const { callIdleTimeoutMs } = scene.context.options;
  call.data(ROOTS);
  scene.context.advance(1_000);
  call.data(': alive\n\n');
  scene.context.advance(callIdleTimeoutMs + 100_000);
  t.equal(exchange.outcome, 'streaming', 'also behind bytes of the backend');
  t.equal(respond(begun, messages(begun)[0]?.id).answer?.status, 202);
  t.equal(scene.http.last.text, '{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}');
  scene.context.advance(callIdleTimeoutMs - 1_000);
  t.equal(exchange.outcome, 'streaming');
  scene.context.advance(2_000);
  t.equal(exchange.outcome, 'ended');
  t.match(messages(begun).at(-1), { id: 7, error: { code: -32603, message: /no response in time/ } });
});

t.test('when a client never answers, both sides are told, and the backend’s silence counts again', async (t) => {
  const begun = begin(t);
  const { scene, exchange, call } = begun;
  call.data(ROOTS);
  const { callIdleTimeoutMs, clientAnswerTimeoutMs } = scene.context.options;
  scene.context.advance(clientAnswerTimeoutMs + 100);
  t.match(JSON.parse(scene.http.last.text), { id: 1, error: { code: -32603, message: /did not answer in time/ } });
  const [asked, cancelled] = messages(begun);
  t.match(cancelled, { method: 'notifications/cancelled', params: { requestId: asked?.id } });
  const sentCount = scene.http.calls.length;
  t.equal(respond(begun, asked?.id).answer?.status, 202, 'too late');
  t.equal(scene.http.calls.length, sentCount, 'the backend hears nothing of it');
  scene.context.advance(callIdleTimeoutMs + 100);
  t.equal(exchange.outcome, 'ended');
});

t.test('an answer is never sent to the successor of the upstream session that asked', async (t) => {
  const begun = begin(t);
  const { scene, call } = begun;
  call.data(ROOTS);
  // Another call finds the session lost and opens a new one.
  scene.post('tools/call', { name: 'b-x' }, 8);
  scene.http.last.empty(404);
  scene.http.last.json(initializeResult, 'second');
  scene.http.last.empty();
  const sentCount = scene.http.calls.length;
  t.equal(respond(begun, messages(begun)[0]?.id).answer?.status, 202);
  t.equal(scene.http.calls.length, sentCount);
});

t.test('a caller that is gone is not asked', async (t) => {
  const begun = begin(t);
  begun.exchange.abort();
  begun.call.data(ROOTS);
  t.match(JSON.parse(begun.scene.http.last.text), { id: 1, error: { code: -32603, message: /disconnected/ } });
});

t.test('an answer still counts after the stream on which it was asked for broke', async (t) => {
  const begun = begin(t);
  begun.call.data(ROOTS);
  const [asked] = messages(begun);
  begun.exchange.abort();
  respond(begun, asked?.id);
  t.match(JSON.parse(begun.scene.http.last.text), { id: 1, result: { roots: [] } });
});

t.test('a backend is paused when the client reads its questions too slowly', async (t) => {
  const { exchange, call } = begin(t);
  exchange.isSlow = true;
  call.data(ROOTS);
  t.ok(call.isPaused);
  exchange.isSlow = false;
  exchange.drain();
  t.notOk(call.isPaused);
});

t.test('a large request is sent in pieces, and a large answer counts until its backend has taken it', async (t) => {
  const begun = begin(t);
  const { scene, exchange, call } = begun;
  const text = 'x'.repeat(2 * limits.readAtOnceBytesMax);
  const params = JSON.stringify({ messages: [{ text }] });
  call.data(`data: {"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":${params}}\n\n`);
  await until(() => exchange.written.length > text.length, 'the request');
  const [asked] = messages(begun);
  t.equal(asked?.method, 'sampling/createMessage');
  respond(begun, asked?.id, { content: { type: 'text', text } });
  await until(() => scene.http.last.text.includes('"result"'), 'the answer');
  t.ok(scene.accounts.used('requestBytes') > text.length);
  t.match(JSON.parse(scene.http.last.text), { id: 1, result: { content: { text } } });
  scene.http.last.empty();
  t.equal(scene.accounts.used('requestBytes'), 0);
});

t.test(
  'a request that the client has not answered counts in its subject’s share, and is refused without room',
  async (t) => {
    const begun = begin(t);
    const before = begun.scene.accounts.used('sessionBytes');
    begun.call.data(ROOTS);
    const asked = begun.scene.accounts.used('sessionBytes');
    respond(begun, messages(begun)[0]?.id);
    const each = asked - begun.scene.accounts.used('sessionBytes');
    t.ok(each >= BACKEND_REQUEST_BYTES_EACH, `${each} bytes`);
    const full = begin(t, CAPABILITIES, { subjectSessionBytesMax: before + each - 1 });
    full.call.data(ROOTS);
    t.same(messages(full), []);
    t.match(JSON.parse(full.scene.http.last.text), {
      id: 1,
      error: { code: -32603, message: /Too many requests are pending/ },
    });
    const exact = begin(t, CAPABILITIES, { subjectSessionBytesMax: before + each });
    exact.call.data(ROOTS);
    t.equal(messages(exact).length, 1);
  },
);

/** The gateway's answers to the backends' requests, in order. */
function answers({ scene }: Begun): { id?: unknown; result?: unknown; error?: { code: number; message: string } }[] {
  const texts = scene.http.calls.map(({ text }) => text).filter((text) => text !== '' && !text.includes('"method"'));
  return texts.map((text) => JSON.parse(text) as object);
}

function ask(id: unknown, method: string, params: object = {}): string {
  return `data: ${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n\n`;
}

t.test('a client is asked only for what it declared', async (t) => {
  const begun = begin(t, { elicitation: { form: {} } });
  const asked: [method: string, params: object, code: number | undefined][] = [
    ['roots/list', {}, -32601],
    ['sampling/createMessage', {}, -32601],
    ['elicitation/create', { mode: 'url' }, -32602],
    ['tasks/get', { taskId: 'x' }, -32601],
    ['tasks/list', {}, -32601],
    ['elicitation/create', { mode: 'form' }, undefined],
    ['elicitation/create', {}, undefined],
  ];
  for (const [id, [method, params]] of asked.entries()) begun.call.data(ask(id, method, params));
  t.equal(messages(begun).length, 2, 'what is asked of the client');
  const codes = new Map(answers(begun).map(({ id, error }) => [id, error?.code]));
  for (const [id, [method, , code]] of asked.entries()) t.equal(codes.get(id), code, `${id} ${method}`);
});

t.test('a backend may ask about a client’s task only if the client runs it for that backend', async (t) => {
  const begun = begin(t, { tasks: { cancel: {}, requests: { sampling: { createMessage: {} } } }, sampling: {} });
  begun.call.data(ask(1, 'tasks/get', { taskId: 'x' }) + ask(2, 'tasks/cancel', { taskId: 'x' }));
  t.match(answers(begun), [
    { id: 1, error: { code: -32602 } },
    { id: 2, error: { code: -32602 } },
  ]);
  begun.call.data(ask(3, 'sampling/createMessage', { task: {} }));
  respond(begun, messages(begun)[0]?.id, { task: { taskId: 'x', status: 'working' } });
  begun.call.data(ask(4, 'tasks/get', { taskId: 'x' }));
  t.match(messages(begun).at(-1), { method: 'tasks/get', params: { taskId: 'x' } });
});

t.test(
  "a question about a client's task names it as the client does, and one about a backend's task as callers do",
  async (t) => {
    const capabilities = { tasks: { requests: { sampling: { createMessage: {} } } }, sampling: {} };
    const answer = initializeResult.replace('"tools":{}', '"tools":{},"tasks":{}');
    const scene = new RelayScene(t, virtualHostOf({ b: {} })).open(capabilities, answer);
    const exchange = scene.post('tools/call', { name: 'b-x' }, 7);
    const begun = { scene, exchange, call: scene.http.last.head(200, 'text/event-stream') };
    begun.call.data(ask(1, 'sampling/createMessage', { task: {} }));
    respond(begun, messages(begun)[0]?.id, { task: { taskId: 'x', status: 'working' } });
    for (const [id, taskId, expected] of [
      [2, 'x', 'x'],
      [3, 'y', 'b-y'],
    ] as const) {
      const related = (name: string): object => ({
        _meta: { 'io.modelcontextprotocol/related-task': { taskId: name } },
      });
      begun.call.data(ask(id, 'sampling/createMessage', related(taskId)));
      t.same(messages(begun).at(-1)?.params, related(expected));
    }
  },
);

t.test('a ping of a backend is answered by the gateway', async (t) => {
  const begun = begin(t, {});
  begun.call.data(ask('p', 'ping'));
  t.same(answers(begun), [{ jsonrpc: '2.0', id: 'p', result: {} }]);
  t.same(messages(begun), []);
});

t.test('a request that a backend withdraws is withdrawn under the id that the client knows', async (t) => {
  const begun = begin(t);
  begun.call.data(ROOTS + ask(2, 'roots/list'));
  const [first, second] = messages(begun);
  const withdrawn = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2, reason: 'late' } };
  begun.call.data(`data: ${JSON.stringify(withdrawn)}\n\n`);
  t.same(messages(begun).at(-1), { ...withdrawn, params: { requestId: second?.id, reason: 'late' } });
  respond(begun, second?.id);
  t.same(answers(begun), [], 'its answer goes nowhere');
  respond(begun, first?.id);
  t.match(answers(begun), [{ id: 1 }]);
  respond(begun, first?.id);
  t.equal(answers(begun).length, 1, 'nor does a second one');
});

t.test('a withdrawal of what was never asked, or is answered, disturbs no other request', async (t) => {
  const begun = begin(t);
  begun.call.data(ROOTS + ask(2, 'roots/list'));
  const [first, second] = messages(begun);
  respond(begun, second?.id);
  for (const requestId of [2, 3, 'x']) {
    const params = { requestId };
    begun.call.data(`data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params })}\n\n`);
  }
  t.equal(messages(begun).length, 2, 'the client hears nothing of it');
  respond(begun, first?.id);
  t.match(answers(begun), [{ id: 2 }, { id: 1 }]);
});

t.test('two backends may ask under the same id, and each withdraws its own request', async (t) => {
  const scene = new RelayScene(t, virtualHostOf({ b: {}, c: {} })).open(CAPABILITIES);
  const begun = (name: string, id: number): Begun => {
    const exchange = scene.post('tools/call', { name: `${name}-x` }, id);
    return { scene, exchange, call: scene.http.last.head(200, 'text/event-stream') };
  };
  const [one, two] = [begun('b', 7), begun('c', 8)];
  one.call.data(ROOTS);
  two.call.data(ROOTS);
  const [ofOne, ofTwo] = [messages(one)[0]?.id, messages(two)[0]?.id];
  t.not(ofOne, ofTwo);
  two.call.data('data: {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n\n');
  t.equal(messages(one).length, 1);
  t.equal(messages(two).length, 2);
  respond(one, ofOne, { roots: [{ uri: 'one:' }] });
  t.match(answers(one), [{ id: 1, result: { roots: [{ uri: 'one:' }] } }]);
  for (let id = 2; id <= limits.backendRequestsOpenMax + 2; id++) one.call.data(ask(id, 'roots/list'));
  t.match(answers(one).at(-1), { error: { message: /Too many/ } });
  const { length } = messages(two);
  two.call.data(ask(3, 'roots/list'));
  t.equal(messages(two).length, length + 1, "what one has open is not the other's");
});

t.test('the end of a call withdraws what was asked on its stream, and nothing else', async (t) => {
  const begun = begin(t);
  const other = begun.scene.post('tools/call', { name: 'b-x' }, 8);
  const otherCall = begun.scene.http.last.head(200, 'text/event-stream');
  begun.call.data(ROOTS);
  otherCall.data(ask(2, 'roots/list'));
  begun.call.data('data: {"jsonrpc":"2.0","id":7,"result":{"content":[]}}\n\n');
  const [asked, ...told] = messages(begun);
  t.ok(told.some(({ method, params }) => method === 'notifications/cancelled' && params?.requestId === asked?.id));
  const [stays] = messages({ ...begun, exchange: other });
  t.equal(messages({ ...begun, exchange: other }).length, 1);
  respond(begun, asked?.id);
  respond(begun, stays?.id);
  t.match(answers(begun), [{ id: 2 }]);
  t.equal(answers(begun).length, 1);
});

t.test('all of an agent’s concurrent calls may ask', async (t) => {
  const { scene } = begin(t);
  const exchanges = Array.from({ length: 48 }, (_, index) => {
    const exchange = scene.post('tools/call', { name: 'b-x' }, 100 + index);
    scene.http.last.head(200, 'text/event-stream').data(ask(index, 'roots/list'));
    return exchange;
  });
  for (const { written } of exchanges) t.match(JSON.parse(readEvents(written)[0] ?? '{}'), { method: 'roots/list' });
});

t.test('the number of open requests and the length of their ids are bounded', async (t) => {
  const begun = begin(t);
  const longest = 'x'.repeat(limits.backendRequestIdBytesMax - 2);
  begun.call.data(ask(longest, 'roots/list') + ask(`${longest}x`, 'roots/list'));
  t.equal(messages(begun).length, 1);
  t.match(answers(begun), [{ error: { code: -32603, message: /id .* too long/ } }]);
  for (let id = 1; id <= limits.backendRequestsOpenMax; id++) begun.call.data(ask(id, 'roots/list'));
  t.equal(messages(begun).length, limits.backendRequestsOpenMax);
  t.match(answers(begun).at(-1), { id: limits.backendRequestsOpenMax, error: { message: /Too many/ } });
});

t.test('progress of the client goes to the one backend whose token it names', async (t) => {
  const begun = begin(t);
  const token = (progressToken: unknown): object => ({ _meta: { progressToken } });
  begun.call.data(
    ask(1, 'roots/list', token('a')) + ask(2, 'roots/list', token('b')) + ask(3, 'roots/list', token('b')),
  );
  const progress = (progressToken: string): number => {
    const before = begun.scene.http.calls.length;
    const params = { progressToken, progress: 1 };
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params }));
    t.equal(begun.scene.request({ body }).answer?.status, 202);
    return begun.scene.http.calls.length - before;
  };
  t.equal(progress('a'), 1);
  t.match(JSON.parse(begun.scene.http.last.text), { params: { progressToken: 'a' } });
  t.equal(progress('b'), 0, 'two have it');
  t.equal(progress('c'), 0);
});

t.test('nothing is counted any more when the session ends', async (t) => {
  const begun = begin(t);
  begun.call.data(ROOTS);
  begun.scene.request({ method: 'DELETE' });
  t.match(messages(begun).at(-1), { id: 7, error: { message: /session ended/ } });
  t.equal(begun.scene.accounts.size, 0);
});

t.test(
  'a session whose client has a question to answer does not end as idle, though nothing else is under way',
  async (t) => {
    const scene = new RelayScene(t, virtualHostOf({ b: {} })).open(CAPABILITIES);
    scene.post('notifications/initialized', {});
    const listening = scene.request({ method: 'GET', body: Buffer.alloc(0), acceptedTypes: 'event-stream' });
    const stream = scene.http.calls.findLast(({ request }) => request.method === 'GET');
    stream?.head(200, 'text/event-stream').data(ROOTS);
    const [asked] = readEvents(listening.written).map((text) => JSON.parse(text) as { id: unknown });
    listening.abort();
    scene.context.advance(SESSION_IDLE_MS + 1_000);
    scene.request({ body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: asked?.id, result: { roots: [] } })) });
    t.same(JSON.parse(scene.http.last.text), { jsonrpc: '2.0', id: 1, result: { roots: [] } });
    const isKnown = (): boolean => scene.post('notifications/initialized', {}).answer?.status === 202;
    t.ok(isKnown());
    scene.context.advance(2 * SESSION_IDLE_MS);
    t.notOk(isKnown(), 'and then it does');
  },
);
