// The leases that serve requests without a session: which config they obey, how much of a subject's room one of them may take,
// which of them end, and that requests under way in others go on.
import t from 'tap';
import { limits } from '../../src/shared/limits.js';
import { backendFor } from '../support/deployment.js';
import { createAccounts } from '../support/shares.js';
import { until } from '../support/until.js';
import { answerOf, WiredRelay, type WiredCaller } from '../relay/wired-relay.js';
import { post } from './modern-request.js';
import type { RecordedExchange } from '../support/recorded-exchange.js';

const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const KEY = 'x-api-key';
/** Of all subjects together. */
const SESSIONS = 150;

interface CallKind {
  readonly key?: string;
  readonly capabilities?: object;
}

function call(caller: WiredCaller, { key, capabilities = {} }: CallKind = {}): RecordedExchange {
  return post(caller, 'tools/call', {
    params: { name: 'b-echo', arguments: {} },
    meta: { [CAPABILITIES]: capabilities },
    passthroughHeaders: key === undefined ? [] : [KEY, key],
  });
}

/** The status and detail of a refusal, `served`, or the message of an error. */
async function outcomeOf(exchange: RecordedExchange): Promise<string> {
  await until(() => exchange.outcome === 'responded' || exchange.outcome === 'ended', 'an answer');
  const { status = 200, body = '' } = exchange.answer ?? {};
  if (status !== 200) return `${status} ${(JSON.parse(String(body)) as { detail: string }).detail}`;
  const { error } = await answerOf(exchange);
  return error === undefined ? 'served' : error.message;
}

t.test('a request that was under way for long does not bring back the config that it came with', async (t) => {
  const [old, added] = await Promise.all(
    ['a', 'b'].map((tool) => backendFor(t, { tools: [tool], withSessions: true })),
  );
  const relay = new WiredRelay(t);
  const before = relay.caller({ old: old!.url });
  const after = relay.caller({ old: old!.url, added: added!.url });
  const list = async (caller: WiredCaller, more: object = {}): Promise<unknown[]> => {
    const { result } = await answerOf(post(caller, 'tools/list', more));
    return (result?.['tools'] as { name: string }[]).map(({ name }) => name);
  };
  t.strictSame(await list(before), ['old-a']);
  t.strictSame(await list(after), ['added-b', 'old-a']);
  t.strictSame(await list(before), ['added-b', 'old-a'], 'the newer one counts');
  const params = { fill: 'x'.repeat(limits.readAtOnceBytesMax) };
  t.strictSame(await list(before, { params }), ['added-b', 'old-a'], 'also for what is long to read');
  t.equal(added!.sessions.size, 1, 'what the newer config has stays open');
  t.equal(added!.requestsOf('initialize').length, 1);
  // The same holds for a session.
  await before.open();
  after.sessionId = before.sessionId;
  t.match((await after.list()).result, { tools: { length: 2 } });
  t.match((await before.list()).result, { tools: { length: 2 } });
  const removed = relay.caller({ added: added!.url });
  t.strictSame(await list(removed), ['added-b'], 'the next one counts');
});

t.test('a discover counts as in flight in its lease, and is answered when the lease ends', async (t) => {
  const backend = await backendFor(t, { onRequest: ({ text }) => text.includes('initialize') });
  const wired = new WiredRelay(t, { initializePatienceMs: 60_000 });
  const exchange = post(wired.caller({ b: backend.url }), 'server/discover', { id: 'd' });
  await until(() => backend.requestsOf('initialize').length === 1, 'the backend to be asked');
  const [lease] = [...wired.relay.sessions];
  t.equal(lease?.inFlight.count, 1);
  await wired.relay.stop(0);
  t.match(await answerOf(exchange), { id: 'd', error: { code: -32603, message: /try again/ } });
});

t.test('one program’s calls leave room for another program of the same subject', async (t) => {
  const backend = await backendFor(t, { tools: ['echo'], onRequest: ({ text }) => text.includes('tools/call') });
  const accounts = createAccounts({ subjectRequestsInFlightMax: 8 });
  const caller = new WiredRelay(t, {}, {}, { accounts }).caller({ b: backend.url });
  const flood = Array.from({ length: 12 }, () => call(caller, { key: 'one' }));
  const refused = flood.filter(({ answer }) => answer !== undefined);
  t.equal(refused.length, 6, 'three quarters of what the subject may have');
  for (const exchange of refused)
    t.match(await outcomeOf(exchange), /^429 .*with these capabilities and forwarded headers/);
  t.equal(refused[0]?.answer?.headers?.[0], 'retry-after');
  const other = call(caller, { key: 'other' });
  await until(() => backend.requestsOf('tools/call').length === 7, 'the other one’s call to be there');
  t.equal(other.answer, undefined);
});

t.test('requests with the same capabilities and headers share a lease, and no others do', async (t) => {
  const backend = await backendFor(t, { tools: ['echo'], withSessions: true });
  const caller = new WiredRelay(t).caller({ b: backend.url });
  const kinds: CallKind[] = [{}, { capabilities: { roots: {} } }, { key: 'one' }, {}, { key: 'two' }, { key: 'one' }];
  for (const kind of kinds)
    for (let time = 0; time < 2; time += 1) t.equal(await outcomeOf(call(caller, kind)), 'served');
  const sessions = backend.requestsOf('tools/call').map(({ headers }) => headers['mcp-session-id']);
  const [bare, , roots, , one, , again, , two, , oneAgain] = sessions;
  t.equal(new Set([bare, roots, one, two]).size, 4, 'one for each kind');
  t.same(
    sessions.filter((_, n) => n % 2 === 1),
    sessions.filter((_, n) => n % 2 === 0),
    'the same at the second time',
  );
  t.same([again, oneAgain], [bare, one]);
});

t.test('a subject’s virtual hosts have leases of their own', async (t) => {
  const [one, other] = await Promise.all([1, 2].map(() => backendFor(t, { tools: ['echo'], withSessions: true })));
  const relay = new WiredRelay(t);
  const callers = [relay.caller({ b: one!.url }), relay.caller({ b: other!.url }, 'alice', { id: 'other' })];
  for (let time = 1; time <= 2; time += 1)
    for (const caller of callers) for (const kind of [{}, {}, { key: 'one' }]) await outcomeOf(call(caller, kind));
  t.same([one!.calls.length, other!.calls.length], [6, 6], 'each request is served by what its own virtual host has');
  t.same([one!.sessions.size, other!.sessions.size], [2, 2]);
});

t.test('a lease that gave way to others is opened anew', async (t) => {
  const backend = await backendFor(t, { tools: ['echo'], withSessions: true });
  const accounts = createAccounts({ subjectSessionsMax: 2 });
  const caller = new WiredRelay(t, {}, {}, { accounts }).caller({ b: backend.url });
  for (const kind of [{}, {}, { key: 'one' }, { key: 'two' }, {}])
    t.equal(await outcomeOf(call(caller, kind)), 'served');
  const sessions = backend.requestsOf('tools/call').map(({ headers }) => headers['mcp-session-id']);
  t.equal(new Set(sessions).size, 4);
  await until(() => backend.sessions.size === 2, 'the other two to be ended at the backend, too');
});

t.test('leases of one program leave room for another program, and idle leases give way', async (t) => {
  const isHung = (text: string): boolean => text.includes('tools/call') && text.includes('"hang"');
  const backend = await backendFor(t, { tools: ['echo'], withSessions: true, onRequest: ({ text }) => isHung(text) });
  const accounts = createAccounts({ subjectSessionsMax: 8 });
  const wired = new WiredRelay(t, {}, {}, { accounts });
  const caller = wired.caller({ b: backend.url });
  const hang = (n: number, key: string): RecordedExchange =>
    post(caller, 'tools/call', {
      params: { name: 'b-echo', arguments: { hang: 1 } },
      meta: { [CAPABILITIES]: { experimental: { n } } },
      passthroughHeaders: [KEY, key],
    });
  const idle = Array.from({ length: 20 }, (_, n) =>
    call(caller, { key: 'idle', capabilities: { experimental: { n } } }),
  );
  for (const exchange of idle) t.match(await outcomeOf(exchange), /served|429/);
  t.ok(wired.relay.sessionCount <= 6, 'idle ones of the same headers gave way');
  for (let n = 0; n < 6; n += 1) t.equal(await outcomeOf(call(caller, { key: 'idle', capabilities: { n } })), 'served');
  const busy = Array.from({ length: 12 }, (_, n) => hang(n, 'busy'));
  const refused = busy.filter(({ answer }) => answer !== undefined);
  for (const exchange of refused) t.match(await outcomeOf(exchange), /^429 .*too many different sets of capabilities/);
  t.equal(refused.length, 6);
  t.equal(wired.relay.sessionCount, 8, 'two of the idle ones are left');
  t.equal(await outcomeOf(call(caller, { key: 'victim' })), 'served', 'in the place of an idle one');
  t.equal(await outcomeOf(call(caller, { key: 'victim' })), 'served');
  t.equal(wired.relay.sessionCount, 8);
});

t.test('leases of hundreds of subjects are bounded, end when idle, and leave others alone', async (t) => {
  const backend = await backendFor(t, { tools: ['echo'], withSessions: true });
  const accounts = createAccounts({ sessionsMax: SESSIONS, subjectSessionsMax: 4 });
  const eras = { served: 'both' as const, leaseIdleTimeoutMs: 2_000 };
  // Gateway, backend and callers share this process, so a slow machine is given time.
  const wired = new WiredRelay(t, { initializeTimeoutMs: 120_000, callIdleTimeoutMs: 120_000 }, {}, { accounts, eras });
  const victim = wired.caller({ b: backend.url }, 'victim');
  t.equal(await outcomeOf(call(victim)), 'served');
  const [own = ''] = backend.sessions;
  const flood = Array.from({ length: 2 * SESSIONS }, (_, n) => call(wired.caller({ b: backend.url }, `subject-${n}`)));
  const during = call(victim);
  const outcomes = await Promise.all(flood.map(outcomeOf));
  t.equal(await outcomeOf(during), 'served');
  t.ok(wired.relay.sessionCount <= SESSIONS, `${wired.relay.sessionCount} of ${SESSIONS}`);
  t.strictSame(new Set(outcomes), new Set(['served', '503 Too many sessions']));
  const servedCount = outcomes.filter((outcome) => outcome === 'served').length;
  t.equal(
    backend.calls.length,
    servedCount + 2,
    'what was served was carried out once, and nothing of what was refused',
  );
  await wired.untilPassed(() => {
    // Keeps the victim's lease in use, so that it stays.
    call(victim);
    return wired.relay.sessionCount === 1;
  }, 'the idle ones to end');
  t.ok(backend.sessions.has(own), 'the victim’s is the one that it had');
  t.match([...wired.relay.sessions][0]?.identity, { subject: 'victim' });
  // With so many ends at once, not every session can be ended at the backend.
  t.ok(backend.sessions.size < SESSIONS, `${backend.sessions.size}`);
  t.equal(await outcomeOf(call(wired.caller({ b: backend.url }, 'subject-1'))), 'served', 'and there is room again');
});
