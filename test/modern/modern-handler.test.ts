// The handler of requests without a session: what it refuses, in which order and with which status, and that requests which pass
// are served by legacy backends.
import t from 'tap';
import { backendFor } from '../support/deployment.js';
import { eraOfMessage, wantedByHead } from '../../src/exchange/transport.js';
import { readClientMessage, type ClientMessage } from '../../src/mcp/json-rpc.js';
import { decodeHeader } from '../../src/messages/mirrored-params.js';
import { mirrorFault } from '../../src/modern/modern-handler.js';
import { NO_MIRROR } from '../../src/exchange/exchange.js';
import { readEvents } from '../support/event-stream.js';
import { modernBackendFor, RefusedWith } from '../support/modern-backend.js';
import { until } from '../support/until.js';
import { answerOf, WiredRelay, type RpcAnswer } from '../relay/wired-relay.js';
import { bodyOf, post, VERSION, type ModernRequest } from './modern-request.js';

const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';
const CLAIM = 'io.modelcontextprotocol/protocolVersion';
const OWN_META = { 'io.modelcontextprotocol/serverInfo': { name: 'switchyard' } };

const base64 = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`;

/** @param name of the tool, as JSON. @param header what the caller says in `mcp-name`. */
function faultOf(name: string, header: string): string | undefined {
  const body = Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":${name}}}`);
  const mirror = { protocolVersion: VERSION, method: 'tools/call', name: header, params: [] };
  return mirrorFault(body, readClientMessage(body) as ClientMessage, mirror);
}

t.test('envelope and mirror of a request are checked in order, before any backend is asked', async (t) => {
  const backend = await backendFor(t);
  const caller = new WiredRelay(t).caller({ b: backend.url });
  const call = { params: { name: 'b-echo', arguments: {} } };
  const other = { meta: { [CLAIM]: 'v999.0.0' } };
  const rows: readonly (readonly [string, string, ModernRequest, number, number, RegExp])[] = [
    [
      'a version that nobody has',
      'tools/list',
      { ...other, headers: { protocolVersion: 'v999.0.0' } },
      400,
      -32022,
      /Unsupp/,
    ],
    ['header and body differ', 'tools/list', other, 400, -32020, /mcp-protocol-version differs/],
    ['no version header', 'tools/list', { headers: { protocolVersion: '' } }, 400, -32020, /mcp-protocol-version is m/],
    [
      'a version that is no string',
      'tools/list',
      { meta: { [CLAIM]: 7 } },
      400,
      -32602,
      /protocolVersion must be a string/,
    ],
    [
      'no capabilities',
      'tools/list',
      { meta: { [CAPABILITIES]: undefined } },
      400,
      -32602,
      /clientCapabilities is missing/,
    ],
    ['capabilities no object', 'tools/list', { meta: { [CAPABILITIES]: [] } }, 400, -32602, /must be an object/],
    ['a level that MCP has not', 'tools/list', { meta: { [LOG_LEVEL]: 'loud' } }, 400, -32602, /logLevel must be/],
    ['no method header', 'tools/list', { headers: { method: '' } }, 400, -32020, /mcp-method is missing/],
    ['another method', 'tools/list', { headers: { method: 'tools/call' } }, 400, -32020, /mcp-method differs/],
    [
      'the method in other capitals',
      'tools/list',
      { headers: { method: 'Tools/List' } },
      400,
      -32020,
      /mcp-method differs/,
    ],
    ['no name header', 'tools/call', { ...call, headers: { name: '' } }, 400, -32020, /mcp-name is missing/],
    ['another name', 'tools/call', { ...call, headers: { name: 'b-other' } }, 400, -32020, /mcp-name differs/],
    [
      'no base64',
      'tools/call',
      { ...call, headers: { name: '=?base64?Yi1lY2hv!?=' } },
      400,
      -32020,
      /not valid base64/,
    ],
    ['no UTF-8', 'tools/call', { ...call, headers: { name: '=?base64?/w==?=' } }, 400, -32020, /not valid base64/],
    ...['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'tasks/result', 'tasks/list'].map(
      (method) => [method, method, {}, 404, -32601, /Method not found/] as const,
    ),
    ['a resource that is not there', 'resources/read', { params: { uri: 'x://y' } }, 200, -32602, /Resource not found/],
    ['a cursor', 'tools/list', { params: { cursor: 'x' } }, 200, -32602, /Invalid cursor/],
  ];
  for (const [what, method, request, status, code, words] of rows) {
    const exchange = post(caller, method, { id: 'x', ...request });
    const { error, id } = await answerOf(exchange);
    t.match({ status: exchange.answer?.status, code: error?.code, id }, { status, code, id: 'x' }, what);
    t.match(error?.message, words, what);
  }
  const told = await answerOf(post(caller, 'tools/list', { ...other, headers: { protocolVersion: 'v999.0.0' } }));
  t.match(told, { error: { data: { supported: [VERSION], requested: 'v999.0.0' } } });
  t.equal(backend.raw.requests.length, 0);
});

t.test('when headers and body disagree, in whatever pair, nothing is carried out', async (t) => {
  const modern = await modernBackendFor(t, { capabilities: { tools: {}, prompts: {}, resources: {} } });
  const legacy = await backendFor(t, { tools: ['echo'], withSessions: true });
  const caller = new WiredRelay(t).caller({ m: modern.url, l: legacy.url });
  const call = (name: string, headers = {}): ReturnType<typeof post> =>
    post(caller, 'tools/call', { params: { name, arguments: {} }, headers });
  for (const name of ['m-echo', 'l-echo']) t.equal((await answerOf(call(name))).error, undefined);
  const asked = (): number => modern.raw.requests.length + legacy.raw.requests.length;
  const before = asked();
  const methods = { 'tools/call': 'echo', 'prompts/get': 'p', 'resources/read': 'x://y' };
  for (const [method, bare] of Object.entries(methods)) {
    for (const backend of ['m', 'l']) {
      const isUri = method === 'resources/read';
      const [name, other] = [backend, backend === 'm' ? 'l' : 'm'].map((b) =>
        isUri ? `${b}+${bare}` : `${b}-${bare}`,
      );
      const wrong = [
        ...['', '2025-11-25', `${VERSION}, ${VERSION}`, VERSION.slice(1)].map((protocolVersion) => ({
          protocolVersion,
        })),
        ...['', 'tools/list', method.toUpperCase(), `${method}, ${method}`, base64(method)].map((said) => ({
          method: said,
        })),
        ...[
          '',
          other,
          bare,
          `${name}, ${name}`,
          name?.toUpperCase(),
          base64(other ?? ''),
          `${base64(name ?? '')}x`,
        ].map((said) => ({ name: said ?? '' })),
        { method: 'tools/list', name: other ?? '' },
      ];
      for (const headers of wrong) {
        const exchange = post(caller, method, { params: isUri ? { uri: name } : { name }, headers });
        t.match([exchange.answer?.status, await answerOf(exchange)], [400, { error: { code: -32020 } }], `${name}`);
      }
    }
  }
  t.equal(asked(), before);
  t.same([modern.calls.length, legacy.calls.length], [1, 1]);
});

t.test('headers alone make no request modern, and a modern notification needs none', async (t) => {
  const caller = new WiredRelay(t).caller({});
  const plain = '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}';
  const mirror = { protocolVersion: VERSION, method: 'tools/list', name: '', params: [] };
  const send = (body: string, more: object = {}) => caller.request({ sessionId: '', body: Buffer.from(body), ...more });
  const unclaimed = send(plain, { mirror });
  t.match([unclaimed.answer?.status, await answerOf(unclaimed)], [400, { id: 1, error: { code: -32602 } }]);
  t.match((await answerOf(unclaimed)).error?.message, /protocolVersion and .*clientCapabilities are missing/);
  const notice = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}';
  t.equal(send(notice, { mirror }).answer?.status, 202);
  t.equal(send(`[${bodyOf('tools/list')}]`, { mirror }).answer?.status, 400);
  t.equal(send('{"jsonrpc":"2.0","id":1,"result":{}}', { mirror }).answer?.status, 400);
  t.match(JSON.parse(String(send(plain).answer?.body)), { error: { message: /mcp-session-id missing/ } }, 'as ever');
  t.equal(send(bodyOf('notifications/cancelled', { id: null })).answer?.status, 202, 'notifications have no mirror');
});

t.test('a request that was let in as one without a session opens none', async (t) => {
  const caller = new WiredRelay(t).caller({});
  const modern = { protocolVersion: VERSION, method: 'tools/list', name: '', params: [] };
  const wanted = (sessionId: string, mirror: Partial<typeof modern>): string =>
    wantedByHead({ sessionId, mirror: { ...NO_MIRROR, ...mirror } });
  t.equal(wanted('', modern), 'request');
  t.equal(wanted('s', {}), 'request');
  t.equal(wanted('', {}), 'session');
  t.equal(wanted('', { protocolVersion: VERSION }), 'session');
  t.equal(wanted('', { ...modern, protocolVersion: '2025-11-25' }), 'session');
  t.equal(wanted('', { ...modern, method: 'initialize' }), 'session');
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }));
  const lie = caller.request({ sessionId: '', body, mirror: modern });
  t.match([lie.answer?.status, await answerOf(lie)], [400, { id: 1, error: { code: -32602 } }]);
  const hope = caller.request({ sessionId: '', body, mirror: { ...modern, method: 'initialize' } });
  t.match(await answerOf(hope), { id: 1, result: { protocolVersion: '2025-11-25' } });
  t.equal(eraOfMessage('not-json', '', 'tools/list'), 'legacy');
});

t.test('a session id on a modern request is ignored, whether it is known or not', async (t) => {
  const backend = await backendFor(t, { tools: ['a'] });
  const caller = new WiredRelay(t).caller({ b: backend.url });
  await caller.open();
  for (const sessionId of [caller.sessionId, 'nobody’s']) {
    t.match(await answerOf(post(caller, 'tools/list', { sessionId })), { result: { tools: [{ name: 'b-a' }] } });
    const unlabelled = post(caller, 'tools/list', { sessionId, headers: { protocolVersion: '' } });
    t.match(await answerOf(unlabelled), { error: { code: -32020 } }, 'the body decides');
  }
  t.match(await caller.list(), { result: { tools: [{ name: 'b-a' }] } }, 'the session goes on');
  const mirror = { protocolVersion: '1999-01-01', method: '', name: '', params: [] };
  const body = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}');
  const odd = caller.request({ body, mirror });
  t.match([odd.answer?.status, await answerOf(odd)], [400, { id: 1, error: { message: /mcp-protocol-version/ } }]);
});

t.test('lists state their type, how they may be cached, and which backends are unavailable', async (t) => {
  const backend = await backendFor(t, { tools: ['a'] });
  const caller = new WiredRelay(t).caller({ b: backend.url, gone: 'http://127.0.0.1:1/mcp' });
  const exchange = post(caller, 'tools/list');
  t.match(await answerOf(exchange), {
    result: {
      resultType: 'complete',
      tools: [{ name: 'b-a' }],
      ...{ ttlMs: 0, cacheScope: 'private' },
      _meta: { ...OWN_META, 'switchyard/unavailable': [{ backend: 'gone' }] },
    },
  });
  const one = new WiredRelay(t).caller({ b: backend.url });
  t.match(
    await answerOf(post(one, 'prompts/list')),
    { result: { prompts: { length: 0 } } },
    'the client may have been told of prompts by another process, while a backend was missing there',
  );
});

t.test('a list may be kept no longer than each of its parts', async (t) => {
  const modern = (ttlMs: number): Promise<{ readonly url: string }> =>
    modernBackendFor(t, { tools: ['a'], cache: { ttlMs, cacheScope: 'public' } });
  const [short, long, endless, negative, silent, legacy] = await Promise.all([
    ...[5_000, 9_000, 1e15, -1].map(modern),
    modernBackendFor(t, { tools: ['a'] }),
    backendFor(t, { tools: ['a'] }),
  ]);
  const relay = new WiredRelay(t);
  const rows: readonly (readonly [string, Record<string, string | undefined>, number])[] = [
    ['the least', { short: short?.url, long: long?.url }, 5_000],
    ['an hour at most', { endless: endless?.url }, 3_600_000],
    ['no number of it', { long: long?.url, negative: negative?.url }, 0],
    ['one says nothing', { long: long?.url, silent: silent?.url }, 0],
    ['one has sessions', { long: long?.url, legacy: legacy?.url }, 0],
    ['one is missing', { long: long?.url, gone: 'http://127.0.0.1:1/mcp' }, 0],
    ['there is none', {}, 0],
  ];
  for (const [what, backends, ttlMs] of rows) {
    const caller = relay.caller(backends as Record<string, string>, what);
    const { result } = await answerOf(post(caller, 'tools/list'));
    t.match(result, { resultType: 'complete', ttlMs, cacheScope: 'private' }, what);
  }
});

t.test('a legacy backend is initialized once per lease, and sent ids of the gateway’s own', async (t) => {
  const backend = await backendFor(t, { tools: ['echo'], withSessions: true });
  const caller = new WiredRelay(t).caller({ b: backend.url });
  const call = (id: unknown, meta?: Record<string, unknown>, passthroughHeaders: string[] = []): Promise<RpcAnswer> => {
    const params = { name: 'b-echo', arguments: { n: 1 } };
    return answerOf(post(caller, 'tools/call', { id, params, passthroughHeaders, ...(meta && { meta }) }));
  };
  const answers = await Promise.all([call(1), call(1), call('1'), call(0, { progressToken: 'p' })]);
  t.match(
    answers.map(({ id }) => id),
    [1, 1, '1', 0],
  );
  for (const { result } of answers) t.match(result, { resultType: 'complete', content: [{ text: '{"n":1}' }] });
  t.equal(backend.requestsOf('initialize').length, 1);
  t.match(JSON.parse(backend.requestsOf('initialize')[0]?.text ?? ''), {
    params: { clientInfo: { name: 'switchyard' } },
  });
  const ids = backend.calls.map(({ request }) => (JSON.parse(request.text) as { id: unknown }).id);
  t.equal(new Set(ids).size, 4, 'no two are the same');
  t.notOk(ids.some((id) => [1, '1', 0].includes(id as string)));
  // Some servers with sessions refuse requests that contain anything of the other era.
  for (const { request } of backend.calls) t.notMatch(request.text, 'io.modelcontextprotocol/');
  // Other capabilities mean another lease.
  await call(2, { [CAPABILITIES]: { roots: {} } });
  t.equal(backend.requestsOf('initialize').length, 2);
  // So do other credentials.
  for (const key of ['one', 'other', 'one']) await call(3, undefined, ['x-api-key', key]);
  t.equal(backend.requestsOf('initialize').length, 4);
});

t.test('progress comes under the caller’s token, and log messages only to callers that ask for them', async (t) => {
  const backend = await backendFor(t, {
    tools: ['echo'],
    onCall: async (received) => {
      const { params } = JSON.parse(received.request.text) as { params: { _meta: { progressToken: unknown } } };
      await received.notify('notifications/message', { level: 'info', data: 'i' });
      await received.notify('notifications/message', { level: 'error', data: 'e' });
      await received.notify('notifications/tools/list_changed', {});
      await received.notify('notifications/progress', { progressToken: params._meta.progressToken, progress: 1 });
      return { content: [] };
    },
  });
  const caller = new WiredRelay(t).caller({ b: backend.url });
  const heard = async (meta: Record<string, unknown>): Promise<unknown[]> => {
    const exchange = post(caller, 'tools/call', { params: { name: 'b-echo', arguments: {} }, meta });
    await answerOf(exchange);
    return readEvents(exchange.written).map((text) => JSON.parse(text) as unknown);
  };
  const progress = { method: 'notifications/progress', params: { progressToken: 77, progress: 1 } };
  const answer = { id: 1, result: { resultType: 'complete' } };
  const silent = await heard({ progressToken: 77 });
  t.match(silent, [progress, answer]);
  t.equal(silent.length, 2);
  const told = await heard({ progressToken: 77, [LOG_LEVEL]: 'warning' });
  t.match(told, [{ method: 'notifications/message', params: { data: 'e' } }, progress, answer]);
  t.equal(told.length, 3);
});

t.test('a caller that goes away has cancelled its request', async (t) => {
  const backend = await backendFor(t, {
    tools: ['echo'],
    withSessions: true,
    onRequest: ({ text }) => /tools\/(call|list)/.test(text),
  });
  const caller = new WiredRelay(t).caller({ b: backend.url });
  const exchange = post(caller, 'tools/call', { params: { name: 'b-echo', arguments: {} } });
  exchange.isForgiving = true;
  await until(() => backend.requestsOf('tools/call').length === 1, 'the call to be there');
  exchange.abort();
  await until(() => backend.requestsOf('notifications/cancelled').length === 1, 'the backend to be told');
  const { id } = JSON.parse(backend.requestsOf('tools/call')[0]?.text ?? '') as { id: string };
  t.match(JSON.parse(backend.requestsOf('notifications/cancelled')[0]?.text ?? ''), { params: { requestId: id } });
  const list = post(caller, 'tools/list');
  list.isForgiving = true;
  await until(() => backend.requestsOf('tools/list').length === 1, 'the list to be asked for');
  list.abort();
  await until(() => backend.requestsOf('tools/list')[0]?.connection.destroyed === true, 'the list to be given up');
  t.equal(backend.sessions.size, 1, 'the lease stays for the next request');
});

t.test('an error of a modern backend is sent with the status that belongs to its code', async (t) => {
  const backend = await modernBackendFor(t, {
    onCall: ({ params }) => {
      const { code } = params['arguments'] as { code: number };
      return new RefusedWith({ status: 400, code, message: 'no', data: { code } });
    },
  });
  const caller = new WiredRelay(t).caller({ b: backend.url });
  for (const answerForms of ['both', 'event-stream'] as const) {
    for (const [code, status] of [
      [-32_020, 400],
      [-32_021, 400],
      [-32_603, 200],
      [7, 200],
    ] as const) {
      const exchange = post(caller, 'tools/call', { params: { name: 'b-echo', arguments: { code } }, answerForms });
      const isEvent = answerForms === 'event-stream' && status === 200;
      t.match(await answerOf(exchange), { id: 1, error: { code, message: 'no', data: { code } } });
      if (!isEvent) t.equal(exchange.answer?.status, status, `${code}, ${answerForms}`);
    }
  }
  t.equal(backend.calls.length, 8);
});

t.test('server/discover states what the backends offer', async (t) => {
  const backend = await backendFor(t, {
    tools: ['a'],
    capabilities: { tools: { listChanged: true }, prompts: {}, tasks: { list: {} }, logging: {} },
    initializeExtras: { instructions: 'Be kind.' },
  });
  const caller = new WiredRelay(t).caller({ b: backend.url });
  const { result } = await answerOf(post(caller, 'server/discover'));
  t.match(result, {
    resultType: 'complete',
    supportedVersions: [VERSION, '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'],
    instructions: '# b\n\nBe kind.',
    ...{ ttlMs: 0, cacheScope: 'private', _meta: OWN_META },
  });
  t.strictSame(
    result?.['capabilities'],
    { tools: { listChanged: true }, prompts: {}, logging: {} },
    'nothing of sessions',
  );
});

t.test('a request of an era that is not served is refused', async (t) => {
  const backend = await backendFor(t, { tools: ['a'] });
  const legacy = new WiredRelay(t, {}, {}, { eras: { served: 'legacy', leaseIdleTimeoutMs: 1_000 } });
  const old = legacy.caller({ b: backend.url });
  const asked = post(old, 'server/discover');
  const spoken = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];
  const told = { id: 1, error: { code: -32022, data: { supported: spoken, requested: VERSION } } };
  t.match([asked.answer?.status, await answerOf(asked)], [400, told]);
  const called = post(old, 'tools/call', { params: { name: 'b-a' } });
  t.match([called.answer?.status, await answerOf(called)], [400, told], 'whatever the method');
  const unclaimed = old.request({
    sessionId: '',
    body: Buffer.from('{"jsonrpc":"2.0","id":1,"method":"server/discover"}'),
  });
  t.match([unclaimed.answer?.status, await answerOf(unclaimed)], [400, { id: 1, error: { code: -32601 } }]);
  t.equal(backend.raw.requests.length, 0);
  t.match(await old.open(), { result: { protocolVersion: '2025-11-25' } });
  const modern = new WiredRelay(t, {}, {}, { eras: { served: 'modern', leaseIdleTimeoutMs: 1_000 } });
  const caller = modern.caller({ b: backend.url });
  const refused = caller.post('initialize', { protocolVersion: '2025-11-25' }, 'i');
  t.match(
    [refused.answer?.status, await answerOf(refused)],
    [400, { id: 'i', error: { code: -32022, data: { supported: [VERSION], requested: '2025-11-25' } } }],
  );
  const listed = caller.request({
    body: Buffer.from('{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"protocolVersion":"1"}}'),
    mirror: { protocolVersion: '2025-06-18', method: '', name: '', params: [] },
  });
  t.match(
    [listed.answer?.status, await answerOf(listed)],
    [400, { id: 2, error: { code: -32022, data: { requested: '2025-06-18' } } }],
    'only initialize names the version in its params',
  );
  const notice = caller.request({ body: Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}') });
  t.equal(notice.answer?.status, 202, 'a notification gets no error');
  t.match((await answerOf(post(caller, 'server/discover'))).result, { supportedVersions: [VERSION] });
  t.strictSame((await answerOf(post(caller, 'server/discover'))).result?.['supportedVersions'], [VERSION]);
  for (const method of ['GET', 'DELETE'] as const) {
    const exchange = caller.request({ method, sessionId: 'x' });
    t.match([exchange.answer?.status, exchange.answer?.headers], [405, ['allow', 'POST, OPTIONS']]);
  }
});

t.test('a name is the same however the body and the header spell it', async (t) => {
  for (const [name, header] of [
    ['"abc"', 'abc'],
    ['"\\u0061\\u0062\\u0063"', 'abc'],
    ['"\\u00fc"', base64('ü')],
    ['"ab"', base64('ab')],
  ] as const)
    t.equal(faultOf(name, header), undefined, name);
});

t.test('another name is another, whatever its length', async (t) => {
  for (const name of [
    '"abd"',
    '"ABC"',
    '"ab"',
    '"abcd"',
    '"abc "',
    '""',
    `"abc${'x'.repeat(100)}"`,
    `"${'\\u0061'.repeat(4)}"`,
  ])
    t.equal(faultOf(name, 'abc'), 'mcp-name differs from the body', name);
});

t.test('a value marked as base64 is read as that alone, in one spelling', async (t) => {
  t.equal(decodeHeader('=?base64?YWI=?='), 'ab');
  t.equal(decodeHeader('=?base64??='), '');
  for (const value of [
    '=?base64?YWI?=',
    '=?base64?YWJ=?=',
    '=?base64?Y WI=?=',
    '=?base64?/w==?=',
    '=?base64?YQ==YQ==?=',
  ])
    t.equal(decodeHeader(value), undefined, value);
  for (const value of ['YWI=', '=?base64?YWI=', 'YWI=?=', '=?BASE64?YWI=?=', ''])
    t.equal(decodeHeader(value), value, 'not marked');
});
