// The listener over node:http keeps no connection of a caller that only pretends to be one.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type EventEmitter, once } from 'node:events';
import type { Socket } from 'node:net';
import t, { type Test } from 'tap';
import type { HttpResponse } from '../../src/edge/http-library.js';
import { NODE_SILENCE_MS_MAX } from '../../src/edge/node-response.js';
import { until } from '../support/until.js';
import { caller, listen } from './node-listener.js';

/** The listener's end of the latest connection. */
function latestAccepted(t: Test): () => Socket | undefined {
  let accepted: Socket | undefined;
  const onSocket = (message: unknown): void => void (accepted = (message as { socket: Socket }).socket);
  subscribe('net.server.socket', onSocket);
  t.teardown(() => unsubscribe('net.server.socket', onSocket));
  return () => accepted;
}

t.test('a body that trickles in behind its answer ends its connection, wherever it begins', async (t) => {
  let passedMs = 0;
  const clock = performance.now.bind(performance);
  t.intercept(performance, 'now', { value: () => clock() + passedMs });
  const { port, open } = await listen(t, (res, request) => {
    if (request.getMethod() === 'put') res.onData(() => undefined);
    res.writeStatus('401 Unauthorized');
    res.end('no');
  });
  for (const method of ['POST', 'PUT']) {
    for (const beginning of ['x', '']) {
      const slow = await caller(t, port);
      slow.write(`${method} / HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\n${beginning}`);
      await once(slow, 'data');
      slow.resume();
      passedMs += NODE_SILENCE_MS_MAX;
      // It is never silent.
      const trickle = setInterval(() => slow.write('x'), 100);
      await once(slow, 'close');
      clearInterval(trickle);
      t.pass(`${method}, '${beginning}': it was closed`);
    }
  }
  await until(() => open() === 0, 'its end here');
});

t.test('a body may take long if it is fast, and is not measured while it is not read', async (t) => {
  let passedMs = 0;
  const clock = performance.now.bind(performance);
  t.intercept(performance, 'now', { value: () => clock() + passedMs });
  const accepted = latestAccepted(t);
  let [received, response]: [number, HttpResponse | undefined] = [0, undefined];
  const { port } = await listen(t, (res) => {
    response = res;
    res.onAborted(() => undefined);
    res.onData(({ byteLength }) => (received += byteLength));
  });
  const socket = await caller(t, port);
  let sent = 0;
  const send = async (bytes: number): Promise<void> => {
    sent += bytes;
    socket.write(Buffer.alloc(bytes));
    await until(() => received === sent, 'the bytes');
  };
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n');
  await send(200_000);
  passedMs += NODE_SILENCE_MS_MAX;
  await send(1);
  passedMs += NODE_SILENCE_MS_MAX - 1_000;
  await send(1);
  response!.pause();
  passedMs += NODE_SILENCE_MS_MAX;
  response!.resume();
  await send(200_000);
  passedMs += NODE_SILENCE_MS_MAX;
  await send(1);
  t.equal(accepted()?.destroyed, false);
  passedMs += NODE_SILENCE_MS_MAX;
  await send(1);
  t.equal(accepted()?.destroyed, true, 'what came before does not count for ever');
});

t.test('a silent connection is closed, unless its caller waits for an answer', async (t) => {
  const accepted = latestAccepted(t);
  let response: HttpResponse | undefined;
  let received = 0;
  const { port } = await listen(t, (res) => {
    response = res;
    res.onAborted(() => undefined);
    res.onData(({ byteLength }) => (received += byteLength));
  });
  const head = 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n';
  for (const [text, act, isClosed] of [
    ['', () => undefined, true],
    [`${head}x`, () => undefined, true],
    [`${head}x`, () => response!.pause(), false],
    [`${head}x`, () => (response!.pause(), response!.resume()), true],
    [`${head}xx`, () => undefined, false],
  ] as const) {
    received = 0;
    const [before, socket] = [accepted(), await caller(t, port)];
    socket.write(text);
    const bytes = Math.max(0, text.length - head.length);
    await until(() => accepted() !== before && received === bytes, 'the request');
    act();
    // What the time limit of Node.js does.
    accepted()!.emit('timeout');
    t.equal(accepted()!.destroyed, isClosed, `${text.slice(head.length)} ${String(act)}`);
  }
});

t.test('a request whose head comes too slowly, or whose caller has reset it, is not answered', async (t) => {
  const accepted = latestAccepted(t);
  const { port } = await listen(t, (res) => res.end());
  for (const [code, status] of [
    ['ERR_HTTP_REQUEST_TIMEOUT', ''],
    ['ECONNRESET', ''],
    ['HPE_INVALID_HEADER_TOKEN', 'HTTP/1.1 400'],
  ] as const) {
    const [before, socket] = [accepted(), await caller(t, port)];
    await until(() => accepted() !== before, 'the connection');
    // What the time limits of Node.js do.
    const { server } = accepted() as unknown as { server: EventEmitter };
    server.emit('clientError', Object.assign(new Error(code), { code }), accepted());
    let text = '';
    socket.on('data', (bytes: Buffer) => (text += bytes.toString()));
    await once(socket, 'close');
    t.equal(text.slice(0, 12), status, code);
  }
});

t.test('a caller that catches up is written to again, however often it has fallen behind', async (t) => {
  const piece = Buffer.alloc(1024 * 1024);
  let response: HttpResponse | undefined;
  let caughtUp = 0;
  const { port } = await listen(t, (res) => {
    response = res;
    res.onAborted(() => undefined);
    res.onWritable(() => ((caughtUp += 1), true));
  });
  const slow = await caller(t, port);
  slow.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  await until(() => response !== undefined, 'the request');
  for (let times = 1; times <= 3; times += 1) {
    slow.pause();
    while (response?.write(piece) === true);
    t.equal(caughtUp, times - 1);
    slow.resume();
    await until(() => caughtUp === times, 'the caller to catch up');
  }
});

t.test('what was written may be changed at once, although its caller reads it later', async (t) => {
  const piece = Buffer.alloc(1024 * 1024);
  let response: HttpResponse | undefined;
  const { port } = await listen(t, (res) => (response = res));
  const slow = await caller(t, port);
  slow.pause();
  slow.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  await until(() => response !== undefined, 'the request');
  let hasRoom = true;
  while (hasRoom) {
    hasRoom = response!.write(piece.fill('a'));
    piece.fill('!');
  }
  response!.end(piece.fill('b').subarray(0, 10));
  piece.fill('!');
  let [text, isChanged] = ['', false];
  slow.on('data', (bytes: Buffer) => {
    text = (text + bytes.toString('latin1')).slice(-30);
    isChanged ||= bytes.includes('!');
  });
  slow.resume();
  await until(() => text.endsWith('\r\n0\r\n\r\n'), 'the end');
  t.match(text, /b{10}\r\n0/);
  t.notOk(isChanged);
});
