import t from 'tap';
import { HostPolicy, type HostPolicyOptions, HOST_VERDICTS_MAX, refusedHost } from '../../src/shared/host-policy.js';
import { keptHeapBytes, LONG_TEXT_CHARS } from '../support/kept-bytes.js';

function policy(options: Partial<HostPolicyOptions> = {}): HostPolicy {
  return new HostPolicy({ listenHost: '127.0.0.1', allowedHosts: [], allowedOrigins: [], ...options });
}

/** The code of the refusal, or `undefined`. */
function check(options: Partial<HostPolicyOptions>, host: string, origin = ''): string | undefined {
  return policy(options).check(host, origin)?.code;
}

const loopbackHosts = [
  'localhost',
  'LocalHost:8001',
  '127.0.0.1',
  '127.1.2.3:80',
  '127.10.200.30',
  '[::1]',
  '[::1]:8001',
  'localhost:',
];
const otherHosts = [
  '',
  'gateway.example',
  'localhost.example',
  'localhost.example:8001',
  'example.localhost',
  '127.0.0.1.example',
  '128.0.0.1',
  '127.0.0.1000',
  '1127.0.0.1',
  '127.0.0',
  '0.0.0.0',
  '10.0.0.1',
  '[::2]',
  '[::1].example',
  '::1',
  'user@localhost',
  'localhost:8001@evil.example',
  'localhost:80:80',
];

t.test('listening on loopback, the host must be loopback', async (t) => {
  for (const listenHost of ['127.0.0.1', '127.0.0.53', 'localhost', '::1', '[::1]']) {
    for (const host of loopbackHosts) t.equal(check({ listenHost }, host), undefined, `${listenHost}: ${host}`);
    for (const host of otherHosts) t.equal(check({ listenHost }, host), 'host-refused', `${listenHost}: ${host}`);
  }
});

t.test('listening elsewhere, any host is admitted', async (t) => {
  for (const listenHost of ['0.0.0.0', '::', '192.0.2.7', 'gateway.example']) {
    for (const host of [...loopbackHosts, ...otherHosts]) t.equal(check({ listenHost }, host), undefined, host);
  }
});

t.test('allowed hosts alone decide, with their port or with any port', async (t) => {
  const allowedHosts = ['gateway.example', 'other.example:8443', '[2001:db8::1]'];
  for (const listenHost of ['127.0.0.1', '0.0.0.0']) {
    const verdict = (host: string): string | undefined => check({ listenHost, allowedHosts }, host);
    for (const host of ['gateway.example', 'GATEWAY.example:1', 'other.example:8443', '[2001:DB8::1]:80']) {
      t.equal(verdict(host), undefined, host);
    }
    for (const host of ['localhost', '127.0.0.1', 'other.example', 'other.example:80', 'a.gateway.example', '']) {
      t.equal(verdict(host), 'host-refused', host);
    }
  }
});

t.test('a request without an origin is not judged by it', async (t) => {
  t.equal(check({ allowedOrigins: ['https://app.example'] }, 'localhost'), undefined);
});

t.test('loopback origins are admitted on a loopback host', async (t) => {
  const loopbackOrigins = ['http://localhost', 'http://localhost:3000', 'https://127.0.0.1:1', 'http://[::1]:5173'];
  const otherOrigins = [
    'null',
    'https://app.example',
    'http://localhost.example',
    'http://localhost:3000/',
    'http://localhost/path',
    'http://user@localhost',
    'http://evil.example#localhost',
    'file://localhost',
    'chrome-extension://localhost',
    'localhost',
    'http://',
  ];
  for (const origin of loopbackOrigins) {
    t.equal(check({}, '127.0.0.1:8001', origin), undefined, origin);
    // The page was loaded from this machine, but the request was made under another name: the pattern of DNS rebinding.
    t.equal(check({ listenHost: '0.0.0.0' }, 'gateway.example', origin), 'origin-refused', origin);
    const allowedHosts = ['gateway.example'];
    t.equal(check({ allowedHosts }, 'gateway.example', origin), 'origin-refused', origin);
  }
  for (const origin of otherOrigins) t.equal(check({}, 'localhost', origin), 'origin-refused', origin);
});

t.test('allowed origins are exact, and admitted on any host', async (t) => {
  const options = { listenHost: '0.0.0.0', allowedOrigins: ['https://app.example', 'null'] };
  for (const origin of options.allowedOrigins) t.equal(check(options, 'gateway.example', origin), undefined, origin);
  for (const origin of [
    'https://app.example:443',
    'http://app.example',
    'https://APP.example',
    'https://a.app.example',
  ]) {
    t.equal(check(options, 'gateway.example', origin), 'origin-refused', origin);
  }
});

t.test('the host is judged first, and the log names it only where it is the reason', async (t) => {
  t.equal(refusedHost(policy().check('evil.example', '')!, 'evil.example'), 'evil.example');
  t.equal(refusedHost(policy().check('localhost', 'https://evil.example')!, 'localhost'), undefined);
  t.equal(check({}, 'evil.example', 'https://evil.example'), 'host-refused');
});

t.test('verdicts stay right when more hosts were seen than are cached', async (t) => {
  const judge = policy();
  for (let seen = 0; seen <= HOST_VERDICTS_MAX; seen += 1) {
    const host = seen % 2 === 0 ? `localhost:${seen}` : `evil.example:${seen}`;
    const expected = seen % 2 === 0 ? undefined : 'host-refused';
    const codes = [judge.check(host, '')?.code, judge.check(host, '')?.code];
    if (codes.some((code) => code !== expected)) t.equal(codes.join(), String(expected), host);
  }
  t.equal(judge.check('localhost:0', ''), undefined);
  t.equal(judge.check('evil.example:1', '')?.code, 'host-refused');
});

t.test('a page of an allowed origin gets the CORS headers', async (t) => {
  const headers = policy().corsHeaders('https://app.example');
  t.equal(headers[headers.indexOf('access-control-allow-origin') + 1], 'https://app.example');
  t.equal(headers[headers.indexOf('access-control-expose-headers') + 1], 'mcp-session-id, www-authenticate');
  t.equal(headers[headers.indexOf('vary') + 1], 'origin', 'a cache must not give it to another origin');
  const asked =
    'authorization, Mcp-Param-Region,mcp-param-, X-Tenant, mcp-other, x y, proxy-x, content-encoding, host,, mcp-param-b';
  const preflight = policy().preflightHeaders(asked);
  t.match(preflight[preflight.indexOf('access-control-allow-headers') + 1], /\bauthorization\b.*\bmcp-session-id\b/);
  t.match(
    preflight[preflight.indexOf('access-control-allow-headers') + 1],
    /\bmcp-method, mcp-name\b.*, last-event-id, mcp-param-region, x-tenant, mcp-param-b$/,
    'of what could reach a backend, what is asked for and nothing else',
  );
  t.match(preflight[preflight.indexOf('access-control-allow-methods') + 1], /\bPOST\b.*\bDELETE\b/);
  t.equal((headers.length % 2) + (preflight.length % 2), 0, 'names and values');
});

t.test('a long host is judged, and its verdict is not cached', async (t) => {
  const judge = policy();
  const keptBytes = keptHeapBytes(() => {
    for (let n = 0; n < 30; n += 1)
      t.equal(judge.check(`${'x'.repeat(LONG_TEXT_CHARS)}${n}`, '')?.code, 'host-refused');
  });
  t.ok(keptBytes < 10 * LONG_TEXT_CHARS, `${keptBytes} bytes`);
});

t.test('no more verdicts are kept than there is room for', async (t) => {
  const judge = policy();
  const keptBytes = keptHeapBytes(() => {
    for (let n = 0; n < 50 * HOST_VERDICTS_MAX; n += 1) judge.check(`host-${n}.example`, '');
  });
  t.ok(keptBytes < 500 * HOST_VERDICTS_MAX, `${keptBytes} bytes`);
});

t.test('pages of the requested host itself are admitted, where pages are served', async (t) => {
  const setup = { listenHost: '0.0.0.0', allowedHosts: ['console.example.com'], allowedOrigins: [] };
  const policy = new HostPolicy({ ...setup, areOwnPagesAllowed: true });
  t.equal(policy.check('console.example.com', 'https://console.example.com'), undefined);
  t.equal(policy.check('console.example.com', 'https://evil.example.com')?.code, 'origin-refused');
  t.equal(policy.check('console.example.com', 'https://console.example.com:444')?.code, 'origin-refused');
  t.equal(new HostPolicy(setup).check('console.example.com', 'https://console.example.com')?.code, 'origin-refused');
  const open = new HostPolicy({ ...setup, allowedHosts: [], areOwnPagesAllowed: true });
  t.equal(open.check('rebound.example.com', 'http://rebound.example.com')?.code, 'origin-refused', 'a rebound name');
});
