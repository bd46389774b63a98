// SIGTERM, `--drain-timeout` (decisions section 1) and the draining answer of `{prefix}/health` (specification 2.2).
import t from 'tap';
import { backendFor, startDeployment } from '../support/deployment.js';
import { EventReader } from '../support/event-reader.js';
import { rpc } from '../support/mcp-caller.js';
import { callTool } from '../support/modern-caller.js';
import { encodeRequest, RawConnection, send } from '../support/raw-http.js';
import { until } from '../support/until.js';

const HEALTH = { method: 'GET', path: '/gw-rs/health', headers: [] } as const;

for (const workerCount of [1, 4]) {
  await t.test(`SIGTERM waits for what is in flight; ${workerCount} worker(s)`, async (t) => {
    let release: (() => void) | undefined;
    const backend = await backendFor(t, {
      withSessions: true,
      onCall: () => new Promise<void>((resolve) => (release = resolve)),
    });
    const deployment = await startDeployment(t, { workerCount });
    const { gateway } = deployment;
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    const pending = session.call('one-echo', '{"n":1}');
    await until(() => backend.calls.length === 1, 'the call at the backend');
    // The connection was made before the drain, and is idle.
    const kept = await RawConnection.open(gateway.origin);
    t.teardown(() => kept.close());
    kept.write(encodeRequest(gateway.origin, HEALTH));
    t.equal((await kept.readAnswer('GET')).text, '{"status":"healthy"}');

    gateway.signal('SIGTERM');
    let draining: { status: number; text: string } | undefined;
    await until(async () => {
      kept.write(encodeRequest(gateway.origin, HEALTH));
      const answer = await kept.readAnswer('GET');
      draining = { status: answer.status, text: answer.text };
      return answer.status !== 200;
    }, 'the drain to begin');
    t.same(draining, { status: 503, text: '{"status":"draining"}' });
    const isRefused = async (): Promise<boolean> =>
      send(gateway.origin, HEALTH).then(
        () => false,
        () => true,
      );
    await until(isRefused, 'new connections to be refused');

    release?.();
    t.match(rpc(await pending), { result: { structuredContent: { n: 1 } } }, 'the call was answered');
    t.same(await gateway.exit, { code: 0, signal: null });
    t.equal(backend.deletedSessions.length, 1, 'its upstream sessions were ended');
  });

  await t.test(`--drain-notice: /health is 503, and everything is served; ${workerCount} worker(s)`, async (t) => {
    const backend = await backendFor(t);
    // The second signal ends it: the test does not wait for the notice to be over.
    const deployment = await startDeployment(t, { workerCount, options: ['--drain-notice', '10m'] });
    const { gateway } = deployment;
    const caller = await deployment.caller({ one: { url: backend.url } });
    const session = await caller.openSession();
    t.equal((await send(gateway.origin, HEALTH)).status, 200);
    gateway.signal('SIGTERM');
    // New connections, one after the other, so that they reach each of the workers.
    let refusedInARow = 0;
    await until(async () => {
      const { status, text } = await send(gateway.origin, HEALTH);
      if (status === 503) t.equal(text, '{"status":"draining"}');
      refusedInARow = status === 503 ? refusedInARow + 1 : 0;
      return refusedInARow === 20;
    }, 'every worker to announce the drain');
    const answer = await session.call('one-echo', '{"n":1}');
    t.match(rpc(answer), { result: { structuredContent: { n: 1 } } });
    t.equal(answer.header('connection'), 'close', 'a balancer keeps no connection that would end under a request');
    t.match(rpc(await (await caller.openSession()).call('one-echo')), { result: {} }, 'new sessions too');
    await until(() => {
      gateway.signal('SIGTERM');
      return gateway.logs.some(({ msg }) => msg === 'second signal: killing the workers');
    }, 'the second signal to count');
    t.same(await gateway.exit, { code: 143, signal: null });
  });

  for (const slowAnswer of ['20s', '100ms']) {
    await t.test(`--drain-timeout: and no longer; ${workerCount} worker(s), --slow-answer ${slowAnswer}`, async (t) => {
      const backend = await backendFor(t, { onCall: () => new Promise<void>(() => undefined) });
      const options = ['--drain-timeout', '700ms', '--slow-answer', slowAnswer];
      const deployment = await startDeployment(t, { workerCount, options });
      const caller = await deployment.caller({ one: { url: backend.url } });
      const sessions = await Promise.all(Array.from({ length: 8 }, () => caller.openSession()));
      const pending = [...sessions.map((session) => session.call('one-echo')), callTool(caller, 'one-echo')].map(
        (call) => call.catch(() => 'cut off' as const),
      );
      await until(() => backend.calls.length === pending.length, 'the calls at the backend');
      const signalledAtMs = performance.now();
      deployment.gateway.signal('SIGTERM');
      t.same(await deployment.gateway.exit, { code: 0, signal: null });
      const tookMs = performance.now() - signalledAtMs;
      t.ok(tookMs >= 700, `not before its time: ${tookMs} ms`);
      for (const answer of await Promise.all(pending)) {
        t.not(answer, 'cut off', 'each caller is answered, also over a hop');
        if (answer === 'cut off') continue;
        t.equal(answer.contentType, slowAnswer === '100ms' ? 'text/event-stream' : 'application/json');
        t.match(rpc(answer), { error: { code: -32603, message: /session ended/ } });
      }
    });
  }

  await t.test(
    `SIGTERM ends the streams of sessions, which nothing else would; ${workerCount} worker(s)`,
    async (t) => {
      const backend = await backendFor(t, { withSessions: true });
      const deployment = await startDeployment(t, { workerCount, options: ['--drain-timeout', '5m'] });
      const caller = await deployment.caller({ one: { url: backend.url } });
      const streams: EventReader[] = [];
      for (let count = 0; count < 8; count += 1) {
        const session = (await caller.openSession()).id;
        streams.push(await EventReader.open(caller, { method: 'GET', session, accept: 'text/event-stream' }));
      }
      const signalledAtMs = performance.now();
      deployment.gateway.signal('SIGTERM');
      for (const stream of streams) t.same(await stream.rest(), [], 'it ends in order');
      t.same(await deployment.gateway.exit, { code: 0, signal: null });
      t.ok(performance.now() - signalledAtMs < 60_000, 'no stream is waited for');
    },
  );

  await t.test(`SIGTERM with nothing in flight ends at once; ${workerCount} worker(s)`, async (t) => {
    const deployment = await startDeployment(t, { workerCount, options: ['--drain-timeout', '5m'] });
    const kept = await RawConnection.open(deployment.gateway.origin);
    t.teardown(() => kept.close());
    const signalledAtMs = performance.now();
    deployment.gateway.signal('SIGTERM');
    t.same(await deployment.gateway.exit, { code: 0, signal: null });
    t.ok(performance.now() - signalledAtMs < 60_000, 'an idle connection is not waited for');
  });
}
