// Both planes as processes, with servers and clients of the SDK: register, list, compose, use, change, lose a server, get it back,
// kill the control plane. A caller calls the dataplane from the first composition to the end, and must not notice any of it.
import t, { type Test } from 'tap';
import { startDemoBackend, type DemoBackend } from '../../demo/demo-backend.js';
import { createCalculator, createWordsmith } from '../../demo/demo-servers.js';
import { forEachStore, startControlPlane, type ApiCaller, type ControlPlane } from '../support/control-plane.js';
import { startGateway, verifyWith, type Gateway } from '../support/gateway.js';
import { McpCaller, rpc, type McpSession } from '../support/mcp-caller.js';
import { connectSdkClient } from '../support/sdk-client.js';
import { until } from '../support/until.js';

const WORKERS = 2;
const CONSUMER = 'consumer@example.com';
/** The requests go over fresh connections: the chance that one of two workers gets none of them is 1 in 500,000. */
const WORD = '{"text":"up"}';
const REQUESTS = 20;
const OPTIONS = ['--health-check-interval', '200ms'];
const PAUSE_MS = 5;

interface Composition {
  readonly id: string;
  readonly [member: string]: unknown;
}

/** Calls one tool repeatedly, and records the failures. */
class Work {
  readonly faults: string[] = [];
  callCount = 0;
  readonly #ended: Promise<void>;
  #isEnding = false;

  constructor(session: McpSession, tool: string) {
    this.#ended = this.#run(session, tool);
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    await this.#ended;
  }

  async #run(session: McpSession, tool: string): Promise<void> {
    while (!this.#isEnding) {
      this.callCount += 1;
      const answer = await session.call(tool, '{"a":2,"b":3}', { id: String(this.callCount) });
      const isRight = answer.status === 200 && answer.text.includes('"text":"5"');
      if (!isRight) this.faults.push(`${answer.status} ${answer.text}`);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

async function toolNames(t: Test, url: string, token: string | undefined): Promise<string[]> {
  const { client } = await connectSdkClient(t, url, token);
  const { tools } = await client.listTools();
  await client.close();
  return tools.map(({ name }) => name);
}

/** A server of the SDK, registered under a name, which can be stopped and started again. */
class Wordsmith {
  #backend: DemoBackend;

  private constructor(backend: DemoBackend) {
    this.#backend = backend;
  }

  static async start(t: Test): Promise<Wordsmith> {
    const wordsmith = new Wordsmith(await startWordsmith(0));
    t.teardown(() => wordsmith.stop());
    return wordsmith;
  }

  get url(): string {
    return this.#backend.url;
  }

  async stop(): Promise<void> {
    await this.#backend.close();
  }

  async startAgain(): Promise<void> {
    this.#backend = await startWordsmith(Number(new URL(this.url).port));
  }
}

function startWordsmith(port: number): Promise<DemoBackend> {
  return startDemoBackend({ createMcpServer: createWordsmith, answerAs: 'event-stream', port });
}

/** The members of a server that stay the same from one control plane to the next: health checks keep changing the others. */
async function registered(caller: ApiCaller): Promise<unknown> {
  const servers = (await caller.get('/servers')).json() as Record<string, unknown>[];
  return servers.map(({ id, name, url, status, toolCount, createdAt }) => ({
    id,
    name,
    url,
    status,
    toolCount,
    createdAt,
  }));
}

await forEachStore(t, { options: OPTIONS }, async (t, firstControlPlane) => {
  let controlPlane: ControlPlane = firstControlPlane;
  const { storeOptions, key } = controlPlane;
  const dataplane: Gateway = await startGateway(t, {
    storeOptions,
    keyOptions: verifyWith(key),
    upstreamConnectionMode: 'plain-text-or-tls',
    workerCount: WORKERS,
  });
  const workerPids = dataplane.workerPids();
  const calculator = await startDemoBackend({ createMcpServer: createCalculator, answerAs: 'json' });
  t.teardown(() => calculator.close());
  const wordsmith = await Wordsmith.start(t);
  const token = await controlPlane.token(CONSUMER);
  let operator = await controlPlane.caller(t, 'operator');
  const aggregate = (): Promise<string[]> => toolNames(t, `${controlPlane.origin}/mcp`, operator.token);
  const startControlPlaneAgain = async (): Promise<void> => {
    controlPlane = await startControlPlane(t, { storeOptions, key, options: OPTIONS });
    operator = await controlPlane.caller(t, 'operator');
  };

  for (const [name, url] of [
    ['calculator', calculator.url],
    ['wordsmith', wordsmith.url],
  ]) {
    const answer = await operator.post('/servers', { name, url });
    t.equal(answer.status, 201);
    t.match(answer.json(), { name, status: 'active', toolCount: 2 });
  }
  const everyTool = ['calculator-add', 'calculator-now', 'wordsmith-countdown', 'wordsmith-reverse'];
  t.same(await aggregate(), everyTool, 'both servers are one on the control plane');

  const created = await operator.post('/compositions', {
    name: 'three tools',
    servers: [
      { name: 'calculator', tools: ['add', 'now'] },
      { name: 'wordsmith', tools: ['reverse'] },
    ],
    subjects: [CONSUMER],
  });
  t.equal(created.status, 201);
  const { id } = created.json() as Composition;
  const url = dataplane.url(id);
  t.same(await toolNames(t, url, token), ['calculator-add', 'calculator-now', 'wordsmith-reverse'], 'exactly three');
  const { client } = await connectSdkClient(t, url, token);
  t.match(await client.callTool({ name: 'wordsmith-reverse', arguments: { text: 'abc' } }), {
    content: [{ text: 'cba' }],
  });
  await t.rejects(client.callTool({ name: 'wordsmith-countdown', arguments: { from: 1 } }), {
    code: -32602,
    message: /Unknown tool: wordsmith-countdown/,
  });

  const consumer = new McpCaller(dataplane.origin, dataplane.path(id), token);
  const sessions = await Promise.all(Array.from({ length: 4 }, () => consumer.openSession()));
  const work = new Work(sessions[0]!, 'calculator-add');
  t.teardown(() => work.end());

  await t.test('a changed composition is obeyed on the next request, by every worker', async (t) => {
    const servers = [
      { name: 'calculator', tools: ['add'] },
      { name: 'wordsmith', tools: ['countdown', 'reverse'] },
    ];
    const answer = await operator.put(`/compositions/${id}`, { name: 'three tools', servers });
    t.match(answer.json(), { id, servers, subjects: [CONSUMER], missingTools: { length: 0 } });
    const isObeyed = async (): Promise<boolean> => {
      const outcomes = await Promise.all(
        Array.from({ length: REQUESTS }, async (_, index) => {
          const session = sessions[index % sessions.length]!;
          if (index % 2 === 0) return (await session.toolNames()).join();
          return String(rpc(await session.call('calculator-now', '{}', { id: `"o${index}"` })).error?.code);
        }),
      );
      const expected = ['calculator-add,wordsmith-countdown,wordsmith-reverse', '-32602'];
      return outcomes.every((outcome, index) => outcome === expected[index % 2]);
    };
    // Redis notifies the workers of a change after it has responded to the control plane.
    if (storeOptions.kind === 'redis') await until(isObeyed, 'the invalidation to reach every worker');
    t.ok(await isObeyed());
  });

  await t.test('a server that stops is inactive and gone from /mcp, and named on the dataplane', async (t) => {
    await wordsmith.stop();
    const status = async (): Promise<unknown> => {
      return ((await operator.get('/servers/wordsmith')).json() as { status: unknown }).status;
    };
    await until(async () => (await status()) === 'inactive', 'the health checks to see it');
    t.same(await aggregate(), ['calculator-add', 'calculator-now']);
    const { result } = rpc(await sessions[1]!.list()) as { result: Record<string, unknown> };
    t.match(result, {
      tools: [{ name: 'calculator-add' }],
      _meta: { 'switchyard/unavailable': [{ backend: 'wordsmith', reason: 'connection refused' }] },
    });

    await wordsmith.startAgain();
    const refreshed = await operator.post('/servers/wordsmith/refresh');
    t.match(refreshed.json(), { status: 'active' });
    t.same(await aggregate(), everyTool);
    const named = ['calculator-add', 'wordsmith-countdown', 'wordsmith-reverse'].join();
    await until(async () => (await sessions[1]!.toolNames()).join() === named, 'the session to have it back');
  });

  await t.test('a server that is switched off gets no call behind the answer, from any worker', async (t) => {
    const { url } = wordsmith;
    const switchTo = async (enabled: boolean): Promise<number> =>
      (await operator.put('/servers/wordsmith', { name: 'wordsmith', url, enabled })).status;
    t.equal(await switchTo(false), 200);
    const answers = await Promise.all(
      Array.from({ length: REQUESTS }, (_, n) => sessions[n % sessions.length]!.call('wordsmith-reverse', WORD)),
    );
    t.same(
      answers.filter((answer) => rpc(answer).result !== undefined),
      [],
    );
    t.equal(await switchTo(true), 200);
    const isBack = async (): Promise<boolean> =>
      rpc(await sessions[0]!.call('wordsmith-reverse', WORD)).result !== undefined;
    await until(isBack, 'the server to be called again');
  });

  await t.test('kill -9 of the control plane loses nothing', async (t) => {
    const before = [await registered(operator), (await operator.get('/compositions')).json()];
    controlPlane.program.signal('SIGKILL');
    await controlPlane.program.exit;
    t.match(rpc(await sessions[2]!.call('wordsmith-reverse', WORD)), {
      result: { content: [{ text: 'pu' }] },
    });
    await startControlPlaneAgain();
    t.same([await registered(operator), (await operator.get('/compositions')).json()], before);
    t.same(await aggregate(), everyTool);
  });

  await work.end();
  t.same(work.faults, [], 'the caller at work noticed nothing');
  t.ok(work.callCount > 10, `${work.callCount} calls`);

  await t.test('a removed composition is gone on the next request', async (t) => {
    t.equal((await operator.delete(`/compositions/${id}`)).status, 204);
    const isGone = async (): Promise<boolean> => {
      const answers = await Promise.all(Array.from({ length: REQUESTS }, () => sessions[3]!.list()));
      return answers.every(({ status }) => status === 400);
    };
    if (storeOptions.kind === 'redis') await until(isGone, 'the invalidation to reach every worker');
    t.ok(await isGone(), 'the consumer has no config any more');
  });
  t.same(dataplane.workerPids(), workerPids, 'every worker is the one that was started');
  t.same(dataplane.strayLines, []);
});
