// `--redis-*` (decisions section 1) and the store rows of the error table that need a Redis of their own.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { createCertificates } from '../support/certificates.js';
import { Deployment } from '../support/deployment.js';
import { startProgram, verifyWith } from '../support/gateway.js';
import { createKeyPair } from '../support/keys.js';
import { McpCaller } from '../support/mcp-caller.js';
import type { HttpAnswer } from '../support/raw-http.js';
import { startRedis, type RedisServer } from '../support/redis.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { until } from '../support/until.js';

const CONFIG_PROBLEM = 'Problem occurred retrieving the configuration';
const key = createKeyPair(t);
const certificates = createCertificates(t);
const { authority, client } = certificates;

/** A gateway on a Redis, started with exactly these options besides its address and port. */
async function deploy(t: Test, redis: RedisServer, options: readonly string[], workerCount = 1): Promise<Deployment> {
  const reach = ['--redis-address', redis.host, '--redis-port', String(redis.port), ...options];
  const listen = ['--address', '127.0.0.1:0', '--number-of-cpus', String(workerCount)];
  const gateway = await startProgram(t, [...listen, ...reach, ...verifyWith(key)]);
  return new Deployment('Redis', workerCount, redis.storeOptions, key, gateway);
}

function checkStoreError(t: Test, answer: HttpAnswer, what: string): void {
  t.equal(answer.status, 500, what);
  t.equal(answer.contentType, 'text/plain', what);
  t.equal(answer.text, CONFIG_PROBLEM, what);
}

t.jobs = 3;

void t.test('--redis-mode plain-text', async (t) => {
  const deployment = await deploy(t, await startRedis(t), ['--redis-mode', 'plain-text']);
  t.equal((await (await deployment.caller()).initialize()).status, 200);
});

void t.test('--redis-mode: tls by default, which a plain-text Redis does not speak', async (t) => {
  const deployment = await deploy(t, await startRedis(t), []);
  checkStoreError(t, await (await deployment.caller()).initialize(), 'no fall-back to plain text');
});

void t.test('--redis-mode tls with --redis-tls-trust-bundle', async (t) => {
  const redis = await startRedis(t, { tls: { mode: 'tls', certificates } });
  const trust = ['--redis-tls-trust-bundle', authority.certificatePath];
  for (const options of [trust, ['--redis-mode', 'tls', ...trust]]) {
    const deployment = await deploy(t, redis, options);
    t.equal((await (await deployment.caller()).initialize()).status, 200, options.join(' '));
  }
  const untrusting = await deploy(t, redis, ['--redis-mode', 'tls']);
  checkStoreError(t, await (await untrusting.caller()).initialize(), "the system's authorities do not vouch for it");
});

void t.test('--redis-mode mtls with a client certificate', async (t) => {
  const redis = await startRedis(t, { tls: { mode: 'mtls', certificates } });
  const trust = ['--redis-tls-trust-bundle', authority.certificatePath];
  const files = [
    '--redis-tls-client-certificate',
    client.certificatePath,
    '--redis-tls-client-private-key',
    client.privateKeyPath,
  ];
  const deployment = await deploy(t, redis, ['--redis-mode', 'mtls', ...trust, ...files]);
  t.equal((await (await deployment.caller()).initialize()).status, 200);
  const without = await deploy(t, redis, ['--redis-mode', 'tls', ...trust]);
  checkStoreError(t, await (await without.caller()).initialize(), 'without a certificate the Redis refuses');
});

void t.test('--redis-username and --redis-password-file', async (t) => {
  const users = ['gateway on >right-password ~* &* +@all', 'other on >other-password ~* &* +@all'];
  const redis = await startRedis(t, { users });
  const passwordFile = (password: string): string => {
    const path = join(createScratchDirectory(t), 'password');
    writeFileSync(path, password);
    return path;
  };
  const plain = ['--redis-mode', 'plain-text', '--redis-username', 'gateway', '--redis-password-file'];
  for (const text of ['right-password', 'right-password\n']) {
    const deployment = await deploy(t, redis, [...plain, passwordFile(text)]);
    t.equal((await (await deployment.caller()).initialize()).status, 200, JSON.stringify(text));
  }
  const wrong = await deploy(t, redis, [...plain, passwordFile('other-password')]);
  checkStoreError(t, await (await wrong.caller()).initialize(), 'the wrong password');
  t.notMatch(JSON.stringify(wrong.gateway.logs), /other-password/, 'the password is never logged');
});

for (const workerCount of [1, 4]) {
  void t.test(`500: the store is lost; ${workerCount} worker(s)`, async (t) => {
    const redis = await startRedis(t);
    const options = ['--redis-mode', 'plain-text', '--redis-stale-grace', '3s'];
    const deployment = await deploy(t, redis, options, workerCount);
    const caller = await deployment.caller();
    // Every worker has seen the config before the store goes.
    for (let round = 0; round < 6 * workerCount; round++) t.equal((await caller.initialize()).status, 200);
    const stranger = await deployment.token(deployment.newSubject());

    await redis.kill();
    checkStoreError(t, await caller.initialize({ token: stranger }), 'a config that nobody knows: at once');
    t.equal((await caller.initialize()).status, 200, 'the last known config serves for a bounded time');
    // Each worker counts the grace for itself, from when it noticed the loss.
    const isOver = async (): Promise<boolean> => {
      for (let round = 0; round < 6 * workerCount; round++) {
        if ((await caller.initialize()).status === 200) return false;
      }
      return true;
    };
    await until(isOver, 'the end of that time at every worker');
    checkStoreError(t, await caller.initialize(), 'then it does not');
    checkStoreError(t, await caller.send({ method: 'DELETE' }), 'for DELETE neither');

    await redis.start();
    await until(async () => (await caller.initialize()).status === 200, 'the gateway to find the store again');
    // Each worker reconnects by itself, so some may still be without the store.
    const isMissing = async (): Promise<boolean> => (await caller.initialize({ token: stranger })).status === 400;
    await until(isMissing, 'what is missing to be missing again');
  });
}

void t.test('the store key is the subject, exactly, and the value is JSON (specification 2.7)', async (t) => {
  const redis = await startRedis(t);
  const deployment = await deploy(t, redis, ['--redis-mode', 'plain-text'], 4);
  const connection = await redis.connect();
  for (const subject of ['someone@example.com', 'ü 😀', 'a:b:*', '\u0000']) {
    const token = await deployment.token(subject);
    const caller = new McpCaller(deployment.gateway.origin, deployment.gateway.path('v'), token);
    const statusIs = async (status: number): Promise<void> =>
      until(async () => (await caller.initialize()).status === status, `${status} for ${JSON.stringify(subject)}`);
    await statusIs(400);
    await connection.set(subject, '{"virtual_hosts":{"v":{"backends":{}}}}');
    await statusIs(200);
    await connection.set(subject, 'no JSON');
    await statusIs(500);
    await connection.del(subject);
    await statusIs(400);
    await connection.rpush(subject, 'a list, not a string');
    await statusIs(500);
  }
  t.pass('each change was seen');
});

void t.test('500: the store does not answer', async (t) => {
  const redis = await startRedis(t);
  const deployment = await deploy(t, redis, ['--redis-mode', 'plain-text', '--redis-stale-grace', '0ms']);
  const caller = await deployment.caller();
  t.equal((await caller.initialize()).status, 200);
  redis.pause();
  const stranger = await deployment.token(deployment.newSubject());
  checkStoreError(t, await caller.initialize({ token: stranger }), 'in the time that a test waits');
  redis.resume();
  await until(async () => (await caller.initialize({ token: stranger })).status === 400, 'the store to be back');
});

void t.test('a store that is not there yet: the gateway starts, and serves once it is', async (t) => {
  const redis = await startRedis(t);
  await redis.kill();
  const deployment = await deploy(t, redis, ['--redis-mode', 'plain-text']);
  const token = await deployment.token('someone');
  const caller = new McpCaller(deployment.gateway.origin, deployment.gateway.path('v'), token);
  checkStoreError(t, await caller.initialize(), 'without its store');
  await redis.start();
  await until(async () => (await caller.initialize()).status === 400, 'the gateway to find the store');
});
