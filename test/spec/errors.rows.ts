// The error table of the service specification, row by row, with the reasons that section 2.2 adds to the rows.
import t, { type Test } from 'tap';
import { type ConfiguredCaller, forEachDeployment } from '../support/deployment.js';
import { startGateway } from '../support/gateway.js';
import { createKeyPair, type KeyPair } from '../support/keys.js';
import { INITIALIZE_PARAMS, McpCaller } from '../support/mcp-caller.js';
import { send, type HeaderList, type HttpAnswer } from '../support/raw-http.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { mint, mintUnsigned } from '../support/tokens.js';
import { until } from '../support/until.js';

const CONFIG_PROBLEM = 'Problem occurred retrieving the configuration';
const METHODS = ['POST', 'DELETE'] as const;
const UNREACHED = { backend: { url: 'http://127.0.0.1:9/mcp' } };

const otherKeys = { rsa: createKeyPair(t), ec: createKeyPair(t, 'ec'), ed25519: createKeyPair(t, 'ed25519') };

await forEachDeployment(t, {}, async (t, deployment) => {
  const { key } = deployment;

  await t.test('401: the reason is given as missing, invalid or expired, and no more precisely', async (t) => {
    const caller = await deployment.caller(UNREACHED);
    const bodies = new Map<string, Set<string>>();
    for (const [reason, kind, headers] of await refusedAuthorizations(caller, key)) {
      for (const method of METHODS) {
        const answer = await sendAuthorized(caller, method, headers);
        checkUnauthorized(t, answer, `${method}, ${reason}`);
        const seen = bodies.get(kind) ?? new Set();
        bodies.set(kind, seen.add(`${answer.text} ${answer.header('www-authenticate')}`));
      }
    }
    for (const [kind, seen] of bodies) t.equal(seen.size, 1, `every reason of kind ${kind} has the same bytes`);
    t.match([...(bodies.get('missing') ?? [])][0], /"detail":"[^"]*missing/);
    t.match([...(bodies.get('expired') ?? [])][0], /"detail":"[^"]*expired/);
    t.match([...(bodies.get('invalid') ?? [])][0], /"detail":"[^"]*invalid/);
  });

  await t.test('401 is not the answer to a valid token', async (t) => {
    const caller = await deployment.caller(UNREACHED);
    t.equal((await caller.initialize()).status, 200, 'in the usual form');
    const lowerCase: HeaderList = [['authorization', `bearer ${caller.token}`]];
    t.equal((await sendAuthorized(caller, 'POST', lowerCase)).status, 200, 'the scheme has no case (RFC 9110 11.1)');
    const audiences = await deployment.token(caller.subject, { aud: ['another', 'mcpgateway-api'] });
    t.equal((await caller.initialize({ token: audiences })).status, 200, 'one of several audiences is enough');
    const moreClaims = await deployment.token(caller.subject, { claims: { jti: '1', scope: 'x', nbf: 0 } });
    t.equal((await caller.initialize({ token: moreClaims })).status, 200, 'other claims are no matter');
  });

  await t.test('401: a token that expires while it is in use is refused from then on', async (t) => {
    const caller = await deployment.caller(UNREACHED);
    const token = await deployment.token(caller.subject, { expiresInSeconds: 2 });
    t.equal((await caller.initialize({ token })).status, 200, 'accepted, and remembered, while it lives');
    let answer = await caller.initialize({ token });
    await until(async () => {
      if (answer.status === 200) answer = await caller.initialize({ token });
      return answer.status !== 200;
    }, 'its end');
    checkUnauthorized(t, answer, 'once expired');
    t.match(answer.text, /expired/);
  });

  for (const method of METHODS) {
    await t.test(`400: ${method} when the store holds no config for the subject`, async (t) => {
      const caller = await deployment.caller(UNREACHED);
      const token = await deployment.token(deployment.newSubject());
      checkConfigProblem(t, await caller.send({ method, token, body: '{}' }), 400);
    });

    await t.test(`400: ${method} when the value under the subject is empty`, async (t) => {
      const caller = await deployment.caller(UNREACHED);
      await deployment.writeRawConfig(caller.subject, Buffer.alloc(0));
      checkConfigProblem(t, await caller.send({ method, body: '{}' }), 400);
    });

    await t.test(`500: ${method} when the stored config cannot be decoded`, async (t) => {
      const undecodable = {
        'not JSON': '{"virtual_hosts":',
        'not an object': '[]',
        'not of the schema': '{"virtual_hosts":[]}',
        'not UTF-8': Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
      };
      for (const [fault, bytes] of Object.entries(undecodable)) {
        const caller = await deployment.caller(UNREACHED);
        await deployment.writeRawConfig(caller.subject, Buffer.from(bytes));
        checkConfigProblem(t, await caller.send({ method, body: '{}' }), 500, fault);
      }
    });

    await t.test(`500: ${method} when the subject cannot be encoded as a store key`, async (t) => {
      const caller = await deployment.caller(UNREACHED);
      // The keys of the gateway's own records begin with the last surrogate.
      const likeRecords = ['\udfff', '\udfffservers/a', '\udfffsecrets/a', `\udfff${'x'.repeat(2_000)}`];
      for (const sub of ['\ud800', 'a\udfffb', '\udc00\ud800', ...likeRecords]) {
        const token = await deployment.token(sub);
        checkConfigProblem(
          t,
          await caller.send({ method, token, body: '{}' }),
          500,
          `lone surrogate in ${JSON.stringify(sub)}`,
        );
      }
      t.equal((await caller.initialize()).status, 200, 'the others are served as before');
    });

    await t.test(`404: ${method} when the virtual host is absent from the config`, async (t) => {
      const caller = await deployment.caller(UNREACHED);
      for (const id of [
        deployment.newVirtualHostId(),
        'x',
        '__proto__',
        'constructor',
        caller.virtualHostId.slice(1),
      ]) {
        const answer = await caller.send({ method, path: deployment.gateway.path(id), body: '{}' });
        t.equal(answer.status, 404, id);
        t.equal(answer.contentType, 'application/json');
        t.equal(answer.text, '{"detail":"Server not found"}');
      }
    });
  }

  await t.test("404: another user's virtual host is answered like one that does not exist", async (t) => {
    const [caller, other] = [await deployment.caller(UNREACHED), await deployment.caller(UNREACHED)];
    const answer = await caller.initialize({ path: other.path });
    t.equal(answer.status, 404);
    t.equal(answer.text, '{"detail":"Server not found"}');
  });

  await t.test('a refused initialize carries no session id', async (t) => {
    const caller = await deployment.caller(UNREACHED);
    const unconfigured = await deployment.token(deployment.newSubject());
    const refused = [
      await caller.initialize({ token: null }),
      await caller.initialize({ token: unconfigured }),
      await caller.initialize({ path: deployment.gateway.path('absent') }),
    ];
    t.same(
      refused.map(({ status }) => status),
      [401, 400, 404],
    );
    for (const answer of refused) t.equal(answer.header('mcp-session-id'), undefined);
  });
});

await t.test('401: no decoder key is configured', async (t) => {
  const gateway = await startGateway(t, { storeOptions: { kind: 'embedded', path: createScratchDirectory(t) } });
  // If uWebSockets.js does not load, there is a warning about that too, which does not count here.
  const warnings = gateway.logs.filter(
    ({ level, msg }) => level === 40 && !/^listening with node:http/.test(String(msg)),
  );
  t.equal(warnings.length, 1, 'it starts, and warns once');
  const { privateKey, algorithm, publicKeyPem } = otherKeys.rsa;
  const tokens = [
    await mint({ sub: 's', key: privateKey, algorithm }),
    await mint({ sub: 's', key: Buffer.from(publicKeyPem), algorithm: 'HS256' }),
    mintUnsigned({ sub: 's', iss: 'mcpgateway', aud: 'mcpgateway-api', exp: 4_000_000_000 }),
  ];
  for (const token of tokens) {
    const caller = new McpCaller(gateway.origin, gateway.path('x'), token);
    for (const method of METHODS) checkUnauthorized(t, await caller.send({ method, body: '{}' }), method);
  }
});

/** Every way in which an `authorization` header is refused: the reason, the kind of reason that a caller may learn, and the header. */
async function refusedAuthorizations(
  caller: ConfiguredCaller,
  key: KeyPair,
): Promise<readonly (readonly [reason: string, kind: 'missing' | 'not-bearer' | 'invalid' | 'expired', HeaderList])[]> {
  const { subject, deployment } = caller;
  const bearer = (token: string): HeaderList => [['authorization', `Bearer ${token}`]];
  const minted = async (overrides: Parameters<typeof deployment.token>[1]): Promise<HeaderList> =>
    bearer(await deployment.token(subject, overrides));
  const signature = caller.token.slice(caller.token.lastIndexOf('.') + 1);
  const unsigned = caller.token.slice(0, -signature.length);
  const claims = { sub: subject, iss: 'mcpgateway', aud: 'mcpgateway-api', exp: 4_000_000_000 };
  return [
    ['token missing', 'missing', []],
    ['not Bearer', 'not-bearer', [['authorization', 'Basic dXNlcjpwYXNzd29yZA==']]],
    ['not Bearer, with a valid token', 'not-bearer', [['authorization', `Token ${caller.token}`]]],
    ['a valid token without a scheme', 'not-bearer', [['authorization', caller.token]]],
    ['not a JWT', 'invalid', bearer('abc')],
    ['not a JWS', 'invalid', bearer('a.b.c')],
    ['bad signature: of another key', 'invalid', await minted({ key: otherKeys.rsa.privateKey })],
    ['bad signature: changed', 'invalid', bearer(unsigned + flipFirst(signature))],
    ['bad signature: cut off', 'invalid', bearer(unsigned)],
    ['bad signature and expired', 'invalid', await minted({ key: otherKeys.rsa.privateKey, expiresInSeconds: -60 })],
    ['wrong algorithm: unsigned', 'invalid', bearer(mintUnsigned(claims))],
    ['wrong algorithm: EC', 'invalid', await minted({ key: otherKeys.ec.privateKey, algorithm: 'ES256' })],
    ['wrong algorithm: Ed25519', 'invalid', await minted({ key: otherKeys.ed25519.privateKey, algorithm: 'EdDSA' })],
    [
      'wrong algorithm: HMAC with the public key as its secret',
      'invalid',
      await minted({ key: Buffer.from(key.publicKeyPem), algorithm: 'HS256' }),
    ],
    ['expired', 'expired', await minted({ expiresInSeconds: -60 })],
    ['no exp', 'invalid', await minted({ expiresInSeconds: null })],
    ['exp is not a number', 'invalid', await minted({ claims: { exp: '4000000000' } })],
    ['not valid yet (X05)', 'invalid', await minted({ claims: { nbf: 3_900_000_000 } })],
    ['wrong iss', 'invalid', await minted({ iss: 'someone-else' })],
    ['no iss', 'invalid', await minted({ iss: null })],
    ['wrong aud', 'invalid', await minted({ aud: 'someone-else' })],
    ['wrong aud in a list', 'invalid', await minted({ aud: ['someone', 'else'] })],
    ['no aud', 'invalid', await minted({ aud: null })],
    ['no sub', 'invalid', await minted({ sub: null })],
    ['sub is not a string', 'invalid', await minted({ claims: { sub: 7 } })],
  ];
}

/** Sends a request that only its `authorization` header can get refused. */
async function sendAuthorized(caller: ConfiguredCaller, method: string, headers: HeaderList): Promise<HttpAnswer> {
  const body = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":${INITIALIZE_PARAMS}}`;
  return send(caller.origin, caller.request({ method, token: null, headers, body }));
}

function checkUnauthorized(t: Test, answer: HttpAnswer, reason: string): void {
  t.equal(answer.status, 401, reason);
  t.match(answer.header('www-authenticate'), /^Bearer( |$)/, `${reason}: challenge`);
  t.equal(answer.contentType, 'application/json', reason);
  t.same(Object.keys(answer.json() as object), ['detail'], `${reason}: shape`);
  const words = `${answer.text} ${answer.header('www-authenticate')}`;
  t.notMatch(words, /issuer|audience|signature|algorithm|subject|claim|key|\b(iss|aud|alg|sub|RS256|PEM)\b/i, reason);
}

function checkConfigProblem(t: Test, answer: HttpAnswer, status: 400 | 500, reason = ''): void {
  t.equal(answer.status, status, reason);
  t.equal(answer.contentType, 'text/plain', reason);
  t.equal(answer.text, CONFIG_PROBLEM, reason);
}

function flipFirst(base64url: string): string {
  return (base64url.startsWith('A') ? 'B' : 'A') + base64url.slice(1);
}
