// A worker with all its parts, in this process: the test is its primary, and sends it what a primary would.
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import timers from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import t, { type Test } from 'tap';
import type { DataplaneOptions } from '../../src/config/dataplane-options.js';
import type { FromWorker, ToWorker } from '../../src/process/messages.js';
import { isMintedSessionId, mintSessionId } from '../../src/worker/session-id.js';
import { Hops, Predecessor, predecessorSocketPath } from '../../src/worker/hop/hops.js';
import { callerlessRequest } from '../../src/exchange/exchange.js';
import { Worker } from '../../src/worker/worker.js';
import { tokenOptions } from '../auth/token-options.js';
import { logger } from './hop/pair.js';
import { stubOptions } from '../primary/stub-options.js';
import { writeConfig } from '../support/config-writer.js';
import { findFreePort } from '../support/free-port.js';
import { startRawBackend } from '../support/raw-backend.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { mint } from '../support/tokens.js';
import { until } from '../support/until.js';
import { connectionOptions, upstreamOptions } from '../support/upstream-options.js';

const SECRET = Buffer.from('a secret of at least thirty-two bytes');
const VIRTUAL_HOST = '0a1b2c3d4e5f60718293a4b5c6d7e8f9';
/** Announces every subject that is asked about, and answers once all workers have forgotten it. */
const FEATURE = `export const createEndpoints = ({ announceWritten }) => [{ method: 'GET', path: '/announce',
  handle: async ({ parameter }) => (await announceWritten(parameter), { status: 200, contentType: 'text/plain', body: 'announced' }) }];`;

interface Scene {
  readonly store: DataplaneOptions['store'];
  readonly sent: FromWorker[];
  readonly tell: (message: Parameters<Worker['onMessage']>[0]) => Promise<void>;
  readonly stop: (farewellsMs: number) => Promise<void>;
  /** Resolves to the message that answers. */
  readonly answer: <Kind extends FromWorker['kind']>(kind: Kind) => Promise<Extract<FromWorker, { kind: Kind }>>;
  readonly get: (path: string) => Promise<{ status: number; body: string }>;
  /** Sends an `initialize`. @param inSession the id of a session, as it has no meaning there. */
  readonly call: (
    subject: string,
    inSession?: string,
  ) => Promise<{ requestId: string; sessionId: string; told: string }>;
}

async function startWorker(
  t: Test,
  changes: Partial<DataplaneOptions> = {},
  { slot = 0, directory = createScratchDirectory(t), hasFeature = true } = {},
): Promise<Scene> {
  const port = await findFreePort();
  const module = join(directory, 'feature.mjs');
  writeFileSync(module, FEATURE);
  const options = stubOptions({
    address: { host: '127.0.0.1', port },
    store: { kind: 'embedded', path: join(directory, 'store') },
    token: tokenOptions({ secret: SECRET }),
    upstream: upstreamOptions,
    bodyBytesMax: 100_000,
    logLevel: 'silent',
    ...changes,
  });
  const sent: FromWorker[] = [];
  const primary = {
    send: (message: FromWorker) => void sent.push(message),
    onMessage: () => {},
    onDisconnect: () => {},
  };
  const start: Extract<ToWorker, { kind: 'start' }> = {
    ...{ kind: 'start', slot, slotCount: changes.workerCount ?? 1, options },
    ...{ hopDirectory: directory, hopSecret: Buffer.alloc(32, 1) },
    bootstrapModule: hasFeature ? pathToFileURL(module).href : undefined,
  };
  const worker = await Worker.start(start, primary);
  let isStopped = false;
  const stop = (farewellsMs: number): Promise<void> => {
    isStopped = true;
    t.intercept(process, 'exit', { value: () => undefined });
    return worker.onMessage({ kind: 'stop', withinMs: 5_000, farewellsMs });
  };
  t.teardown(async () => {
    if (isStopped) return;
    await worker.onMessage({ kind: 'drain' });
    await stop(1_000);
  });
  const origin = `http://127.0.0.1:${port}/gw-rs`;
  return {
    store: options.store,
    sent,
    tell: (message) => worker.onMessage(message),
    stop,
    answer: async (kind) => {
      await until(() => sent.some((message) => message.kind === kind), `the message ${kind}`);
      return sent.find((message) => message.kind === kind) as never;
    },
    get: async (path) => {
      const response = await fetch(origin + path, { headers: { connection: 'close' } });
      return { status: response.status, body: await response.text() };
    },
    call: async (subject, inSession) => {
      const token = await mint({ sub: subject, algorithm: 'HS256', key: SECRET });
      const response = await fetch(`${origin}/servers/${VIRTUAL_HOST}/mcp`, {
        method: 'POST',
        headers: {
          ...{ authorization: `Bearer ${token}`, connection: 'close', accept: 'application/json, text/event-stream' },
          ...{ 'content-type': 'application/json', ...(inSession && { 'mcp-session-id': inSession }) },
        },
        body: JSON.stringify({
          ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
          params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } },
        }),
      });
      const requestId = response.headers.get('x-request-id') ?? '';
      const sessionId = response.headers.get('mcp-session-id') ?? '';
      return { requestId, sessionId, told: `${response.status} ${await response.text()}` };
    },
  };
}

/** Lets each sleep end at once: for how long connections may be kept is tested with the edge. Returns how long each was to be. */
function hastenSleep(t: Test): readonly number[] {
  const sleep = timers.setTimeout;
  const setSleep = (value: unknown): void => {
    timers.setTimeout = value as typeof sleep;
    syncBuiltinESMExports();
  };
  t.teardown(() => setSleep(sleep));
  const askedMs: number[] = [];
  setSleep(async (ms: number) => (askedMs.push(ms), sleep(1)));
  return askedMs;
}

t.test(
  'its health is that of the gateway, as its primary tells it, and bad from when a drain is announced',
  async (t) => {
    const { tell, get } = await startWorker(t);
    for (const isReady of [true, false, true]) {
      await tell({ kind: 'readiness', isReady });
      t.equal((await get('/health')).status, isReady ? 200 : 503);
    }
    await tell({ kind: 'announce-drain' });
    t.equal((await get('/health')).status, 503);
  },
);

t.test(
  'a config that the bootstrap feature wrote counts as written once every worker has forgotten the one before',
  async (t) => {
    const { tell, answer, get } = await startWorker(t);
    let isAnswered = false;
    const answered = get('/announce/alice').then((answer) => ((isAnswered = true), answer));
    const { subject, ticket } = await answer('written');
    t.equal(subject, 'alice');
    await tell({ kind: 'forget', subject, ticket: 7 });
    t.equal((await answer('forgotten')).ticket, 7);
    await tell({ kind: 'all-forgotten', ticket: ticket + 1 });
    t.notOk(isAnswered);
    await tell({ kind: 'all-forgotten', ticket });
    t.same(await answered, { status: 200, body: 'announced' });
  },
);

t.test('its report counts the faults of backends, and a request is found by its id', async (t) => {
  const { tell, answer, call, store } = await startWorker(t);
  const url = `http://127.0.0.1:${await findFreePort()}/mcp`;
  await writeConfig(store, 'alice', { virtual_hosts: { [VIRTUAL_HOST]: { backends: { down: { url } } } } });
  const { requestId, told } = await call('alice');
  await tell({ kind: 'report', ticket: 3 });
  const { ticket, series } = await answer('report');
  t.equal(ticket, 3);
  const faults = (series ?? []).filter(({ name }) => name === 'switchyard_backend_faults_total');
  t.ok(
    faults.some(({ labels, value }) => labels.includes('down') && value > 0),
    `${told}: ${JSON.stringify(faults)}`,
  );
  await tell({ kind: 'view', ticket: 4, question: { view: 'request', requestId } });
  t.match((await answer('view')).answer, `"requestId":"${requestId}"`);
});

t.test('an operator is answered, and what it drains is told', async (t) => {
  const { tell, answer } = await startWorker(t);
  await tell({ kind: 'view', ticket: 5, question: { view: 'backends' } });
  t.match(await answer('view'), { ticket: 5, answer: /^\{|^\[/ });
  await tell({ kind: 'drain' });
  await answer('drained');
});

t.test(
  'a worker that has a successor says when it accepts nothing more, and then when it has answered all',
  async (t) => {
    const { tell, sent } = await startWorker(t);
    hastenSleep(t);
    await tell({ kind: 'retire' });
    t.same(
      sent.map(({ kind }) => kind).filter((kind) => kind === 'left' || kind === 'drained'),
      ['left', 'drained'],
    );
  },
);

t.test('a session has an id that leads to its worker', async (t) => {
  const { call, store } = await startWorker(t);
  const backend = await startRawBackend((request) =>
    request.json({
      ...{ jsonrpc: '2.0', id: (JSON.parse(request.text) as { id?: unknown }).id },
      result: { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'b', version: '1' } },
    }),
  );
  t.teardown(() => backend.close());
  await writeConfig(store, 'alice', { virtual_hosts: { [VIRTUAL_HOST]: { backends: { up: { url: backend.url } } } } });
  const { sessionId, told } = await call('alice');
  t.ok(isMintedSessionId(sessionId), `${sessionId}, ${told}`);
});

t.test('a session of a worker that is gone is unknown where sessions end with their worker', async (t) => {
  const { call, store } = await startWorker(t, { workerCount: 2 });
  await writeConfig(store, 'alice', { virtual_hosts: { [VIRTUAL_HOST]: { backends: {} } } });
  t.match((await call('alice', mintSessionId(1, 2))).told, /^404 /);
});

t.test('where sessions outlive their workers, a request waits for an owner that is being replaced', async (t) => {
  const directory = createScratchDirectory(t);
  const two = { workerCount: 2, sessionDirectory: 'process' } as const;
  const one = await startWorker(t, two, { directory });
  await writeConfig(one.store, 'alice', { virtual_hosts: { [VIRTUAL_HOST]: { backends: {} } } });
  const answered = one.call('alice', mintSessionId(1, 2));
  await until(async () => {
    await one.tell({ kind: 'report', ticket: 1 });
    const [report] = one.sent.splice(0).filter(({ kind }) => kind === 'report');
    const series = report?.kind === 'report' ? report.series : [];
    return series.some(
      ({ name, labels, value }) => name === 'switchyard_hops_total' && labels.includes('passed') && value,
    );
  }, 'the request');
  const owner = await startWorker(t, two, { directory, slot: 1 });
  t.match((await answered).told, /^404 /, 'it does not know the session');
  await owner.tell({ kind: 'report', ticket: 1 });
  const { series = [] } = await owner.answer('report');
  t.ok(
    series.some(({ name, labels, value }) => name === 'switchyard_requests_total' && labels.includes('404') && value),
  );
});

t.test('a stop waits for a request that nobody answers for a moment only', async (t) => {
  const { answer, get, stop, tell } = await startWorker(t);
  const asked = get('/announce/alice');
  const { ticket } = await answer('written');
  void tell({ kind: 'drain' });
  const askedMs = hastenSleep(t);
  await stop(60_000);
  t.ok(Math.max(...askedMs) < 30_000);
  await tell({ kind: 'all-forgotten', ticket });
  await asked;
});

t.test('requests of a session reach its owner from any worker', async (t) => {
  const directory = createScratchDirectory(t);
  const two = { workerCount: 2 };
  const [one, other] = [await startWorker(t, two, { directory }), await startWorker(t, two, { directory, slot: 1 })];
  await writeConfig(one.store, 'alice', { virtual_hosts: { [VIRTUAL_HOST]: { backends: {} } } });
  t.match((await one.call('alice', mintSessionId(1, 2))).told, /^404 .*initialize again/, 'the owner does not know it');
  for (const { tell } of [one, other]) await tell({ kind: 'report', ticket: 1 });
  const [passed, owned] = await Promise.all([one, other].map(async ({ answer }) => (await answer('report')).series));
  const valueOf = (series = passed, name = '', label = ''): unknown =>
    series?.find((each) => each.name === name && each.labels.includes(label))?.value;
  t.equal(valueOf(passed, 'switchyard_hops_total', 'passed'), 1);
  t.equal(valueOf(owned, 'switchyard_requests_total', '404'), 1, 'who owns it counts it');
});

t.test('a worker that was replaced passes on nothing of what its successor passes back', async (t) => {
  const directory = createScratchDirectory(t);
  const { store, call, tell } = await startWorker(t, {}, { directory });
  await writeConfig(store, 'alice', { virtual_hosts: { [VIRTUAL_HOST]: { backends: {} } } });
  const { sessionId } = await call('alice');
  hastenSleep(t);
  await tell({ kind: 'retire' });
  await until(() => existsSync(predecessorSocketPath(directory, 0)), 'the socket for its successor');
  const hops = new Hops(directory, Buffer.alloc(32, 1), logger);
  t.teardown(() => hops.close());
  const forwarded = t.capture(Hops.prototype, 'forwardTo', Reflect.get(Hops.prototype, 'forwardTo'));
  const cancellation = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}';
  const request = callerlessRequest(sessionId, Buffer.from(cancellation), {});
  await new Promise<void>((done) =>
    new Predecessor(hops, predecessorSocketPath(directory, 0)).send(
      { subject: 'alice', virtualHostId: VIRTUAL_HOST },
      request,
      done,
    ),
  );
  t.equal(forwarded().length, 1);
});

t.test('without the bootstrap feature there are no helper endpoints, and without ids none is made up', async (t) => {
  const { get, call, tell, answer } = await startWorker(t, { requestIds: 'off' }, { hasFeature: false });
  t.equal((await get('/announce/alice')).status, 404);
  const { requestId } = await call('alice');
  t.equal(requestId, '');
  await tell({ kind: 'view', ticket: 1, question: { view: 'request', requestId } });
  t.same(JSON.parse((await answer('view')).answer), { list: [], count: 0 });
});

t.test('what keeps a worker from its store or its keys is told, and issuers are asked through the proxy', async (t) => {
  const asked: string[] = [];
  const proxy = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (head) => {
      asked.push(head.toString());
      socket.destroy();
    });
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.teardown(() => proxy.close());
  const { port } = proxy.address() as AddressInfo;
  const host = '127.0.0.1';
  const { answer } = await startWorker(t, {
    store: {
      ...{ kind: 'redis', location: { host, port: await findFreePort() }, username: undefined, password: undefined },
      ...{ tls: { mode: 'plain-text' }, staleGraceMs: 0 },
    },
    connections: {
      ...connectionOptions,
      names: { ...connectionOptions.names, proxy: { host, port, authorization: '', exceptions: [] } },
    },
    token: tokenOptions({ issuerKeys: [{ issuer: 'https://idp.example', url: 'https://idp.example/jwks' }] }),
  });
  t.match(await answer('store'), { obstacle: /Redis/ });
  t.match(await answer('keys'), { obstacle: /--token-jwks-url/, isInTheWay: true });
  t.match(asked, [/^CONNECT idp\.example:443 HTTP/]);
});

t.test('a worker reports how late its event loop was', async (t) => {
  const { tell, sent } = await startWorker(t);
  await until(async () => {
    await tell({ kind: 'report', ticket: 1 });
    const [report] = sent.splice(0).filter(({ kind }) => kind === 'report');
    const series = report?.kind === 'report' ? report.series : [];
    return series.some(({ name, counts }) => name === 'switchyard_event_loop_delay_seconds' && counts?.some(Boolean));
  }, 'a figure of it');
});

t.test('without metrics a worker reports nothing, and keeps no requests', async (t) => {
  // At this level it watches requests, but for its log.
  const { tell, answer, call } = await startWorker(t, { metrics: false, logLevel: 'info' });
  const { requestId } = await call('alice');
  t.match(requestId, /./);
  await tell({ kind: 'view', ticket: 1, question: { view: 'request', requestId } });
  t.same(JSON.parse((await answer('view')).answer), { list: [], count: 0 });
  await tell({ kind: 'report', ticket: 2 });
  t.same((await answer('report')).series, []);
});

t.test('spans are recorded for a collector, even where there are no metrics and no log', async (t) => {
  const bodies: string[] = [];
  const collector = createHttpServer((request, response) => {
    request.setEncoding('utf8').on('data', (text: string) => bodies.push(text));
    request.on('end', () => response.end('{}'));
  });
  collector.listen(0, '127.0.0.1');
  await once(collector, 'listening');
  t.teardown(() => collector.close());
  const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}/v1/traces`;
  const { call, stop, store, tell } = await startWorker(t, { metrics: false, traces: { endpoint, sampleRatio: 1 } });
  await writeConfig(store, 'alice', { virtual_hosts: { [VIRTUAL_HOST]: { backends: {} } } });
  const { requestId } = await call('alice');
  await tell({ kind: 'drain' });
  await stop(5_000);
  t.match(bodies.join(''), requestId);
});
