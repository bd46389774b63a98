// Deadlines of the HTTP libraries, which no test can make shorter.
import { once } from 'node:events';
import { connect } from 'node:net';
import t from 'tap';
import type { EdgeExchange } from '../../src/edge/edge-exchange.js';
import { createCertificates } from '../support/certificates.js';
import { until } from '../support/until.js';
import { startEdge } from './edge-server.js';
import { caller, listen } from './node-listener.js';

/** More than the kernel takes at once. */
const LARGE_BYTES = 24 * 1024 * 1024;
const large = Buffer.alloc(LARGE_BYTES, 'a held body ');

t.jobs = 2;

void t.test('a body that is held for longer than an upload may be silent is read to its end', async (t) => {
  let held: EdgeExchange | undefined;
  let requestCount = 0;
  let aborts = 0;
  const onRequest = (exchange: EdgeExchange): void => {
    requestCount += 1;
    exchange.onAbort = () => (aborts += 1);
    exchange.incoming.receive((outcome) =>
      exchange.respond(200, 'text/plain', `${outcome} ${exchange.request.body.equals(large)}.`),
    );
    if (requestCount < 4) return;
    held = exchange;
    exchange.incoming.awaitAdmission();
  };
  const edge = await startEdge(t, onRequest, { bodyBytesMax: LARGE_BYTES });
  const socket = connect(edge.port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  const request = Buffer.from(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${LARGE_BYTES}\r\n\r\n`);
  // The first requests make the kernel deliver so much at once that the library reads on after the first chunk.
  for (let count = 1; count < 4; count += 1) {
    socket.write(Buffer.concat([request, large]));
    await until(() => text.split('complete true.').length > count, `answer ${count}`);
  }
  socket.write(Buffer.concat([request, large]));
  await until(() => held !== undefined, 'the request');
  // The library closes a silent upload after 8 to 12 s: only waiting that long shows that it does not close this one.
  await new Promise((resolve) => setTimeout(resolve, 13_000));
  t.equal(aborts, 0, 'it is not closed');
  held?.incoming.admit('ada', 'both', []);
  await until(() => text.split('complete true.').length > 4, 'the answer');
  t.equal(text.split('HTTP/1.1 200').length, 5);
});

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
