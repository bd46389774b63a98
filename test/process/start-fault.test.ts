// What an operator is told when a plane cannot listen: on which address, why, and what to do.
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import t, { type Test } from 'tap';
import { listenFault, type StartFault } from '../../src/process/start-fault.js';

/** The fault of listening there for real. */
async function faultOf(t: Test, host: string, port: number): Promise<StartFault> {
  const server = createServer();
  t.teardown(() => void server.close());
  server.listen(port, host);
  const [error] = (await once(server, 'error')) as [Error];
  return listenFault({ host, port }, '--address', error);
}

async function occupied(t: Test): Promise<number> {
  const server: Server = createServer();
  t.teardown(() => void server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as { port: number }).port;
}

t.test('an address that is in use is named, and the option that chooses another', async (t) => {
  const port = await occupied(t);
  const fault = await faultOf(t, '127.0.0.1', port);
  t.match(fault.message, new RegExp(`127\\.0\\.0\\.1:${port}: .*in use.*--address`));
  t.match(fault, { exitStatus: 69, name: 'StartFault', cause: { code: 'EADDRINUSE' } });
});

t.test('each reason has its advice, and one that is not known is told in the words of the system', async (t) => {
  t.match((await faultOf(t, '192.0.2.7', 8080)).message, /192\.0\.2\.7:8080: no interface/);
  for (const [code, advice] of [
    ['EACCES', /CAP_NET_BIND_SERVICE/],
    ['ENOTFOUND', /host name is not known/],
    ['EAI_AGAIN', /host name is not known/],
    ['EMFILE', /too many open files/],
  ] as const) {
    const error = Object.assign(new Error('too many open files'), { code });
    const { message } = listenFault({ host: '::1', port: 80 }, '--admin-address', error);
    t.match(message, advice);
    t.match(message, /^cannot listen on \[::1\]:80: .*--admin-address$/);
  }
});
