// At the connection limit, a new connection replaces the one that has been without a request for the longest time, so that idle connections
// keep nobody out.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Limits a server's connections. A new one is closed only if all others have a request in progress. */
export function closeIdleForNew(server: Server, connectionsMax: number): void {
  const requests = new Map<Socket, number>();
  const silent = new Set<Socket>();

  server.on('connection', (socket: Socket) => {
    if (requests.size >= connectionsMax) {
      const [oldest = socket] = silent;
      forget(oldest);
      oldest.destroy();
      if (oldest === socket) return;
    }
    requests.set(socket, 0);
    silent.add(socket);
    socket.once('close', () => forget(socket));
  });

  server.on('request', ({ socket }, response) => {
    const count = requests.get(socket);
    if (count === undefined) return;
    requests.set(socket, count + 1);
    silent.delete(socket);
    // This event comes once for every response, complete or not.
    response.once('close', () => {
      const left = (requests.get(socket) ?? 0) - 1;
      if (left < 0) return;
      requests.set(socket, left);
      if (left === 0) silent.add(socket);
    });
  });

  function forget(socket: Socket): void {
    requests.delete(socket);
    silent.delete(socket);
  }
}
