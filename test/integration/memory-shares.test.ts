// Dozens of large messages: a worker holds no more of them than its share allows, even when callers do not read or backends do not
// respond. Those in flight complete, the others are refused, and another subject is served throughout.
import { readFileSync } from 'node:fs';
import t from 'tap';
import { startControlPlane } from '../support/control-plane.js';
import { backendFor, startDeployment, type ConfiguredCaller } from '../support/deployment.js';
import { McpCaller, rpc, type McpSession } from '../support/mcp-caller.js';
import { encodeRequest, RawConnection } from '../support/raw-http.js';
import { until } from '../support/until.js';

const MIB = 1024 * 1024;

function residentBytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}

/** The largest memory of any worker during the action. */
async function mostOf(pids: readonly number[], action: () => Promise<void>): Promise<number> {
  let most = 0;
  const look = (): void => void (most = Math.max(most, ...pids.map(residentBytes)));
  const timer = setInterval(look, 20);
  try {
    await action();
    look();
  } finally {
    clearInterval(timer);
  }
  return most;
}

async function ask(caller: ConfiguredCaller, session: McpSession, body: string): Promise<RawConnection> {
  const connection = await RawConnection.open(caller.origin);
  connection.pause();
  connection.write(encodeRequest(caller.origin, caller.request({ session: session.id, body })));
  return connection;
}

for (const workerCount of [1, 2]) {
  t.test(`${workerCount} workers: answers that nobody reads take no more than their share`, async (t) => {
    const ANSWER_BYTES = 8 * MIB;
    const ANSWERS = 24;
    const text = 'x'.repeat(ANSWER_BYTES);
    const large = await backendFor(t, { onCall: () => ({ content: [{ type: 'text', text }] }) });
    const small = await backendFor(t);
    const options = ['--max-bytes-in-flight', '48MiB', '--max-bytes-in-flight-per-subject', '24MiB'];
    const deployment = await startDeployment(t, { workerCount, options });
    const caller = await deployment.caller({ one: { url: large.url } });
    const victim = await deployment.caller({ one: { url: small.url } });
    const [session, calm] = [await caller.openSession(), await victim.openSession()];
    const pids = deployment.gateway.workerPids();
    const before = Math.max(...pids.map(residentBytes));
    const connections: RawConnection[] = [];
    t.teardown(() => connections.forEach((connection) => connection.close()));
    const most = await mostOf(pids, async () => {
      for (let id = 0; id < ANSWERS; id += 1) {
        const params = '{"name":"one-fetch","arguments":{}}';
        connections.push(
          await ask(caller, session, `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`),
        );
      }
      await until(() => large.calls.length === ANSWERS, 'all calls at the backend');
      for (let each = 0; each < 20; each += 1) t.equal((await calm.call('one-echo', '{"a":1}')).status, 200);
    });
    t.ok(most - before < (ANSWERS * ANSWER_BYTES) / 2, `${Math.round((most - before) / MIB)} MiB more`);

    // A caller that finally reads gets its response if there was room for it, and otherwise an error that says so.
    const kinds: string[] = [];
    for (const connection of connections) {
      connection.resume();
      const answer = await connection.readAnswer();
      if (answer.status === 200 && answer.body.length > ANSWER_BYTES) kinds.push('whole');
      else
        kinds.push(
          /too many bytes of large responses|too large for your share/.test(answer.text)
            ? 'told'
            : answer.text.slice(0, 200),
        );
    }
    t.same(
      [...new Set(kinds)].filter((kind) => kind !== 'whole' && kind !== 'told'),
      [],
    );
    t.ok(kinds.includes('whole'));
    const again = await session.call('one-fetch');
    t.equal(again.status, 200);
    t.ok(again.body.length > ANSWER_BYTES, 'and there is room again');
  });
}

t.test('unanswered requests hold no more than their share; a request that waits too long is refused', async (t) => {
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  t.teardown(() => finish());
  const REQUEST_BYTES = 3 * MIB;
  const silent = await backendFor(t, {
    onCall: async () => {
      await finished;
      return { content: [] };
    },
  });
  const small = await backendFor(t);
  const options = ['--max-bytes-in-flight', '32MiB', '--max-bytes-in-flight-per-subject', '16MiB'];
  const deployment = await startDeployment(t, { workerCount: 1, options });
  const caller = await deployment.caller({ one: { url: silent.url } });
  const victim = await deployment.caller({ one: { url: small.url } });
  const [session, calm] = [await caller.openSession(), await victim.openSession()];
  const text = 'x'.repeat(REQUEST_BYTES);
  const calls = Array.from({ length: 12 }, () => session.call('one-keep', JSON.stringify({ text })));
  const settled: number[] = [];
  for (const call of calls) void call.then(({ status }) => settled.push(status));
  await until(() => silent.calls.length === 5, 'as many requests at the backend as there is room for');
  const large = JSON.stringify({ text: 'y'.repeat(REQUEST_BYTES) });
  t.equal((await calm.call('one-echo', large)).status, 200, 'another subject has its own share');
  await until(() => settled.length === 7, 'those without room to be told');
  t.same(new Set(settled), new Set([429]));
  t.equal(silent.calls.length, 5, 'no backend has seen them');
  finish();
  const answers = await Promise.all(calls);
  t.equal(answers.filter(({ status }) => status === 200).length, 5);
  const refused = answers.find(({ status }) => status === 429);
  t.equal(refused?.header('retry-after'), '1');
  t.match(refused?.text, /bytes of large requests of this subject/);
  t.equal((await session.call('one-keep', JSON.stringify({ text }))).status, 200, 'and there is room again');
});

t.test('a worker short of memory refuses sessions, then requests, keeps what is in flight, and recovers', async (t) => {
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  t.teardown(() => finish());
  const backend = await backendFor(t, {
    onCall: async ({ argumentsText = '' }) => {
      if (!argumentsText.includes('"wait"')) return undefined;
      await finished;
      return { content: [{ type: 'text', text: 'kept' }] };
    },
  });
  const options = ['--worker-memory', '192MiB', '--max-bytes-in-flight', '1GiB'];
  const deployment = await startDeployment(t, { workerCount: 1, options });
  const caller = await deployment.caller({ one: { url: backend.url } });
  const session = await caller.openSession();
  const victim = session.call('one-keep', '{"wait":"victim"}');
  const text = 'x'.repeat(3 * MIB);
  const inFlight: Promise<number>[] = [];
  let isRefused = false;
  while (!isRefused && inFlight.length < 100) {
    const call = session.call('one-keep', JSON.stringify({ wait: true, text })).then(({ status }) => {
      isRefused ||= status === 503;
      return status;
    });
    inFlight.push(call);
    const sent = inFlight.length;
    await until(() => isRefused || backend.calls.length > sent, 'the call at the backend');
  }
  t.ok(isRefused, 'there is an end to what it takes');
  const initialize = await caller.initialize();
  t.equal(initialize.status, 503);
  t.match(initialize.text, /Overloaded/);
  finish();
  t.equal((rpc(await victim).result as { content: { text: string }[] }).content[0]?.text, 'kept');
  const statuses = await Promise.all(inFlight);
  t.same(new Set(statuses), new Set([200, 503]));
  const words = (): unknown[] => deployment.gateway.logs.map(({ msg }) => msg);
  await until(() => words().includes('overload is over: everything is accepted again'), 'the end of it');
  t.ok(words().includes('overloaded: new requests are refused'));
  t.equal((await caller.initialize()).status, 200, 'sessions are taken again');
  t.equal((await session.call('one-echo', '{"a":1}')).status, 200);
});

t.test('a control plane short of memory refuses requests, keeps what is in flight, and recovers', async (t) => {
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  t.teardown(() => finish());
  const backend = await backendFor(t, {
    onCall: async () => {
      await finished;
      return { content: [{ type: 'text', text: 'kept' }] };
    },
  });
  // By default their share holds back so many large calls long before memory is short.
  const shares = ['--max-bytes-in-flight', '512MiB', '--max-bytes-in-flight-per-subject', '512MiB'];
  const controlPlane = await startControlPlane(t, { options: ['--control-plane-memory', '256MiB', ...shares] });
  const operator = await controlPlane.caller(t);
  t.equal((await operator.post('/servers', { name: 'one', url: backend.url })).status, 201);
  const caller = new McpCaller(controlPlane.origin, '/mcp', await controlPlane.token('flooder'));
  await until(async () => (await caller.initialize()).status === 200, 'the end of its start');
  const session = await caller.openSession();
  const text = 'x'.repeat(3 * MIB);
  const inFlight: Promise<number>[] = [];
  let isRefused = false;
  while (!isRefused && inFlight.length < 100) {
    const call = session.call('one-keep', JSON.stringify({ text })).then(({ status }) => {
      isRefused ||= status === 503;
      return status;
    });
    inFlight.push(call);
    const sent = inFlight.length;
    await until(() => isRefused || backend.calls.length >= sent, 'the call at the backend');
  }
  t.ok(isRefused, 'there is an end to what it takes');
  finish();
  const statuses = await Promise.all(inFlight);
  t.same(new Set(statuses), new Set([200, 503]), 'what it has taken is answered');
  const words = (): unknown[] => controlPlane.program.logs.map(({ msg }) => msg);
  await until(() => words().includes('overload is over: everything is accepted again'), 'the end of it');
  t.ok(words().includes('overloaded: new requests are refused'));
  t.equal((await caller.initialize()).status, 200, 'sessions are taken again');
  t.equal((await operator.get('/servers')).status, 200);
});

t.test('lists hold no more memory than the share that the options set', async (t) => {
  const description = 'x'.repeat(60_000);
  const large = await backendFor(t, { tools: Array.from({ length: 40 }, (_, n) => ({ name: `${n}`, description })) });
  const small = await backendFor(t);
  const backends = { large: { url: large.url }, small: { url: small.url } };
  for (const [options, message] of [
    [['--max-list-bytes', '64MiB', '--max-list-bytes-per-subject', '1MiB'], /list too large for your share of memory/],
    [['--max-list-bytes', '1MiB', '--max-list-bytes-per-subject', '64MiB'], /of large lists at once/],
  ] as const) {
    const deployment = await startDeployment(t, { workerCount: 1, options });
    const { text } = await (await (await deployment.caller(backends)).openSession()).list();
    t.match(text, /"small-/);
    t.match(text, message);
  }
});
