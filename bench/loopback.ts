// Ports of the loopback interface: finding a free one, and waiting until a server listens on it.
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const START_MS_MAX = 20_000;
const RETRY_MS = 50;

/** A port that is free now. Another process may take it before it is used; then the start fails with that error. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}

/** Resolves when a GET is answered with any status. */
export async function waitUntilAnswering(name: string, url: string): Promise<void> {
  const deadlineMs = performance.now() + START_MS_MAX;
  for (;;) {
    try {
      await (await fetch(url, { signal: AbortSignal.timeout(START_MS_MAX) })).arrayBuffer();
      return;
    } catch (error) {
      if (performance.now() > deadlineMs) throw new Error(`${name} does not answer at ${url}`, { cause: error });
      await sleep(RETRY_MS);
    }
  }
}

/** Resolves when a connection is accepted. */
export async function waitUntilListening(name: string, port: number): Promise<void> {
  const deadlineMs = performance.now() + START_MS_MAX;
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    try {
      await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
      return;
    } catch (error) {
      if (performance.now() > deadlineMs) throw new Error(`${name} does not listen on port ${port}`, { cause: error });
      await sleep(RETRY_MS);
    } finally {
      socket.destroy();
    }
  }
}
