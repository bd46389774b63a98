// Servers made with the SDK that send requests outside any call, on their stand-alone stream (GET): sampling, elicitation, roots
// and pings reach the SDK's client of that session, and its responses come back; over hops, with two clients of one virtual host.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  type ElicitResult,
} from '@modelcontextprotocol/sdk/types.js';
import t, { type Test } from 'tap';
import { startDemoBackend } from '../../demo/demo-backend.js';
import { startDeployment } from '../support/deployment.js';
import { connectSdkClient } from '../support/sdk-client.js';
import { until } from '../support/until.js';

const SERVERS = ['json', 'stream'] as const;
type ServerName = (typeof SERVERS)[number];

/** The server object of each upstream session, by its client's name. */
const sessions: Record<ServerName, Map<string, McpServer>> = { json: new Map(), stream: new Map() };

/** The server's one tool records the session's client, and responds before anything is asked. */
function createServer(name: ServerName): McpServer {
  const mcpServer = new McpServer({ name, version: '1.0.0' }, { capabilities: { tools: {}, logging: {} } });
  mcpServer.registerTool('introduce', {}, () => {
    sessions[name].set(mcpServer.server.getClientVersion()?.name ?? '', mcpServer);
    return { content: [{ type: 'text', text: 'welcome' }] };
  });
  return mcpServer;
}

interface Person {
  readonly client: Client;
  /** The params of the requests that it got, in order. */
  readonly asked: unknown[];
  readonly logs: unknown[];
}

/** A client that supports every request; its responses contain its name. */
function createPerson(name: string): Person {
  const client = new Client(
    { name, version: '1.0.0' },
    { capabilities: { sampling: {}, elicitation: { form: {} }, roots: {} } },
  );
  const asked: unknown[] = [];
  const logs: unknown[] = [];
  client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => {
    asked.push(params);
    return { model: name, role: 'assistant', content: { type: 'text', text: `“é” of ${name}` } };
  });
  client.setRequestHandler(ElicitRequestSchema, ({ params }): ElicitResult => {
    asked.push(params);
    return { action: 'accept', content: { name } };
  });
  client.setRequestHandler(ListRootsRequestSchema, ({ params }) => {
    asked.push(params);
    return { roots: [{ uri: `file:///home/${name}`, name }] };
  });
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void logs.push(params.data));
  return { client, asked, logs };
}

/** Waits until the server's stream is open: before that, the SDK's server silently drops what it sends on it. */
async function streamOpen({ server }: McpServer, { logs }: Person, mark: string): Promise<void> {
  await until(async () => {
    await server.sendLoggingMessage({ level: 'error', data: mark });
    return logs.includes(mark);
  }, `the stream of its own: ${mark}`);
}

const backends = await Promise.all(
  SERVERS.map((name) =>
    startDemoBackend({
      createMcpServer: () => createServer(name),
      answerAs: name === 'json' ? 'json' : 'event-stream',
    }),
  ),
);
t.teardown(() => Promise.all(backends.map((backend) => backend.close())));
// Long timeouts: the backends must be ready when the session opens, however slow the machine is.
const options = ['--initialize-patience', '60s', '--initialize-timeout', '60s'];
const deployment = await startDeployment(t, { workerCount: 4, options });
const caller = await deployment.caller({ json: { url: backends[0]!.url }, stream: { url: backends[1]!.url } });

async function connectPerson(t: Test, name: string): Promise<Person> {
  const person = createPerson(name);
  await connectSdkClient(t, caller.origin + caller.path, caller.token, person.client);
  for (const server of SERVERS) {
    const { content } = await person.client.callTool({ name: `${server}-introduce` });
    t.same(content, [{ type: 'text', text: 'welcome' }]);
  }
  return person;
}

const SAMPLED = {
  messages: [{ role: 'user' as const, content: { type: 'text' as const, text: '“é”?' } }],
  maxTokens: 7,
};
const FORM = {
  message: 'Who is there?',
  requestedSchema: { type: 'object' as const, properties: { name: { type: 'string' as const } }, required: ['name'] },
};

t.test('a request of an SDK server outside any call reaches the client of that session and no other', async (t) => {
  const people = new Map<string, Person>();
  for (const name of ['ann', 'bob']) people.set(name, await connectPerson(t, name));
  const pairs = SERVERS.flatMap((server) => [...people.keys()].map((name) => ({ server, name })));
  await Promise.all(
    pairs.map(async ({ server: serverName, name }) => {
      const mcpServer = sessions[serverName].get(name);
      const person = people.get(name);
      if (mcpServer === undefined || person === undefined) throw new Error(`${name} is not known at ${serverName}`);
      const { server } = mcpServer;
      await streamOpen(mcpServer, person, `${serverName} to ${name}`);
      const tag = `${serverName} asks ${name}`;
      t.same(
        await server.createMessage({ ...SAMPLED, systemPrompt: tag }),
        { model: name, role: 'assistant', content: { type: 'text', text: `“é” of ${name}` } },
        `${tag}: sampling`,
      );
      t.same(
        await server.elicitInput({ ...FORM, message: tag }),
        { action: 'accept', content: { name } },
        `${tag}: elicitation`,
      );
      t.same(await server.listRoots(), { roots: [{ uri: `file:///home/${name}`, name }] }, `${tag}: roots`);
      t.same(await server.ping(), {}, `${tag}: ping`);
    }),
  );
  for (const [name, { asked, logs }] of people) {
    t.equal(asked.length, 3 * SERVERS.length, `${name} was asked three times by each server`);
    const tags = asked.flatMap((params) => {
      const { systemPrompt, message } = Object(params) as { systemPrompt?: string; message?: string };
      return systemPrompt ?? message ?? [];
    });
    t.same(tags.sort(), SERVERS.flatMap((server) => [`${server} asks ${name}`, `${server} asks ${name}`]).sort());
    t.same(
      logs.filter((each) => !String(each).endsWith(`to ${name}`)),
      [],
      `${name} hears nothing of the other's`,
    );
  }
});

t.test('many requests at once on one stream, answered out of order', async (t) => {
  const person = await connectPerson(t, 'cleo');
  const mcpServer = sessions.stream.get('cleo');
  if (mcpServer === undefined) throw new Error('cleo is not known');
  await streamOpen(mcpServer, person, 'ready');
  const waiting: { readonly message: string; answer: () => void }[] = [];
  person.client.setRequestHandler(
    ElicitRequestSchema,
    ({ params: { message } }) =>
      new Promise<ElicitResult>((resolve) => {
        waiting.push({ message, answer: () => resolve({ action: 'accept', content: { name: `re: ${message}` } }) });
      }),
  );
  const messages = Array.from({ length: 20 }, (_, n) => `question ${n}`);
  const answers = Promise.all(messages.map((message) => mcpServer.server.elicitInput({ ...FORM, message })));
  await until(() => waiting.length === messages.length, 'all questions');
  t.same(waiting.map(({ message }) => message).sort(), [...messages].sort());
  for (const { answer } of waiting.reverse()) answer();
  t.same(
    (await answers).map(({ content }) => content),
    messages.map((message) => ({ name: `re: ${message}` })),
  );
});
