// At the connection limit, a new connection replaces the one that has been without a request for the longest time, or else the oldest whose
// request has not arrived whole, so that neither idle connections nor slow bodies keep anybody out.
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

/** A connection's requests in progress: how many, and the last one. */
interface Progress {
  count: number;
  last?: IncomingMessage;
}

/** Limits a server's connections. A new connection is closed only if all others have a whole request in progress. */
export function limitConnections(server: Server, connectionsMax: number): void {
  const progressOf = new Map<Socket, Progress>();
  const idleSockets = new Set<Socket>();

  server.on('connection', (socket: Socket) => {
    if (progressOf.size >= connectionsMax) {
      const [oldest = findReceiving() ?? socket] = idleSockets;
      forget(oldest);
      oldest.destroy();
      if (oldest === socket) return;
    }
    progressOf.set(socket, { count: 0 });
    idleSockets.add(socket);
    socket.once('close', () => forget(socket));
  });

  server.on('request', (request, response) => {
    const { socket } = request;
    const progress = progressOf.get(socket);
    if (progress === undefined) return;
    progress.count += 1;
    progress.last = request;
    idleSockets.delete(socket);
    // This event comes once for every response, complete or not.
    response.once('close', () => {
      progress.count -= 1;
      if (progress.count === 0 && progressOf.has(socket)) idleSockets.add(socket);
    });
  });

  function findReceiving(): Socket | undefined {
    for (const [socket, { last }] of progressOf) if (last?.complete === false) return socket;
    return undefined;
  }

  function forget(socket: Socket): void {
    progressOf.delete(socket);
    idleSockets.delete(socket);
  }
}
