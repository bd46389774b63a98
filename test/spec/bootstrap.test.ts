// Decisions 2.8 and the bootstrap rows of the endpoint table: helper endpoints that mint tokens and write configs.
import { jwtVerify, decodeProtectedHeader } from 'jose';
import { createPublicKey } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { backendFor, completeBackends, forEachDeployment, startDeployment } from '../support/deployment.js';
import { programPath, startGateway, verifyWith } from '../support/gateway.js';
import { createKeyPair, type KeyKind } from '../support/keys.js';
import { McpCaller, rpc } from '../support/mcp-caller.js';
import { send, type HttpAnswer } from '../support/raw-http.js';
import { startRedis } from '../support/redis.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

async function getToken(origin: string, segment: string): Promise<HttpAnswer> {
  return send(origin, { method: 'GET', path: `/gw-rs/admin/tokens/${segment}`, headers: [] });
}

async function postConfig(
  origin: string,
  segment: string,
  body: string,
  contentType: string | null = 'application/json',
): Promise<HttpAnswer> {
  const headers = contentType === null ? [] : [['content-type', contentType] as const];
  return send(origin, { method: 'POST', path: `/gw-rs/admin/userconfigs/${segment}`, headers, body });
}

await forEachDeployment(t, { build: 'bootstrap' }, async (t, deployment) => {
  const { gateway, key } = deployment;

  await t.test('GET …/admin/tokens/{subject}: 200 text/plain, the token alone', async (t) => {
    const before = Math.floor(Date.now() / 1000);
    const answer = await getToken(gateway.origin, 'someone@example.com');
    t.equal(answer.status, 200);
    t.equal(answer.contentType, 'text/plain');
    t.match(answer.text, /^[\w-]+\.[\w-]+\.[\w-]+$/, 'not even a newline');
    const { payload } = await jwtVerify(answer.text, createPublicKey(key.publicKeyPem), {
      issuer: 'mcpgateway',
      audience: 'mcpgateway-api',
    });
    t.equal(payload.sub, 'someone@example.com');
    t.ok((payload.iat ?? 0) >= before && (payload.iat ?? 0) <= Date.now() / 1000);
    t.equal((payload.exp ?? 0) - (payload.iat ?? 0), 3600, 'one hour');
    t.type(payload.jti, 'string');
    t.equal(decodeProtectedHeader(answer.text).alg, 'RS256');
  });

  await t.test('each token has a jti of its own', async (t) => {
    const tokens = [await getToken(gateway.origin, 'a'), await getToken(gateway.origin, 'a')];
    t.not(tokens[0]?.text, tokens[1]?.text);
  });

  await t.test(
    'POST …/admin/userconfigs/{subject}: 202 text/plain Added, and the config is served by every worker',
    async (t) => {
      const backend = await backendFor(t, { tools: ['x'] });
      const subject = deployment.newSubject();
      const segment = encodeURIComponent(subject);
      const token = (await getToken(gateway.origin, segment)).text;
      const caller = new McpCaller(gateway.origin, gateway.path('v'), token);
      t.equal((await caller.initialize()).status, 400, 'no config yet');
      for (let round = 0; round < 10; round++) {
        const name = `b${round}`;
        const config = { virtual_hosts: { v: { backends: completeBackends({ [name]: { url: backend.url } }) } } };
        const answer = await postConfig(gateway.origin, segment, JSON.stringify(config));
        t.equal(answer.status, 202);
        t.equal(answer.contentType, 'text/plain');
        t.equal(answer.text, 'Added');
        // Each session is opened over a connection of its own, so that any worker may get it.
        const sessions = await Promise.all(Array.from({ length: 8 }, () => caller.openSession()));
        const lists = await Promise.all(sessions.map((session) => session.toolNames()));
        for (const names of lists) t.same(names, [`${name}-x`]);
        t.match(rpc(await sessions[0]!.call(`${name}-x`)), { result: {} });
      }
    },
  );

  await t.test('{subject} is percent-decoded', async (t) => {
    const caller = await deployment.caller();
    for (const subject of ['a b', 'ü😀', 'a/b', '100%', 'a+b', 'a%20b', '..', `x-${caller.subject}`]) {
      const own = `${subject} ${caller.subject}`;
      const segment = encodeURIComponent(own);
      const answer = await postConfig(gateway.origin, segment, '{"virtual_hosts":{"v":{"backends":{}}}}');
      t.equal(answer.status, 202, subject);
      const token = await deployment.token(own);
      t.equal((await caller.initialize({ token, path: gateway.path('v') })).status, 200, subject);
      const minted = (await getToken(gateway.origin, segment)).text;
      t.equal(
        (await caller.initialize({ token: minted, path: gateway.path('v') })).status,
        200,
        `minted for ${subject}`,
      );
    }
  });

  await t.test('a {subject} that cannot be decoded is refused, not guessed', async (t) => {
    for (const segment of ['%', '%ff', '%zz', '%ed%a0%80']) {
      t.equal((await getToken(gateway.origin, segment)).status, 400, segment);
      t.equal((await postConfig(gateway.origin, segment, '{"virtual_hosts":{}}')).status, 400, segment);
    }
  });

  await t.test('userconfigs: not JSON 400, wrong content type 415, wrong shape 422 naming the member', async (t) => {
    const subject = encodeURIComponent(deployment.newSubject());
    for (const body of ['', '{', '{"virtual_hosts":{}}x', "{'a':1}"]) {
      t.equal((await postConfig(gateway.origin, subject, body)).status, 400, JSON.stringify(body));
    }
    for (const contentType of ['text/plain', null, 'application/jsonx']) {
      const answer = await postConfig(gateway.origin, subject, '{"virtual_hosts":{}}', contentType);
      t.equal(answer.status, 415, String(contentType));
    }
    const wrong: Record<string, string> = {
      '{}': 'virtual_hosts',
      '{"virtual_hosts":[]}': 'virtual_hosts',
      '{"virtual_hosts":{"vh":{}}}': 'backends',
      '{"virtual_hosts":{"vh":{"backends":{"bb":{}}}}}': 'url',
      '{"virtual_hosts":{"vh":{"backends":{"bb":{"url":"ftp://x"}}}}}': 'url',
      '{"virtual_hosts":{"vh":{"backends":{"bb":{"url":"http://x/","transport":"X"}}}}}': 'transport',
      '{"virtual_hosts":{"vh":{"backends":{"bb":{"url":"http://x/","allowed_tool_names":7}}}}}': 'allowed_tool_names',
    };
    for (const [body, member] of Object.entries(wrong)) {
      const answer = await postConfig(gateway.origin, subject, body);
      t.equal(answer.status, 422, body);
      t.ok(answer.text.includes(member), `${answer.text} names ${member}`);
    }
    const token = await deployment.token(decodeURIComponent(subject));
    const caller = new McpCaller(gateway.origin, gateway.path('v'), token);
    t.equal((await caller.initialize()).status, 400, 'none of it was stored');
  });

  await t.test('userconfigs: a body over the limit is 413', async (t) => {
    const answer = await postConfig(gateway.origin, 'big', ' '.repeat(4 * 1024 * 1024 + 1));
    t.equal(answer.status, 413);
  });

  await t.test('the admin paths have no other methods', async (t) => {
    for (const [method, path] of [
      ['POST', '/gw-rs/admin/tokens/a'],
      ['DELETE', '/gw-rs/admin/tokens/a'],
      ['GET', '/gw-rs/admin/userconfigs/a'],
      ['GET', '/gw-rs/admin/tokens'],
      ['GET', '/gw-rs/admin/tokens/a/b'],
    ] as const) {
      const body = method === 'POST' ? { body: '{}' } : {};
      const answer = await send(gateway.origin, {
        method,
        path,
        headers: [['content-type', 'application/json']],
        ...body,
      });
      t.ok([404, 405].includes(answer.status), `${method} ${path}: ${answer.status}`);
    }
  });

  await t.test('a foreign Host or Origin is refused here too (X01)', async (t) => {
    for (const header of [['host', 'evil.example'] as const, ['origin', 'http://evil.example'] as const]) {
      const answer = await send(gateway.origin, { method: 'GET', path: '/gw-rs/admin/tokens/a', headers: [header] });
      t.equal(answer.status, 403, header.join(': '));
    }
  });

  await t.test('MCP requests need a token in this build too', async (t) => {
    const caller = await deployment.caller();
    t.equal((await caller.initialize({ token: null })).status, 401);
    t.equal((await caller.initialize()).status, 200);
  });

  await t.test('the start-up log says loudly that unauthenticated helper endpoints are on', async (t) => {
    const loud = gateway.logs.filter(({ msg }) => /unauthenticated/i.test(String(msg)));
    t.equal(loud.length, 1);
    t.ok(Number(loud[0]?.['level']) >= 40, 'as a warning at least');
  });
});

for (const kind of ['ec', 'ed25519'] as const satisfies readonly KeyKind[]) {
  await t.test(`the algorithm goes by the key: ${kind}`, async (t) => {
    const key = createKeyPair(t, kind);
    const gateway = await startGateway(t, {
      build: 'bootstrap',
      storeOptions: { kind: 'embedded', path: createScratchDirectory(t) },
      keyOptions: [...verifyWith(key), '--token-verification-private-key', key.privateKeyPath],
      options: ['--token-issuer', 'me', '--token-audience', 'you'],
    });
    const { text: token } = await getToken(gateway.origin, 's');
    t.equal(decodeProtectedHeader(token).alg, key.algorithm);
    const { payload } = await jwtVerify(token, createPublicKey(key.publicKeyPem), { issuer: 'me', audience: 'you' });
    t.equal(payload.sub, 's', 'with the configured issuer and audience');
    await postConfig(gateway.origin, 's', '{"virtual_hosts":{"v":{"backends":{}}}}');
    t.equal((await new McpCaller(gateway.origin, gateway.path('v'), token).initialize()).status, 200);
  });
}

await t.test('no private key configured: 500 that says so', async (t) => {
  const gateway = await startGateway(t, {
    build: 'bootstrap',
    storeOptions: { kind: 'embedded', path: createScratchDirectory(t) },
    keyOptions: verifyWith(createKeyPair(t)),
  });
  const answer = await getToken(gateway.origin, 's');
  t.equal(answer.status, 500);
  t.match(answer.text, /private key/i);
  t.equal(
    (await postConfig(gateway.origin, 's', '{"virtual_hosts":{}}')).status,
    202,
    'configs can be written without one',
  );
});

await t.test('userconfigs: the store key is the subject, and a store failure is 500', async (t) => {
  const redis = await startRedis(t);
  const deployment = await startDeployment(t, { build: 'bootstrap', workerCount: 2, storeOptions: redis.storeOptions });
  const { origin } = deployment.gateway;
  const config = '{"virtual_hosts":{"v":{"backends":{}}}}';
  t.equal((await postConfig(origin, 'a%20b', config)).status, 202);
  const connection = await redis.connect();
  t.same(JSON.parse((await connection.get('a b')) ?? 'null'), JSON.parse(config));
  await redis.kill();
  const answer = await postConfig(origin, 'a%20b', config);
  t.equal(answer.status, 500);
  t.equal(answer.contentType, 'text/plain');
  t.notMatch(answer.text, /127\.0\.0\.1/);
});

await t.test('the production build has neither the code nor the routes', async (t) => {
  const files = readdirSync(dirname(programPath('production')), { recursive: true }).map(String);
  t.ok(files.includes(join('worker', 'main.js')), 'it is the right folder');
  t.same(
    files.filter((file) => file.split('/').includes('bootstrap')),
    [],
  );
  const gateway = await startGateway(t, {
    storeOptions: { kind: 'embedded', path: createScratchDirectory(t) },
    keyOptions: [...verifyWith(createKeyPair(t)), '--token-verification-private-key', createKeyPair(t).privateKeyPath],
  });
  t.equal((await getToken(gateway.origin, 's')).status, 404);
  t.equal((await postConfig(gateway.origin, 's', '{"virtual_hosts":{}}')).status, 404);
  t.equal(gateway.logs.filter(({ msg }) => /unauthenticated/i.test(String(msg))).length, 0);
});
