// Calls through `call_tool`: they count as calls do, and a backend of MCP 2026-07-28 is told in headers what its tool wants there, which the
// client cannot have said, since its own call is that of another tool.
import t, { type Test } from 'tap';
import { limits } from '../../src/shared/limits.js';
import { backendFor } from '../support/deployment.js';
import { modernBackendFor, RefusedWith, type ModernBackend } from '../support/modern-backend.js';
import { encodeMirrored } from '../support/modern-ladder.js';
import { createAccounts } from '../support/shares.js';
import { until } from '../support/until.js';
import { post } from './modern/modern-request.js';
import { answerOf, WiredRelay, type RpcAnswer, type WiredCaller } from './wired-relay.js';

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

/** Each kind of client, by how it calls. */
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

t.test('what is no call of one tool is told in words, and neither tool is called', async (t) => {
  const backend = await backendFor(t, { tools: ['echo', 'other'] });
  const caller = new WiredRelay(t).caller({ b: backend.url }, 'alice', SEARCH);
  await caller.open();
  const rows: readonly (readonly [params: string, words: RegExp])[] = [
    ['"name":"call_tool","arguments":{"name":"b-echo","arguments":{},"arguments":{}}', /once each/],
    ['"name":"call_tool","arguments":{"name":"b-echo","Arguments":{},"arguments":{}}', /once each/],
    ['"name":"call_tool","arguments":{"name":"b-echo","n\\u0061me":"b-other"}', /once each/],
    ['"name":"call_tool","arguments":{"name":"b-echo","x":1}', /nothing else/],
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
});

t.test('who shows a backend something else finds what the backend lists for that', async (t) => {
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

t.test('headers that a client has put to call_tool itself go nowhere', async (t) => {
  const backend = await routing(t);
  const caller = new WiredRelay(t).caller({ b: backend.url }, 'alice', SEARCH);
  const headers = { params: ['mcp-param-region', 'us', 'mcp-param-other', 'x'] };
  const params = wrapped('b-route', { region: 'eu' }) as Record<string, unknown>;
  t.equal((await answerOf(post(caller, 'tools/call', { params, headers }))).error, undefined);
  const sent = backend.calls.at(-1)?.received.headers ?? {};
  t.equal(sent['mcp-param-region'], 'eu');
  t.notOk('mcp-param-other' in sent);
});

t.test('what asks for more passes to a client without a session, and so does its retry', async (t) => {
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

t.test('they count in their subject’s share while they are under way, and are refused as others are', async (t) => {
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
