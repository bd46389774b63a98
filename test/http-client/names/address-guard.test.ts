import t from 'tap';
import { AddressGuard, firstObstacle } from '../../../src/http-client/names/address-guard.js';
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

const guard = new AddressGuard();

t.test('metadata and link-local addresses are refused in every notation, and other addresses are not', async (t) => {
  for (const address of REFUSED) t.equal(guard.obstacleOf(address), 'address-refused', address);
  for (const address of ALLOWED) t.equal(guard.obstacleOf(address), undefined, address);
  for (const name of ['', 'localhost', 'metadata.google.internal', '169.254']) {
    t.equal(guard.obstacleOf(name), undefined, `${name} is no address`);
  }
});

t.test('a URL host is refused in every spelling of a refused address', async (t) => {
  for (const host of [...REFUSED_HOSTS, '::ffff:169.254.169.254']) {
    t.equal(guard.obstacleOfHost(host), 'address-refused', host);
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
    t.equal(guard.obstacleOfHost(host), undefined, JSON.stringify(host));
  }
});

t.test('a network without a length is one address', async (t) => {
  const narrow = new AddressGuard(['192.0.2.7', '2001:db8::7']);
  for (const address of ['192.0.2.7', '2001:db8::7']) t.equal(narrow.obstacleOf(address), undefined, address);
  for (const address of ['192.0.2.8', '2001:db8::8']) {
    t.equal(narrow.obstacleOf(address), 'address-not-allowed', address);
  }
});

t.test('a name with one refused address is refused as a whole', (t) => {
  for (const addresses of [
    ['169.254.169.254'],
    ['192.0.2.1', '169.254.169.254'],
    ['169.254.169.254', '192.0.2.1'],
    ['192.0.2.1', 'fe80::1'],
  ])
    t.equal(firstObstacle(guard, addresses), 'address-refused', addresses.join());
  t.equal(firstObstacle(guard, ['192.0.2.1', '2001:db8::1']), undefined);
  t.end();
});
