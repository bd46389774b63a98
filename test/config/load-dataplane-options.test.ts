import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { OptionFaults } from '../../src/config/values.js';
import { completeOptions, dataplaneOptions, type DataplaneOptions } from '../../src/config/dataplane-options.js';
import { defaultWorkerCount, defaultWorkerMemoryBytes } from '../../src/config/machine-memory.js';
import { environmentVariable, optionsOf } from '../../src/config/option.js';
import { createKeyPair } from '../support/keys.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { commonDefaults, optionLoader } from './option-loader.js';

const MIB = 1024 * 1024;
const { load, faults } = optionLoader('dataplane', dataplaneOptions);

/** A self-signed certificate for a new key. */
function createCertificate(t: Test): { certificate: string; privateKey: string } {
  const { privateKeyPath } = createKeyPair(t, 'ec');
  const certificate = join(createScratchDirectory(t), 'certificate.pem');
  const args = ['req', '-x509', '-new', '-key', privateKeyPath, '-subj', '/CN=localhost', '-out', certificate];
  execFileSync('openssl', args, { stdio: 'ignore' });
  return { certificate, privateKey: privateKeyPath };
}

t.test('the defaults are those of the decisions', async (t) => {
  const workerMemoryBytes = defaultWorkerMemoryBytes(defaultWorkerCount());
  t.strictSame(load([]), {
    ...commonDefaults(workerMemoryBytes, 'tls-only'),
    address: { host: '127.0.0.1', port: 8001 },
    tls: undefined,
    adminAddress: { host: '127.0.0.1', port: 8002 },
    metrics: true,
    pathPrefix: '/gw-rs',
    workerCount: defaultWorkerCount(),
    workerMemoryBytes,
    traces: undefined,
    requestIds: 'make',
    slowReaderTimeoutMs: 60_000,
    listener: 'auto',
    reloadTimeoutMs: 600_000,
    drainNoticeMs: 0,
    sessionDirectory: 'process',
    workerHangTimeoutMs: 10_000,
  });
});

/** What a primary of 0.1.0 sends to workers, by the path of an object. */
const FIRST_MEMBERS: Readonly<Record<string, string>> = {
  '': `accessLog address adminAddress allowedHosts allowedOrigins answers bodyBytesMax connections drainNoticeMs drainTimeoutMs eras listener
    logLevel metrics pathPrefix protectedResource reloadTimeoutMs requestIds sessionDirectory sessionIdleTimeoutMs shares
    slowReaderTimeoutMs store tls token traces upstream workerCount workerHangTimeoutMs workerMemoryBytes`,
  address: 'host port',
  adminAddress: 'host port',
  answers: 'resumptionBytesMax resumptionTimeMs slowAnswerMs streamKeepAliveMs',
  connections: 'connectionsMax connectionsPerSubjectMax names',
  'connections.names': 'allowedNetworks lookUpsMax lookUpsPerSubjectMax nameServers',
  eras: 'leaseIdleTimeoutMs served',
  protectedResource: 'authorizationServers publicUrl',
  shares: `bytesInFlightMax listBytesMax requestsInFlightMax sessionBytesMax sessionsMax subjectBytesInFlightMax subjectListBytesMax
    subjectRequestsInFlightMax subjectSessionBytesMax subjectSessionsMax`,
  store: 'kind location password staleGraceMs tls username',
  'store.location': 'sentinels name username password',
  'store.tls': 'clientCertificate clientPrivateKey mode trustBundle',
  tls: 'address certificatePath privateKeyPath',
  token: 'audience isPlainTextAllowed issuerKeyGraceMs issuerKeys issuers jwks keyPaths privateKey publicKey secret',
  'token.keyPaths': 'jwks publicKey secret',
  traces: 'endpoint sampleRatio',
  upstream: `authorities callIdleTimeoutMs clientAnswerTimeoutMs connectTimeoutMs connectUrl initializePatienceMs initializeTimeoutMs
    listCacheMs listTimeoutMs mode secretKeys secretsDirectory`,
};

/** The members of `value` that 0.1.0 had. */
function asSentBefore(value: object, path = ''): object {
  const names = FIRST_MEMBERS[path]?.split(/\s+/);
  if (names === undefined) return value;
  const members = Object.entries(value).filter(([name]) => names.includes(name));
  return Object.fromEntries(
    members.map(([name, member]: [string, unknown]) => {
      const isObject = typeof member === 'object' && member !== null;
      return [name, isObject ? asSentBefore(member, path === '' ? name : `${path}.${name}`) : member];
    }),
  );
}

t.test('after an upgrade by a reload, a primary of 0.1.0 sends workers what they need', async (t) => {
  const { certificate, privateKey } = createCertificate(t);
  const sentinels = ['--redis-sentinels', 'a.example:1', '--redis-sentinel-name', 'one'];
  const tls = ['--tls-address', '[::1]:0', '--server-certificate', certificate, '--server-private-key', privateKey];
  const options = load([...sentinels, ...tls, '--traces-endpoint', 'http://c:4318/v1/traces']);
  const sent = asSentBefore(options) as DataplaneOptions;
  t.notOk('leewayMs' in sent.token);
  for (const [path, names] of Object.entries(FIRST_MEMBERS)) {
    const members =
      path === '' ? sent : path.split('.').reduce<object>((at, name) => Reflect.get(at, name) as object, sent);
    t.same(Object.keys(members).sort(), names.split(/\s+/).sort(), `${path}: the same names`);
  }
  // Only the primary uses `isCheckOnly`.
  const { isCheckOnly: _, ...others } = options;
  t.same(JSON.parse(JSON.stringify(completeOptions(sent))), JSON.parse(JSON.stringify(others)));
});

/** The option, its text, the member of the options that it changes, and the value that this must have. */
const plainOptions: readonly (readonly [string, string, (options: DataplaneOptions) => unknown, unknown])[] = [
  ['address', '[::1]:0', (options) => options.address, { host: '::1', port: 0 }],
  ['admin-address', '[::1]:0', (options) => options.adminAddress, { host: '::1', port: 0 }],
  ['admin-address', 'off', (options) => options.adminAddress, undefined],
  ['traces-endpoint', 'http://c:4318/v1/traces', ({ traces }) => traces?.endpoint, 'http://c:4318/v1/traces'],
  ['request-ids', 'trust', (options) => options.requestIds, 'trust'],
  ['metrics', 'off', (options) => options.metrics, false],
  ['path-prefix', '/other', (options) => options.pathPrefix, '/other'],
  ['allowed-origins', 'https://a.example', (options) => options.allowedOrigins, ['https://a.example']],
  ['allowed-hosts', 'a.example:1', (options) => options.allowedHosts, ['a.example:1']],
  ['max-body-bytes', '1KiB', (options) => options.bodyBytesMax, 1024],
  ['store-path', '/tmp/x', (options) => options.store, { kind: 'embedded', path: '/tmp/x' }],
  ['token-issuer', 'i, j', (options) => options.token.issuers, ['i', 'j']],
  ['token-audience', 'a', (options) => options.token.audience, 'a'],
  ['upstream-connection-mode', 'plain-text-or-tls', (options) => options.upstream.mode, 'plain-text-or-tls'],
  ['connect-timeout', '1s', (options) => options.upstream.connectTimeoutMs, 1_000],
  ['initialize-timeout', '2s', (options) => options.upstream.initializeTimeoutMs, 2_000],
  ['unknown-methods', 'refuse', (options) => options.upstream.unknownMethods, 'refuse'],
  ['initialize-patience', '3s', (options) => options.upstream.initializePatienceMs, 3_000],
  ['list-timeout', '3s', (options) => options.upstream.listTimeoutMs, 3_000],
  ['list-cache', '30s', (options) => options.upstream.listCacheMs, 30_000],
  ['call-timeout', '4s', (options) => options.upstream.callIdleTimeoutMs, 4_000],
  ['client-answer-timeout', '7m', (options) => options.upstream.clientAnswerTimeoutMs, 420_000],
  ['protocol-eras', 'modern', (options) => options.eras.served, 'modern'],
  ['lease-idle-timeout', '2s', (options) => options.eras.leaseIdleTimeoutMs, 2_000],
  ['slow-answer', '2s', (options) => options.answers.slowAnswerMs, 2_000],
  ['stream-keep-alive', '3s', (options) => options.answers.streamKeepAliveMs, 3_000],
  ['resumption-time', '2m', (options) => options.answers.resumptionTimeMs, 120_000],
  ['resumption-bytes', '1MiB', (options) => options.answers.resumptionBytesMax, 1_048_576],
  ['number-of-cpus', '7', (options) => options.workerCount, 7],
  ['slow-reader-timeout', '5s', (options) => options.slowReaderTimeoutMs, 5_000],
  ['session-idle-timeout', '5s', (options) => options.sessionIdleTimeoutMs, 5_000],
  ['log-level', 'trace', (options) => options.logLevel, 'trace'],
  ['access-log', 'true', (options) => options.accessLog, true],
  ['reload-timeout', '1m', (options) => options.reloadTimeoutMs, 60_000],
  ['drain-notice', '5s', (options) => options.drainNoticeMs, 5_000],
  ['drain-timeout', '0s', (options) => options.drainTimeoutMs, 0],
  ['worker-hang-timeout', '0s', (options) => options.workerHangTimeoutMs, 0],
];

for (const [name, text, pick, expected] of plainOptions) {
  t.test(`--${name} is read from the command line and from the environment`, async (t) => {
    t.notSame(pick(load([])), expected, 'differs from the default');
    t.strictSame(pick(load([`--${name}`, text])), expected);
    t.strictSame(pick(load([], { [environmentVariable(name)]: text })), expected);
    t.strictSame(pick(load([`--${name}`, text], { [environmentVariable(name)]: 'nonsense?' })), expected, 'wins');
  });
}

t.test('an empty variable counts as not set', async (t) => {
  const emptied = optionsOf(dataplaneOptions).map(({ name }) => [environmentVariable(name), '']);
  t.strictSame(load([], Object.fromEntries(emptied) as NodeJS.ProcessEnv), load([]));
});

t.test('files are read into the options', async (t) => {
  const key = createKeyPair(t, 'rsa');
  const secretPath = join(createScratchDirectory(t), 'secret');
  writeFileSync(secretPath, `${'s'.repeat(32)}\n`);
  const { token } = load(
    ['--token-verification-public-key', key.publicKeyPath, '--token-verification-secret-file', secretPath],
    { SWITCHYARD_TOKEN_VERIFICATION_PRIVATE_KEY: key.privateKeyPath },
  );
  t.equal(token.publicKey, key.publicKeyPem);
  t.match(token.privateKey, /BEGIN PRIVATE KEY/);
  t.strictSame(Buffer.from(token.secret ?? []), Buffer.alloc(32, 's'));
});

t.test('Redis: the port follows the mode', async (t) => {
  const plain = load(['--redis-address', 'redis', '--redis-mode', 'plain-text']).store;
  t.match(plain, {
    kind: 'redis',
    location: { host: 'redis', port: 6379 },
    tls: { mode: 'plain-text' },
    staleGraceMs: 60_000,
  });
  t.match(load(['--redis-address', 'redis']).store, {
    location: { port: 16379 },
    tls: { mode: 'tls', trustBundle: undefined },
  });
  t.match(load(['--redis-address', 'redis', '--redis-port', '1']).store, { location: { port: 1 } });
});

t.test('Redis: sentinels, or a cluster, instead of an address', async (t) => {
  const words = ['--redis-sentinels', 'a.example:26379, [2001:db8::1]:1', '--redis-mode', 'plain-text'];
  const sentinels = [
    { host: 'a.example', port: 26_379 },
    { host: '2001:db8::1', port: 1 },
  ];
  const none = { username: undefined, password: undefined };
  t.match(load(words).store, { kind: 'redis', location: { sentinels, name: 'mymaster', ...none } });
  const named = [...words, '--redis-sentinel-name', 'one', '--redis-sentinel-username', 'u'];
  t.match(load(named).store, { location: { sentinels, name: 'one', username: 'u' } });
  const cluster = ['--redis-cluster', 'a.example:1', '--redis-mode', 'plain-text'];
  t.match(load(cluster).store, { kind: 'redis', location: { nodes: [{ host: 'a.example', port: 1 }] } });
  t.match(faults([...cluster, ...words]), [/^--redis-sentinels: contradicts --redis-cluster/]);
  t.match(faults([...cluster, '--redis-port', '1']), [/^--redis-port: contradicts --redis-cluster/]);
  t.match(faults([...words, '--redis-address', 'r', '--redis-port', '1']), [
    /^--redis-address: contradicts --redis-sentinels/,
    /^--redis-port: contradicts --redis-sentinels/,
  ]);
  t.match(faults(['--redis-address', 'r', '--redis-sentinel-name', 'one']), [
    /^--redis-sentinel-name: has no effect without --redis-sentinels/,
  ]);
  for (const wrong of ['a.example', 'a.example:0', 'a.example:1,', 'a b:1']) {
    t.match(faults(['--redis-sentinels', wrong]), [/entry \d is not host:port, as in sentinel\.internal:26379/], wrong);
  }
});

t.test('Redis: mtls, credentials and grace', async (t) => {
  const { certificate, privateKey } = createCertificate(t);
  const passwordFile = join(createScratchDirectory(t), 'password');
  writeFileSync(passwordFile, 'p4ss\n');
  const { store } = load([
    ...['--redis-address', '::1', '--redis-mode', 'mtls', '--redis-tls-trust-bundle', certificate],
    ...['--redis-tls-client-certificate', certificate, '--redis-tls-client-private-key', privateKey],
    ...['--redis-username', 'u', '--redis-password-file', passwordFile, '--redis-stale-grace', '0s'],
  ]);
  t.match(store, {
    kind: 'redis',
    location: { host: '::1', port: 16379 },
    username: 'u',
    password: 'p4ss',
    staleGraceMs: 0,
  });
  t.match(store, {
    tls: {
      mode: 'mtls',
      trustBundle: /BEGIN CERTIFICATE/,
      clientCertificate: /BEGIN CERTIFICATE/,
      clientPrivateKey: /BEGIN PRIVATE KEY/,
    },
  });
});

t.test('a TLS listener has a certificate and its key', async (t) => {
  const { certificate, privateKey } = createCertificate(t);
  const args = ['--tls-address', '0.0.0.0:8443', '--server-certificate', certificate];
  t.strictSame(load([...args, '--server-private-key', privateKey]).tls, {
    address: { host: '0.0.0.0', port: 8443 },
    certificatePath: certificate,
    privateKeyPath: privateKey,
  });
  t.match(faults([...args, '--server-private-key', createKeyPair(t).privateKeyPath]), [
    /^--server-private-key: is not the key of --server-certificate/,
  ]);
});

t.test('options that contradict each other', async (t) => {
  const { certificate, privateKey } = createCertificate(t);
  const redis = ['--redis-address', 'redis'];
  const cases: readonly (readonly [readonly string[], readonly RegExp[]])[] = [
    [['--admin-address', '127.0.0.1:8001'], [/^--admin-address: is the same as --address/]],
    [['--address', '0.0.0.0:8002'], [/^--admin-address: is the same as --address/]],
    [
      ['--tls-address', '[::]:1'],
      [/^--server-certificate: is required/, /^--server-private-key: is required/],
    ],
    [['--server-certificate', certificate], [/^--server-certificate: has no effect without --tls-address/]],
    [['--server-private-key', privateKey], [/^--server-private-key: has no effect without --tls-address/]],
    [
      [...redis, '--redis-mode', 'mtls'],
      [/^--redis-tls-client-certificate: is required/, /^--redis-tls-client-private-key: is required/],
    ],
    [
      [...redis, '--redis-mode', 'plain-text', '--redis-tls-trust-bundle', certificate],
      [/^--redis-tls-trust-bundle: contradicts --redis-mode plain-text/],
    ],
    [
      [...redis, '--redis-mode', 'plain-text', '--redis-tls-client-private-key', privateKey],
      [/^--redis-tls-client-private-key: contradicts --redis-mode plain-text/],
    ],
    [
      [...redis, '--redis-tls-client-certificate', certificate],
      [/^--redis-tls-client-certificate: contradicts --redis-mode tls/],
    ],
    [
      ['--redis-mode', 'plain-text', '--redis-port', '1'],
      [/^--redis-port: has no effect without --redis-address/, /^--redis-mode: has no effect without --redis-address/],
    ],
  ];
  for (const [args, expected] of cases) {
    const found = faults(args);
    t.equal(found.length, expected.length, args.join(' '));
    t.match(found, expected);
  }
  const ownPair = ['--server-certificate', certificate, '--server-private-key', privateKey];
  t.match(faults(['--address', '[::]:1', '--tls-address', '[::]:1', ...ownPair]), [/^--tls-address: is the same/]);
  t.strictSame(faults(['--address', '[::]:0', '--tls-address', '[::]:0', ...ownPair]), []);
  t.strictSame(faults(['--address', '[::]:1', '--tls-address', '[::]:2', ...ownPair]), [], 'another port');
  t.strictSame(faults(['--address', '127.0.0.1:1', '--tls-address', '127.0.0.2:1', ...ownPair]), [], 'another host');
  t.strictSame(faults([...redis, '--store-path', 'x']), [], 'a store path beside Redis is only not used');
});

t.test('every fault is in one message, with its source and without any value', async (t) => {
  const error = t.throws(() =>
    load(
      ['--address', 'hunter2', '--nonsense=hunter2', '--token-verification-public-key', '/hunter2', 'hunter2', '-x'],
      {
        SWITCHYARD_LOG_LEVEL: 'hunter2',
        SWITCHYARD_REDIS_ADDRESS: 'redis://user:hunter2@redis',
        SWITCHYARD_REDIS_PASSWORD_FILE: 'hunter2',
        SWITCHYARD_TOKEN_VERIFICATION_SECRET_FILE: 'hunter2',
        SWITCHYARD_ALLOWED_ORIGINS: 'https://user:hunter2@x',
      },
    ),
  );
  if (!(error instanceof OptionFaults)) throw new Error('not the faults of the options');
  const names = error.faults.map((fault) => fault.split(': ')[0]);
  t.strictSame(names, [
    '--nonsense',
    '-x',
    'unexpected arguments',
    '--address',
    '--allowed-origins (from SWITCHYARD_ALLOWED_ORIGINS)',
    '--redis-address (from SWITCHYARD_REDIS_ADDRESS)',
    '--redis-password-file (from SWITCHYARD_REDIS_PASSWORD_FILE)',
    '--token-verification-public-key',
    '--token-verification-secret-file (from SWITCHYARD_TOKEN_VERIFICATION_SECRET_FILE)',
    '--log-level (from SWITCHYARD_LOG_LEVEL)',
  ]);
  for (const fault of error.faults) t.ok(error.message.includes(`\n  ${fault}\n`), fault);
  t.match(error.message, /^10 faults in the command line and environment:/);
  t.match(error.message, /`switchyard dataplane --help`/);
  t.notMatch(error.message, /hunter2/);
});

t.test('a fault in one value causes no false contradictions', async (t) => {
  const { certificate } = createCertificate(t);
  const args = ['--redis-address', 'redis', '--redis-mode', 'nonsense', '--redis-tls-client-certificate', certificate];
  t.match(faults(args), [/^--redis-mode: expects one of plain-text, tls, mtls/]);
  t.equal(faults(args).length, 1);
});

t.test('the options are frozen at every level', async (t) => {
  const options = load(['--redis-address', 'redis', '--allowed-hosts', 'a.example']);
  for (const part of [options, options.address, options.store, options.token, options.allowedHosts]) {
    t.ok(Object.isFrozen(part));
  }
  if (options.store.kind === 'redis') t.ok(Object.isFrozen(options.store.tls));
});

t.test('the options reach a worker unchanged', async (t) => {
  const options = load([]);
  t.strictSame(structuredClone(options), options);
});

t.test('a share of connections is a quarter unless it is given, and no more than all', async (t) => {
  t.match(load(['--upstream-connections', '10']).connections, { connectionsMax: 10, connectionsPerSubjectMax: 3 });
  const both = ['--upstream-connections', '10', '--upstream-connections-per-subject', '10'];
  t.match(load(both).connections, { connectionsMax: 10, connectionsPerSubjectMax: 10 });
  t.throws(() => load(['--upstream-connections', '10', '--upstream-connections-per-subject', '11']), {
    message: /--upstream-connections-per-subject: is more than --upstream-connections/,
  });
  t.same(load(['--name-servers', '192.0.2.53, [2001:db8::53]:5353']).connections.names.nameServers, [
    '192.0.2.53',
    '[2001:db8::53]:5353',
  ]);
});

t.test(
  'the proxy is read from the variables that all programs obey; its own variable and the command line win',
  async (t) => {
    const proxyOf = (args: readonly string[], environment: NodeJS.ProcessEnv = {}): unknown =>
      load(args, environment).connections.names.proxy;
    const at = (host: string, more: object = {}): object => ({
      host,
      port: 80,
      authorization: '',
      exceptions: [],
      ...more,
    });
    const HTTPS_PROXY = 'http://env.example';
    t.strictSame(proxyOf([], { HTTPS_PROXY }), at('env.example'));
    t.strictSame(proxyOf([], { HTTPS_PROXY: '', https_proxy: 'low.example:3128' }), at('low.example', { port: 3_128 }));
    t.strictSame(proxyOf([], { HTTPS_PROXY, SWITCHYARD_UPSTREAM_PROXY: 'http://own.example/' }), at('own.example'));
    t.strictSame(
      proxyOf(['--upstream-proxy', 'http://[2001:db8::1]:8'], { HTTPS_PROXY }),
      at('2001:db8::1', { port: 8 }),
    );
    t.strictSame(
      proxyOf([], { https_proxy: 'http://us%40er:p%3Aw@env.example', no_proxy: ' .Example.com, 10.0.0.0/8  *.x ' }),
      at('env.example', {
        authorization: `Basic ${Buffer.from('us@er:p:w').toString('base64')}`,
        exceptions: ['.example.com', '10.0.0.0/8', '*.x'],
      }),
    );
    t.equal(proxyOf([], { NO_PROXY: '*', HTTP_PROXY: HTTPS_PROXY }), undefined);
    // `*` turns it off, and then nothing is wrong with it.
    const networks = ['--upstream-allowed-networks', '10.0.0.0/8'];
    t.match(proxyOf(networks, { HTTPS_PROXY, NO_PROXY: '*' }), { exceptions: ['*'] });
    for (const wrong of [
      'https://a.example',
      'socks5://a.example',
      'http://a.example/path',
      'http://a.example?b',
      'http://',
    ]) {
      t.match(faults([], { HTTPS_PROXY: wrong }), [
        /^--upstream-proxy \(from HTTPS_PROXY\): expects an HTTP proxy, as in /,
      ]);
    }
  },
);

t.test('a share of look-ups is a sixteenth unless it is given, and no more than all', async (t) => {
  t.match(load(['--name-look-ups', '40']).connections.names, { lookUpsMax: 40, lookUpsPerSubjectMax: 3 });
  const both = ['--name-look-ups', '40', '--name-look-ups-per-subject', '40'];
  t.match(load(both).connections.names, { lookUpsMax: 40, lookUpsPerSubjectMax: 40 });
  t.throws(() => load(['--name-look-ups', '40', '--name-look-ups-per-subject', '41']), {
    message: /--name-look-ups-per-subject: is more than --name-look-ups/,
  });
});

t.test('the shares of lists are a part of the memory unless they are set', async (t) => {
  const memory = ['--worker-memory', '1GiB'];
  t.match(load(memory).shares, { listBytesMax: 128 * MIB, subjectListBytesMax: 64 * MIB });
  const all = [...memory, '--max-list-bytes', '512MiB'];
  t.match(load(all).shares, { listBytesMax: 512 * MIB, subjectListBytesMax: 128 * MIB });
  const both = [...all, '--max-list-bytes-per-subject', '300MiB'];
  t.match(load(both).shares, { listBytesMax: 512 * MIB, subjectListBytesMax: 300 * MIB });
});
