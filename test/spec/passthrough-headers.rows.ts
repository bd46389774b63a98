// Decisions 2.6: which headers of a caller reach which backend.
import t from 'tap';
import { backendFor, forEachDeployment } from '../support/deployment.js';
import type { HeaderList } from '../support/raw-http.js';
import { until } from '../support/until.js';

await forEachDeployment(t, {}, async (t, deployment) => {
  await t.test('nothing that is not listed is forwarded (X11, X14)', async (t) => {
    const backend = await backendFor(t);
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    const headers: HeaderList = [
      ['cookie', 'secret=1'],
      ['x-custom', 'a'],
      ['x-forwarded-for', '1.2.3.4'],
      ['origin', 'http://localhost'],
      ['user-agent', 'spec-test'],
      ['proxy-authorization', 'Basic c2VjcmV0'],
    ];
    await session.list({ headers });
    await session.call('one-echo', '{}', { headers });
    const ours = new Set([
      'host',
      'connection',
      'content-length',
      'content-type',
      'accept',
      'accept-encoding',
      'user-agent',
      'mcp-protocol-version',
      'x-request-id',
    ]);
    for (const request of backend.raw.requests) {
      t.same(
        Object.keys(request.headers).filter((name) => !ours.has(name)),
        [],
        request.text,
      );
      t.match(request.headers['user-agent'], /^switchyard\//);
      t.notMatch(JSON.stringify(request.rawHeaders), /spec-test|secret|1\.2\.3\.4/);
      t.notOk(JSON.stringify(request.rawHeaders).includes(session.caller.token), 'nor the token');
      t.notOk(JSON.stringify(request.rawHeaders).includes(session.id), "nor the caller's session id");
    }
  });

  await t.test('what is listed, in any letter case, is copied from each request', async (t) => {
    const backend = await backendFor(t);
    const listed = { url: backend.url, passthrough_headers: ['X-Tenant', 'x-lower', 'COOKIE', 'x-absent'] };
    const session = await (await deployment.caller({ one: listed })).openSession();
    for (const tenant of ['a', 'b, c; d="e"', '\t inner \t space \t']) {
      await session.call('one-echo', '{}', {
        headers: [
          ['x-TENANT', tenant],
          ['X-Lower', 'low'],
          ['Cookie', 'a=1; b=2'],
          ['x-other', 'no'],
        ],
      });
      const received = backend.calls.at(-1)?.request.headers ?? {};
      t.match(received, { 'x-tenant': tenant.trim(), 'x-lower': 'low', cookie: 'a=1; b=2' });
      t.notOk('x-absent' in received || 'x-other' in received);
    }
    await session.call('one-echo');
    t.notOk('x-tenant' in (backend.calls.at(-1)?.request.headers ?? {}), 'a request without it sends none');
  });

  await t.test(
    'a value that is not UTF-8 is refused with the name of its header, and nothing is passed on',
    async (t) => {
      const backend = await backendFor(t);
      const listed = { url: backend.url, passthrough_headers: ['x-tenant'] };
      const session = await (await deployment.caller({ one: listed })).openSession();
      for (const value of ['a\xe4b', 'a\xffb', 'a\xed\xa0\x80b', 'a\xc3b']) {
        const answer = await session.call('one-echo', '{}', { headers: [['X-Tenant', value]] });
        t.equal(answer.status, 400, value);
        t.match(answer.text, /Header x-tenant is forwarded/);
      }
      t.equal(backend.calls.length, 0);
      const answer = await session.call('one-echo', '{}', { headers: [['x-other', 'a\xe4b']] });
      t.equal(answer.status, 200, 'what is not passed on may be anything');
    },
  );

  await t.test('what the connection header names ends here, listed or not', async (t) => {
    const backend = await backendFor(t);
    const listed = { url: backend.url, passthrough_headers: ['x-tenant', 'x-kept'] };
    const session = await (await deployment.caller({ one: listed })).openSession();
    await session.call('one-echo', '{}', {
      headers: [
        ['x-tenant', 'a'],
        ['Connection', 'keep-alive, X-Tenant'],
        ['x-kept', 'b'],
      ],
    });
    const received = backend.calls.at(-1)?.request.headers ?? {};
    t.equal(received['x-kept'], 'b');
    t.notOk('x-tenant' in received);
  });

  await t.test('a value outside ASCII keeps its bytes, and can never end its line', async (t) => {
    const backend = await backendFor(t);
    const session = await (
      await deployment.caller({ one: { url: backend.url, passthrough_headers: ['x-tenant'] } })
    ).openSession();
    // Not at the ends of the value, where uWebSockets.js takes bytes above 0x7F for white space and strips them. U+010A and U+010D
    // end in the bytes of LF and CR when a code point is cut to one byte.
    for (const tenant of ['aüb', 'a😀b', 'a\u010d\u010ax-injected: 1']) {
      const bytes = Buffer.from(tenant).toString('latin1');
      const answer = await session.call('one-echo', '{}', { headers: [['x-tenant', bytes]] });
      t.equal(answer.status, 200, tenant);
      const received = backend.calls.at(-1)?.request.headers ?? {};
      t.notOk('x-injected' in received);
      t.equal(received['x-tenant'], bytes, JSON.stringify(tenant));
    }
  });

  await t.test('a header that comes twice arrives with both values', async (t) => {
    const backend = await backendFor(t);
    const session = await (
      await deployment.caller({ one: { url: backend.url, passthrough_headers: ['x-multi'] } })
    ).openSession();
    const headers: HeaderList = [
      ['x-multi', 'a'],
      ['x-multi', 'b'],
    ];
    await session.call('one-echo', '{}', { headers });
    const { rawHeaders = [] } = backend.calls[0]?.request ?? {};
    const values = rawHeaders.filter(
      (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === 'x-multi',
    );
    t.equal(values.join(', '), 'a, b');
  });

  await t.test('to that backend only', async (t) => {
    const [one, two] = [await backendFor(t), await backendFor(t)];
    const caller = await deployment.caller({
      one: { url: one.url, passthrough_headers: ['x-for-one'] },
      two: { url: two.url, passthrough_headers: ['x-for-two'] },
    });
    const headers: HeaderList = [
      ['x-for-one', '1'],
      ['x-for-two', '2'],
    ];
    const session = await caller.openSession({ headers });
    await session.list({ headers });
    await session.call('one-echo', '{}', { headers });
    await session.call('two-echo', '{}', { headers });
    for (const [backend, own, other] of [
      [one, 'x-for-one', 'x-for-two'],
      [two, 'x-for-two', 'x-for-one'],
    ] as const) {
      for (const method of ['initialize', 'tools/list', 'tools/call']) {
        const [request] = backend.requestsOf(method);
        t.ok(request?.headers[own], `${own} on ${method}`);
        t.equal(request?.headers[other], undefined, `no ${other} on ${method}`);
      }
    }
  });

  await t.test('authorization is forwarded when, and only when, it is listed', async (t) => {
    const [listed, unlisted] = [await backendFor(t), await backendFor(t)];
    const caller = await deployment.caller({
      one: { url: listed.url, passthrough_headers: ['Authorization'] },
      two: { url: unlisted.url },
    });
    const session = await caller.openSession();
    await session.call('one-echo');
    await session.call('two-echo');
    t.equal(listed.calls[0]?.request.headers['authorization'], `Bearer ${caller.token}`);
    t.equal(unlisted.calls[0]?.request.headers['authorization'], undefined);
  });

  await t.test('never copied, listed or not: host, hop-by-hop, content-*, accept*, mcp-*, last-event-id', async (t) => {
    const values: Readonly<Record<string, string>> = {
      connection: 'x-named',
      'keep-alive': 'timeout=never',
      te: 'trailers, never',
      trailer: 'never',
      upgrade: 'never',
      'proxy-authenticate': 'never',
      'proxy-authorization': 'never',
      'proxy-connection': 'never',
      'content-encoding': 'never',
      'content-language': 'never',
      'content-type': 'application/json; x=never',
      'accept-encoding': 'never',
      'accept-language': 'never',
      'mcp-x': 'never',
      'mcp-method': 'never',
      'last-event-id': 'never',
    };
    const backend = await backendFor(t);
    const names = [...Object.keys(values), 'host', 'accept', 'content-length', 'transfer-encoding', 'mcp-session-id'];
    const listed = [...names, 'mcp-protocol-version', 'x-named'];
    const caller = await deployment.caller({ one: { url: backend.url, passthrough_headers: listed } });
    const session = await caller.openSession();
    const { 'content-type': contentType = '', ...others } = values;
    const headers = Object.entries(others);
    const answer = await session.call('one-echo', '{}', { contentType, headers, protocolVersion: '2025-06-18' });
    t.equal(answer.status, 200);
    const received = backend.calls[0]?.request;
    t.notMatch(JSON.stringify(received?.rawHeaders), /never/);
    t.equal(received?.headers['host'], new URL(backend.url).host);
    t.equal(received?.headers['content-type'], 'application/json');
    t.equal(received?.headers['mcp-session-id'], undefined);
    t.equal(received?.headers['mcp-protocol-version'], '2025-11-25', 'the version of that upstream session');
  });

  await t.test('a changed list holds from the next request', async (t) => {
    const backend = await backendFor(t);
    const caller = await deployment.caller({ one: { url: backend.url } });
    const session = await caller.openSession();
    const headers: HeaderList = [['x-tenant', '7']];
    await session.call('one-echo', '{}', { headers });
    t.equal(backend.calls[0]?.request.headers['x-tenant'], undefined);
    await caller.configure({ one: { url: backend.url, passthrough_headers: ['x-tenant'] } });
    await until(async () => {
      await session.call('one-echo', '{}', { headers });
      return backend.calls.at(-1)?.request.headers['x-tenant'] === '7';
    }, 'the header to be passed on');
  });
});
