import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import type { DataplaneOptions } from '../../src/config/dataplane-options.js';
import { PORT_MAX, type ListenAddress } from '../../src/config/values.js';
import {
  choosePort,
  isOverlapping,
  claimAddresses,
  type ClaimedAddresses,
} from '../../src/primary/listen-addresses.js';
import { stubOptions } from './stub-options.js';

const files = { certificatePath: 'c', privateKeyPath: 'k' };

async function claim(t: Test, options: DataplaneOptions = stubOptions()): Promise<ClaimedAddresses> {
  const claimed = await claimAddresses(options);
  t.teardown(() => claimed.release());
  return claimed;
}

t.test('port 0 becomes a real port, which can be bound again, and the other options stay', async (t) => {
  const options = stubOptions({ tls: { address: { host: '127.0.0.1', port: 0 }, ...files } });
  const { options: claimed } = await claim(t, options);
  const ports = [claimed.address.port, claimed.tls?.address.port ?? 0];
  t.not(ports[0], ports[1]);
  t.same({ ...claimed, address: options.address, tls: options.tls }, options);
  for (const port of ports) {
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    server.close();
  }
});

t.test('no outgoing connection gets a chosen port before the workers listen on it', async (t) => {
  const [first = 0, last = 0] = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'latin1')
    .split(/\s+/)
    .map(Number);
  for (let nth = 0; nth < 20; nth++) {
    const { port } = (await claim(t)).options.address;
    t.notOk(port >= first && port <= last, `${port}`);
  }
  const chosen = Array.from({ length: 20 }, () => choosePort(PORT_MAX - 1_000));
  t.ok(chosen.every((port) => port > PORT_MAX - 1_000 && port <= PORT_MAX));
  t.equal(choosePort(PORT_MAX - 999), 0, 'too few are left to choose from');
});

t.test('an address in use is refused by its name, with what to do', async (t) => {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  t.teardown(() => holder.close());
  const { port } = holder.address() as AddressInfo;
  const address = { host: '127.0.0.1', port };
  await t.rejects(claimAddresses(stubOptions({ address })), {
    exitStatus: 69,
    message: `cannot listen on 127.0.0.1:${port}: it is in use; stop the program that listens there (\`ss -ltnp\` shows it), or choose another address with --address`,
  });
  await t.rejects(claimAddresses(stubOptions({ tls: { address, ...files } })), { message: /--tls-address$/ });
});

t.test(
  'a claim holds while nothing listens, against every address that overlaps, and ends with its release',
  async (t) => {
    const first = await claim(t);
    const { port } = first.options.address;
    for (const host of ['127.0.0.1', '0.0.0.0', '::']) {
      await t.rejects(
        claimAddresses(stubOptions({ address: { host, port } })),
        { exitStatus: 69, message: /in use/ },
        host,
      );
    }
    const beside = await claim(t, stubOptions({ address: { host: '127.0.0.2', port } }));
    t.equal(beside.options.address.port, port, 'another address of the machine has its own port of that number');
    first.release();
    beside.release();
    const wildcard = await claim(t, stubOptions({ address: { host: '0.0.0.0', port } }));
    await t.rejects(claimAddresses(stubOptions({ address: { host: '127.0.0.1', port } })), { message: /in use/ });
    wildcard.release();
    await claim(t, stubOptions({ address: { host: '127.0.0.1', port } }));
  },
);

t.test('a claim that fails at its second address releases the first', async (t) => {
  const taken = (await claim(t)).options.address;
  const free = await claim(t);
  free.release();
  const { address } = free.options;
  await t.rejects(claimAddresses(stubOptions({ address, tls: { address: taken, ...files } })), { message: /in use/ });
  t.equal((await claim(t, stubOptions({ address }))).options.address.port, address.port);
});

t.test('of many that claim one address at the same moment exactly one gets it', async (t) => {
  const { options, release } = await claimAddresses(stubOptions());
  release();
  const results = await Promise.allSettled(
    Array.from({ length: 20 }, () => claimAddresses(stubOptions({ address: options.address }))),
  );
  const winners = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
  t.equal(winners.length, 1);
  for (const winner of winners) winner.release();
});

t.test('a caller that connects during the claim does not delay it', async (t) => {
  const { options, release } = await claimAddresses(stubOptions());
  release();
  const { host, port } = options.address;
  const claiming = claimAddresses(stubOptions({ address: { host, port } }));
  // The bind has happened by now, or happens in the queued work; the callers are connecting until the claim is over.
  const callers = Array.from({ length: 50 }, () => connect({ host, port }).on('error', () => {}));
  t.teardown(() => callers.forEach((caller) => caller.destroy()));
  (await claiming).release();
  t.pass('it came to its end with the callers still there');
});

t.test('addresses overlap when they are the same, or one has all of the machine’s', (t) => {
  const at = (host: string, port = 80): ListenAddress => ({ host, port });
  const all = ['127.0.0.1', '10.0.0.1', '0.0.0.0', '::1', '::'];
  const apart = new Set(['127.0.0.1 10.0.0.1', '127.0.0.1 ::1', '10.0.0.1 ::1', '0.0.0.0 ::1']);
  for (const one of all) {
    for (const other of all) {
      const isApart = apart.has(`${one} ${other}`) || apart.has(`${other} ${one}`);
      t.equal(isOverlapping(at(one), at(other)), !isApart, `${one} and ${other}`);
      t.notOk(isOverlapping(at(one), at(other, 81)));
    }
  }
  t.end();
});

t.test('the two listeners cannot have one address', async (t) => {
  const { options, release } = await claimAddresses(stubOptions());
  release();
  const { address } = options;
  await t.rejects(claimAddresses(stubOptions({ address, tls: { address, ...files } })), {
    exitStatus: 69,
    message: /in use.*--tls-address$/,
  });
});

t.test('an address of another machine and an unknown name are refused', async (t) => {
  await t.rejects(claimAddresses(stubOptions({ address: { host: '192.0.2.1', port: 0 } })), {
    exitStatus: 69,
    message: /no interface of this machine/,
  });
  await t.rejects(claimAddresses(stubOptions({ address: { host: 'nowhere.invalid', port: 0 } })), {
    exitStatus: 69,
    message: /^cannot listen on nowhere\.invalid:0: the host name is not known/,
  });
});
