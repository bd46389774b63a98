// The proxy of a company's network, over a real one: which origins go through it, what the tunnel carries, and how it fails.
import type { Socket } from 'node:net';
import t, { type Test } from 'tap';
import { Http1Upstream } from '../../../src/http-client/http1-upstream.js';
import { Names } from '../../../src/http-client/names/names.js';
import { OutboundProxy, type ProxyOptions } from '../../../src/http-client/names/outbound-proxy.js';
import { faultReason, type UpstreamFault } from '../../../src/http-client/upstream-fault.js';
import { upstreamFetch } from '../../../src/http-client/upstream-fetch.js';
import { createCertificates } from '../../support/certificates.js';
import { type ForwardProxy, startForwardProxy } from '../../support/forward-proxy.js';
import { startRawBackend, type RawBackend, type RawHandler } from '../../support/raw-backend.js';
import { until } from '../../support/until.js';

const MIB = 1024 * 1024;
/** Names that only the proxy knows, and only it leads anywhere. */
const HOST = 'files.example';
const certificates = createCertificates(t, `DNS:${HOST}`);

interface Stand {
  readonly proxy: ForwardProxy;
  readonly backend: RawBackend;
  readonly http: Http1Upstream;
  readonly fetch: (url: string, body?: Buffer) => Promise<Response>;
}

class Fault extends Error {
  readonly fault: UpstreamFault;

  constructor(fault: UpstreamFault) {
    super(faultReason(fault));
    this.fault = fault;
  }
}

async function stand(
  t: Test,
  handler: RawHandler,
  more: Partial<ProxyOptions> = {},
  timeoutMs = 20_000,
): Promise<Stand> {
  const { privateKey: key, certificate: cert } = certificates.server;
  const backend = await startRawBackend(handler, { tls: { key, cert } });
  t.teardown(() => backend.close());
  const backendPort = Number(new URL(backend.origin).port);
  const proxy = await startForwardProxy(t, () => backendPort);
  const address = { host: '127.0.0.1', port: proxy.port, authorization: '', exceptions: [], ...more };
  // Nothing answers at this name server.
  const names = new Names({ proxy: address, nameServers: ['127.0.0.1:1'] });
  const authorities = certificates.authority.certificate;
  const http = new Http1Upstream({ connectTimeoutMs: timeoutMs, names, authorities });
  t.teardown(async () => {
    await http.close();
    names.close();
  });
  const signal = new AbortController().signal;
  const fetch = async (url: string, body?: Buffer): Promise<Response> => {
    const errorOf = (fault: UpstreamFault): Error => new Fault(fault);
    const request = body === undefined ? {} : { method: 'POST', body: body.toString() };
    return upstreamFetch({ http, subject: 'anyone', signal, acceptsPiece: () => true, errorOf }, new URL(url), request);
  };
  return { proxy, backend, http, fetch };
}

async function faultOf(answer: Promise<Response>): Promise<UpstreamFault> {
  return answer.then(
    () => Promise.reject(new Error('an answer')),
    (error: unknown) => {
      if (error instanceof Fault) return error.fault;
      throw error;
    },
  );
}

void t.test('an https origin is reached through the proxy, which looks its name up', async (t) => {
  const authorization = 'Basic dXNlcjpwYXNz';
  const { proxy, backend, fetch } = await stand(t, (request) => request.json({ ok: true }), { authorization });
  for (let round = 0; round < 20; round += 1) {
    const response = await fetch(`https://${HOST}/mcp`, Buffer.from('{}'));
    t.equal(await response.text(), '{"ok":true}');
  }
  t.strictSame(
    proxy.heads,
    [`CONNECT ${HOST}:443 HTTP/1.1\r\nhost: ${HOST}:443\r\nproxy-authorization: ${authorization}\r\n\r\n`],
    'one tunnel for all requests',
  );
  t.equal(backend.requests[0]?.headers['host'], HOST);
  t.notOk('proxy-authorization' in (backend.requests[0]?.headers ?? {}), 'the password is for the proxy alone');
});

void t.test('megabytes go through a tunnel whole, in both directions, at the pace of their reader', async (t) => {
  const text = 'x'.repeat(5 * MIB);
  const { fetch, backend } = await stand(t, (request) => request.json({ text }));
  const sent = Buffer.from(JSON.stringify({ text }));
  const response = await fetch(`https://${HOST}:8443/mcp`, sent);
  t.equal(((await response.json()) as { text: string }).text, text);
  t.ok(backend.requests[0]?.body.equals(sent));
});

void t.test(
  'a proxy that makes no tunnel fails the request with what it said, and the next one is tried anew',
  async (t) => {
    const { proxy, backend, fetch } = await stand(t, (request) => request.json({ ok: true }));
    const answers: Record<string, [(socket: Socket) => void, string]> = {
      'it wants a password': [
        (socket) => socket.end('HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n'),
        '(HTTP 407)',
      ],
      'it forbids the host': [(socket) => socket.write('HTTP/1.0 403 Forbidden\r\n\r\nno'), '(HTTP 403)'],
      'it closes': [(socket) => socket.end(), '(closed without a response)'],
      'it resets': [(socket) => socket.resetAndDestroy(), '(ECONNRESET)'],
      'it speaks something else': [(socket) => socket.write('SSH-2.0-OpenSSH_9.2\r\n\r\n'), '(no HTTP response)'],
      'its head does not end': [
        (socket) => socket.write(`HTTP/1.1 200 OK\r\n${'a: b\r\n'.repeat(9_000)}`),
        '(HTTP 200)',
      ],
      'it refuses after an interim response': [
        (socket) => socket.write('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 502 Bad Gateway\r\n\r\n'),
        '(HTTP 502)',
      ],
      'its interim responses do not end': [
        (socket) => socket.write('HTTP/1.1 100 Continue\r\n\r\n'.repeat(1_000)),
        '(no HTTP response)',
      ],
      'it says something in the name of the origin': [
        (socket) => socket.write('HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'),
        '(HTTP 200)',
      ],
    };
    for (const [name, [answer, detail]] of Object.entries(answers)) {
      proxy.answer = answer;
      const fault = await faultOf(fetch(`https://${HOST}/mcp`));
      t.strictSame(fault, { kind: 'proxy-failed', isUnsent: true, detail }, name);
      await until(() => proxy.sockets.size === 0, 'the end of the connection to the proxy');
    }
    t.equal(backend.connections, 0);
    proxy.answer = undefined;
    t.equal((await fetch(`https://${HOST}/mcp`)).status, 200);
  },
);

void t.test('a proxy that cannot be reached, or is silent, is named as the cause', async (t) => {
  const { fetch } = await stand(t, (request) => request.json({}), { port: 1 });
  t.match(await faultOf(fetch(`https://${HOST}/mcp`)), { kind: 'proxy-failed', detail: '(connection refused)' });
  const unknown = await stand(t, (request) => request.json({}), { host: 'proxy.invalid' }, 2_000);
  t.match(await faultOf(unknown.fetch(`https://${HOST}/mcp`)), { detail: '(host name not resolved)' });
  const silent = await stand(t, (request) => request.json({}), {}, 200);
  silent.proxy.answer = () => {};
  t.match(await faultOf(silent.fetch(`https://${HOST}/mcp`)), { detail: '(connecting timed out)' });
  await until(() => silent.proxy.sockets.size === 0, 'the end of the connection to the proxy');
});

void t.test('the certificate behind a proxy is checked for the origin', async (t) => {
  const { fetch, backend } = await stand(t, (request) => request.json({}));
  t.match(await faultOf(fetch('https://other.example/mcp')), { kind: 'tls-failed' });
  t.equal(backend.requests.length, 0);
});

void t.test('a request that is given up takes its tunnel along', async (t) => {
  const { proxy, http, fetch } = await stand(t, (request) => request.json({}));
  proxy.answer = () => {};
  const answer = faultOf(fetch(`https://${HOST}/mcp`));
  await until(() => proxy.heads.length === 1, 'the request for a tunnel');
  await http.close();
  t.match(await answer, { kind: 'connection-lost' });
  await until(() => proxy.sockets.size === 0, 'the end of the connection to the proxy');
});

void t.test('loopback, plain text, addresses that nobody may reach', async (t) => {
  const { proxy, fetch } = await stand(t, (request) => request.json({}));
  t.match(await faultOf(fetch('https://127.0.0.1:1/mcp')), { kind: 'connection-refused' });
  t.match(
    await faultOf(fetch(`http://${HOST}/mcp`)),
    { kind: 'name-not-resolved' },
    'plain text is for the own network',
  );
  t.match(await faultOf(fetch('https://169.254.169.254/mcp')), { kind: 'address-refused' });
  t.strictSame(proxy.heads, []);
});

void t.test('what is reached without the proxy', (t) => {
  const rows: [exception: string, host: string, port: number, isFor: boolean][] = [
    ['', 'example.com', 443, true],
    ['*', 'example.com', 443, false],
    ['example.com', 'example.com', 443, false],
    ['example.com', 'example.com.', 443, false],
    ['example.com', 'api.example.com', 443, false],
    ['example.com', 'badexample.com', 443, true],
    ['.example.com', 'api.example.com', 443, false],
    ['*.example.com', 'a.b.example.com', 443, false],
    ['example.com:8443', 'example.com', 8443, false],
    ['example.com:8443', 'example.com', 443, true],
    ['10.0.0.0/8', '10.1.2.3', 443, false],
    ['10.0.0.0/8', '11.1.2.3', 443, true],
    ['10.0.0.0/8', 'ten.example', 443, true],
    ['10.1.2.3', '10.1.2.3', 443, false],
    ['10.1.2.3:8443', '10.1.2.3', 443, true],
    ['2001:db8::/32', '2001:db8::7', 443, false],
    ['2001:db8::7', '2001:db8::7', 443, false],
    ['2001:0DB8:0::0007'.toLowerCase(), '2001:db8::7', 443, false],
    ['10.1.2.3', '::ffff:a01:203', 443, false],
    ['[2001:db8::7]:8443', '2001:db8::7', 8443, false],
    ['[2001:db8::7]:8443', '2001:db8::7', 443, true],
    // Not what anybody means: without effect, as elsewhere.
    ['10.0.0.0/99', '10.1.2.3', 443, true],
    ['0/0', '10.1.2.3', 443, true],
    ['/8', '10.1.2.3', 443, true],
    ['.', 'example.com', 443, true],
    ['3.4', '1.2.3.4', 443, true],
    // Always.
    ['', 'localhost', 443, false],
    ['', 'api.localhost', 443, false],
    ['', '127.8.9.1', 443, false],
    ['', '::1', 443, false],
  ];
  for (const [exception, host, port, isFor] of rows) {
    const exceptions = exception === '' ? [] : ['unrelated.example', exception];
    const proxy = new OutboundProxy({ host: 'proxy.example', port: 3128, authorization: '', exceptions });
    t.equal(proxy.appliesTo(host, port), isFor, `${exception || 'no exception'}: ${host}:${port}`);
  }
  t.end();
});
