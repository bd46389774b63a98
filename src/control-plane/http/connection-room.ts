// Keeps a server open to newcomers: once it has as many connections as it may, one more takes the place of the connection
// that has been without a request for the longest time. Somebody who opens connections and stays silent keeps nobody out.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** A newcomer is closed only when every connection has a request under way. */
export function keepRoom(server: Server, connectionsMax: number): void {
  /** Requests under way by connection; there is an entry for each connection. */
  const requests = new Map<Socket, number>();
  /** Without a request, the longest-silent first. */
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
    // Comes once for every answer, complete or not.
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
