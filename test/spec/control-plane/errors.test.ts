// Every refusal of the control plane that no other file of this folder tests, in the envelope `{"detail": …}`. Every response is
// checked against the OpenAPI document, which has no other envelope.
import t, { type Test } from 'tap';
import {
  ApiCaller,
  detailOf,
  forEachStore,
  newName,
  startControlPlane,
  type ApiRequest,
  type ControlPlane,
} from '../../support/control-plane.js';
import { startProgram, verifyWith } from '../../support/gateway.js';
import { createKeyPair } from '../../support/keys.js';
import { encodeRequest, RawConnection, send } from '../../support/raw-http.js';
import { createScratchDirectory } from '../../support/scratch-directory.js';
import { mint, mintUnsigned } from '../../support/tokens.js';

const BODY_BYTES_MAX = 4 * 1024 * 1024;

/** One request for each row of the endpoint table that needs a token. */
const ROWS: readonly (readonly [method: string, path: string])[] = [
  ['GET', '/servers'],
  ['POST', '/servers'],
  ['GET', '/servers/x'],
  ['PUT', '/servers/x'],
  ['DELETE', '/servers/x'],
  ['POST', '/servers/x/refresh'],
  ['GET', '/servers/x/tools'],
  ['GET', '/servers/x/health'],
  ['GET', '/servers/x/prompts'],
  ['GET', '/servers/x/resources'],
  ['GET', '/servers/x/templates'],
  ['GET', '/compositions'],
  ['POST', '/compositions'],
  ['GET', '/compositions/x'],
  ['PUT', '/compositions/x'],
  ['DELETE', '/compositions/x'],
  ['POST', '/mcp'],
  ['GET', '/mcp'],
  ['DELETE', '/mcp'],
  ['POST', '/servers/x/mcp'],
];

await forEachStore(t, {}, async (t, controlPlane) => {
  await t.test(
    '401 with WWW-Authenticate: Bearer on every row but /health, /version and the documentation',
    async (t) => {
      for (const [method, path] of ROWS) {
        const answer = await controlPlane.stranger(t).send(method, path);
        t.equal(answer.status, 401, `${method} ${path}`);
        t.match(answer.header('www-authenticate'), /^Bearer/);
        t.equal(detailOf(answer), 'Token missing');
      }
      t.equal((await controlPlane.stranger(t).get('/nowhere')).status, 401, 'who has no token learns no paths');
    },
  );

  await t.test('401 for every kind of wrong token; never which check failed', async (t) => {
    const sub = newName('subject');
    const other = createKeyPair(t);
    const nowSeconds = Math.floor(Date.now() / 1_000);
    const claims = { sub, iss: 'mcpgateway', aud: 'mcpgateway-api', exp: nowSeconds + 600 };
    const wrong: Readonly<Record<string, string>> = {
      'not a token': 'nonsense',
      'another key': await controlPlane.token(sub, { key: other.privateKey }),
      'no signature': mintUnsigned(claims),
      'no exp': await controlPlane.token(sub, { expiresInSeconds: null }),
      'wrong iss': await controlPlane.token(sub, { iss: 'somebody' }),
      'wrong aud': await controlPlane.token(sub, { aud: 'something' }),
      'no sub': await controlPlane.token(sub, { sub: null }),
    };
    for (const [why, token] of Object.entries(wrong)) {
      const answer = await new ApiCaller(t, controlPlane, token, sub).get('/servers');
      t.equal(answer.status, 401, why);
      t.equal(detailOf(answer), 'Token invalid', why);
    }
    const expired = new ApiCaller(t, controlPlane, await controlPlane.token(sub, { expiresInSeconds: -10 }), sub);
    t.equal(detailOf(await expired.get('/servers')), 'Token expired');
    const basic = await controlPlane.stranger(t).get('/servers', { headers: [['authorization', 'Basic abc']] });
    t.equal(basic.status, 401);
  });

  await t.test('404 for an unknown path; 405 with Allow for another method', async (t) => {
    const caller = await controlPlane.caller(t);
    for (const path of ['/nowhere', '/servers/a/b/c', '/SERVERS', '/gw-rs/servers/x/mcp']) {
      const answer = await caller.get(path);
      t.equal(answer.status, 404, path);
      t.equal(detailOf(answer), 'Not Found');
    }
    for (const [method, path, allow] of [
      ['DELETE', '/servers', 'GET, HEAD, POST'],
      ['PATCH', '/servers', 'GET, HEAD, POST'],
      ['POST', '/servers/x', 'GET, HEAD, PUT, PATCH, DELETE'],
      ['GET', '/servers/x/refresh', 'POST'],
      ['POST', '/servers/x/tools', 'GET, HEAD'],
      ['PUT', '/compositions', 'GET, HEAD, POST'],
      ['POST', '/version', 'GET, HEAD'],
      ['PUT', '/mcp', 'GET, POST, DELETE'],
      ['OPTIONS', '/health', 'GET, HEAD'],
    ] as const) {
      const answer = await caller.send(method, path, { text: '' });
      t.equal(answer.status, 405, `${method} ${path}`);
      t.equal(answer.header('allow'), allow, `${method} ${path}`);
      t.equal(detailOf(answer), 'Method Not Allowed');
    }
    const unread = await caller.send('POST', '/nowhere', { text: 'x', headers: [['content-type', 'text/plain']] });
    t.equal(unread.status, 404, 'an unknown path is told before its body is looked at');
  });

  await t.test('400 for a body that is not JSON, 415 for one that is not declared as JSON', async (t) => {
    const caller = await controlPlane.caller(t);
    for (const text of [
      '{',
      'nonsense',
      '{"a":1}}',
      '{"__proto__":{"a":1}}',
      Buffer.from('{"name":"\xff"}', 'latin1'),
    ]) {
      const answer = await caller.send('POST', '/servers', { text, headers: [['content-type', 'application/json']] });
      t.equal(answer.status, 400, String(text));
    }
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', 'nonsense']) {
      const answer = await caller.send('POST', '/servers', { text: '{}', headers: [['content-type', type]] });
      t.equal(answer.status, 415, type);
      t.match(detailOf(answer), /application\/json/);
    }
    t.equal((await caller.send('POST', '/servers', { text: '{}' })).status, 415, 'no type at all');
    const charset = await caller.send('POST', '/servers', {
      text: '{}',
      headers: [['content-type', 'application/json; charset=utf-8']],
    });
    t.equal(charset.status, 422);
  });

  await t.test('413 for a body over --max-body-bytes, 4 MiB by default', async (t) => {
    const caller = await controlPlane.caller(t);
    const sized = (bytes: number): ApiRequest => ({
      text: '{}'.padEnd(bytes),
      headers: [['content-type', 'application/json']],
    });
    for (const path of ['/servers', '/mcp']) {
      t.not((await caller.send('POST', path, sized(BODY_BYTES_MAX))).status, 413, path);
      t.equal((await caller.send('POST', path, sized(BODY_BYTES_MAX + 1))).status, 413, path);
    }
    const connection = await RawConnection.open(controlPlane.origin);
    t.teardown(() => connection.close());
    connection.write(
      `POST /servers HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${caller.token}\r\n` +
        `content-type: application/json\r\ncontent-length: 999999999999\r\n\r\n{`,
    );
    t.equal((await connection.readAnswer()).status, 413, 'and does not wait for it');
  });

  await t.test('403 for a Host or Origin that is not allowed, before the token is looked at', async (t) => {
    const stranger = controlPlane.stranger(t);
    for (const [name, value] of [
      ['host', 'evil.example'],
      ['host', 'evil.example:4444'],
      ['origin', 'https://evil.example'],
      ['origin', 'null'],
    ] as const) {
      const answer = await stranger.get('/servers', { headers: [[name, value]] });
      t.equal(answer.status, 403, value);
      t.match(detailOf(answer), name === 'host' ? /^Host not allowed: .* --allowed-hosts$/ : /^Origin not allowed/);
      t.equal((await stranger.get('/health', { headers: [[name, value]] })).status, 403, 'open endpoints too');
    }
    t.equal((await stranger.get('/health', { headers: [['host', 'localhost:4444']] })).status, 200);
  });

  await t.test('OPTIONS from an allowed origin: 204 with the CORS headers; answers let it read them', async (t) => {
    const origin: [string, string] = ['origin', 'http://localhost:6274'];
    const preflight = await controlPlane.stranger(t).send('OPTIONS', '/servers', { headers: [origin] });
    t.equal(preflight.status, 204);
    t.equal(preflight.header('access-control-allow-origin'), origin[1]);
    t.match(preflight.header('access-control-allow-methods'), /GET.*POST.*PUT.*DELETE/);
    t.match(preflight.header('access-control-allow-headers'), /authorization/);
    const caller = await controlPlane.caller(t);
    t.equal((await caller.get('/servers', { headers: [origin] })).header('access-control-allow-origin'), origin[1]);
    const mcp = await caller.send('POST', '/mcp', {
      body: { jsonrpc: '2.0', id: 1, method: 'ping' },
      headers: [origin],
    });
    t.equal(mcp.header('access-control-allow-origin'), origin[1]);
    t.match(mcp.header('access-control-expose-headers'), /mcp-session-id/);
  });

  await t.test('400 for a duplicate of a header that decides, such as authorization or host', async (t) => {
    const caller = await controlPlane.caller(t);
    const authorization: [string, string] = ['authorization', `Bearer ${caller.token}`];
    t.equal((await caller.get('/servers', { headers: [authorization, authorization] })).status, 400);
    const host: [string, string] = ['host', '127.0.0.1'];
    t.equal((await caller.get('/servers', { headers: [host, host] })).status, 400);
  });

  await t.test('a malformed or too large request gets the envelope too', async (t) => {
    const connection = await RawConnection.open(controlPlane.origin);
    connection.write('nonsense\r\n\r\n');
    const nonsense = await connection.readAnswer();
    t.equal(nonsense.status, 400);
    t.type(detailOf(nonsense), 'string');
    const caller = await controlPlane.caller(t);
    const large = await caller.get('/servers', { headers: [['x-large', 'x'.repeat(40_000)]] });
    t.equal(large.status, 431);
    t.type(detailOf(large), 'string');
    t.equal((await caller.get('/servers', { headers: [['x-large', 'x'.repeat(30_000)]] })).status, 200);
    t.equal((await caller.get(`/servers/${'a'.repeat(600)}`)).status, 414);
  });
});

/** The statuses of three requests of a new subject. */
async function threeStatuses(t: Test, controlPlane: ControlPlane): Promise<number[]> {
  const caller = await controlPlane.caller(t);
  const get = async (): Promise<number> => (await caller.get('/servers')).status;
  return [await get(), await get(), await get()];
}

await t.test('--rate-limit: 429 with Retry-After, per subject; else per address; never /health', async (t) => {
  const controlPlane = await startControlPlane(t, { options: ['--rate-limit', '2'] });
  t.same(await threeStatuses(t, controlPlane), [200, 200, 429]);
  t.same(await threeStatuses(t, controlPlane), [200, 200, 429], 'another subject');
  const caller = await controlPlane.caller(t);
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
  t.same(
    [
      (await caller.post('/mcp', ping)).status,
      (await caller.get('/nowhere')).status,
      (await caller.post('/mcp', ping)).status,
    ],
    [200, 404, 429],
  );
  const refused = await caller.get('/servers');
  t.equal(refused.status, 429);
  const retryAfterS = Number(refused.header('retry-after'));
  t.ok(retryAfterS >= 1 && retryAfterS <= 60, String(retryAfterS));
  t.match(detailOf(refused), /try again in \d+ s/);

  // The OpenAPI document was fetched once from this address, to check the responses against it.
  const stranger = controlPlane.stranger(t);
  t.same([(await stranger.get('/servers')).status, (await stranger.get('/version')).status], [401, 429]);
  for (let count = 0; count < 5; count++) t.equal((await stranger.get('/health')).status, 200);
  t.equal((await (await controlPlane.caller(t)).get('/servers')).status, 200, 'who has a token is not of the address');
});

await t.test('--rate-limit: 600 a minute by default', async (t) => {
  const key = createKeyPair(t);
  const store = ['--store-path', createScratchDirectory(t)];
  const program = await startProgram(t, ['control-plane', '--address', '127.0.0.1:0', ...store, ...verifyWith(key)]);
  const token = await mint({ sub: 'busy', key: key.privateKey, algorithm: key.algorithm });
  const headers = [['authorization', `Bearer ${token}`]] as const;
  const statuses: number[] = [];
  const connection = await RawConnection.open(program.origin);
  t.teardown(() => connection.close());
  for (let count = 0; count <= 600; count++) {
    connection.write(encodeRequest(program.origin, { method: 'GET', path: '/nowhere', headers }));
    statuses.push((await connection.readAnswer()).status);
  }
  t.same([...new Set(statuses.slice(0, 600))], [404]);
  t.equal(statuses[600], 429);
  t.equal((await send(program.origin, { method: 'GET', path: '/health', headers: [] })).status, 200);
});

await t.test('--allowed-hosts and --allowed-origins', async (t) => {
  const options = ['--allowed-hosts', 'gateway.example', '--allowed-origins', 'https://app.example'];
  const store = ['--store-path', createScratchDirectory(t)];
  const program = await startProgram(t, ['control-plane', '--address', '127.0.0.1:0', ...store, ...options]);
  const status = async (host: string, origin?: string): Promise<number> => {
    const headers: [string, string][] = [['host', host]];
    if (origin !== undefined) headers.push(['origin', origin]);
    return (await send(program.origin, { method: 'GET', path: '/health', headers })).status;
  };
  t.equal(await status('gateway.example'), 200);
  t.equal(await status('gateway.example', 'https://app.example'), 200);
  t.equal(await status('gateway.example', 'https://other.example'), 403);
  t.equal(await status('127.0.0.1'), 403);
});
