// The gateway on a real Redis: over TLS in both modes, as a user with only the necessary rights, and through the loss of Redis.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { startControlPlane } from '../support/control-plane.js';
import { createCertificates } from '../support/certificates.js';
import { backendFor, Deployment, startDeployment } from '../support/deployment.js';
import { startProgram, verifyWith } from '../support/gateway.js';
import { createKeyPair } from '../support/keys.js';
import { rpc, type McpSession } from '../support/mcp-caller.js';
import { startRedis, type RedisServer } from '../support/redis.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { until } from '../support/until.js';

const USER = 'gateway';
const PASSWORD = 'a-secret-that-no-log-may-hold';
const RIGHTS = '+get +set +ping +subscribe +client|id +client|tracking';
const PROBLEM = 'Problem occurred retrieving the configuration';
const GRACE_MS = 5_000;
const WORKERS = 2;

/** A password file that ends with a newline, as editors write it. */
function passwordFile(t: Test, password: string): string {
  const path = join(createScratchDirectory(t), 'password');
  writeFileSync(path, `${password}\n`, { mode: 0o600 });
  return path;
}

for (const mode of ['tls', 'mtls'] as const) {
  t.test(`over ${mode}, with a user and a password file, the gateway serves and hears of changes`, async (t) => {
    const certificates = createCertificates(t);
    const users = [`${USER} on >${PASSWORD} ~* &__redis__:invalidate ${RIGHTS}`];
    const redis = await startRedis(t, { tls: { mode, certificates }, users });
    const key = createKeyPair(t);
    const words = ['dataplane', '--address', '127.0.0.1:0', '--number-of-cpus', String(WORKERS), ...verifyWith(key)];
    words.push('--upstream-connection-mode', 'plain-text-or-tls', '--admin-address', '127.0.0.1:0');
    words.push('--redis-address', redis.host, '--redis-port', String(redis.port), '--redis-mode', mode);
    words.push('--redis-tls-trust-bundle', certificates.authority.certificatePath);
    if (mode === 'mtls') {
      words.push('--redis-tls-client-certificate', certificates.client.certificatePath);
      words.push('--redis-tls-client-private-key', certificates.client.privateKeyPath);
    }
    words.push('--redis-username', USER, '--redis-password-file', passwordFile(t, PASSWORD));
    const gateway = await startProgram(t, words);
    const deployment = new Deployment(mode, WORKERS, redis.storeOptions, key, gateway);

    const backend = await backendFor(t, { tools: ['a', 'b'] });
    const caller = await deployment.caller({ one: { url: backend.url } });
    const session = await caller.openSession();
    t.same(await session.toolNames(), ['one-a', 'one-b']);
    t.match(rpc(await session.call('one-a', '{"n":1}')), { result: { structuredContent: { n: 1 } } });
    await caller.configure({ one: { url: backend.url, allowed_tool_names: ['b'] } });
    await until(async () => (await session.toolNames()).join() === 'one-b', 'the change to be heard of');
    const { address } = await gateway.waitForLog(({ msg }) => msg === 'admin listener');
    const page = await (await fetch(`http://${String(address)}/metrics`)).text();
    t.match(page, /^switchyard_store_invalidations_total [1-9]/m, 'and is counted');

    const connections = String(await (await redis.connect()).call('CLIENT', 'LIST'));
    const own = connections.split('\n').filter((line) => line.includes(` user=${USER} `));
    t.equal(own.length, 2 * WORKERS, 'two connections for each worker, all of that user');
    t.notMatch(JSON.stringify(gateway.logs) + gateway.errorOutput, PASSWORD);
  });
}

t.test('a wrong password is logged, kept secret, and gives 500', async (t) => {
  const redis = await startRedis(t, { users: [`${USER} on >${PASSWORD} ~* &* +@all`] });
  const wrong = `${PASSWORD}-not`;
  const deployment = await startDeployment(t, {
    workerCount: 1,
    storeOptions: redis.storeOptions,
    options: ['--redis-username', USER, '--redis-password-file', passwordFile(t, wrong)],
  });
  await deployment.gateway.waitForLog(({ reason }) => /WRONGPASS/.test(String(reason)));
  const answer = await (await deployment.caller()).initialize();
  t.same([answer.status, answer.text], [500, PROBLEM]);
  t.notMatch(JSON.stringify(deployment.gateway.logs), PASSWORD);
});

t.test('a lost Redis: known subjects are served for the grace, then none, and all again when it is back', async (t) => {
  const redis = await startRedis(t);
  const { known, unknown, session } = await startWithOneKnown(t, redis);
  // Measured before the kill: on a busy machine the gateway notices the loss well before this process does.
  const killedAtMs = performance.now();
  await redis.kill();
  t.match(await callOnce(session), { result: { structuredContent: { n: 1 } } }, 'in an open session');
  t.equal((await known.initialize()).status, 200, 'in a new session');
  await t.test('a subject whose config is not known gets 500', async (t) => {
    const answer = await unknown.initialize();
    t.same([answer.status, answer.contentType, answer.text], [500, 'text/plain', PROBLEM]);
  });

  let servedCount = 0;
  await until(async () => {
    const { status, text } = await session.call('one-echo', '{"n":2}');
    if (status === 200) servedCount++;
    else t.same([status, text], [500, PROBLEM]);
    return status !== 200;
  }, 'the end of the grace');
  t.ok(performance.now() - killedAtMs >= GRACE_MS, 'not before the grace is over');
  t.ok(servedCount > 0);
  t.equal((await known.initialize()).status, 500);
  t.equal((await unknown.initialize()).status, 500);

  await redis.start();
  await until(async () => (await unknown.initialize()).status === 200, 'the gateway to find the Redis again');
  t.match(await callOnce(session), { result: { structuredContent: { n: 1 } } }, 'the session lived through it');
  t.equal((await known.initialize()).status, 200);
  await known.configure({});
  await until(async () => (await session.toolNames()).length === 0, 'changes to be heard of again');
});

t.test('what changed while Redis was away is seen when it is back', async (t) => {
  const redis = await startRedis(t);
  const { known, session } = await startWithOneKnown(t, redis);
  await redis.kill();
  t.match(await callOnce(session), { result: { structuredContent: { n: 1 } } });
  await redis.start();
  await known.configure({});
  await until(async () => (await session.toolNames()).length === 0, 'the new config');
});

t.test('a frozen Redis is treated as lost: no request hangs', async (t) => {
  const redis = await startRedis(t);
  const { unknown, session } = await startWithOneKnown(t, redis);
  redis.pause();
  t.teardown(() => redis.resume());
  const answers = await Promise.all(Array.from({ length: 20 }, () => unknown.initialize()));
  for (const { status, text } of answers) t.same([status, text], [500, PROBLEM]);
  const { status } = await session.call('one-echo', '{"n":1}');
  t.ok(status === 200 || status === 500, 'the known one is answered too');
  redis.resume();
  await until(async () => (await unknown.initialize()).status === 200, 'the gateway to find the Redis again');
  t.match(await callOnce(session), { result: { structuredContent: { n: 1 } } });
});

/** One worker, because each worker has its own known configs: one subject that it has read, and one that it has not. */
async function startWithOneKnown(t: Test, redis: RedisServer) {
  const deployment = await startDeployment(t, {
    workerCount: 1,
    storeOptions: redis.storeOptions,
    options: ['--redis-stale-grace', `${GRACE_MS}ms`],
  });
  const backend = await backendFor(t);
  const known = await deployment.caller({ one: { url: backend.url } });
  const unknown = await deployment.caller({ one: { url: backend.url } });
  const session = await known.openSession();
  return { known, unknown, session };
}

async function callOnce(session: McpSession): Promise<unknown> {
  return rpc(await session.call('one-echo', '{"n":1}'));
}

t.test('while Redis is lost, each place says what is used in its place, and until when', async (t) => {
  const redis = await startRedis(t);
  const deployment = await startDeployment(t, {
    workerCount: 2,
    storeOptions: redis.storeOptions,
    options: ['--redis-stale-grace', '10m', '--admin-address', '127.0.0.1:0'],
  });
  const controlPlane = await startControlPlane(t, { storeOptions: redis.storeOptions, key: deployment.key });
  const caller = await deployment.caller({});
  for (let round = 0; round < 20; round++) await caller.initialize();
  const { address } = await deployment.gateway.waitForLog(({ msg }) => msg === 'admin listener');
  const ask = async (path: string): Promise<unknown> => (await fetch(`http://${String(address)}${path}`)).json();
  const { subject, virtualHostId } = caller;
  const explain = async (): Promise<unknown> =>
    ask(`/explain?${new URLSearchParams({ subject, virtual_host: virtualHostId }).toString()}`);
  const { degraded } = (await ask('/ready')) as { readonly degraded: unknown };
  t.strictSame(degraded, []);
  t.match(await explain(), { workers: [{ config: 'read', kept: undefined }, { config: 'read' }] });
  const missing = async (): Promise<unknown> => ask('/explain?subject=nobody&virtual_host=v');
  t.match(await missing(), { workers: [{ config: 'missing', kept: undefined }, { config: 'missing' }] });

  const beforeMs = Date.now();
  await redis.kill();
  let ready: Ready = { status: '', degraded: [] };
  await until(async () => {
    ready = (await ask('/ready')) as Ready;
    return ready.degraded.flatMap(({ slots }) => slots).length === 2;
  }, 'both workers to notice');
  t.equal(ready.status, 'ready', 'known users are served');
  const isInTime = (text: string): boolean => {
    const leftMs = Date.parse(text) - beforeMs;
    return leftMs >= 599_000 && leftMs < 660_000;
  };
  for (const { code, message } of ready.degraded) {
    t.equal(code, 'store-unreachable');
    const [, until = ''] =
      /^Redis is lost: .*; known user configs are used until (\S+), other users get 500$/.exec(message) ?? [];
    t.ok(isInTime(until), message);
  }
  const { workers } = (await explain()) as { readonly workers: readonly Kept[] };
  for (const { config, kept } of workers) {
    t.equal(config, 'kept');
    t.ok(Date.parse(kept.readAt) <= beforeMs && isInTime(kept.usedUntil), JSON.stringify(kept));
  }
  t.match(await missing(), { workers: [{ config: 'missing', kept: { usedUntil: /Z$/ } }, { config: 'missing' }] });
  const stranger = await controlPlane.caller(t);
  await until(async () => (await stranger.get('/servers')).status === 503, 'the control plane to notice');
  await controlPlane.program.waitForLog(({ msg }) => msg === 'not ready');

  await redis.start();
  await until(async () => ((await ask('/ready')) as Ready).degraded.length === 0, 'Redis to be found again');
  await caller.initialize();
  await until(async () => !JSON.stringify(await explain()).includes('kept'), 'the config to be read again');
  for (const { logs } of [deployment.gateway, controlPlane.program]) t.notMatch(JSON.stringify(logs), /"stack"/);
});

t.test('a control plane without its Redis says why in one line each, without a stack trace', async (t) => {
  const redis = await startRedis(t);
  await redis.kill();
  const { program } = await startControlPlane(t, { storeOptions: redis.storeOptions });
  const { err } = await program.waitForLog(({ msg }) => msg === 'the check of all compositions failed');
  t.match(err, { message: /^the Redis at .* cannot be reached: connect ECONNREFUSED/ });
  t.notMatch(JSON.stringify(program.logs), /"stack"|\bat .*\.js:/);
});

interface Ready {
  readonly status: string;
  readonly degraded: readonly { readonly code: string; readonly message: string; readonly slots: readonly number[] }[];
}

interface Kept {
  readonly config: string;
  readonly kept: { readonly readAt: string; readonly usedUntil: string };
}
