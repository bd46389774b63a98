// Tasks of MCP 2026-07-28, the extension `io.modelcontextprotocol/tasks`: between a modern client and scripted modern backends, which
// refuse wrong headers; and what happens when one side does not know tasks.
import t, { type Test } from 'tap';
import { backendFor } from '../support/deployment.js';
import { Failure } from '../support/mcp-backend.js';
import {
  modernBackendFor,
  type ModernBackend,
  type ModernBackendOptions,
  type ModernRequest as ReceivedModern,
} from '../support/modern-backend.js';
import type { RecordedExchange } from '../support/recorded-exchange.js';
import { answerOf, WiredRelay, type WiredCaller } from '../relay/wired-relay.js';
import { post, type ModernRequest } from './modern-request.js';

const EXTENSION = 'io.modelcontextprotocol/tasks';
const EXTENSIONS = { extensions: { [EXTENSION]: {} } };
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const DECLARED = { [CAPABILITIES]: EXTENSIONS };
const TIMES = { createdAt: '2026-08-01T10:00:00Z', lastUpdatedAt: '2026-08-01T10:00:00Z', ttlMs: null };

/** A backend whose tool `slow` becomes the task `t-1`, whose result names a resource; the result of `odd` only looks like a task. */
function taskBackend(t: Test, options: ModernBackendOptions = {}): Promise<ModernBackend> {
  const task = (status: string, more: object = {}): object => ({ taskId: 't-1', status, ...TIMES, ...more });
  const link = { type: 'resource_link', uri: 'x:1', name: 'x' };
  return modernBackendFor(t, {
    tools: ['slow', 'odd'],
    capabilities: { tools: {}, ...EXTENSIONS },
    onCall: ({ name }) =>
      name === 'slow'
        ? { resultType: 'task', ...task('working') }
        : { content: [], taskId: 'mine', task: { taskId: 'mine' } },
    ...options,
    methods: {
      'tasks/get': ({ params }) =>
        params['taskId'] === 't-1'
          ? task('completed', { result: { content: [link], isError: false } })
          : new Failure({ code: -32_602, message: 'Task not found' }),
      'tasks/update': () => ({}),
      'tasks/cancel': () => ({}),
      ...options.methods,
    },
  });
}

function ask(caller: WiredCaller, method: string, params: object, request: ModernRequest = {}): RecordedExchange {
  const taskId = (params as { taskId?: string }).taskId;
  const headers = taskId === undefined ? {} : { name: taskId };
  return post(caller, method, { meta: DECLARED, params: { ...params }, headers, ...request });
}

function sentTo(backend: ModernBackend, method: string): ReceivedModern[] {
  return backend.requestsOf(method);
}

t.test('a call becomes a task, and requests about it go to its backend', async (t) => {
  const [one, two] = [await taskBackend(t), await taskBackend(t)];
  const caller = new WiredRelay(t).caller({ one: one.url, two: two.url });
  t.match((await answerOf(ask(caller, 'server/discover', {}))).result?.['capabilities'], EXTENSIONS);
  const call = await answerOf(ask(caller, 'tools/call', { name: 'two-slow', arguments: {} }));
  t.match(call.result, { resultType: 'task', taskId: 'two-t-1', status: 'working', ttlMs: null });

  const got = await answerOf(ask(caller, 'tasks/get', { taskId: 'two-t-1' }));
  t.match(got.result, { taskId: 'two-t-1', status: 'completed' });
  t.match(got.result?.['result'], { content: [{ uri: 'two+x:1' }] }, 'what the call has found is there, in its form');
  const inputResponses = { who: { action: 'accept', content: { n: 1.5 } } };
  t.ok((await answerOf(ask(caller, 'tasks/update', { taskId: 'two-t-1', inputResponses }))).result);
  t.ok((await answerOf(ask(caller, 'tasks/cancel', { taskId: 'two-t-1' }))).result);
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
    t.same(
      sentTo(two, method).map(({ params, received }) => [params['taskId'], received.headers['mcp-name']]),
      [['t-1', 't-1']],
      `${method}: the bare id, in the head as well`,
    );
    t.same(sentTo(one, method), [], 'nobody else is asked');
  }
  t.strictSame(sentTo(two, 'tasks/update')[0]?.params['inputResponses'], inputResponses);
  t.same([...one.refusals, ...two.refusals], []);
});

t.test('a result that only looks like a task stays as it is', async (t) => {
  const one = await taskBackend(t);
  const caller = new WiredRelay(t).caller({ one: one.url });
  const params = { name: 'one-odd', arguments: {}, task: { ttl: 1 } };
  const { result } = await answerOf(ask(caller, 'tools/call', params));
  t.match(result, { taskId: 'mine', task: { taskId: 'mine' } });
});

t.test('a client that does not declare tasks gets none, and is told what to declare', async (t) => {
  const one = await taskBackend(t, {
    onCall: ({ capabilities }) =>
      'extensions' in capabilities
        ? { content: [] }
        : new Failure({ code: -32_021, message: 'no', data: { requiredCapabilities: EXTENSIONS } }),
  });
  const caller = new WiredRelay(t).caller({ one: one.url });
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
    for (const capabilities of [{}, { extensions: {} }, { extensions: { [EXTENSION]: true } }, { extensions: [] }]) {
      const exchange = ask(caller, method, { taskId: 'one-t-1' }, { meta: { [CAPABILITIES]: capabilities } });
      const error = { code: -32_021, data: { requiredCapabilities: EXTENSIONS } };
      t.match((await answerOf(exchange)).error, error, `${method} ${JSON.stringify(capabilities)}`);
      t.equal(exchange.answer?.status, 400);
    }
  const call = ask(caller, 'tools/call', { name: 'one-slow' }, { meta: {} });
  t.match((await answerOf(call)).error, { code: -32_021, data: { requiredCapabilities: EXTENSIONS } });
  const listen = { notifications: { toolsListChanged: true, taskIds: ['one-t-1'] } };
  const told = ask(caller, 'subscriptions/listen', listen, { meta: {} });
  t.match((await answerOf(told)).error, { code: -32_021, data: { requiredCapabilities: EXTENSIONS } });
  t.same(
    one.accepted.map(({ method }) => method).filter((method) => method.startsWith('tasks/')),
    [],
    'no backend was asked',
  );
});

t.test('when no backend has tasks, the gateway has none', async (t) => {
  const one = await modernBackendFor(t, {});
  const caller = new WiredRelay(t).caller({ one: one.url });
  const discovered = await answerOf(ask(caller, 'server/discover', {}));
  t.notMatch(discovered.result?.['capabilities'], EXTENSIONS);
  const exchange = ask(caller, 'tasks/get', { taskId: 'one-t-1' });
  t.match((await answerOf(exchange)).error, { code: -32_601 });
  t.equal(exchange.answer?.status, 404);
  t.match((await answerOf(ask(caller, 'tasks/list', {}))).error, { code: -32_601 }, 'nor is there a list of them');
  const withTasks = await taskBackend(t);
  const both = new WiredRelay(t).caller({ one: one.url, two: withTasks.url });
  await answerOf(ask(both, 'server/discover', {}));
  for (const taskId of ['one-t-1', 'three-t-1', 't-1'])
    t.match((await answerOf(ask(both, 'tasks/get', { taskId }))).error, { code: -32_602 }, taskId);
  t.match((await answerOf(ask(both, 'tasks/get', { taskId: 'two-t-9' }))).error, { message: 'Task not found' });
  t.match((await answerOf(ask(both, 'tasks/get', {}))).error, { code: -32_602, message: /taskId must be a string/ });
  t.same(one.calls, []);
});

t.test('the name header, if present, must match the task id in the body', async (t) => {
  const one = await taskBackend(t);
  const caller = new WiredRelay(t).caller({ one: one.url });
  const wrong = ask(caller, 'tasks/cancel', { taskId: 'one-t-1' }, { headers: { name: 'one-t-2' } });
  t.match((await answerOf(wrong)).error, { code: -32_020, message: /mcp-name/ });
  t.same(sentTo(one, 'tasks/cancel'), []);
  t.ok((await answerOf(ask(caller, 'tasks/cancel', { taskId: 'one-t-1' }, { headers: { name: '' } }))).result);
});

t.test('a client with a session has no such tasks, and backends are not told that it declares them', async (t) => {
  const one = await taskBackend(t, {
    onRequest: (request) => {
      if (!request.text.includes('"initialize"')) return false;
      const { id } = JSON.parse(request.text) as { id: unknown };
      const error = { code: -32_022, message: 'x', data: { supported: ['2026-07-28'] } };
      request.json({ jsonrpc: '2.0', id, error }, { status: 400 });
      return true;
    },
    onCall: ({ capabilities }) => ({ content: [], structuredContent: { capabilities } }),
  });
  const caller = new WiredRelay(t).caller({ one: one.url });
  const { result } = await caller.open({ roots: {}, extensions: { [EXTENSION]: {}, other: { a: 1 } } });
  t.same(result?.['capabilities'], { tools: {} });
  const call = await caller.call('one-slow');
  t.strictSame((call.result?.['structuredContent'] as { capabilities: unknown }).capabilities, {
    roots: {},
    extensions: { other: { a: 1 } },
  });
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
    t.match((await answerOf(caller.post(method, { taskId: 'one-t-1' }, 2))).error, { code: -32_601 }, method);
});

t.test('tasks of a backend with sessions cannot be reached by a modern client', async (t) => {
  const old = await backendFor(t, {});
  const one = await taskBackend(t);
  const caller = new WiredRelay(t).caller({ old: old.url, one: one.url });
  await answerOf(ask(caller, 'server/discover', {}));
  t.match((await answerOf(ask(caller, 'tasks/get', { taskId: 'old-1' }))).error, { code: -32_602 });
});
