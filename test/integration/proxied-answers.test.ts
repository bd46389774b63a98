// A proxy in front of the gateway gives up on a response that is silent for a while. The gateway keeps every slow response alive,
// however long it takes and whichever worker gives it.
import t from 'tap';
import { backendFor, startDeployment } from '../support/deployment.js';
import { McpCaller, rpc } from '../support/mcp-caller.js';
import { startNginxBefore } from '../support/nginx.js';
import { setTimeout as sleep } from 'node:timers/promises';

const READ_TIMEOUT_MS = 2_500;
/** The head and the comments come more than twice within the proxy's timeout, even on a busy machine. */
const PATIENCE = ['--slow-answer', '500ms', '--stream-keep-alive', '700ms'];
const ANSWER_MS = 3 * READ_TIMEOUT_MS;

// Run in parallel: the tests wait most of the time.
t.jobs = 2;

for (const workerCount of [1, 4]) {
  void t.test(`${workerCount} workers: what takes thrice as long as the proxy waits arrives`, async (t) => {
    const deployment = await startDeployment(t, { workerCount, options: PATIENCE });
    const backend = await backendFor(t, { onCall: () => sleep(ANSWER_MS, undefined) });
    const silent = await backendFor(t, {
      onRequest: async (request) => {
        if (request.text.includes('tools/list')) await sleep(ANSWER_MS);
        return false;
      },
    });
    const direct = await deployment.caller({ one: { url: backend.url }, two: { url: silent.url } });
    const caller = new McpCaller(
      await startNginxBefore(t, deployment.gateway.origin, READ_TIMEOUT_MS),
      direct.path,
      direct.token,
    );
    const session = await caller.openSession();
    // Each call has a connection of its own: with four workers, most of them take a hop.
    const calls = Array.from({ length: 8 }, (_, id) => session.call('one-echo', '{"n":1.0}', { id: String(id) }));
    const listed = session.toolNames();
    const hurried = session.call('one-echo', '{}', { accept: 'application/json' });
    for (const [id, answer] of (await Promise.all(calls)).entries()) {
      t.equal(answer.status, 200);
      t.match(answer.contentType, 'text/event-stream');
      t.match(rpc(answer), { id, result: { structuredContent: { n: 1 } } });
    }
    t.same(await listed, ['one-echo', 'two-echo'], 'a list, too');
    t.equal((await hurried).status, 504, 'who takes only JSON hears nothing in time');
  });
}
