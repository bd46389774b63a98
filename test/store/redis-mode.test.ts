// A Redis that speaks plain text where TLS is expected, or the other way round: whatever opens it says so at once.
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { outputOf } from '../cli/secrets-output.js';
import { limits } from '../../src/shared/limits.js';
import { openForCommand, openStore, openRecordStore } from '../../src/store/open-store.js';
import { safeMessage, type RedisStoreOptions, REDIS_HANDSHAKE_MS_MAX } from '../../src/store/redis-connection.js';
import { RedisStore } from '../../src/store/redis-store.js';
import { RedisSessions } from '../../src/store/redis-sessions.js';
import { createCertificates } from '../support/certificates.js';
import { logInto } from '../support/log-lines.js';
import { hasten } from '../support/hasten.js';
import { startRedis } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';

const NO_TLS = /it answers, but not with TLS: give --redis-mode plain-text/;
const NO_PLAIN_TEXT = /closed the connection without an answer: if it expects TLS, give --redis-mode tls or mtls/;
const TLS = { mode: 'tls', trustBundle: undefined, clientCertificate: undefined, clientPrivateKey: undefined } as const;

const certificates = createCertificates(t);

/** What each of those that open a Redis says of this one. */
async function saidOf(options: RedisStoreOptions): Promise<Readonly<Record<string, string>>> {
  const said: Record<string, string> = {};
  const logged = (who: string) => pino({ level: 'warn' }, { write: (line: string) => void (said[who] = line) });
  const opened = await Promise.all([
    openStore(options, logged('user configs')),
    openRecordStore(options, logged('records')),
    RedisSessions.open(options, logged('sessions')),
  ]);
  await Promise.all(opened.map((one) => one.close()));
  const store = await openForCommand(options, false);
  await store!
    .read({ space: 'user-configs', key: 'alice' })
    .catch((error: unknown) => (said['the commands for user configs'] = String(error)));
  await store!.close();
  const action = { command: 'secrets list' } as const;
  const request = { store: options, keys: [], action };
  said['the commands for secrets'] = (await outputOf(request, process.stdin)).text;
  return said;
}

async function checkSaid(t: Test, options: RedisStoreOptions, reason: RegExp): Promise<void> {
  const { host, port } = options.location as { readonly host: string; readonly port: number };
  const beganAtMs = performance.now();
  const places = [
    options.location,
    { nodes: [{ host, port }] },
    { sentinels: [{ host, port }], name: 'mymaster', username: undefined, password: undefined },
  ];
  const check = async (location: RedisStoreOptions['location']): Promise<void> => {
    const said = await saidOf({ ...options, location });
    t.equal(Object.keys(said).length, 5);
    for (const [who, words] of Object.entries(said)) t.match(words, reason, `${who}: ${Object.keys(location).join()}`);
  };
  await Promise.all(places.map(check));
  // Fifteen attempts, of which none may wait for the end of the time for connecting.
  t.ok(performance.now() - beganAtMs < 5 * limits.remoteAnswerMsMax, 'at once');
}

t.test('TLS, the default, to a Redis that speaks plain text', async (t) => {
  t.teardown(hasten(REDIS_HANDSHAKE_MS_MAX, 10));
  const redis = await startRedis(t);
  await checkSaid(t, { ...redis.storeOptions, tls: TLS }, NO_TLS);
});

t.test('TLS to a plain-text Redis with a password, which is not sent', async (t) => {
  t.teardown(hasten(REDIS_HANDSHAKE_MS_MAX, 10));
  const redis = await startRedis(t);
  await (await redis.connect()).call('CONFIG', 'SET', 'requirepass', 'anything');
  const proxy = await TcpProxy.start(t, redis.port);
  const location = { host: '127.0.0.1', port: proxy.port };
  await checkSaid(t, { ...redis.storeOptions, location, tls: TLS, password: 'a-secret' }, NO_TLS);
  t.notMatch(JSON.stringify(proxy.connections), 'a-secret');
});

t.test('plain text to a Redis that expects TLS', async (t) => {
  const redis = await startRedis(t, { tls: { mode: 'tls', certificates } });
  await checkSaid(t, { ...redis.storeOptions, tls: { mode: 'plain-text' } }, NO_PLAIN_TEXT);
});

t.test('TLS to a Redis that requires a client certificate, and to one whose authority is not trusted', async (t) => {
  const redis = await startRedis(t, { tls: { mode: 'mtls', certificates: createCertificates(t) } });
  const tls = { ...redis.storeOptions.tls, mode: 'tls', clientCertificate: undefined, clientPrivateKey: undefined };
  await checkSaid(t, { ...redis.storeOptions, tls } as RedisStoreOptions, /client certificate: give --redis-mode mtls/);
  await checkSaid(t, { ...redis.storeOptions, tls: TLS }, /trusted authority: give that in --redis-tls-trust-bundle/);
  const { client } = createCertificates(t);
  const pair = { clientCertificate: client.certificate, clientPrivateKey: client.privateKey };
  const foreign = { ...redis.storeOptions.tls, ...pair } as RedisStoreOptions['tls'];
  await checkSaid(t, { ...redis.storeOptions, tls: foreign }, /it refuses the client certificate/);
});

t.test('every way in which a certificate is not trusted is told by what to give', async (t) => {
  for (const code of ['SELF_SIGNED_CERT_IN_CHAIN', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'])
    t.match(safeMessage(Object.assign(new Error('x'), { code })), /give that in --redis-tls-trust-bundle/, code);
  for (const code of ['ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED', 'ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_UNKNOWN'])
    t.match(safeMessage(Object.assign(new Error('x'), { code })), /it refuses the client certificate/, code);
});

t.test('a slow handshake with a Redis that expects TLS is waited for', async (t) => {
  t.teardown(hasten(REDIS_HANDSHAKE_MS_MAX, 10));
  const redis = await startRedis(t, { tls: { mode: 'tls', certificates } });
  const proxy = await TcpProxy.start(t, redis.port);
  proxy.hold(() => true);
  const options = { ...redis.storeOptions, location: { host: '127.0.0.1', port: proxy.port } };
  const opening = openStore(options, pino({ level: 'silent' }));
  await until(() => proxy.connections.some(({ sent }) => sent.startsWith('PING')), 'the question');
  proxy.release();
  const store = await opening;
  t.teardown(() => store.close());
  t.match(await store.read('alice'), { kind: 'missing' });
});

t.test('a Redis that speaks TLS at once is never asked in plain text', async (t) => {
  const redis = await startRedis(t, { tls: { mode: 'tls', certificates } });
  const proxy = await TcpProxy.start(t, redis.port);
  const options = { ...redis.storeOptions, location: { host: '127.0.0.1', port: proxy.port } };
  const store = await openStore(options, pino({ level: 'silent' }));
  t.teardown(() => store.close());
  // Timers end in the order of their times: by then, the question would have been put.
  await setTimeout(REDIS_HANDSHAKE_MS_MAX + 50);
  t.match(await store.read('alice'), { kind: 'missing' });
  t.same(
    proxy.connections.filter(({ sent }) => sent.startsWith('PING')),
    [],
  );
});

/** What is logged when a store is opened over TLS at what listens there. */
async function loggedWithTls(t: Test, listener: Server): Promise<string> {
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  t.teardown(() => void listener.close());
  const { port } = listener.address() as AddressInfo;
  const lines: string[] = [];
  const options = { ...(await startRedis(t)).storeOptions, location: { host: '127.0.0.1', port }, tls: TLS };
  const store = await openStore(options, pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) }));
  await store.close();
  return lines.join('');
}

t.test('TLS to a Redis that refuses in plain text before anything is asked', async (t) => {
  const listener = createServer((socket) => socket.write('-DENIED Redis is running in protected mode\r\n'));
  t.match(await loggedWithTls(t, listener), NO_TLS);
});

t.test('what greets like another service is said to be no Redis, and what to correct', async (t) => {
  for (const greeting of ['* OK IMAP4rev1 ready', '220 mail ready', 'SSH-2.0-OpenSSH_9.2']) {
    const lines: string[] = [];
    const listener = createServer((socket) => socket.on('error', () => undefined).write(`${greeting}\r\n`));
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    t.teardown(() => listener.close());
    const { port } = listener.address() as AddressInfo;
    const { storeOptions } = await startRedis(t);
    const store = await RedisStore.open({ ...storeOptions, location: { host: '127.0.0.1', port } }, logInto(lines));
    await until(() => lines.length > 0, 'the reason');
    await store.close();
    t.match(lines[0], /make sure that the --redis-… options lead to a Redis/, greeting);
    t.match(lines[0], /cannot be connected to: start it, or correct the --redis-… options/);
    t.notMatch(lines.join(''), /Please report this|ready|OpenSSH/, 'what it says is not repeated');
  }
});

t.test('what answers the question in TLS is not said to speak plain text', async (t) => {
  t.teardown(hasten(REDIS_HANDSHAKE_MS_MAX, 10));
  const ALERT = Buffer.from([21, 3, 1, 0, 2, 2, 70]);
  const sockets: Socket[] = [];
  const listener = createServer((socket) => {
    sockets.push(socket.on('error', () => {}));
    socket.once('data', (bytes) => {
      if (!bytes.toString('latin1').startsWith('PING')) return;
      socket.end(ALERT);
      // Whoever asked has read it, and nothing is left but to end the handshake.
      socket.once('close', () => sockets.forEach((one) => one.destroy()));
    });
  });
  const logged = await loggedWithTls(t, listener);
  t.not(logged, '');
  t.notMatch(logged, NO_TLS);
});
