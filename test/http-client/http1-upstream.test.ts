import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { mock } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import {
  plainRequest,
  type UpstreamCall,
  type UpstreamHandler,
  type UpstreamRequest,
} from '../../src/http-client/http-upstream.js';
import { BackendConnections } from '../../src/http-client/backend-connections.js';
import { Names } from '../../src/http-client/names/names.js';
import { Http1Upstream } from '../../src/http-client/http1-upstream.js';
import type { UpstreamFault, UpstreamFaultKind } from '../../src/http-client/upstream-fault.js';
import { limits } from '../../src/shared/limits.js';
import { PROGRAM_VERSION } from '../../src/shared/program.js';
import { createCertificates } from '../support/certificates.js';
import { startRawBackend, type RawBackend, type RawBackendOptions, type RawHandler } from '../support/raw-backend.js';
import { Random } from '../support/random.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { until } from '../support/until.js';
import { UPSTREAM_SLICE_BYTES_MAX } from '../../src/http-client/read-scheduler.js';
import { UPSTREAM_COPIED_BODY_BYTES_MAX } from '../../src/http-client/request-bytes.js';
import { connectionBounds } from '../../src/http-client/connection-bounds.js';

const BODY = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}');
const MIB = 1024 * 1024;

/** Records the callbacks of a call, and checks that they come in the promised order. */
class Listener implements UpstreamHandler {
  call: UpstreamCall | undefined;
  status = 0;
  contentType = '';
  sessionId = '';
  fault: UpstreamFault | undefined;
  isOver = false;
  bytes = 0;
  readonly chunks: Buffer[] = [];
  /** Violations of the interface's promises, as text. */
  readonly problems: string[] = [];
  /** Called at the end of the callback with that name. */
  onNext: Partial<Record<'head' | 'data' | 'end', () => void>> = {};
  #isAborted = false;

  get text(): string {
    return Buffer.concat(this.chunks).toString('utf8');
  }

  onHead(status: number, contentType: string, sessionId: string): void {
    this.#check(this.status === 0, 'a second head');
    Object.assign(this, { status, contentType, sessionId });
    this.onNext.head?.();
  }

  onData(chunk: Buffer): void {
    this.#check(this.status !== 0, 'data before the head');
    this.bytes += chunk.length;
    if (this.bytes < MIB) this.chunks.push(Buffer.from(chunk));
    this.onNext.data?.();
  }

  onEnd(): void {
    this.#check(this.status !== 0, 'the end before the head');
    this.isOver = true;
    this.onNext.end?.();
  }

  onFault(fault: UpstreamFault): void {
    this.#check(true, '');
    this.fault = fault;
    this.isOver = true;
  }

  abort(): void {
    this.#isAborted = true;
    this.call?.abort();
  }

  /** Waits for the end of the call, or for its fault. */
  async over(): Promise<this> {
    await until(() => this.isOver, 'the end of a call');
    if (this.problems.length > 0) throw new Error(this.problems.join(', '));
    return this;
  }

  #check(isRight: boolean, problem: string): void {
    if (!isRight) this.problems.push(problem);
    if (this.call === undefined) this.problems.push('a callback from within dispatch');
    if (this.#isAborted) this.problems.push('a callback after abort');
    if (this.isOver) this.problems.push('a callback after the end');
  }
}

function startUpstream(t: Test, connectTimeoutMs = 5_000): Http1Upstream {
  const upstream = new Http1Upstream({ connectTimeoutMs, names: new Names() });
  t.teardown(() => upstream.close());
  return upstream;
}

async function startBackend(t: Test, handler: RawHandler, options: RawBackendOptions = {}): Promise<RawBackend> {
  const backend = await startRawBackend(handler, options);
  t.teardown(() => backend.close());
  return backend;
}

function send(upstream: Http1Upstream, origin: string, request: Partial<UpstreamRequest> = {}): Listener {
  const listener = new Listener();
  const target = { origin, path: '/mcp?tenant=7' };
  const headers = ['content-type', 'application/json'];
  listener.call = upstream.dispatch({ ...plainRequest('alice', target, 'POST', headers, BODY), ...request }, listener);
  return listener;
}

t.test('parts left out of a body are not sent, wherever they are and however large the body is', async (t) => {
  const backend = await startBackend(t, (request) => request.json('{}'));
  const upstream = startUpstream(t);
  for (const bytes of [40, UPSTREAM_COPIED_BODY_BYTES_MAX + 5, MIB]) {
    const body = Buffer.from(Array.from({ length: bytes }, (_, index) => 0x20 + (index % 64)));
    for (const [start, end] of [
      [0, 5],
      [20, 30],
      [bytes - 7, bytes],
      [0, 0],
    ] as const) {
      for (const putIn of [undefined, Buffer.from('something else')]) {
        await send(upstream, backend.origin, { body, leftOut: { start, end }, putIn }).over();
        const expected = Buffer.concat([body.subarray(0, start), putIn ?? Buffer.alloc(0), body.subarray(end)]);
        t.ok(backend.requests.at(-1)?.body.equals(expected), `${bytes} bytes, other between ${start} and ${end}`);
      }
    }
  }
});

t.test('sends the request as it is, and hands on the answer in pieces', async (t) => {
  const backend = await startBackend(t, (request) =>
    request.json('{"a":1.0}', {
      headers: {
        'Content-Type': 'Application/JSON ; charset=utf-8',
        'MCP-Session-Id': 'S-1',
        'content-encoding': '',
      },
    }),
  );
  const upstream = startUpstream(t);
  const headers = ['content-type', 'application/json', 'x-Tenant', 'ä'];
  const answer = await send(upstream, backend.origin, { headers }).over();
  t.match(answer, {
    status: 200,
    contentType: 'application/json',
    sessionId: 'S-1',
    text: '{"a":1.0}',
    fault: undefined,
  });
  const { method, path, rawHeaders, body } = backend.requests[0]!;
  t.equal(method, 'POST');
  t.equal(path, '/mcp?tenant=7');
  t.same(body, BODY);
  t.same(rawHeaders, [
    'host',
    backend.origin.slice('http://'.length),
    'connection',
    'keep-alive',
    'accept-encoding',
    'identity',
    ...headers,
    'user-agent',
    `switchyard/${PROGRAM_VERSION}`,
    'content-length',
    String(BODY.length),
  ]);
});

t.test('the trace context is passed on, without a state where there is none', async (t) => {
  const backend = await startBackend(t, (request) => request.json('{}'));
  const upstream = startUpstream(t);
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  for (const tracestate of ['', 'vendor=1']) {
    await send(upstream, backend.origin, { trace: { traceparent, tracestate } }).over();
    const { headers } = backend.requests.at(-1)!;
    t.equal(headers['traceparent'], traceparent);
    t.equal(headers['tracestate'], tracestate === '' ? undefined : tracestate);
  }
});

t.test('the headers that mirror a request of 2026-07-28 are sent, with a name where there is one', async (t) => {
  const backend = await startBackend(t, (request) => request.json('{}'));
  const upstream = startUpstream(t);
  for (const name of ['', 'add']) {
    const params = ['mcp-param-region', 'eu', 'mcp-param-tier', '1'];
    await send(upstream, backend.origin, { head: { method: 'tools/call', name, params } }).over();
    const { rawHeaders } = backend.requests.at(-1)!;
    const mirror = rawHeaders.slice(rawHeaders.indexOf('mcp-method'));
    t.same(mirror, ['mcp-method', 'tools/call', ...(name === '' ? [] : ['mcp-name', name]), ...params]);
  }
});

t.test('the user agent of a caller, where it is passed on, takes the place of our own', async (t) => {
  const backend = await startBackend(t, (request) => request.json('{}'));
  const upstream = startUpstream(t);
  await send(upstream, backend.origin, { headers: ['User-Agent', 'theirs/1'] }).over();
  const names = backend.requests[0]!.rawHeaders.filter((_text, index) => index % 2 === 0);
  t.equal(names.filter((name) => name.toLowerCase() === 'user-agent').length, 1);
  t.equal(backend.requests[0]!.headers['user-agent'], 'theirs/1');
});

t.test('connections are kept, and as many are opened as there are calls at once', async (t) => {
  const backend = await startBackend(t, (request) => request.json('{}'));
  const upstream = startUpstream(t);
  for (let round = 0; round < 20; round += 1) await send(upstream, backend.origin).over();
  t.equal(backend.connections, 1);
  // A call sent from within the end of another reuses the connection, too.
  const first = send(upstream, backend.origin);
  let second: Listener | undefined;
  first.onNext.end = () => (second = send(upstream, backend.origin));
  await first.over();
  await second!.over();
  t.equal(backend.connections, 1);
  await Promise.all(Array.from({ length: 10 }, () => send(upstream, backend.origin).over()));
  t.equal(backend.connections, 10);
});

t.test('a burst of calls opens some connections at a time, and each call is answered', async (t) => {
  const backend = await startBackend(t, (request) => request.json('{}'));
  const { upstreamConnectingMax } = connectionBounds;
  const connections = new BackendConnections({ connectTimeoutMs: 5_000, names: new Names() });
  t.teardown(() => connections.close());
  const calls = Array.from({ length: upstreamConnectingMax + 8 }, () => send(connections.calls, backend.origin));
  t.same(connections.counts, { calls: upstreamConnectingMax, streams: 0, replies: 0 });
  for (const call of calls) await call.over();
  t.same(new Set(calls.map(({ status }) => status)), new Set([200]));
  await send(connections.streams, backend.origin).over();
  t.match(connections.counts, { streams: 1, replies: 0 }, 'each kind has connections of its own');
});

t.test('reads every framing of an answer', async (t) => {
  const upstream = startUpstream(t);
  const text = '{"text":"ä"}';
  const cases: Record<string, { answer: RawHandler; status?: number; text?: string; method?: 'GET' | 'DELETE' }> = {
    length: { answer: (request) => request.json(text) },
    chunked: { answer: (request) => request.chunked(['{"text"', ':"ä"}']) },
    'chunked, byte by byte': {
      answer: (request) =>
        request.byteByByte(
          `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"tex\r\n8\r\nt":"ä"}\r\n0\r\n\r\n`,
        ),
    },
    'until the connection closes': {
      answer: (request) => {
        request.bytes(`HTTP/1.1 200 OK\r\n\r\n${text}`);
        request.destroy();
      },
    },
    'HTTP/1.0': {
      answer: (request) => {
        request.bytes(`HTTP/1.0 200 OK\r\ncontent-length: 13\r\n\r\n${text}`);
        request.destroy();
      },
    },
    'a length, and then closed': {
      answer: (request) => {
        request.json(text, { headers: { connection: 'close' } });
        request.destroy();
      },
    },
    'a length, and the connection left open though close was said': {
      answer: (request) => request.json(text, { headers: { connection: 'close' } }),
    },
    'an early hint first': {
      answer: async (request) => {
        request.bytes('HTTP/1.1 103 Early Hints\r\ncontent-type: text/html\r\nlink: </x>\r\n\r\n');
        await new Promise(setImmediate);
        request.json(text);
      },
    },
    'more than its length': {
      answer: (request) => request.bytes(`HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\n${text}and more`),
    },
    '202 without a body': { answer: (request) => request.empty(202), status: 202, text: '' },
    '204': { answer: (request) => request.empty(204), status: 204, text: '' },
    '404': { answer: (request) => request.json('{}', { status: 404 }), status: 404, text: '{}' },
    'a redirect': { answer: (request) => request.empty(307, { location: '/other' }), status: 307, text: '' },
    DELETE: { answer: (request) => request.json(text), method: 'DELETE' },
    GET: { answer: (request) => request.json(text), method: 'GET' },
  };
  for (const [name, { answer, method, ...expected }] of Object.entries(cases)) {
    const backend = await startBackend(t, answer);
    for (let round = 0; round < 2; round += 1) {
      const request = method === undefined ? {} : { method, body: undefined };
      const heard = await send(upstream, backend.origin, request).over();
      t.match(heard, { status: 200, text, fault: undefined, ...expected }, name);
      if (method !== undefined) t.notOk('content-length' in backend.requests[round]!.headers, `${name} without a body`);
    }
    t.equal(backend.requests.length, 2, `${name}: one request each`);
  }
});

t.test('an answer that arrives before its request was read is taken', async (t) => {
  const upstream = startUpstream(t);
  const answer: RawHandler = (request) =>
    request.json('{"early":true}', { status: 413, headers: { connection: 'close' } });
  const backend = await startBackend(t, answer, { readsBodies: false });
  const heard = await send(upstream, backend.origin, { body: Buffer.alloc(4 * MIB) }).over();
  t.match(heard, { status: 413, text: '{"early":true}', fault: undefined });
});

t.test('a request that was written and not answered is a fault, and is not sent again', async (t) => {
  const upstream = startUpstream(t);
  const cases: Record<string, { answer: RawHandler; kind: UpstreamFaultKind; detail?: string }> = {
    'closed without an answer': { answer: (request) => request.destroy(), kind: 'connection-lost' },
    'reset without an answer': { answer: (request) => request.reset(), kind: 'connection-lost' },
    'half a head': {
      answer: (request) => {
        request.bytes('HTTP/1.1 200 OK\r\ncontent-');
        request.destroy();
      },
      kind: 'connection-lost',
    },
    'half a body with a length': {
      answer: (request) => {
        request.bytes('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{"a"');
        request.destroy();
      },
      kind: 'connection-lost',
    },
    'half a body with a length, and close': {
      answer: (request) => {
        request.bytes('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 10\r\n\r\n{"a"');
        request.destroy();
      },
      kind: 'connection-lost',
    },
    'half a chunked body': {
      answer: (request) => {
        request.bytes('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"a":\r\n');
        request.destroy();
      },
      kind: 'connection-lost',
    },
    'half a chunked body, and close': {
      answer: (request) => {
        request.bytes('HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"a":\r\n');
        request.destroy();
      },
      kind: 'connection-lost',
    },
    'no HTTP': { answer: (request) => request.bytes('220 smtp.example ESMTP\r\n'), kind: 'answer-invalid' },
    'a bad chunk': {
      answer: (request) => request.bytes('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n'),
      kind: 'answer-invalid',
    },
    'a head without an end': {
      answer: (request) => request.bytes(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(limits.upstreamHeaderBytesMax)}`),
      kind: 'answer-invalid',
    },
    'an encoding that nobody asked for': {
      answer: (request) => request.json('{}', { headers: { 'Content-Encoding': 'gzip' } }),
      kind: 'answer-encoded',
      detail: 'gzip',
    },
    'a 101 that nobody asked for': {
      answer: (request) => request.bytes('HTTP/1.1 101 Switch\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
      kind: 'answer-invalid',
    },
  };
  for (const [name, { answer, kind, ...told }] of Object.entries(cases)) {
    const backend = await startBackend(t, answer);
    const heard = await send(upstream, backend.origin).over();
    t.same(heard.fault, { kind, isUnsent: false, ...told }, name);
    backend.handler = (request) => request.json('{}');
    t.equal((await send(upstream, backend.origin).over()).status, 200, `${name}: the next call is fine`);
    t.equal(backend.requests.length, 2, `${name}: sent once`);
  }
});

t.test('a reset does not end a body that has no length', async (t) => {
  const upstream = startUpstream(t);
  const backend = await startBackend(t, (request) => request.bytes('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{"a"'));
  const listener = send(upstream, backend.origin);
  // If the reset arrived together with the data, Node would report an ordinary end.
  await until(() => listener.bytes > 0, 'the data');
  backend.requests[0]!.reset();
  t.same((await listener.over()).fault, { kind: 'connection-lost', isUnsent: false });
});

t.test('a request that cannot be written is an unsent fault', async (t) => {
  const upstream = startUpstream(t, 300);
  const plain = await startBackend(t, (request) => request.json('{}'));
  const { server } = createCertificates(t);
  const tls = { key: server.privateKey, cert: server.certificate };
  const untrusted = await startBackend(t, (request) => request.json('{}'), { tls });
  const gone = await startRawBackend(() => undefined);
  await gone.close();
  const silent = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  t.teardown(() => silent.close());
  const rude = createServer((socket) => socket.once('data', () => socket.destroy())).listen(0, '127.0.0.1');
  await once(rude, 'listening');
  t.teardown(() => rude.close());
  const talkative = createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')).listen(0, '127.0.0.1');
  await once(talkative, 'listening');
  t.teardown(() => talkative.close());
  const portOf = (server: typeof silent): number => (server.address() as AddressInfo).port;

  const cases: Record<string, { origin: string; kind: UpstreamFaultKind }> = {
    'nobody listens': { origin: gone.origin, kind: 'connection-refused' },
    'nobody listens on any address of localhost': {
      origin: gone.origin.replace('127.0.0.1', 'localhost'),
      kind: 'connection-refused',
    },
    'the handshake never ends': { origin: `https://127.0.0.1:${portOf(silent)}`, kind: 'connect-timeout' },
    'closed in the handshake': { origin: `https://127.0.0.1:${portOf(rude)}`, kind: 'tls-failed' },
    'no such name': { origin: 'http://no-such-name.invalid', kind: 'name-not-resolved' },
    'no TLS there': { origin: `https://127.0.0.1:${portOf(talkative)}`, kind: 'tls-failed' },
    'a certificate of nobody': { origin: untrusted.origin, kind: 'tls-failed' },
    'not an origin': { origin: 'ftp://127.0.0.1', kind: 'connect-failed' },
  };
  for (const [name, { origin, kind }] of Object.entries(cases)) {
    const { fault } = await send(upstream, origin).over();
    t.same([fault?.kind, fault?.isUnsent], [kind, true], name);
    if (kind !== 'tls-failed') continue;
    t.match(fault, { logDetail: /./ }, 'the log says why');
    t.equal(fault?.detail, undefined, 'and callers are not told');
  }
  const invalid = await send(upstream, plain.origin, { headers: ['x', 'a\nb'] }).over();
  t.same(invalid.fault, { kind: 'request-invalid', isUnsent: true }, 'a header that cannot be sent');
  t.equal(plain.requests.length, 0);
});

t.test('a backend that comes back is reached again', async (t) => {
  const upstream = startUpstream(t);
  const backend = await startBackend(t, (request) => request.json('{}'));
  t.equal((await send(upstream, backend.origin).over()).status, 200);
  backend.stopListening();
  backend.closeConnections();
  t.equal((await send(upstream, backend.origin).over()).fault?.kind, 'connection-refused');
  await backend.listenAgain();
  t.equal((await send(upstream, backend.origin).over()).status, 200);
});

t.test('a kept connection that was closed fails no call', async (t) => {
  const upstream = startUpstream(t);
  const endings: Record<string, (backend: RawBackend) => void> = {
    closed: (backend) => backend.closeConnections(),
    reset: (backend) => backend.closeConnections('reset'),
    'answered without a request': (backend) => {
      backend.requests.at(-1)!.bytes('HTTP/1.1 408 Request Timeout\r\nconnection: close\r\n\r\n');
      backend.closeConnections();
    },
    'filled with what is no HTTP': (backend) => backend.requests.at(-1)!.bytes('goodbye\r\n'),
  };
  for (const [name, end] of Object.entries(endings)) {
    const backend = await startBackend(t, (request) => request.json('{}'));
    await send(upstream, backend.origin).over();
    end(backend);
    await until(() => backend.openConnections === 0, 'the end of the idle connection');
    t.equal((await send(upstream, backend.origin).over()).status, 200, `${name} while it was idle`);
    // The same at the moment between taking a connection and writing to it, on several at once.
    for (let round = 0; round < 10; round += 1) {
      end(backend);
      const heard = await Promise.all([1, 2, 3].map(() => send(upstream, backend.origin).over()));
      t.same(
        heard.map(({ status, fault }) => ({ status, fault })),
        Array.from({ length: 3 }, () => ({ status: 200, fault: undefined })),
        `${name} in the last moment`,
      );
    }
    t.equal(backend.requests.length, 2 + 10 * 3, `${name}: every request arrived once`);
  }
});

t.test('an aborted call hears nothing more', async (t) => {
  const upstream = startUpstream(t);
  const backend = await startBackend(t, () => undefined);

  const unwritten = send(upstream, backend.origin);
  unwritten.abort();
  unwritten.abort();
  // This call is sent on the connection that the first one opened.
  const unanswered = send(upstream, backend.origin);
  await backend.request(0);
  t.equal(backend.requests.length, 1, 'a call that was aborted before it was written never left');
  unanswered.abort();
  await until(() => backend.openConnections <= 1, 'the cut connection');

  backend.handler = (request) => request.json('{}');
  await send(upstream, backend.origin).over();
  const keptCount = backend.openConnections;
  send(upstream, backend.origin).abort();
  await turn();
  t.equal((await send(upstream, backend.origin).over()).status, 200);
  t.equal(backend.openConnections, keptCount, 'a kept connection serves the next call as well');

  backend.handler = async (request) => {
    const body = request.chunkedBody();
    while (request.connection.writable) await body.write('x'.repeat(1000));
  };
  const inBody = send(upstream, backend.origin);
  inBody.onNext.data = () => inBody.abort();
  const inHead = send(upstream, backend.origin);
  inHead.onNext.head = () => inHead.abort();
  await until(() => backend.requests.length === 3, 'both requests');
  await until(() => backend.openConnections <= 1, 'both cut connections');

  // The rest of the response is in the same packet, followed by the end of the connection.
  backend.handler = (request) => {
    request.bytes('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}');
    request.destroy();
  };
  const inLastPacket = send(upstream, backend.origin);
  inLastPacket.onNext.data = () => inLastPacket.abort();
  await until(() => inLastPacket.bytes > 0, 'the data');

  backend.handler = (request) => request.json('{}');
  const over = send(upstream, backend.origin);
  await over.over();
  over.abort();
  t.equal((await send(upstream, backend.origin).over()).status, 200);
  for (const listener of [unwritten, unanswered, inBody, inHead, inLastPacket, over]) t.same(listener.problems, []);
});

/** Waits until the count is positive and no longer grows. */
async function untilStuck(count: () => number, what: string): Promise<void> {
  let seen = -1;
  let unchanged = 0;
  await until(() => {
    unchanged = count() > 0 && count() === seen ? unchanged + 1 : 0;
    seen = count();
    return unchanged === 50;
  }, what);
}

t.test('a paused call costs no memory, and the backend has to wait', async (t) => {
  const upstream = startUpstream(t);
  const piece = Buffer.alloc(64 * 1024, 'x');
  const pieces = 1024;
  let written = 0;
  const backend = await startBackend(t, async (request) => {
    const body = request.chunkedBody();
    for (; written < pieces; written += 1) await body.write(piece);
    body.end();
  });
  const listener = send(upstream, backend.origin);
  // Pauses before there is anything to pause.
  listener.call!.pause();
  await untilStuck(() => written, 'the backend to be stuck');
  t.ok(listener.bytes <= 2 * piece.length, `${listener.bytes} bytes delivered`);
  t.ok(written * piece.length < 32 * MIB, `${written * piece.length} bytes in the kernel's buffers`);
  // Pauses after each piece and resumes in the next turn.
  listener.onNext.data = () => {
    listener.call!.pause();
    setImmediate(() => listener.call!.resume());
  };
  listener.call!.resume();
  await listener.over();
  t.equal(listener.bytes, pieces * piece.length);
});

t.test('an endless answer leaves each turn to others', async (t) => {
  const upstream = startUpstream(t);
  const random = new Random(11);
  const bodyBytes = 16 * MIB;
  const backend = await startBackend(t, (request) =>
    request.bytes(`HTTP/1.1 200 OK\r\ncontent-length: ${bodyBytes}\r\n\r\n${'x'.repeat(bodyBytes)}`),
  );
  // A caller that pauses and resumes within a turn gets no more of that turn, even when it does so with each piece.
  for (const [chance, what] of [
    [0, 'who never stops'],
    [0.5, 'who stops now and then'],
    [1, 'who stops with each piece'],
  ] as const) {
    const listener = send(upstream, backend.origin);
    let turnBytes = 0;
    /** The most bytes that a turn had read when it read once more. */
    let readAfterMost = 0;
    let before = 0;
    listener.onNext.data = () => {
      readAfterMost = Math.max(readAfterMost, turnBytes);
      turnBytes += listener.bytes - before;
      before = listener.bytes;
      if (random.chance(chance)) {
        listener.call!.pause();
        listener.call!.resume();
      } else if (random.chance(0.1)) {
        // Now and then the kernel's buffer fills up: that is the most that one turn could read.
        listener.call!.pause();
        setTimeout(() => listener.call!.resume(), 20);
      }
    };
    while (!listener.isOver) {
      await new Promise(setImmediate);
      turnBytes = 0;
    }
    await listener.over();
    t.equal(listener.bytes, bodyBytes);
    t.ok(readAfterMost < UPSTREAM_SLICE_BYTES_MAX, `${what}: a read after ${readAfterMost} bytes of one turn`);
  }
});

t.test('a connection that ends while its call is paused ends the call, and nothing else', async (t) => {
  const upstream = startUpstream(t);
  const heads: Record<string, string> = {
    'no length': 'HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{}',
    'a length': 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}',
    chunks: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
    'chunks, and close':
      'HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
  };
  for (const pauseIn of ['head', 'data'] as const) {
    for (const [name, head] of Object.entries(heads)) {
      for (const ending of ['close', 'reset'] as const) {
        const backend = await startBackend(t, (request) => request.bytes(head));
        const listener = send(upstream, backend.origin);
        listener.onNext[pauseIn] = () => listener.call!.pause();
        await until(() => listener.status === 200, 'the head');
        if (pauseIn === 'data') await until(() => listener.bytes === 2, 'the data');
        if (ending === 'close') backend.requests[0]!.destroy();
        else backend.requests[0]!.reset();
        await until(() => backend.openConnections === 0, 'the end of the connection');
        listener.onNext = {};
        listener.call!.resume();
        await listener.over();
        const label = `${name}, paused in ${pauseIn}, ${ending}`;
        // A reset may discard data that was not read yet.
        if (ending === 'close') t.match(listener, { text: '{}', fault: undefined }, label);
        else t.ok(listener.fault === undefined || listener.fault.kind === 'connection-lost', label);
        backend.handler = (request) => request.json('{}');
        t.equal((await send(upstream, backend.origin).over()).status, 200, label);
      }
    }
  }
});

t.test('one call may be resumed from a callback of another', async (t) => {
  const upstream = startUpstream(t);
  const backend = await startBackend(t, (request) => request.chunked(['x'.repeat(100_000), 'y'.repeat(100_000)]));
  const paused = send(upstream, backend.origin);
  paused.onNext.data = () => paused.call!.pause();
  await until(() => paused.bytes > 0, 'data');
  const other = send(upstream, backend.origin);
  other.onNext.data = () => {
    paused.onNext = {};
    paused.call!.resume();
  };
  await other.over();
  await paused.over();
  t.match(
    [paused, other],
    [
      { bytes: 200_000, fault: undefined },
      { bytes: 200_000, fault: undefined },
    ],
  );
});

t.test('close ends every call in flight with a fault', async (t) => {
  const backend = await startBackend(t, (request) => {
    if (request.sequenceNumber === 0) request.bytes('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{');
  });
  const upstream = startUpstream(t);
  const answered = send(upstream, backend.origin);
  await until(() => answered.bytes === 1, 'data');
  const unanswered = send(upstream, backend.origin);
  await backend.request(1);
  const unwritten = send(upstream, backend.origin);
  await upstream.close();
  const afterwards = send(upstream, backend.origin);
  t.same((await answered.over()).fault, { kind: 'connection-lost', isUnsent: false });
  t.same((await unanswered.over()).fault, { kind: 'connection-lost', isUnsent: false });
  t.same((await unwritten.over()).fault, { kind: 'connection-lost', isUnsent: true });
  t.same((await afterwards.over()).fault, { kind: 'connection-lost', isUnsent: true });
  await until(() => backend.openConnections === 0, 'the end of every connection');
  await upstream.close();
});

t.test('a connection that was idle for too long is closed, and a new one takes its place', async (t) => {
  // Only the look at what is idle runs on an interval.
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => mock.timers.reset());
  const upstream = startUpstream(t);
  const backend = await startBackend(t, (request) => request.json('{}'));
  await send(upstream, backend.origin).over();
  mock.timers.tick(connectionBounds.upstreamConnectionIdleMs - connectionBounds.upstreamSweepMs);
  await send(upstream, backend.origin).over();
  t.equal(backend.connections, 1, 'not before');
  mock.timers.tick(connectionBounds.upstreamConnectionIdleMs + connectionBounds.upstreamSweepMs);
  await until(() => backend.openConnections === 0, 'the end of the unused connection');
  mock.timers.tick(connectionBounds.upstreamSweepMs);
  t.equal(upstream.shares.subjectCount, 0, 'nothing is kept of an origin that nobody uses');
  t.equal((await send(upstream, backend.origin).over()).status, 200);
  t.equal(backend.connections, 2);
});

t.test('a connection is given up before the time at which the backend said that it would close it', async (t) => {
  const upstream = startUpstream(t);
  const headers = { 'keep-alive': 'timeout=1, max=5' };
  const backend = await startBackend(t, (request) => request.json('{}', { headers }));
  await send(upstream, backend.origin).over();
  await send(upstream, backend.origin).over();
  t.equal(backend.connections, 2, 'a second is less than the margin');
});

t.test('the number of origins is bounded, and an idle one makes room for a new one', async (t) => {
  const upstream = new Http1Upstream({ connectTimeoutMs: 5_000, names: new Names(), shares: { poolsMax: 2 } });
  t.teardown(() => upstream.close());
  const [busy, idle, third] = [
    await startBackend(t, () => undefined),
    await startBackend(t, (request) => request.json('{}')),
    await startBackend(t, () => undefined),
  ];
  const first = send(upstream, busy.origin);
  await send(upstream, idle.origin).over();
  const second = send(upstream, third.origin);
  await third.request(0);
  await until(() => idle.openConnections === 0, 'the end of the idle connection');
  t.same((await send(upstream, idle.origin).over()).fault, { kind: 'connections-used', isUnsent: true });
  (await busy.request(0)).empty(202);
  third.requests[0]!.empty(202);
  t.equal((await first.over()).status, 202);
  t.equal((await second.over()).status, 202);
  t.equal((await send(upstream, idle.origin).over()).status, 200);
});

t.test('one subject with many backends keeps nobody else from theirs', async (t) => {
  const upstream = new Http1Upstream({
    connectTimeoutMs: 5_000,
    names: new Names(),
    shares: { poolsMax: 8, poolsPerSubjectMax: 2 },
  });
  t.teardown(() => upstream.close());
  const backends = await Promise.all(Array.from({ length: 5 }, () => startBackend(t, () => undefined)));
  const calls = backends.map((backend) => send(upstream, backend.origin, { subject: 'mallory' }));
  for (const call of calls.slice(2)) {
    t.same((await call.over()).fault, { kind: 'connections-share-used', isUnsent: true });
  }
  const victims = backends.slice(2).map((backend) => send(upstream, backend.origin, { subject: 'alice' }));
  t.same((await victims[2]!.over()).fault?.kind, 'connections-share-used', 'everybody has a share');
  for (const backend of backends.slice(2, 4)) (await backend.request(0)).empty(202);
  for (const victim of victims.slice(0, 2)) t.equal((await victim.over()).status, 202);
  (await backends[0]!.request(0)).empty(202);
  await calls[0]!.over();
  const next = send(upstream, backends[4]!.origin, { subject: 'mallory' });
  (await backends[4]!.request(0)).empty(202);
  t.equal((await next.over()).status, 202, 'an idle one of its own is let go');
  await until(() => backends[0]!.openConnections === 0, 'its end');
  t.equal(backends[2]!.openConnections, 1, 'and none of others');
});

t.test('with all connections of the process in use, an idle one to another backend makes room', async (t) => {
  const bounds = { connectionsMax: 2, connectionsPerSubjectMax: 2 };
  const upstream = new Http1Upstream({ connectTimeoutMs: 5_000, names: new Names(), shares: bounds });
  t.teardown(() => upstream.close());
  const idle = await startBackend(t, (request) => request.json('{}'));
  const busy = await startBackend(t, () => undefined);
  await send(upstream, idle.origin).over();
  const calls = [send(upstream, busy.origin), send(upstream, busy.origin, { subject: 'bob' })];
  await busy.request(1);
  await until(() => idle.openConnections === 0, 'the end of the idle connection');
  t.equal(upstream.shares.connectionCount, 2);
  const refused = send(upstream, idle.origin, { subject: 'carol' });
  t.same((await refused.over()).fault, { kind: 'connections-used', isUnsent: true });
  for (const request of busy.requests) request.empty(202);
  for (const call of calls) t.equal((await call.over()).status, 202);
});

t.test('speaks TLS with a backend that it trusts', async (t) => {
  const { authority, server } = createCertificates(t);
  const tls = { key: server.privateKey, cert: server.certificate };
  const backend = await startBackend(t, (request) => request.json('{}'), { tls });
  // Node reads additional authorities only at startup.
  const environment = { NODE_EXTRA_CA_CERTS: authority.certificatePath };
  const handler =
    '{ onHead: (status) => exit(status === 200 ? 42 : 1), onData() {}, onEnd() {}, onFault() { exit(1); } }';
  t.equal((await runCaller(t, backend.origin, handler, environment)).exitCode, 42);
});

t.test('a handler that throws ends the process', async (t) => {
  const backend = await startBackend(t, (request) => request.json('{}'));
  const check = async (name: string): Promise<void> => {
    const handler = `{ onHead() {}, onData() {}, onEnd() {}, onFault() { exit(42); }, ${name}() { throw new Error('broken'); } }`;
    const { exitCode, errorText } = await runCaller(t, backend.origin, handler);
    t.equal(exitCode, 1, name);
    t.match(errorText, 'Error: broken', name);
  };
  await Promise.all(['onHead', 'onData', 'onEnd'].map(check));
});

/** Sends one request from a process of its own; the source text describes the handler that receives the callbacks. */
async function runCaller(
  t: Test,
  origin: string,
  handler: string,
  environment: Record<string, string> = {},
): Promise<{ exitCode: number | null; errorText: string }> {
  const moduleUrl = new URL('../../src/http-client/index.js', import.meta.url).href;
  const path = join(createScratchDirectory(t), 'caller.mjs');
  writeFileSync(
    path,
    `import { exit } from 'node:process';
    import { Http1Upstream, Names } from ${JSON.stringify(moduleUrl)};
    const target = { origin: ${JSON.stringify(origin)}, path: '/mcp' };
    const request = { subject: 'alice', target, method: 'POST', headers: [], body: Buffer.from('{}') };
    new Http1Upstream({ connectTimeoutMs: 5_000, names: new Names() }).dispatch(request, ${handler});`,
  );
  const child = fork(path, { env: { ...process.env, ...environment }, silent: true });
  let errorText = '';
  child.stderr!.on('data', (chunk: Buffer) => (errorText += chunk.toString()));
  const [exitCode] = (await once(child, 'close')) as [number | null];
  return { exitCode, errorText };
}
