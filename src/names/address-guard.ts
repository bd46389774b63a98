// Which addresses the gateway connects to for nobody: those from which a cloud machine's own credentials are read, and
// what else is only reached from that machine (decisions 3, "URLs"). Asked at each connection, after resolution: a name
// may mean something else by then. Loopback and private networks are where backends live, and are allowed.
import type { LookupAddress, LookupAllOptions } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** Also matches IPv4 addresses mapped into IPv6, `::ffff:0:0/96`. */
const refused = new BlockList();
// Unspecified: connects to this machine where loopback may not be meant.
refused.addSubnet('0.0.0.0', 8, 'ipv4');
refused.addAddress('::', 'ipv6');
// Link-local, with the metadata service of nearly every cloud in it.
refused.addSubnet('169.254.0.0', 16, 'ipv4');
refused.addSubnet('fe80::', 10, 'ipv6');
// The same in IPv6's other ways to write an IPv4 address: compatible, translated (RFC 6052, RFC 8215), 6to4.
refused.addSubnet('::a9fe:0', 112, 'ipv6');
refused.addSubnet('64:ff9b::a9fe:0', 112, 'ipv6');
refused.addSubnet('64:ff9b:1::a9fe:0', 112, 'ipv6');
refused.addSubnet('2002:a9fe::', 32, 'ipv6');
// Amazon's services for its own machines.
refused.addSubnet('fd00:ec2::', 32, 'ipv6');
// The metadata services of Google, Oracle and Scaleway in IPv6, and of Oracle's first cloud.
refused.addAddress('fd20:ce::254', 'ipv6');
refused.addAddress('fd00:c1::a9fe:a9fe', 'ipv6');
refused.addAddress('fd00:42::42', 'ipv6');
refused.addAddress('192.0.0.192', 'ipv4');
// Alibaba's metadata service, and what Azure's machines are managed from.
refused.addAddress('100.100.100.200', 'ipv4');
refused.addAddress('168.63.129.16', 'ipv4');

export class AddressRefusedError extends Error {
  override readonly name = 'AddressRefusedError';
  readonly code = 'ADDRESS_REFUSED';

  constructor() {
    super('link-local and cloud metadata addresses are refused');
  }
}

/** @param address as `net` writes it, with or without a zone; what is no address is not refused. */
export function isAddressRefused(address: string): boolean {
  const bare = address.split('%', 1)[0] ?? '';
  switch (isIP(bare)) {
    case 4:
      return refused.check(bare, 'ipv4');
    case 6:
      return refused.check(bare, 'ipv6');
    default:
      return false;
  }
}

/**
 * Whether a host is a refused address in any of the ways in which one may be written: `net` connects to these without
 * a look-up.
 * @param host of a URL, with brackets or without; a name is not refused.
 */
export function isHostRefused(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  if (isIP(bare) !== 0) return isAddressRefused(bare);
  // URLs turn 0xa9fea9fe, 0251.0376.0251.0376 and the like into dotted numbers.
  const url = `http://${bare}/`;
  return URL.canParse(url) && isAddressRefused(new URL(url).hostname);
}

type Resolve = (
  name: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/**
 * For the `lookup` option of Node's connections: fails when the name has any address that is refused.
 * @param resolve answers with every address of a name, as `dns.lookup` does.
 */
export function createGuardedLookup(resolve: Resolve): LookupFunction {
  return (name, options, callback) => {
    // Every address is asked for and looked at, also those that this connection has no use for.
    resolve(name, { ...options, all: true, family: 0 }, (error, all) => {
      if (error !== null) {
        callback(error, '', 0);
        return;
      }
      const family = familyOf(options.family);
      const usable = all.filter((address) => family === 0 || address.family === family);
      const [first] = usable;
      if (all.some(({ address }) => isAddressRefused(address))) callback(new AddressRefusedError(), '', 0);
      else if (first === undefined) callback(nameNotFound(name), '', 0);
      else if (options.all === true) callback(null, usable);
      else callback(null, first.address, first.family);
    });
  };
}

function familyOf(family: number | string | undefined): number {
  if (family === 'IPv4') return 4;
  return family === 'IPv6' ? 6 : Number(family ?? 0);
}

function nameNotFound(name: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${name} has no address of the wanted kind`), { code: 'ENOTFOUND' });
}
