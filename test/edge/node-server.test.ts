// The listener over node:http keeps no connection of a caller that only pretends to be one.
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { nodeLibrary } from '../../src/edge/node-server.js';
import type { HttpHandler, TlsFiles } from '../../src/edge/http-library.js';
import { createCertificates } from '../support/certificates.js';
import { until } from '../support/until.js';

async function listen(t: Test, handler: HttpHandler, tls?: TlsFiles): Promise<{ port: number; open: () => number }> {
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

async function caller(t: Test, port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  t.teardown(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

t.jobs = 2;

void t.test('a TLS handshake that is never finished ends its connection', async (t) => {
  const { server } = createCertificates(t);
  const tls = { certificatePath: server.certificatePath, privateKeyPath: server.privateKeyPath };
  const { port, open } = await listen(t, (res) => res.end(), tls);
  const silent = await caller(t, port);
  const halfway = await caller(t, port);
  // The head of a record that announces more than follows.
  halfway.write(Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01]));
  silent.resume();
  halfway.resume();
  await Promise.all([once(silent, 'close'), once(halfway, 'close')]);
  t.pass('both were closed');
  await until(() => open() === 0, 'its end here');
});

void t.test('a body that trickles in behind its answer ends its connection', async (t) => {
  const { port, open } = await listen(t, (res) => {
    res.writeStatus('401 Unauthorized');
    res.end('no');
  });
  const slow = await caller(t, port);
  slow.resume();
  slow.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\n');
  const trickle = setInterval(() => slow.write('x'), 500);
  await once(slow, 'close');
  clearInterval(trickle);
  t.pass('it was closed');
  await until(() => open() === 0, 'its end here');
});
