// What the log says about backends: enough to act on, and at most one line per change or interval.
import t from 'tap';
import { BackendLog, BACKEND_OBSTACLES_MAX, LAST_FAULTS_MAX } from '../../src/upstream/backend-log.js';
import { faultReason, redirectFault, upstreamFault } from '../../src/http-client/upstream-fault.js';
import { logInto } from '../support/log-lines.js';
import type { CompiledBackend } from '../../src/user-config/compiled-config.js';
import { backendOf, virtualHostOf } from '../relay/virtual-host.js';
import { FAILURE_LOG_INTERVAL_MS } from '../../src/shared/logger.js';

function parse(line: string): unknown {
  return JSON.parse(line);
}

t.test('the first failed request is logged at once, the rest as a count', async (t) => {
  const lines: string[] = [];
  let nowMs = 1_000_000;
  const log = new BackendLog(logInto(lines), () => nowMs);
  const virtualHost = virtualHostOf({ a: {}, b: {} });
  const originOf = (name: string): string => backendOf(virtualHost, name).target.origin;
  for (let count = 0; count < 4; count += 1)
    log.onFailure(backendOf(virtualHost, 'a'), upstreamFault('answer-invalid'));
  log.onFailure(backendOf(virtualHost, 'b'), upstreamFault('connection-lost'));
  t.match(lines.map(parse), [
    { backend: 'a', origin: originOf('a'), reason: 'invalid response' },
    { backend: 'b', origin: originOf('b'), reason: 'connection lost' },
  ]);
  nowMs += FAILURE_LOG_INTERVAL_MS;
  log.onFailure(backendOf(virtualHost, 'a'), upstreamFault('answer-timeout'));
  t.match(parse(lines[2] ?? ''), { backend: 'a', reason: 'no response in time', notLogged: 3 });
  t.equal(lines.length, 3);
  nowMs += FAILURE_LOG_INTERVAL_MS;
  log.onFailure(backendOf(virtualHost, 'a'), upstreamFault('answer-timeout'));
  t.match(parse(lines[3] ?? ''), { backend: 'a', notLogged: undefined }, 'nothing is left out in between');
});

t.test('figures and operators learn whether a request has failed or an opening', async (t) => {
  const told: unknown[] = [];
  const log = new BackendLog(logInto([]), undefined, (...fault) => told.push(fault));
  const backend = backendOf(virtualHostOf({ a: {} }), 'a');
  log.onFailure(backend, upstreamFault('answer-timeout'));
  t.match(log.lastFaultOf(backend.target.origin), { kind: 'answer-timeout', during: 'request' });
  log.onOpenFault(backend, upstreamFault('connection-refused'));
  log.onUnavailable(backend, upstreamFault('connection-refused'));
  t.match(log.lastFaultOf(backend.target.origin), { kind: 'connection-refused', during: 'opening' });
  t.strictSame(told, [
    ['a', 'answer-timeout', 'request'],
    ['a', 'connection-refused', 'opening'],
  ]);
});

t.test('the path that a backend redirects to appears in the log alone', async (t) => {
  const lines: string[] = [];
  const log = new BackendLog(logInto(lines));
  const backend = backendOf(virtualHostOf({ a: {} }), 'a');
  const from = { origin: 'http://a.example', path: '/s/s3cret/mcp' };
  for (const [location, told, logged] of [
    ['/s/s3cret/mcp/', 'the same path with a trailing slash', 'the path /s/s3cret/mcp/'],
    ['/s/s3cret/mcp/?key=s3cret', 'the same path with a trailing slash', 'the path /s/s3cret/mcp/'],
    ['/s/s3cret/', 'another path of the same server', 'the path /s/s3cret/'],
    ['https://a.example/s/s3cret/mcp', 'https', 'https, path /s/s3cret/mcp'],
    ['https://b.example/s/s3cret/mcp', 'another origin', 'another origin'],
    [`/${'x'.repeat(2_000)}`, 'another path of the same server', `the path /${'x'.repeat(255)}…`],
  ] as const) {
    const fault = redirectFault(308, location, from);
    t.equal(faultReason(fault), `redirects are not followed; it redirects to ${told}`);
    log.onUnavailable(backend, fault);
    t.match(parse(lines.at(-1) ?? ''), { reason: `redirects are not followed; it redirects to ${logged}` });
  }
  const withSlash = { ...from, path: '/s/s3cret/mcp/?tenant=7' };
  const removed = redirectFault(308, '/s/s3cret/mcp', withSlash);
  t.equal(faultReason(removed), 'redirects are not followed; it redirects to the same path without the trailing slash');
  t.equal(faultReason(redirectFault(308, '', from)), 'refused with HTTP status 308');
});

t.test('a backend is logged when it becomes unavailable, and when it is back', async (t) => {
  const lines: string[] = [];
  const log = new BackendLog(logInto(lines));
  const backend = backendOf(virtualHostOf({ a: { url: 'https://a.example:8443/mcp/s3cret?key=s3cret' } }), 'a');
  log.onAvailable(backend);
  log.onUnavailable(backend, upstreamFault('connection-refused'));
  log.onUnavailable(backend, upstreamFault('connection-refused'));
  log.onAvailable(backend);
  t.match(lines.map(parse), [
    {
      level: 40,
      msg: 'backend unavailable',
      backend: 'a',
      origin: 'https://a.example:8443',
      reason: 'connection refused',
    },
    { level: 30, msg: 'backend available again', backend: 'a', origin: 'https://a.example:8443' },
  ]);
  t.notMatch(lines.join(), /s3cret/);
  t.equal(lines.length, 2);
});

t.test('an origin that is never connected to is logged once, whichever config names it', async (t) => {
  const lines: string[] = [];
  const log = new BackendLog(logInto(lines));
  const backendAt = (url: string): CompiledBackend => backendOf(virtualHostOf({ a: { url } }), 'a');
  const fault = upstreamFault('plain-text-refused');
  for (const path of ['one', 'two']) log.onUnavailable(backendAt(`http://a.example:81/${path}?key=s3cret`), fault);
  const reason = 'plain-text HTTP needs --upstream-connection-mode plain-text-or-tls';
  t.match(lines.map(parse), [
    { level: 40, msg: 'backend unavailable', backend: 'a', origin: 'http://a.example:81', reason },
  ]);
  t.equal(lines.length, 1);
  t.notMatch(lines.join(), /s3cret|one/);
  for (let port = 1; port <= BACKEND_OBSTACLES_MAX; port += 1)
    log.onUnavailable(backendAt(`http://b.example:${port}/`), fault);
  t.equal(lines.length, BACKEND_OBSTACLES_MAX, 'not without bound');
});

t.test('tools that a list leaves out are logged once, and again when they are others', async (t) => {
  const lines: string[] = [];
  const log = new BackendLog(logInto(lines));
  const virtualHost = virtualHostOf({ a: {}, b: {} });
  const [a, b] = [backendOf(virtualHost, 'a'), backendOf(virtualHost, 'b')];
  const [one, two] = ['one: too many headers', 'two: too many headers'] as const;
  for (const tools of [[one], [one], [one, two], [one]]) log.onToolsOmitted(a, tools);
  log.onToolsOmitted(b, [one]);
  t.match(lines.map(parse), [
    { level: 40, backend: 'a', origin: a.target.origin, tools: [one] },
    { backend: 'a', tools: [one, two] },
    { backend: 'a', tools: [one] },
    { backend: 'b', tools: [one] },
  ]);
  t.equal(lines.length, 4);
});

t.test('settings of extensions that differ are logged once for each virtual host', async (t) => {
  const lines: string[] = [];
  const log = new BackendLog(logInto(lines));
  const hosts = [virtualHostOf({ a: {} }), virtualHostOf({ b: {} })];
  for (const host of [...hosts, ...hosts]) log.onExtensionConflict(host, ['x/y']);
  t.equal(lines.length, 2);
  t.match(parse(lines[0] ?? ''), { level: 40, virtualHost: hosts[0]?.id, extensions: ['x/y'] });
});

t.test('of each origin the last failure is known, and of very many origins those that failed last', async (t) => {
  const faults = new BackendLog(logInto([]));
  const backend = backendOf(virtualHostOf({ a: {} }), 'a');
  const originOf = (number: number): string => `https://b${number}.example`;
  const fail = (number: number): void =>
    faults.onFailure({ ...backend, target: { origin: originOf(number), path: '/' } }, upstreamFault('answer-timeout'));
  for (let number = 0; number < LAST_FAULTS_MAX; number += 1) fail(number);
  fail(0);
  t.match(faults.lastFaultOf(originOf(0)), {
    backend: 'a',
    kind: 'answer-timeout',
    during: 'request',
    reason: 'no response in time',
  });
  t.ok(faults.lastFaultOf(originOf(1)), 'what failed again takes no other room');
  fail(LAST_FAULTS_MAX);
  t.same(
    [0, 1, 2, LAST_FAULTS_MAX].map((number) => faults.lastFaultOf(originOf(number)) !== undefined),
    [true, false, true, true],
  );
});
