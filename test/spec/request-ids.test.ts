// `x-request-id`: on each response, in the log and at the backend, also when another worker holds the session; the caller's own id
// only if callers are trusted.
import t from 'tap';
import { backendFor, startDeployment } from '../support/deployment.js';
import { until } from '../support/until.js';

for (const mode of ['make', 'trust', 'off'] as const) {
  t.test(`--request-ids ${mode}`, async (t) => {
    const deployment = await startDeployment(t, { workerCount: 2, options: ['--request-ids', mode, '--access-log'] });
    const backend = await backendFor(t, { tools: ['x'] });
    const caller = await deployment.caller({ one: { url: backend.url } });
    const session = await caller.openSession();
    const given = Array.from({ length: 8 }, (_, n) => `given-${n}`);
    const told: (string | undefined)[] = [];
    // Each has its own connection: some reach the owner directly, others take a hop.
    for (const id of given) {
      const answer = await session.call('one-x', '{}', { headers: [['x-request-id', id]] });
      t.equal(answer.status, 200);
      told.push(answer.header('x-request-id'));
    }
    const atBackend = backend.calls.map(({ request }) => request.headers['x-request-id']);
    t.same(atBackend, told, 'the backend has the same');
    if (mode === 'trust') t.same(told, given);
    else if (mode === 'off') t.ok(told.every((id) => id === undefined));
    else t.equal(new Set(told).size, given.length, 'each its own');
    if (mode === 'make') t.notOk(told.some((id) => id === undefined || given.includes(id)));
    const calls = () => deployment.gateway.logs.filter(({ method }) => method === 'tools/call');
    await until(() => calls().length === given.length, 'a line for each');
    t.same(
      calls()
        .map(({ requestId }) => requestId)
        .sort(),
      told.toSorted(),
      'and the log',
    );

    const refused = await caller.initialize({ token: null });
    const line = await deployment.gateway.waitForLog(({ refusal }) => refusal === 'token-missing');
    t.equal(line['requestId'], refused.header('x-request-id'));
    t.equal(refused.header('x-request-id') === undefined, mode === 'off');
  });
}

t.test("a backend that is to get the caller's own header gets only that one", async (t) => {
  const deployment = await startDeployment(t, { workerCount: 1 });
  const backend = await backendFor(t, { tools: ['x'] });
  const caller = await deployment.caller({ one: { url: backend.url, passthrough_headers: ['x-request-id'] } });
  const session = await caller.openSession();
  await session.call('one-x', '{}', { headers: [['x-request-id', 'mine']] });
  t.equal(backend.calls[0]?.request.headers['x-request-id'], 'mine');
});
