import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type LookupFunction } from 'node:net';
import t from 'tap';
import {
  AddressRefusedError,
  createGuardedLookup,
  isAddressRefused,
  isHostRefused,
} from '../../../src/http-client/names/address-guard.js';
import { REFUSED_HOSTS } from '../../support/refused-hosts.js';

const REFUSED = [
  '169.254.169.254',
  '169.254.0.0',
  '169.254.255.255',
  '169.254.170.2',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  '0.0.0.0',
  '0.1.2.3',
  '::',
  'fe80::1',
  'fe80::1%eth0',
  'febf:ffff::1',
  'fd00:ec2::254',
  'fd00:ec2::23',
  'fd20:ce::254',
  'fd00:c1::a9fe:a9fe',
  'fd00:42::42',
  '::ffff:169.254.169.254',
  '::ffff:a9fe:a9fe',
  '0:0:0:0:0:ffff:a9fe:a9fe',
  '::ffff:100.100.100.200',
  '::ffff:0.0.0.0',
  '::169.254.169.254',
  '64:ff9b::169.254.169.254',
  '64:ff9b:1::169.254.169.254',
  '2002:a9fe:a9fe::1',
  'FE80::ABCD',
  'FD00:EC2::254',
];

const ALLOWED = [
  '127.0.0.1',
  '127.255.255.254',
  '10.0.0.1',
  '172.16.0.1',
  '192.168.1.1',
  '169.253.255.255',
  '169.255.0.0',
  '100.100.100.201',
  '168.63.129.17',
  '8.8.8.8',
  '1.0.0.0',
  '::1',
  '::ffff:127.0.0.1',
  'fec0::1',
  'fd00:ec3::254',
  'fd12:3456::1',
  '2001:db8::a9fe:a9fe',
  '2002:a9ff::1',
];

function lookupOf(addresses: readonly string[]): ReturnType<typeof createGuardedLookup> {
  return createGuardedLookup((_name, _options, callback) => {
    const answers: LookupAddress[] = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    queueMicrotask(() => callback(null, answers));
  });
}

type Looked = string | LookupAddress[] | { code: string | undefined };

async function look(lookup: LookupFunction, name: string, options: object = {}): Promise<Looked> {
  return new Promise((resolve) => {
    lookup(name, options, (error, address) => resolve(error === null ? address : { code: error.code }));
  });
}

t.test('metadata and link-local addresses are refused in every notation, and other addresses are not', async (t) => {
  for (const address of REFUSED) t.equal(isAddressRefused(address), true, address);
  for (const address of ALLOWED) t.equal(isAddressRefused(address), false, address);
  for (const name of ['', 'localhost', 'metadata.google.internal', '169.254']) {
    t.equal(isAddressRefused(name), false, `${name} is no address`);
  }
});

t.test('a URL host is refused in every spelling of a refused address', async (t) => {
  for (const host of [...REFUSED_HOSTS, '::ffff:169.254.169.254']) {
    t.equal(isHostRefused(host), true, host);
  }
  for (const host of [
    'localhost',
    '127.1',
    '0x7f000001',
    '[::1]',
    'example.com',
    '169.254.example.com',
    '',
    ' ',
    '/',
  ]) {
    t.equal(isHostRefused(host), false, JSON.stringify(host));
  }
});

t.test('a look-up returns all addresses of a name, or the first of the wanted family', async (t) => {
  const both = ['192.0.2.1', '2001:db8::1'];
  t.same(await look(lookupOf(both), 'name', { all: true }), [
    { address: '192.0.2.1', family: 4 },
    { address: '2001:db8::1', family: 6 },
  ]);
  t.equal(await look(lookupOf(both), 'name'), '192.0.2.1');
  t.equal(await look(lookupOf(both), 'name', { family: 6 }), '2001:db8::1');
  t.equal(await look(lookupOf(both), 'name', { family: 'IPv4' }), '192.0.2.1');
  t.same(await look(lookupOf(both), 'name', { family: 6, all: true }), [{ address: '2001:db8::1', family: 6 }]);
  t.same(await look(lookupOf(['192.0.2.1']), 'name', { family: 6 }), { code: 'ENOTFOUND' });
});

t.test('a name with one refused address is refused as a whole', async (t) => {
  for (const addresses of [
    ['169.254.169.254'],
    ['192.0.2.1', '169.254.169.254'],
    ['169.254.169.254', '192.0.2.1'],
    ['192.0.2.1', 'fe80::1'],
  ]) {
    for (const options of [{}, { all: true }, { family: 4 }, { family: 4, all: true }]) {
      const looked = await look(lookupOf(addresses), 'name', options);
      t.same(looked, { code: 'ADDRESS_REFUSED' }, `${addresses.join()} ${JSON.stringify(options)}`);
    }
  }
});

t.test('the error of a failing resolver is passed on', async (t) => {
  const lookup = createGuardedLookup((_name, _options, callback) => {
    callback(Object.assign(new Error('no'), { code: 'ENOTFOUND' }), []);
  });
  t.same(await look(lookup, 'name'), { code: 'ENOTFOUND' });
});

t.test('sockets can use the guarded look-up', async (t) => {
  const server = createServer((socket) => socket.end()).listen(0, 'localhost');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await once(connect({ host: 'localhost', port, lookup: lookupOf(['::1', '127.0.0.1']) }).resume(), 'close');
  for (const autoSelectFamily of [true, false]) {
    const lookup = lookupOf(['127.0.0.1', '169.254.169.254']);
    const socket = connect({ host: 'two-faced.example', port, lookup, autoSelectFamily });
    const [error] = (await once(socket, 'error')) as [unknown];
    t.type(error, AddressRefusedError);
  }
});
