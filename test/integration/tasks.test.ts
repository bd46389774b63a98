// Tasks between the SDK's client and servers made with the SDK, through the gateway: calls that become tasks of a server,
// elicitation by such a task, and sampling that becomes a task of the client.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { InMemoryTaskMessageQueue, InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  CreateMessageResultSchema,
  ElicitRequestSchema,
  ElicitResultSchema,
  type CallToolResult,
} from '@modelcontextprotocol/sdk/types.js';
import t, { type Test } from 'tap';
import { startDemoBackend } from '../../demo/demo-backend.js';
import { startDeployment, type ConfiguredCaller } from '../support/deployment.js';
import { until } from '../support/until.js';

const FORM = {
  type: 'object' as const,
  properties: { colour: { type: 'string' as const } },
  required: ['colour'],
};

/** Lets tasks end when the test opens their gate. */
class Gates {
  readonly #open = new Set<string>();

  open(name: string): void {
    this.#open.add(name);
  }

  async passed(name: string): Promise<void> {
    await until(() => this.#open.has(name), `the gate ${name}`);
  }
}

const gates = new Gates();
const stores: InMemoryTaskStore[] = [];
t.teardown(() => {
  // The cancelled task still waits at its gate, and would keep the process from exiting.
  for (const name of ['one', 'two']) gates.open(name);
  for (const store of stores) store.cleanup();
});

function text(value: string): CallToolResult {
  return { content: [{ type: 'text', text: value }] };
}

function createServer(name: string): McpServer {
  const taskStore = new InMemoryTaskStore();
  stores.push(taskStore);
  const server = new McpServer(
    { name, version: '1.0.0' },
    {
      capabilities: { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
      taskStore,
      taskMessageQueue: new InMemoryTaskMessageQueue(),
    },
  );
  const execution = { taskSupport: 'required' as const };
  const byStore = {
    getTask: async (extra: { taskId: string; taskStore: { getTask(id: string): Promise<unknown> } }) =>
      (await extra.taskStore.getTask(extra.taskId)) as never,
    getTaskResult: async (extra: { taskId: string; taskStore: { getTaskResult(id: string): Promise<unknown> } }) =>
      (await extra.taskStore.getTaskResult(extra.taskId)) as never,
  };
  server.experimental.tasks.registerToolTask(
    'wait',
    { execution },
    {
      ...byStore,
      createTask: async (extra) => {
        const task = await extra.taskStore.createTask({ ttl: 60_000, pollInterval: 20 });
        void gates
          .passed(name)
          .then(() => extra.taskStore.storeTaskResult(task.taskId, 'completed', text(`${name} has waited`)))
          // The task was cancelled.
          .catch(() => undefined);
        return { task };
      },
    },
  );
  server.experimental.tasks.registerToolTask(
    'paint',
    { execution },
    {
      ...byStore,
      createTask: async (extra) => {
        const task = await extra.taskStore.createTask({ ttl: 60_000, pollInterval: 20 });
        const params = { message: 'Which colour?', requestedSchema: FORM };
        // The SDK's types do not offer this option to handlers, although its own reference server uses it.
        const asking: object = { relatedTask: { taskId: task.taskId } };
        void extra
          .sendRequest({ method: 'elicitation/create', params }, ElicitResultSchema, asking)
          .then(({ content }) =>
            extra.taskStore.storeTaskResult(task.taskId, 'completed', text(`painted ${String(content?.['colour'])}`)),
          );
        return { task };
      },
    },
  );
  server.registerTool('compose', {}, async ({ requestId }) => {
    const params = { messages: [], maxTokens: 10 };
    const options = { relatedRequestId: requestId, task: { ttl: 60_000 } };
    const seen: string[] = [];
    const request = { method: 'sampling/createMessage' as const, params };
    const messages = server.server.experimental.tasks.requestStream(request, CreateMessageResultSchema, options);
    for await (const message of messages) {
      seen.push(message.type === 'result' ? JSON.stringify(message.result.content) : message.type);
      if (message.type === 'error') seen.push(message.error.message);
    }
    return text(seen.join(' '));
  });
  return server;
}

const [one, two] = await Promise.all(
  ['one', 'two'].map((name) =>
    startDemoBackend({ createMcpServer: () => createServer(name), answerAs: 'event-stream' }),
  ),
);
t.teardown(() => Promise.all([one?.close(), two?.close()]));

async function connect(t: Pick<Test, 'teardown'>, caller: ConfiguredCaller): Promise<Client> {
  const taskStore = new InMemoryTaskStore();
  stores.push(taskStore);
  const client = new Client(
    { name: 'integration', version: '1.0.0' },
    {
      capabilities: {
        elicitation: { form: {} },
        sampling: {},
        tasks: { list: {}, cancel: {}, requests: { sampling: { createMessage: {} } } },
      },
      taskStore,
    },
  );
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { colour: 'blue' } }));
  client.setRequestHandler(CreateMessageRequestSchema, async (request, extra) => {
    const result = { role: 'assistant' as const, content: { type: 'text' as const, text: 'a song' }, model: 'm' };
    if (request.params.task === undefined || extra.taskStore === undefined) return result;
    const task = await extra.taskStore.createTask({ ttl: 60_000, pollInterval: 20 });
    await extra.taskStore.storeTaskResult(task.taskId, 'completed', result);
    return { task };
  });
  const url = new URL(caller.origin + caller.path);
  const requestInit = { headers: { authorization: `Bearer ${caller.token}` } };
  t.teardown(() => client.close());
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
  await client.listTools();
  return client;
}

// Long timeouts: a session must have both servers from the beginning, however busy the machine is.
const options = ['--initialize-patience', '60s', '--initialize-timeout', '60s'];
const deployments = [
  await startDeployment(t, { workerCount: 1, options }),
  await startDeployment(t, { workerCount: 4, options }),
];
t.jobs = deployments.length;
for (const deployment of deployments) {
  void t.test(deployment.name, async (t) => {
    const caller = await deployment.caller({ one: { url: one!.url }, two: { url: two!.url } });
    const client = await connect(t, caller);

    await t.test('a tool that requires a task is called as one', async (t) => {
      t.same(client.getServerCapabilities()?.tasks, { list: {}, cancel: {}, requests: { tools: { call: {} } } });
      gates.open('one');
      const seen: string[] = [];
      for await (const message of client.experimental.tasks.callToolStream({ name: 'one-wait', arguments: {} })) {
        seen.push(message.type);
        if (message.type === 'taskCreated') t.match(message.task.taskId, /^one-/);
        if (message.type === 'result') t.match(message.result, text('one has waited'));
        if (message.type === 'error') t.fail(message.error.message);
      }
      t.equal(seen[0], 'taskCreated');
      t.equal(seen.at(-1), 'result');
      const request = { method: 'tools/call' as const, params: { name: 'one-wait', arguments: {} } };
      const refused = await client.request(request, CallToolResultSchema);
      t.match(refused, { isError: true, content: [{ text: /task/ }] });
    });

    await t.test('a task asks the client something, and continues with the answer', async (t) => {
      for await (const message of client.experimental.tasks.callToolStream({ name: 'two-paint', arguments: {} })) {
        if (message.type === 'result') t.match(message.result, text('painted blue'));
        if (message.type === 'error') t.fail(message.error.message);
      }
      t.equal(t.passing(), true);
    });

    await t.test('a task is polled, listed together with the other server’s, and cancelled once', async (t) => {
      const { tasks } = client.experimental;
      const call = { name: 'two-wait', arguments: {} };
      let taskId = '';
      for await (const message of tasks.callToolStream(call)) {
        if (message.type !== 'taskCreated') continue;
        ({ taskId } = message.task);
        break;
      }
      t.match(await tasks.getTask(taskId), { taskId, status: 'working' });
      const listed = (await tasks.listTasks()).tasks.map((task) => task.taskId);
      t.ok(listed.includes(taskId));
      t.ok(listed.some((id) => id.startsWith('one-')));
      const other = await connect(t, caller);
      const others = other.experimental.tasks;
      for (const ask of [() => others.getTask(taskId), () => others.cancelTask(taskId)]) {
        await t.rejects(ask(), { message: /not found/ }, 'another session of the same caller has tasks of its own');
      }
      const waiting = tasks.getTaskResult(taskId);
      const refused = t.rejects(waiting, 'its result is that it has none');
      t.match(await tasks.cancelTask(taskId), { taskId, status: 'cancelled' });
      await refused;
      await t.rejects(tasks.cancelTask(taskId), { message: /Cannot cancel task/ });
    });

    await t.test('sampling becomes a task of the client, which the server polls', async (t) => {
      const result = await client.callTool({ name: 'one-compose', arguments: {} });
      t.match(result, text('taskCreated taskStatus {"type":"text","text":"a song"}'));
    });
  });
}
