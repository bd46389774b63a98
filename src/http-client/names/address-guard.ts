// Addresses that the gateway never connects to (SSRF): they serve the credentials of the cloud machine on which it runs, or only this
// machine reaches them (specification 3, "URLs"). Checked at each connection, after name resolution, since a name may change its
// addresses. Names behind the outbound proxy are not checked. Loopback and private networks are allowed: backends live there.
import { BlockList, isIP } from 'node:net';

/** A `BlockList` also matches IPv4 addresses mapped into IPv6, `::ffff:0:0/96`. */
const refusedAddresses = new BlockList();
// Unspecified addresses lead to this machine.
refusedAddresses.addSubnet('0.0.0.0', 8, 'ipv4');
refusedAddresses.addAddress('::', 'ipv6');
// Link-local, which includes the metadata service of nearly every cloud.
refusedAddresses.addSubnet('169.254.0.0', 16, 'ipv4');
refusedAddresses.addSubnet('fe80::', 10, 'ipv6');
// IPv4 link-local in other IPv6 notations: compatible, translated (RFC 6052, RFC 8215), 6to4.
refusedAddresses.addSubnet('::a9fe:0', 112, 'ipv6');
refusedAddresses.addSubnet('64:ff9b::a9fe:0', 112, 'ipv6');
refusedAddresses.addSubnet('64:ff9b:1::a9fe:0', 112, 'ipv6');
refusedAddresses.addSubnet('2002:a9fe::', 32, 'ipv6');
refusedAddresses.addSubnet('fd00:ec2::', 32, 'ipv6');
// Metadata services: IPv6 of Google, Oracle and Scaleway, IPv4 of Oracle Cloud Classic.
refusedAddresses.addAddress('fd20:ce::254', 'ipv6');
refusedAddresses.addAddress('fd00:c1::a9fe:a9fe', 'ipv6');
refusedAddresses.addAddress('fd00:42::42', 'ipv6');
refusedAddresses.addAddress('192.0.0.192', 'ipv4');
// Alibaba's metadata service, and the address from which Azure manages its virtual machines.
refusedAddresses.addAddress('100.100.100.200', 'ipv4');
refusedAddresses.addAddress('168.63.129.16', 'ipv4');

/** Why an address is refused. `address-refused`: for every caller. `address-not-allowed`: it is outside the allowed networks. */
type AddressObstacle = 'address-refused' | 'address-not-allowed';

/** Allows addresses that are not refused and, if networks are given, are inside one. */
export class AddressGuard {
  readonly #allowed: BlockList | undefined;

  /** @param networks those allowed, in CIDR notation; all when absent. Throws for any other notation. */
  constructor(networks?: readonly string[]) {
    if (networks === undefined) return;
    this.#allowed = new BlockList();
    for (const network of networks) {
      const [address = '', length] = network.split('/');
      const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
      this.#allowed.addSubnet(address, Number(length ?? (family === 'ipv6' ? 128 : 32)), family);
    }
  }

  /** Why an address is refused; `undefined` if it is not, or for a name. @param address as `net` writes it, with or without a zone. */
  obstacleOf(address: string): AddressObstacle | undefined {
    const bare = address.split('%', 1)[0] ?? '';
    const version = isIP(bare);
    if (version === 0) return undefined;
    const family = version === 6 ? 'ipv6' : 'ipv4';
    if (refusedAddresses.check(bare, family)) return 'address-refused';
    return this.#allowed?.check(bare, family) === false ? 'address-not-allowed' : undefined;
  }

  obstacleOfHost(host: string): AddressObstacle | undefined {
    return this.obstacleOf(addressIn(host));
  }
}

/** The address in the form in which `net` writes it; for a host's name, some other text. */
function addressIn(host: string): string {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  if (isIP(bare) !== 0) return bare;
  // The URL parser normalizes 0xa9fea9fe, 0251.0376.0251.0376 and the like.
  const url = `http://${bare}/`;
  return URL.canParse(url) ? new URL(url).hostname : '';
}

/** The obstacle of a name with these addresses: a single forbidden one is enough, because it counts as an attack. */
export function firstObstacle(guard: AddressGuard, addresses: readonly string[]): AddressObstacle | undefined {
  for (const address of addresses) {
    const obstacle = guard.obstacleOf(address);
    if (obstacle !== undefined) return obstacle;
  }
  return undefined;
}
