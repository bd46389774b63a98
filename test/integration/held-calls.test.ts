// Calls of clients of MCP 2026-07-28 to a legacy backend that asks something during the call. There are several workers and every
// request has its own connection, so that retries reach workers that do not hold the call.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { limits } from '../../src/shared/limits.js';
import { backendFor, startDeployment, type ConfiguredCaller } from '../support/deployment.js';
import { EventReader } from '../support/event-reader.js';
import { readEvents } from '../support/event-stream.js';
import { JsonText } from '../support/json-text.js';
import { BOTH_FORMS } from '../support/mcp-caller.js';
import { modernBackendFor } from '../support/modern-backend.js';
import { migratesConnections } from '../support/reload-load.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { until } from '../support/until.js';

const META = 'io.modelcontextprotocol/';

interface Answer {
  readonly id?: unknown;
  readonly result?: {
    readonly resultType?: string;
    readonly requestState?: string;
    readonly inputRequests?: Readonly<Record<string, { readonly method?: string; readonly params?: unknown }>>;
    readonly content?: unknown;
  };
  readonly error?: { readonly code: number; readonly message: string };
}

async function call(caller: ConfiguredCaller, id: number, params: object = {}): Promise<Answer> {
  const _meta = {
    [`${META}protocolVersion`]: '2026-07-28',
    [`${META}clientCapabilities`]: { elicitation: {}, sampling: {} },
  };
  const body = { name: 'b-ask', arguments: { a: 1 }, ...params, _meta };
  const answer = await caller.send({
    protocolVersion: '2026-07-28',
    headers: [
      ['mcp-method', 'tools/call'],
      ['mcp-name', 'b-ask'],
    ],
    body: JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: body }),
  });
  const { text } = answer;
  return JSON.parse(text.startsWith('{') ? text : (readEvents(Buffer.from(text)).at(-1) ?? '{}')) as Answer;
}

t.test('a question of a backend is answered exactly once, whichever worker gets the retry', async (t) => {
  const answered: unknown[] = [];
  const backend = await backendFor(t, {
    withSessions: true,
    framing: 'chunked',
    onCall: async (received) => {
      const before = answered.length;
      await received.send(
        new JsonText('{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?"}}'),
      );
      await until(() => answered.length > before, 'the answer');
      return { content: [{ type: 'text', text: JSON.stringify(answered.at(-1)) }] };
    },
    onRequest: (request) => {
      if (request.method !== 'POST') return false;
      const { id, result } = JSON.parse(request.text) as { id?: unknown; result?: unknown };
      if (id !== 'q' || result === undefined) return false;
      answered.push(result);
      request.empty(202);
      return true;
    },
  });
  const deployment = await startDeployment(t, { workerCount: 4 });
  const caller = await deployment.caller({ b: { url: backend.url } });
  const calls = 6;
  for (let number = 1; number <= calls; number += 1) {
    const asked = await call(caller, number);
    t.match(asked, {
      id: number,
      result: { resultType: 'input_required', inputRequests: { 1: { params: { message: '?' } } } },
    });
    const requestState = asked.result?.requestState;
    const content = { number };
    const inputResponses = { 1: { action: 'accept', content } };
    const [one, other] = await Promise.all([
      call(caller, 100 + number, { inputResponses, requestState }),
      call(caller, 200 + number, { inputResponses, requestState }),
    ]);
    const outcomes = [one, other].sort((first) => (first.result === undefined ? 1 : -1));
    t.match(outcomes[0]?.result, {
      resultType: 'complete',
      content: [{ text: JSON.stringify({ action: 'accept', content }) }],
    });
    t.match(
      outcomes[1]?.error,
      { code: -32602, message: /call again without requestState/ },
      'of two one goes on with it',
    );
  }
  t.equal(answered.length, calls);

  const asked = await call(caller, 1);
  const forged = await call(caller, 2, {
    // The first bits of the last character count, whatever the length.
    requestState: asked.result?.requestState?.replace(/.$/, (last) => (/[A-P]/.test(last) ? 'Q' : 'A')),
    inputResponses: {},
  });
  t.match(forged, { id: 2, error: { code: -32602 } });
  const others = await call(caller, 3, {
    requestState: asked.result?.requestState,
    inputResponses: { 1: {} },
    arguments: { a: 2 },
  });
  t.match(others, { id: 3, error: { code: -32602 } });
  const foreigner = await deployment.caller({ b: { url: backend.url } });
  const foreign = await call(foreigner, 3, { requestState: asked.result?.requestState, inputResponses: { 1: {} } });
  t.match(foreign, { id: 3, error: { code: -32602 } }, 'of another subject');
  t.equal(answered.length, calls, 'the backend hears of none of them');
  t.equal(backend.calls.length, calls + 1, 'and nothing is begun for them');
  const own = await call(caller, 4, { requestState: asked.result?.requestState, inputResponses: { 1: {} } });
  t.match(own, { id: 4, result: { resultType: 'complete' } }, 'and its own caller may go on still');
  const replayed = await call(caller, 5, { requestState: asked.result?.requestState, inputResponses: { 1: {} } });
  t.match(replayed, { id: 5, error: { code: -32602 } }, 'once');
  t.equal(backend.calls.length, calls + 1, 'each call was carried out once');
});

/** The wall clock of a gateway, which the test can set ahead. */
function createClock(t: Test): { readonly environment: Record<string, string>; setAhead(ms: number): void } {
  const directory = createScratchDirectory(t);
  const [program, ahead] = [join(directory, 'clock.cjs'), join(directory, 'ahead')];
  const setAhead = (ms: number): void => writeFileSync(ahead, String(ms));
  setAhead(0);
  const source = `const { readFileSync } = require('node:fs');
const real = Date.now;
Date.now = () => real() + Number(readFileSync(${JSON.stringify(ahead)}, 'utf8'));`;
  writeFileSync(program, source);
  return { environment: { NODE_OPTIONS: `--require=${program}` }, setAhead };
}

t.test('a retry with an expired state is refused, and has no effect', async (t) => {
  const answered: unknown[] = [];
  const backend = await backendFor(t, {
    withSessions: true,
    framing: 'chunked',
    onCall: async (received) => {
      await received.send(
        new JsonText('{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?"}}'),
      );
      await until(() => answered.length > 0, 'the answer');
      return { content: [] };
    },
    onRequest: (request) => {
      const { id, result } = JSON.parse(request.text || '{}') as { id?: unknown; result?: unknown };
      if (id !== 'q' || result === undefined) return false;
      answered.push(result);
      request.empty(202);
      return true;
    },
  });
  const clock = createClock(t);
  const deployment = await startDeployment(t, { workerCount: 2, environment: clock.environment });
  const caller = await deployment.caller({ b: { url: backend.url } });
  const { requestState } = (await call(caller, 1)).result ?? {};
  const retry = { requestState, inputResponses: { 1: { action: 'accept' } } };
  // The expiry time is in whole seconds, rounded up.
  clock.setAhead(limits.personMsMax + 1_000);
  const late = await call(caller, 2, retry);
  t.match(late, { id: 2, error: { code: -32602, message: /call again without requestState/ } });
  t.same([backend.calls.length, answered.length], [1, 0], 'the backend hears nothing of it');
  clock.setAhead(limits.personMsMax - 60_000);
  const early = await call(caller, 3, retry);
  t.match(early, { id: 3, result: { resultType: 'complete' } }, 'of the time alone: before, it goes on');
  t.same([backend.calls.length, answered.length], [1, 1], 'and was carried out once');
});

/** A connection still in the queue of the old listener is reset when that closes; no process has read from it, so it is safe to retry. */
async function afterReload<Value>(send: () => Promise<Value>, triesLeft = 3): Promise<Value> {
  try {
    return await send();
  } catch (error) {
    if (triesLeft === 0 || migratesConnections()) throw error;
    return afterReload(send, triesLeft - 1);
  }
}

t.test('when a worker is replaced, no call is carried out twice', async (t) => {
  const asking = await backendFor(t, {
    withSessions: true,
    framing: 'chunked',
    onCall: async (received) => {
      await received.send(
        new JsonText('{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?"}}'),
      );
      return new Promise(() => undefined);
    },
  });
  const inputRequests = { who: { method: 'elicitation/create', params: { message: 'who?', mode: 'form' } } };
  const modern = await modernBackendFor(t, {
    tools: ['ask'],
    onRequest: (request) => {
      if (!request.text.includes('"initialize"')) return false;
      const { id } = JSON.parse(request.text) as { id: unknown };
      const error = { code: -32_022, message: 'x', data: { supported: ['2026-07-28'] } };
      request.json({ jsonrpc: '2.0', id, error }, { status: 400 });
      return true;
    },
    onCall: ({ params }) =>
      params['inputResponses'] === undefined
        ? { resultType: 'input_required', inputRequests, requestState: 's' }
        : { content: [{ type: 'text', text: 'done' }] },
  });
  const deployment = await startDeployment(t, { workerCount: 1 });
  const caller = await deployment.caller({ b: { url: asking.url }, m: { url: modern.url } });
  const held = await call(caller, 1);
  t.match(held.result, { resultType: 'input_required' });
  const introduction = {
    protocolVersion: '2025-11-25',
    capabilities: { elicitation: {} },
    clientInfo: { name: 'c', version: '1' },
  };
  const session = await caller.openSession({ params: JSON.stringify(introduction) });
  const body = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"m-ask","arguments":{}}}';
  const stream = await EventReader.open(session.caller, { session: session.id, accept: BOTH_FORMS, body });
  const question = await stream.message();
  t.match(question, { method: 'elicitation/create' });

  deployment.gateway.signal('SIGHUP');
  await until(() => deployment.gateway.logs.some(({ msg }) => msg === 'reloaded'), 'the end of the reload');
  const { requestState } = held.result ?? {};
  const retry = { requestState, inputResponses: { 1: { action: 'decline' } } };
  const retried = await afterReload(() => call(caller, 2, retry));
  t.match(retried.error, { code: -32602, message: /call again without requestState/ });
  await until(() => asking.requestsOf('notifications/cancelled').length === 1, 'its backend is told');
  t.equal(asking.calls.length, 1, 'and is not asked again');

  // The client's later responses would reach the successor, which does not know the call.
  const said = [await stream.message(), await stream.message()];
  t.match(
    said.map((message) => (message as Answer).error?.message ?? message.method),
    ['notifications/cancelled', /being replaced: call again/],
  );
  const late = JSON.stringify({ jsonrpc: '2.0', id: question.id, result: { action: 'decline' } });
  await afterReload(() => session.send(late));
  t.equal(modern.calls.length, 1, 'the backend is not asked again');
  const again = await EventReader.open(session.caller, { session: session.id, accept: BOTH_FORMS, body });
  const asked = await again.message();
  await session.send(JSON.stringify({ jsonrpc: '2.0', id: asked.id, result: { action: 'decline' } }));
  t.match(await again.message(), { id: 7, result: { content: [{ text: 'done' }] } }, 'and a new call goes through');
  t.equal(modern.calls.length, 3);
});
