// The order in which the addresses of a name are tried: IPv6 and IPv4 alternating, IPv6 first (RFC 8305, 4). Within a family each process
// has its own fixed order: sessions stay with the address they were opened at for as long as the name has it, while several processes
// spread over several addresses.
import { createHash, randomBytes } from 'node:crypto';
import { isIPv6 } from 'node:net';

const ownSeed = randomBytes(16);

/** @param seed decides the order within an address family */
export function orderAddresses(addresses: readonly string[], seed: Buffer = ownSeed): readonly string[] {
  const rank = new Map(addresses.map((address) => [address, rankOf(address, seed)]));
  const ranked = [...rank.keys()].sort((one, other) => (rank.get(one) ?? 0) - (rank.get(other) ?? 0));
  const six = ranked.filter((address) => isIPv6(address));
  const four = ranked.filter((address) => !isIPv6(address));
  return Array.from({ length: Math.max(six.length, four.length) }, (_, index) => [six[index], four[index]])
    .flat()
    .filter((address) => address !== undefined);
}

function rankOf(address: string, seed: Buffer): number {
  return createHash('sha256').update(seed).update(address).digest().readUInt32BE(0);
}
