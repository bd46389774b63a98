// At the connection limit, a new connection replaces the one that has been without a request for the longest time, so that idle connections
// keep nobody out.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Limits a server's connections. A new connection is closed only if all others have a request in progress. */
export function limitConnections(server: Server, connectionsMax: number): void {
  const requestCounts = new Map<Socket, number>();
  const idleSockets = new Set<Socket>();

  server.on('connection', (socket: Socket) => {
    if (requestCounts.size >= connectionsMax) {
      const [oldest = socket] = idleSockets;
      forget(oldest);
      oldest.destroy();
      if (oldest === socket) return;
    }
    requestCounts.set(socket, 0);
    idleSockets.add(socket);
    socket.once('close', () => forget(socket));
  });

  server.on('request', ({ socket }, response) => {
    const count = requestCounts.get(socket);
    if (count === undefined) return;
    requestCounts.set(socket, count + 1);
    idleSockets.delete(socket);
    // This event comes once for every response, complete or not.
    response.once('close', () => {
      const left = (requestCounts.get(socket) ?? 0) - 1;
      if (left < 0) return;
      requestCounts.set(socket, left);
      if (left === 0) idleSockets.add(socket);
    });
  });

  function forget(socket: Socket): void {
    requestCounts.delete(socket);
    idleSockets.delete(socket);
  }
}
