// A worker that a reload has replaced. It looks for as long as connections may be kept, so this takes a while.
import t from 'tap';
import { until } from '../support/until.js';
import { edgeScene as scene, MCP, requestOf } from './edge-scene.js';
import type { Listener } from './edge-server.js';

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
