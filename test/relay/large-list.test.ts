// Large lists through the relay: what backends send in pieces goes out as one list, and an answer that breaks half-way
// costs its own backend alone.
import t, { type Test } from 'tap';
import type { ExchangeRequest } from '../../src/relay/exchange/exchange.js';
import { limits } from '../../src/shared/limits.js';
import { roomyShares } from '../support/shares.js';
import type { RecordedExchange } from '../support/recorded-exchange.js';
import { until } from '../support/until.js';
import { RelayScene } from './relay-scene.js';
import { REQUEST_ID, type ScriptedCall } from '../upstream/scripted-upstream.js';
import { virtualHostOf } from './virtual-host.js';

/** Makes an answer too large to be read and merged in one go. */
const BULK = 'x'.repeat(2 * limits.listBytesInlineMax);
const PIECE_CHARS = 50_000;

function tool(name: string, bulk = BULK): string {
  return `{"n":1.0,"name":"${name}","description":"${bulk}"}`;
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
  context.advance(limits.noticeMsMax + 100);
  await stopped;
}

function at(calls: readonly ScriptedCall[], index: number): ScriptedCall {
  const call = calls[index];
  if (call === undefined) throw new Error(`no request ${index}`);
  return call;
}

t.test('answers in pieces, as JSON and as events, page by page, become one list', async (t) => {
  const { scene, exchange, calls } = ask(t, 'json', 'events', 'small');
  const sentBefore = scene.http.calls.length;
  feed(at(calls, 0).head(200, 'application/json'), answerWith([tool('z')], 'more')).end();
  feed(at(calls, 1).head(200, 'text/event-stream'), `data: ${answerWith([tool('e')])}\n\n`).end();
  at(calls, 2).json(answerWith([tool('s', '')]));
  await until(() => scene.http.calls.length > sentBefore, 'the question for the second page');
  t.match(scene.http.last.text, /"cursor":"more"/);
  feed(scene.http.last.head(200, 'application/json'), answerWith([tool('a')])).end();
  const tools = [tool('events-e'), tool('json-a'), tool('json-z'), tool('small-s', '')];
  t.equal(await listOf(exchange), `{"jsonrpc":"2.0","id":7,"result":{"tools":[${tools.join()}]}}`);
  t.equal(exchange.body?.bodyBytes, exchange.writtenBytes);
});

t.test('--list-cache keeps large lists while nothing is different for their caller', async (t) => {
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
  await until(() => scene.accounts.held('listBytes') === 0, 'what is kept has a share of its own');
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
  t.equal(late.calls.length, 1, 'the other one is kept');
  onChanged('b-x');
  t.ok(scene.accounts.held('listBytes') > BULK.length, 'it is used still, and counts');
  answer(at(late.calls, 0), 'four');
  t.match((await listOf(late.exchange)).replaceAll(BULK, ''), new RegExp(says('b-one', 'c-four'), 's'));
  await until(() => scene.accounts.held('listBytes') === 0, 'room');
  const [again, fresh] = await list('five');
  t.equal(again, 1, 'what was dropped is asked for');
  t.match(fresh, new RegExp(says('b-five', 'c-four'), 's'));
  t.same(await list('x'), [0, fresh]);

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
  const sentBefore = scene.http.calls.length;
  feed(at(calls, 0).head(200, 'application/json'), answerWith([tool('x')], 'more')).end();
  feed(at(calls, 1).head(200, 'application/json'), answerWith([tool('x')])).end();
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
    const heldBefore = scene.accounts.held('listBytes');
    feed(at(calls, 0).head(200, 'application/json'), answerWith([tool('x')])).end();
    at(calls, 1).json(answerWith([tool('y', '')]));
    const { result } = JSON.parse(await listOf(exchange)) as { result: unknown };
    t.match(result, {
      tools: [{ name: 'small-y' }],
      _meta: { 'switchyard/unavailable': [{ backend: 'large', reason }] },
    });
    t.equal(scene.accounts.held('listBytes'), heldBefore);
  });
}

for (const [form, contentType] of [
  ['JSON', 'application/json'],
  ['events', 'text/event-stream'],
] as const) {
  t.test(`many small pages of one backend count when they are large together: ${form}`, async (t) => {
    const { scene, exchange } = ask(t, 'b');
    const pageChars = limits.listBytesInlineMax / 4;
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
      const uncountedBytes = (index + 1) * pageChars - scene.accounts.held('listBytes');
      t.ok(uncountedBytes <= limits.listBytesInlineMax, `${uncountedBytes} after page ${index}`);
    }
    const { result } = JSON.parse(await listOf(exchange)) as { result: { tools: { name: string }[] } };
    t.same(
      result.tools.map(({ name }) => name),
      names.map((name) => `b-${name}`),
    );
    await until(() => scene.accounts.held('listBytes') === 0, 'room');
  });
}

t.test('a subject that has used up its share leaves room for the large lists of others', async (t) => {
  const { scene, exchange, calls } = ask(t, 'b');
  scene.accounts.of('somebody else').listBytes.take(roomyShares.subjectListBytesMax);
  feed(at(calls, 0).head(200, 'application/json'), answerWith([tool('x')])).end();
  t.match(await listOf(exchange), /"name":"b-x"/);
});

t.test('an answer that finds no room half-way is read no further, and holds nothing', async (t) => {
  const { scene, exchange, calls } = ask(t, 'large', 'small');
  scene.accounts.of('alice').listBytes.take(roomyShares.subjectListBytesMax - BULK.length);
  const heldBefore = scene.accounts.held('listBytes');
  const large = at(calls, 0).head(200, 'application/json');
  const text = answerWith([tool('x')]);
  feed(large, text.slice(0, BULK.length / 2 + PIECE_CHARS));
  t.ok(scene.accounts.held('listBytes') > heldBefore, 'what has arrived counts');
  feed(large, text.slice(BULK.length / 2 + PIECE_CHARS, -1));
  t.ok(large.isAborted);
  await until(() => scene.accounts.held('listBytes') === heldBefore, 'room');
  at(calls, 1).json(answerWith([tool('y', '')]));
  t.match(JSON.parse(await listOf(exchange)), { result: { tools: [{ name: 'small-y' }] } });
});

t.test('very many small tools count for the memory that they take', async (t) => {
  const { scene, exchange, calls } = ask(t, 'large', 'small');
  const names = Array.from({ length: 30_000 }, (_, n) => `{"name":"${n}"}`);
  const text = answerWith(names);
  const tooLittle = text.length + (names.length - 1) * limits.listToolBytesEach;
  scene.accounts.of('alice').listBytes.take(roomyShares.subjectListBytesMax - tooLittle);
  feed(at(calls, 0).head(200, 'application/json'), text).end();
  at(calls, 1).json(answerWith([tool('y', '')]));
  t.match(JSON.parse(await listOf(exchange)), {
    result: { tools: [{ name: 'small-y' }], _meta: { 'switchyard/unavailable': [{ backend: 'large' }] } },
  });
});

t.test('very many tools that name a page are listed', async (t) => {
  const { exchange, calls } = ask(t, 'b');
  const names = ['ui/resourceUri', 'openai/outputTemplate'];
  const meta = `{"ui":{"resourceUri":"ui://x"},${names.map((name) => `"${name}":"ui://x"`).join()}}`;
  const tools = Array.from({ length: 50_000 }, (_, n) => `{"name":"${n}","_meta":${meta}}`);
  feed(at(calls, 0).head(200, 'application/json'), answerWith(tools)).end();
  const { result } = JSON.parse(await listOf(exchange)) as { result: { tools: unknown[] } };
  t.equal(result.tools.length, tools.length);
});

t.test('of many lists at once, those that find room are whole: memory that one gives up serves another', async (t) => {
  const { scene } = ask(t, 'b');
  const size = answerWith([tool('x')]).length + limits.listToolBytesEach;
  scene.accounts.of('alice').listBytes.take(roomyShares.subjectListBytesMax - 1.5 * size);
  for (let round = 0; round < 4; round += 1) {
    const lists = Array.from({ length: 3 }, () => {
      const exchange = scene.post('tools/list', {}, 7);
      return { exchange, call: scene.http.last.head(200, 'application/json') };
    });
    const text = answerWith([tool('x')]);
    for (let from = 0; from < text.length; from += PIECE_CHARS) {
      for (const { call } of lists) if (!call.isAborted) call.data(text.slice(from, from + PIECE_CHARS));
    }
    for (const { call } of lists) if (!call.isAborted) call.end();
    const texts = await Promise.all(lists.map(({ exchange }) => listOf(exchange)));
    t.equal(texts.filter((each) => each.includes('"name":"b-x"')).length, 1, `round ${round}`);
  }
});

t.test('a session that ends while its list is read answers it once', async (t) => {
  const { scene, exchange, calls } = ask(t, 'b');
  // More than one turn of the event loop reads.
  feed(
    at(calls, 0).head(200, 'application/json'),
    answerWith([tool('x', `","x":[${'{},'.repeat(3_000_000)}{}],"y":"`)]),
  ).end();
  scene.request({ method: 'DELETE', body: Buffer.alloc(0) });
  t.match(JSON.parse(await listOf(exchange)), { id: 7, error: { code: -32603 } });
  t.equal(scene.accounts.held('listBytes'), 0);
  // The exchange would throw at a second answer.
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
  await stop(scene);
});
