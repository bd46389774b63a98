// Backends that require an access token, with a real authorization server: tokens for the client's own credentials, and tokens
// exchanged for the caller's. Two users call one backend under load while tokens expire and are revoked and callers get new ones.
// The backend verifies every token and compares its owner with the user, also in requests that it refuses.
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import { createPublicKey, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import t from 'tap';
import type { StoreOptions } from '../../src/config/table/store-options.js';
import { SecretKeys } from '../../src/credentials/secrets/secret-keys.js';
import { SecretRecords } from '../../src/credentials/secrets/secret-records.js';
import { openRecordStore } from '../../src/store/open-store.js';
import { startAuthorizationServer } from '../support/authorization-server.js';
import { writeConfig } from '../support/config-writer.js';
import { startGateway, verifyWith } from '../support/gateway.js';
import { createKeyPair } from '../support/keys.js';
import { startMcpBackend } from '../support/mcp-backend.js';
import { rpc, type McpCaller, type McpSession } from '../support/mcp-caller.js';
import { NamedCaller, WHO_HEADER } from '../support/named-caller.js';
import type { ReceivedRequest } from '../support/raw-backend.js';
import type { HttpAnswer } from '../support/raw-http.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { mint } from '../support/tokens.js';

const SCOPE = 'call';
const PATH = '/gw-rs/servers/v/mcp';
const SECRETS = { machine: 'machine-secret-8d21f0', exchanger: 'exchanger-secret-55c0aa' };

const key = createKeyPair(t);
const tokenOf = async (sub: string): Promise<string> =>
  mint({ sub, key: key.privateKey, algorithm: key.algorithm, claims: { jti: randomBytes(8).toString('hex') } });
const server = await startAuthorizationServer(t, {
  basic: ['machine', SECRETS.machine],
  post: ['exchanger', SECRETS.exchanger],
  ...{ scope: SCOPE, lifetimeSeconds: 3 },
  subjectOf: async (token) =>
    (await jwtVerify(token, createPublicKey(key.publicKeyPem), { audience: 'mcpgateway-api' })).payload.sub ?? '',
});
const keySet = createRemoteJWKSet(new URL(`${server.issuer}/jwks`));

/** The subject of each token that has verified at the backend: the client itself, or a user. */
const shown = new Map<string, string>();
const revoked = new Set<string>();
/** The number of requests that came with revoked tokens. */
let refusedCount = 0;
let foreignCount = 0;
/** The number of requests whose user was compared with the subject of the token. */
let comparedCount = 0;
const backend = await startMcpBackend({ tools: ['who'], withSessions: true, onRequest: check });
t.teardown(() => backend.close());

/** Runs before the token is verified: an expired or revoked token still names its subject. */
function compare(request: ReceivedRequest, token: string): void {
  const { sub } = decodeJwt(token);
  // The arguments name the user; the machine's calls have no such argument.
  const [, who] = /"who":"(\w+)"/.exec(request.body.toString()) ?? [];
  const user = request.headers[WHO_HEADER];
  const isUsers = sub !== 'machine' && user !== undefined;
  if (who !== undefined || isUsers) comparedCount += 1;
  if ((who !== undefined && who !== sub) || (isUsers && user !== sub)) foreignCount += 1;
}

async function check(request: ReceivedRequest): Promise<boolean> {
  const token = (request.headers['authorization'] ?? '').replace('Bearer ', '');
  try {
    compare(request, token);
    const { payload } = await jwtVerify(token, keySet, { issuer: server.issuer, audience: backend.url });
    const { sub = '', scope, jti = '' } = payload;
    shown.set(token, sub);
    if (revoked.has(jti)) refusedCount += 1;
    if (scope !== SCOPE || revoked.has(jti)) throw new Error('not allowed');
    return false;
  } catch {
    request.empty(401);
    return true;
  }
}

const storeOptions: StoreOptions = { kind: 'embedded', path: createScratchDirectory(t) };
const sealingKey = randomBytes(32).toString('base64');
const keyFile = join(createScratchDirectory(t), 'keys');
writeFileSync(keyFile, sealingKey);

async function setSecret(name: string, value: string, origins: readonly string[]): Promise<void> {
  const records = await openRecordStore(storeOptions, pino({ level: 'silent' }));
  const keys = new SecretKeys([sealingKey]);
  if (keys.sealingKey !== undefined)
    await new SecretRecords(records, keys).set(name, { value, origins }, keys.sealingKey);
  await records.close();
}

const origins = [server.issuer, new URL(backend.url).origin];
await setSecret('machine', SECRETS.machine, origins);
await setSecret('exchanger', SECRETS.exchanger, origins);
const client = { token_endpoint: server.tokenEndpoint, scope: SCOPE, resource: backend.url };
const machine = {
  ...{ type: 'oauth2-client-credentials', client_id: 'machine', client_secret: { secret: 'machine' } },
  ...client,
};
const exchange = {
  ...{ type: 'token-exchange', client_id: 'exchanger', client_secret: { secret: 'exchanger' } },
  ...{ client_authentication: 'post', ...client },
};
const { url } = backend;
const configOf = (backends: object, host: object = {}): object => ({ virtual_hosts: { v: { backends, ...host } } });
const passed = { url, passthrough_headers: [WHO_HEADER] };
const both = configOf(
  { machine: { ...passed, auth: machine }, own: { ...passed, auth: exchange } },
  { exposure: 'search' },
);
for (const user of ['alice', 'bob']) await writeConfig(storeOptions, user, both);
const gateway = await startGateway(t, {
  ...{ storeOptions, workerCount: 2, upstreamConnectionMode: 'plain-text-or-tls' as const },
  keyOptions: verifyWith(key),
  options: ['--secrets-key-file', keyFile, '--log-level', 'debug'],
});
const callerTokens: string[] = [];
const answers: string[] = [];

async function openSession(user: string): Promise<{ caller: McpCaller; session: McpSession }> {
  const token = await tokenOf(user);
  callerTokens.push(token);
  const caller = new NamedCaller(gateway.origin, PATH, token, user);
  return { caller, session: await caller.openSession() };
}

t.test('two users of one backend never get each other’s token, even when theirs expire or are revoked', async (t) => {
  let failures = 0;
  let calls = 0;
  let foreignAnswers = 0;
  const expiries = (user: string): number => [...shown.values()].filter((sub) => sub === user).length;
  const isEnough = (): boolean => [...['alice', 'bob'].map(expiries), expiries('machine')].every((count) => count >= 4);
  const endMs = performance.now() + 100_000;
  const load = async (user: string): Promise<void> => {
    const { caller, session } = await openSession(user);
    for (let i = 0; !(isEnough() && refusedCount > 0) && performance.now() < endMs; i++) {
      const args = `{"who":"${user}"}`;
      // Calls the tool directly, and through `call_tool`.
      const own = (): Promise<HttpAnswer> =>
        i % 4 === 0
          ? session.call('own-who', args)
          : session.call('call_tool', `{"name":"own-who","arguments":${args}}`);
      const machines = (): Promise<HttpAnswer> =>
        i % 4 === 1 ? session.call('machine-who') : session.call('call_tool', '{"name":"machine-who","arguments":{}}');
      const answer = await (i % 2 === 0 ? own() : machines());
      answers.push(answer.body.toString());
      calls += 1;
      const { result } = rpc(answer);
      if (result === undefined) failures += 1;
      else if (i % 2 === 0 && !JSON.stringify(result).includes(JSON.stringify(args).slice(1, -1))) foreignAnswers += 1;
      if (i % 40 === 39) {
        caller.token = await tokenOf(user);
        callerTokens.push(caller.token);
      }
      // Revokes every token issued so far, so that those in use are refused before they expire. Repeats if all of them had just expired.
      if (i % 60 === 59 && user === 'alice' && refusedCount === 0)
        for (const token of shown.keys()) revoked.add(String(decodeJwt(token).jti));
    }
  };
  await Promise.all(['alice', 'bob', 'alice', 'bob'].map(load));
  t.ok(isEnough(), `tokens have expired, in ${calls} calls`);
  t.equal(foreignCount, 0, 'nothing was asked with another user’s token, good or not');
  t.ok(comparedCount > calls / 2, `which was looked at ${comparedCount} times`);
  t.equal(foreignAnswers, 0, 'nor has anybody had another’s answer');
  t.equal(failures, 0, 'and none has failed');
  t.ok(refusedCount > 0, 'although some were revoked, and refused at first');
  t.same([...new Set(shown.values())].sort(), ['alice', 'bob', 'machine']);
  t.notOk(
    callerTokens.some((token) => shown.has(token)),
    'nobody’s token of the gateway reached the backend',
  );
  t.ok(server.requests.count < calls / 2, `${server.requests.count} tokens were asked for`);
});

t.test('the check above notices a token of another user, and a revoked one as well', async (t) => {
  const [bobs = ''] =
    [...shown].find(([token, sub]) => sub === 'bob' && revoked.has(String(decodeJwt(token).jti))) ?? [];
  const before = foreignCount;
  for (const [user, body] of [
    ['alice', '{}'],
    ['bob', '{"who":"alice"}'],
  ] as const) {
    const headers = { authorization: `Bearer ${bobs}`, [WHO_HEADER]: user };
    t.equal((await fetch(url, { method: 'POST', headers, body })).status, 401);
  }
  t.equal(foreignCount, before + 2);
  foreignCount = before;
});

t.test('a secret, and the tokens obtained with it, are not sent to hosts that it is not meant for', async (t) => {
  await setSecret('narrow', SECRETS.machine, [server.issuer]);
  await writeConfig(
    storeOptions,
    'carol',
    configOf({ b: { url, auth: { ...machine, client_secret: { secret: 'narrow' } } } }),
  );
  const { session } = await openSession('carol');
  t.match(rpc(await session.call('b-who')).error?.message, /may not be sent to its host/);
});

t.test(
  'a refused OAuth client is reported without its secret or a URL, and a corrected secret is obeyed at once',
  async (t) => {
    await setSecret('wrong', 'wrong-secret-4e7c', origins);
    await writeConfig(
      storeOptions,
      'dave',
      configOf({ b: { url, auth: { ...machine, client_secret: { secret: 'wrong' } } } }),
    );
    const { session } = await openSession('dave');
    const message = rpc(await session.call('b-who')).error?.message ?? '';
    t.match(message, /b.*authorization server refused.*\(invalid_client\)/);
    t.notMatch(message, /127\.0\.0\.1|wrong-secret/);
    await setSecret('wrong', SECRETS.machine, origins);
    t.match(
      rpc(await session.call('b-who')).result,
      { content: [{ type: 'text' }] },
      'a mended secret is obeyed at once',
    );
  },
);

t.test('an unreachable authorization server makes only its own backends unavailable, and delays nobody', async (t) => {
  await writeConfig(
    storeOptions,
    'erin',
    configOf({ b: { url, auth: { ...machine, scope: 'other' } }, plain: { url } }),
  );
  await server.close();
  const { session } = await openSession('erin');
  const message = rpc(await session.call('b-who')).error?.message ?? '';
  t.match(message, /no access token for it/);
  t.notMatch(message, /127\.0\.0\.1/);
});

t.test('no secret and no token is in a log, an answer or the store', async (t) => {
  const { path } = storeOptions as { path: string };
  const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const stored = files.map((file) => readFileSync(join(file.parentPath, file.name), 'latin1')).join();
  const logs = JSON.stringify(gateway.logs);
  const told = answers.join();
  const secrets = [...Object.values(SECRETS), 'wrong-secret-4e7c', sealingKey, ...callerTokens, ...shown.keys()];
  t.ok(secrets.length > 10 && stored.includes('secrets/machine'));
  for (const [place, text] of Object.entries({ stored, logs, told }))
    t.same(secrets.filter((secret) => text.includes(secret)).length, 0, place);
});
