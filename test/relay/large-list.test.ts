// Large lists through the relay: what backends send in pieces goes out as one list, and an answer that breaks half-way
// costs its own backend alone.
import type { Worker } from 'node:worker_threads';
import t, { type Test } from 'tap';
import type { ExchangeRequest } from '../../src/exchange/exchange.js';
import { LIST_BYTES_INLINE_MAX } from '../../src/lists/list-memory.js';
import { limits } from '../../src/shared/limits.js';
import { answerOptions } from '../support/answer-options.js';
import { roomyShares } from '../support/shares.js';
import type { RecordedExchange } from '../support/recorded-exchange.js';
import { until } from '../support/until.js';
import { RelayScene } from './relay-scene.js';
import { REQUEST_ID, type ScriptedCall } from '../upstream/scripted-upstream.js';
import { virtualHostOf } from './virtual-host.js';

/** Makes an answer too large to be merged on the event loop. */
const BULK = 'x'.repeat(2 * LIST_BYTES_INLINE_MAX);
const PIECE_CHARS = 50_000;

function tool(name: string, bulk = BULK): string {
  return `{"n":1.0,"name":"${name}","inputSchema":{"type":"object"},"description":"${bulk}"}`;
}

function answerWith(tools: readonly string[], cursor?: string): string {
  const more = cursor === undefined ? '' : `,"nextCursor":"${cursor}"`;
  return `{"jsonrpc":"2.0","id":"${REQUEST_ID}","result":{"tools":[${tools.join()}]${more}}}`;
}

/** Sends the text in pieces, so that the relay does not get it at once. */
function feed(call: ScriptedCall, text: string): ScriptedCall {
  for (let at = 0; at < text.length; at += PIECE_CHARS) call.data(text.slice(at, at + PIECE_CHARS));
  return call;
}

/** The list that an exchange was given, as text. */
async function listOf(exchange: RecordedExchange): Promise<string> {
  await until(() => ['responded', 'ended'].includes(exchange.outcome), 'the list');
  return (exchange.answer?.body ?? exchange.written).toString();
}

interface Asked {
  readonly scene: RelayScene;
  readonly exchange: RecordedExchange;
  /** The requests to the backends, in the order of the backends. */
  readonly calls: readonly ScriptedCall[];
}

/** Opens a session with these backends and asks for its tools. */
function ask(t: Test, ...names: readonly string[]): Asked {
  const scene = new RelayScene(t, virtualHostOf(Object.fromEntries(names.map((name) => [name, {}])))).open();
  t.teardown(() => stop(scene));
  const sentBefore = scene.http.calls.length;
  const exchange = scene.post('tools/list', {}, 7);
  return { scene, exchange, calls: scene.http.calls.slice(sentBefore) };
}

/** Stops the relay; the backends never answer its DELETE. */
async function stop({ relay, context }: RelayScene): Promise<void> {
  const stopped = relay.stop();
  context.advance(limits.oneWayRequestMsMax + 100);
  await stopped;
}

function at(calls: readonly ScriptedCall[], index: number): ScriptedCall {
  const call = calls[index];
  if (call === undefined) throw new Error(`no request ${index}`);
  return call;
}

t.test('answers in pieces, as JSON and as events, page by page, become one list', async (t) => {
  const { scene, exchange, calls } = ask(t, 'json', 'events', 'small');
  feed(at(calls, 0).head(200, 'application/json'), answerWith([tool('z')], 'more')).end();
  feed(at(calls, 1).head(200, 'text/event-stream'), `data: ${answerWith([tool('e')])}\n\n`).end();
  at(calls, 2).json(answerWith([tool('s', '')]));
  const sentBefore = scene.http.calls.length;
  await until(() => scene.http.calls.length > sentBefore, 'the question for the second page');
  t.match(scene.http.last.text, /"cursor":"more"/);
  feed(scene.http.last.head(200, 'application/json'), answerWith([tool('a')])).end();
  const tools = [tool('events-e'), tool('json-a'), tool('json-z'), tool('small-s', '')];
  t.equal(await listOf(exchange), `{"jsonrpc":"2.0","id":7,"result":{"tools":[${tools.join()}]}}`);
  t.equal(exchange.body?.bodyBytes, exchange.writtenBytes);
});

t.test('a list that is merged for long is still one answer', async (t) => {
  const { scene, exchange, calls } = ask(t, 'a', 'b');
  // Each is read at once; both together are merged by a thread.
  const bulk = BULK.slice(0, 0.7 * LIST_BYTES_INLINE_MAX);
  scene.context.advance(0.9 * answerOptions.slowAnswerMs);
  for (const call of calls) call.json(answerWith([tool('x', bulk)]));
  t.equal(exchange.outcome, 'none', 'the backends have answered, and the thread has not');
  scene.context.advance(0.6 * answerOptions.slowAnswerMs);
  const tools = [tool('a-x', bulk), tool('b-x', bulk)];
  const text = await listOf(exchange);
  t.equal(text, `{"jsonrpc":"2.0","id":7,"result":{"tools":[${tools.join()}]}}`);
});

t.test('--list-cache keeps large lists while nothing is different for their caller', async (t) => {
  const threads: Worker[] = [];
  const onWorker = (thread: Worker): void => void threads.push(thread);
  process.on('worker', onWorker);
  t.teardown(() => process.off('worker', onWorker));
  const host = virtualHostOf({ b: { passthrough_headers: ['x-tenant'] }, c: {} });
  const capabilities = { tools: { listChanged: true } };
  const result = { protocolVersion: '2025-11-25', capabilities };
  const opening = JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result });
  const scene = new RelayScene(t, host, {}, undefined, { listCacheMs: 60_000 }).open({}, opening).open({}, opening);
  t.teardown(() => stop(scene));
  const body = Buffer.from('{"jsonrpc":"2.0","id":7,"method":"tools/list"}');
  const begin = (parts: Partial<ExchangeRequest> = {}): Asked => {
    const sentBefore = scene.http.calls.length;
    const exchange = scene.request({ body, ...parts });
    return { scene, exchange, calls: scene.http.calls.slice(sentBefore) };
  };
  const answer = (call: ScriptedCall, name: string): void =>
    void feed(call.head(200, 'application/json'), answerWith([tool(name), tool(`${name}2`)])).end();
  /** Requests a list; returns how many backends were asked, and the list. */
  const list = async (name: string, parts?: Partial<ExchangeRequest>): Promise<readonly [number, string]> => {
    const { exchange, calls } = begin(parts);
    for (const call of calls) answer(call, name);
    const text = await listOf(exchange);
    return [calls.length, text.replaceAll(BULK, '')];
  };
  const says = (...names: string[]): string => names.map((name) => `"name":"${name}"`).join('.*');
  const changed = 'data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n';
  const onChanged = (name: string): void => {
    scene.post('tools/call', { name }, name);
    scene.http.last.head(200, 'text/event-stream').data(changed);
  };

  const [count, first] = await list('one');
  t.equal(count, 2);
  t.match(first, new RegExp(says('b-one', 'b-one2', 'c-one', 'c-one2'), 's'));
  t.same(await list('two'), [0, first], 'the same bytes');
  t.same(await list('two', { sessionId: 'a-session-2' }), [0, first], 'another session of the same client');
  const both = [begin(), begin({ sessionId: 'a-session-2' })];
  for (const { exchange } of both) t.equal((await listOf(exchange)).replaceAll(BULK, ''), first, 'two at once');
  await until(() => scene.accounts.used('listBytes') === 0, 'what is kept has a share of its own');
  const tenant = { passthroughHeaders: ['x-tenant', '7'] };
  const [others, theirs] = await list('three', tenant);
  t.equal(others, 1, 'who shows something else is given no list of these');
  t.match(theirs, new RegExp(says('b-three', 'b-three2', 'c-one'), 's'));
  t.same(
    [await list('x', tenant), await list('x')],
    [
      [0, theirs],
      [0, first],
    ],
  );

  onChanged('c-x');
  const late = begin();
  t.equal(late.calls.length, 1, 'the other one is lent');
  onChanged('b-x');
  t.ok(scene.accounts.used('listBytes') > BULK.length, 'it is used still, and counts');
  answer(at(late.calls, 0), 'four');
  t.match((await listOf(late.exchange)).replaceAll(BULK, ''), new RegExp(says('b-one', 'c-four'), 's'));
  await until(() => scene.accounts.used('listBytes') === 0, 'room');
  const [again, fresh] = await list('five');
  t.equal(again, 1, 'what was dropped is asked for');
  t.match(fresh, new RegExp(says('b-five', 'c-four'), 's'));
  t.same(await list('x'), [0, fresh]);

  await threads.at(-1)?.terminate();
  t.match(await list('six'), [2, new RegExp(says('b-six', 'c-six'), 's')], 'what a thread kept goes with it');
  t.match(await list('x'), [0, new RegExp(says('b-six', 'c-six'), 's')]);
  scene.context.advance(61_000);
  t.match(await list('seven'), [2, new RegExp(says('b-seven', 'c-seven'), 's')], 'too old');
});

t.test('a large message before the list is not mistaken for it', async (t) => {
  const { scene, exchange, calls } = ask(t, 'b');
  const call = at(calls, 0).head(200, 'text/event-stream');
  const sentBefore = scene.http.calls.length;
  feed(call, `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"data":"${BULK}"}}\n\n`);
  await until(() => !call.isPaused, 'the first to be read');
  feed(call, `data: {"jsonrpc":"2.0","id":3,"method":"ping","params":{"result":"${BULK}"}}\n\n`);
  await until(() => scene.http.calls.length > sentBefore, 'an answer to the ping');
  t.match(scene.http.calls[sentBefore]?.text, /"id":3,"result":\{\}/);
  feed(call, `data: ${answerWith([tool('x')])}\n\n`);
  t.match(await listOf(exchange), /"name":"b-x"/);
});

const nonsense: Readonly<Record<string, string>> = {
  "another request's": answerWith([tool('x')]).replace(REQUEST_ID, 'other'),
  'not JSON at its end': `${answerWith([tool('x')]).slice(0, -1)}]`,
  'no list of tools': `{"jsonrpc":"2.0","id":"${REQUEST_ID}","result":{"tools":{"x":"${BULK}"}}}`,
  'a request too': answerWith([tool('x')]).replace('"id"', '"method":"x","id"'),
};

for (const [what, text] of Object.entries(nonsense)) {
  t.test(`a large answer that is ${what} costs its backend alone`, async (t) => {
    const { exchange, calls } = ask(t, 'json', 'events', 'good');
    feed(at(calls, 0).head(200, 'application/json'), text).end();
    feed(at(calls, 1).head(200, 'text/event-stream'), `data: ${text}\n\n`).end();
    feed(at(calls, 2).head(200, 'application/json'), answerWith([tool('x')])).end();
    const { result } = JSON.parse(await listOf(exchange)) as { result: unknown };
    t.match(result, {
      tools: [{ name: 'good-x' }],
      _meta: {
        'switchyard/unavailable': [
          { backend: 'events', reason: 'invalid response' },
          { backend: 'json', reason: 'invalid response' },
        ],
      },
    });
  });
}

t.test('a backend that is lost in the middle of a large answer is missing completely', async (t) => {
  const { scene, exchange, calls } = ask(t, 'lost', 'good');
  feed(at(calls, 0).head(200, 'application/json'), answerWith([tool('x')], 'more')).end();
  feed(at(calls, 1).head(200, 'application/json'), answerWith([tool('x')])).end();
  const sentBefore = scene.http.calls.length;
  await until(() => scene.http.calls.length > sentBefore, 'the question for the second page');
  feed(scene.http.last.head(200, 'application/json'), answerWith([tool('y')]).slice(0, -1)).fault('connection-lost');
  const { result } = JSON.parse(await listOf(exchange)) as { result: { tools: { name: string }[] } };
  t.same(
    result.tools.map(({ name }) => name),
    ['good-x'],
  );
  t.match(result, { _meta: { 'switchyard/unavailable': [{ backend: 'lost', reason: 'connection lost' }] } });
});

const fullShares = {
  'its subject’s share is full': {
    others: { alice: roomyShares.subjectListBytesMax - BULK.length },
    reason: 'list too large for your share of memory: wait for others to finish',
  },
  'others fill all there is': {
    others: { ada: roomyShares.listBytesMax - BULK.length },
    reason: 'no memory for its list: too many bytes of large lists at once',
  },
};

for (const [what, { others, reason }] of Object.entries(fullShares)) {
  t.test(`a backend whose large list finds no room is missing, and named: ${what}`, async (t) => {
    const { scene, exchange, calls } = ask(t, 'large', 'small');
    for (const [subject, bytes] of Object.entries(others)) scene.accounts.of(subject).listBytes.take(bytes);
    const heldBefore = scene.accounts.used('listBytes');
    feed(at(calls, 0).head(200, 'application/json'), answerWith([tool('x')])).end();
    at(calls, 1).json(answerWith([tool('y', '')]));
    const { result } = JSON.parse(await listOf(exchange)) as { result: unknown };
    t.match(result, {
      tools: [{ name: 'small-y' }],
      _meta: { 'switchyard/unavailable': [{ backend: 'large', reason }] },
    });
    t.equal(scene.accounts.used('listBytes'), heldBefore);
  });
}

for (const [form, contentType] of [
  ['JSON', 'application/json'],
  ['events', 'text/event-stream'],
] as const) {
  t.test(`many small pages of one backend count when they are large together: ${form}`, async (t) => {
    const { scene, exchange } = ask(t, 'b');
    const pageChars = LIST_BYTES_INLINE_MAX / 4;
    const pageCount = 10;
    const names = Array.from({ length: pageCount }, (_, index) => `tool-${index}`);
    for (const [index, name] of names.entries()) {
      const call = scene.http.last;
      const sentBefore = scene.http.calls.length;
      const isLast = index === pageCount - 1;
      const page = answerWith([tool(name, 'x'.repeat(pageChars))], isLast ? undefined : `cursor-${index}`);
      feed(call.head(200, contentType), contentType === 'application/json' ? page : `data: ${page}\n\n`).end();
      if (isLast) break;
      await until(() => scene.http.calls.length > sentBefore, 'the question for the next page');
      const uncountedBytes = (index + 1) * pageChars - scene.accounts.used('listBytes');
      t.ok(uncountedBytes <= LIST_BYTES_INLINE_MAX, `${uncountedBytes} after page ${index}`);
    }
    const { result } = JSON.parse(await listOf(exchange)) as { result: { tools: { name: string }[] } };
    t.same(
      result.tools.map(({ name }) => name),
      names.map((name) => `b-${name}`),
    );
    await until(() => scene.accounts.used('listBytes') === 0, 'room');
  });
}

t.test('very many tools that name a page are listed', async (t) => {
  const { exchange, calls } = ask(t, 'b');
  const names = ['ui/resourceUri', 'openai/outputTemplate'];
  const meta = `{"ui":{"resourceUri":"ui://x"},${names.map((name) => `"${name}":"ui://x"`).join()}}`;
  const tools = Array.from(
    { length: 50_000 },
    (_, n) => `{"name":"${n}","inputSchema":{"type":"object"},"_meta":${meta}}`,
  );
  feed(at(calls, 0).head(200, 'application/json'), answerWith(tools)).end();
  const { result } = JSON.parse(await listOf(exchange)) as { result: { tools: unknown[] } };
  t.equal(result.tools.length, tools.length);
});

t.test('a subject that has used up its share leaves room for the large lists of others', async (t) => {
  const { scene, exchange, calls } = ask(t, 'b');
  scene.accounts.of('somebody else').listBytes.take(roomyShares.subjectListBytesMax);
  feed(at(calls, 0).head(200, 'application/json'), answerWith([tool('x')])).end();
  t.match(await listOf(exchange), /"name":"b-x"/);
});

t.test(
  'a large answer that is lost with the thread that reads it costs its backend alone, and only once',
  async (t) => {
    const threads: Worker[] = [];
    const onWorker = (thread: Worker): void => {
      threads.push(thread);
      if (threads.length === 1) void thread.terminate();
    };
    process.on('worker', onWorker);
    t.teardown(() => process.off('worker', onWorker));
    const { scene, exchange, calls } = ask(t, 'lost', 'good');
    at(calls, 1).json(answerWith([tool('x', '')]));
    feed(at(calls, 0).head(200, 'application/json'), answerWith([tool('x')])).end();
    const { result } = JSON.parse(await listOf(exchange)) as { result: unknown };
    t.match(result, {
      tools: [{ name: 'good-x' }],
      _meta: { 'switchyard/unavailable': [{ backend: 'lost', reason: /could not be read/ }] },
    });
    const sentBefore = scene.http.calls.length;
    const again = scene.post('tools/list', {}, 8);
    const [lost, good] = scene.http.calls.slice(sentBefore);
    good?.json(answerWith([tool('x', '')]));
    feed(lost!.head(200, 'application/json'), answerWith([tool('x')])).end();
    t.match(await listOf(again), /"name":"lost-x"/);
    t.equal(threads.length, 2);
  },
);

t.test("a backend's deadline holds while its answer waits to be read", async (t) => {
  const { scene, exchange, calls } = ask(t, 'late', 'good');
  at(calls, 1).json(answerWith([tool('x', '')]));
  feed(at(calls, 0).head(200, 'application/json'), answerWith([tool('x')])).end();
  scene.context.advance(scene.context.options.listTimeoutMs + 100);
  const { result } = JSON.parse(await listOf(exchange)) as { result: unknown };
  t.match(result, {
    tools: [{ name: 'good-x' }],
    _meta: { 'switchyard/unavailable': [{ backend: 'late', reason: 'no response in time' }] },
  });
});

t.test('a list that is not merged in time is an error', async (t) => {
  const { scene, exchange, calls } = ask(t, 'one', 'two');
  const half = tool('x', 'x'.repeat(LIST_BYTES_INLINE_MAX - 1_000));
  at(calls, 0).json(answerWith([half]));
  at(calls, 1).json(answerWith([half]));
  scene.context.advance(limits.listTaskMsMax + 100);
  t.match(JSON.parse(await listOf(exchange)), { id: 7, error: { code: -32603 } });
});

t.test('a session that ends while its list is read answers it once', async (t) => {
  const { scene, exchange, calls } = ask(t, 'b');
  feed(at(calls, 0).head(200, 'application/json'), answerWith([tool('x')])).end();
  scene.request({ method: 'DELETE', body: Buffer.alloc(0) });
  t.match(JSON.parse(await listOf(exchange)), { id: 7, error: { code: -32603 } });
  // Stopping ends the list thread and so the reading; the exchange would throw at a second answer.
  await stop(scene);
});
