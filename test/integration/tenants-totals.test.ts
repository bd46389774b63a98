// Many subjects, each within its own share, together use up a worker's total of one resource, beside a victim with a steady load:
// they are told that the total is full and when to try again, and the victim notices nothing. Totals are small here, so that they
// are full quickly; each scene shows that its total was. `tenants` tests what one subject can take alone.
import t, { type Test } from 'tap';
import type { Scope } from '../attack/scope.js';
import { checkRefusals, flood, UnansweredCalls } from '../support/attacker.js';
import { checkBeside, startScene } from '../support/beside.js';
import { backendFor } from '../support/deployment.js';
import { inParallel } from '../support/in-parallel.js';
import type { McpBackend, McpBackendOptions } from '../support/mcp-backend.js';
import { answerText, type McpSession } from '../support/mcp-caller.js';
import { startNameServer } from '../support/name-server.js';
import type { HttpAnswer } from '../support/raw-http.js';
import { until } from '../support/until.js';

const MIB = 1_048_576;
const SUBJECTS = 8;
/** The number of subjects that use up the requests in flight; each request takes two connections. */
const REQUEST_SUBJECTS = 2;
const SESSIONS = { all: 800, each: 100 };
const REQUESTS = { all: 1_600, each: 750 };
const CONNECTIONS = { all: 32, each: 12 };
const LOOK_UPS = { all: 24, each: 8 };
/** How long, at least, the gateway waits for a silent name server. */
const LOOK_UP_MS = 2_000;

const nameServer = await startNameServer();
t.teardown(() => nameServer.close());
// The TTL expires as soon as the gateway allows: the victim needs a look-up every second.
nameServer.records['victim.test'] = { addresses: ['127.0.0.1'], ttl: 0 };

const counted = await startScene(t, [
  ...['--max-sessions', `${SESSIONS.all}`, '--max-sessions-per-subject', `${SESSIONS.each}`],
  ...['--max-session-bytes', '8MiB', '--max-session-bytes-per-subject', '1536KiB'],
  ...['--max-requests-in-flight', `${REQUESTS.all}`, '--max-requests-in-flight-per-subject', `${REQUESTS.each}`],
  ...['--upstream-connections', `${REQUESTS.each}`, '--upstream-connections-per-subject', `${REQUESTS.each}`],
]);
const scene = await startScene(
  t,
  [
    ...['--max-bytes-in-flight', '32MiB', '--max-bytes-in-flight-per-subject', '16MiB'],
    ...['--max-list-bytes', '8MiB', '--max-list-bytes-per-subject', '4MiB'],
    ...['--upstream-connections', `${CONNECTIONS.all}`, '--upstream-connections-per-subject', `${CONNECTIONS.each}`],
    ...['--name-look-ups', `${LOOK_UPS.all}`, '--name-look-ups-per-subject', `${LOOK_UPS.each}`],
    ...['--name-servers', nameServer.address],
    // A response that waits for room is refused before `--slow-answer` would send its head.
    ...['--slow-answer', '30s'],
  ],
  { backendHost: 'victim.test' },
);

/** Opens a session for each subject, with one backend that all of them have. */
async function openAll(
  scope: Scope,
  options: McpBackendOptions,
): Promise<{ backend: McpBackend; sessions: McpSession[] }> {
  const backend = await backendFor(scope, options);
  const sessions: McpSession[] = [];
  for (let subject = 0; subject < SUBJECTS; subject += 1) {
    const session = await (await scene.deployment.caller({ one: { url: backend.url } })).openSession();
    // Calls continue after their callers have disconnected, and end with their sessions.
    scope.teardown(() => session.delete());
    sessions.push(session);
  }
  return { backend, sessions };
}

const hang: McpBackendOptions = { onCall: (call) => void call.takeOver() };

t.test('sessions: by count', async (t) => {
  await checkBeside(t, counted, async (scope) => {
    checkTotal(t, await openSessions(scope, undefined), 'Too many sessions');
  });
});

t.test('sessions: by the memory that they take', async (t) => {
  const clientInfo = `{"name":"${'c'.repeat(15_000)}","version":"1"}`;
  const params = `{"protocolVersion":"2025-11-25","capabilities":{"experimental":{"x":"${'e'.repeat(15_000)}"}},"clientInfo":${clientInfo}}`;
  await checkBeside(t, counted, async (scope) => {
    checkTotal(t, await openSessions(scope, params), 'The sessions use too much memory');
  });
});

/** Opens as many sessions as each subject may have. They end with the scope. */
async function openSessions(scope: Scope, params: string | undefined): Promise<HttpAnswer[]> {
  const all: HttpAnswer[] = [];
  for (let subject = 0; subject < SUBJECTS; subject += 1) {
    const caller = await counted.deployment.caller();
    const answers = await flood(caller, SESSIONS.each, (lane) =>
      lane.initialize(params === undefined ? {} : { params }),
    );
    all.push(...answers);
    scope.teardown(() =>
      inParallel(answers, 8, async (answer) => {
        const id = answer.header('mcp-session-id');
        if (id !== undefined) await caller.send({ method: 'DELETE', session: id });
      }),
    );
  }
  return all;
}

/** Checks that some were refused because all subjects together have too much, and were told when to try again. */
function checkTotal(t: Test, answers: readonly HttpAnswer[], words: string): void {
  t.ok(
    answers.some(({ status }) => status === 200),
    'some were served',
  );
  t.ok(
    answers.some(({ status, text }) => status === 503 && text.includes(words)),
    `others were told: ${words}`,
  );
  checkRefusals(t, answers, [429, 503]);
}

t.test('requests in flight', async (t) => {
  await checkBeside(t, counted, async (scope) => {
    const own = await Promise.all(Array.from({ length: REQUEST_SUBJECTS }, () => backendFor(scope, hang)));
    const sessions: McpSession[] = [];
    for (const { url } of own) {
      sessions.push(await (await counted.deployment.caller({ hung: { url } })).openSession());
      scope.teardown(() => sessions.pop()?.delete());
    }
    const calls = new UnansweredCalls(scope);
    await calls.send(sessions, REQUEST_SUBJECTS * REQUESTS.each, 'hung-echo');
    const underWay = (): number => own.reduce((sum, backend) => sum + backend.calls.length, 0);
    await until(() => underWay() + calls.answers.length === REQUEST_SUBJECTS * REQUESTS.each, 'all of them');
    const told = calls.answers.filter(({ text }) => text.includes('Too many requests in flight')).length;
    t.equal(told, calls.answers.length, 'who was refused was told that all together have too many');
    t.ok(underWay() > REQUESTS.all / 2 && underWay() < REQUESTS.all, `${underWay()} under way, with room for others`);
    checkRefusals(t, calls.answers, [503]);
  });
});

t.test('bytes in flight: large requests that nobody answers', async (t) => {
  const args = JSON.stringify({ text: 'x'.repeat(3 * MIB) });
  await checkBeside(t, scene, async (scope) => {
    const { backend, sessions } = await openAll(scope, hang);
    const calls = new UnansweredCalls(scope);
    await calls.send(sessions, 4 * SUBJECTS, 'one-echo', args);
    await until(() => calls.answers.length >= 4 * SUBJECTS - 10, 'the refusals');
    t.ok(backend.calls.length <= 10, `${backend.calls.length} requests of 3 MiB in 32 MiB`);
    const told = calls.answers.filter(({ text }) => text.includes('Too many bytes of large requests in flight')).length;
    t.ok(told > 0, `${told} of ${calls.answers.length} were told that all together have too many`);
    checkRefusals(t, calls.answers, [429, 503]);
  });
});

t.test('bytes in flight: large responses that are never read', async (t) => {
  const text = 'x'.repeat(6 * MIB);
  await checkBeside(t, scene, async (scope) => {
    const { backend, sessions } = await openAll(scope, { onCall: () => ({ content: [{ type: 'text', text }] }) });
    const calls = new UnansweredCalls(scope);
    await calls.send(sessions, 3 * SUBJECTS, 'one-echo');
    await until(() => backend.calls.length === 3 * SUBJECTS, 'all calls at the backend');
    const told = (): number =>
      calls.answers.filter((answer) => answer.text.includes('too many bytes of large responses in flight')).length;
    await until(() => told() > 0, 'the first that there is no room for');
    t.ok(calls.unreadCount > 0, `${calls.unreadCount} answers are held for who does not read them`);
  });
});

t.test('list work: lists of megabytes', async (t) => {
  const description = 'd'.repeat(4_000);
  const tools = Array.from({ length: 450 }, (_, n) => ({
    name: `t${n}`,
    description,
    inputSchema: { type: 'object' },
  }));
  await checkBeside(t, scene, async (scope) => {
    const { sessions } = await openAll(scope, { tools });
    const seen = { whole: 0, 'all together': 0, own: 0, other: 0 };
    await inParallel(
      Array.from({ length: 4 * SUBJECTS }, (_, n) => sessions[n % SUBJECTS]!),
      32,
      async (session) => {
        const answer = answerText(await session.list());
        const isTotal = answer.includes('no memory for its list: too many bytes of large lists at once');
        const isOwn = answer.includes('list too large for your share of memory: wait for others to finish');
        seen[answer.includes('"one-t449"') ? 'whole' : isTotal ? 'all together' : isOwn ? 'own' : 'other'] += 1;
      },
    );
    t.ok(seen.whole > 0 && seen['all together'] > 0 && seen.other === 0, `the lists: ${JSON.stringify(seen)}`);
  });
});

t.test('connections to a backend that all of them use', async (t) => {
  await checkBeside(t, scene, async (scope) => {
    const { backend, sessions } = await openAll(scope, hang);
    const calls = new UnansweredCalls(scope);
    await calls.send(sessions, 6 * SUBJECTS, 'one-echo');
    await until(() => backend.calls.length === CONNECTIONS.all, 'all connections in use');
    t.equal(calls.answers.length, 0, 'the others wait');
  });
});

t.test('look-ups of names', async (t) => {
  let turn = 0;
  await checkBeside(t, scene, async () => {
    turn += 1;
    const beganMs = performance.now();
    const askedBefore = nameServer.queries.length;
    await inParallel([...Array(SUBJECTS).keys()], SUBJECTS, async (subject) => {
      const names = Array.from({ length: 24 }, (_, n) => `${turn}-${subject}-silent-${n}.test`);
      for (const name of names) nameServer.records[name] = 'silent';
      const backends = Object.fromEntries(names.map((name, n) => [`b${n}`, { url: `http://${name}:9/mcp` }]));
      const session = await (await scene.deployment.caller(backends)).openSession();
      await session.delete();
    });
    const asked = nameServer.queries.slice(askedBefore).map(({ name }) => name);
    const silent = new Set(asked.filter((name) => name.includes('-silent-')));
    const atMost = LOOK_UPS.all * (1 + Math.ceil((performance.now() - beganMs) / LOOK_UP_MS));
    t.ok(
      silent.size >= LOOK_UPS.all && silent.size <= atMost,
      `${silent.size} names were asked for, ${atMost} at most`,
    );
  });
});
