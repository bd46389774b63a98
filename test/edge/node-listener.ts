// The scene of the tests of the listener over node:http.
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { Test } from 'tap';
import { nodeLibrary } from '../../src/edge/node-server.js';
import type { HttpHandler, TlsFiles } from '../../src/edge/http-library.js';

export async function listen(
  t: Test,
  handler: HttpHandler,
  tls?: TlsFiles,
): Promise<{ port: number; open: () => number }> {
  // The listener is told its port.
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  const listener = nodeLibrary.createListener(tls);
  listener.router.route('any', '/*', handler);
  let open = 0;
  listener.onConnection((change) => void (open += change));
  const close = await listener.listen('127.0.0.1', port);
  if (close === undefined) throw new Error('the port was taken meanwhile');
  t.teardown(close);
  return { port, open: () => open };
}

export async function caller(t: Test, port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  t.teardown(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}
