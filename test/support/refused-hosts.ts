// Hosts that must never be contacted, for tests that try them in each URL that a third party can influence: link-local and metadata
// addresses in every spelling that a URL accepts, and names that resolve to such an address.
import type { NameRecord } from './name-server.js';

export const REFUSED_HOSTS: readonly string[] = [
  '169.254.169.254',
  '169.254.169.254.',
  '0xa9fea9fe',
  '0XA9.0xfe.0xa9.0xfe',
  '0251.0376.0251.0376',
  '2852039166',
  '169.16689662',
  '169.254.43518',
  '①⑥⑨.254.169.254',
  '169%2e254.169.254',
  '169.254.170.2',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  '0',
  '0.0.0.0',
  '[::]',
  '[::ffff:169.254.169.254]',
  '[::ffff:a9fe:a9fe]',
  '[64:ff9b::169.254.169.254]',
  '[2002:a9fe:a9fe::1]',
  '[fe80::1]',
  '[FEBF:ffff::1]',
  '[fd00:0ec2:0000::0254]',
];

/** Records for a name server: the address of each name is only known when connecting. */
export const REFUSED_NAMES: Readonly<Record<string, NameRecord>> = {
  'metadata.test': { addresses: ['169.254.169.254'] },
  'two-faced.test': { addresses: ['127.0.0.1', '169.254.169.254'] },
  'mapped.test': { addresses: ['::ffff:a9fe:a9fe'] },
  'local.test': { addresses: ['fe80::1'] },
};
