// `--access-log` (decisions section 1): one line per request, without private data (X10, X23).
import t from 'tap';
import { backendFor, forEachDeployment, startDeployment } from '../support/deployment.js';
import type { LogLine } from '../support/gateway.js';
import { until } from '../support/until.js';

const SECRETS = { argument: 'top-secret-argument', result: 'top-secret-result', header: 'top-secret-header' };

const setup = { options: ['--access-log', '--log-level', 'trace'] } as const;

await forEachDeployment(t, setup, async (t, deployment) => {
  const { gateway } = deployment;
  const linesOf = (virtualHostId: string): LogLine[] =>
    gateway.logs.filter((line) => line['virtualHost'] === virtualHostId && line['status'] !== undefined);

  await t.test(
    'one line per request: subject hash, virtual host, method, backend, tool, status, duration',
    async (t) => {
      const backend = await backendFor(t, { tools: ['x'] });
      const caller = await deployment.caller({ one: { url: backend.url } });
      const session = await caller.openSession();
      await session.list();
      await session.call('one-x');
      await session.call('unknown-tool');
      await session.delete();
      await caller.initialize({ token: null });
      const requestCount = 7;
      await until(() => linesOf(caller.virtualHostId).length >= requestCount, 'a line for each request');
      const lines = linesOf(caller.virtualHostId);
      t.equal(lines.length, requestCount, 'and no more');

      const served = lines.filter(({ status }) => status !== 401);
      const subjects = new Set(served.map(({ subject }) => subject));
      t.equal(subjects.size, 1, 'one subject, one hash');
      t.match([...subjects][0], /^[0-9a-f]{8,}$/);
      for (const line of served) t.type(line['durationMs'], 'number');
      const methods = served.map(({ method }) => method);
      const expected = ['initialize', 'notifications/initialized', 'tools/list', 'tools/call', 'tools/call', 'DELETE'];
      t.same(methods.toSorted(), expected.toSorted());
      t.match(
        served.find(({ backend }) => backend === 'one'),
        { method: 'tools/call', tool: 'x', status: 200 },
      );
      t.same(lines.map(({ status }) => status).toSorted(), [200, 200, 200, 200, 200, 202, 401]);
    },
  );

  await t.test('a batch has a line for each of its messages, so that no call goes unseen', async (t) => {
    const backend = await backendFor(t, { tools: ['x'] });
    const caller = await deployment.caller({ one: { url: backend.url } });
    const params = '{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"old","version":"1"}}';
    const session = await caller.openSession({ params, protocolVersion: null });
    const messages = [
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one-x"}}',
      '{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}',
      '{"jsonrpc":"2.0","id":2,"method":"initialize"}',
    ];
    t.equal((await session.send(`[${messages.join()}]`, { protocolVersion: null })).status, 200);
    await until(() => linesOf(caller.virtualHostId).length >= 6, 'a line for each message, and for the batch');
    const lines = linesOf(caller.virtualHostId).slice(2);
    t.same(
      lines.map(({ method, status }) => `${String(method)} ${String(status)}`).sort(),
      ['POST 400', 'batch 200', 'notifications/roots/list_changed 202', 'tools/call 200'].sort(),
    );
    t.match(
      lines.find(({ method }) => method === 'tools/call'),
      { backend: 'one', tool: 'x' },
    );
  });

  await t.test("a request that its session's worker refuses has its line too", async (t) => {
    const caller = await deployment.caller();
    const session = await caller.openSession();
    const before = 2;
    await until(() => linesOf(caller.virtualHostId).length === before, 'the lines of the opening');
    await deployment.writeConfig(caller.subject, { virtual_hosts: {} });
    const asked = 8;
    let refused = 0;
    for (let i = 0; i < asked; i++) {
      const { status } = await session.send('{"jsonrpc":"2.0","id":2,"method":"ping"}');
      if (status === 404) refused += 1;
    }
    await until(() => linesOf(caller.virtualHostId).length >= before + asked, 'a line for each request');
    const statuses = linesOf(caller.virtualHostId).slice(before);
    t.equal(statuses.filter(({ status }) => status === 404).length, refused);
    t.equal(statuses.length, asked, 'and no more');
  });

  await t.test('no line contains arguments, results, tokens, whole session ids, subjects or URLs', async (t) => {
    const backend = await backendFor(t, {
      withSessions: true,
      onCall: () => ({ content: [{ type: 'text', text: SECRETS.result }] }),
    });
    const caller = await deployment.caller({ one: { url: backend.url, passthrough_headers: ['x-key'] } });
    const session = await caller.openSession();
    const upstreamIds = [...backend.sessions];
    const headers = [['x-key', SECRETS.header]] as const;
    await session.call('one-echo', JSON.stringify({ a: SECRETS.argument }), { headers });
    await session.call('one-echo', JSON.stringify({ a: SECRETS.argument }), { accept: 'text/event-stream' });
    await session.send(`{"${SECRETS.argument}`);
    await session.delete();
    await session.list();
    await until(() => linesOf(caller.virtualHostId).length >= 7, 'a line for each request');
    const written = JSON.stringify(gateway.logs);
    const [, claims = '', signature = ''] = caller.token.split('.');
    const secrets = { ...SECRETS, claims, signature, session: session.id, subject: caller.subject };
    for (const [what, secret] of Object.entries(secrets)) t.notOk(written.includes(secret), what);
    for (const id of upstreamIds) t.notOk(written.includes(id), 'the upstream session id');
  });
});

await t.test(
  'off by default, except that refusals and failures of backends are logged once and then counted',
  async (t) => {
    const deployment = await startDeployment(t, { workerCount: 4 });
    const backend = await backendFor(t);
    const caller = await deployment.caller({ one: { url: backend.url } });
    const linesBefore = deployment.gateway.logs.length;
    await (await caller.openSession()).call('one-echo');
    t.equal(deployment.gateway.logs.length, linesBefore);
    for (let i = 0; i < 3; i++) await caller.initialize({ token: 'x.y.z' });
    const line = await deployment.gateway.waitForLog(({ msg }) => msg === 'request not served');
    t.match(line, { level: 30, outcome: 'refused', refusal: 'token-invalid', cause: 'not-a-jwt', status: 401 });
    await fetch(`${deployment.gateway.origin}/no/such/path`);
    const unknown = await deployment.gateway.waitForLog(({ refusal }) => refusal === 'path-unknown');
    t.match(unknown, { status: 404, method: 'GET' });
    await caller.initialize({ headers: [['host', 'evil.example:81']] });
    const host = await deployment.gateway.waitForLog(({ refusal }) => refusal === 'host-refused');
    t.match(host, { status: 403, host: 'evil.example:81' });
    // The method is text from the caller: only those that mean something here are logged by name.
    const { authorization } = { authorization: `Bearer ${caller.token}` };
    await fetch(caller.origin + caller.path, { method: 'PUT', headers: { authorization } });
    const other = await deployment.gateway.waitForLog(({ refusal }) => refusal === 'method-not-allowed');
    t.match(other, { status: 405, method: 'other' });
    t.notOk(deployment.gateway.logs.some(({ msg }) => msg === 'request'));
  },
);
