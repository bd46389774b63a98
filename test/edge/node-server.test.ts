// The listener over node:http keeps no connection of a caller that only pretends to be one.
import { once } from 'node:events';
import t from 'tap';
import type { HttpResponse } from '../../src/edge/http-library.js';
import { NODE_SILENCE_MS_MAX } from '../../src/edge/node-response.js';
import { until } from '../support/until.js';
import { caller, listen } from './node-listener.js';

t.test('a body that trickles in behind its answer ends its connection', async (t) => {
  let passedMs = 0;
  const clock = performance.now.bind(performance);
  t.intercept(performance, 'now', { value: () => clock() + passedMs });
  const { port, open } = await listen(t, (res) => {
    res.writeStatus('401 Unauthorized');
    res.end('no');
  });
  const slow = await caller(t, port);
  slow.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\nx');
  await once(slow, 'data');
  slow.resume();
  passedMs = NODE_SILENCE_MS_MAX;
  // It is never silent.
  const trickle = setInterval(() => slow.write('x'), 100);
  await once(slow, 'close');
  clearInterval(trickle);
  t.pass('it was closed');
  await until(() => open() === 0, 'its end here');
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
