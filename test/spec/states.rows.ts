// The state table of the downstream MCP session in the service specification, row by row.
import t from 'tap';
import { backendFor, ConfiguredCaller, Deployment, forEachDeployment } from '../support/deployment.js';
import { startGateway, verifyWith } from '../support/gateway.js';
import { createKeyPair } from '../support/keys.js';
import { rpc } from '../support/mcp-caller.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { until } from '../support/until.js';

const LIST = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';

await forEachDeployment(t, { spread: 'all' }, async (t, deployment) => {
  await t.test('none → established: initialize opens an upstream session to every backend', async (t) => {
    const backends = [await backendFor(t, { withSessions: true }), await backendFor(t, { withSessions: true })];
    const [one, two] = backends;
    const caller = await deployment.caller({ one: { url: one!.url }, two: { url: two!.url } });
    const answer = await caller.initialize();
    t.equal(answer.status, 200);
    t.ok(answer.header('mcp-session-id'), 'the id is in the response header');
    for (const backend of backends) {
      t.equal(backend.requestsOf('initialize').length, 1);
      t.equal(backend.sessions.size, 1);
      await until(() => backend.requestsOf('notifications/initialized').length === 1, 'the confirmation (C06)');
    }
  });

  await t.test('none → none: token invalid, config missing or undecodable, virtual host absent', async (t) => {
    const backend = await backendFor(t);
    const caller = await deployment.caller({ one: { url: backend.url } });
    const undecodable = deployment.newSubject();
    await deployment.writeRawConfig(undecodable, Buffer.from('{"virtual_hosts":7}'));
    const refused = {
      'token invalid': { token: `${caller.token}x` },
      'config missing': { token: await deployment.token(deployment.newSubject()) },
      'config undecodable': { token: await deployment.token(undecodable) },
      'virtual host absent': { path: deployment.gateway.path('absent') },
    };
    const statuses = [];
    for (const [condition, parts] of Object.entries(refused)) {
      const answer = await caller.initialize(parts);
      statuses.push(answer.status);
      t.equal(answer.header('mcp-session-id'), undefined, condition);
    }
    t.same(statuses, [401, 400, 500, 404]);
    t.equal(backend.raw.requests.length, 0, 'no backend was asked anything');
  });

  await t.test('established → established: notifications/initialized', async (t) => {
    const session = await (await deployment.caller()).openSession();
    const again = await session.send('{"jsonrpc":"2.0","method":"notifications/initialized"}');
    t.equal(again.status, 202);
    t.equal((await session.list()).status, 200);
  });

  await t.test('established → established: tools/list and tools/call, again and again', async (t) => {
    const backend = await backendFor(t, { withSessions: true });
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    for (let round = 0; round < 8; round++) {
      t.same(await session.toolNames(), ['one-echo']);
      t.match(rpc(await session.call('one-echo', `{"round":${round}}`)), { result: { structuredContent: { round } } });
    }
    t.equal(backend.requestsOf('initialize').length, 1, 'over one upstream session');
  });

  await t.test('a client that never confirms is served all the same', async (t) => {
    const caller = await deployment.caller();
    const answer = await caller.initialize();
    const listed = await caller.send({ session: answer.header('mcp-session-id') ?? '', body: LIST });
    t.equal(listed.status, 200);
  });

  await t.test('established → ended: DELETE ends this session and no other', async (t) => {
    const backend = await backendFor(t, { withSessions: true });
    const caller = await deployment.caller({ one: { url: backend.url } });
    const [first, second] = [await caller.openSession(), await caller.openSession()];
    t.equal(backend.sessions.size, 2);
    t.equal((await first.delete()).status, 200);
    t.equal((await first.call('one-echo')).status, 404);
    await until(() => backend.deletedSessions.length === 1, 'the upstream session to be ended');
    t.equal(backend.sessions.size, 1);
    t.match(rpc(await second.call('one-echo', '{"still":1}')), { result: { structuredContent: { still: 1 } } });
  });
});

await t.test(
  'established → lost: after a restart of the gateway old sessions fail until a new initialize',
  async (t) => {
    const key = createKeyPair(t);
    const backend = await backendFor(t);
    const storeOptions = { kind: 'embedded', path: createScratchDirectory(t) } as const;
    const setup = {
      storeOptions,
      workerCount: 2,
      keyOptions: verifyWith(key),
      upstreamConnectionMode: 'plain-text-or-tls',
    } as const;

    const before = new Deployment('before', 2, storeOptions, key, await startGateway(t, setup));
    const caller = await before.caller({ one: { url: backend.url } });
    const old = await caller.openSession();
    t.match(rpc(await old.call('one-echo', '{"n":1}')), { result: { structuredContent: { n: 1 } } });
    t.same(await before.gateway.stop(), { code: 0, signal: null });

    const after = new Deployment('after', 2, storeOptions, key, await startGateway(t, setup));
    const sameCaller = new ConfiguredCaller(after, caller.subject, caller.virtualHostId, caller.token);
    t.equal((await sameCaller.send({ session: old.id, body: LIST })).status, 404);
    const fresh = await sameCaller.openSession();
    t.not(fresh.id, old.id);
    t.match(rpc(await fresh.call('one-echo', '{"n":2}')), { result: { structuredContent: { n: 2 } } });
  },
);
