// Names listed in the machine's own table, /etc/hosts, which is consulted before any name server.
import { isIP } from 'node:net';
import { orderAddresses } from './address-order.js';
import { limits } from '../shared/limits.js';

/** Lower-case names, each with its addresses in the order in which they are tried. */
export type HostsTable = ReadonlyMap<string, readonly string[]>;

export function parseHostsFile(text: string): HostsTable {
  const table = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    // Addresses with a zone (fe80::1%eth0) are link-local, which the gateway never connects to.
    if (isIP(address) === 0 || address.includes('%')) continue;
    for (const name of names) {
      const key = name.toLowerCase();
      const addresses = table.get(key);
      if (addresses === undefined) table.set(key, [address]);
      else if (addresses.length < limits.addressesPerNameMax && !addresses.includes(address)) addresses.push(address);
    }
  }
  return new Map(Array.from(table, ([name, addresses]) => [name, orderAddresses(addresses)]));
}
