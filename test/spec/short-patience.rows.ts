// What waits for a client, but not forever: a backend for the response to its request, and a call whose connection broke for a
// client that resumes it.
import t from 'tap';
import { backendFor, forEachDeployment, type Deployment } from '../support/deployment.js';
import { EventLog } from '../support/event-log.js';
import { memberText } from '../support/json-text.js';
import type { McpBackend } from '../support/mcp-backend.js';
import { INITIALIZE_PARAMS, type McpSession } from '../support/mcp-caller.js';
import type { EventStreamBody } from '../support/raw-backend.js';
import { until } from '../support/until.js';
import { BOUNDED, CLIENT_ANSWER_TIMEOUT_MS, RESUMPTION_TIME_MS } from './bounded.js';

const CALL = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"one-echo","arguments":{}}}';
const NOTICE = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1.0}}';
const ANSWER = '{"jsonrpc":"2.0","id":7,"result":{"content":[]}}';

interface Scene {
  readonly backend: McpBackend;
  readonly session: McpSession;
  /** The events of the call. */
  readonly log: EventLog;
  readonly stream: EventStreamBody;
}

/** A call that its backend has begun to answer with an event stream. */
async function beginCall(t: Parameters<typeof backendFor>[0], deployment: Deployment): Promise<Scene> {
  const streams: EventStreamBody[] = [];
  const backend = await backendFor(t, { onCall: (call) => void streams.push(call.takeOver().eventStream()) });
  const session = await (
    await deployment.caller({ one: { url: backend.url } })
  ).openSession({ params: INITIALIZE_PARAMS.replace('"capabilities":{}', '"capabilities":{"roots":{}}') });
  const begun = EventLog.open(session.caller, { session: session.id, body: CALL });
  await until(() => streams.length === 1, 'the call at the backend');
  const stream = streams[0]!;
  await stream.event(NOTICE);
  return { backend, session, stream, log: await (await begun).until(1) };
}

await forEachDeployment(t, BOUNDED, async (t, deployment) => {
  await t.test('--client-answer-timeout: the backend gets -32603, and the client a cancellation', async (t) => {
    const { backend, session, log, stream } = await beginCall(t, deployment);
    const askedAtMs = performance.now();
    await stream.event('{"jsonrpc":"2.0","id":0,"method":"roots/list"}');
    const asked = (await log.until(2)).messages[1] ?? '';
    const requestId = memberText(asked, 'id') ?? '';
    const told = JSON.parse((await log.until(3)).messages[2] ?? '') as { readonly params: unknown };
    t.ok(performance.now() - askedAtMs >= CLIENT_ANSWER_TIMEOUT_MS * 0.9, 'not before its time');
    t.match(told, {
      method: 'notifications/cancelled',
      params: { requestId: JSON.parse(requestId) as string, reason: /in time/ },
    });
    const responses = (): string[] => {
      const texts = backend.raw.requests.map(({ text }) => text);
      return texts.filter((text) => text !== '' && memberText(text, 'method') === undefined);
    };
    await until(() => responses().length === 1, 'the answer at the backend');
    t.match(JSON.parse(responses()[0]!), { id: 0, error: { code: -32603, message: /in time/ } });
    const late = await session.send(`{"jsonrpc":"2.0","id":${requestId},"result":{"roots":[]}}`);
    t.equal(late.status, 202);
    await stream.event(ANSWER);
    stream.end();
    t.equal((await log.end()).messages.at(-1), ANSWER, 'the call goes on');
    t.equal(responses().length, 1, 'a late answer goes nowhere');
  });

  await t.test(
    '--resumption-time: a call goes on for that long without its client, and then its rest is gone',
    async (t) => {
      const { backend, session, log, stream } = await beginCall(t, deployment);
      log.close();
      const brokenAtMs = performance.now();
      await until(async () => {
        // The call must not end because the backend is silent.
        await stream.comment('still here');
        return backend.requestsOf('notifications/cancelled').length > 0;
      }, 'the end of the call');
      t.ok(performance.now() - brokenAtMs >= RESUMPTION_TIME_MS * 0.9, 'not before its time');
      // The notice that the call has ended is kept for as long. To ask for it earlier would have fetched it.
      const endedAtMs = performance.now();
      await until(() => performance.now() - endedAtMs >= 5 * RESUMPTION_TIME_MS, 'the end of what is kept');
      const headers = [['last-event-id', log.lastId]] as const;
      const open = { method: 'GET', session: session.id, accept: 'text/event-stream', headers };
      t.equal(
        (await EventLog.open(session.caller, open)).status,
        200,
        'with an error for the call: 404 would end the session',
      );
      const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
      t.equal((await session.send(ping)).status, 200, 'the session goes on');
    },
  );
});
