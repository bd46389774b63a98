// Edge cases of a call: cancellations, lost sessions, slow or absent callers, oversized input. The rest of a call's life is in test/spec.
import t, { type Test } from 'tap';
import { limits } from '../../src/shared/limits.js';
import { readEvents } from '../support/event-stream.js';
import { until } from '../support/until.js';
import type { RecordedExchange } from '../support/recorded-exchange.js';
import { RelayScene, initializeResult } from '../relay/relay-scene.js';
import { REQUEST_ID, type ScriptedCall } from '../upstream/scripted-upstream.js';
import { virtualHostOf } from '../relay/virtual-host.js';
import { DETACHED_READ_BYTES } from '../../src/calls/detached-call.js';
import { DETACHED_CALL_MS_MAX } from '../../src/calls/answered-request.js';
import { BACKEND_ANSWERS_UNDER_WAY_MAX } from '../../src/upstream/session/upstream-session.js';
import { CANCELLED_ANSWER_MS_MAX } from '../../src/calls/relayed-request.js';

const CANCELLED = '{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"Request cancelled"}}';

function open(t: Test): RelayScene {
  return new RelayScene(t, virtualHostOf({ b: {} })).open();
}

t.test('a call whose session is lost is sent once more', async (t) => {
  const scene = open(t);
  const exchange = scene.post('tools/call', { name: 'b-x' }, 7);
  scene.http.last.empty(404);
  scene.http.last.json(initializeResult, 'second');
  scene.http.last.empty();
  t.equal(scene.http.last.summary, 'tools/call');
  t.equal(scene.http.last.header('mcp-session-id'), 'second');
  t.equal(exchange.outcome, 'none');
});

t.test('a call whose answer breaks off is not sent again: the backend may have carried it out', async (t) => {
  const begun = 'data: {"jsonrpc":"2.0","method":"notifications/message","params":{}}\n\ndata: {"jsonrpc":"2.0",';
  const cuts: Readonly<Record<string, readonly [cut: (call: ScriptedCall) => unknown, reason: RegExp]>> = {
    'the connection ends before the head': [(call) => call.end(), /stream ended without a response/],
    'the connection breaks before the head': [(call) => call.fault('connection-lost'), /connection lost/],
    'an event stream ends': [
      (call) => call.head(200, 'text/event-stream').data(begun).end(),
      /stream ended without a response/,
    ],
    'the connection breaks within an event stream': [
      (call) => call.head(200, 'text/event-stream').data(begun).fault('connection-lost'),
      /connection lost/,
    ],
    'a JSON answer ends': [
      (call) => call.head(200, 'application/json').data('{"jsonrpc":"2.0",').end(),
      /invalid response/,
    ],
    'the connection breaks within a JSON answer': [
      (call) => call.head(200, 'application/json').data('{"jsonrpc":"2.0",').fault('connection-lost'),
      /connection lost/,
    ],
  };
  for (const [what, [cut, reason]] of Object.entries(cuts)) {
    const scene = open(t);
    const exchange = scene.post('tools/call', { name: 'b-book_flight' }, 7);
    const sentCount = scene.http.calls.length;
    cut(scene.http.last);
    t.equal(scene.http.calls.length, sentCount, `${what}: nothing is sent, not even an initialize`);
    const answer = exchange.answer?.body.toString() ?? readEvents(exchange.written).at(-1) ?? '{}';
    t.match(JSON.parse(answer), { id: 7, error: { code: -32603, message: reason } }, what);
    t.match(scene.post('tools/call', { name: 'b-x' }, 8).outcome, 'none');
    t.equal(scene.http.last.summary, 'tools/call', `${what}: the session is used on`);
  }
});

t.test('a cancelled call is not sent again', async (t) => {
  const scene = open(t);
  const exchange = scene.post('tools/call', { name: 'b-x' }, 7);
  const call = scene.http.last;
  scene.post('notifications/cancelled', { requestId: 7 });
  t.equal(scene.http.last.summary, 'notifications/cancelled');
  const sentCount = scene.http.calls.length;
  call.empty(404);
  t.equal(scene.http.calls.length, sentCount, 'nothing is sent');
  t.match(JSON.parse(exchange.answer?.body.toString() ?? ''), { id: 7, error: { code: -32603 } });
});

t.test('a call that is cancelled before it was sent is never sent', async (t) => {
  const scene = open(t);
  scene.post('tools/call', { name: 'b-x' }, 1);
  scene.http.last.empty(404);
  const exchange = scene.post('tools/call', { name: 'b-x' }, 7);
  scene.post('notifications/cancelled', { requestId: 7 });
  t.equal(exchange.answer?.body.toString(), CANCELLED);
  scene.http.last.json(initializeResult, 'second');
  scene.http.last.empty();
  const sent = scene.http.calls.filter(({ summary }) => summary === 'tools/call').map(({ text }) => text);
  t.same(
    sent.map((text) => (JSON.parse(text) as { id: number }).id),
    [1, 1],
    'the other call, once more',
  );
});

t.test('a backend that does not answer a cancelled call is given up after a while', async (t) => {
  const scene = open(t);
  const exchange = scene.post('tools/call', { name: 'b-x' }, 7);
  const call = scene.http.last;
  scene.post('notifications/cancelled', { requestId: 7 });
  scene.post('notifications/cancelled', { requestId: 7 });
  t.equal(exchange.outcome, 'none', 'it may still answer');
  scene.context.advance(CANCELLED_ANSWER_MS_MAX + 100);
  t.equal(exchange.answer?.body.toString(), CANCELLED);
  t.ok(call.isAborted);
});

t.test('a cancelled call is aborted at a backend without sessions, which cannot match the notification', async (t) => {
  const scene = new RelayScene(t, virtualHostOf({ b: {} }));
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }));
  scene.request({ body, sessionId: '' });
  scene.http.last.json(initializeResult);
  scene.http.last.empty();
  const exchange = scene.post('tools/call', { name: 'b-x' }, 7);
  const call = scene.http.last;
  t.equal(call.summary, 'tools/call');
  scene.post('notifications/cancelled', { requestId: 7 });
  t.equal(scene.http.last.summary, 'notifications/cancelled', 'and is told, as it may after all');
  t.ok(call.isAborted);
  t.equal(exchange.answer?.body.toString(), CANCELLED);
});

t.test('a call whose caller is gone goes on, up to a bound', async (t) => {
  const scene = open(t);
  const exchange = scene.post('tools/call', { name: 'b-x' }, 7);
  const call = scene.http.last;
  exchange.onAbort?.();
  scene.context.advance(DETACHED_CALL_MS_MAX / 2);
  t.notOk(call.isAborted, 'going away is not a cancellation');
  t.equal(scene.http.last, call, 'and the backend is told nothing');
  call.head(200, 'text/event-stream');
  scene.context.advance(DETACHED_CALL_MS_MAX / 2 + 200);
  t.ok(call.isAborted);
  t.equal(scene.http.last.summary, 'notifications/cancelled');
});

t.test('a backend that asks without end has only a few answers under way at once', async (t) => {
  const scene = open(t);
  scene.post('tools/call', { name: 'b-x' }, 7);
  const call = scene.http.last.head(200, 'text/event-stream');
  const sentCount = scene.http.calls.length;
  const ping = 'data: {"jsonrpc":"2.0","id":1,"method":"ping"}\n\n';
  for (let count = 0; count < BACKEND_ANSWERS_UNDER_WAY_MAX + 5; count += 1) call.data(ping);
  t.equal(scene.http.calls.length - sentCount, BACKEND_ANSWERS_UNDER_WAY_MAX);
  scene.http.last.empty();
  call.data(ping);
  t.equal(scene.http.calls.length - sentCount, BACKEND_ANSWERS_UNDER_WAY_MAX + 1, 'one more, once one is taken');
});

t.test('oversized params of initialize are refused with a message, and no backend is asked', async (t) => {
  const scene = open(t);
  const sentCount = scene.http.calls.length;
  const clientInfo = { name: 'c', version: '1' };
  for (const large of [
    { capabilities: { x: 'x'.repeat(limits.initializeParamsBytesMax) } },
    { other: 'x'.repeat(4_000_000) },
  ]) {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo, ...large };
    const exchange = scene.request({
      body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })),
      sessionId: '',
    });
    await until(() => exchange.answer !== undefined, 'the refusal');
    t.match(JSON.parse(exchange.answer?.body.toString() ?? ''), {
      error: { code: -32602, message: /params must not/ },
    });
  }
  t.equal(scene.http.calls.length, sentCount);
});

t.test('oversized names and ids are answered with short errors, and no backend is asked', async (t) => {
  const scene = open(t);
  const sentCount = scene.http.calls.length;
  const long = 'x'.repeat(1_000_000);
  const answerTo = async (method: string, params: unknown, id: string): Promise<{ text: string; error: unknown }> => {
    const exchange = scene.post(method, params, id);
    await until(() => exchange.answer !== undefined, 'an answer');
    const text = exchange.answer?.body.toString() ?? '';
    return { text, error: (JSON.parse(text) as { error: unknown }).error };
  };
  const unknownMethod = await answerTo(long, {}, '1');
  t.match(unknownMethod.error, { code: -32601, message: /^Method not found: x+…$/ });
  t.ok(unknownMethod.text.length < 10_000);
  const unknownName = await answerTo('tools/call', { name: `b-${long}` }, '1');
  t.match(unknownName.error, { code: -32602, message: /^Unknown tool: b-x+…$/ });
  t.ok(unknownName.text.length < 10_000);
  t.match((await answerTo('ping', {}, long)).error, { code: -32600 });
  t.equal(scene.http.calls.length, sentCount);
});

t.test('oversized clientInfo and capabilities are refused', async (t) => {
  const scene = open(t);
  const introductions = {
    clientInfo: { clientInfo: { name: 'c'.repeat(limits.clientMemberBytesMax), version: '1' } },
    capabilities: { capabilities: { experimental: { x: 'x'.repeat(limits.clientMemberBytesMax) } } },
  };
  for (const [name, large] of Object.entries(introductions)) {
    const clientInfo = { name: 'c', version: '1' };
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo, ...large };
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }));
    const exchange = scene.request({ body, sessionId: '' });
    const message = new RegExp(name);
    t.match(JSON.parse(exchange.answer?.body.toString() ?? ''), { error: { code: -32602, message } });
  }
});

const PROGRESS =
  'data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}\n\n';

/** A call with a progress token, whose backend has begun an event stream. */
function beginStream(t: Test): { scene: RelayScene; exchange: RecordedExchange; call: ScriptedCall } {
  const scene = open(t);
  const exchange = scene.post('tools/call', { name: 'b-x', _meta: { progressToken: 1 } }, 7);
  return { scene, exchange, call: scene.http.last.head(200, 'text/event-stream') };
}

t.test('a backend is read no faster than the caller takes its progress', async (t) => {
  const { exchange, call } = beginStream(t);
  call.data(PROGRESS);
  t.notOk(call.isPaused, 'the caller keeps up');
  exchange.isSlow = true;
  call.data(PROGRESS);
  t.ok(call.isPaused, 'the caller does not');
  exchange.drain();
  t.notOk(call.isPaused);
  call.data(PROGRESS);
  t.ok(call.isPaused, 'and again');
  exchange.isSlow = false;
  exchange.drain();
  call.data(`data: ${JSON.stringify({ jsonrpc: '2.0', id: 7, result: {} })}\n\n`);
  t.equal(exchange.outcome, 'ended');
});

t.test('the silence of a paused backend does not count, and that of a resumed one does', async (t) => {
  const { scene, exchange, call } = beginStream(t);
  exchange.isSlow = true;
  call.data(PROGRESS);
  scene.context.advance(scene.context.options.callIdleTimeoutMs * 2);
  t.equal(exchange.outcome, 'streaming', 'the silence is ours');
  exchange.isSlow = false;
  exchange.drain();
  scene.context.advance(scene.context.options.callIdleTimeoutMs + 100);
  t.equal(exchange.outcome, 'ended');
  t.match(exchange.written.toString(), /"id":7,"error":.*no response in time/);
});

t.test('a backend that was paused for a slow caller is read on when the caller goes away', async (t) => {
  const { exchange, call } = beginStream(t);
  exchange.isSlow = true;
  call.data(PROGRESS);
  t.ok(call.isPaused);
  exchange.abort();
  await until(() => !call.isPaused, 'its turn, as nobody will drain it any more');
  call.data(PROGRESS);
  t.notOk(call.isPaused);
});

t.test('a call that nobody hears is read a slice at a time, until its caller is back', async (t) => {
  const { scene, exchange, call } = beginStream(t);
  const slice = PROGRESS.repeat(Math.ceil(DETACHED_READ_BYTES / PROGRESS.length));
  call.data(slice);
  t.notOk(call.isPaused, 'while somebody hears it');
  exchange.abort();
  for (let turn = 0; turn < 3; turn += 1) {
    call.data(PROGRESS);
    t.notOk(call.isPaused, 'what is less than a slice does not wait');
    call.data(slice);
    t.ok(call.isPaused, 'a slice was read');
    await until(() => !call.isPaused, 'the next turn');
  }
  call.data(slice);
  t.ok(call.isPaused);
  const [lastEventId] =
    exchange.written
      .toString()
      .match(/(?<=id: )[\w-]+/g)
      ?.slice(-1) ?? [];
  const again = scene.request({ method: 'GET', lastEventId: lastEventId ?? '', body: Buffer.alloc(0) });
  t.notOk(call.isPaused, 'its caller is back');
  for (let pieces = 0; pieces < 3; pieces += 1) call.data(slice);
  t.notOk(call.isPaused, 'and hears it all');
  call.data(`data: ${JSON.stringify({ jsonrpc: '2.0', id: 7, result: {} })}\n\n`);
  t.equal(again.outcome, 'ended');
});

t.test('a call whose caller goes before it is sent is read a slice at a time as well', async (t) => {
  const scene = open(t);
  const params = { name: 'b-x', _meta: { progressToken: 1 } };
  const exchange = scene.exchange({
    body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params })),
  });
  exchange.isForgiving = true;
  exchange.abort();
  scene.relay.handle({ subject: 'alice', virtualHost: scene.virtualHost }, exchange);
  const call = scene.http.last.head(200, 'text/event-stream');
  call.data(PROGRESS.repeat(Math.ceil(DETACHED_READ_BYTES / PROGRESS.length)));
  t.ok(call.isPaused);
  await until(() => !call.isPaused, 'its turn');
  call.data(`data: ${JSON.stringify({ jsonrpc: '2.0', id: 7, result: {} })}\n\n`);
  t.notOk(call.isPaused, 'the end of the stream is read at once');
});

t.test("the answer has the bytes of the caller's id, whatever the backend makes of them", async (t) => {
  const ids = [
    ['1.50e1', '15'],
    ['15', '1.5e1'],
    ['"\\u0061b"', '"ab"'],
    ['"é"', '"\\u00e9"'],
    ['7', '7'],
    ['0', '-0'],
  ] as const;
  for (const [sent, answered] of ids) {
    for (const type of ['application/json', 'text/event-stream'] as const) {
      const scene = open(t);
      const body = `{"jsonrpc":"2.0","id":${sent},"method":"tools/call","params":{"name":"b-x"}}`;
      const exchange = scene.request({ body: Buffer.from(body) });
      const text = (id: string): string => `{ "result":{"n":1.0}, "id":${id} ,"jsonrpc":"2.0"}`;
      const call = scene.http.last.head(200, type);
      if (type === 'application/json') call.data(text(answered)).end();
      else call.data(`data: ${text(answered)}\n\n`);
      await until(() => exchange.outcome === 'responded', `the answer to ${sent}`);
      t.equal(exchange.answer?.body.toString(), text(sent), `${answered} as ${type}`);
    }
  }
});

t.test('an answer that is read in place reaches the caller intact, whatever becomes of that memory', async (t) => {
  const scene = new RelayScene(t, virtualHostOf({ b: {} })).open(
    {},
    initializeResult.replace('"tools"', '"resources"'),
  );
  const rest = `"result":{"contents":[{"uri":"file:///a","text":"${'x'.repeat(4_000)}"}]}}`;
  for (const [sent, method, expected] of [
    [`{"jsonrpc":"2.0","id":7,"result":{}}`, 'tools/call', `{"jsonrpc":"2.0","id":7,"result":{}}`],
    [`{"jsonrpc":"2.0","id":7.0,"result":{}}`, 'tools/call', `{"jsonrpc":"2.0","id":7,"result":{}}`],
    [`{"jsonrpc":"2.0","id":7,${rest}`, 'tools/call', `{"jsonrpc":"2.0","id":7,${rest}`],
    [`{"jsonrpc":"2.0","id":7,${rest}`, 'resources/read', `{"jsonrpc":"2.0","id":7,${rest.replace('file', 'b+file')}`],
  ] as const) {
    for (const answerForms of ['both', 'event-stream'] as const) {
      const params = method === 'tools/call' ? { name: 'b-x' } : { uri: 'b+file:///a' };
      const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }));
      const exchange = scene.exchange({ body, acceptedTypes: answerForms });
      const given: (Uint8Array | string)[] = [];
      const respond = exchange.respond.bind(exchange);
      exchange.respond = (status, contentType, bytes, ...more) => {
        given.push(bytes);
        respond(status, contentType, bytes, ...more);
      };
      scene.relay.handle({ subject: 'alice', virtualHost: scene.virtualHost }, exchange);
      scene.http.last.whole(sent);
      if (answerForms === 'both') t.same(given.map(String), [expected], `${method}, as it is afterwards`);
      else t.equal(readEvents(exchange.written).at(-1), expected, method);
    }
  }
});

t.test('a call whose session is lost again fails: it is sent twice at most', async (t) => {
  const scene = open(t);
  const exchange = scene.post('tools/call', { name: 'b-x' }, 7);
  scene.http.last.empty(404);
  scene.http.last.json(initializeResult, 'second');
  scene.http.last.empty();
  scene.http.last.empty(404);
  t.match(JSON.parse(exchange.answer?.body.toString() ?? ''), {
    id: 7,
    error: { code: -32603, message: /session lost/ },
  });
  t.equal(scene.http.calls.filter(({ summary }) => summary === 'tools/call').length, 2);
});

t.test('a repeated tasks/result replaces the waits of callers that are gone, and no others', async (t) => {
  const result = { protocolVersion: '2025-11-25', capabilities: { tools: {}, tasks: {} } };
  const answer = JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result });
  const scene = new RelayScene(t, virtualHostOf({ b: {} })).open({}, answer);
  const wait = (taskId: string, id: number): [RecordedExchange, ScriptedCall] => {
    const exchange = scene.post('tasks/result', { taskId }, id);
    return [exchange, scene.http.last];
  };
  const cancelled = (): unknown[] =>
    scene.http.calls
      .filter(({ summary }) => summary === 'notifications/cancelled')
      .map(({ text }) => (JSON.parse(text) as { params: { requestId: unknown } }).params.requestId);
  const [gone, goneCall] = wait('b-t', 1);
  const [otherGone, otherCall] = wait('b-u', 2);
  const [, heardCall] = wait('b-t', 3);
  for (const exchange of [gone, otherGone]) {
    exchange.abort();
    // The relay also answers the callers that are gone; these answers are ignored.
    Object.assign(exchange, { respond: () => undefined });
  }
  t.same(cancelled(), [], 'going away is no cancellation');
  const [exchange, call] = wait('b-t', 4);
  t.equal(call.summary, 'tasks/result');
  t.same(cancelled(), [1]);
  t.same(
    [goneCall, otherCall, heardCall, call].map(({ isAborted }) => isAborted),
    [true, false, false, false],
  );
  call.json('{"jsonrpc":"2.0","id":4,"result":{"content":[]}}');
  t.equal(exchange.answer?.body.toString(), '{"jsonrpc":"2.0","id":4,"result":{"content":[]}}');
});

t.test('when a session ends, its many requests are answered over several turns, each once', async (t) => {
  for (const method of ['tools/call', 'tools/list']) {
    const scene = open(t);
    const exchanges = Array.from({ length: 500 }, (_, id) => scene.post(method, { name: 'b-x' }, id + 1));
    const calls = scene.http.calls.filter(({ summary }) => summary === method);
    scene.request({ method: 'DELETE', body: Buffer.alloc(0) });
    const answered = (): number => exchanges.filter(({ outcome }) => outcome === 'responded').length;
    t.ok(answered() < exchanges.length, `${method}: other callers are served in between`);
    calls.at(-1)?.json('{"jsonrpc":"2.0","id":500,"result":{}}');
    await until(() => answered() === exchanges.length, 'all answers');
    const text = exchanges[250]?.answer?.body.toString() ?? '';
    t.match(JSON.parse(text), { id: 251, error: { message: /session ended/ } });
    t.ok(calls.slice(0, -1).every(({ isAborted }) => isAborted));
  }
});

t.test(
  'a caller that went away is asked if it can come back to its stream; otherwise the backend is told',
  async (t) => {
    for (const [version, isAsked] of [
      ['2025-11-25', true],
      ['2025-06-18', false],
    ] as const) {
      const scene = new RelayScene(t, virtualHostOf({ b: {} })).open({ sampling: {} }, initializeResult, version);
      const exchange = scene.post('tools/call', { name: 'b-x' }, 7);
      const call = scene.http.last.head(200, 'text/event-stream');
      call.data('data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}\n\n');
      t.equal(exchange.outcome, 'streaming');
      exchange.abort();
      call.data('data: {"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{}}\n\n');
      const told = scene.http.calls.flatMap(({ text }) =>
        text.includes('"id":"q"') ? [JSON.parse(text) as unknown] : [],
      );
      t.match(told, isAsked ? [] : [{ id: 'q', error: { message: /client/ } }], version);
      t.equal(told.length, isAsked ? 0 : 1);
    }
  },
);

t.test('a watcher is told of a tool error if it wants to know, and only of tools', async (t) => {
  for (const [method, wantsToolErrors, expected] of [
    ['tools/call', true, 'tool-error'],
    ['tools/call', false, 'ok'],
    ['resources/read', true, 'ok'],
  ] as const) {
    const scene = new RelayScene(t, virtualHostOf({ b: {} })).open(
      {},
      initializeResult.replace('"tools"', '"resources"'),
    );
    const params = { name: 'b-x', uri: 'b+x:1' };
    const exchange = scene.exchange({ body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 7, method, params })) });
    const outcomes: string[] = [];
    const none = (): undefined => undefined;
    const others = { isTraced: false, onIdentified: none, onSending: none, onBatchPart: none, onDone: none };
    exchange.watcher = { ...others, wantsToolErrors, onOutcome: (outcome) => void outcomes.push(outcome) };
    scene.relay.handle({ subject: 'alice', virtualHost: scene.virtualHost }, exchange);
    scene.http.last.json('{"jsonrpc":"2.0","id":7,"result":{"content":[],"contents":[],"isError":true}}');
    t.same(outcomes, [expected], method);
  }
});
