// A session with as many calls in flight as it may have, all waiting for the same thing: a stream, an upstream session, or a connection.
// When its outcome releases all of them at once, no turn of the worker's event loop takes long, so other callers do not notice.
import t from 'tap';
import { limits } from '../../src/shared/limits.js';
import { Scope } from '../attack/scope.js';
import { UnansweredCalls } from '../support/attacker.js';
import { backendFor, startDeployment, type BackendMembers } from '../support/deployment.js';
import { memberText } from '../support/json-text.js';
import type { McpSession } from '../support/mcp-caller.js';
import type { ReceivedRequest } from '../support/raw-backend.js';
import { SseRawBackend } from '../support/sse-raw-backend.js';
import { TurnLog } from '../support/turn-log.js';
import { until } from '../support/until.js';

const { sessionRequestsInFlightMax: COUNT } = limits;
/** A large `--slow-answer`, so that the calls are answered like quick ones however long it takes until all of them are waiting. */
const OPTIONS = [
  '--upstream-connections',
  '4096',
  '--upstream-connections-per-subject',
  '4096',
  '--slow-answer',
  '60s',
];

const HANDSHAKE =
  '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"b","version":"1"}}';
/** This many extra calls find no room. They are answered first, which shows that all the others are waiting. */
const TOO_MANY = 16;

const turns = new TurnLog(t);
const deployment = await startDeployment(t, { workerCount: 1, options: OPTIONS, environment: turns.environment });

interface Waiting {
  readonly session: McpSession;
  readonly calls: UnansweredCalls;
}

async function sessionWith(members: BackendMembers): Promise<McpSession> {
  return (await deployment.caller({ one: members })).openSession();
}

/** Sends the calls and waits until their backend, or whatever else holds them, has all of them. */
async function callAll(scope: Scope, session: McpSession, areAllThere: () => boolean): Promise<Waiting> {
  const calls = new UnansweredCalls(scope);
  await calls.send([session], COUNT, 'one-echo');
  await until(areAllThere, 'all calls to be on their way');
  return { session, calls };
}

/** The distinct outcomes of the calls. */
function wordsOf({ calls }: Waiting): string[] {
  const words = calls.answers.map(({ status, text }) => {
    const { error, result } = JSON.parse(text) as { error?: { message?: string }; result?: unknown };
    return error?.message ?? (result === undefined ? String(status) : 'a result');
  });
  return [...new Set(words)];
}

/** @param prepare resolves when all calls wait for the same thing. @param wake releases them. */
function check(
  what: string,
  expected: readonly string[],
  prepare: (scope: Scope) => Promise<{ waiting: Waiting; wake: () => void | Promise<void> }>,
): void {
  t.test(`${COUNT} calls: ${what}`, async (t) => {
    await turns.check(
      t,
      what,
      () => deployment.gateway.workerPids(),
      async () => {
        const scope = new Scope();
        const { waiting, wake } = await prepare(scope);
        await wake();
        await until(() => waiting.calls.answers.length === COUNT, 'every caller is answered');
        t.same(wordsOf(waiting), expected);
        t.equal((await waiting.session.delete()).status, 200);
        t.same(await scope.end(), []);
      },
    );
    t.equal(deployment.gateway.errorOutput, '', 'standard error is empty');
  });
}

check(
  'their one event stream is lost',
  ['Backend "one" failed: its event stream ended, and its session with it'],
  async (scope) => {
    const backend = await SseRawBackend.start(scope);
    const session = await sessionWith(backend.members);
    const waiting = await callAll(scope, session, () => backend.waiting.length === COUNT);
    return { waiting, wake: () => backend.cut() };
  },
);

check('all are answered in one piece of their one event stream', ['a result'], async (scope) => {
  const backend = await SseRawBackend.start(scope);
  const session = await sessionWith(backend.members);
  const waiting = await callAll(scope, session, () => backend.waiting.length === COUNT);
  return { waiting, wake: () => backend.answerAll() };
});

check('the upstream session that they wait for is open', ['a result'], async (scope) => {
  const { waiting, answer } = await waitForOpening(scope);
  return { waiting, wake: () => answer(`"result":${HANDSHAKE}`) };
});

check(
  'the upstream session that they wait for cannot be opened',
  ['Backend "one" failed: initialize refused'],
  async (scope) => {
    const { waiting, answer } = await waitForOpening(scope);
    return { waiting, wake: () => answer('"error":{"code":-32603,"message":"no"}') };
  },
);

check('their backend resets every connection', ['Backend "one" failed: connection lost'], async (scope) => {
  const backend = await backendFor(scope, { onCall: (call) => void call.takeOver() });
  const session = await sessionWith({ url: backend.url });
  const waiting = await callAll(scope, session, () => backend.calls.length === COUNT);
  return { waiting, wake: () => backend.raw.closeConnections('reset') };
});

/** The backend has lost its session, and holds the response to the next `initialize` until the test gives one. */
async function waitForOpening(scope: Scope): Promise<{ waiting: Waiting; answer: (outcome: string) => void }> {
  const held: ReceivedRequest[] = [];
  let isHolding = false;
  const backend = await backendFor(scope, {
    withSessions: true,
    onRequest: (request) => {
      if (!isHolding || memberText(request.text, 'method') !== '"initialize"') return false;
      held.push(request);
      return true;
    },
  });
  const session = await sessionWith({ url: backend.url });
  isHolding = true;
  backend.forgetSessions();
  const calls = new UnansweredCalls(scope);
  await calls.send([session], COUNT + TOO_MANY, 'one-echo');
  await until(() => calls.answers.length === TOO_MANY && held.length === 1, 'all calls to wait');
  calls.answers.length = 0;
  const answer = (outcome: string): void => {
    isHolding = false;
    backend.sessions.add('again');
    const [request] = held;
    const id = memberText(request?.text ?? '', 'id');
    request?.json(`{"jsonrpc":"2.0","id":${id},${outcome}}`, { headers: { 'mcp-session-id': 'again' } });
  };
  return { waiting: { session, calls }, answer };
}
