// The dataplane endpoint tables of the service specification: paths and methods, the POST headers and methods, DELETE,
// and what is not there.
import t from 'tap';
import { backendFor, forEachDeployment } from '../support/deployment.js';
import type { McpBackendOptions } from '../support/mcp-backend.js';
import { answerText, rpc } from '../support/mcp-caller.js';
import { send } from '../support/raw-http.js';
import { until } from '../support/until.js';

await forEachDeployment(t, {}, async (t, deployment) => {
  const { gateway } = deployment;

  await t.test('POST …/servers/{virtual_host_id}/mcp: a JSON-RPC request or notification', async (t) => {
    const backend = await backendFor(t);
    const caller = await deployment.caller({ one: { url: backend.url } });
    const session = await caller.openSession();
    const answer = await session.call('one-echo', '{"a":1}');
    t.equal(answer.status, 200);
    t.match(rpc(answer), { jsonrpc: '2.0', id: 7, result: { structuredContent: { a: 1 } } });
  });

  await t.test('a slash at the end changes nothing, and /health is also there without the prefix', async (t) => {
    const caller = await deployment.caller();
    const { virtualHostId } = caller;
    const path = `${gateway.path(virtualHostId)}/`;
    t.equal((await caller.initialize({ path })).status, 200);
    t.equal((await caller.send({ method: 'GET', path: '/health', body: '' })).text, '{"status":"healthy"}');
  });

  await t.test('{virtual_host_id} is an opaque, percent-decoded path segment', async (t) => {
    const caller = await deployment.caller();
    const ids = ['a', 'a b', 'ümläut', 'a/b', '100%', 'a.b~c_d-e', '..', '0', 'x'.repeat(300), '😀'];
    await deployment.writeConfig(caller.subject, {
      virtual_hosts: Object.fromEntries(ids.map((id) => [id, { backends: {} }])),
    });
    for (const id of ids) t.equal((await caller.initialize({ path: gateway.path(id) })).status, 200, id);
    const unknown = ['b', 'A', 'a%20', 'a%2Fb%2F'];
    for (const segment of unknown) {
      const answer = await caller.initialize({ path: `/gw-rs/servers/${segment}/mcp` });
      t.equal(answer.status, 404, segment);
    }
  });

  await t.test('any other path: 404 {"detail":"Not Found"}, whatever the method', async (t) => {
    const caller = await deployment.caller();
    const { virtualHostId } = caller;
    const paths = [
      '/',
      '/mcp',
      '/gw-rs',
      '/gw-rs/',
      '/gw-rs/servers',
      `/gw-rs/servers/${virtualHostId}`,
      `/gw-rs/servers/${virtualHostId}/`,
      `/gw-rs/servers/${virtualHostId}/mcp/more`,
      `/gw-rs/servers/${virtualHostId}/MCP`,
      `/GW-RS/servers/${virtualHostId}/mcp`,
      `/gw-rs/servers/${virtualHostId}/sse`,
      `/servers/${virtualHostId}/mcp`,
      `//gw-rs/servers/${virtualHostId}/mcp`,
    ];
    for (const path of paths) {
      for (const method of ['POST', 'DELETE', 'GET', 'PUT']) {
        const answer = await caller.send({ method, path, body: '{}' });
        t.equal(answer.status, 404, `${method} ${path}`);
        t.equal(answer.text, '{"detail":"Not Found"}', `${method} ${path}`);
        t.equal(answer.contentType, 'application/json');
      }
    }
  });

  await t.test('a query does not change the path', async (t) => {
    const caller = await deployment.caller();
    t.equal((await caller.initialize({ path: `${caller.path}?x=1` })).status, 200);
  });

  await t.test('any other method on the MCP path: 405 with Allow', async (t) => {
    const caller = await deployment.caller();
    for (const method of ['PUT', 'PATCH']) {
      const answer = await caller.send({ method });
      t.equal(answer.status, 405, method);
      t.same(
        answer
          .header('allow')
          ?.split(/\s*,\s*/)
          .toSorted(),
        ['DELETE', 'GET', 'OPTIONS', 'POST'],
        method,
      );
      t.equal(answer.contentType, 'application/json', method);
      t.same(Object.keys(answer.json() as object), ['detail'], method);
    }
    const head = await caller.send({ method: 'HEAD' });
    t.equal(head.status, 405, 'HEAD');
  });

  await t.test('the admin endpoints do not exist without the bootstrap feature', async (t) => {
    for (const [method, path] of [
      ['GET', '/gw-rs/admin/tokens/someone'],
      ['POST', '/gw-rs/admin/userconfigs/someone'],
    ] as const) {
      const headers = [['content-type', 'application/json']] as const;
      const answer = await send(gateway.origin, {
        method,
        path,
        headers,
        ...(method === 'POST' ? { body: '{}' } : {}),
      });
      t.equal(answer.status, 404, path);
      t.equal(answer.text, '{"detail":"Not Found"}');
    }
  });

  await t.test('the headers of POST as the specification writes them, in any case and order', async (t) => {
    const backend = await backendFor(t);
    const caller = await deployment.caller({ one: { url: backend.url } });
    const session = await caller.openSession();
    const headers = [
      ['MCP-Protocol-Version', '2025-11-25'],
      ['Mcp-Session-Id', session.id],
      ['ACCEPT', 'application/json, text/event-stream'],
      ['Content-Type', 'application/json'],
      ['Authorization', `Bearer ${caller.token}`],
    ] as const;
    const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
    const answer = await send(gateway.origin, { method: 'POST', path: caller.path, headers, body });
    t.equal(answer.status, 200);
    t.match(rpc(answer), { result: { tools: [{ name: 'one-echo' }] } });
  });

  await t.test('initialize: the result, and the new session id in a header', async (t) => {
    const caller = await deployment.caller();
    const answer = await caller.initialize();
    t.equal(answer.status, 200);
    t.ok(answer.header('mcp-session-id'));
    t.match(rpc(answer), {
      jsonrpc: '2.0',
      id: 1,
      result: { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'switchyard', version: String } },
    });
  });

  await t.test('only the answer to initialize carries a session id (S18)', async (t) => {
    const session = await (await deployment.caller()).openSession();
    t.equal((await session.list()).header('mcp-session-id'), undefined);
    t.equal((await session.delete()).header('mcp-session-id'), undefined);
  });

  await t.test('initialize with a session id: 404 when it is unknown, 400 when it is known', async (t) => {
    const session = await (await deployment.caller()).openSession();
    t.equal((await session.caller.initialize({ session: 'x'.repeat(40) })).status, 404);
    const answer = await session.caller.initialize({ session: session.id });
    t.equal(answer.status, 400);
    t.equal(answer.header('mcp-session-id'), undefined);
    t.equal((await session.list()).status, 200, 'the session is as it was');
  });

  await t.test('initialize with params that are missing or of the wrong shape: -32602, and no session', async (t) => {
    const caller = await deployment.caller();
    const version = '"protocolVersion":"2025-11-25"';
    const clientInfo = '"clientInfo":{"name":"x","version":"1"}';
    const wrong = [
      '',
      ',"params":{}',
      `,"params":{"capabilities":{},${clientInfo}}`,
      `,"params":{"protocolVersion":7,"capabilities":{},${clientInfo}}`,
      `,"params":{${version},"capabilities":[],${clientInfo}}`,
      `,"params":{${version},"capabilities":{},"clientInfo":"x"}`,
    ];
    for (const params of wrong) {
      const answer = await caller.send({ body: `{"jsonrpc":"2.0","id":1,"method":"initialize"${params}}` });
      t.equal(answer.status, 200, params);
      t.equal(answer.header('mcp-session-id'), undefined, params);
      t.match(rpc(answer), { id: 1, error: { code: -32602 } }, params);
    }
  });

  await t.test('notifications/initialized: no result body', async (t) => {
    const backend = await backendFor(t);
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    const answer = await session.send('{"jsonrpc":"2.0","method":"notifications/initialized"}');
    t.equal(answer.status, 202);
    t.equal(answer.body.length, 0);
  });

  await t.test('tools/list: <backend_name>-<tool_name> of every backend', async (t) => {
    const [one, two] = [await backendFor(t, { tools: ['x', 'y'] }), await backendFor(t, { tools: ['x'] })];
    const session = await (await deployment.caller({ one: { url: one.url }, two: { url: two.url } })).openSession();
    t.same(await session.toolNames(), ['one-x', 'one-y', 'two-x']);
  });

  await t.test('tools/call: the prefix is stripped, and the call goes to that backend alone', async (t) => {
    const [one, two] = [await backendFor(t, { tools: ['x'] }), await backendFor(t, { tools: ['x'] })];
    const session = await (await deployment.caller({ one: { url: one.url }, two: { url: two.url } })).openSession();
    const answer = await session.call('two-x', '{"to":2}');
    t.match(rpc(answer), { result: { structuredContent: { to: 2 } } });
    t.same(one.calls, []);
    t.same(
      two.calls.map((call) => [call.name, call.argumentsText]),
      [['x', '{"to":2}']],
    );
  });

  await t.test('tools/call without arguments', async (t) => {
    const backend = await backendFor(t);
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    const answer = await session.send('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one-echo"}}');
    t.match(rpc(answer), { id: 1, result: { content: [{ text: '' }] } });
    t.equal(backend.calls[0]?.argumentsText, undefined, 'none are added');
  });

  await t.test('ping is answered with an empty result (S31)', async (t) => {
    const session = await (await deployment.caller()).openSession();
    t.equal(
      answerText(await session.send('{"jsonrpc":"2.0","id":"p","method":"ping"}')),
      '{"jsonrpc":"2.0","id":"p","result":{}}',
    );
  });

  await t.test('any other method: -32601, HTTP 200', async (t) => {
    const session = await (await deployment.caller()).openSession();
    for (const method of ['resources/list', 'prompts/get', 'logging/setLevel', 'tools/unknown', 'nonsense', '']) {
      const answer = await session.send(`{"jsonrpc":"2.0","id":3,"method":${JSON.stringify(method)}}`);
      t.equal(answer.status, 200, method);
      t.match(rpc(answer), { id: 3, error: { code: -32601 } }, method);
    }
  });

  await t.test('no params and no cursor may also be null, and the cursor empty', async (t) => {
    const session = await (await deployment.caller()).openSession();
    for (const params of ['null', '{"cursor":null}', '{"cursor":""}']) {
      const answer = await session.send(`{"jsonrpc":"2.0","id":3,"method":"tools/list","params":${params}}`);
      t.same(rpc(answer).result, { tools: [] }, params);
    }
  });

  await t.test('tools/list with a cursor: -32602, since the list is always complete (S35)', async (t) => {
    const session = await (await deployment.caller()).openSession();
    const answer = await session.send('{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"x"}}');
    t.equal(answer.status, 200);
    t.match(rpc(answer), { id: 3, error: { code: -32602 } });
  });

  await t.test('tools/call with a name that is missing or no string: -32602', async (t) => {
    const session = await (await deployment.caller()).openSession();
    for (const params of [
      '',
      ',"params":{}',
      ',"params":{"name":7}',
      ',"params":{"name":null}',
      ',"params":{"arguments":{}}',
    ]) {
      const answer = await session.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call"${params}}`);
      t.equal(answer.status, 200, params);
      t.match(rpc(answer), { id: 3, error: { code: -32602 } }, params);
    }
  });

  await t.test('the response comes as JSON or as an event stream, depending on Accept', async (t) => {
    const session = await (await deployment.caller()).openSession();
    t.equal((await session.list({ accept: 'application/json' })).contentType, 'application/json');
    t.equal((await session.list({ accept: 'text/event-stream' })).contentType, 'text/event-stream');
  });

  await t.test('DELETE …/mcp ends the session, here and at the backends', async (t) => {
    const backend = await backendFor(t, { withSessions: true });
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    await session.call('one-echo');
    const upstreamId = [...backend.sessions];
    t.equal(upstreamId.length, 1);
    t.equal((await session.delete()).status, 200);
    t.equal((await session.list()).status, 404);
    await until(() => backend.deletedSessions.length > 0, 'the DELETE at the backend');
    t.same(backend.deletedSessions, upstreamId);
  });

  await t.test('DELETE succeeds, whatever the backends answer to it (C12)', async (t) => {
    let deletes = 0;
    const refusing = (status: number): McpBackendOptions => ({
      withSessions: true,
      onRequest: (request) => {
        if (request.method !== 'DELETE') return false;
        deletes++;
        request.empty(status);
        return true;
      },
    });
    const backends = await Promise.all([405, 404, 500].map((status) => backendFor(t, refusing(status))));
    const entries = backends.map(({ url }, index) => [`b${index}`, { url }] as const);
    const session = await (await deployment.caller(Object.fromEntries(entries))).openSession();
    t.equal((await session.delete()).status, 200);
    await until(() => deletes === backends.length, 'each backend to be told');
    t.equal((await session.list()).status, 404);
  });
});
