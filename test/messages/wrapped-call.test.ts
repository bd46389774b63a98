// Tools behind a search. A catalogue of `find_tools` is kept for those who may see it, and calls through `call_tool` count as calls do.
// A backend of MCP 2026-07-28 gets the headers that its tool wants, which the client cannot have sent: its own call is to another tool.
import t, { type Test } from 'tap';
import type { Caller, Exchange } from '../../src/exchange/exchange.js';
import { ListMerger } from '../../src/lists/list-merger.js';
import { DeadlineWheel } from '../../src/fair/deadline-wheel.js';
import { limits } from '../../src/shared/limits.js';
import { answerOptions } from '../support/answer-options.js';
import { backendFor } from '../support/deployment.js';
import { memberText } from '../support/json-text.js';
import { modernBackendFor, RefusedWith, type ModernBackend } from '../support/modern-backend.js';
import { encodeMirrored } from '../support/modern-ladder.js';
import { createAccounts } from '../support/shares.js';
import { until } from '../support/until.js';
import { post } from '../modern/modern-request.js';
import type { RecordedExchange } from '../support/recorded-exchange.js';
import { answerOf, WiredRelay, type RpcAnswer, type WiredCaller } from '../relay/wired-relay.js';
import { PARTIAL_CATALOGUE_AGE_MS } from '../../src/lists/list-cache.js';

const SEARCH = { exposure: 'search' };
const KEY = 'x-api-key';
const ROUTE = {
  name: 'route',
  inputSchema: {
    type: 'object',
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      place: { type: 'object', properties: { größe: { type: 'integer', 'x-mcp-header': 'Size' } } },
    },
  },
};
const ARGS = { region: 'ü', place: { größe: 42 } };
const SAID = { 'mcp-param-region': encodeMirrored('ü'), 'mcp-param-size': '42' };
const MISMATCH = { code: -32_020, message: 'Header mismatch' };

async function routing(t: Test, onCall?: () => unknown): Promise<ModernBackend> {
  return modernBackendFor(t, { tools: [ROUTE], ...(onCall !== undefined && { onCall }) });
}

const wrapped = (name: string, args: unknown): object => ({ name: 'call_tool', arguments: { name, arguments: args } });

/** How each kind of client calls a tool. */
const clients: Readonly<Record<string, (caller: WiredCaller, name: string, args: unknown) => Promise<RpcAnswer>>> = {
  'with a session': async (caller, name, args) => {
    if (caller.sessionId === '') await caller.open();
    return answerOf(caller.post('tools/call', wrapped(name, args), 7));
  },
  'without one': async (caller, name, args) =>
    answerOf(post(caller, 'tools/call', { params: wrapped(name, args) as Record<string, unknown> })),
};

for (const [kind, call] of Object.entries(clients)) {
  t.test(`parameters that a tool has mirrored are in the headers of the call, of a client ${kind}`, async (t) => {
    const backend = await routing(t);
    const caller = new WiredRelay(t).caller({ b: backend.url }, 'alice', SEARCH);
    t.equal((await call(caller, 'b-route', ARGS)).error, undefined);
    t.match(backend.calls.at(-1)?.received.headers, SAID);
    t.equal(backend.refusals.length, 1, 'nobody had read the list: refused once, read, and sent once more');
    t.equal((await call(caller, 'b-route', { region: 'us' })).error, undefined);
    t.match(backend.calls.at(-1)?.received.headers, { 'mcp-param-region': 'us' });
    t.notOk('mcp-param-size' in (backend.calls.at(-1)?.received.headers ?? {}));
    t.equal((await call(caller, 'b-route', { place: null })).error, undefined, 'of what is not said nothing');
    t.same([backend.refusals.length, backend.requestsOf('tools/list').length, backend.calls.length], [1, 1, 3]);
  });

  t.test(`nor is it sent for ever, or again where it may have been carried out: a client ${kind}`, async (t) => {
    const stubborn = await routing(t, () => new RefusedWith({ status: 400, ...MISMATCH }));
    const caller = new WiredRelay(t).caller({ b: stubborn.url }, 'alice', SEARCH);
    t.match((await call(caller, 'b-route', {})).error, MISMATCH);
    t.same([stubborn.calls.length, stubborn.requestsOf('tools/list').length], [1, 1]);
  });

  t.test(`what the config fixes is in the headers, too, and nothing of another tool’s: a client ${kind}`, async (t) => {
    const backend = await routing(t);
    const config = { url: backend.url, tools: { route: { name: 'go', fixed_arguments: { region: 'eu' } } } };
    const caller = new WiredRelay(t).caller({ b: config }, 'alice', SEARCH);
    t.equal((await call(caller, 'b-go', { place: { größe: 7 } })).error, undefined);
    t.match(backend.calls.at(-1)?.received.headers, { 'mcp-param-region': 'eu', 'mcp-param-size': '7' });
    t.equal(backend.calls.at(-1)?.name, 'route');
  });
}

t.test('an invalid call of find_tools or call_tool is answered in words, and no tool is called', async (t) => {
  const backend = await backendFor(t, { tools: ['echo', 'other'] });
  const caller = new WiredRelay(t).caller({ b: backend.url }, 'alice', SEARCH);
  await caller.open();
  const rows: readonly (readonly [params: string, words: RegExp])[] = [
    ['"name":"call_tool","arguments":{"name":"b-echo","arguments":{},"arguments":{}}', /once each/],
    ['"name":"call_tool","arguments":{"name":"b-echo","Arguments":{},"arguments":{}}', /once each/],
    ['"name":"call_tool","arguments":{"name":"b-echo","n\\u0061me":"b-other"}', /once each/],
    ['"name":"call_tool","arguments":{"name":"b-echo","x":1}', /nothing else/],
    ['"name":"call_tool","arguments":{"name":"b-echo","arguments":[]}', /an object/],
    ['"name":"call_tool","arguments":{"name":"b-echo","arguments":"{}"}', /an object/],
    ['"name":"call_tool","arguments":{"name":"b-echo","arguments":{},"_meta":{}}', /nothing else/],
    ['"name":"call_tool","arguments":{"name":"call\\u005ftool","arguments":{"name":"b-echo"}}', /cannot call itself/],
    ['"name":"find_tools","arguments":{"query":"echo","other":1}', /and nothing else/],
    [`"name":"find_tools","arguments":{"query":"echo","limit":${limits.foundToolsMax + 1}}`, /whole number/],
  ];
  for (const [params, words] of rows) {
    const body = Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{${params}}}`);
    t.match((await answerOf(caller.request({ body }))).result, { isError: true, content: [{ text: words }] }, params);
  }
  t.equal(backend.calls.length, 0);
  const { result } = await answerOf(caller.post('tools/call', wrapped('b-echo', null), 2));
  t.notOk(result?.['isError'], 'many clients write null for none');
  t.equal(backend.calls.length, 1);
});

t.test('a client that shows a backend another credential finds what the backend lists for it', async (t) => {
  const tools: string[] = [];
  const backend = await backendFor(t, {
    tools,
    onRequest: ({ headers }) => {
      tools[0] = `look_${String(headers[KEY])}`;
      return false;
    },
  });
  const shown = { url: backend.url, passthrough_headers: [KEY] };
  const caller = new WiredRelay(t).caller({ b: shown }, 'alice', SEARCH);
  const find = async (key: string): Promise<unknown> => {
    const params = { name: 'find_tools', arguments: { query: 'look' } };
    const { result } = await answerOf(post(caller, 'tools/call', { params, passthroughHeaders: [KEY, key] }));
    return (result?.['structuredContent'] as { tools: { name: string }[] }).tools.map(({ name }) => name);
  };
  for (const key of ['one', 'two', 'one', 'two']) t.same(await find(key), [`b-look_${key}`]);
  t.equal(backend.requestsOf('tools/list').length, 2, 'each is read once');
});

t.test('a server’s tools with the names of those that search cannot take their place', async (t) => {
  const backend = await backendFor(t, { tools: ['find_tools', 'call_tool', 'find_other'] });
  const caller = new WiredRelay(t).caller({ b: { url: backend.url, prefix: '' } }, 'alice', SEARCH);
  const params = { name: 'find_tools', arguments: { query: 'find call' } };
  const { result } = await answerOf(post(caller, 'tools/call', { params }));
  const { tools } = result?.['structuredContent'] as { tools: { name: string }[] };
  t.same(
    tools.map(({ name }) => name),
    ['find_other'],
  );
});

t.test('headers that a client sent for call_tool itself are not passed on', async (t) => {
  const backend = await routing(t);
  const caller = new WiredRelay(t).caller({ b: backend.url }, 'alice', SEARCH);
  const headers = { params: ['mcp-param-region', 'us', 'mcp-param-other', 'x'] };
  const params = wrapped('b-route', { region: 'eu' }) as Record<string, unknown>;
  t.equal((await answerOf(post(caller, 'tools/call', { params, headers }))).error, undefined);
  const sent = backend.calls.at(-1)?.received.headers ?? {};
  t.equal(sent['mcp-param-region'], 'eu');
  t.notOk('mcp-param-other' in sent);
});

t.test('a request for input passes to a client without a session, and so does its retry', async (t) => {
  const asked = { resultType: 'input_required', inputRequests: {}, requestState: 'state-1' };
  const backend = await modernBackendFor(t, {
    tools: [ROUTE],
    onCall: ({ params }) => (params['requestState'] === 'state-1' ? { content: [] } : asked),
  });
  const caller = new WiredRelay(t).caller({ b: backend.url }, 'alice', SEARCH);
  const params = wrapped('b-route', { region: 'eu' }) as Record<string, unknown>;
  t.match((await answerOf(post(caller, 'tools/call', { params }))).result, asked);
  const retry = { ...params, requestState: 'state-1', inputResponses: {} };
  t.match((await answerOf(post(caller, 'tools/call', { params: retry }))).result, { resultType: 'complete' });
  t.equal(backend.calls.length, 2);
});

t.test('calls through call_tool count in their subject’s share, and are refused like others', async (t) => {
  const waiting: (() => void)[] = [];
  const backend = await backendFor(t, { onCall: () => new Promise<void>((resolve) => waiting.push(resolve)) });
  const accounts = createAccounts({ subjectRequestsInFlightMax: 2 });
  const wired = new WiredRelay(t, {}, {}, { accounts });
  const caller = wired.caller({ b: backend.url }, 'alice', SEARCH);
  await caller.open();
  const calls = [1, 2].map((id) => caller.post('tools/call', wrapped('b-echo', {}), id));
  await until(() => waiting.length === 2, 'as many calls as the subject may have');
  const [through, plain] = [
    caller.post('tools/call', wrapped('b-echo', {}), 3),
    caller.post('tools/call', { name: 'b-echo' }, 4),
  ];
  t.equal(through.outcome, 'responded');
  t.ok((through.answer?.status ?? 0) >= 429, `${through.answer?.status}`);
  t.equal(through.answer?.status, plain.answer?.status);
  const wordsOf = ({ answer }: typeof plain): string => (answer?.body ?? '').toString().replace(/"id":\d/, '');
  t.equal(wordsOf(through), wordsOf(plain));
  const bob = wired.caller({ b: backend.url }, 'bob', SEARCH);
  await bob.open();
  const other = bob.post('tools/call', wrapped('b-echo', {}), 1);
  await until(() => waiting.length === 3, 'a call of somebody else');
  for (const release of waiting) release();
  for (const exchange of [...calls, other]) t.equal((await answerOf(exchange)).error, undefined);
  t.equal(backend.calls.length, 3, 'what was refused has reached nobody');
});

/** Calls `find_tools`, for a client with a session. */
function search(caller: WiredCaller): RecordedExchange {
  return caller.post('tools/call', { name: 'find_tools', arguments: { query: 'look' } }, 7);
}

async function foundBy(caller: WiredCaller): Promise<string[]> {
  const { result } = await answerOf(search(caller));
  return (result?.['structuredContent'] as { tools: { name: string }[] }).tools.map(({ name }) => name);
}

/** A relay whose clock the test moves. */
function timed(t: Test): { readonly wired: WiredRelay; readonly advance: (ms: number) => void } {
  let nowMs = 0;
  const deadlines = new DeadlineWheel(10, () => nowMs);
  t.teardown(() => deadlines.stop());
  const advance = (ms: number): void => {
    nowMs += ms;
    deadlines.tick();
  };
  return { wired: new WiredRelay(t, {}, {}, { deadlines }), advance };
}

t.test('a catalogue that lacks a server’s tools is read again soon, and a complete one is kept longer', async (t) => {
  const [whole, partial] = [await backendFor(t, { tools: ['look'] }), await backendFor(t, { tools: ['look'] })];
  const { wired, advance } = timed(t);
  const callers = [
    wired.caller({ b: whole.url }, 'alice', SEARCH),
    wired.caller({ b: partial.url, gone: 'http://127.0.0.1:9/mcp' }, 'alice', SEARCH),
  ];
  const find = async (): Promise<unknown> => {
    for (const caller of callers) t.same(await foundBy(caller), ['b-look']);
    return [whole, partial].map((backend) => backend.requestsOf('tools/list').length);
  };
  for (const caller of callers) await caller.open();
  t.same(
    [await find(), await find()],
    [
      [1, 1],
      [1, 1],
    ],
  );
  advance(PARTIAL_CATALOGUE_AGE_MS);
  t.same(await find(), [1, 2]);
});

t.test('a client finds what a backend lists for its capabilities, not for others of its user', async (t) => {
  const tools: string[] = [];
  const backend = await backendFor(t, {
    tools,
    onRequest: ({ text }) => {
      const params = (name: string): string => memberText(text, 'params', name) ?? '';
      if (memberText(text, 'method') === '"initialize"')
        tools[0] = params('capabilities').includes('elicitation') ? 'look_asking' : 'look_plain';
      return false;
    },
  });
  const wired = new WiredRelay(t);
  const callers = [{}, { elicitation: { form: {} } }].map((capabilities) => ({
    caller: wired.caller({ b: backend.url }, 'alice', SEARCH),
    capabilities,
  }));
  const names: unknown[] = [];
  for (const { caller, capabilities } of callers) {
    await caller.open(capabilities);
    names.push(await foundBy(caller));
  }
  for (const { caller } of callers) names.push(await foundBy(caller));
  t.same(names, [['b-look_plain'], ['b-look_asking'], ['b-look_plain'], ['b-look_asking']]);
  t.equal(backend.requestsOf('tools/list').length, 2, 'each is read once');
});

t.test('tools that may have changed are read again, and a catalogue made of them is not kept', async (t) => {
  let onList = (): void => {};
  const backend = await backendFor(t, {
    tools: ['look'],
    onRequest: ({ text }) => {
      if (memberText(text, 'method') === '"tools/list"') onList();
      return false;
    },
  });
  const drops = t.capture(ListMerger.prototype, 'dropCatalogue');
  const wired = new WiredRelay(t);
  const caller = wired.caller({ b: backend.url }, 'alice', SEARCH);
  await caller.open();
  const reads = (): number => backend.requestsOf('tools/list').length;
  onList = () => wired.relay.forgetLists();
  t.same(await foundBy(caller), ['b-look'], 'its question is answered all the same');
  t.equal(drops().length, 1, 'whatever was read before it was known');
  onList = () => {};
  for (const _ of [1, 2]) t.same(await foundBy(caller), ['b-look']);
  t.same([reads(), drops().length], [2, 0], 'kept this time');
  wired.relay.forgetLists();
  t.equal(drops().length, 1, 'nor does what was kept stay');
  t.same(await foundBy(caller), ['b-look']);
  t.equal(reads(), 3);
});

t.test('a search that takes long is answered on the stream that has begun', async (t) => {
  let release = (): void => {};
  const backend = await backendFor(t, {
    tools: ['look', 'find_tools'],
    onRequest: async ({ text }) => {
      if (memberText(text, 'method') === '"tools/list"') await new Promise<void>((resolve) => (release = resolve));
      return false;
    },
  });
  const { wired, advance } = timed(t);
  // The thread starts in real time, and must run before the clock is moved, or it is taken for stuck.
  const other = wired.caller({ b: (await backendFor(t, { tools: ['look'] })).url }, 'bob', SEARCH);
  await other.open();
  t.same(await foundBy(other), ['b-look']);
  const caller = wired.caller({ b: { url: backend.url, prefix: '' } }, 'alice', SEARCH);
  await caller.open();
  const exchange = search(caller);
  await until(() => backend.requestsOf('tools/list').length === 1, 'the list to be asked for');
  await until(() => {
    advance(answerOptions.slowAnswerMs);
    return exchange.outcome === 'streaming';
  }, 'the stream to begin');
  release();
  const { result } = await answerOf(exchange);
  t.match(result?.['structuredContent'], { tools: [{ name: 'look' }] });
  t.equal(exchange.outcome, 'ended');
  t.match(wired.logLines.join('\n'), /find_tools/, 'a tool that nobody can call is told of');
});

t.test('a wrapped retry at another worker is passed on to the worker that holds the call', async (t) => {
  const question = { message: 'A', requestedSchema: { type: 'object', properties: {} } };
  const backend = await backendFor(t, {
    framing: 'chunked',
    tools: ['ask'],
    onCall: async (call) => {
      await call.send({ jsonrpc: '2.0', id: 'q1', method: 'elicitation/create', params: question });
      await until(() => backend.raw.requests.some(({ text }) => text.includes('"action"')), 'the answer');
      return { content: [] };
    },
  });
  const secret = Buffer.alloc(32, 7);
  const holding = new WiredRelay(t, {}, {}, { siblings: { secret, slot: 0 } });
  let passedOn = 0;
  const forwardToSlot = (slot: number, caller: Caller, exchange: Exchange): void => {
    passedOn += 1;
    t.equal(slot, 0);
    holding.relay.handle(caller, exchange);
  };
  const other = new WiredRelay(t, {}, {}, { siblings: { secret, slot: 1, forwardToSlot } });
  const ask = async (wired: WiredRelay, more: object = {}): Promise<RpcAnswer> => {
    const params = { ...wrapped('b-ask', {}), ...more };
    const meta = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } };
    return answerOf(post(wired.caller({ b: backend.url }, 'alice', SEARCH), 'tools/call', { params, meta }));
  };
  const { result } = await ask(holding);
  t.match(result, { resultType: 'input_required', inputRequests: { 1: { method: 'elicitation/create' } } });
  const inputResponses = { 1: { action: 'accept', content: {} } };
  const retry = await ask(other, { requestState: result?.['requestState'], inputResponses });
  t.match(retry, { result: { resultType: 'complete', content: [] } });
  t.same([passedOn, backend.calls.length], [1, 1]);
});
