// The fastest round trip of a message to another socket and back on this machine: the cost of system calls and wake-ups, of which each
// request has several. It differs between machines, above all virtual ones, far more than computing speed does.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

/** On the machine for which the tests' bounds were made: 2.6 GHz AMD EPYC, Node 20, over the loopback interface. */
const REFERENCE_MS = 0.05;
const PIECES = 40;
const ROUND_TRIPS_OF_PIECE = 10;

/** The round trip as a multiple of the reference, at least 1. Load by other processes is excluded, because it is measured separately. */
export async function roundTripFactor(): Promise<number> {
  return Math.max(1, (await fastestRoundTripMs()) / REFERENCE_MS);
}

async function fastestRoundTripMs(): Promise<number> {
  const server = createServer((socket) => socket.setNoDelay(true).pipe(socket));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').setNoDelay(true);
  await once(client, 'connect');
  let fastestMs = Infinity;
  for (let piece = 0; piece < PIECES; piece += 1) {
    const beganMs = performance.now();
    for (let count = 0; count < ROUND_TRIPS_OF_PIECE; count += 1) {
      client.write('x');
      await once(client, 'data');
    }
    fastestMs = Math.min(fastestMs, (performance.now() - beganMs) / ROUND_TRIPS_OF_PIECE);
  }
  client.destroy();
  server.close();
  return fastestMs;
}
