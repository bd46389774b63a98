import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import t from 'tap';
import { claimAddresses } from '../../src/primary/listen-addresses.js';
import { stubOptions } from './stub-fleet.js';

const files = { certificatePath: 'c', privateKeyPath: 'k' };

t.test('port 0 becomes a real port, which is free again, and the rest of the options stays', async (t) => {
  const options = stubOptions({ tls: { address: { host: '127.0.0.1', port: 0 }, ...files } });
  const claimed = await claimAddresses(options);
  const ports = [claimed.address.port, claimed.tls?.address.port ?? 0];
  t.not(ports[0], ports[1]);
  t.same({ ...claimed, address: options.address, tls: options.tls }, options);
  for (const port of ports) {
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    server.close();
  }
});

t.test('a taken address is refused with its name and what to do', async (t) => {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  t.teardown(() => holder.close());
  const { port } = holder.address() as AddressInfo;
  const address = { host: '127.0.0.1', port };
  await t.rejects(claimAddresses(stubOptions({ address })), {
    exitStatus: 69,
    message: `cannot listen on 127.0.0.1:${port}: it is in use; stop what listens there (\`ss -ltnp\` names it), or choose another address with --address`,
  });
  await t.rejects(claimAddresses(stubOptions({ tls: { address, ...files } })), { message: /--tls-address$/ });
});

t.test('the two listeners cannot have one address', async (t) => {
  const { address } = await claimAddresses(stubOptions());
  await t.rejects(claimAddresses(stubOptions({ address, tls: { address, ...files } })), {
    exitStatus: 69,
    message: /in use.*--tls-address$/,
  });
});

t.test('an address of another machine and a name of none', async (t) => {
  await t.rejects(claimAddresses(stubOptions({ address: { host: '192.0.2.1', port: 0 } })), {
    exitStatus: 69,
    message: /no interface of this machine/,
  });
  await t.rejects(claimAddresses(stubOptions({ address: { host: 'nowhere.invalid', port: 0 } })), {
    exitStatus: 69,
    message: /^cannot listen on nowhere\.invalid:0: the host name is not known/,
  });
});
