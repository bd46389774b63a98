// One end of a hop that behaves as no real worker does, against a real worker's code at the other end.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { Test } from 'tap';
import { HopPair } from './pair.js';
import { RawPeer } from './raw-peer.js';

/** A pair whose owner is scripted: one raw peer for each link that was opened. */
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

/** Connects to the pair's owner as a raw peer, and sends the secret. */
export async function connectRaw(t: Test, pair: HopPair, secret: Buffer | undefined = pair.secret): Promise<RawPeer> {
  const socket = connect(pair.ownerPath);
  t.teardown(() => socket.destroy());
  await once(socket, 'connect');
  const peer = new RawPeer(socket);
  peer.send('hello', 0, secret);
  return peer;
}
