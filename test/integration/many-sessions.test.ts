// Many sessions at once over connections that last for one request: three of four requests reach a worker that does not own their
// session, and take a hop.
import t from 'tap';
import { ownerOf } from '../../src/worker/session-id.js';
import { backendFor, startDeployment } from '../support/deployment.js';
import { inParallel } from '../support/in-parallel.js';
import { rpc, type McpSession } from '../support/mcp-caller.js';
import { memberText } from '../support/json-text.js';

const SESSIONS = 200;
const CALLS_PER_SESSION = 10;
const REQUESTS_AT_ONCE = 64;
const WORKERS = 4;

t.test('200 sessions on 4 workers over fresh connections: no 404, and every answer is its own', async (t) => {
  const json = await backendFor(t, { withSessions: true });
  const stream = await backendFor(t, { withSessions: true, answerAs: 'event-stream', framing: 'chunked' });
  const deployment = await startDeployment(t, { workerCount: WORKERS });
  const caller = await deployment.caller({ json: { url: json.url }, stream: { url: stream.url } });
  const sessions: McpSession[] = [];
  await inParallel([...Array(SESSIONS).keys()], REQUESTS_AT_ONCE, async () => {
    sessions.push(await caller.openSession());
  });
  t.equal(new Set(sessions.map(({ id }) => id)).size, SESSIONS);
  t.same(
    [...new Set(sessions.map(({ id }) => ownerOf(id, WORKERS)))].sort(),
    [0, 1, 2, 3],
    'every worker owns sessions',
  );

  // The calls of each session are spread over the whole run, so that all sessions are in use all the time.
  const calls = [...Array(SESSIONS * CALLS_PER_SESSION).keys()];
  const wrong: string[] = [];
  await inParallel(calls, REQUESTS_AT_ONCE, async (id) => {
    const session = sessions[id % SESSIONS]!;
    const backend = Math.floor(id / SESSIONS) % 2 === 0 ? 'json' : 'stream';
    const text = `session ${id % SESSIONS}, call ${id}`;
    const answer = await session.call(`${backend}-echo`, JSON.stringify({ text }), { id: String(id) });
    const { id: answeredId, result } = rpc(answer);
    const echoed = (result as { structuredContent?: { text?: unknown } } | undefined)?.structuredContent?.text;
    if (answer.status !== 200 || answeredId !== id || echoed !== text) wrong.push(`${text}: ${answer.text}`);
  });
  t.same(wrong, []);

  for (const [name, backend] of Object.entries({ json, stream })) {
    t.equal(backend.calls.length, calls.length / 2, `each call reached ${name} once`);
    const owners = new Map<string, Set<string>>();
    for (const { request, argumentsText = '' } of backend.calls) {
      const upstreamId = request.headers['mcp-session-id'] ?? '';
      const session = /session \d+/.exec(memberText(argumentsText, 'text') ?? '')?.[0] ?? '';
      owners.set(upstreamId, (owners.get(upstreamId) ?? new Set()).add(session));
    }
    t.equal(owners.size, SESSIONS, `each session has one upstream session with ${name}`);
    t.ok(
      [...owners.values()].every((users) => users.size === 1),
      `and shares it with no other`,
    );
  }
});
