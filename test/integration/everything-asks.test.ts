// The MCP reference server behind the gateway, with an SDK client that supports everything it can be asked for: notifications and
// requests from the server are the same as without the gateway.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  McpError,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  type ElicitResult,
  type Root,
  type Task,
} from '@modelcontextprotocol/sdk/types.js';
import t from 'tap';
import { startDeployment } from '../support/deployment.js';
import { startEverythingServer } from '../support/everything-server.js';
import { connectSdkClient } from '../support/sdk-client.js';
import { until } from '../support/until.js';

/** A client, what the server has asked it and told it, and the names and URIs under which it knows the server's tools and resources. */
class Asked {
  readonly taskStore = new InMemoryTaskStore();
  readonly client = new Client(
    { name: 'asked', version: '1.0.0' },
    {
      capabilities: {
        sampling: {},
        elicitation: { form: { applyDefaults: true }, url: {} },
        roots: { listChanged: true },
        tasks: { list: {}, cancel: {}, requests: { sampling: { createMessage: {} }, elicitation: { create: {} } } },
      },
      taskStore: this.taskStore,
    },
  );
  readonly requests: unknown[] = [];
  readonly logs: string[] = [];
  readonly updated: string[] = [];
  readonly called = new Set<string>();
  changes = 0;
  roots: Root[] = [{ uri: 'file:///home/somebody', name: 'Home' }];
  elicited: ElicitResult = { action: 'decline' };
  readonly #prefix: string;

  /** @param prefix the backend's, in names and in URIs; empty without the gateway. */
  constructor(prefix: string) {
    this.#prefix = prefix;
    const { client } = this;
    client.setRequestHandler(CreateMessageRequestSchema, async ({ params }) => {
      this.requests.push(params);
      const answer = { model: 'none', role: 'assistant', content: { type: 'text', text: 'it is so: “é”' } } as const;
      return params.task === undefined ? answer : this.#asTask(answer);
    });
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
      this.requests.push(params);
      return params.task === undefined ? this.elicited : this.#asTask(this.elicited);
    });
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: this.roots }));
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
      this.logs.push(`${params.level}: ${String(params.data)}`);
    });
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
      this.updated.push(params.uri);
    });
    client.setNotificationHandler(ResourceListChangedNotificationSchema, () => {
      this.changes += 1;
    });
  }

  /** A server's URI, as this client sees it. */
  uri(uri: string): string {
    return this.#prefix === '' ? uri : `${this.#prefix}+${uri}`;
  }

  /** Calls a tool. @returns plain data, with the server's own URIs and without what differs from session to session. */
  async call(name: string, args: Readonly<Record<string, unknown>> = {}): Promise<unknown> {
    const tool = this.toolName(name);
    const outcome: unknown = await this.client.callTool({ name: tool, arguments: args }).catch((error: unknown) => {
      if (!(error instanceof McpError)) throw error;
      return { code: error.code, message: error.message, data: error.data };
    });
    return this.plain(outcome);
  }

  /** The tool's name as this client sees it; also records the tool as called. */
  toolName(name: string): string {
    this.called.add(name);
    return this.#prefix === '' ? name : `${this.#prefix}-${name}`;
  }

  /** Makes a call that becomes a task, and waits for its end. */
  async callAsTask(name: string, args: Readonly<Record<string, unknown>>): Promise<{ id: string; result: unknown }> {
    let id = '';
    const call = { name: this.toolName(name), arguments: args };
    for await (const message of this.client.experimental.tasks.callToolStream(call)) {
      if (message.type === 'taskCreated') id = message.task.taskId;
      if (message.type === 'result') return { id, result: this.plain(message.result) };
      if (message.type === 'error') throw message.error;
    }
    throw new Error('the call has no end');
  }

  async #asTask(answer: Readonly<Record<string, unknown>>): Promise<{ task: Task }> {
    const request = { method: 'none' as const };
    const task = await this.taskStore.createTask({ ttl: 60_000, pollInterval: 20 }, 0, request);
    await this.taskStore.storeTaskResult(task.taskId, 'completed', answer);
    return { task };
  }

  plain(outcome: unknown): unknown {
    const text = JSON.stringify(outcome)
      .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}/g, '<uuid>')
      .replaceAll(/\d{4}-\d{2}-\d{2}T[\d:.]+Z/g, '<time>')
      .replaceAll(`"${this.#prefix}-<uuid>`, '"<uuid>');
    return JSON.parse(this.#prefix === '' ? text : text.replaceAll(`"${this.#prefix}+`, '"'));
  }
}

const server = await startEverythingServer(t);
// Long timeouts: the backend must be ready when the session opens, however slow the machine is.
const options = ['--initialize-patience', '60s', '--initialize-timeout', '60s'];
const deployment = await startDeployment(t, { workerCount: 4, options });
const caller = await deployment.caller({ everything: { url: server.url } });
const through = new Asked('everything');
const direct = new Asked('');
const both = [through, direct] as const;
await connectSdkClient(t, caller.origin + caller.path, caller.token, through.client);
await connectSdkClient(t, server.url, undefined, direct.client);
t.teardown(() => both.forEach(({ taskStore }) => taskStore.cleanup()));

/**
 * Calls the tool through the gateway and directly, and checks that the outcomes are equal. Returns the outcome.
 * @param askedCount how often the server asks the client something during the call.
 */
async function callBoth(
  name: string,
  askedCount: number,
  args: (asked: Asked) => Readonly<Record<string, unknown>> = () => ({}),
): Promise<unknown> {
  for (const { requests } of both) requests.length = 0;
  const [seen, expected] = await Promise.all(both.map(async (asked) => asked.call(name, args(asked))));
  t.same(seen, expected, name);
  t.equal(through.requests.length, askedCount, `${name} asks so often`);
  // Without the gateway, the SDK's client resumes a stream that has failed, and the server then repeats the request.
  t.same(through.plain(through.requests), direct.plain(direct.requests.slice(0, askedCount)), `what ${name} asks`);
  return seen;
}

await t.test('tools that need a client who can be asked are listed', async (t) => {
  const names = (await through.client.listTools()).tools.map(({ name }) => name);
  const own = (await direct.client.listTools()).tools.map(({ name }) => `everything-${name}`);
  t.same(names, own.sort());
  for (const name of ['trigger-sampling-request', 'trigger-url-elicitation', 'get-roots-list']) {
    t.ok(names.includes(`everything-${name}`), name);
  }
});

await t.test('sampling', async (t) => {
  const answer = await callBoth('trigger-sampling-request', 1, () => ({ prompt: 'is it so? “é\u0000”', maxTokens: 7 }));
  t.match(answer, { content: [{ text: /it is so: “é”/ }] });
  t.match(through.requests.at(-1), { maxTokens: 7, temperature: 0.7 });
});

await t.test('elicitation with a form: accepted with the defaults of its schema, declined, cancelled', async (t) => {
  const outcomes: readonly (readonly [ElicitResult, RegExp])[] = [
    [{ action: 'accept', content: { name: 'Zoë', integer: 3 } }, /User provided/],
    [{ action: 'decline' }, /declined/],
    [{ action: 'cancel' }, /cancelled/],
  ];
  for (const [elicited, words] of outcomes) {
    for (const asked of both) asked.elicited = structuredClone(elicited);
    t.match(await callBoth('trigger-elicitation-request', 1), { content: [{ text: words }] });
  }
  t.match(through.requests.at(-1), { requestedSchema: { required: ['name'] } });
});

await t.test('elicitation by URL: asked for, and as an error that says where to go', async (t) => {
  for (const asked of both) asked.elicited = { action: 'accept' };
  const args = { url: 'https://example.org/?a=1&b=%20', elicitationId: 'e-1' };
  t.match(await callBoth('trigger-url-elicitation', 1, () => args), { content: [{ text: /completed the URL/ }] });
  t.match(through.requests.at(-1), { mode: 'url', ...args });
  const failing = { ...args, errorPath: true };
  const required = await callBoth('trigger-url-elicitation', 0, () => failing);
  t.match(required, { code: -32042, data: { elicitations: [{ mode: 'url', elicitationId: '<uuid>' }] } });
  t.match(await callBoth('trigger-url-elicitation', 1, () => failing), { content: [{ text: /completed the URL/ }] });
});

await t.test('roots, and other roots after a change', async (t) => {
  t.match(await callBoth('get-roots-list', 0), { content: [{ text: /1 total.*file:\/\/\/home\/somebody/s }] });
  for (const asked of both) {
    asked.roots = [...asked.roots, { uri: 'file:///srv' }];
    await asked.client.sendRootsListChanged();
    const isKnown = async (): Promise<boolean> => JSON.stringify(await asked.call('get-roots-list')).includes('///srv');
    await until(isKnown, 'the new roots');
  }
  t.match(await callBoth('get-roots-list', 0), { content: [{ text: /2 total/ }] });
});

await t.test('subscriptions: updates of what was subscribed to, and of nothing else', async (t) => {
  const [first, second, third] = (await direct.client.listResources()).resources.map(({ uri }) => uri);
  if (first === undefined || second === undefined || third === undefined) throw new Error('the server has too few');
  for (const asked of both) {
    for (const uri of [first, second, third]) await asked.client.subscribeResource({ uri: asked.uri(uri) });
    await asked.client.unsubscribeResource({ uri: asked.uri(second) });
  }
  await callBoth('toggle-subscriber-updates', 0);
  for (const asked of both) {
    await until(() => asked.updated.length >= 2, 'the updates');
    const round = [first, third].map((uri) => asked.uri(uri));
    // The server repeats the updates every few seconds, so a slow machine sees several rounds. When the direct client resumes a
    // stream, the server resends what it has sent on all streams since then, so its sequence may begin anywhere.
    const seen = asked === through ? asked.updated : [...new Set(asked.updated)].sort();
    t.same(
      seen,
      seen.map((_, index) => round[index % round.length]),
    );
  }
  t.match(await callBoth('toggle-subscriber-updates', 0), { content: [{ text: /Stopped/ }] });
});

await t.test('log messages arrive from the chosen level upwards', async (t) => {
  // A resource without earlier log lines: the server would repeat them when the direct client resumes a stream.
  const uri = (await direct.client.listResources()).resources.at(3)?.uri;
  if (uri === undefined) throw new Error('the server has too few');
  for (const asked of both) {
    const { client, logs } = asked;
    const own = { uri: asked.uri(uri) };
    const isAbout = (line: string, what: string): boolean =>
      line.startsWith(`info: Received ${what}`) && line.includes(uri);
    await client.setLoggingLevel('error');
    logs.length = 0;
    await client.unsubscribeResource(own);
    await client.setLoggingLevel('info');
    await client.subscribeResource(own);
    await until(() => logs.some((line) => isAbout(line, 'Subscribe')), 'the line');
    t.notOk(
      logs.some((line) => isAbout(line, 'Unsubscribe')),
      'nothing below the level',
    );
    await client.setLoggingLevel('debug');
    logs.length = 0;
  }
  await callBoth('toggle-simulated-logging', 0);
  for (const { logs } of both)
    await until(() => logs.some((line) => /-level.? ?message/i.test(line)), 'a line of its own');
  t.match(await callBoth('toggle-simulated-logging', 0), { content: [{ text: /Stopped/ }] });
});

await t.test('a resource that a tool creates is announced, listed, linked and read', async (t) => {
  for (const outputType of ['resourceLink', 'resource']) {
    const before = through.changes;
    // Different names, because the server would otherwise serve both sessions the same resource.
    const name = (asked: Asked): string => `${outputType}-${asked === direct ? 'direct' : 'through'}.gz`;
    const [seen, expected] = await Promise.all(
      both.map(async (asked) =>
        asked.call('gzip-file-as-resource', { name: name(asked), data: 'data:text/plain,some%20text', outputType }),
      ),
    );
    const sameName = (outcome: unknown, asked: Asked): unknown =>
      JSON.parse(JSON.stringify(outcome).replaceAll(name(asked), '<name>'));
    t.same(sameName(seen, through), sameName(expected, direct));
    await until(() => through.changes > before, 'the change of the list');
    const uri = through.uri(`demo://resource/session/${name(through)}`);
    const listed = (await through.client.listResources()).resources;
    t.ok(listed.some((resource) => resource.uri === uri));
    t.match(await through.client.readResource({ uri }), { contents: [{ uri, mimeType: 'application/gzip' }] });
  }
});

await t.test('a call that is cancelled ends, and the session goes on', async (t) => {
  for (const asked of both) {
    const ending = new AbortController();
    const name = asked === direct ? 'trigger-long-running-operation' : 'everything-trigger-long-running-operation';
    const call = asked.client.callTool({ name, arguments: { duration: 60, steps: 60 } }, undefined, {
      signal: ending.signal,
      onprogress: () => ending.abort(),
    });
    await t.rejects(call);
    asked.called.add('trigger-long-running-operation');
  }
  await callBoth('get-sum', 0, () => ({ a: 1, b: 2 }));
});

await t.test('a request that becomes a task of the client: the server polls it and fetches its result', async (t) => {
  const sampled = await callBoth('trigger-sampling-request-async', 1, () => ({ prompt: 'is it?', maxTokens: 7 }));
  t.match(sampled, { content: [{ text: /COMPLETED.*it is so: “é”/s }] });
  for (const asked of both) asked.elicited = { action: 'accept', content: { name: 'Zoë' } };
  const elicited = await callBoth('trigger-elicitation-request-async', 1);
  t.match(elicited, { content: [{ text: /COMPLETED/ }, { text: /Zoë/ }] });
});

await t.test('a slow tool as a task asks the client something, is listed, and ends', async (t) => {
  for (const asked of both) {
    asked.requests.length = 0;
    asked.elicited = { action: 'accept', content: { interpretation: 'snake' } };
  }
  const args = { topic: 'Python', ambiguous: true };
  const [seen, expected] = await Promise.all(
    both.map(async (asked) => asked.callAsTask('simulate-research-query', args)),
  );
  t.match(seen?.result, { content: [{ text: /Research Report: Python \(snake\)/ }] });
  t.same(seen?.result, expected?.result);
  t.match(through.plain(through.requests), [{ requestedSchema: { required: ['interpretation'] } }]);
  t.same(through.plain(through.requests), direct.plain(direct.requests.slice(0, 1)));
  t.match(seen?.id, /^everything-/);
  const { tasks } = through.client.experimental;
  t.match(await tasks.getTask(seen?.id ?? ''), { taskId: seen?.id, status: 'completed' });
  const known = (await tasks.listTasks()).tasks.map(({ taskId }) => taskId);
  t.ok(known.includes(seen?.id ?? ''));
});

await t.test('a cancelled task has ended', async (t) => {
  for (const asked of both) {
    const { tasks } = asked.client.experimental;
    const call = { name: asked.toolName('simulate-research-query'), arguments: { topic: 'a' } };
    for await (const message of tasks.callToolStream(call)) {
      if (message.type !== 'taskCreated') continue;
      t.match(await tasks.cancelTask(message.task.taskId), { taskId: message.task.taskId, status: 'cancelled' });
      await t.rejects(tasks.cancelTask(message.task.taskId));
      break;
    }
  }
});

await t.test('every tool of the server was called', async (t) => {
  const elsewhere = [
    'echo',
    'get-annotated-message',
    'get-env',
    'get-resource-links',
    'get-resource-reference',
    'get-structured-content',
    'get-tiny-image',
  ];
  const own = (await direct.client.listTools()).tools.map(({ name }) => name);
  t.same(
    own.filter((name) => !through.called.has(name) && !elsewhere.includes(name)),
    [],
  );
});
