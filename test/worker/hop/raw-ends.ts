// One end of a hop that a real worker never is, against a real one at the other.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { Test } from 'tap';
import { HopPair } from './pair.js';
import { RawPeer } from './raw-peer.js';

/** A pair whose owner is the returned list: one raw peer for each link that was opened. */
export async function startRawOwner(t: Test): Promise<{ pair: HopPair; links: RawPeer[] }> {
  const pair = new HopPair(t);
  const links: RawPeer[] = [];
  const server = createServer((socket) => links.push(new RawPeer(socket)));
  server.listen(pair.ownerPath);
  await once(server, 'listening');
  t.teardown(() => {
    for (const link of links) link.socket.destroy();
    server.close();
  });
  return { pair, links };
}

/** A caller of the pair's owner that has said its secret. */
export async function connectRaw(t: Test, pair: HopPair, secret: Buffer | undefined = pair.secret): Promise<RawPeer> {
  const socket = connect(pair.ownerPath);
  t.teardown(() => socket.destroy());
  await once(socket, 'connect');
  const peer = new RawPeer(socket);
  peer.send('hello', 0, secret);
  return peer;
}
