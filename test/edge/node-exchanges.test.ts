// Over a real Node.js server and raw sockets: what the relay is promised about an exchange, whatever the caller does.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import type { EdgeExchange } from '../../src/edge/edge-exchange.js';
import { NodeExchanges } from '../../src/edge/node-server.js';
import { NO_MIRROR } from '../../src/exchange/exchange.js';
import type { BodyOutcome } from '../../src/edge/incoming-request.js';
import { createMessageMemories } from '../../src/fair/message-memory.js';
import { createLogger } from '../../src/shared/logger.js';
import { createAccounts } from '../support/shares.js';
import { DeadlineWheel } from '../../src/fair/deadline-wheel.js';
import { limits } from '../../src/shared/limits.js';
import { encodeRequest, RawConnection, send } from '../support/raw-http.js';
import { until } from '../support/until.js';

const KEEP_ALIVE_MS = 14_000;
const BODY_BYTES_MAX = 1_000;
const CHUNK = Buffer.alloc(64 * 1024, 'x');

interface Served {
  readonly exchange: EdgeExchange;
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
}

function exchangesWith(deadlines: DeadlineWheel): NodeExchanges {
  const memories = createMessageMemories(createAccounts(), deadlines);
  const logger = createLogger('silent', {});
  const parts = { deadlines, bodyBytesMax: BODY_BYTES_MAX, streamKeepAliveMs: KEEP_ALIVE_MS, logger };
  return new NodeExchanges(parts, memories);
}

class Server {
  origin = '';
  readonly served: Served[] = [];
  #nowMs = 0;
  readonly #deadlines = new DeadlineWheel(10, () => this.#nowMs);

  static async start(t: Test, onExchange: (served: Served) => void = () => {}): Promise<Server> {
    const server = new Server();
    const exchanges = exchangesWith(server.#deadlines);
    const http = createServer((message, response) => {
      response.setHeader('x-set-before', 'yes');
      const served = { exchange: exchanges.open(message, response, 'the-id'), message, response };
      server.served.push(served);
      onExchange(served);
    });
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    server.origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
    t.teardown(() => {
      server.#deadlines.stop();
      http.closeAllConnections();
      http.close();
    });
    return server;
  }

  /** Waits for the next request's exchange. */
  async next(): Promise<Served> {
    const { length } = this.served;
    await until(() => this.served.length > length, 'a request');
    return this.served[length]!;
  }

  advance(ms: number): void {
    this.#nowMs += ms;
    this.#deadlines.tick();
  }

  /** Sends a request; the connection is left to the test. */
  async open(t: Test, body = '{}'): Promise<RawConnection> {
    const connection = await RawConnection.open(this.origin);
    t.teardown(() => connection.close());
    connection.write(encodeRequest(this.origin, { method: 'POST', path: '/', headers: [], body }));
    return connection;
  }
}

t.test('an answer at once', async (t) => {
  const server = await Server.start(t, ({ exchange }) => {
    exchange.respond(200, 'application/json', '{"a":1}', 'the-session', ['x-more', 'too']);
    exchange.respond(500, 'text/plain', 'a second answer');
    t.equal(exchange.write(CHUNK), true);
    exchange.end();
  });
  const answer = await send(server.origin, { method: 'POST', path: '/', headers: [], body: '{}' });
  t.equal(answer.status, 200);
  t.equal(answer.text, '{"a":1}');
  t.equal(answer.header('content-length'), '7');
  t.equal(answer.header('mcp-session-id'), 'the-session');
  t.equal(answer.header('x-more'), 'too');
  t.equal(answer.header('x-set-before'), 'yes');
  t.equal(answer.header('x-request-id'), 'the-id');
});

t.test('an exchange has the method of its request', async (t) => {
  const server = await Server.start(t, ({ exchange }) => exchange.respond(202, '', ''));
  for (const method of ['GET', 'DELETE', 'POST']) {
    await send(server.origin, { method, path: '/', headers: [], body: '' });
    t.equal(server.served.at(-1)!.exchange.request.method, method);
  }
});

t.test('headers that mirror the body are read as on the dataplane', async (t) => {
  const server = await Server.start(t, ({ exchange }) => exchange.respond(202, '', ''));
  const ask = async (...headers: (readonly [string, string])[]): Promise<EdgeExchange> => {
    await send(server.origin, { method: 'POST', path: '/', headers, body: '{}' });
    return server.served.at(-1)!.exchange;
  };
  t.same((await ask()).request.mirror, NO_MIRROR);
  const version = ['MCP-Protocol-Version', '2026-07-28'] as const;
  const params = [
    ['mcp-param-Region', ' EU '],
    ['MCP-PARAM-region', 'US'],
  ] as const;
  t.same((await ask(version, ['Mcp-Method', ' tools/call '], ['mcp-NAME', 'b-t'], ...params)).request.mirror, {
    protocolVersion: '2026-07-28',
    method: 'tools/call',
    name: 'b-t',
    params: ['mcp-param-region', 'EU, US'],
  });
  const { head } = await ask(['mcp-param-x', 'x'.repeat(limits.mirroredParamBytesMax)]);
  t.equal(head.isMirrorTooLarge, true);
});

t.test('an answer without content arrives', async (t) => {
  const server = await Server.start(t, ({ exchange }) => exchange.respond(202, '', ''));
  const answer = await send(server.origin, { method: 'POST', path: '/', headers: [], body: '{}' });
  t.equal(answer.status, 202);
  t.equal(answer.header('content-type'), undefined);
  t.equal(answer.header('content-length'), '0');
});

t.test('an event stream is sent as it is written, and is kept alive', async (t) => {
  const server = await Server.start(t);
  const connection = await server.open(t);
  const { exchange } = await server.next();
  exchange.openStream('s');
  t.equal(exchange.write(Buffer.from('data: 1\n\n')), true);
  const head = await connection.readHead();
  t.equal(head.status, 200);
  const headers = new Map(head.headers.map(([name, value]) => [name.toLowerCase(), value]));
  t.equal(headers.get('content-type'), 'text/event-stream');
  t.equal(headers.get('cache-control'), 'no-cache, no-transform');
  t.equal(headers.get('x-accel-buffering'), 'no');
  t.equal(headers.get('mcp-session-id'), 's');
  exchange.respond(500, 'text/plain', 'too late');
  t.equal((await connection.readChunk())?.toString(), 'data: 1\n\n');
  server.advance(KEEP_ALIVE_MS - 1_000);
  exchange.write(Buffer.from('data: 2\n\n'));
  await connection.readChunk();
  server.advance(KEEP_ALIVE_MS - 1_000);
  t.equal(connection.unread.length, 0, 'an event puts the comment off');
  server.advance(2_000);
  t.match((await connection.readChunk())?.toString(), /^:.*\n\n$/, 'a comment after so much silence');
  server.advance(KEEP_ALIVE_MS + 1_000);
  t.match((await connection.readChunk())?.toString(), /^:/, 'and again');
  exchange.end();
  t.equal(await connection.readChunk(), undefined);
  server.advance(KEEP_ALIVE_MS + 1_000);
  t.equal(exchange.isAborted, false);
});

t.test('a JSON answer that is written in parts arrives', async (t) => {
  const server = await Server.start(t);
  const connection = await server.open(t);
  const { exchange } = await server.next();
  exchange.openBody('application/json', CHUNK.length + 1);
  const finish = (): void => {
    exchange.write(Buffer.from('z'));
    exchange.end();
  };
  exchange.onDrain = finish;
  if (exchange.write(CHUNK)) finish();
  const answer = await connection.readAnswer();
  t.equal(answer.contentType, 'application/json');
  t.equal(answer.header('content-length'), String(CHUNK.length + 1));
  t.equal(answer.body.length, CHUNK.length + 1);
});

t.test('data written while there was room is kept, whatever becomes of its memory', async (t) => {
  const server = await Server.start(t);
  const connection = await server.open(t);
  const { exchange, response } = await server.next();
  const part = Buffer.alloc(1_000, 'a');
  exchange.openBody('application/json', 2 * part.length);
  // Node.js buffers what is written, as it does when the kernel takes no more.
  response.cork();
  for (const letter of 'ab') {
    part.fill(letter);
    t.equal(exchange.write(part), true);
    part.fill('!');
  }
  response.uncork();
  exchange.end();
  t.equal((await connection.readAnswer()).text, 'a'.repeat(part.length) + 'b'.repeat(part.length));
});

t.test('a slow reader is waited for', async (t) => {
  const server = await Server.start(t);
  const connection = await server.open(t);
  const { exchange, response } = await server.next();
  connection.pause();
  exchange.openStream();
  let drains = 0;
  exchange.onDrain = () => (drains += 1);
  let writtenBytes = 0;
  while (exchange.write(CHUNK)) writtenBytes += CHUNK.length;
  writtenBytes += CHUNK.length;
  t.ok(response.writableLength < 2 * CHUNK.length + response.writableHighWaterMark, 'no more than was refused waits');
  t.equal(drains, 0);
  connection.resume();
  await until(() => drains === 1, 'the drain');
  t.equal(exchange.write(Buffer.from('z')), true);
  exchange.end();
  let readBytes = 0;
  await connection.readHead();
  for (let chunk = await connection.readChunk(); chunk !== undefined; chunk = await connection.readChunk()) {
    readBytes += chunk.length;
  }
  t.equal(readBytes, writtenBytes + 1, 'every byte arrives');
});

t.test('the loss of a caller is reported once, before the answer and within it', async (t) => {
  const server = await Server.start(t);
  for (const isStreaming of [false, true]) {
    const connection = await server.open(t);
    const { exchange } = await server.next();
    let aborts = 0;
    exchange.onAbort = () => (aborts += 1);
    if (isStreaming) exchange.openStream();
    connection.close();
    await until(() => exchange.isAborted, 'the abort');
    exchange.respond(200, 'text/plain', 'for nobody');
    exchange.openStream();
    t.equal(exchange.write(CHUNK), true);
    exchange.end();
    exchange.reset();
    t.equal(aborts, 1);
  }
});

t.test('a caller that left before its request was looked at is gone from the start', async (t) => {
  const server = await Server.start(t);
  const connection = await server.open(t);
  const { message, response } = await server.next();
  connection.close();
  await until(() => response.destroyed, 'the connection to be gone');
  const late = exchangesWith(new DeadlineWheel()).open(message, response, '');
  t.equal(late.isAborted, true);
  late.respond(200, 'text/plain', 'for nobody');
});

t.test('after a complete answer the end of the connection is not reported', async (t) => {
  const server = await Server.start(t);
  const connection = await server.open(t);
  const { exchange, response } = await server.next();
  exchange.onAbort = () => t.fail('aborted');
  exchange.respond(200, 'text/plain', 'whole');
  await connection.readAnswer();
  connection.close();
  await until(() => response.destroyed || response.writableFinished, 'the end');
  t.equal(exchange.isAborted, false);
});

t.test('an answer that is cut is recognizably incomplete', async (t) => {
  const server = await Server.start(t);
  const connection = await server.open(t);
  const { exchange } = await server.next();
  exchange.onAbort = () => t.fail('the relay knows');
  exchange.openStream();
  exchange.write(Buffer.from('data: half'));
  await connection.readHead();
  await connection.readChunk();
  exchange.reset();
  t.equal(exchange.isAborted, true);
  await t.rejects(connection.readChunk(), /ended/);
});

t.test('the body is read whole, or not at all', async (t) => {
  const outcomes: (number | BodyOutcome)[] = [];
  const server = await Server.start(t, ({ exchange }) => {
    exchange.incoming.admit('alice', 'both', []);
    exchange.incoming.receive((outcome) => {
      outcomes.push(outcome === 'complete' ? exchange.request.body.length : outcome);
      exchange.respond(outcome === 'too-large' ? 413 : 200, 'text/plain', 'read');
    });
  });
  const post = async (bytes: number): Promise<number> =>
    (await send(server.origin, { method: 'POST', path: '/', headers: [], body: Buffer.alloc(bytes, 'x') })).status;
  t.equal(await post(0), 200);
  t.equal(await post(BODY_BYTES_MAX), 200);
  t.equal(await post(BODY_BYTES_MAX + 1), 413);
  t.same(outcomes, [0, BODY_BYTES_MAX, 'too-large']);

  const connection = await RawConnection.open(server.origin);
  t.teardown(() => connection.close());
  connection.write('POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n');
  const chunk = `${CHUNK.length.toString(16)}\r\n${CHUNK.toString()}\r\n`;
  connection.write(chunk);
  t.equal((await connection.readAnswer()).status, 413, 'the answer does not wait for the end of the body');
  connection.write(`${chunk}0\r\n\r\n`);
  connection.write(encodeRequest(server.origin, { method: 'POST', path: '/', headers: [], body: 'next' }));
  t.equal((await connection.readAnswer()).status, 200, 'the rest is thrown away, and the connection goes on');
});
