// Decisions section 1: the commands, the environment, how wrong options are reported, and each dataplane option that
// no other file of this folder is about (access-log, answers, drain, failure, redis-options, session-idle, tls-listener,
// token-keys, upstream-mode).
import { decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import { createPublicKey } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { defaultWorkerCount } from '../../src/config/machine-memory.js';
import { writeConfig } from '../support/config-writer.js';
import { completeBackends } from '../support/deployment.js';
import { launchProgram, runProgram, startGateway, startProgram, verifyWith } from '../support/gateway.js';
import { findFreePort } from '../support/free-port.js';
import { createKeyPair, type KeyKind } from '../support/keys.js';
import { McpCaller } from '../support/mcp-caller.js';
import { send } from '../support/raw-http.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { mint } from '../support/tokens.js';
import { until } from '../support/until.js';

const EXIT_USAGE = 64;
const key = createKeyPair(t);

async function healthStatus(origin: string, path = '/gw-rs/health'): Promise<number> {
  return (await send(origin, { method: 'GET', path, headers: [] })).status;
}

/** Writes a config of one virtual host `v` without backends. Returns a caller of it. */
async function configuredCaller(
  storePath: string,
  origin: string,
  path = '/gw-rs/servers/v/mcp',
  claims: Partial<Parameters<typeof mint>[0]> = {},
): Promise<McpCaller> {
  await writeConfig({ kind: 'embedded', path: storePath }, 'subject', {
    virtual_hosts: { v: { backends: completeBackends({}) } },
  });
  const token = await mint({ sub: 'subject', key: key.privateKey, algorithm: key.algorithm, ...claims });
  return new McpCaller(origin, path, token);
}

t.jobs = 3;

void t.test('switchyard dataplane, and no sub-command: the dataplane', async (t) => {
  for (const words of [['dataplane'], []]) {
    const store = ['--store-path', createScratchDirectory(t)];
    const gateway = await startProgram(t, [...words, '--address', '127.0.0.1:0', '--number-of-cpus', '1', ...store]);
    t.equal(await healthStatus(gateway.origin), 200, words[0] ?? 'none');
  }
});

void t.test('an unknown command is refused', async (t) => {
  const run = await runProgram(['dateplane']);
  t.equal(run.code, EXIT_USAGE);
  t.match(run.errorOutput, /dateplane/);
});

for (const kind of ['rsa', 'ec', 'ed25519'] as const satisfies readonly KeyKind[]) {
  void t.test(`switchyard token: mints with the private key, ${kind}, and prints only the token`, async (t) => {
    const pair = createKeyPair(t, kind);
    const keyWords = ['--token-verification-private-key', pair.privateKeyPath];
    const run = await runProgram(['token', '--subject', 'a b@example.com', ...keyWords]);
    t.equal(run.code, 0, run.errorOutput);
    t.equal(run.errorOutput, '');
    t.match(run.output, /^[\w-]+\.[\w-]+\.[\w-]+\n?$/, 'only the token');
    const token = run.output.trim();
    const verified = await jwtVerify(token, createPublicKey(pair.publicKeyPem), {
      issuer: 'mcpgateway',
      audience: 'mcpgateway-api',
    });
    t.equal(verified.payload.sub, 'a b@example.com');
    t.equal((verified.payload.exp ?? 0) - (verified.payload.iat ?? 0), 3600, 'one hour by default');
    t.equal(decodeProtectedHeader(token).alg, pair.algorithm);
  });
}

void t.test('switchyard token --expires-in, --token-issuer, --token-audience', async (t) => {
  const words = ['--expires-in', '5m', '--token-issuer', 'me', '--token-audience', 'you'];
  const run = await runProgram([
    'token',
    '--subject',
    's',
    '--token-verification-private-key',
    key.privateKeyPath,
    ...words,
  ]);
  t.equal(run.code, 0, run.errorOutput);
  const claims = decodeJwt(run.output.trim());
  t.equal((claims.exp ?? 0) - (claims.iat ?? 0), 300);
  t.match(claims, { iss: 'me', aud: 'you' });
});

void t.test('switchyard token without a subject or a key: refused, naming both', async (t) => {
  const run = await runProgram(['token']);
  t.equal(run.code, EXIT_USAGE);
  t.equal(run.output, '');
  t.match(run.errorOutput, /--subject/);
  t.match(run.errorOutput, /--token-verification-private-key/);
});

void t.test('wrong options are reported all together, exit status 64, before anything listens', async (t) => {
  const notAKey = join(createScratchDirectory(t), 'not-a-key.pem');
  writeFileSync(notAKey, 'hello');
  const wrong: readonly (readonly [name: string, value: string])[] = [
    ['--no-such-option', 'x'],
    ['--address', 'nowhere'],
    ['--tls-address', '127.0.0.1:99999'],
    ['--path-prefix', 'no-slash'],
    ['--number-of-cpus', '0'],
    ['--redis-address', 'host:6379'],
    ['--redis-port', '0'],
    ['--redis-mode', 'sometimes'],
    ['--redis-password-file', '/nowhere/password'],
    ['--redis-password', 'secret-on-the-line'],
    ['--token-verification-public-key', '/nowhere/key.pem'],
    ['--token-verification-private-key', notAKey],
    ['--upstream-connection-mode', 'plain-text'],
    ['--allowed-origins', 'app.example/path'],
    ['--max-body-bytes', '-1'],
    ['--session-idle-timeout', '10'],
    ['--log-level', 'loud'],
    ['--drain-timeout', 'soon'],
  ];
  const run = await runProgram(['dataplane', ...wrong.flat()], {
    environment: { SWITCHYARD_CALL_TIMEOUT: 'never', SWITCHYARD_TOKEN_VERIFICATION_SECRET_FILE: '/nowhere/secret' },
  });
  t.equal(run.code, EXIT_USAGE);
  t.equal(run.output, '', 'nothing but the message was done');
  for (const [name] of wrong) t.match(run.errorOutput, new RegExp(`${name}\\b(?!-)`), name);
  for (const name of [/call-timeout|SWITCHYARD_CALL_TIMEOUT/i, /token-verification-secret-file|SECRET_FILE/i]) {
    t.match(run.errorOutput, name, 'from the environment too');
  }
  t.notMatch(run.errorOutput, /secret-on-the-line/, 'a value in the wrong place may be a secret');
});

void t.test('every option also reads an environment variable; the command line wins', async (t) => {
  const storePath = createScratchDirectory(t);
  const environment = {
    SWITCHYARD_ADDRESS: '127.0.0.1:0',
    SWITCHYARD_NUMBER_OF_CPUS: '2',
    SWITCHYARD_STORE_PATH: storePath,
    SWITCHYARD_PATH_PREFIX: '/from-environment',
    SWITCHYARD_TOKEN_ISSUER: 'env-issuer',
    SWITCHYARD_TOKEN_VERIFICATION_PUBLIC_KEY: key.publicKeyPath,
  };
  const gateway = await startProgram(t, ['--path-prefix', '/from-line'], { environment });
  t.equal(gateway.workerPids().length, 2);
  t.equal(await healthStatus(gateway.origin, '/from-line/health'), 200);
  t.equal(await healthStatus(gateway.origin, '/from-environment/health'), 404);
  const path = '/from-line/servers/v/mcp';
  const caller = await configuredCaller(storePath, gateway.origin, path, { iss: 'env-issuer' });
  t.equal((await caller.initialize()).status, 200);
});

void t.test('--address: 127.0.0.1:8001 by default', async (t) => {
  const words = ['--number-of-cpus', '1', '--store-path', createScratchDirectory(t)];
  const gateway = await startProgram(t, words).catch((error: unknown) => {
    if (String(error).includes('in use')) return undefined;
    throw error;
  });
  if (gateway === undefined) {
    t.pass('the default address', { skip: 'another process of this machine listens on port 8001' });
    return;
  }
  t.equal(gateway.origin, 'http://127.0.0.1:8001');
  t.equal(await healthStatus(gateway.origin), 200);
});

void t.test('--address of an address in use: it does not start', async (t) => {
  const store = ['--store-path', createScratchDirectory(t)];
  const first = await startProgram(t, ['--address', '127.0.0.1:0', '--number-of-cpus', '1', ...store]);
  const address = new URL(first.origin).host;
  const second = await runProgram(['--address', address, '--number-of-cpus', '1', ...store]);
  t.not(second.code, 0);
  t.match(second.output + second.errorOutput, new RegExp(address.replaceAll('.', '\\.')));
  t.equal(await healthStatus(first.origin), 200, 'and the first goes on');
});

void t.test('--path-prefix', async (t) => {
  const storePath = createScratchDirectory(t);
  for (const [prefix, before] of [
    ['/a/b', '/a/b'],
    ['/', ''],
  ] as const) {
    const gateway = await startGateway(t, {
      storeOptions: { kind: 'embedded', path: storePath },
      keyOptions: verifyWith(key),
      options: ['--path-prefix', prefix],
    });
    t.equal(await healthStatus(gateway.origin, `${before}/health`), 200, prefix);
    t.equal(await healthStatus(gateway.origin), 404, `${prefix}: the default prefix is gone`);
    const caller = await configuredCaller(storePath, gateway.origin, `${before}/servers/v/mcp`);
    t.equal((await caller.initialize()).status, 200, prefix);
  }
});

void t.test('--number-of-cpus: the number of workers, by default the number of processors', async (t) => {
  const words = ['--address', '127.0.0.1:0', '--store-path', createScratchDirectory(t)];
  const three = await startProgram(t, [...words, '--number-of-cpus', '3']);
  t.equal(three.workerPids().length, 3);
  const byDefault = await startProgram(t, words);
  t.equal(byDefault.workerPids().length, defaultWorkerCount());
});

void t.test('--store-path: data/store by default, below the working directory', async (t) => {
  const directory = createScratchDirectory(t);
  const words = ['--address', '127.0.0.1:0', '--number-of-cpus', '1', ...verifyWith(key)];
  const gateway = await startProgram(t, words, { directory });
  t.ok(existsSync(join(directory, 'data', 'store')));
  const caller = await configuredCaller(join(directory, 'data', 'store'), gateway.origin);
  t.equal((await caller.initialize()).status, 200);
});

void t.test('--token-issuer and --token-audience replace the expected defaults', async (t) => {
  const storePath = createScratchDirectory(t);
  const gateway = await startGateway(t, {
    storeOptions: { kind: 'embedded', path: storePath },
    keyOptions: verifyWith(key),
    options: ['--token-issuer', 'https://issuer.example', '--token-audience', 'urn:gateway'],
  });
  const statusWith = async (iss: string, aud: string): Promise<number> => {
    const caller = await configuredCaller(storePath, gateway.origin, undefined, { iss, aud });
    return (await caller.initialize()).status;
  };
  t.equal(await statusWith('https://issuer.example', 'urn:gateway'), 200);
  t.equal(await statusWith('https://issuer.example/', 'urn:gateway'), 401);
  t.equal(await statusWith('https://issuer.example', 'mcpgateway-api'), 401);
  t.equal(await statusWith('mcpgateway', 'urn:gateway'), 401);
});

void t.test('--max-body-bytes: 4 MiB by default', async (t) => {
  const storePath = createScratchDirectory(t);
  const gateway = await startGateway(t, {
    storeOptions: { kind: 'embedded', path: storePath },
    keyOptions: verifyWith(key),
  });
  const caller = await configuredCaller(storePath, gateway.origin);
  const session = await caller.openSession();
  const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
  t.equal((await session.send(ping.padEnd(4 * 1024 * 1024))).status, 200);
  t.equal((await session.send(ping.padEnd(4 * 1024 * 1024 + 1))).status, 413);
});

void t.test('--log-level: lines below it are not written', async (t) => {
  const port = await findFreePort();
  const words = ['--address', `127.0.0.1:${port}`, '--number-of-cpus', '1', '--store-path', createScratchDirectory(t)];
  const gateway = launchProgram(t, [...words, '--log-level', 'warn']);
  const isHealthy = async (): Promise<boolean> =>
    (await healthStatus(`http://127.0.0.1:${port}`).catch(() => 0)) === 200;
  await until(isHealthy, 'the gateway to listen, which it does not say');
  t.ok(gateway.logs.length > 0, 'the warning that no key is configured is there');
  t.same([...new Set(gateway.logs.map(({ level }) => level))], [40], 'and nothing below it');
});
