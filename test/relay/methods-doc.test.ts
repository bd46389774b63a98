// docs/mcp.md says of each method of MCP whether it passes, and the relay agrees: every method is sent through it, from the
// side that sends it, with all that either side can declare.
import { readFileSync } from 'node:fs';
import {
  ClientNotificationSchema,
  ClientRequestSchema,
  ServerNotificationSchema,
  ServerRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import t from 'tap';
import { isMethodOf, isTargetMethod, knownMethods } from '../../src/calls/targets.js';
import { post } from '../modern/modern-request.js';
import { backendFor } from '../support/deployment.js';
import { readEvents } from '../support/event-stream.js';
import { JsonText } from '../support/json-text.js';
import type { ReceivedCall } from '../support/mcp-backend.js';
import { until } from '../support/until.js';
import { answerOf, WiredRelay, type WiredCaller } from './wired-relay.js';

const documentation = readFileSync(new URL('../../../docs/mcp.md', import.meta.url), 'utf8');

/** Whether each method of a section's table passes, according to the page. */
function documented(title: string): Map<string, boolean> {
  const section = documentation.split(/^## /m).find((text) => text.startsWith(`${title}\n`)) ?? '';
  const rows = [...section.matchAll(/^\| `([^`]+)` +\| (yes|no) +\|/gm)];
  if (rows.length === 0) throw new Error(`no methods under ${title}`);
  return new Map(rows.map(([, method = '', passes]) => [method, passes === 'yes']));
}

/** The methods in a union of message schemas of the SDK. */
function methodsOf(union: { readonly options: readonly unknown[] }): string[] {
  const schemas = union.options as readonly { readonly shape: { readonly method: { readonly value: string } } }[];
  return schemas.map(({ shape }) => shape.method.value);
}

const SERVER = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  completions: {},
  logging: {},
  tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
};
const CLIENT = {
  sampling: { tools: {} },
  elicitation: { form: {}, url: {} },
  roots: { listChanged: true },
  tasks: {
    list: {},
    cancel: {},
    requests: { sampling: { createMessage: {} }, elicitation: { create: {} } },
  },
};
const INTRODUCTION = {
  protocolVersion: '2025-11-25',
  capabilities: CLIENT,
  clientInfo: { name: 'c', version: '1' },
};
/** Params that lead a request to the backend. */
const PARAMS: Readonly<Record<string, unknown>> = {
  initialize: INTRODUCTION,
  'tools/call': { name: 'one-echo', arguments: {} },
  'subscriptions/listen': { notifications: {} },
  'prompts/get': { name: 'one-p' },
  'resources/read': { uri: 'one+u:r' },
  'resources/subscribe': { uri: 'one+u:r' },
  'resources/unsubscribe': { uri: 'one+u:r' },
  'completion/complete': { ref: { type: 'ref/prompt', name: 'one-p' }, argument: { name: 'a', value: '' } },
  'logging/setLevel': { level: 'debug' },
  'tasks/get': { taskId: 'one-t' },
  'tasks/result': { taskId: 'one-t' },
  'tasks/cancel': { taskId: 'one-t' },
};
const LISTS: Readonly<Record<string, string>> = {
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
  'tasks/list': 'tasks',
};
const ANSWERS = Object.fromEntries(
  Object.keys(PARAMS).map((method) => [method, (): unknown => ({ contents: [], messages: [] })]),
);
for (const [method, member] of Object.entries(LISTS)) ANSWERS[method] = () => ({ [member]: [] });
/** Requests that the gateway answers itself. */
const OURS = new Set(['initialize', 'ping']);

async function openSession(relay: WiredRelay, url: string): Promise<WiredCaller> {
  const caller = relay.caller({ one: url });
  const exchange = caller.post('initialize', INTRODUCTION, 0);
  await answerOf(exchange);
  caller.sessionId = exchange.answer?.sessionId ?? '';
  return caller;
}

const notice = (method: string, params: unknown = {}): Buffer =>
  Buffer.from(JSON.stringify({ jsonrpc: '2.0', method, params }));

t.test('requests of clients pass as the page says', async (t) => {
  const methods = documented('Requests of clients');
  t.same(
    methodsOf(ClientRequestSchema).filter((method) => !methods.has(method)),
    [],
    'every method of the SDK is on the page',
  );
  t.same(
    knownMethods.filter((method) => isTargetMethod(method) && !methods.has(method)),
    [],
    'and every one that is relayed',
  );
  const backend = await backendFor(t, { capabilities: SERVER, methods: ANSWERS });
  const relay = new WiredRelay(t);
  const caller = await openSession(relay, backend.url);
  for (const [method, passes] of methods) {
    t.equal(isMethodOf('legacy', method), passes, method);
    const before = backend.requestsOf(method).length;
    // A second `initialize` is refused in a session, which says nothing of the method.
    if (method === 'initialize') continue;
    const answer = await answerOf(caller.post(method, PARAMS[method] ?? {}, 7));
    if (passes) t.ok('result' in answer, `${method}: ${JSON.stringify(answer)}`);
    else t.match(answer, { id: 7, error: { code: -32601 } }, method);
    t.equal(
      backend.requestsOf(method).length - before,
      passes && !OURS.has(method) ? 1 : 0,
      `${method} at the backend`,
    );
  }
});

t.test('requests of clients of 2026-07-28 pass as the page says', async (t) => {
  const methods = documented('Requests of clients of 2026-07-28');
  const missing = knownMethods.filter((method) => isMethodOf('modern', method) && !methods.has(method));
  t.same(missing, [], 'every method that is served is on the page');
  const backend = await backendFor(t, { capabilities: SERVER, methods: ANSWERS });
  const caller = new WiredRelay(t).caller({ one: backend.url });
  for (const [method, passes] of methods) {
    t.equal(isMethodOf('modern', method), passes, method);
    const before = backend.requestsOf(method).length;
    const params = PARAMS[method] as Record<string, unknown> | undefined;
    const exchange = post(caller, method, params === undefined ? {} : { params });
    const answer = await answerOf(exchange);
    // Tasks are an extension, which passes where both sides declare it (modern/tasks.test.ts).
    if (passes && method.startsWith('tasks/')) {
      t.match([exchange.answer?.status, answer], [400, { error: { code: -32021 } }], method);
      continue;
    }
    if (passes) t.match(answer, { result: { resultType: 'complete' } }, method);
    else t.match([exchange.answer?.status, answer], [404, { error: { code: -32601 } }], method);
    // Each backend is asked what it is anyway, in a request of the gateway's own.
    if (method === 'server/discover') continue;
    const isOurs = method === 'subscriptions/listen';
    t.equal(backend.requestsOf(method).length - before, passes && !isOurs ? 1 : 0, `${method} at the backend`);
  }
});

t.test('notifications of clients pass as the page says', async (t) => {
  const methods = documented('Notifications of clients');
  t.same(
    methodsOf(ClientNotificationSchema).filter((method) => !methods.has(method)),
    [],
    'every method of the SDK is on the page',
  );
  let isOver = false;
  const seen = (method: string): boolean => backend.requestsOf(method).length > 0;
  const backend = await backendFor(t, {
    capabilities: SERVER,
    framing: 'chunked',
    onCall: async (call) => {
      await ask(call, 1, 'sampling/createMessage', {
        messages: [],
        maxTokens: 1,
        _meta: { progressToken: 't' },
        task: {},
      });
      await until(() => isOver, 'the end of the test');
    },
  });
  const caller = await openSession(new WiredRelay(t), backend.url);
  const call = caller.post('tools/call', PARAMS['tools/call'], 7);
  await until(() => readEvents(call.written).length > 0, 'the question');
  const question = JSON.parse(readEvents(call.written)[0] ?? '{}') as {
    id: unknown;
    params: { _meta: { progressToken: unknown } };
  };
  const { progressToken } = question.params._meta;
  caller.request({ body: notice('notifications/progress', { progressToken, progress: 1 }) });
  const task = { taskId: 'mine', status: 'working', createdAt: 'x', lastUpdatedAt: 'x', ttl: null };
  const answer = JSON.stringify({ jsonrpc: '2.0', id: question.id, result: { task } });
  caller.request({ body: Buffer.from(answer) });
  await until(() => backend.raw.requests.some(({ text }) => text.includes('"mine"')), "the client's answer");
  caller.request({ body: notice('notifications/tasks/status', task) });
  caller.request({ body: notice('notifications/roots/list_changed') });
  const initializedBefore = backend.requestsOf('notifications/initialized').length;
  caller.request({ body: notice('notifications/initialized') });
  caller.request({ body: notice('notifications/cancelled', { requestId: 7 }) });
  const passing = [...methods].filter(([, passes]) => passes).map(([method]) => method);
  await until(() => passing.every(seen), `all of ${passing.join(', ')}`);
  t.equal(backend.requestsOf('notifications/initialized').length, initializedBefore);
  for (const [method, passes] of methods)
    if (method !== 'notifications/initialized') t.equal(seen(method), passes, method);
  isOver = true;
});

t.test('requests and notifications of backends pass as the page says', async (t) => {
  const requests = documented('Requests of backends');
  const notifications = documented('Notifications of backends');
  t.same(
    [
      ...methodsOf(ServerRequestSchema).filter((method) => !requests.has(method)),
      ...methodsOf(ServerNotificationSchema).filter((method) => !notifications.has(method)),
    ],
    [],
    'every method of the SDK is on the page',
  );
  const paramsOf: Readonly<Record<string, unknown>> = {
    'notifications/progress': { progressToken: 'mine', progress: 1 },
    'notifications/message': { level: 'info', data: 'x' },
    'notifications/resources/updated': { uri: 'u:r' },
    'notifications/tasks/status': { taskId: 't', status: 'working' },
    'notifications/elicitation/complete': { elicitationId: 'e' },
    'sampling/createMessage': { messages: [], maxTokens: 1, task: {} },
    'elicitation/create': { mode: 'url', message: 'x', url: 'https://x/y', elicitationId: 'e' },
    'tasks/get': { taskId: 'mine' },
    'tasks/result': { taskId: 'mine' },
    'tasks/cancel': { taskId: 'mine' },
  };
  let hasTask = false;
  const backend = await backendFor(t, {
    capabilities: SERVER,
    framing: 'chunked',
    onCall: async (call) => {
      await ask(call, 'first', 'sampling/createMessage', paramsOf['sampling/createMessage']);
      await until(() => hasTask, "the client's task");
      let id = 0;
      for (const method of requests.keys()) await ask(call, (id += 1), method, paramsOf[method] ?? {});
      for (const method of notifications.keys()) {
        // A cancellation is for a request that the client has been asked.
        await call.notify(method, method === 'notifications/cancelled' ? { requestId: 2 } : (paramsOf[method] ?? {}));
      }
      return new JsonText('{"content":[]}');
    },
  });
  const caller = await openSession(new WiredRelay(t), backend.url);
  const params = { name: 'one-echo', arguments: {}, _meta: { progressToken: 'mine' } };
  const call = caller.post('tools/call', params, 7);
  const told = (): { id?: unknown; method?: string; result?: unknown }[] =>
    readEvents(call.written).map((text) => JSON.parse(text) as { id?: unknown; method?: string; result?: unknown });
  await until(() => told().length > 0, 'the question');
  const task = { taskId: 'mine', status: 'working', createdAt: 'x', lastUpdatedAt: 'x', ttl: null };
  const answer = JSON.stringify({ jsonrpc: '2.0', id: told()[0]?.id, result: { task } });
  caller.request({ body: Buffer.from(answer) });
  await until(
    () => backend.raw.requests.some(({ text }) => text.includes('"mine"') && text.includes('"result"')),
    'the task',
  );
  hasTask = true;
  await until(() => call.outcome === 'ended', 'the answer');
  const methods = told()
    .slice(1)
    .map(({ method }) => method);
  for (const [method, passes] of [...requests, ...notifications]) t.equal(methods.includes(method), passes, method);
});

async function ask(call: ReceivedCall, id: unknown, method: string, params: unknown): Promise<void> {
  await call.send({ jsonrpc: '2.0', id, method, params });
}
