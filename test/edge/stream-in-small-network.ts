// Run by a test in a network whose sockets hold 16 KiB: streams events of many sizes to a caller that reads in bursts, and checks each
// chunk and byte that arrives. Prints a line on success, or exits with an error.
import assert from 'node:assert';
import type { HttpResponse } from 'uWebSockets.js';
import { StreamWriter } from '../../src/edge/stream-writer.js';
import { loadUws } from '../../src/edge/choose-listener.js';
import { RawConnection } from '../support/raw-http.js';
import { Random } from '../support/random.js';

const EVENTS = 6_000;
const EVENT_BYTES_MAX = 40_000;

const random = new Random(7);
const sizes = Array.from({ length: EVENTS }, () => 16_000 + random.below(EVENT_BYTES_MAX - 16_000));
let heldBack = 0;

function event(n: number): Buffer {
  return Buffer.from(`data: ${String.fromCharCode(97 + (n % 26)).repeat(sizes[n] ?? 0)}\n\n`);
}

function stream(res: HttpResponse): void {
  const writer = new StreamWriter(res, () => {});
  let next = 0;
  let isOver = false;
  const fill = (hasRoom: boolean): void => {
    let mayWrite = hasRoom;
    while (mayWrite && next < EVENTS) mayWrite = writer.write(event(next++));
    if (!mayWrite) heldBack += 1;
    if (!mayWrite || isOver) return;
    isOver = true;
    res.cork(() => res.end());
  };
  res.onAborted(() => process.exit(3));
  res.onWritable(() => {
    fill(writer.writeMore());
    return true;
  });
  res.cork(() => res.writeHeader('content-type', 'text/event-stream'));
  setImmediate(() => fill(true));
}

const uws = await loadUws();
const app = uws.App().any('/*', stream);
const port = await new Promise<number>((resolve) => {
  app.listen('127.0.0.1', 0, (socket) => resolve(uws.us_socket_local_port(socket)));
});
const caller = await RawConnection.open(`http://127.0.0.1:${port}`);
caller.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
await caller.readHead();
let received = '';
let seen = 0;
for (let chunks = 0; ; chunks += 1) {
  const chunk = await caller.readChunk();
  if (chunk === undefined) break;
  received += chunk.toString('latin1');
  for (let end = received.indexOf('\n\n'); end >= 0; end = received.indexOf('\n\n')) {
    const text = received.slice(0, end + 2);
    received = received.slice(end + 2);
    if (text.startsWith(':')) continue;
    assert.ok(text === event(seen).toString('latin1'), `event ${seen} is not what was sent: ${text.slice(0, 60)}`);
    seen += 1;
  }
  if (chunks % 5 !== 0) continue;
  caller.pause();
  await new Promise(setImmediate);
  caller.resume();
}
assert.equal(received, '');
assert.equal(seen, EVENTS);
process.stdout.write(`${seen} events, ${heldBack} times held back: whole\n`);
caller.close();
app.close();
