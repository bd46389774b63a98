import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { createLogger } from '../../../src/shared/logger.js';
import { HopFault, type FrameKind, hopBounds } from '../../../src/worker/hop/frames.js';
import { HopSocket, type HopSocketHandler } from '../../../src/worker/hop/socket.js';
import { createScratchDirectory } from '../../support/scratch-directory.js';
import { until } from '../../support/until.js';
import { RawPeer } from './raw-peer.js';

class Handler implements HopSocketHandler {
  readonly kinds: FrameKind[] = [];
  closedCount = 0;
  onKind: (kind: FrameKind) => void = () => {};

  onFrame(kind: FrameKind): void {
    this.kinds.push(kind);
    this.onKind(kind);
  }

  onClose(): void {
    this.closedCount++;
  }
}

async function connectedPair(t: Test): Promise<{ socket: Socket; peer: RawPeer }> {
  const server = createServer();
  server.listen(join(createScratchDirectory(t), 'pair.sock'));
  await once(server, 'listening');
  const socket = connect(server.address() as string);
  const [accepted] = (await once(server, 'connection')) as [Socket];
  t.teardown(() => {
    socket.destroy();
    accepted.destroy();
    server.close();
  });
  return { socket, peer: new RawPeer(accepted) };
}

const logger = createLogger('silent', {});

t.test('the frames of one turn are sent in one write', async (t) => {
  const { socket, peer } = await connectedPair(t);
  let writes = 0;
  const write: (bytes: Buffer | string) => boolean = socket.write.bind(socket);
  socket.write = (bytes: Buffer | string): boolean => {
    writes++;
    return write(bytes);
  };
  const hopSocket = new HopSocket(socket, logger, new Handler());

  for (let stream = 1; stream <= 20; stream++) hopSocket.addFrame('data', stream, 100).fill(stream);
  t.equal(writes, 0, 'nothing is written at once');
  await until(() => peer.frames.length === 20, 'the first turn');
  t.equal(writes, 1);
  hopSocket.addFrame('data', 21, 100).fill(21);
  await until(() => peer.frames.length === 21, 'the second turn');
  t.equal(writes, 2);
  t.ok(peer.frames.every(({ stream, payload }) => payload.equals(Buffer.alloc(100, stream))));
});

t.test('frames arrive whole and in order, however their sizes relate to the batch', async (t) => {
  const { socket, peer } = await connectedPair(t);
  const hopSocket = new HopSocket(socket, logger, new Handler());
  const sizes = [
    10,
    hopBounds.hopBatchBytes - 30,
    hopBounds.hopBatchBytes,
    hopBounds.hopFrameBytesMax,
    0,
    hopBounds.hopPartBytesMax,
    5,
  ];
  for (let turn = 0; turn < 3; turn++) {
    sizes.forEach((size, at) => hopSocket.addFrame('data', at, size).fill(turn * 10 + at));
    await until(() => peer.frames.length === (turn + 1) * sizes.length, 'a turn');
  }
  peer.frames.forEach(({ stream, payload }, at) => {
    const turn = Math.floor(at / sizes.length);
    t.equal(stream, at % sizes.length);
    t.ok(payload.equals(Buffer.alloc(sizes[stream] as number, turn * 10 + stream)));
  });
});

t.test('a fault of the handler closes the socket, and the frames after it are not handled', async (t) => {
  const { socket, peer } = await connectedPair(t);
  const handler = new Handler();
  handler.onKind = (kind) => {
    if (kind === 'cut') throw new HopFault('not here');
  };
  const hopSocket = new HopSocket(socket, logger, handler);
  peer.socket.cork();
  peer.send('end', 1);
  peer.send('cut', 1);
  peer.send('end', 1);
  peer.socket.uncork();
  await until(() => peer.isClosed && handler.closedCount === 1, 'the close');
  t.same(handler.kinds, ['end', 'cut']);
  t.ok(hopSocket.isDestroyed);
  hopSocket.addFrame('end', 1, 0);
  await new Promise(setImmediate);
  t.pass('sending after the close does nothing');
});

t.test('a handler that destroys the socket sees no further frame', async (t) => {
  const { socket, peer } = await connectedPair(t);
  const handler = new Handler();
  const hopSocket = new HopSocket(socket, logger, handler);
  handler.onKind = () => hopSocket.destroy();
  peer.socket.cork();
  peer.send('end', 1);
  peer.send('end', 2);
  peer.socket.uncork();
  await until(() => handler.closedCount === 1, 'the close');
  t.same(handler.kinds, ['end']);
});
