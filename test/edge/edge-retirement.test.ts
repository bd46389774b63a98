// A worker that a reload has replaced. It waits for as long as connections may be kept, but not in these tests.
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import t from 'tap';
import { until } from '../support/until.js';
import { edgeScene as scene, MCP, requestOf } from './edge-scene.js';
import type { Listener } from './edge-server.js';

/** What no test waits for is longer. */
const SHORT_MS = 200;

/** The waits of the edge, which the tests end. */
const sleeps: (() => void)[] = [];
const sleep = timers.setTimeout;
timers.setTimeout = (async (ms: number) =>
  ms < SHORT_MS ? sleep(ms) : new Promise<void>((resolve) => sleeps.push(resolve))) as typeof sleep;
syncBuiltinESMExports();

for (const listener of ['uws', 'node'] as const satisfies readonly Listener[]) {
  t.test(
    `${listener}: a retired worker leaves its streams to its successor, and is no reason to call it sick`,
    async (t) => {
      const { edge, open, handler, ask, told } = await scene(t, listener);
      let aborts = 0;
      handler.act = (exchange) => {
        exchange.onAbort = () => (aborts += 1);
        exchange.openStream();
        exchange.write(Buffer.from('data: 1\n\n'));
      };
      const [stream, idle] = [await open(), await open()];
      idle.write(requestOf('GET', '/health'));
      await idle.readAnswer();
      stream.write(requestOf('GET', MCP));
      await until(() => told.length === 1, 'the stream');
      let hasLeft = false;
      void edge.retire(() => (hasLeft = true));
      await until(() => hasLeft, 'its leaving');
      await stream.readHead();
      let events = '';
      for (let piece = await stream.readChunk(); piece !== undefined; piece = await stream.readChunk())
        events += String(piece);
      t.match(events, /^data: 1\n\n/);
      t.equal(aborts, 1, 'who writes to it is told');
      idle.write(requestOf('GET', '/health'));
      t.equal((await idle.readAnswer()).status, 200);
      await t.rejects(ask('GET', '/health'));
    },
  );
}

t.test(
  'a worker is retired once every request has its answer, and leaves streams that are opened meanwhile',
  async (t) => {
    sleeps.length = 0;
    const { edge, open, handler, last, told } = await scene(t, 'uws');
    handler.act = (exchange) => (exchange.request.method === 'GET' ? exchange.openStream() : undefined);
    const [asking, listening] = [await open(), await open()];
    asking.write(requestOf('POST', MCP));
    await until(() => told.length === 1, 'the request');
    const waiting = last();
    let isRetired = false;
    const retired = edge.retire(() => undefined).then(() => (isRetired = true));
    await until(() => sleeps.length === 1, 'the time for kept connections');
    listening.write(requestOf('GET', MCP));
    await until(() => told.length === 2, 'the stream');
    sleeps[0]!();
    await until(() => sleeps.length === 2, 'the next look');
    t.equal((await listening.readAnswer()).status, 200);
    t.equal(isRetired, false);
    waiting.respond(200, 'text/plain', 'late');
    t.equal((await asking.readAnswer()).text, 'late');
    sleeps[1]!();
    await retired;
  },
);
