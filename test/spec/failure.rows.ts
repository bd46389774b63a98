// Decisions 2.6: every fan-out has a deadline per backend, and one slow or dead backend costs the others nothing.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import t, { type Test } from 'tap';
import { backendFor, forEachDeployment } from '../support/deployment.js';
import { killWithProcess } from '../support/leftovers.js';
import type { McpBackendOptions } from '../support/mcp-backend.js';
import { rpc, type McpSession } from '../support/mcp-caller.js';
import { until } from '../support/until.js';
import { BOUNDED, CALL_TIMEOUT_MS } from './bounded.js';

/** More connections than a kernel holds for a process that accepts none. */
const QUEUE_MAX = 64;
/** Far above any of the timeouts here, to allow for a busy machine, and below the default timeouts of lists and calls. */
const IN_TIME_MS = 25_000;

/** Ignores the requests of one JSON-RPC method, which are then never answered. */
function deafTo(method: string): McpBackendOptions['onRequest'] {
  return (request) => request.text.includes(`"method":"${method}"`);
}

interface ListResult {
  readonly tools: readonly { readonly name: string }[];
  readonly _meta?: {
    readonly 'switchyard/unavailable'?: readonly { readonly backend: string; readonly reason: string }[];
  };
}

async function listResult(session: McpSession): Promise<ListResult> {
  return rpc(await session.list()).result as ListResult;
}

async function elapsedMs(action: () => Promise<unknown>): Promise<number> {
  const startedAtMs = performance.now();
  await action();
  return performance.now() - startedAtMs;
}

await forEachDeployment(t, BOUNDED, async (t, deployment) => {
  await t.test('connect: a backend that never accepts is unavailable in time', async (t) => {
    const good = await backendFor(t, { tools: ['x'] });
    const full = await startFullListener(t);
    const caller = await deployment.caller({ good: { url: good.url }, full: { url: `${full}/mcp` } });
    let session: McpSession | undefined;
    t.ok((await elapsedMs(async () => (session = await caller.openSession()))) < IN_TIME_MS);
    const { result } = rpc(session!.opening);
    t.match(result, { _meta: { 'switchyard/unavailable': [{ backend: 'full', reason: /connect/ }] } });
    t.same(await session!.toolNames(), ['good-x']);
  });

  await t.test('initialize: a backend that never answers it is unavailable in time', async (t) => {
    const good = await backendFor(t, { tools: ['x'] });
    const deaf = await backendFor(t, { onRequest: deafTo('initialize')! });
    const caller = await deployment.caller({ deaf: { url: deaf.url }, good: { url: good.url } });
    let session: McpSession | undefined;
    t.ok((await elapsedMs(async () => (session = await caller.openSession()))) < IN_TIME_MS);
    // Without an initialize timeout, the session would stop waiting first, with the reason "not ready yet".
    t.match(rpc(session!.opening).result, {
      _meta: { 'switchyard/unavailable': [{ backend: 'deaf', reason: /^(?!not ready yet)/ }] },
    });
    const deafCall = session!.call('deaf-x');
    const goodCall = await session!.call('good-x', '{"n":1}');
    t.match(rpc(goodCall), { result: { structuredContent: { n: 1 } } }, 'the other is served');
    t.match(rpc(await deafCall), { error: { code: -32603, message: /\bdeaf\b/ } });
    t.equal(deaf.requestsOf('notifications/cancelled').length, 0, 'initialize is never cancelled (C07)');
  });

  await t.test('list: a backend that never answers it is missing from the list, and named', async (t) => {
    const good = await backendFor(t, { tools: ['x'] });
    const deaf = await backendFor(t, { onRequest: deafTo('tools/list')! });
    const session = await (await deployment.caller({ deaf: { url: deaf.url }, good: { url: good.url } })).openSession();
    let listed: ListResult | undefined;
    t.ok((await elapsedMs(async () => (listed = await listResult(session)))) < IN_TIME_MS);
    t.same(
      listed?.tools.map(({ name }) => name),
      ['good-x'],
    );
    t.same(
      listed?._meta?.['switchyard/unavailable']?.map(({ backend }) => backend),
      ['deaf'],
    );
    t.match(
      rpc(await session.call('deaf-echo', '{"n":1}')),
      { result: { structuredContent: { n: 1 } } },
      'its calls work',
    );
  });

  await t.test('list: a backend that fails in the middle of its pages is missing as a whole', async (t) => {
    const paged = await backendFor(t, {
      tools: ['a', 'b', 'c'],
      pageSize: 1,
      onRequest: (request) => (request.text.includes('"cursor":"2"') ? (request.empty(500), true) : false),
    });
    const session = await (await deployment.caller({ paged: { url: paged.url } })).openSession();
    const listed = await listResult(session);
    t.same(listed.tools, []);
    t.same(
      listed._meta?.['switchyard/unavailable']?.map(({ backend }) => backend),
      ['paged'],
    );
  });

  await t.test('list: a backend whose pages never end is given up', async (t) => {
    const endless = await backendFor(t, {
      onRequest: (request) => {
        if (!request.text.includes('"tools/list"')) return false;
        const id = /"id":("[^"]*"|[^,}]*)/.exec(request.text)?.[1];
        request.json(`{"jsonrpc":"2.0","id":${id},"result":{"tools":[],"nextCursor":"again"}}`);
        return true;
      },
    });
    const session = await (await deployment.caller({ endless: { url: endless.url } })).openSession();
    let listed: ListResult | undefined;
    t.ok((await elapsedMs(async () => (listed = await listResult(session)))) < IN_TIME_MS);
    t.same(
      listed?._meta?.['switchyard/unavailable']?.map(({ backend }) => backend),
      ['endless'],
    );
  });

  await t.test('call: a backend that is silent for too long fails the call, and is told (S36)', async (t) => {
    const deaf = await backendFor(t, { onRequest: deafTo('tools/call')! });
    const session = await (await deployment.caller({ deaf: { url: deaf.url } })).openSession();
    let error: ReturnType<typeof rpc>['error'];
    const tookMs = await elapsedMs(async () => (error = rpc(await session.call('deaf-x')).error));
    t.equal(error?.code, -32603);
    t.match(error?.message, /\bdeaf\b.*(time|long)/, 'names the backend and the kind of failure');
    t.ok(tookMs >= CALL_TIMEOUT_MS * 0.8, `not before its time: ${tookMs} ms`);
    t.ok(tookMs < IN_TIME_MS, `in time: ${tookMs} ms`);
    await until(() => deaf.requestsOf('notifications/cancelled').length === 1, 'the cancellation at the backend');
    t.equal(deaf.requestsOf('tools/call').length, 1, 'not tried again');
  });

  await t.test('call: every byte restarts the timeout', async (t) => {
    const backend = await backendFor(t, {
      onCall: async (call) => {
        const stream = call.takeOver().eventStream();
        for (const endMs = performance.now() + 2.5 * CALL_TIMEOUT_MS; performance.now() < endMs;) {
          await stream.comment('still here');
          await new Promise((resolve) => setTimeout(resolve, CALL_TIMEOUT_MS / 10));
        }
        await stream.event('{"jsonrpc":"2.0","id":7,"result":{"content":[]}}');
        stream.end();
      },
    });
    const session = await (await deployment.caller({ slow: { url: backend.url } })).openSession();
    t.match(rpc(await session.call('slow-x')), { id: 7, result: { content: [] } });
  });

  await t.test("a slow backend's calls do not hold up another's, nor the list", async (t) => {
    let release: (() => void) | undefined;
    const slow = await backendFor(t, {
      tools: ['x'],
      onCall: () => new Promise<void>((resolve) => (release = resolve)),
    });
    const quick = await backendFor(t, { tools: ['x'] });
    const session = await (
      await deployment.caller({ slow: { url: slow.url }, quick: { url: quick.url } })
    ).openSession();
    const pending = session.call('slow-x', '{"n":1}');
    await until(() => slow.calls.length === 1, 'the slow call');
    for (const n of [1, 2, 3]) {
      t.match(rpc(await session.call('quick-x', `{"n":${n}}`)), { result: { structuredContent: { n } } });
    }
    t.same(await session.toolNames(), ['quick-x', 'slow-x']);
    release?.();
    t.match(rpc(await pending), { result: { structuredContent: { n: 1 } } });
  });

  await t.test('an answer that breaks off fails the call, but not the session', async (t) => {
    let isBroken = false;
    let brokenCount = 0;
    const backend = await backendFor(t, {
      onCall: async (call) => {
        if (!isBroken) return;
        brokenCount += 1;
        const stream = call.takeOver().eventStream();
        await stream.event(
          '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}',
        );
        call.request.destroy();
      },
    });
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    const body = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"one-x","_meta":{"progressToken":1}}}';
    for (const accept of ['application/json', 'text/event-stream']) {
      // A call before it, so that the connection is one that is kept.
      t.match(rpc(await session.call('one-x', '{"n":1}')), { result: { structuredContent: { n: 1 } } });
      [isBroken, brokenCount] = [true, 0];
      const answer = await session.send(body, { accept });
      t.match(rpc(answer), { id: 7, error: { code: -32603, message: /\bone\b/ } }, accept);
      t.equal(brokenCount, 1, 'it is not sent again');
      isBroken = false;
    }
    t.match(rpc(await session.call('one-x', '{"n":1}')), { result: { structuredContent: { n: 1 } } });
  });
});

/** The origin of a port whose kernel queue is full: new connections neither open nor fail. Linux only. */
async function startFullListener(t: Test): Promise<string> {
  const script = `const server = require('net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(server.address().port))`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'ignore'] });
  killWithProcess(child);
  t.teardown(() => child.kill('SIGKILL'));
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const port = Number(line.toString());
  child.kill('SIGSTOP');
  // A stopped process accepts nothing, so its queue fills up.
  for (let waiting = 0; waiting < QUEUE_MAX; waiting++) {
    const socket = connect(port, '127.0.0.1');
    t.teardown(() => socket.destroy());
    const isIn = await Promise.race([
      once(socket, 'connect'),
      // Not before a connection that was made meanwhile is seen: this process may have been late itself.
      new Promise<false>((resolve) => setTimeout(() => setImmediate(resolve, false), 300)),
    ]);
    if (isIn === false) return `http://127.0.0.1:${port}`;
  }
  throw new Error('the kernel lets everyone in');
}
