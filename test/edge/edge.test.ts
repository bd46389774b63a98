// The listeners of a worker, the same with each HTTP library: which requests reach whom, what the edge answers by itself, and how it drains.
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import Module from 'node:module';
import { text } from 'node:stream/consumers';
import t from 'tap';
import type { DataplaneOptions } from '../../src/config/dataplane-options.js';
import { DeadlineWheel } from '../../src/fair/deadline-wheel.js';
import { createMessageMemories, type MessageMemories } from '../../src/fair/message-memory.js';
import { StartFault } from '../../src/process/start-fault.js';
import { limits } from '../../src/shared/limits.js';
import { refusals } from '../../src/shared/refusals.js';
import { chooseListener, loadLibrary } from '../../src/edge/choose-listener.js';
import type { EdgeExchange } from '../../src/edge/edge-exchange.js';
import type { HttpResponse } from '../../src/edge/http-library.js';
import { canReusePort } from '../../src/edge/node-server.js';
import type { EdgeContext } from '../../src/edge/incoming-request.js';
import { RequestIds } from '../../src/edge/request-head.js';
import { IncomingRequest } from '../../src/edge/incoming-request.js';
import type { RequestHead } from '../../src/edge/request-head.js';
import { createCertificates } from '../support/certificates.js';
import { findFreePort } from '../support/free-port.js';
import { createAccounts } from '../support/shares.js';
import { until } from '../support/until.js';
import { edgeScene as scene, MCP, requestOf } from './edge-scene.js';
import type { Listener } from './edge-server.js';

/** Headers that the HTTP libraries add. */
const OF_THE_LIBRARY: ReadonlySet<string> = new Set(['date', 'uwebsockets', 'connection', 'keep-alive']);

t.jobs = 4;

for (const listener of ['uws', 'node'] as const satisfies readonly Listener[]) {
  t.test(`${listener}: a request goes to whom its path and method say`, async (t) => {
    const { ask, told } = await scene(t, listener);
    for (const [method, path, line] of [
      ['POST', MCP, 'request POST v'],
      ['POST', `${MCP}/`, 'request POST v'],
      ['POST', `${MCP}?a=b`, 'request POST v'],
      ['GET', MCP, 'request GET v'],
      ['DELETE', MCP, 'request DELETE v'],
      ['OPTIONS', MCP, 'preflight other v'],
      ['PUT', MCP, 'other method other v'],
      ['HEAD', MCP, 'other method GET v'],
      ['POST', '/servers/a%2Fb%C3%BC/mcp', 'request POST a/bü'],
      ['POST', '/servers/%zz/mcp', 'request POST undefined'],
      ['GET', '/extra/get/one', '/extra/get one GET one'],
      ['HEAD', '/extra/get/one', '/extra/get one GET one'],
      ['POST', '/extra/post/one', '/extra/post one POST one'],
      ['POST', '/servers/v/mcp/x', 'refused path-unknown POST'],
      ['GET', '/.well-known/oauth-protected-resource', 'refused path-unknown GET'],
      ['PUT', '/', 'refused path-unknown other'],
      ['DELETE', '/', 'refused path-unknown DELETE'],
      ['HEAD', '/x', 'refused path-unknown GET'],
    ] as const) {
      const answer = await ask(method, path);
      t.equal(told.at(-1), line, `${method} ${path}`);
      t.equal(answer.status, line.startsWith('refused') ? 404 : 200, `${method} ${path}`);
      t.equal(answer.body.length === 0, method === 'HEAD', `${method} ${path}: a body where there is to be one`);
      if (method === 'HEAD') t.ok(Number(answer.header('content-length')) > 0);
    }
  });

  t.test(`${listener}: white space around the value of a header does not belong to it`, async (t) => {
    const { ask, handler } = await scene(t, listener);
    let mirror: unknown;
    handler.act = (exchange) => {
      mirror = exchange.request.mirror;
      exchange.respond(200, '', '');
    };
    await ask('POST', MCP, 'mcp-method: \t tools/call \t\r\nmcp-param-z: \t a b \t\r\nmcp-param-a:  \t\r\n');
    t.match(mirror, { method: 'tools/call', params: ['mcp-param-z', 'a b', 'mcp-param-a', ''] });
  });

  t.test(`${listener}: with a prefix everything is below it, and health where it always is, too`, async (t) => {
    const { ask, told } = await scene(t, listener, { pathPrefix: '/gw' });
    await ask('POST', `/gw${MCP}`);
    await ask('POST', MCP);
    await ask('GET', '/gw/extra/get/one');
    t.same(told, ['request POST v', 'refused path-unknown POST', '/extra/get one GET one']);
    for (const path of ['/health', '/gw/health']) t.equal((await ask('GET', path)).text, '{"status":"healthy"}');
  });

  t.test(
    `${listener}: where there are authorization servers, a client learns them for each virtual host`,
    async (t) => {
      const { ask, told } = await scene(t, listener, { protectedResource: { authorizationServers: ['https://as'] } });
      const root = '/.well-known/oauth-protected-resource';
      for (const path of [root, root + MCP, `${root}${MCP}/`]) {
        const host = path === root ? '' : 'v';
        await ask('GET', path);
        await ask('HEAD', path);
        await ask('OPTIONS', path);
        t.same(told.slice(-3), [`metadata GET ${host}`, `metadata GET ${host}`, `metadata preflight other ${host}`]);
        t.equal((await ask('POST', path)).status, 404);
      }
    },
  );

  t.test(`${listener}: an answer has the head that it was given, and the body`, async (t) => {
    const { ask, handler, last } = await scene(t, listener, { requestIds: 'trust', traces: {} });
    handler.act = (exchange) => {
      exchange.allowOrigin(['access-control-allow-origin', 'https://page.example']);
      exchange.respond(201, 'application/json', '{"ü":1}', 'sid-1', ['x-more', '1', 'x-other', '2']);
    };
    const headers = 'x-request-id: id-1\r\ntraceparent: 00-a\r\ntracestate: s=1\r\nmcp-session-id: sid-0\r\n';
    const answer = await ask('POST', MCP, headers);
    t.equal(answer.status, 201);
    t.equal(answer.text, '{"ü":1}');
    const told = Object.fromEntries(answer.headers.map(([name, value]) => [name.toLowerCase(), value]));
    t.match(told, {
      ...{ 'content-type': 'application/json', 'content-length': '8', 'mcp-session-id': 'sid-1' },
      ...{ 'x-more': '1', 'x-other': '2', 'x-request-id': 'id-1' },
      'access-control-allow-origin': 'https://page.example',
    });
    t.notOk('connection' in told && told['connection'] === 'close');
    t.match(last().request, { sessionId: 'sid-0', requestId: 'id-1', traceparent: '00-a', tracestate: 's=1' });
    handler.act = (exchange) => exchange.respond(204, '', '');
    const empty = await ask('DELETE', MCP);
    t.same(
      empty.headers.map(([name]) => name.toLowerCase()).filter((name) => !OF_THE_LIBRARY.has(name)),
      ['x-request-id'],
      'no header but those that it was given',
    );
    t.same([empty.status, empty.header('content-length'), empty.header('content-type')], [204, undefined, undefined]);
    const untraced = await scene(t, listener);
    t.equal((await untraced.ask('POST', MCP, headers)).header('x-request-id'), undefined);
    t.match(untraced.last().request, { requestId: '', traceparent: '', tracestate: '' });
  });

  t.test(`${listener}: a header may have any character of UTF-8, and comes as it was sent`, async (t) => {
    const { ask, last } = await scene(t, listener);
    await ask('POST', MCP, 'X-Name: a ü € b\r\nX-Plain: a\r\n');
    const { headers } = last().head;
    t.equal(headers[headers.indexOf('x-name') + 1], 'a ü € b');
    t.equal(headers[headers.indexOf('x-plain') + 1], 'a');
  });

  t.test(`${listener}: a body is taken up to its limit, with a length or in chunks`, async (t) => {
    const { ask, last, open } = await scene(t, listener);
    const chunked = (body: string): string =>
      `${requestOf('POST', MCP, 'transfer-encoding: chunked\r\n')}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    for (const [body, outcome] of [
      ['', 'complete'],
      ['x'.repeat(1_000), 'complete'],
      ['x'.repeat(1_001), 'too-large'],
    ] as const) {
      t.equal((await ask('POST', MCP, '', body)).text, outcome);
      t.equal(last().request.body.toString(), outcome === 'complete' ? body : '');
      if (body === '') continue;
      const connection = await open();
      connection.write(chunked(body));
      t.equal((await connection.readAnswer()).text, outcome, 'in chunks');
      t.equal(last().request.body.toString(), outcome === 'complete' ? body : '');
    }
  });

  t.test(`${listener}: a connection serves one request after the other`, async (t) => {
    const { open, told } = await scene(t, listener);
    const connection = await open();
    for (let count = 1; count <= 3; count += 1) {
      connection.write(requestOf('POST', MCP, '', 'x'.repeat(count)));
      t.equal((await connection.readAnswer()).status, 200);
      t.equal(told.length, count);
    }
  });

  t.test(
    `${listener}: it is uncertain where an ambiguous request ends: its connection ends with the answer`,
    async (t) => {
      const { open } = await scene(t, listener);
      const connection = await open();
      connection.write(requestOf('POST', MCP, 'mcp-session-id: a\r\nmcp-session-id: b\r\n', 'x'));
      const answer = await connection.readAnswer();
      t.equal(answer.status, 200);
      await connection.waitForEnd();
    },
  );

  t.test(`${listener}: a stream goes out event by event, with signs of life while there is nothing`, async (t) => {
    const { open, handler, last } = await scene(t, listener, { answers: { streamKeepAliveMs: 100 } });
    handler.act = (exchange) => {
      exchange.openStream('sid-1');
      exchange.write(Buffer.from('data: 1\n\n'));
    };
    const connection = await open();
    connection.write(requestOf('GET', MCP));
    const { status, headers } = await connection.readHead();
    t.equal(status, 200);
    t.match(Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value])), {
      ...{ 'content-type': 'text/event-stream', 'mcp-session-id': 'sid-1' },
      ...{ 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' },
    });
    t.equal(String(await connection.readChunk()), 'data: 1\n\n');
    t.match(String(await connection.readChunk()), /^:.*\n\n$/);
    t.match(String(await connection.readChunk()), /^:.*\n\n$/, 'and again');
    last().end(Buffer.from('data: 2\n\n'));
    let rest = '';
    for (let piece = await connection.readChunk(); piece !== undefined; piece = await connection.readChunk())
      rest += String(piece);
    t.match(rest, /^(?::.*\n\n)*data: 2\n\n/);
  });

  t.test(`${listener}: a stream shows signs of life before its first event, too`, async (t) => {
    const { open, handler } = await scene(t, listener, { answers: { streamKeepAliveMs: 100 } });
    handler.act = (exchange) => exchange.openStream();
    const connection = await open();
    connection.write(requestOf('GET', MCP));
    t.equal((await connection.readHead()).status, 200);
    t.match(String(await connection.readChunk()), /^:.*\n\n$/);
  });

  t.test(`${listener}: how an exchange ended, and how much of it was handed over, is told once`, async (t) => {
    const { ask, open, handler } = await scene(t, listener);
    const ends: unknown[][] = [];
    let aborts = 0;
    const watched = (act: (exchange: EdgeExchange) => void) => (exchange: EdgeExchange) => {
      exchange.onDone = (...end) => ends.push(end);
      exchange.onAbort = () => (aborts += 1);
      act(exchange);
    };
    handler.act = watched((exchange) => exchange.respond(200, 'text/plain', 'four'));
    await ask('POST', MCP);
    await ask('HEAD', MCP);
    t.same(ends, [
      [200, 4, 'whole'],
      [200, 0, 'whole'],
    ]);
    let open1: EdgeExchange | undefined;
    handler.act = watched((exchange) => (open1 = exchange));
    const leaving = await open();
    leaving.write(requestOf('POST', MCP, '', 'x'));
    await until(() => open1 !== undefined, 'the request');
    leaving.close();
    await until(() => aborts === 1, 'its end');
    t.equal(open1?.isAborted, true);
    t.equal(ends.length, 2, 'it has no status before it is answered');
    open1?.respond(200, 'text/plain', 'late');
    t.same(ends.at(-1), [200, 0, 'unheard']);
    handler.act = watched((exchange) => exchange.reset());
    const cut = await open();
    cut.write(requestOf('POST', MCP));
    await cut.waitForEnd();
    t.same(ends.at(-1), [0, 0, 'cut']);
    t.same([ends.length, aborts], [4, 1], 'who cuts it needs not be told');
    handler.act = watched((exchange) => {
      exchange.openBody('application/json', 10);
      exchange.write(Buffer.from('four'));
      exchange.reset();
    });
    const half = await open();
    half.write(requestOf('POST', MCP));
    await half.waitForEnd();
    t.same(ends.at(-1), [200, 4, 'cut'], 'of a body, what was handed over before it was cut');
  });

  t.test(`${listener}: health is what the worker says, and until a drain is over it is not`, async (t) => {
    const { ask, handler, edge, told } = await scene(t, listener);
    const healthy = await ask('GET', '/health');
    t.same([healthy.status, healthy.contentType, healthy.text], [200, 'application/json', '{"status":"healthy"}']);
    const head = await ask('HEAD', '/health');
    t.same([head.status, head.header('content-length')], [200, String(healthy.body.length)]);
    handler.healthRefusal = refusals.overloaded;
    for (const method of ['GET', 'HEAD']) t.equal((await ask(method, '/health')).status, 503);
    t.equal((await ask('GET', '/health')).text, refusals.overloaded.body);
    handler.healthRefusal = undefined;
    edge.announceDrain();
    const draining = await ask('GET', '/health');
    t.same([draining.status, draining.text], [503, refusals.draining.body]);
    t.equal(draining.header('connection'), 'close');
    t.same(told, [], 'nobody else is asked');
    const served = await ask('POST', MCP);
    t.same([served.status, served.header('connection')], [200, 'close'], 'the rest is served as before');
  });

  t.test(`${listener}: a drain waits for whole answers, and refuses what comes after`, async (t) => {
    const { edge, open, handler, told, last } = await scene(t, listener);
    const connection = await open();
    handler.act = () => {};
    connection.write(requestOf('POST', MCP));
    await until(() => told.length === 1, 'the request');
    const waiting = last();
    const idle = await open();
    const stream = await open();
    handler.act = (exchange) => exchange.openStream();
    stream.write(requestOf('GET', MCP));
    await until(() => told.length === 2, 'the stream');
    let isDrained = false;
    const drained = edge.drain().then(() => (isDrained = true));
    await until(async () => {
      try {
        (await open()).close();
        return false;
      } catch {
        return true;
      }
    }, 'no more connections to be accepted');
    t.equal(isDrained, false);
    last().end();
    await new Promise((resolve) => setImmediate(resolve));
    t.equal(isDrained, false, 'one is not answered');
    handler.act = (exchange) => exchange.respond(200, 'text/plain', 'late');
    idle.write(requestOf('POST', MCP));
    t.equal((await idle.readAnswer()).text, 'late', 'a connection that was open is served until then');
    t.equal(isDrained, false);
    waiting.respond(200, 'text/plain', 'first');
    const answer = await connection.readAnswer();
    t.same([answer.text, answer.header('connection')], ['first', 'close']);
    await drained;
  });

  t.test(`${listener}: after an announced drain, kept connections are waited for, but not for ever`, async (t) => {
    const patient = await scene(t, listener, { drainNoticeMs: 60_000, drainTimeoutMs: 60_000 });
    const kept = await patient.open();
    kept.write(requestOf('POST', MCP));
    await kept.readAnswer();
    patient.edge.announceDrain();
    let isDrained = false;
    const drained = patient.edge.drain().then(() => (isDrained = true));
    await new Promise((resolve) => setTimeout(resolve, 150));
    t.equal(isDrained, false);
    kept.write(requestOf('POST', MCP));
    t.equal((await kept.readAnswer()).header('connection'), 'close', 'it is served, and ends');
    await drained;
    const unused = await scene(t, listener, { drainNoticeMs: 60_000, drainTimeoutMs: 120_000 });
    unused.edge.announceDrain();
    await unused.edge.drain();
    t.pass('without connections there is nothing to wait for');
    for (const times of [
      { drainNoticeMs: 100, drainTimeoutMs: 60_000 },
      { drainNoticeMs: 60_000, drainTimeoutMs: 200 },
    ]) {
      const hasty = await scene(t, listener, times);
      const idle = await hasty.open();
      idle.write(requestOf('POST', MCP));
      await idle.readAnswer();
      hasty.edge.announceDrain();
      await hasty.edge.drain();
      t.pass('although the connection is open');
      idle.write(requestOf('POST', MCP));
      await idle.readAnswer();
      t.equal(hasty.told.at(-1), `refused ${refusals.draining.code} POST`, 'the process may end at any time');
    }
  });

  t.test(
    `${listener}: the same is served over TLS on an address of its own, and is known to have come so`,
    async (t) => {
      const { authority, server } = createCertificates(t);
      const port = await findFreePort();
      const { handler, told, ask } = await scene(t, listener, {
        tls: { address: { host: '127.0.0.1', port }, ...server },
      });
      handler.act = (exchange) => exchange.respond(200, 'text/plain', exchange.isTls ? 'over TLS' : 'in plain text');
      t.equal((await ask('GET', MCP)).text, 'in plain text');
      const answer = await new Promise<IncomingMessage>((resolve, reject) => {
        get({ host: '127.0.0.1', port, path: MCP, ca: authority.certificate, agent: false }, resolve).on(
          'error',
          reject,
        );
      });
      t.equal(answer.statusCode, 200);
      t.equal(await text(answer), 'over TLS');
      t.same(told, ['request GET v', 'request GET v']);
    },
  );

  t.test(`${listener}: an address that is not of this machine is named`, async (t) => {
    await t.rejects(scene(t, listener, { address: { host: '192.0.2.1', port: 4_000 } }), {
      message: /cannot listen on 192\.0\.2\.1:4000: .*not of this machine/,
    });
  });
}

t.test('node: what uWebSockets.js refuses by itself is refused with the same statuses', async (t) => {
  const { open, told } = await scene(t, 'node');
  for (const [request, status] of [
    [`POST ${MCP} HTTP/1.0\r\nhost: a\r\n\r\n`, 505],
    [`POST http://a${MCP} HTTP/1.1\r\nhost: a\r\n\r\n`, 505],
    [`POST ${MCP} HTTP/3.0\r\nhost: a\r\n\r\n`, 505],
    [requestOf('POST', MCP, 'x-a: 1\r\n'.repeat(100)), 431],
    [requestOf('POST', MCP, `x-a: ${'a'.repeat(33_000)}\r\n`), 431],
    [`FETCH ${MCP} HTTP/1.1\r\nhost: a\r\n\r\n`, 405],
    [`not http at all\r\n\r\n`, 400],
    [requestOf('POST', MCP, 'broken header\r\n'), 400],
  ] as const) {
    const connection = await open();
    connection.write(request);
    const answer = await connection.readAnswer();
    t.equal(answer.status, status, request.slice(0, 40));
    t.equal(answer.header('connection'), 'close');
    if (status === 405) t.match(answer, { text: refusals.methodNotAllowed.body, contentType: 'application/json' });
    if (status === 405) t.ok(answer.header('allow'));
    await connection.waitForEnd();
  }
  t.same(told, []);
  const most = await open();
  most.write(requestOf('POST', MCP, 'x-a: 1\r\n'.repeat(99)));
  t.equal((await most.readAnswer()).status, 200, 'as many headers as there may be');
});

t.test('node: a body that cannot be read is refused, and who waits for it is told once', async (t) => {
  const { open, handler, told, last } = await scene(t, 'node');
  let aborts = 0;
  handler.act = (exchange) => (exchange.onAbort = () => (aborts += 1));
  const connection = await open();
  connection.write(requestOf('POST', MCP, 'transfer-encoding: chunked\r\n'));
  await until(() => told.length === 1, 'the request');
  connection.write('no length\r\n');
  const answer = await connection.readAnswer();
  t.same([answer.status, answer.header('connection')], [400, 'close']);
  await connection.waitForEnd();
  last().respond(200, 'text/plain', 'late');
  t.equal(aborts, 1);
  handler.act = (exchange) => {
    exchange.openStream();
    exchange.write(Buffer.from('data: 1\n\n'));
  };
  const begun = await open();
  begun.write(requestOf('POST', MCP, 'transfer-encoding: chunked\r\n'));
  t.equal((await begun.readHead()).status, 200);
  t.equal(String(await begun.readChunk()), 'data: 1\n\n');
  begun.write('no length\r\n');
  await begun.waitForEnd();
  t.pass('an answer that has begun is cut, and not followed by another');
});

t.test('node: of two requests at once neither is answered, because any number could follow', async (t) => {
  const { open, handler } = await scene(t, 'node');
  handler.act = () => {};
  const connection = await open();
  connection.write(requestOf('POST', MCP) + requestOf('POST', MCP));
  await connection.waitForEnd();
});

function incomingOf(
  res: HttpResponse,
  contentLength: number,
  { requests: requestMemory }: MessageMemories,
): IncomingRequest {
  const context = {
    requestIds: new RequestIds('off'),
    bodyBytesMax: 1_000_000,
    requestMemory,
  } as unknown as EdgeContext;
  const head = { request: {}, contentLength: String(contentLength) } as unknown as RequestHead;
  return new IncomingRequest(context, res, head);
}

t.test('a body that can never have room is refused before it is read', async (t) => {
  const deadlines = new DeadlineWheel();
  t.teardown(() => deadlines.stop());
  const accounts = createAccounts({ subjectBytesInFlightMax: 100_000 });
  const calls: string[] = [];
  const listeners: ((chunk: ArrayBuffer, isLast: boolean) => void)[] = [];
  const res = {
    onData: (hear: (chunk: ArrayBuffer, isLast: boolean) => void) => void listeners.push(hear),
    pause: () => void calls.push('pause'),
    resume: () => void calls.push('resume'),
  } as unknown as HttpResponse;
  for (const [bytes, told] of [
    [100_000, []],
    [100_001, ['subjectMax']],
  ] as const) {
    const outcomes: string[] = [];
    const incoming = incomingOf(res, bytes, createMessageMemories(accounts, deadlines));
    incoming.awaitAdmission();
    incoming.admit('alice', 'both', []);
    incoming.receive((outcome) => outcomes.push(outcome));
    t.same(outcomes, told, `${bytes} bytes`);
    t.equal(accounts.of('alice').requestBytes.used, told.length === 0 ? bytes : 0);
    listeners.at(-1)?.(new ArrayBuffer(1), false);
    incoming.discardBody();
    listeners.at(-1)?.(new ArrayBuffer(bytes - 1), true);
    t.same(outcomes, told, 'nothing more is told of it, nor of one that was answered before it was there');
    t.equal(accounts.of('alice').requestBytes.used, 0);
  }
});

t.test('a body counts in the share of its subject from the size on that matters, however it arrived', async (t) => {
  const deadlines = new DeadlineWheel();
  t.teardown(() => deadlines.stop());
  const accounts = createAccounts();
  for (const [bytes, subject, counted] of [
    [limits.countedFromBytes - 1, 'alice', 0],
    [limits.countedFromBytes, 'alice', limits.countedFromBytes],
    [2 * limits.countedFromBytes, '', 0],
  ] as const)
    for (const pieces of [1, 2]) {
      let hear: ((chunk: ArrayBuffer, isLast: boolean) => void) | undefined;
      const res = { onData: (listener: typeof hear) => void (hear = listener) } as unknown as HttpResponse;
      const incoming = incomingOf(res, NaN, createMessageMemories(accounts, deadlines));
      if (subject !== '') incoming.admit(subject, 'both', []);
      if (pieces === 2) hear!(new ArrayBuffer(bytes - 1), false);
      hear!(new ArrayBuffer(pieces === 2 ? 1 : bytes), true);
      t.equal(accounts.used('requestBytes'), counted, `${bytes} bytes of ${subject || 'nobody'} in ${pieces}`);
      incoming.releaseMemory();
      t.equal(accounts.used('requestBytes'), 0);
    }
});

t.test('a body without room at the moment is read once there is some', async (t) => {
  const deadlines = new DeadlineWheel();
  t.teardown(() => deadlines.stop());
  const memories = createMessageMemories(createAccounts({ subjectBytesInFlightMax: 100_000 }), deadlines);
  const calls: string[] = [];
  const res = { onData: () => undefined, pause: () => calls.push('pause'), resume: () => calls.push('resume') };
  const outcomes: string[] = [];
  const [first, second] = [60_000, 60_000].map((bytes) => {
    const incoming = incomingOf(res as unknown as HttpResponse, bytes, memories);
    incoming.admit('alice', 'both', []);
    incoming.receive((outcome) => outcomes.push(outcome));
    return incoming;
  });
  await until(() => calls.length > 0, 'the pause of the second');
  t.same([calls, outcomes], [['pause'], []]);
  first?.releaseMemory();
  t.same([calls, outcomes], [['pause', 'resume'], []]);
  second?.discardBody();
});

t.test('which library is used, and with how many workers, is decided once', async (t) => {
  const options = { listener: 'auto', workerCount: 3 } as DataplaneOptions;
  for (const wanted of ['auto', 'uws'] as const) {
    const { options: chosen, warnings } = await chooseListener({ ...options, listener: wanted });
    t.match(chosen, { listener: 'uws', workerCount: 3 });
    t.same(warnings, []);
  }
  t.not(await loadLibrary('node'), await loadLibrary('uws'));
  const { options: chosen, warnings } = await chooseListener({ ...options, listener: 'node' });
  t.equal(chosen.listener, 'node');
  t.equal(chosen.workerCount, canReusePort() ? 3 : 1);
  const isAlone = [/^one worker instead of 3, and no reload: .* cannot share a port/];
  t.match(warnings, canReusePort() ? [] : isAlone, 'nothing of a library that is not wanted');
  t.equal(warnings.length, canReusePort() ? 0 : 1);
  t.same((await chooseListener({ ...options, listener: 'node', workerCount: 1 })).warnings, []);
  for (const [version, canShare] of [
    ['20.18.0', false],
    ['22.11.9', false],
    ['22.12.0', true],
    ['23.0.0', false],
    ['23.1.0', true],
    ['24.0.0', true],
  ] as const) {
    t.equal(canReusePort(version, 'linux'), canShare, version);
    t.equal(canReusePort(version, 'freebsd'), canShare, version);
    t.equal(canReusePort(version, 'darwin'), false, version);
  }
});

const alone = { buffered: false };

t.test(
  'of a uWebSockets.js that does not load, nothing more is tried: `import` would end the process',
  alone,
  async (t) => {
    const loader = Module as unknown as { _load: (name: string) => unknown };
    const load = loader._load;
    t.intercept(loader, '_load', {
      value: (name: string, ...rest: []) => {
        if (name === 'uWebSockets.js')
          throw Object.assign(new Error('GLIBC_2.38 not found'), { code: 'ERR_DLOPEN_FAILED' });
        return load(name, ...rest);
      },
    });
    const options = { listener: 'auto', workerCount: 1 } as DataplaneOptions;
    const { options: chosen, warnings } = await chooseListener(options);
    t.equal(chosen.listener, 'node');
    t.match(warnings, [/GLIBC_2\.38 not found/]);
    await t.rejects(chooseListener({ ...options, listener: 'uws' }), StartFault);
  },
);

t.test('a busy worker leaves its port in the first turn that is quiet', alone, async (t) => {
  const { edge } = await scene(t, 'uws');
  let [nowMs, readings] = [0, 0];
  const busyReadings = 20;
  t.intercept(performance, 'now', { value: () => ((readings += 1) < busyReadings ? (nowMs += 1) : nowMs) });
  await edge.drain();
  t.ok(readings >= busyReadings && readings < 3 * busyReadings, `${readings} readings of the clock`);
});
