// Clients with a session, and backends of MCP 2026-07-28, which have none: real servers of the SDK, and scripted ones where bytes matter.
import { randomUUID } from 'node:crypto';
import t, { type Test } from 'tap';
import { z } from 'zod';
import { Failure } from '../support/mcp-backend.js';
import { modernBackendFor, type ModernBackend, type ModernBackendOptions } from '../support/modern-backend.js';
import { ModernSdkServer } from '../support/modern-sdk-server.js';
import { startRawBackend, type RawBackend, type ReceivedRequest } from '../support/raw-backend.js';
import { post as postModern } from '../modern/modern-request.js';
import { answerOf, WiredRelay, type WiredCaller } from './wired-relay.js';
import type { RecordedExchange } from '../support/recorded-exchange.js';
import { readEvents } from '../support/event-stream.js';
import { until } from '../support/until.js';
import { answerOptions } from '../support/answer-options.js';
import { createAccounts } from '../support/shares.js';
import { limits } from '../../src/shared/limits.js';

const UNSUPPORTED = { code: -32_022, message: 'x', data: { supported: ['2026-07-28'] } };

function sdkServer(t: Test): Promise<ModernSdkServer> {
  return ModernSdkServer.start(t, {
    fill: (server) => {
      server.registerTool('echo', { inputSchema: z.object({ text: z.string() }) }, ({ text }) => ({
        content: [{ type: 'text', text }],
      }));
      server.registerResource('r', 'test://r', {}, () => ({ contents: [{ uri: 'test://r', text: 'R' }] }));
      server.registerPrompt('p', {}, () => ({ messages: [{ role: 'user', content: { type: 'text', text: 'P' } }] }));
    },
  });
}

interface Message {
  readonly id: number | string;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** A backend without sessions. @param answer gives the `result` of all requests but the opening, or `undefined` if it answered itself. */
async function rawModern(
  t: Test,
  answer: (message: Message, request: ReceivedRequest) => unknown,
  capabilities: object = { tools: {} },
): Promise<RawBackend> {
  const backend = await startRawBackend(
    (request) => {
      const message = JSON.parse(request.text) as Message;
      const { id } = message;
      if (message.method === 'initialize') {
        request.json({ jsonrpc: '2.0', id, error: UNSUPPORTED }, { status: 400 });
        return;
      }
      const isOpening = message.method === 'server/discover';
      const result = isOpening ? { supportedVersions: ['2026-07-28'], capabilities } : answer(message, request);
      if (result !== undefined) request.json({ jsonrpc: '2.0', id, result });
    },
    { hearsDiscovery: true },
  );
  t.teardown(() => backend.close());
  return backend;
}

function askModern(caller: WiredCaller, method: string, params: object): RecordedExchange {
  const key = 'io.modelcontextprotocol/';
  const meta = { [`${key}protocolVersion`]: '2026-07-28', [`${key}clientCapabilities`]: {} };
  const body = { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } };
  return caller.request({
    sessionId: '',
    body: Buffer.from(JSON.stringify(body)),
    mirror: { protocolVersion: '2026-07-28', method, name: '', params: [] },
  });
}

t.test('the session of a client begins with a backend that has none, and lists its tools', async (t) => {
  const server = await sdkServer(t);
  const caller = new WiredRelay(t, { initializePatienceMs: 10_000 }).caller({ one: server.url });
  const { result } = await caller.open();
  t.match(result, { protocolVersion: '2025-11-25', instructions: '# one\n\nBe kind.' });
  t.match(result?.['capabilities'], { tools: {}, prompts: {}, resources: {} });
  t.match((await caller.list()).result, { tools: [{ name: 'one-echo' }] });
  t.same(server.methods, ['initialize', 'server/discover', 'tools/list'], 'it has refused a session');
  const [, , list] = server.requests;
  t.match(list?.headers, { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' });
  t.notOk(list?.headers['mcp-session-id'] ?? list?.headers['mcp-name']);
  // For a client with a session, a list has no members of the modern era.
  t.same(Object.keys((await caller.list()).result ?? {}), ['tools']);
});

const TAG = 'io.modelcontextprotocol/subscriptionId';
const SPEAKING = {
  tools: { listChanged: true },
  resources: { subscribe: true },
};

function speakingBackend(t: Test, options: ModernBackendOptions = {}): Promise<ModernBackend> {
  const read = ({ params }: { params: Readonly<Record<string, unknown>> }): object => ({
    contents: [{ uri: params['uri'], text: 'x' }],
  });
  const onRequest = (request: ReceivedRequest): boolean => {
    const message = JSON.parse(request.text) as Message;
    if (message.method !== 'initialize') return false;
    request.json({ jsonrpc: '2.0', id: message.id, error: UNSUPPORTED }, { status: 400 });
    return true;
  };
  const methods = { 'resources/read': read, ...options.methods };
  return modernBackendFor(t, { capabilities: SPEAKING, onRequest, ...options, methods });
}

/** Opens the client's own stream. */
function hear(caller: WiredCaller): RecordedExchange {
  return caller.request({ method: 'GET', body: Buffer.alloc(0), acceptedTypes: 'event-stream' });
}

function heardOn(exchange: RecordedExchange): Message[] {
  return readEvents(exchange.written).flatMap((text) => (text === '' ? [] : [JSON.parse(text) as Message]));
}

/** The filter of each `subscriptions/listen` that the backend got, in order. */
function filtersAt(backend: ModernBackend): unknown[] {
  return backend.requestsOf('subscriptions/listen').map(({ params }) => params['notifications']);
}

t.test('a request in the place of a notification reaches nobody, however it is written', async (t) => {
  const tag = `"_meta":{"${TAG}":"l"}`;
  const changed = (id: string, members = tag): string =>
    `{"jsonrpc":"2.0",${id}"method":"notifications/tools/list_changed","params":{${members}}}`;
  const backend = await rawModern(
    t,
    ({ id, method }, request) => {
      if (method !== 'subscriptions/listen') return { content: [], resultType: 'complete' };
      const stream = request.eventStream();
      const named = tag.replace('"l"', JSON.stringify(id));
      const notifications = '"notifications":{"toolsListChanged":true}';
      const acknowledged = changed('', `${notifications},${named}`).replace(
        'tools/list_changed',
        'subscriptions/acknowledged',
      );
      const disguised = ['"id":1,', '"i\\u0064":"x",', '"id":null,', '"id":{},', '"id":1,"id":2,'].map((each) =>
        changed(each, named),
      );
      disguised.push(
        changed('', `${named},"id":3`),
        changed('"params":{},"id":4,', named),
        changed('', named).replace('}}}', '}},"id":5}'),
      );
      for (const text of [acknowledged, ...disguised, changed('"x":1,', named)]) void stream.event(text);
      return undefined;
    },
    SPEAKING,
  );
  const caller = new WiredRelay(t).caller({ one: backend.url });
  await caller.open({ elicitation: {}, sampling: {}, roots: {} });
  const own = hear(caller);
  await until(() => heardOn(own).length > 0, 'the notification');
  t.match(await answerOf(caller.post('tools/call', { name: 'one-x', arguments: {} }, 2)), { result: {} });
  t.notOk(
    heardOn(own).some((message) => 'id' in message),
    'the client is asked nothing',
  );
  const answered = backend.requests.filter(({ text }) => !text.includes('"method"'));
  t.same(
    answered.map(({ text }) => text),
    [],
    'and the backend is told nothing',
  );
});

t.test('a schema of results that clients with a session refuse is listed for the others alone', async (t) => {
  const tool = { name: 'x', inputSchema: { type: 'object' } };
  const listed = { ...tool, outputSchema: { type: 'array', items: {} } };
  const backend = await rawModern(t, () => ({ tools: [listed], resultType: 'complete' }));
  const caller = new WiredRelay(t).caller({ one: backend.url });
  await caller.open();
  t.same((await caller.list()).result, { tools: [{ ...tool, name: 'one-x' }] });
  const modern = await answerOf(askModern(caller, 'tools/list', {}));
  t.match(modern.result, { tools: [{ ...listed, name: 'one-x' }] });
});

t.test('a client with a session hears notifications of such a backend, and of its own resources only', async (t) => {
  const [one, two] = [await speakingBackend(t), await speakingBackend(t)];
  const caller = new WiredRelay(t).caller({ one: one.url, two: two.url });
  const { result } = await caller.open();
  t.strictSame(result?.['capabilities'], SPEAKING, 'it is told what is true');
  const own = hear(caller);
  await until(() => one.openListens === 1 && two.openListens === 1, 'both are listened to');
  t.strictSame(filtersAt(one), [{ toolsListChanged: true }]);
  await one.announce('notifications/tools/list_changed');
  await until(() => heardOn(own).length === 1, 'the change is heard');
  t.notOk(
    readEvents(own.written).some((text) => text.includes(TAG)),
    'the tag is nothing that the client knows',
  );

  t.strictSame((await answerOf(caller.post('resources/subscribe', { uri: 'one+x:1' }, 2))).result, {});
  await until(() => filtersAt(one).length === 2 && one.openListens === 1, 'the one before is over');
  t.strictSame(filtersAt(one)[1], { toolsListChanged: true, resourceSubscriptions: ['x:1'] });
  t.equal(filtersAt(two).length, 1, 'nobody else is told');
  t.same(one.requestsOf('resources/subscribe'), []);
  await one.announce('notifications/resources/updated', { uri: 'x:1', _meta: { a: 1 } });
  await until(() => heardOn(own).length === 2, 'the update is heard');
  t.same(heardOn(own)[1], {
    jsonrpc: '2.0',
    method: 'notifications/resources/updated',
    params: { uri: 'one+x:1', _meta: { a: 1 } },
  });

  t.strictSame((await answerOf(caller.post('resources/unsubscribe', { uri: 'one+x:1' }, 3))).result, {});
  await until(() => filtersAt(one).length === 3 && one.openListens === 1, 'without it');
  t.strictSame(filtersAt(one)[2], { toolsListChanged: true });
  t.same(one.refusals, []);
  t.same(two.refusals, []);

  own.isForgiving = true;
  own.abort();
  caller.request({ method: 'DELETE', body: Buffer.alloc(0) });
  await until(() => one.openListens === 0 && two.openListens === 0, 'nobody is listened to any more');
});

t.test('a listening stream that such a backend ends is opened again, and one that it refuses is not', async (t) => {
  const backend = await speakingBackend(t);
  const refused = new Set<string>();
  const silent = await speakingBackend(t, {
    methods: {
      'subscriptions/listen': ({ method }) => {
        refused.add(method);
        return new Failure({ code: -32_601, message: 'Method not found' });
      },
    },
  });
  const wired = new WiredRelay(t);
  const caller = wired.caller({ one: backend.url, two: silent.url });
  await caller.open();
  const own = hear(caller);
  await until(() => backend.openListens === 1 && refused.size === 1, 'both are asked');
  await backend.endListens();
  await wired.untilPassed(() => backend.openListens === 1, 'again');
  await backend.announce('notifications/tools/list_changed');
  await until(() => heardOn(own).length === 1, 'it is heard');
  t.equal(filtersAt(silent).length, 1);
  t.same(Object.keys((await caller.call('two-echo', {})).result ?? {}).includes('content'), true, 'and calls go there');
  own.isForgiving = true;
  own.abort();
});

t.test('a resource of a backend that declares no subscriptions cannot be subscribed to', async (t) => {
  const backend = await speakingBackend(t, { capabilities: { resources: {} } });
  const caller = new WiredRelay(t).caller({ one: backend.url });
  t.strictSame((await caller.open()).result?.['capabilities'], { resources: {} });
  for (const method of ['resources/subscribe', 'resources/unsubscribe'])
    t.match((await answerOf(caller.post(method, { uri: 'one+x:1' }, 2))).error, { code: -32_601 });
  t.same(backend.refusals, [], 'it is not asked');
});

t.test('a listener without a session hears such backends, and their resources, under its own id', async (t) => {
  const [one, two] = [await speakingBackend(t), await speakingBackend(t, { capabilities: { tools: {} } })];
  const caller = new WiredRelay(t).caller({ one: one.url, two: two.url });
  const notifications = {
    toolsListChanged: true,
    promptsListChanged: true,
    resourceSubscriptions: ['one+x:1', 'one+x:2', 'two+x:3'],
  };
  const exchange = askModern(caller, 'subscriptions/listen', { notifications });
  await until(() => heardOn(exchange).length === 1, 'the acknowledgement');
  t.match(heardOn(exchange)[0], {
    method: 'notifications/subscriptions/acknowledged',
    params: { _meta: { [TAG]: 1 } },
  });
  t.strictSame(heardOn(exchange)[0]?.params['notifications'], {
    toolsListChanged: true,
    resourceSubscriptions: ['one+x:1', 'one+x:2'],
  });
  t.strictSame(filtersAt(one).at(-1), { toolsListChanged: true, resourceSubscriptions: ['x:1', 'x:2'] });
  t.strictSame(filtersAt(two), [], 'there is nothing to hear of it');
  await until(() => one.openListens === 1, 'one at a time');
  await one.announce('notifications/tools/list_changed');
  await until(() => heardOn(exchange).length === 2, 'the change');
  await one.announce('notifications/resources/updated', { uri: 'x:2' });
  await until(() => heardOn(exchange).length === 3, 'the update');
  t.same(heardOn(exchange).slice(1), [
    { jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: { _meta: { [TAG]: 1 } } },
    { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'one+x:2', _meta: { [TAG]: 1 } } },
  ]);
  t.notOk(
    one.raw.requests.some(({ text }) => text.includes('"initialize"')),
    'it is asked in the era of the caller',
  );
  exchange.isForgiving = true;
  exchange.abort();
  await until(() => one.openListens === 0, 'its end ends it there');
});

t.test('a listener is told what at least one backend honours, and no more', async (t) => {
  const capabilities = { ...SPEAKING, prompts: { listChanged: true } };
  const [one, two] = [
    await speakingBackend(t, {
      capabilities,
      honours: () => ({ toolsListChanged: false, resourceSubscriptions: ['x:2', 'x:9'] }),
    }),
    await speakingBackend(t, { capabilities, honours: () => ({ promptsListChanged: true }) }),
  ];
  const caller = new WiredRelay(t).caller({ one: one.url, two: two.url });
  const resourceSubscriptions = ['one+x:1', 'one+x:2', 'two+x:3'];
  const notifications = { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions };
  const exchange = askModern(caller, 'subscriptions/listen', { notifications });
  await until(() => heardOn(exchange).length === 1, 'the acknowledgement');
  t.strictSame(heardOn(exchange)[0]?.params['notifications'], {
    promptsListChanged: true,
    resourceSubscriptions: ['one+x:2'],
  });
  await two.announce('notifications/prompts/list_changed');
  await until(() => heardOn(exchange).length === 2, 'what is honoured is heard');
  exchange.isForgiving = true;
  exchange.abort();

  const none = await speakingBackend(t, { honours: () => ({}) });
  const alone = new WiredRelay(t).caller({ one: none.url });
  const refused = askModern(alone, 'subscriptions/listen', { notifications: { toolsListChanged: true } });
  await until(() => refused.outcome === 'ended', 'of nobody there is anything to hear');
  t.strictSame(heardOn(refused)[0]?.params['notifications'], {});

  // A backend that does not say what it honours may send anything that was asked for.
  const silent = await speakingBackend(t, {
    methods: {
      'subscriptions/listen': async (request) => {
        request.isTakenOver = true;
        await request.tell('notifications/subscriptions/acknowledged', {});
      },
    },
  });
  const trusting = new WiredRelay(t).caller({ one: silent.url });
  const told = askModern(trusting, 'subscriptions/listen', { notifications: { toolsListChanged: true } });
  await until(() => heardOn(told).length === 1, 'the acknowledgement');
  t.strictSame(heardOn(told)[0]?.params['notifications'], { toolsListChanged: true });
  told.isForgiving = true;
  told.abort();
});

t.test('a real server is listened to', async (t) => {
  const server = await sdkServer(t);
  const caller = new WiredRelay(t).caller({ one: server.url });
  await caller.open();
  const own = hear(caller);
  await until(() => server.listenCount === 1, 'it is asked');
  await until(() => {
    server.announceTools();
    return heardOn(own).length > 0;
  }, 'the change is heard');
  t.match(heardOn(own)[0], { method: 'notifications/tools/list_changed' });
  own.isForgiving = true;
  own.abort();
});

t.test('all pages of such a backend are read, and an empty cursor counts as one (N10)', async (t) => {
  const pages: Readonly<Record<string, object>> = {
    none: { tools: [{ name: 'a', inputSchema: {} }], nextCursor: '', resultType: 'complete' },
    '': { tools: [{ name: 'b', inputSchema: {} }], nextCursor: 'c', resultType: 'complete' },
    c: { tools: [{ name: 'c', inputSchema: {} }] },
  };
  const backend = await rawModern(t, ({ params }) => pages[(params['cursor'] as string | undefined) ?? 'none']);
  const caller = new WiredRelay(t).caller({ one: backend.url });
  await caller.open();
  t.match((await caller.list()).result, { tools: [{ name: 'one-a' }, { name: 'one-b' }, { name: 'one-c' }] });
  const sent = backend.requests.slice(1).map(({ text }) => JSON.parse(text) as Message);
  for (const { params } of sent)
    t.match(params['_meta'], {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
      'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
    });
});

t.test('a refusal of the empty cursor is the end of the list, but that of another cursor is a fault', async (t) => {
  for (const [nextCursor, isEnd] of [
    ['', true],
    ['c', false],
  ] as const) {
    const backend = await rawModern(t, ({ params }, request) => {
      if (params['cursor'] === undefined)
        return { tools: [{ name: 'a', inputSchema: {} }], nextCursor, resultType: 'complete' };
      request.json('Internal Server Error', { status: 500, headers: { 'content-type': 'text/plain' } });
      return undefined;
    });
    const caller = new WiredRelay(t).caller({ one: backend.url });
    await caller.open();
    const { result } = await caller.list();
    t.match(result, { tools: isEnd ? [{ name: 'one-a' }] : [] });
    t.equal((result as { tools: unknown[] }).tools.length, isEnd ? 1 : 0, `after the cursor ${nextCursor}`);
    t.equal(JSON.stringify(result).includes('_meta'), !isEnd, 'only what is missing is told');
  }
});

t.test('a list for which each new session is refused ends with a fault after the second try', async (t) => {
  let listCount = 0;
  const backend = await startRawBackend(
    (request) => {
      if (request.method !== 'POST') return request.json('', { status: 405 });
      const { id, method } = JSON.parse(request.text) as Message;
      if (method === 'tools/list') listCount += 1;
      if (method === 'tools/list') return request.json('Session not found', { status: 404 });
      if (method !== 'initialize') return request.json('', { status: 202 });
      const serverInfo = { name: 's', version: '1' };
      const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo };
      request.json({ jsonrpc: '2.0', id, result }, { headers: { 'mcp-session-id': randomUUID() } });
    },
    { hearsDiscovery: false },
  );
  t.teardown(() => backend.close());
  const caller = new WiredRelay(t).caller({ one: backend.url });
  await caller.open();
  t.match((await caller.list()).result, { tools: [] });
  t.equal(listCount, 2);
});

t.test('a list of an unknown type is invalid (N06)', async (t) => {
  for (const resultType of ['partial', 'input_required', 7]) {
    const backend = await rawModern(t, () => ({ tools: [], resultType }));
    const caller = new WiredRelay(t).caller({ one: backend.url });
    await caller.open();
    t.match((await caller.list()).result, {
      tools: { length: 0 },
      _meta: { 'switchyard/unavailable': [{ backend: 'one', reason: 'invalid response' }] },
    });
  }
});

t.test('calls, reads and prompts are sent with their method and name in headers', async (t) => {
  const server = await sdkServer(t);
  const caller = new WiredRelay(t).caller({ one: server.url });
  await caller.open();
  t.match((await caller.call('one-echo', { text: 'hi' })).result, {
    content: [{ text: 'hi' }],
    resultType: 'complete',
  });
  const read = await answerOf(caller.post('resources/read', { uri: 'one+test://r' }, 2));
  t.match(read.result, { contents: [{ uri: 'one+test://r', text: 'R' }] });
  t.match((await answerOf(caller.post('prompts/get', { name: 'one-p' }, 3))).result, { messages: [{}] });
  t.match((await answerOf(caller.post('prompts/get', { name: 'one-none' }, 4))).error, { code: -32_602 });
  const heads = server.requests.slice(2).map(({ headers }) => [headers['mcp-method'], headers['mcp-name']]);
  t.same(heads, [
    ['tools/call', 'echo'],
    ['resources/read', 'test://r'],
    ['prompts/get', 'p'],
    ['prompts/get', 'none'],
  ]);
});

t.test('only the name and the envelope of a call are changed', async (t) => {
  const capabilities = { tools: {}, logging: {} };
  const backend = await rawModern(t, () => ({ content: [], resultType: 'complete' }), capabilities);
  const caller = new WiredRelay(t).caller({ one: backend.url });
  await caller.open();
  const meta = (more: string): string =>
    '"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},' +
    `"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}${more}`;
  const level = ',"io.modelcontextprotocol/logLevel":"debug"';
  const forms: readonly (readonly [string, string])[] = [
    ['{"name":"one-x","arguments":{"n":1.0}}', `{"_meta":{${meta('')}},"name":"x","arguments":{"n":1.0}}`],
    ['{"name":"one-x" , "_meta":{ "progressToken":7}}', `{"name":"x" , "_meta":{${meta('')}, "progressToken":7}}`],
    ['{"_meta":{ },"name":"one-x"}', `{"_meta":{${meta('')} },"name":"x"}`],
    ['{"_meta":null,"name":"one-x"}', `{"_meta":{${meta('')}},"name":"x"}`],
    ['{"name":"one-\\u0078"}', `{"_meta":{${meta('')}},"name":"x"}`],
    [
      '{"name":"one-x","_meta":{"io.modelcontextprotocol/clientInfo":{"name":"other"},"a":1.0}}',
      `{"name":"x","_meta":{${meta('')},"a":1.0}}`,
    ],
    [
      '{"name":"one-x","_meta":{"a":1.0,"io.modelcontextprotocol\\u002fclientInfo":{"name":"other"}}}',
      `{"name":"x","_meta":{${meta('')},"a":1.0}}`,
    ],
    [
      '{"name":"one-x","arguments":{"requestState":"\\n"}}',
      `{"_meta":{${meta('')}},"name":"x","arguments":{"requestState":"\\n"}}`,
    ],
  ];
  for (const [params, sent] of forms) {
    const body = `{"jsonrpc":"2.0","id":1.0,"method":"tools/call","params":${params}}`;
    const exchange = caller.request({ body: Buffer.from(body) });
    await answerOf(exchange);
    t.equal(backend.requests.at(-1)?.text, `{"jsonrpc":"2.0","id":1.0,"method":"tools/call","params":${sent}}`);
    t.equal(
      exchange.answer?.body.toString(),
      '{"jsonrpc":"2.0","id":1.0,"result":{"content":[],"resultType":"complete"}}',
    );
  }
  const curated = new WiredRelay(t).caller({
    one: { url: backend.url, tools: { x: { fixed_arguments: { v: 7 } } } },
  });
  await curated.open();
  const [params, sent] = [
    '{"name":"one-x","_meta":{"a":1.0},"arguments":{"n":1.0}}',
    `{"name":"x","_meta":{${meta('')},"a":1.0},"arguments":{"v":7,"n":1.0}}`,
  ];
  const whole = (params: string): string => `{"jsonrpc":"2.0","id":1.0,"method":"tools/call","params":${params}}`;
  await answerOf(curated.request({ body: Buffer.from(whole(params)) }));
  t.equal(backend.requests.at(-1)?.text, whole(sent), 'and what the config fixes, on both sides of the envelope');
  await answerOf(caller.post('logging/setLevel', { level: 'debug' }, 9));
  t.match((await caller.call('one-x')).result, { content: [] });
  t.ok(backend.requests.at(-1)?.text.includes(`"_meta":{${meta(level)}}`), 'the level goes along');
});

t.test('a call that repeats what the gateway adds for a session is refused', async (t) => {
  const backend = await rawModern(t, () => ({ content: [], resultType: 'complete' }));
  const caller = new WiredRelay(t).caller({ one: backend.url });
  await caller.open();
  const count = backend.requests.length;
  const long = 'x'.repeat(limits.readAtOnceBytesMax);
  const forms = [
    '{"name":"one-x","requestState":"s"}',
    '{"name":"one-x","input\\u0052esponses":{}}',
    `{"name":"one-x","_meta":{"long":"${long}","io.modelcontextprotocol/clientInfo":{"name":"other"}}}`,
  ];
  for (const params of forms) {
    const body = Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`);
    const { error } = await answerOf(caller.request({ body }));
    t.match(error, { code: -32603, message: /without requestState and inputResponses/ }, params.slice(0, 60));
  }
  t.equal(backend.requests.length, count, 'the backend has got none of them');
});

const WRONG_HEADERS = { code: -32_020, message: 'wrong headers' };

/** A backend whose tools must get `v` in a header, and a client's session with it. `calls` counts what the backend has got. */
async function withHeaders(
  t: Test,
  description: string,
  isTaken: (header: unknown) => boolean,
): Promise<{ readonly caller: WiredCaller; readonly calls: () => number }> {
  const inputSchema = { type: 'object', properties: { v: { type: 'string', 'x-mcp-header': 'V' } } };
  const backend = await rawModern(t, ({ id, method }, request) => {
    if (method === 'tools/list') return { resultType: 'complete', tools: [{ name: 'x', description, inputSchema }] };
    if (isTaken(request.headers['mcp-param-v'])) return { resultType: 'complete', content: [] };
    request.json({ jsonrpc: '2.0', id, error: WRONG_HEADERS }, { status: 400 });
    return undefined;
  });
  const caller = new WiredRelay(t).caller({ one: backend.url });
  await caller.open();
  return { caller, calls: () => backend.requests.filter(({ text }) => text.includes('"tools/call"')).length };
}

t.test('a call whose headers are refused is sent again, once, with those that the tool has now', async (t) => {
  for (const [size, more] of [
    ['small', ''],
    ['large', 'x'.repeat(limits.readAtOnceBytesMax)],
  ] as const) {
    const taking = await withHeaders(t, '', (header) => header === 'a');
    t.hasProp(await taking.caller.call('one-x', { v: 'a', more }), 'result', size);
    t.equal(taking.calls(), 2);
    t.match(await taking.caller.call('one-x', { v: 'b', more }), { error: WRONG_HEADERS }, size);
    t.equal(taking.calls(), 3, 'not where the headers would be the same');
  }
});

t.test('a caller is told why the headers that its call needs cannot be sent', async (t) => {
  const long = await withHeaders(t, '', () => false);
  const v = 'x'.repeat(limits.mirroredParamBytesMax + 1);
  t.match(await long.caller.call('one-x', { v }), { error: { code: -32_602, message: /^Arguments too long/ } });
  t.equal(long.calls(), 1);
  const unread = await withHeaders(t, 'x'.repeat(limits.mirroredToolBytesMax), () => false);
  t.match(await unread.caller.call('one-x', { v: 'a' }), { error: { code: -32_602, message: /schema is too large/ } });
  t.equal(unread.calls(), 1);
});

t.test('a name that no header can hold is sent in base64', async (t) => {
  const backend = await rawModern(t, () => ({ content: [] }));
  const caller = new WiredRelay(t).caller({ one: backend.url });
  await caller.open();
  for (const name of ['größe', ' x', 'x ', '=?base64?eA==?=']) {
    await caller.call(`one-${name}`);
    t.equal(backend.requests.at(-1)?.headers['mcp-name'], `=?base64?${Buffer.from(name).toString('base64')}?=`);
  }
  await caller.call('one-a b');
  t.equal(backend.requests.at(-1)?.headers['mcp-name'], 'a b');
});

t.test('a result of an unknown type is invalid, and one without a type is complete (N06)', async (t) => {
  const results: Readonly<Record<string, object>> = {
    none: { content: [] },
    partial: { content: [], resultType: 'partial' },
    deeper: { content: [], structuredContent: { resultType: 'mine' }, resultType: 'complete' },
    large: { content: ['x'.repeat(300_000)], structuredContent: { resultType: 'mine' }, resultType: 'complete' },
    late: { content: ['x'.repeat(300_000)], resultType: 'partial' },
  };
  const backend = await rawModern(t, ({ params }) => results[params['name'] as string]);
  const caller = new WiredRelay(t).caller({ one: backend.url });
  await caller.open();
  for (const name of ['none', 'deeper', 'large']) t.ok((await caller.call(`one-${name}`)).result, name);
  for (const name of ['partial', 'late'])
    t.equal((await caller.call(`one-${name}`)).error?.message, 'Backend "one" failed: invalid response', name);
});

interface Question {
  readonly id: string;
  readonly method: string;
  readonly params: unknown;
}

/** The questions that the client got on the stream of a call. */
async function questionsOn(exchange: RecordedExchange, count: number): Promise<readonly Question[]> {
  await until(() => readEvents(exchange.written).length >= count, `${count} questions`);
  return readEvents(exchange.written).map((data) => JSON.parse(data) as Question);
}

function reply(caller: WiredCaller, { id }: Question, answer: string): void {
  caller.request({ body: Buffer.from(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},${answer}}`) });
}

const ASKED = {
  resultType: 'input_required',
  inputRequests: { who: { method: 'elicitation/create', params: { message: 'who?', mode: 'form', n: 1.5 } } },
  requestState: 'état "1"',
};

t.test(
  'what a backend asks for is asked of the client, and the call is sent again with the client’s answers',
  async (t) => {
    const backend = await rawModern(t, ({ params }) =>
      params['inputResponses'] === undefined ? ASKED : { content: [], resultType: 'complete' },
    );
    const caller = new WiredRelay(t).caller({ one: backend.url });
    await caller.open({ elicitation: {} });
    const exchange = caller.post('tools/call', { name: 'one-x', arguments: { a: 1 } }, 'c');
    const [question] = await questionsOn(exchange, 1);
    t.match(question, { method: 'elicitation/create', params: { message: 'who?', mode: 'form', n: 1.5 } });
    reply(caller, question!, '"result":{ "action":"accept","content":{"n":1.0}}');
    t.match(await answerOf(exchange), { id: 'c', result: { content: [] } });
    const [first, second] = backend.requests.slice(-2).map(({ text }) => text);
    t.ok(second?.includes('"inputResponses":{"who":{ "action":"accept","content":{"n":1.0}}}'), 'every byte');
    t.match(JSON.parse(second ?? ''), { params: { requestState: ASKED.requestState, name: 'x', arguments: { a: 1 } } });
    const [firstId, secondId] = [first, second].map((text) => (JSON.parse(text ?? '') as Message).id);
    t.equal(firstId, 'c');
    t.not(secondId, 'c', 'another id (N07)');
    t.equal(backend.requests.at(-1)?.headers['mcp-name'], 'x');
  },
);

t.test('a client that cannot be asked is told what was wanted, and the call is not sent again', async (t) => {
  const backend = await rawModern(t, () => ASKED);
  const caller = new WiredRelay(t).caller({ one: backend.url });
  await caller.open();
  const { error } = await caller.call('one-x');
  t.match(error?.message, /response from the client to elicitation\/create.*does not support elicitation\/create/);
  const asking = new WiredRelay(t).caller({ one: backend.url });
  await asking.open({ elicitation: {} });
  const sentCount = backend.requests.length;
  const body = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one-x"}}');
  t.match(
    (await answerOf(asking.request({ body, acceptedTypes: 'json' }))).error?.message,
    /does not accept event streams/,
  );
  const exchange = asking.post('tools/call', { name: 'one-x' }, 2);
  const [question] = await questionsOn(exchange, 1);
  reply(asking, question!, '"error":{"code":-1,"message":"no"}');
  t.match((await answerOf(exchange)).error?.message, /The client responded with an error/);
  t.equal(backend.requests.length, sentCount + 2);
});

t.test('a backend that asks without end is given up after a number of rounds', async (t) => {
  const backend = await rawModern(t, () => ASKED);
  const caller = new WiredRelay(t).caller({ one: backend.url });
  await caller.open({ elicitation: {} });
  const exchange = caller.post('tools/call', { name: 'one-x' }, 1);
  for (let round = 1; round <= limits.inputRoundsMax; round++) {
    const questions = await questionsOn(exchange, round);
    reply(caller, questions[round - 1]!, '"result":{"action":"decline"}');
  }
  t.match((await answerOf(exchange)).error?.message, /has asked for more 8 times/);
  const calls = (): number => backend.requests.filter(({ text }) => text.includes('tools/call')).length;
  t.equal(calls(), limits.inputRoundsMax + 1, 'the call, and once more with each answer');
  for (let times = 1; times <= 2 * limits.inputRoundsMax; times += 1) {
    const asked = postModern(caller, 'tools/call', { params: { name: 'one-x', requestState: ASKED.requestState } });
    t.match((await answerOf(asked)).result, { resultType: 'input_required' });
    t.equal(
      calls(),
      limits.inputRoundsMax + 1 + times,
      'a client without a session decides itself, and each of its calls goes out once',
    );
  }
});

t.test('a call that ends with its first question asks no other', async (t) => {
  const question = { method: 'elicitation/create', params: { message: 'who?', requestedSchema: {} } };
  const held: (() => void)[] = [];
  const backend = await rawModern(t, ({ id }, request) => {
    const result = { resultType: 'input_required', inputRequests: { a: question, b: question } };
    held.push(() => request.json({ jsonrpc: '2.0', id, result }));
    return undefined;
  });
  const accounts = createAccounts();
  // Nothing can be kept for a client that is gone.
  const answers = { ...answerOptions, slowAnswerMs: 100, resumptionBytesMax: 10 };
  const wired = new WiredRelay(t, {}, {}, { accounts, answers });
  const caller = wired.caller({ one: backend.url });
  await caller.open({ elicitation: {} });
  const bytesBefore = accounts.used('sessionBytes');
  const exchange = caller.post('tools/call', { name: 'one-x' }, 1);
  await until(() => held.length > 0, 'the call');
  await wired.untilPassed(() => exchange.written.length > 0, 'its stream');
  exchange.abort();
  held[0]?.();
  await until(() => accounts.used('requests') === 0, 'the end of the call');
  t.equal(accounts.used('sessionBytes'), bytesBefore, 'no question is left');
});

t.test('several questions are asked at once, and the end of the call withdraws them', async (t) => {
  const params = { messages: [], maxTokens: 1 };
  const backend = await rawModern(t, () => ({
    resultType: 'input_required',
    inputRequests: { a: { method: 'sampling/createMessage', params }, b: { method: 'roots/list' } },
  }));
  const caller = new WiredRelay(t).caller({ one: backend.url });
  await caller.open({ sampling: {}, roots: {} });
  const exchange = caller.post('tools/call', { name: 'one-x' }, 1);
  const questions = await questionsOn(exchange, 2);
  t.same(
    questions.map(({ method }) => method),
    ['sampling/createMessage', 'roots/list'],
  );
  const sentCount = backend.requests.length;
  const notice = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
  caller.request({ body: Buffer.from(JSON.stringify(notice)) });
  await until(() => exchange.outcome === 'ended', 'the end of the call');
  const events = readEvents(exchange.written).map((data) => JSON.parse(data) as Question);
  t.same(
    events.slice(2, 4).map(({ method }) => method),
    ['notifications/cancelled', 'notifications/cancelled'],
  );
  t.equal(backend.requests.length, sentCount, 'a backend without sessions is told nothing');
});

t.test('the answers to several questions go to the backend together, in whichever order they come', async (t) => {
  const inputRequests = { a: { method: 'roots/list' }, b: { method: 'roots/list' }, c: { method: 'roots/list' } };
  const backend = await rawModern(t, ({ params }) =>
    params['inputResponses'] === undefined
      ? { resultType: 'input_required', inputRequests }
      : { content: [], resultType: 'complete' },
  );
  const caller = new WiredRelay(t).caller({ one: backend.url });
  await caller.open({ roots: {} });
  const exchange = caller.post('tools/call', { name: 'one-x' }, 1);
  const questions = await questionsOn(exchange, 3);
  for (const place of [1, 2, 0]) reply(caller, questions[place]!, `"result":{"roots":[],"place":${place}}`);
  t.match(await answerOf(exchange), { id: 1, result: { content: [] } });
  const { params } = JSON.parse(backend.requests.at(-1)?.text ?? '') as { params: { inputResponses: unknown } };
  const [a, b, c] = [0, 1, 2].map((place) => ({ roots: [], place }));
  t.same(params.inputResponses, { a, b, c });
});

t.test('a cancelled call is aborted, and one whose stream broke is not sent again', async (t) => {
  const backend = await rawModern(t, ({ params }, request) => {
    request.head({}, { 'content-type': 'text/event-stream', 'transfer-encoding': 'chunked' });
    if (params['name'] === 'break') request.connection.end('e\r\nid: 1\ndata: \n\n\r\n');
    if (params['name'] === 'end') request.connection.end('e\r\nid: 1\ndata: \n\n\r\n0\r\n\r\n');
    return undefined;
  });
  const caller = new WiredRelay(t).caller({ one: backend.url });
  await caller.open();
  const exchange = caller.post('tools/call', { name: 'one-x' }, 1);
  // Behind those that ask for its era.
  const { connection, text } = await backend.request(2);
  t.match(text, '"tools/call"');
  const notice = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
  caller.request({ body: Buffer.from(JSON.stringify(notice)) });
  t.match((await answerOf(exchange)).error?.message, 'Request cancelled');
  await until(() => connection.destroyed || connection.readableEnded, 'the end of the stream');
  t.match((await caller.call('one-break')).error?.message, /connection lost/);
  t.equal(backend.requests.length, 4, 'neither a notice, nor a GET, nor a second try');
  t.match((await caller.call('one-end')).error?.message, /stream ended without a response/);
  t.equal(backend.requests.length, 5, 'nor after a stream that ends in the regular way');
});

t.test('a backend that asks nothing, but wants the call again, gets it after a pause, with its state', async (t) => {
  const backend = await rawModern(t, ({ params }) =>
    params['requestState'] === 'later' || params['name'] === 'never'
      ? { resultType: params['name'] === 'never' ? 'input_required' : 'complete', content: [], requestState: 'x' }
      : { resultType: 'input_required', requestState: 'later' },
  );
  const wired = new WiredRelay(t);
  const caller = wired.caller({ one: backend.url });
  await caller.open();
  const exchange = caller.post('tools/call', { name: 'one-x', arguments: { a: 1 } }, 1);
  await wired.untilPassed(() => exchange.outcome === 'responded', 'the answer');
  t.match(await answerOf(exchange), { id: 1, result: { content: [] } });
  const calls = backend.requests
    .map(({ text }) => JSON.parse(text) as Message)
    .filter(({ method }) => method === 'tools/call');
  t.match(
    calls.map(({ params }) => params),
    [
      { name: 'x', arguments: { a: 1 } },
      { name: 'x', arguments: { a: 1 }, requestState: 'later' },
    ],
  );
  t.notOk(calls.some(({ params }) => 'inputResponses' in params));

  const cancelled = caller.post('tools/call', { name: 'one-never' }, 2);
  const sentCount = backend.requests.length + 1;
  await until(() => backend.requests.length === sentCount, 'the call');
  const notice = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } };
  caller.request({ body: Buffer.from(JSON.stringify(notice)) });
  t.match((await answerOf(cancelled)).error?.message, 'Request cancelled');
  let looks = 0;
  await wired.untilPassed(() => (looks += 1) > 40, 'the pause to be over');
  t.equal(backend.requests.length, sentCount, 'a call that nobody waits for is not sent again');
});

t.test('a URL to open has an id for clients with a session, and keeps one that it has', async (t) => {
  const ask = (more: object): object => ({
    method: 'elicitation/create',
    params: { mode: 'url', url: 'https://x.example/', message: 'open it', ...more },
  });
  const backend = await rawModern(t, () => ({
    resultType: 'input_required',
    inputRequests: { a: ask({}), b: ask({ elicitationId: 'own' }) },
  }));
  const caller = new WiredRelay(t).caller({ one: backend.url });
  await caller.open({ elicitation: { url: {} } });
  const exchange = caller.post('tools/call', { name: 'one-x' }, 1);
  const questions = await questionsOn(exchange, 2);
  const ids = questions.map(({ params }) => (params as { elicitationId: string }).elicitationId);
  t.match(ids, [/^[0-9a-f-]{36}$/, 'own']);
  t.match(questions[0]?.params, { mode: 'url', url: 'https://x.example/', message: 'open it' });
});

t.test('large answers to a backend’s questions count until they are sent on, and no longer', async (t) => {
  const accounts = createAccounts();
  const inputRequests = { a: { method: 'roots/list' }, b: { method: 'roots/list' } };
  const backend = await rawModern(t, ({ params }) =>
    params['inputResponses'] === undefined
      ? { resultType: 'input_required', inputRequests }
      : { content: [], resultType: 'complete' },
  );
  const caller = new WiredRelay(t, {}, {}, { accounts }).caller({ one: backend.url });
  await caller.open({ roots: {} });
  const exchange = caller.post('tools/call', { name: 'one-x' }, 1);
  const questions = await questionsOn(exchange, 2);
  const before = accounts.used('requestBytes');
  const roots = `"result":{"roots":[],"x":"${'x'.repeat(2 * limits.countedFromBytes)}"}`;
  reply(caller, questions[0]!, roots);
  await until(() => accounts.used('requestBytes') > before + 2 * limits.countedFromBytes, 'the first to be counted');
  reply(caller, questions[1]!, roots);
  t.match(await answerOf(exchange), { id: 1, result: { content: [] } });
  await until(() => accounts.used('requestBytes') === before, 'both to be given back');
});
