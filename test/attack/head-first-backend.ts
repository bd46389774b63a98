// An ordinary MCP backend until a large request comes: that one is handed over after its head, with its body unread, for
// responses that come too early and for bodies that nobody reads.
import { createServer, type AddressInfo, type Socket } from 'node:net';
import type { Scope } from './scope.js';

const LARGE_FROM_BYTES = 1_048_576;
const HEAD_END = '\r\n\r\n';
const CAPABILITIES =
  '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"b","version":"1"}}';

/** @returns its URL. */
export async function startHeadFirstBackend(scope: Scope, onLarge: (connection: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    readRequests(socket, onLarge);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  scope.teardown(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

function readRequests(socket: Socket, onLarge: (connection: Socket) => void): void {
  let received = '';
  const onData = (chunk: Buffer): void => {
    received += chunk.toString('latin1');
    for (;;) {
      const headEnd = received.indexOf(HEAD_END);
      if (headEnd === -1) return;
      const bodyBytes = Number(/\r\ncontent-length: *(\d+)/i.exec(received.slice(0, headEnd))?.[1] ?? 0);
      if (bodyBytes >= LARGE_FROM_BYTES) {
        socket.off('data', onData);
        onLarge(socket);
        return;
      }
      const end = headEnd + HEAD_END.length + bodyBytes;
      if (received.length < end) return;
      answer(socket, received.slice(headEnd + HEAD_END.length, end));
      received = received.slice(end);
    }
  };
  socket.on('data', onData);
}

function answer(socket: Socket, body: string): void {
  const id = /"id": *("[^"]*"|\d+)/.exec(body)?.[1];
  if (id === undefined) {
    socket.write(`HTTP/1.1 202 Accepted\r\ncontent-length: 0${HEAD_END}`);
    return;
  }
  const message = `{"jsonrpc":"2.0","id":${id},"result":${CAPABILITIES}}`;
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${message.length}`;
  socket.write(`${head}${HEAD_END}${message}`);
}
