// Callers that read far more slowly than their backends write: however long the streams are, the workers' memory does not grow,
// because the backends are made to wait.
import { connect } from 'node:net';
import t, { type Test } from 'tap';
import { residentBytesOf } from '../../bench/process-usage.js';
import { backendFor, startDeployment } from '../support/deployment.js';
import type { McpSession } from '../support/mcp-caller.js';
import { encodeRequest } from '../support/raw-http.js';
import { until } from '../support/until.js';

const MIB = 1024 * 1024;
const EVENT_BYTES = 256 * 1024;
const CALLERS = 3;
const SHORT_BYTES = 8 * MIB;
const LONG_BYTES = 40 * MIB;
/** A third of the bytes of all streams, and more than windows, kernel buffers and an uncollected heap take. */
const GROWTH_BYTES_MAX = LONG_BYTES;
/** How far a backend may be ahead of its reader: the kernel buffers and windows on the way, and a few events. */
const AHEAD_BYTES_MAX = 16 * MIB;

/** After this long without a write, the backends are waiting, or have written everything. */
const STALLED_MS = 500;

const LAST_CHUNK = '\r\n0\r\n\r\n';

/**
 * Calls the tool and reads nothing for a while, then half a megabyte at a time with pauses, to the end.
 * @param stalled resolves when the backends send nothing more to callers that do not read.
 * @param onRead gets the size of each piece.
 */
function readSlowly(
  t: Test,
  { caller, id }: McpSession,
  stalled: Promise<void>,
  onRead: (bytes: number) => void,
): Promise<void> {
  const { hostname, port } = new URL(caller.origin);
  const socket = connect(Number(port), hostname).pause();
  t.teardown(() => socket.destroy());
  const params = '{"name":"one-echo","_meta":{"progressToken":"p"}}';
  const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;
  socket.write(encodeRequest(caller.origin, caller.request({ session: id, body })));
  return new Promise((resolve, reject) => {
    let sinceRestBytes = 0;
    void stalled.then(() => socket.resume());
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('closed before the end of the answer')));
    socket.on('data', (piece: Buffer) => {
      sinceRestBytes += piece.length;
      onRead(piece.length);
      if (piece.toString('latin1', piece.length - LAST_CHUNK.length) === LAST_CHUNK) {
        resolve();
      } else if (sinceRestBytes >= MIB / 2) {
        sinceRestBytes = 0;
        socket.pause();
        setTimeout(() => socket.resume(), 5);
      }
    });
  });
}

t.test('the memory of the workers does not grow, however much their callers leave unread', async (t) => {
  const params = { progressToken: 'p', progress: 1, message: 'z'.repeat(EVENT_BYTES) };
  const event = Buffer.from(
    `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params })}\n\n`,
  );
  let streamBytes = SHORT_BYTES;
  let writtenBytes = 0;
  const backend = await backendFor(t, {
    onCall: async (call) => {
      const { connection } = call.request;
      const stream = call.takeOver().eventStream();
      for (let left = streamBytes; left > 0 && !connection.destroyed; left -= event.length) {
        await stream.bytes(event);
        writtenBytes += event.length;
        // As fast as the gateway takes the events, and no faster.
        while (connection.writableLength > 0 && !connection.destroyed)
          await new Promise((resolve) => setTimeout(resolve, 1));
      }
      await stream.event('{"jsonrpc":"2.0","id":1,"result":{}}');
      stream.end();
    },
  });
  // With two workers about half of the calls take a hop.
  const deployment = await startDeployment(t, { workerCount: 2 });
  const caller = await deployment.caller({ one: { url: backend.url } });
  const sessions = await Promise.all(Array.from({ length: CALLERS }, () => caller.openSession()));
  let readBytes = 0;
  let residentBytesMost = 0;
  let aheadBytesMost = 0;
  const onRead = (bytes: number): void => {
    readBytes += bytes;
    aheadBytesMost = Math.max(aheadBytesMost, writtenBytes - readBytes);
    residentBytesMost = Math.max(residentBytesMost, residentBytesOf(deployment.gateway.workerPids()));
  };
  /** Waits until the backends have begun to write and can write no more. */
  const stall = async (): Promise<void> => {
    const beforeBytes = writtenBytes;
    let [lastBytes, sinceMs] = [beforeBytes, performance.now()];
    await until(() => {
      if (writtenBytes !== lastBytes) [lastBytes, sinceMs] = [writtenBytes, performance.now()];
      onRead(0);
      return writtenBytes > beforeBytes && performance.now() - sinceMs > STALLED_MS;
    }, 'the backends to wait');
  };
  const readAll = async (): Promise<void> => {
    const stalled = stall();
    await Promise.all(sessions.map((session) => readSlowly(t, session, stalled, onRead)));
  };
  // The first run measures what code, buffers and the heap take once there are such streams.
  await readAll();
  const warmBytes = residentBytesMost;
  streamBytes = LONG_BYTES;
  await readAll();
  const grownBytes = residentBytesMost - warmBytes;
  t.ok(readBytes >= CALLERS * (SHORT_BYTES + LONG_BYTES), `${Math.round(readBytes / MIB)} MiB were read`);
  t.ok(grownBytes < GROWTH_BYTES_MAX, `${Math.round(grownBytes / MIB)} MiB more than with short streams`);
  t.ok(
    aheadBytesMost < CALLERS * AHEAD_BYTES_MAX,
    `backends were ${Math.round(aheadBytesMost / MIB)} MiB ahead at most`,
  );
});
