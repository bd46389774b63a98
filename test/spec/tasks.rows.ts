// Tasks (experimental in 2025-11-25): calls that become tasks of their backends, and requests of backends that become tasks of the
// client. The ids of the former get the backend's name, as tool names do; no other byte differs.
import t from 'tap';
import { backendFor, forEachDeployment, type Deployment } from '../support/deployment.js';
import { EventReader } from '../support/event-reader.js';
import { JsonText, memberText } from '../support/json-text.js';
import { Failure, type McpBackend, type McpBackendOptions } from '../support/mcp-backend.js';
import { BOTH_FORMS, rpc, type McpSession } from '../support/mcp-caller.js';
import type { EventStreamBody } from '../support/raw-backend.js';
import { until } from '../support/until.js';

const TASKS = { list: {}, cancel: {}, requests: { tools: { call: {} } } };
const RELATED = '"io.modelcontextprotocol/related-task"';
const CLIENT_TASKS =
  '{"sampling":{},"elicitation":{},"tasks":{"list":{},"cancel":{},"requests":{"sampling":{"createMessage":{}}}}}';

type Backends = Readonly<Record<string, McpBackend>>;

async function openSession(deployment: Deployment, backends: Backends, capabilities = '{}'): Promise<McpSession> {
  const members = Object.entries(backends).map(([name, { url }]) => [name, { url }] as const);
  const caller = await deployment.caller(Object.fromEntries(members));
  const params = `{"protocolVersion":"2025-11-25","capabilities":${capabilities},"clientInfo":{"name":"spec","version":"1"}}`;
  return caller.openSession({ params });
}

/** A backend that has tasks; its results by method are given as JSON text. */
async function taskBackend(
  t: Parameters<typeof backendFor>[0],
  results: Readonly<Record<string, string | Failure>> = {},
  options: McpBackendOptions = {},
): Promise<McpBackend> {
  const methods = Object.entries(results).map(([method, result]) => [
    method,
    () => (typeof result === 'string' ? new JsonText(result) : result),
  ]);
  return backendFor(t, {
    capabilities: { tools: {}, tasks: TASKS },
    methods: Object.fromEntries(methods) as NonNullable<McpBackendOptions['methods']>,
    ...options,
  });
}

function request(method: string, params: string, id = '7'): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`;
}

/** The requests of a method that a backend was sent, as text. */
function sent(backend: McpBackend, method: string): string[] {
  return backend.requestsOf(method).map(({ text }) => text);
}

function responsesTo(backend: McpBackend): string[] {
  const texts = backend.raw.requests.map(({ text }) => text);
  return texts.filter((text) => text !== '' && memberText(text, 'method') === undefined);
}

await forEachDeployment(t, { spread: 'all' }, async (t, deployment) => {
  await t.test('the capability is the union of what backends declare, member by member', async (t) => {
    const rows: [declared: object[], told: object | undefined][] = [
      [[{}, {}], undefined],
      [[{ tasks: {} }, {}], {}],
      [[{ tasks: { list: {} } }, { tasks: { cancel: {} } }], { list: {}, cancel: {} }],
      [[{ tasks: { requests: { tools: { call: {} }, more: {} } } }, {}], { requests: { tools: { call: {} } } }],
      [[{ tasks: { list: [], cancel: 1, requests: { tools: { call: null } } } }, { tasks: 1 }], {}],
    ];
    for (const [declared, told] of rows) {
      const [one, two] = await Promise.all(
        declared.map((tasks) => backendFor(t, { capabilities: { tools: {}, ...tasks } })),
      );
      const session = await openSession(deployment, { one: one!, two: two! });
      const { capabilities } = rpc(session.opening).result as { capabilities: { tasks?: object } };
      t.strictSame(capabilities.tasks, told, JSON.stringify(declared));
    }
  });

  await t.test('a call becomes a task, whose id gets the backend’s name; nothing else is changed', async (t) => {
    const task = (id: string): string =>
      `{ "_meta":{"x":{"taskId":"t"},${RELATED}:{"taskId":${id}}},"task" : {"status":"working","taskId": ${id},"ttl":1.0e3,"n":9007199254740993},"taskId":"t","content":[{"taskId":"t"}]}`;
    const own = '"t\\u002d1 \\"é"';
    const backend = await taskBackend(t, {}, { onCall: () => new JsonText(task(own)) });
    const session = await openSession(deployment, { one: backend });
    const params = (name: string): string =>
      `{"task":{"ttl":60000,"x":1.0},"name":"${name}","arguments":{"taskId":"one-t"}}`;
    const answer = await session.send(request('tools/call', params('one-echo')));
    t.equal(answer.text, `{"jsonrpc":"2.0","id":7,"result":${task(own.replace('"', '"one-'))}}`);
    t.same(sent(backend, 'tools/call'), [request('tools/call', params('echo'))]);
  });

  await t.test(
    'without `task`, a result keeps a member of that name, and so does a result of a backend without tasks',
    async (t) => {
      const result = `{"task":{"taskId":"t"},"taskId":"t","content":[],"_meta":{${RELATED}:{"taskId":"t"}}}`;
      const onCall = (): JsonText => new JsonText(result);
      const [one, two] = [await taskBackend(t, {}, { onCall }), await backendFor(t, { onCall })];
      const session = await openSession(deployment, { one, two });
      const plain = await session.send(request('tools/call', '{"name":"one-echo"}'));
      const related = result.replace(`${RELATED}:{"taskId":"`, `${RELATED}:{"taskId":"one-`);
      t.equal(plain.text, `{"jsonrpc":"2.0","id":7,"result":${related}}`);
      const params = (name: string): string => `{"name":"${name}","task":{},"task2":1.0}`;
      const other = await session.send(request('tools/call', params('two-echo')));
      t.equal(other.text, `{"jsonrpc":"2.0","id":7,"result":${result}}`);
      t.same(sent(two, 'tools/call'), [request('tools/call', params('echo'))], 'the backend is to ignore it');
    },
  );

  await t.test(
    'requests about a task go to its backend, under its own id; the id in the result is the caller’s',
    async (t) => {
      const task = '{"taskId":"t-1","status":"working","task":{"taskId":"t"},"x":1.0}';
      const payload = `{"content":[{"type":"resource_link","uri":"a:b","name":"n"}],"taskId":"t-1","_meta":{${RELATED}:{"x":1.0,"taskId":"t-1"}}}`;
      const results = { 'tasks/get': task, 'tasks/cancel': task, 'tasks/result': payload };
      const backends = { a: await taskBackend(t), 'a-b': await taskBackend(t, results) };
      const session = await openSession(deployment, backends);
      const asked = '{"_meta":{"progressToken":1},"taskId":"a-b-t-1","x":1.0}';
      for (const method of ['tasks/get', 'tasks/cancel']) {
        const answer = await session.send(request(method, asked, '1.50'));
        const told = task.replace('"t-1"', '"a-b-t-1"');
        t.equal(answer.text, `{"jsonrpc":"2.0","id":1.50,"result":${told}}`, method);
        t.same(sent(backends['a-b'], method), [request(method, asked.replace('a-b-', ''), '1.50')], method);
      }
      const answer = await session.send(request('tasks/result', '{"taskId":"\\u0061-b-t\\u002d1"}'));
      const told = payload
        .replace('"a:b"', '"a-b+a:b"')
        .replace('"x":1.0,"taskId":"t-1"', '"x":1.0,"taskId":"a-b-t-1"');
      t.equal(answer.text, `{"jsonrpc":"2.0","id":7,"result":${told}}`);
      t.same(sent(backends['a-b'], 'tasks/result'), [request('tasks/result', '{"taskId":"t-1"}')]);
      t.same(
        backends.a.raw.requests.filter(({ text }) => text.includes('"tasks/')),
        [],
        'the longest name wins',
      );
    },
  );

  await t.test('errors of a backend about its tasks pass unchanged', async (t) => {
    const error = '{"code":-32602,"message":"Failed to retrieve task: Task not found","data":[1.0]}';
    const backend = await taskBackend(t, { 'tasks/get': new Failure(new JsonText(error)) });
    const session = await openSession(deployment, { one: backend });
    const answer = await session.send(request('tasks/get', '{"taskId":"one-none"}'));
    t.equal(answer.text, `{"jsonrpc":"2.0","id":7,"error":${error}}`);
  });

  await t.test('an undeclared method is unknown; a declared one reaches only those that declare it', async (t) => {
    const none = await openSession(deployment, { one: await backendFor(t), two: await backendFor(t) });
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel', 'tasks/list']) {
      const answer = await none.send(request(method, '{"taskId":"one-t"}'));
      t.match(rpc(answer), { id: 7, error: { code: -32601, message: `Method not found: ${method}` } });
    }
    const without = await backendFor(t);
    const few = await backendFor(t, { capabilities: { tools: {}, tasks: {} } });
    const session = await openSession(deployment, { one: await taskBackend(t), without, few });
    const rows: [method: string, taskId: unknown, error: object][] = [
      ['tasks/get', 'without-t', { code: -32602, message: 'Unknown task: without-t' }],
      ['tasks/cancel', 'few-t', { code: -32602, message: 'Unknown task: few-t' }],
      ['tasks/get', 't', { code: -32602, message: 'Unknown task: t' }],
      ['tasks/result', 'tw-t', { code: -32602, message: 'Unknown task: tw-t' }],
      ['tasks/get', 5, { code: -32602, message: /taskId must be a string/ }],
      ['tasks/cancel', undefined, { code: -32602, message: /taskId must be a string/ }],
    ];
    for (const [method, taskId, error] of rows) {
      const answer = await session.send(request(method, JSON.stringify({ taskId })));
      t.match(rpc(answer), { id: 7, error }, `${method} ${String(taskId)}`);
    }
    const twice = await session.send(request('tasks/get', '{"taskId":"one-t","TaskId":"one-u"}'));
    t.match(twice.status, 400, 'what backends may read otherwise');
    for (const backend of [without, few]) {
      t.same(
        backend.raw.requests.filter(({ text }) => text.includes('"tasks/')),
        [],
      );
    }
  });

  await t.test('the lists of all backends that have them are merged, with every page', async (t) => {
    const pages = [
      '{"tasks":[{"taskId":"z","x":1.0},{"taskId":"b\\u002d","status":"working"}],"nextCursor":"2"}',
      '{"tasks":[{"taskId":"a"}]}',
    ];
    const one = await taskBackend(
      t,
      {},
      {
        methods: { 'tasks/list': (params) => new JsonText(pages[params?.includes('"2"') === true ? 1 : 0]!) },
      },
    );
    const two = await taskBackend(t, { 'tasks/list': '{"tasks":[{"taskId":"a"}]}' });
    const three = await taskBackend(t, { 'tasks/list': new Failure({ code: -32603, message: 'no' }) });
    const four = await backendFor(t, { capabilities: { tools: {}, tasks: { cancel: {} } } });
    const session = await openSession(deployment, { one, two, three, four });
    const answer = await session.send(request('tasks/list', '{}'));
    const tasks = '{"taskId":"one-a"},{"taskId":"one-b\\u002d","status":"working"},{"taskId":"one-z","x":1.0}';
    t.equal(memberText(answer.text, 'result', 'tasks'), `[${tasks},{"taskId":"two-a"}]`);
    t.match(memberText(answer.text, 'result', '_meta'), /"three"/, 'who is missing is named');
    t.same(sent(four, 'tasks/list'), [], 'one that declared no list is not asked');
    const cursor = await session.send(request('tasks/list', '{"cursor":"2"}'));
    t.match(rpc(cursor), { error: { code: -32602 } });
  });

  await t.test(
    'messages and requests of a backend about a task name it as the caller does, on a call’s stream and on GET',
    async (t) => {
      const streams: EventStreamBody[] = [];
      const said = (id: string): string[] => [
        `{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":${id},"status":"working","x":1.0}}`,
        `{"params":{"level":"info","data":{"taskId":"t"},"_meta":{${RELATED}:{"taskId":${id}}}},"jsonrpc":"2.0","method":"notifications/message"}`,
        `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1.0,"_meta":{"io.modelcontextprotocol\\/related-task":{"taskId":${id}}}}}`,
      ];
      const backend = await taskBackend(
        t,
        {},
        {
          framing: 'chunked',
          withSessions: true,
          onRequest: (received) => {
            if (received.method !== 'GET') return false;
            streams.push(received.eventStream());
            return true;
          },
          onCall: async (call) => {
            for (const message of said('"t"')) await call.send(new JsonText(message));
            await call.send(
              new JsonText('{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}'),
            );
            return new JsonText('{"content":[]}');
          },
        },
      );
      const session = await openSession(deployment, { one: backend });
      const call = request('tools/call', '{"name":"one-echo","task":{},"_meta":{"progressToken":2}}');
      const stream = await EventReader.open(session.caller, { session: session.id, accept: BOTH_FORMS, body: call });
      t.same((await stream.rest()).slice(0, -1), said('"one-t"'), 'progress of nobody’s is left out');
      const get = await EventReader.open(session.caller, {
        session: session.id,
        method: 'GET',
        accept: 'text/event-stream',
      });
      await until(() => streams.length > 0, 'the backend’s stream');
      for (const message of said('"t"')) await streams[0]!.event(message);
      for (const message of said('"one-t"')) t.equal(await get.next(), message);
      get.close();
    },
  );

  await t.test(
    'a tool asks during its task: on the stream of `tasks/result`, and the answer says which task it belongs to',
    async (t) => {
      const ask = `{"jsonrpc":"2.0","id":"é","method":"elicitation/create","params":{"message":"m","_meta":{${RELATED}:{"taskId":"t"}}}}`;
      const answered = (id: string, taskId: string): string =>
        `{"result":{"_meta":{"x":1.0,${RELATED}:{ "taskId":"${taskId}"}},"action":"accept","content":{}},"jsonrpc":"2.0","id":${id}}`;
      const backend: McpBackend = await taskBackend(
        t,
        {},
        {
          onRequest: async (received) => {
            if (memberText(received.text, 'method') !== '"tasks/result"') return false;
            const events = received.eventStream();
            await events.event(ask);
            await until(() => responsesTo(backend).length > 0, 'the answer');
            await events.event(`{"jsonrpc":"2.0","id":7,"result":{"content":[],"_meta":{${RELATED}:{"taskId":"t"}}}}`);
            events.end();
            return true;
          },
        },
      );
      const session = await openSession(deployment, { one: backend }, '{"elicitation":{}}');
      const body = request('tasks/result', '{"taskId":"one-t"}');
      const stream = await EventReader.open(session.caller, { session: session.id, accept: BOTH_FORMS, body });
      const asked = (await stream.next()) ?? '';
      const id = memberText(asked, 'id') ?? '';
      t.equal(asked, ask.replace('"é"', id).replace('"t"', '"one-t"'));
      t.equal((await session.send(answered(id, 'one-t'))).status, 202);
      t.equal(
        await stream.next(),
        `{"jsonrpc":"2.0","id":7,"result":{"content":[],"_meta":{${RELATED}:{"taskId":"one-t"}}}}`,
      );
      t.same(responsesTo(backend), [answered('"é"', 't')]);
    },
  );

  await t.test('a message of the caller that belongs to a task names it as its backend does', async (t) => {
    const backend = await taskBackend(t);
    const session = await openSession(deployment, { one: backend });
    const body = (name: string, id: string): string =>
      request('tools/call', `{"_meta":{${RELATED}:{"x":1.0,"taskId":"${id}"}},"name":"${name}","arguments":{"a":1.0}}`);
    const behind = (name: string, id: string): string =>
      request('tools/call', `{"name":"${name}","arguments":{"a":1.0},"_meta":{${RELATED}:{"taskId":"${id}"}}}`);
    await session.send(body('one-echo', 'one-t'));
    await session.send(behind('one-echo', 'one-t'));
    await session.send(behind('one-echo', 'two-t'));
    t.same(sent(backend, 'tools/call'), [body('echo', 't'), behind('echo', 't'), behind('echo', 'two-t')]);
  });

  await t.test(
    'a request that becomes a task of the client: its ids pass unchanged, and are valid for that backend alone',
    async (t) => {
      const asked: string[] = [];
      const ask = async (backend: McpBackend, send: (text: string) => Promise<void>, text: string): Promise<string> => {
        const before = responsesTo(backend).length;
        asked.push(text);
        await send(text);
        await until(() => responsesTo(backend).length > before, 'the answer');
        return responsesTo(backend)[before]!;
      };
      const sampling = request(
        'sampling/createMessage',
        '{"messages":[],"task":{"ttl":1.0},"_meta":{"progressToken":"p"}}',
        '1',
      );
      const outcomes: string[] = [];
      const one: McpBackend = await taskBackend(
        t,
        {},
        {
          framing: 'chunked',
          onCall: async (call) => {
            const send = async (text: string): Promise<void> => call.send(new JsonText(text));
            outcomes.push(await ask(one, send, sampling));
            for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel', 'tasks/get']) {
              const id = outcomes.length === 4 ? 'other' : 'one-c';
              outcomes.push(await ask(one, send, request(method, `{"taskId":"${id}","x":1.0}`, '2')));
            }
            outcomes.push(await ask(one, send, request('tasks/list', '{}', '3')));
            return { content: [] };
          },
        },
      );
      const two: McpBackend = await taskBackend(
        t,
        {},
        {
          framing: 'chunked',
          onCall: async (call) => {
            await ask(
              two,
              async (text) => call.send(new JsonText(text)),
              request('tasks/get', '{"taskId":"one-c"}', '4'),
            );
            return { content: [] };
          },
        },
      );
      const session = await openSession(deployment, { one, two }, CLIENT_TASKS);
      const body = request('tools/call', '{"name":"one-echo"}');
      const stream = await EventReader.open(session.caller, { session: session.id, accept: BOTH_FORMS, body });
      const task = '{"taskId":"one-c","status":"working","x":1.0}';
      const results = [`{"task":${task}}`, task, `{"_meta":{${RELATED}:{"taskId":"one-c"}},"content":[]}`, task];
      for (const [index, result] of results.entries()) {
        const event = (await stream.next()) ?? '';
        const id = memberText(event, 'id') ?? '';
        t.equal(event, asked[index]?.replace(/"id":\d/, `"id":${id}`), 'as it was asked');
        if (index === 1) {
          const status = `{"jsonrpc":"2.0","method":"notifications/tasks/status","params":${task}}`;
          const progress =
            '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1.0}}';
          for (const notice of [status, progress]) t.equal((await session.send(notice)).status, 202);
          await until(() => sent(one, 'notifications/progress').length > 0, 'the progress');
          await until(() => sent(one, 'notifications/tasks/status').length > 0, 'the status');
          t.same(
            [...sent(one, 'notifications/tasks/status'), ...sent(one, 'notifications/progress')],
            [status, progress],
          );
          t.same(sent(two, 'notifications/tasks/status'), []);
        }
        await session.send(`{"jsonrpc":"2.0","id":${id},"result":${result}}`);
      }
      t.match(await stream.message(), { id: 7, result: {} });
      t.same(
        outcomes.slice(0, 4),
        results.map((result, index) => `{"jsonrpc":"2.0","id":${index === 0 ? 1 : 2},"result":${result}}`),
      );
      t.match(JSON.parse(outcomes[4]!), { id: 2, error: { code: -32602, message: 'Unknown task: other' } });
      t.match(JSON.parse(outcomes[5]!), { id: 3, error: { code: -32601, message: /tasks\/list/ } });
      const other = await session.send(request('tools/call', '{"name":"two-echo"}'));
      t.match(rpc(other), { id: 7, result: {} }, 'the client is not asked');
      t.match(JSON.parse(responsesTo(two)[0]!), { id: 4, error: { code: -32602, message: 'Unknown task: one-c' } });
    },
  );

  await t.test('a caller who may call no tool of a backend has no tasks there', async (t) => {
    const backend = await taskBackend(t, { 'tasks/get': '{"taskId":"t"}', 'tasks/list': '{"tasks":[{"taskId":"t"}]}' });
    const caller = await deployment.caller({
      one: { url: backend.url, exposes: ['prompts'], allowed_tool_names: [] },
      two: { url: backend.url, allowed_tool_names: ['other'] },
    });
    const session = await caller.openSession();
    const none = await session.send(request('tasks/get', '{"taskId":"one-t"}'));
    t.match(rpc(none), { error: { code: -32602, message: 'Unknown task: one-t' } });
    const some = await session.send(request('tasks/get', '{"taskId":"two-t"}'));
    t.match(rpc(some), { result: { taskId: 'two-t' } }, 'whose it is the backend judges');
    t.match(rpc(await session.send(request('tasks/list', '{}'))), { result: { tasks: [{ taskId: 'two-t' }] } });
  });
});
