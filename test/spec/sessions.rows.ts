// Decisions 2.3: session ids, unavailable backends, lost upstream sessions, configs that change under a live session.
import t from 'tap';
import { backendFor, forEachDeployment, type BackendMembers } from '../support/deployment.js';
import type { McpBackend } from '../support/mcp-backend.js';
import { rpc, type McpSession } from '../support/mcp-caller.js';
import { until } from '../support/until.js';

/** Nothing listens on the discard port of a test machine. */
const REFUSING: BackendMembers = { url: 'http://127.0.0.1:9/mcp' };

await forEachDeployment(t, { spread: 'all' }, async (t, deployment) => {
  await t.test('ids are 32 or more characters of 0x21–0x7E, all different, hardly guessable (S19, S20)', async (t) => {
    const caller = await deployment.caller();
    const ids = await Promise.all(
      Array.from({ length: 200 }, async () => (await caller.initialize()).header('mcp-session-id')),
    );
    t.equal(new Set(ids).size, ids.length);
    for (const id of ids) t.match(id, /^[\x21-\x7e]{32,}$/);
    t.ok(varyingBits(ids.map(String)) >= 122, 'the characters that vary can carry 122 bits');
  });

  await t.test("every request checks the session's subject and virtual host (X02, X03)", async (t) => {
    const backend = await backendFor(t);
    const caller = await deployment.caller({ one: { url: backend.url } });
    const thief = await deployment.caller({ one: { url: backend.url } });
    const session = await caller.openSession();
    t.match(rpc(await session.call('one-echo')), { result: {} }, 'the owner of the session is served');
    const otherHost = deployment.newVirtualHostId();
    await deployment.writeConfig(thief.subject, {
      virtual_hosts: { [caller.virtualHostId]: { backends: {} }, [otherHost]: { backends: {} } },
    });
    const stolen = { session: session.id, path: caller.path, body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' };
    await until(
      async () => (await thief.initialize({ path: caller.path })).status === 200,
      'the config of the thief, who has a virtual host of the same id',
    );
    t.equal((await thief.send(stolen)).status, 404, 'another subject with the same virtual host id');
    t.equal((await thief.send({ ...stolen, method: 'DELETE' })).status, 404, 'and cannot end it either');
    t.equal((await session.list()).status, 200, 'it lives on');
  });

  await t.test('initialize succeeds whatever the backends do, and names the unavailable ones', async (t) => {
    const good = await backendFor(t, { tools: ['x'] });
    const nonsense = await backendFor(t, { onRequest: (request) => (request.json('{"hello":'), true) });
    const failing = await backendFor(t, { onRequest: (request) => (request.empty(500), true) });
    const caller = await deployment.caller({
      good: { url: good.url },
      refusing: REFUSING,
      nonsense: { url: nonsense.url },
      failing: { url: failing.url },
      unresolved: { url: 'http://no-such-host.invalid/mcp' },
    });
    const session = await caller.openSession();
    const expected = ['failing', 'nonsense', 'refusing', 'unresolved'];
    t.same(unavailableNames(rpc(session.opening).result), expected, 'in the result of initialize');
    const listed = rpc(await session.list());
    t.match(listed.result, { tools: [{ name: 'good-x' }] }, 'their tools are missing from the list');
    t.same(unavailableNames(listed.result), expected, 'in the result of tools/list');
    const reasons = new Map(unavailable(listed.result).map(({ backend, reason }) => [backend, reason]));
    t.match(reasons.get('refusing'), /refused/);
    for (const reason of reasons.values()) t.notMatch(reason, /127\.0\.0\.1|http:|no-such-host|\d{4}/, 'no address');
  });

  await t.test('with every backend available there is no such _meta', async (t) => {
    const good = await backendFor(t);
    const session = await (await deployment.caller({ good: { url: good.url } })).openSession();
    t.notOk(JSON.stringify(rpc(session.opening)).includes('switchyard/unavailable'));
    t.notOk(JSON.stringify(rpc(await session.list())).includes('switchyard/unavailable'));
  });

  await t.test('calls to an unavailable backend fail with its name in the message', async (t) => {
    const session = await (await deployment.caller({ lost: REFUSING })).openSession();
    const answer = await session.call('lost-x');
    t.equal(answer.status, 200);
    const { id, error } = rpc(answer);
    t.equal(id, 7);
    t.equal(error?.code, -32603);
    t.match(error?.message, /\blost\b/);
    t.notMatch(error?.message, /127\.0\.0\.1/);
  });

  await t.test('an unavailable backend is tried again when it is next needed, in the same session', async (t) => {
    const backend = await backendFor(t, { tools: ['x'] });
    backend.raw.stopListening();
    const session = await (await deployment.caller({ back: { url: backend.url } })).openSession();
    t.same(unavailableNames(rpc(session.opening).result), ['back']);
    await backend.raw.listenAgain();
    await until(async () => (await session.toolNames()).includes('back-x'), 'the backend to be tried again');
    t.match(rpc(await session.call('back-x', '{"n":1}')), { result: { structuredContent: { n: 1 } } });
  });

  await t.test('an unavailable backend is not tried at every request: there is a back-off', async (t) => {
    let attempts = 0;
    const backend = await backendFor(t, { onRequest: (request) => (attempts++, request.empty(500), true) });
    const session = await (await deployment.caller({ down: { url: backend.url } })).openSession();
    for (let call = 0; call < 50; call++) t.match(rpc(await session.call('down-x')), { error: { code: -32603 } });
    t.ok(attempts < 25, `${attempts} attempts for 51 requests`);
  });

  await t.test(
    'an upstream that answers 404 has lost the session: a new one is opened, the call sent once more',
    async (t) => {
      const backend = await backendFor(t, { withSessions: true });
      const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
      t.match(rpc(await session.call('one-echo', '{"n":1}')), { result: { structuredContent: { n: 1 } } });
      backend.forgetSessions();
      t.match(rpc(await session.call('one-echo', '{"n":2}')), { result: { structuredContent: { n: 2 } } });
      t.equal(backend.requestsOf('initialize').length, 2);
      t.equal(backend.requestsOf('initialize')[1]?.headers['mcp-session-id'], undefined, 'without the lost id (C11)');
      backend.forgetSessions();
      t.same(await session.toolNames(), ['one-echo'], 'tools/list as well');
      t.equal(backend.requestsOf('initialize').length, 3);
    },
  );

  await t.test('a backend that names another session id in each answer is asked under the latest', async (t) => {
    const asked: (string | undefined)[] = [];
    const backend = await backendFor(t, {
      onRequest: (request) => {
        const { id, method } = JSON.parse(request.text || '{}') as { id?: unknown; method?: string };
        if (id === undefined || (method !== 'initialize' && method !== 'tools/call')) return false;
        const capabilities = { tools: {} };
        const greeting = { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 'b', version: '1' } };
        if (method === 'tools/call') asked.push(request.headers['mcp-session-id']);
        const result = method === 'initialize' ? greeting : { content: [] };
        request.json({ jsonrpc: '2.0', id, result }, { headers: { 'mcp-session-id': `id-${asked.length}` } });
        return true;
      },
    });
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    for (let call = 0; call < 3; call += 1) t.match(rpc(await session.call('one-echo')), { result: {} });
    t.same(asked, ['id-0', 'id-1', 'id-2']);
    t.equal(backend.requestsOf('initialize').length, 1);
  });

  await t.test('an upstream that loses every session at once is not asked forever', async (t) => {
    const backend = await backendFor(t, {
      withSessions: true,
      onRequest: (request) => {
        if (!request.text.includes('tools/call')) return false;
        request.empty(404);
        return true;
      },
    });
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    const { error } = rpc(await session.call('one-echo'));
    t.equal(error?.code, -32603);
    t.match(error?.message, /\bone\b/);
    t.equal(backend.requestsOf('tools/call').length, 2, 'sent once, and once more');
  });

  await t.test('any other failure after the request was sent is not retried', async (t) => {
    const failures: Record<string, (backend: McpBackend) => void> = {
      'status 500': (backend) => backend.calls.at(-1)?.takeOver().empty(500),
      'status 400': (backend) => backend.calls.at(-1)?.takeOver().empty(400),
      'status 401': (backend) => backend.calls.at(-1)?.takeOver().empty(401),
      'connection lost': (backend) => backend.calls.at(-1)?.takeOver().destroy(),
      'connection reset': (backend) => backend.calls.at(-1)?.takeOver().reset(),
      'half an answer': (backend) => {
        const request = backend.calls.at(-1)?.takeOver();
        request?.bytes('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"js');
        request?.destroy();
      },
      'not JSON': (backend) => backend.calls.at(-1)?.takeOver().json('<html>'),
      'not the answer': (backend) =>
        backend.calls.at(-1)?.takeOver().json('{"jsonrpc":"2.0","id":"other","result":{}}'),
    };
    for (const [failure, fail] of Object.entries(failures)) {
      const backend: McpBackend = await backendFor(t, { onCall: () => fail(backend) });
      const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
      const answer = await session.call('one-echo');
      t.equal(answer.status, 200, failure);
      const { id, error } = rpc(answer);
      t.equal(id, 7, failure);
      t.equal(error?.code, -32603, failure);
      t.match(error?.message, /\bone\b/, failure);
      t.notMatch(error?.message, /127\.0\.0\.1|http:\/\//, failure);
      t.equal(backend.calls.length, 1, `${failure}: sent once`);
    }
  });

  await t.test('a changed config holds from the next request: a new backend is opened when first needed', async (t) => {
    const [one, two] = [await backendFor(t, { tools: ['x'] }), await backendFor(t, { tools: ['y'] })];
    const caller = await deployment.caller({ one: { url: one.url } });
    const session = await caller.openSession();
    t.same(await session.toolNames(), ['one-x']);
    await caller.configure({ one: { url: one.url }, two: { url: two.url } });
    await untilListed(session, ['one-x', 'two-y']);
    t.match(rpc(await session.call('two-y', '{"n":1}')), { result: { structuredContent: { n: 1 } } });
    t.equal(one.requestsOf('initialize').length, 1, 'the other keeps its upstream session');
  });

  await t.test(
    "a changed config holds from the next request: a removed backend's upstream session is closed",
    async (t) => {
      const options = { withSessions: true, tools: ['x'] };
      const [one, two] = [await backendFor(t, options), await backendFor(t, options)];
      const caller = await deployment.caller({ one: { url: one.url }, two: { url: two.url } });
      const session = await caller.openSession();
      t.same(await session.toolNames(), ['one-x', 'two-x']);
      const callsBefore = two.calls.length;
      await caller.configure({ one: { url: one.url } });
      await untilListed(session, ['one-x']);
      await until(() => two.deletedSessions.length === 1, 'the upstream session to be closed');
      t.match(rpc(await session.call('two-x')), { error: { code: -32602, message: 'Unknown tool: two-x' } });
      t.equal(two.calls.length, callsBefore);
      t.equal(one.deletedSessions.length, 0);
    },
  );

  await t.test("a changed config holds from the next request: a backend's other URL", async (t) => {
    const [before, after] = [await backendFor(t, { tools: ['x'] }), await backendFor(t, { tools: ['y'] })];
    const caller = await deployment.caller({ one: { url: before.url } });
    const session = await caller.openSession();
    t.same(await session.toolNames(), ['one-x']);
    await caller.configure({ one: { url: after.url } });
    await untilListed(session, ['one-y']);
  });

  await t.test(
    'a changed config holds from the next request: virtual host gone, config broken, config gone',
    async (t) => {
      const caller = await deployment.caller();
      const changes = { 404: '{"virtual_hosts":{}}', 500: '{', 400: '' };
      for (const [status, bytes] of Object.entries(changes)) {
        await caller.configure({});
        await until(async () => (await caller.initialize()).status === 200, 'the config to be there');
        const session = await caller.openSession();
        t.equal((await session.list()).status, 200);
        await deployment.writeRawConfig(caller.subject, Buffer.from(bytes));
        await until(async () => (await session.list()).status === Number(status), `${status} within the session`);
      }
    },
  );

  await t.test('many sessions at once each keep to their own upstream sessions', async (t) => {
    const backend = await backendFor(t, { withSessions: true });
    const caller = await deployment.caller({ one: { url: backend.url } });
    const sessions = await Promise.all(Array.from({ length: 12 }, () => caller.openSession()));
    t.equal(backend.sessions.size, sessions.length);
    const answers = await Promise.all(
      sessions.flatMap((session, index) => [1, 2, 3].map(() => session.call('one-echo', `{"session":${index}}`))),
    );
    answers.forEach((answer, index) => {
      t.match(rpc(answer), { result: { structuredContent: { session: Math.floor(index / 3) } } });
    });
    const upstreamIds = new Map<string, Set<unknown>>();
    for (const call of backend.calls) {
      const args = call.argumentsText ?? '';
      upstreamIds.set(args, (upstreamIds.get(args) ?? new Set()).add(call.request.headers['mcp-session-id']));
    }
    t.equal(upstreamIds.size, sessions.length);
    for (const ids of upstreamIds.values()) t.equal(ids.size, 1, 'one upstream session for one session');
  });
});

/** How many bits these strings of one length can carry, judged by how many values each position takes. */
function varyingBits(ids: readonly string[]): number {
  const length = Math.min(...ids.map((id) => id.length));
  let bits = 0;
  for (let place = 0; place < length; place++) bits += Math.log2(new Set(ids.map((id) => id[place])).size);
  return bits;
}

interface Unavailable {
  readonly backend: string;
  readonly reason: string;
}

function unavailable(result: unknown): readonly Unavailable[] {
  const { _meta } = result as { _meta?: Record<string, Unavailable[]> };
  return _meta?.['switchyard/unavailable'] ?? [];
}

function unavailableNames(result: unknown): string[] {
  return unavailable(result)
    .map(({ backend }) => backend)
    .toSorted();
}

/** Waits until a changed config has reached the gateway: an external store notifies it only after the write. */
async function untilListed(session: McpSession, names: readonly string[]): Promise<void> {
  await until(async () => (await session.toolNames()).join() === names.join(), `the tools ${names.join()}`);
}
