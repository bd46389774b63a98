// Decisions 2.2, the answers that need no backend: host and origin, content type and size, JSON-RPC shapes, sessions,
// versions, duplicate headers, CORS and health.
import t, { type Test } from 'tap';
import { forEachDeployment } from '../support/deployment.js';
import { startGateway, verifyWith } from '../support/gateway.js';
import { memberText } from '../support/json-text.js';
import { createKeyPair } from '../support/keys.js';
import { INITIALIZE_PARAMS, McpCaller } from '../support/mcp-caller.js';
import { encodeRequest, RawConnection, send, type HttpAnswer } from '../support/raw-http.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { BODY_BYTES_MAX, BOUNDED } from './bounded.js';

const INITIALIZE = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":${INITIALIZE_PARAMS}}`;
const PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}';

await forEachDeployment(t, BOUNDED, async (t, deployment) => {
  const { gateway } = deployment;
  const port = new URL(gateway.origin).port;

  await t.test('Origin neither listed nor loopback: 403, a JSON-RPC error without id (S02, X01)', async (t) => {
    const caller = await deployment.caller();
    const foreign = [
      'http://evil.example',
      'https://evil.example',
      'null',
      'http://localhost.evil.example',
      'http://127.0.0.1.evil.example',
      'http://evil.example:8001',
      'http://notlocalhost',
      'http://127.0.0.1@evil.example',
      'evil',
    ];
    for (const origin of foreign) {
      const answer = await caller.initialize({ headers: [['origin', origin]] });
      t.equal(answer.status, 403, origin);
      checkErrorWithoutId(t, answer, origin);
      t.equal(answer.header('access-control-allow-origin'), undefined, origin);
    }
  });

  await t.test('two Origin headers: 403, also where each is allowed (S02)', async (t) => {
    const caller = await deployment.caller();
    const [own, foreign] = ['http://localhost:3000', 'http://evil.example'];
    for (const [one, other] of [
      [own, foreign],
      [foreign, own],
      [own, own],
    ] as const) {
      const answer = await caller.initialize({
        headers: [
          ['origin', one],
          ['origin', other],
        ],
      });
      t.equal(answer.status, 403, `${one}, ${other}`);
      checkErrorWithoutId(t, answer, `${one}, ${other}`);
      t.equal(answer.header('access-control-allow-origin'), undefined);
    }
  });

  await t.test('a loopback Origin on a loopback Host is served', async (t) => {
    const caller = await deployment.caller();
    for (const origin of ['http://localhost', 'http://localhost:3000', 'http://127.0.0.1:1', 'http://[::1]:6274']) {
      const answer = await caller.initialize({ headers: [['origin', origin]] });
      t.equal(answer.status, 200, origin);
      t.equal(answer.header('access-control-allow-origin'), origin);
      t.match(answer.header('access-control-expose-headers')?.toLowerCase(), /(^|[ ,])mcp-session-id([ ,]|$)/);
    }
    const refused = await caller.initialize({ token: null, headers: [['origin', 'http://localhost']] });
    t.equal(refused.status, 401);
    t.equal(refused.header('access-control-allow-origin'), 'http://localhost', 'refusals can be read too');
  });

  await t.test('bound to loopback and Host is not loopback: 403 (X01)', async (t) => {
    const caller = await deployment.caller();
    for (const host of [
      'evil.example',
      `evil.example:${port}`,
      `localhost.evil.example:${port}`,
      `127.0.0.1.nip.io:${port}`,
    ]) {
      const answer = await caller.initialize({ headers: [['host', host]] });
      t.equal(answer.status, 403, host);
      checkErrorWithoutId(t, answer, host);
      t.match(answer.text, '--allowed-hosts');
    }
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `LocalHost:${port}`, 'localhost', `[::1]:${port}`]) {
      t.equal((await caller.initialize({ headers: [['host', host]] })).status, 200, host);
    }
  });

  await t.test('content-type not application/json: 415', async (t) => {
    const caller = await deployment.caller();
    for (const contentType of [
      null,
      'text/plain',
      'application/jsonx',
      'text/json',
      'application/x-www-form-urlencoded',
    ]) {
      const answer = await caller.initialize({ contentType });
      t.equal(answer.status, 415, String(contentType));
      t.match(answer.json(), { id: 1, error: { code: -32000 } }, String(contentType));
    }
    for (const contentType of [
      'application/json',
      'application/json; charset=utf-8',
      'Application/JSON;charset=utf-8',
    ]) {
      t.equal((await caller.initialize({ contentType })).status, 200, contentType);
    }
  });

  await t.test('body over the limit: 413', async (t) => {
    const caller = await deployment.caller();
    const padded = (bytes: number): string => INITIALIZE.padEnd(bytes, ' ');
    t.equal((await caller.send({ body: padded(BODY_BYTES_MAX) })).status, 200, 'exactly the limit is served');
    const answer = await caller.send({ body: padded(BODY_BYTES_MAX + 1) });
    t.equal(answer.status, 413, 'one byte more is not');
    checkErrorWithoutId(t, answer, 'one byte more');
  });

  await t.test('413 comes without the rest of the body being read', async (t) => {
    const caller = await deployment.caller();
    for (const framing of [['content-length', '1000000000'] as const, ['transfer-encoding', 'chunked'] as const]) {
      const connection = await RawConnection.open(gateway.origin);
      t.teardown(() => connection.close());
      const head = caller.request({ headers: [framing] });
      connection.write(encodeRequest(gateway.origin, { ...head, body: '' }));
      const piece = 'x'.repeat(BODY_BYTES_MAX + 1);
      connection.write(framing[1] === 'chunked' ? `${piece.length.toString(16)}\r\n${piece}\r\n` : piece);
      const answer = await connection.readAnswer();
      t.equal(answer.status, 413, framing.join(': '));
      checkErrorWithoutId(t, answer, framing[0]);
    }
  });

  await t.test('not JSON: 400 with -32700 and no id (S04, S33)', async (t) => {
    const session = await (await deployment.caller()).openSession();
    const notJson = [
      '',
      ' ',
      '{',
      '{"jsonrpc":"2.0","id":1,"method":"ping"',
      `${PING}x`,
      `${PING}${PING}`,
      "{'a':1}",
      'NaN',
    ];
    const more = [
      '{"jsonrpc":"2.0","id":1,"method":"ping",}',
      '{"jsonrpc":"2.0","id":01,"method":"ping"}',
      '{"a":"\n"}',
      '["a"',
    ];
    for (const body of [...notJson, ...more, Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])]) {
      const answer = await session.send(body);
      t.equal(answer.status, 400, JSON.stringify(body));
      t.equal(checkErrorWithoutId(t, answer, JSON.stringify(body)), -32700, JSON.stringify(body));
    }
  });

  await t.test('an array: 400 with -32600 and no id (S04)', async (t) => {
    const session = await (await deployment.caller()).openSession();
    for (const body of ['[]', `[${PING}]`, `[${PING},${PING}]`, ` [${PING}]`]) {
      const answer = await session.send(body);
      t.equal(answer.status, 400, body);
      t.equal(checkErrorWithoutId(t, answer, body), -32600, body);
    }
  });

  await t.test(
    'not a JSON-RPC 2.0 message: 400 with -32600, and its id where there is one (S04, S32, S33)',
    async (t) => {
      const session = await (await deployment.caller()).openSession();
      const withoutId = ['1', '"ping"', 'null', 'true', '{}', '{"jsonrpc":"2.0","result":{}}'];
      withoutId.push(
        ...['null', 'true', '{}', '[1]'].map((id) => `{"jsonrpc":"2.0","id":${id},"method":"ping"}`),
        // It is unknown which of two ids is meant, and the id of a response does not belong to a request of this caller.
        '{"id":1,"id":2,"method":"ping"}',
        '{"id":1,"ID":2,"method":"ping"}',
        '{"id":1,"result":{}}',
        '{"jsonrpc":"2.0","id":1,"method":"ping","error":{}}',
      );
      for (const body of withoutId) {
        const answer = await session.send(body);
        t.equal(answer.status, 400, body);
        t.equal(checkErrorWithoutId(t, answer, body), -32600, body);
      }
      const withId = {
        '{"id":1,"method":"ping"}': '1',
        '{"jsonrpc":"1.0","id":"\\u0061","method":"ping"}': '"\\u0061"',
        '{"jsonrpc":2.0,"method":"ping","id":1.0}': '1.0',
        '{"jsonrpc":"2.0","id":9007199254740993}': '9007199254740993',
        ' {"jsonrpc":"2.0","id":"","method":7}': '""',
        '{"jsonrpc":"2.0","\\u0069d":0,"method":"ping","params":[]}': '0',
      };
      for (const [body, id] of Object.entries(withId)) {
        const answer = await session.send(body);
        t.equal(answer.status, 400, body);
        t.equal(memberText(answer.text, 'id'), id, body);
        t.equal((answer.json() as { error: { code: number } }).error.code, -32600, body);
      }
    },
  );

  await t.test('no mcp-session-id on anything but initialize: 400 (S21)', async (t) => {
    const caller = await deployment.caller();
    const bodies = [
      PING,
      '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a-b","arguments":{}}}',
      '{"jsonrpc":"2.0","method":"notifications/initialized"}',
      '{"jsonrpc":"2.0","id":1,"result":{}}',
    ];
    for (const body of bodies) {
      for (const session of [null, '']) {
        const answer = await caller.send({ body, session });
        t.equal(answer.status, 400, `${body}, session ${JSON.stringify(session)}`);
        if (body.includes('"method"') && body.includes('"id"'))
          t.match(answer.json(), { id: 1, error: { code: -32000 } });
        else checkErrorWithoutId(t, answer, body);
      }
    }
    const deleted = await caller.send({ method: 'DELETE' });
    t.equal(deleted.status, 400, 'DELETE');
    checkErrorWithoutId(t, deleted, 'DELETE');
  });

  await t.test(
    'an unknown method without a session: 400 with -32601 and its id, so that clients fall back',
    async (t) => {
      const caller = await deployment.caller();
      for (const method of ['server/discover', 'subscriptions/listen', 'nonsense', '', '"\\ü$&']) {
        for (const id of ['1', '"a"', '0']) {
          const body = `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":{"_meta":{"x/y":"2026-07-28"}}}`;
          const answer = await caller.send({ body });
          t.equal(answer.status, 400, method);
          t.equal(memberText(answer.text, 'id'), id, method);
          const { error } = answer.json() as { error: { code: number; message: string } };
          t.equal(error.code, -32601, method);
          t.ok(error.message.startsWith(`Method not found: ${method}. `), error.message);
          t.match(error.message, /initialize/);
          const claimed = await caller.send({ body, protocolVersion: '2026-07-28' });
          t.equal(claimed.status, 400, `${method}: a header alone is no claim`);
          t.match(claimed.json(), { error: { code: -32602 } }, method);
        }
      }
      t.equal(
        (await caller.send({ body: '{"jsonrpc":"2.0","id":1,"method":"server/discover"}', token: null })).status,
        401,
      );
    },
  );

  await t.test("unknown, ended, another's and elsewhere's session: 404, all alike (S22, X03)", async (t) => {
    const caller = await deployment.caller();
    const other = await deployment.caller();
    const twoHosts = { first: deployment.newVirtualHostId(), second: deployment.newVirtualHostId() };
    await deployment.writeConfig(caller.subject, {
      virtual_hosts: Object.fromEntries([caller.virtualHostId, twoHosts.second].map((id) => [id, { backends: {} }])),
    });
    const ended = await caller.openSession();
    t.equal((await ended.delete()).status, 200);
    const theirs = await other.openSession();
    const mine = await caller.openSession();
    const elsewhere = deployment.gateway.path(twoHosts.second);
    const cases = {
      unknown: { session: 'A'.repeat(mine.id.length) },
      'of no session form': { session: 'x' },
      'longer than any': { session: 'x'.repeat(2000) },
      ended: { session: ended.id },
      'of another subject': { session: theirs.id },
      'of another virtual host': { session: mine.id, path: elsewhere },
      'a little changed': { session: `${mine.id.slice(0, -1)}${mine.id.endsWith('A') ? 'B' : 'A'}` },
    };
    const seen = new Set<string>();
    for (const [what, parts] of Object.entries(cases)) {
      for (const body of [PING, '{"jsonrpc":"2.0","method":"notifications/initialized"}']) {
        const answer = await caller.send({ ...parts, body });
        t.equal(answer.status, 404, `POST, ${what}`);
        if (body === PING) t.match(answer.json(), { id: 1, error: { code: -32000 } }, what);
        else checkErrorWithoutId(t, answer, what);
        seen.add(answer.text.replace('"id":1,', ''));
      }
      const deleted = await caller.send({ ...parts, method: 'DELETE' });
      t.equal(deleted.status, 404, `DELETE, ${what}`);
      seen.add(deleted.text);
    }
    t.equal(seen.size, 1, 'the caller learns nothing about whose it is');
    t.equal((await mine.send(PING)).status, 200, 'my session is as it was');
    t.equal((await theirs.send(PING)).status, 200, 'and so is theirs');
  });

  await t.test('mcp-protocol-version not supported: 400; absent or supported: served (S24, S25, S26)', async (t) => {
    const session = await (await deployment.caller()).openSession();
    for (const protocolVersion of ['1999-01-01', '2099-01-01', 'latest', '2025-11-25x']) {
      const answer = await session.send(PING, { protocolVersion });
      t.equal(answer.status, 400, JSON.stringify(protocolVersion));
      t.match(answer.json(), { id: 1, error: { code: -32000 } }, protocolVersion);
    }
    for (const protocolVersion of [null, '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']) {
      t.equal((await session.send(PING, { protocolVersion })).status, 200, String(protocolVersion));
    }
    t.equal(
      (await session.caller.initialize({ protocolVersion: '2025-11-25' })).status,
      200,
      'tolerated on initialize',
    );
  });

  await t.test('a POST refused for its head: 400, 406 and 415 have its id where it has one (S33)', async (t) => {
    const session = await (await deployment.caller()).openSession();
    const faults = [
      [400, { protocolVersion: '1999-01-01' }],
      [406, { accept: 'text/html' }],
      [415, { contentType: 'text/plain' }],
    ] as const;
    const padding = ' '.repeat(2_000);
    const ids = {
      [PING]: '1',
      '{"jsonrpc":"2.0","method":"ping","id":"\\u0061"}': '"\\u0061"',
      [`{"jsonrpc":"2.0","method":"ping",${padding}"id":1.50e1}`]: '1.50e1',
    };
    const withoutId = [
      '',
      '{',
      `[${PING}]`,
      '{"jsonrpc":"2.0","method":"notifications/initialized"}',
      '{"jsonrpc":"2.0","id":1,"result":{}}',
      PING.padEnd(BODY_BYTES_MAX + 1, ' '),
    ];
    for (const [status, parts] of faults) {
      for (const [body, id] of Object.entries(ids)) {
        const answer = await session.send(body, parts);
        t.equal(answer.status, status, body.slice(0, 60));
        t.equal(memberText(answer.text, 'id'), id, `${status} to ${body.slice(0, 60)}`);
      }
      for (const body of withoutId) {
        const answer = await session.send(body, parts);
        t.equal(answer.status, status, body.slice(0, 60));
        checkErrorWithoutId(t, answer, `${status} to ${body.slice(0, 60)}`);
      }
    }
    t.equal((await session.send(PING)).status, 200, 'the session goes on');
  });

  await t.test('a notification or a response accepted: 202, empty (S05)', async (t) => {
    const session = await (await deployment.caller()).openSession();
    const bodies = [
      '{"jsonrpc":"2.0","method":"notifications/initialized"}',
      '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}',
      '{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}',
      '{"jsonrpc":"2.0","id":"nobody-asked","result":{}}',
      '{"jsonrpc":"2.0","id":4,"error":{"code":-1,"message":"no"}}',
    ];
    for (const body of bodies) {
      const answer = await session.send(body);
      t.equal(answer.status, 202, body);
      t.equal(answer.body.length, 0, body);
    }
  });

  await t.test('DELETE: 200, empty; a second one is 404', async (t) => {
    const session = await (await deployment.caller()).openSession();
    const answer = await session.delete();
    t.equal(answer.status, 200);
    t.equal(answer.body.length, 0);
    t.equal((await session.delete()).status, 404);
  });

  await t.test('duplicate content-length, host, authorization or mcp-session-id: 400', async (t) => {
    const session = await (await deployment.caller()).openSession();
    const { token } = session.caller;
    const duplicates = [
      ['content-length', String(PING.length), String(PING.length)],
      ['content-length', String(PING.length), '3'],
      ['content-length', '3', String(PING.length)],
      ['host', `127.0.0.1:${port}`, `127.0.0.1:${port}`],
      ['host', `127.0.0.1:${port}`, 'evil.example'],
      ['authorization', `Bearer ${token}`, `Bearer ${token}`],
      ['authorization', `Bearer ${token}`, 'Bearer x'],
      ['mcp-session-id', session.id, session.id],
      ['mcp-session-id', session.id, 'x'],
      ['authorization', '', `Bearer ${token}`],
      ['mcp-session-id', '', session.id],
      ['mcp-session-id', session.id, ''],
    ] as const;
    for (const [name, first, second] of duplicates) {
      const request = session.caller.request({ body: PING });
      const headers = [
        ...request.headers.filter(([other]) => other !== name),
        ...(name === 'mcp-session-id' ? [] : [['mcp-session-id', session.id] as const]),
        [name, first] as const,
        [name.toUpperCase(), second] as const,
      ];
      const answer = await send(gateway.origin, { ...request, headers });
      t.equal(answer.status, 400, `${name}: ${first.slice(0, 20)} and ${second.slice(0, 20)}`);
    }
  });

  await t.test('OPTIONS with an allowed Origin: 204 with the CORS headers', async (t) => {
    const caller = await deployment.caller();
    const answer = await send(gateway.origin, {
      method: 'OPTIONS',
      path: caller.path,
      headers: [
        ['origin', 'http://localhost:5173'],
        ['access-control-request-method', 'POST'],
        ['access-control-request-headers', 'authorization, content-type, x-tenant, proxy-x'],
      ],
    });
    t.equal(answer.status, 204);
    t.equal(answer.header('access-control-allow-origin'), 'http://localhost:5173');
    const words = (name: string): string[] => (answer.header(name) ?? '').toLowerCase().split(/\s*,\s*/);
    const allowed = [
      'authorization',
      'content-type',
      'accept',
      'mcp-session-id',
      'mcp-protocol-version',
      'last-event-id',
      'x-tenant',
    ];
    t.notOk(words('access-control-allow-headers').includes('proxy-x'), 'no backend could get it');
    for (const header of allowed) t.ok(words('access-control-allow-headers').includes(header), header);
    for (const method of ['post', 'delete']) t.ok(words('access-control-allow-methods').includes(method), method);
    t.match(answer.header('access-control-max-age'), /^\d+$/);
  });

  await t.test('OPTIONS with a foreign Origin: 403 without CORS headers', async (t) => {
    const { path } = await deployment.caller();
    const headers = [
      ['origin', 'http://evil.example'],
      ['access-control-request-method', 'POST'],
    ] as const;
    const answer = await send(gateway.origin, { method: 'OPTIONS', path, headers });
    t.equal(answer.status, 403);
    t.equal(answer.header('access-control-allow-origin'), undefined);
  });

  await t.test('GET {prefix}/health: 200 without a token', async (t) => {
    const answer = await send(gateway.origin, { method: 'GET', path: '/gw-rs/health', headers: [] });
    t.equal(answer.status, 200);
    t.equal(answer.contentType, 'application/json');
    t.equal(answer.text, '{"status":"healthy"}');
  });
});

await t.test('--allowed-hosts and --allowed-origins decide where they are set', async (t) => {
  const key = createKeyPair(t);
  const gateway = await startGateway(t, {
    storeOptions: { kind: 'embedded', path: createScratchDirectory(t) },
    keyOptions: verifyWith(key),
    options: [
      '--allowed-hosts',
      'gw.example,gw2.example:8443',
      '--allowed-origins',
      'https://app.example,https://b.example:8443',
    ],
  });
  const caller = new McpCaller(gateway.origin, gateway.path('x'), 'none');
  const statusOf = async (host: string, origin?: string): Promise<number> => {
    const headers: [string, string][] = [['host', host]];
    if (origin !== undefined) headers.push(['origin', origin]);
    return (await caller.initialize({ token: null, headers })).status;
  };
  // The next check after Host and Origin is the token, which is missing here.
  const passed = 401;
  t.equal(await statusOf('gw.example'), passed, 'a listed host');
  t.equal(await statusOf('GW.example'), passed, 'in any case');
  t.equal(await statusOf('gw2.example:8443'), passed, 'a listed host with its port');
  t.equal(await statusOf('gw2.example:8444'), 403, 'another port');
  t.equal(await statusOf('other.example'), 403, 'a host that is not listed');
  t.equal(await statusOf(new URL(gateway.origin).host), 403, 'loopback, which is not listed');
  t.equal(await statusOf('gw.example', 'https://app.example'), passed, 'a listed origin');
  t.equal(await statusOf('gw.example', 'https://b.example:8443'), passed, 'a listed origin with its port');
  for (const origin of [
    'http://app.example',
    'https://app.example:444',
    'https://b.example',
    'https://app.example.evil.example',
  ]) {
    t.equal(await statusOf('gw.example', origin), 403, origin);
  }
  t.equal(await statusOf('gw.example', 'http://localhost:3000'), 403, 'a loopback origin on another host');
  const headers = [
    ['host', 'gw.example'],
    ['origin', 'https://app.example'],
  ] as const;
  const answer = await caller.initialize({ token: null, headers });
  t.equal(answer.header('access-control-allow-origin'), 'https://app.example', 'a listed origin may read the answer');
});

/** Checks for a JSON-RPC error without an `id` member. Returns its code. */
function checkErrorWithoutId(t: Test, answer: HttpAnswer, what: string): number {
  t.equal(answer.contentType, 'application/json', what);
  const { jsonrpc, error, ...rest } = answer.json() as { jsonrpc: unknown; error: { code: number; message: unknown } };
  t.equal(jsonrpc, '2.0', what);
  t.type(error.message, 'string', what);
  t.same(rest, {}, `${what}: no id and nothing else`);
  return error.code;
}
