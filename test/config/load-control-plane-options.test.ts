// Options shared with the dataplane are tested there; these tests cover the control plane's own.
import t from 'tap';
import { defaultWorkerMemoryBytes } from '../../src/config/machine-memory.js';
import { controlPlaneOptions } from '../../src/config/dataplane-options.js';
import { commonDefaults, optionLoader } from './option-loader.js';

const { load, faults } = optionLoader('control-plane', controlPlaneOptions);

t.test('the defaults are those of the decisions', async (t) => {
  const options = load([]);
  const memoryBytes = defaultWorkerMemoryBytes(1);
  const common = commonDefaults(memoryBytes, 'plain-text-or-tls');
  t.strictSame(options, {
    ...common,
    token: { ...common.token, roleClaims: undefined },
    address: { host: '127.0.0.1', port: 4444 },
    memoryBytes,
    composerQuotas: {
      serversMax: 10_000,
      compositionsMax: 10_000,
      makerCompositionsMax: 1_000,
      makerComposedBytesMax: 32 * 1024 * 1024,
      makerPublishedBytesMax: 512 * 1024 * 1024,
      makerConfigBytesMax: 256 * 1024,
    },
    publicationWaitMs: 10_000,
    healthCheckIntervalMs: 60_000,
    probeTimeoutMs: 10_000,
    requestsPerMinuteMax: 600,
    traces: undefined,
    requestIds: 'make',
    auditSubjects: 'hash',
    dataplaneAdmin: undefined,
    signIn: undefined,
  });
  t.ok(Object.isFrozen(options.store));
});

t.test('the control plane’s own options are read from the command line and the environment', async (t) => {
  const args = ['--health-check-interval', '5s', '--rate-limit=0', '--upstream-connection-mode', 'tls-only'];
  t.match(load([]), { requestIds: 'make', auditSubjects: 'hash' });
  t.match(load(['--request-ids=trust', '--audit-subjects', 'plain']), { requestIds: 'trust', auditSubjects: 'plain' });
  const options = load(args, { SWITCHYARD_PROBE_TIMEOUT: '3s', SWITCHYARD_RATE_LIMIT: '7' });
  t.match(options, {
    healthCheckIntervalMs: 5_000,
    probeTimeoutMs: 3_000,
    requestsPerMinuteMax: 0,
    upstream: { mode: 'tls-only' },
  });
});

t.test('the address of the dataplane is one to connect to', async (t) => {
  const named = load(['--dataplane-admin-address', '[::1]:8002']);
  t.strictSame(named.dataplaneAdmin, { host: '::1', port: 8002 });
  for (const wrong of ['8002', '127.0.0.1:0', 'off', 'http://127.0.0.1:8002']) {
    t.match(faults(['--dataplane-admin-address', wrong]), [/^--dataplane-admin-address: expects host:port/]);
  }
});

t.test('a configuration for signing in by OpenID Connect is complete, or refused at the start', async (t) => {
  const issuer = 'https://idp.example/realms/one';
  const whole = {
    ...{ '--sign-in-issuer': issuer, '--sign-in-client-id': 'console' },
    ...{ '--connect-url': 'https://gateway.example', '--token-jwks-url': issuer },
  };
  const words = (options: object): string[] => Object.entries(options).flat() as string[];
  t.strictSame(load(words(whole)).signIn, {
    ...{ issuer, clientId: 'console', consoleUrl: 'https://gateway.example' },
    ...{ clientSecret: undefined, scope: 'openid', resource: undefined },
  });
  const rows: readonly (readonly [object, RegExp])[] = [
    [{ '--sign-in-issuer': 'http://idp.example' }, /^--sign-in-issuer: is not an issuer, .*an https URL/],
    [{ '--sign-in-client-secret-file': '/nowhere' }, /^--sign-in-client-secret-file: the file cannot be read/],
    [{ '--sign-in-scope': 'profile' }, /^--sign-in-scope: expects scopes .*including openid/],
    [{ '--token-jwks-url': 'https://other.example' }, /^--sign-in-issuer: is in neither --token-jwks-url/],
  ];
  for (const [change, fault] of rows) t.match(faults(words({ ...whole, ...change })), [fault]);
  const loopback = { '--sign-in-issuer': 'http://127.0.0.1:9', '--token-issuer': 'http://127.0.0.1:9' };
  t.match(load(words({ ...whole, ...loopback })), { signIn: { issuer: 'http://127.0.0.1:9' } });
  t.match(faults(words({ ...whole, ...loopback, '--upstream-connection-mode': 'tls-only' })), [
    /^--sign-in-issuer: is an http URL, which needs --upstream-connection-mode plain-text-or-tls/,
  ]);
  t.strictSame(faults(['--sign-in-issuer', issuer, '--token-jwks-url', issuer]), [
    '--sign-in-issuer: needs --sign-in-client-id; give that, too',
    '--sign-in-issuer: needs --connect-url; give that, too',
  ]);
  t.strictSame(faults(['--sign-in-client-id', 'console']), [
    '--sign-in-client-id: has no effect without --sign-in-issuer; give that, too',
  ]);
});

t.test('the store is checked as the dataplane checks it', async (t) => {
  t.match(faults(['--redis-mode', 'mtls']), [/^--redis-mode: has no effect without --redis-address/]);
  t.match(faults(['--redis-address', 'r', '--redis-mode', 'mtls']), [
    /^--redis-tls-client-certificate: is required/,
    /^--redis-tls-client-private-key: is required/,
  ]);
  const { store } = load(['--redis-address', 'r', '--redis-mode', 'plain-text']);
  t.match(store, { kind: 'redis', location: { host: 'r', port: 6379 }, tls: { mode: 'plain-text' } });
});

t.test('options that only the dataplane has are unknown, and every fault is reported', async (t) => {
  const told = faults(['--number-of-cpus', '2', '--path-prefix', '/x', '--rate-limit', '1.5'], {
    SWITCHYARD_HEALTH_CHECK_INTERVAL: '60',
  });
  t.equal(told.length, 4);
  for (const name of ['number-of-cpus', 'path-prefix', 'rate-limit', 'health-check-interval']) {
    t.ok(
      told.some((fault) => fault.startsWith(`--${name}`)),
      name,
    );
  }
});

t.test('roles come from a claim where one is configured, and otherwise have no effect', async (t) => {
  t.notOk(load([]).token.roleClaims);
  const claim = ['--token-roles-claim', 'realm_access.roles'];
  const own = { reader: ['reader'], editor: ['editor'], admin: ['admin'] };
  t.strictSame(load(claim).token.roleClaims, { role: ['realm_access', 'roles'], teams: undefined, roleNames: own });
  const all = [...claim, '--token-teams-claim', 'https://a.example/teams', '--token-role-names', 'admin=x,admin=y'];
  t.strictSame(load(all).token.roleClaims, {
    role: ['realm_access', 'roles'],
    teams: ['https://a.example/teams'],
    roleNames: { ...own, admin: ['x', 'y'] },
  });
  t.strictSame(faults(['--token-teams-claim', 'teams', '--token-role-names', 'admin=x']), [
    '--token-role-names: has no effect without --token-roles-claim; give that, too',
    '--token-teams-claim: has no effect without --token-roles-claim; give that, too',
  ]);
  t.match(faults(['--token-roles-claim', 'a..b']), [/^--token-roles-claim: expects the name of a claim/]);
});
