// Addresses that the gateway never connects to, whoever the caller is (SSRF): those that serve a cloud machine's own credentials, and
// others that are reachable only from that machine (specification 3, "URLs"). Checked at each connection, after name resolution, because a name
// may have changed its addresses since the last check. A name that the outbound proxy looks up is not checked: it sees the addresses alone. Loopback and private networks are allowed: backends live there.
import { BlockList, isIP } from 'node:net';

/** Addresses for `address-refused`. A `BlockList` also matches IPv4 addresses mapped into IPv6, `::ffff:0:0/96`. */
const refused = new BlockList();
// Unspecified addresses connect to this machine, even where loopback is not intended.
refused.addSubnet('0.0.0.0', 8, 'ipv4');
refused.addAddress('::', 'ipv6');
// Link-local, which includes the metadata service of nearly every cloud.
refused.addSubnet('169.254.0.0', 16, 'ipv4');
refused.addSubnet('fe80::', 10, 'ipv6');
// The IPv4 link-local range in the other IPv6 notations for an IPv4 address: compatible, translated (RFC 6052, RFC 8215), 6to4.
refused.addSubnet('::a9fe:0', 112, 'ipv6');
refused.addSubnet('64:ff9b::a9fe:0', 112, 'ipv6');
refused.addSubnet('64:ff9b:1::a9fe:0', 112, 'ipv6');
refused.addSubnet('2002:a9fe::', 32, 'ipv6');
// Amazon's services for its own virtual machines.
refused.addSubnet('fd00:ec2::', 32, 'ipv6');
// The IPv6 metadata services of Google, Oracle and Scaleway, and the IPv4 one of Oracle Cloud Classic.
refused.addAddress('fd20:ce::254', 'ipv6');
refused.addAddress('fd00:c1::a9fe:a9fe', 'ipv6');
refused.addAddress('fd00:42::42', 'ipv6');
refused.addAddress('192.0.0.192', 'ipv4');
// Alibaba's metadata service, and the address from which Azure manages its virtual machines.
refused.addAddress('100.100.100.200', 'ipv4');
refused.addAddress('168.63.129.16', 'ipv4');

/** `address-refused`: never connected to, for any caller. `address-not-allowed`: outside the allowed networks. */
type AddressObstacle = 'address-refused' | 'address-not-allowed';

/** The addresses that a process may connect to for its callers: all that are not refused or, if networks are given, those inside them. */
export class AddressGuard {
  readonly #allowed: BlockList | undefined;

  /** @param networks in CIDR notation, `10.0.0.0/8` or `2001:db8::/32`; all networks when absent. Throws for anything else. */
  constructor(networks?: readonly string[]) {
    if (networks === undefined) return;
    this.#allowed = new BlockList();
    for (const network of networks) {
      const [address = '', length] = network.split('/');
      const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
      this.#allowed.addSubnet(address, Number(length ?? (family === 'ipv6' ? 128 : 32)), family);
    }
  }

  /** @param address as `net` writes it, with or without a zone. @returns `undefined` if allowed, and for a host name. */
  obstacleOf(address: string): AddressObstacle | undefined {
    const bare = address.split('%', 1)[0] ?? '';
    const version = isIP(bare);
    if (version === 0) return undefined;
    const family = version === 6 ? 'ipv6' : 'ipv4';
    if (refused.check(bare, family)) return 'address-refused';
    return this.#allowed?.check(bare, family) === false ? 'address-not-allowed' : undefined;
  }

  /** Like `obstacleOf`, for the host of a URL in any notation for an address. */
  obstacleOfHost(host: string): AddressObstacle | undefined {
    return this.obstacleOf(addressIn(host));
  }
}

/** The host's address as `net` writes it; some other text when the host is not an address. */
function addressIn(host: string): string {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  if (isIP(bare) !== 0) return bare;
  // The URL parser turns 0xa9fea9fe, 0251.0376.0251.0376 and the like into dotted decimal.
  const url = `http://${bare}/`;
  return URL.canParse(url) ? new URL(url).hostname : '';
}

/** @param addresses of one name: a single forbidden one is treated as an attack, whatever the others are. */
export function firstObstacle(guard: AddressGuard, addresses: readonly string[]): AddressObstacle | undefined {
  for (const address of addresses) {
    const obstacle = guard.obstacleOf(address);
    if (obstacle !== undefined) return obstacle;
  }
  return undefined;
}
