import t, { type Test } from 'tap';
import {
  duration,
  oneOf,
  parseHost,
  parseHosts,
  parseListenAddress,
  parseNameServers,
  parseNetworks,
  parseOrigins,
  parsePathPrefix,
  parseSwitch,
  parseText,
  size,
  wholeNumber,
  InvalidValue,
} from '../../src/config/values.js';

/** Texts and the values that they must be parsed to; `undefined`: the text must be refused. */
function checkAll(t: Test, parse: (text: string) => unknown, cases: readonly (readonly [string, unknown])[]): void {
  for (const [text, expected] of cases) {
    if (expected === undefined) {
      t.throws(() => parse(text), InvalidValue, `refuses ${JSON.stringify(text)}`);
    } else {
      t.strictSame(parse(text), expected, `reads ${JSON.stringify(text)}`);
    }
  }
}

t.test('durations carry their unit', async (t) => {
  checkAll(t, duration({ minMs: 1 }), [
    ['500ms', 500],
    ['10s', 10_000],
    ['5m', 300_000],
    ['1h', 3_600_000],
    ['596h', 2_145_600_000],
    ['2147483647ms', 2 ** 31 - 1],
    ['2147483648ms', undefined],
    ['597h', undefined],
    ['0s', undefined],
    ['10', undefined],
    ['', undefined],
    ['1.5s', undefined],
    ['-1s', undefined],
    ['10 s', undefined],
    ['10S', undefined],
    ['s', undefined],
    ['1d', undefined],
    ['1s ', undefined],
    ['99999999999999999999h', undefined],
  ]);
  checkAll(t, duration({ minMs: 0 }), [['0s', 0]]);
  checkAll(t, duration({ minMs: 1_000, maxMs: 7_200_000 }), [
    ['2h', 7_200_000],
    ['3h', undefined],
    ['999ms', undefined],
  ]);
});

t.test('sizes are bytes or have a binary unit', async (t) => {
  checkAll(t, size({ minBytes: 1, maxBytes: 1024 ** 3 }), [
    ['4MiB', 4_194_304],
    ['512KiB', 524_288],
    ['1GiB', 1_073_741_824],
    ['17', 17],
    ['17B', 17],
    ['1073741825', undefined],
    ['2GiB', undefined],
    ['0', undefined],
    ['', undefined],
    ['4MB', undefined],
    ['4mib', undefined],
    ['-4', undefined],
    ['0x10', undefined],
    ['1e3', undefined],
  ]);
});

t.test('listen addresses', async (t) => {
  checkAll(t, parseListenAddress, [
    ['127.0.0.1:8001', { host: '127.0.0.1', port: 8001 }],
    ['0.0.0.0:0', { host: '0.0.0.0', port: 0 }],
    ['[::1]:8001', { host: '::1', port: 8001 }],
    ['[::]:65535', { host: '::', port: 65_535 }],
    ['localhost:80', { host: 'localhost', port: 80 }],
    ['gateway-1.example:80', { host: 'gateway-1.example', port: 80 }],
    ['', undefined],
    ['8001', undefined],
    [':8001', undefined],
    ['127.0.0.1', undefined],
    ['127.0.0.1:', undefined],
    ['127.0.0.1:65536', undefined],
    ['127.0.0.1:-1', undefined],
    ['127.0.0.1:8001x', undefined],
    ['::1:8001', undefined],
    ['[::1]', undefined],
    ['[127.0.0.1]:80', undefined],
    ['[::zz]:80', undefined],
    ['http://localhost:80', undefined],
    ['-host:80', undefined],
    ['a b:80', undefined],
  ]);
});

t.test('hosts without a port are parsed', async (t) => {
  checkAll(t, parseHost, [
    ['redis.internal', 'redis.internal'],
    ['10.0.0.1', '10.0.0.1'],
    ['::1', '::1'],
    ['[::1]', '::1'],
    ['redis:6379', undefined],
    ['redis://redis', undefined],
    ['user:pass@redis', undefined],
    ['', undefined],
    ['a..b', undefined],
    ['x'.repeat(64), undefined],
  ]);
});

t.test('path prefixes lose a final slash', async (t) => {
  checkAll(t, parsePathPrefix, [
    ['/gw-rs', '/gw-rs'],
    ['/gw-rs/', '/gw-rs'],
    ['/a/b.c', '/a/b.c'],
    ['/', ''],
    ['', ''],
    ['gw-rs', undefined],
    ['//', undefined],
    ['/a//b', undefined],
    ['/a/../b', undefined],
    ['/.', undefined],
    ['/a?b', undefined],
    ['/a#b', undefined],
    ['/a b', undefined],
    ['/a%20b', undefined],
  ]);
});

t.test('origins are written as browsers write them', async (t) => {
  checkAll(t, parseOrigins, [
    ['https://app.example', ['https://app.example']],
    ['https://App.Example:443, http://localhost:3000', ['https://app.example', 'http://localhost:3000']],
    ['chrome-extension://abcdef', ['chrome-extension://abcdef']],
    ['http://[::1]:80', ['http://[::1]']],
    ['https://app.example/', undefined],
    ['https://app.example/path', undefined],
    ['https://user@app.example', undefined],
    ['app.example', undefined],
    ['*', undefined],
    ['null', undefined],
    ['', undefined],
    ['https://a.example,', undefined],
    ['https://a.example:99999', undefined],
  ]);
  t.throws(() => parseOrigins('https://a.example,nonsense'), { message: /^entry 2 is not an origin/ });
});

t.test('allowed hosts are lower case and may have a port', async (t) => {
  checkAll(t, parseHosts, [
    ['Gateway.Example', ['gateway.example']],
    ['a.example:8443,[::1]:8001,[::1]', ['a.example:8443', '[::1]:8001', '[::1]']],
    ['::1', undefined],
    ['a.example:', undefined],
    ['a.example:65536', undefined],
    ['https://a.example', undefined],
    ['a.example,,b.example', undefined],
    ['', undefined],
  ]);
});

t.test('name servers are addresses, with a port or without', async (t) => {
  checkAll(t, parseNameServers, [
    ['192.0.2.53', ['192.0.2.53']],
    ['192.0.2.53:5353,2001:db8::53,[2001:db8::53]:53', ['192.0.2.53:5353', '2001:db8::53', '[2001:db8::53]:53']],
    ['[2001:db8::53]', ['[2001:db8::53]']],
    ['ns.example', undefined],
    ['192.0.2.53:0', undefined],
    ['192.0.2.53:65536', undefined],
    ['192.0.2', undefined],
    ['[192.0.2.53]:53', undefined],
    ['', undefined],
  ]);
});

t.test('networks', async (t) => {
  checkAll(t, parseNetworks, [
    ['10.0.0.0/8,192.0.2.7,2001:db8::/32,::1', ['10.0.0.0/8', '192.0.2.7', '2001:db8::/32', '::1']],
    ['0.0.0.0/0', ['0.0.0.0/0']],
    ['10.0.0.0/33', undefined],
    ['2001:db8::/129', undefined],
    ['10.0.0/8', undefined],
    ['10.0.0.0/', undefined],
    ['10.0.0.0/8/8', undefined],
    ['intranet.example', undefined],
    ['', undefined],
  ]);
});

t.test('switches, choices, numbers and texts are parsed', async (t) => {
  checkAll(t, parseSwitch, [
    ['true', true],
    ['ON', true],
    ['yes', true],
    ['1', true],
    ['false', false],
    ['off', false],
    ['No', false],
    ['0', false],
    ['', undefined],
    ['2', undefined],
    ['truee', undefined],
    ['untrue', undefined],
    ['00', undefined],
    ['offf', undefined],
  ]);
  checkAll(t, oneOf('tls', 'mtls'), [
    ['tls', 'tls'],
    ['mtls', 'mtls'],
    ['TLS', undefined],
    ['', undefined],
    ['constructor', undefined],
  ]);
  checkAll(t, wholeNumber({ min: 1, max: 8 }), [
    ['1', 1],
    ['8', 8],
    ['0', undefined],
    ['9', undefined],
    ['', undefined],
    ['1.0', undefined],
    ['+1', undefined],
    [' 1', undefined],
    ['NaN', undefined],
  ]);
  checkAll(t, parseText, [
    ['a', 'a'],
    ['', undefined],
  ]);
});
