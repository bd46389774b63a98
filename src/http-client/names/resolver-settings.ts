// Reads /etc/hosts, and the settings of /etc/resolv.conf (resolv.conf(5)): name servers, search domains and `ndots`. Other options are left
// to c-ares or do not apply here.
import { isIP } from 'node:net';
import { orderAddresses, ADDRESSES_PER_NAME_MAX } from './name-query.js';

/**
 * The machine's own table, /etc/hosts, which is consulted before any name server. Lower-case names, each with its addresses in the order in
 * which they are tried.
 */
type HostsTable = ReadonlyMap<string, readonly string[]>;

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
      else if (addresses.length < ADDRESSES_PER_NAME_MAX && !addresses.includes(address)) addresses.push(address);
    }
  }
  return new Map(Array.from(table, ([name, addresses]) => [name, orderAddresses(addresses)]));
}

interface ResolverSettings {
  readonly nameServers: readonly string[];
  /** Domains appended to complete a short name, in order. */
  readonly searchDomains: readonly string[];
  /** A name with at least this many dots is first tried as it is written. */
  readonly dotsMin: number;
}

/** The same limits as the system's own resolver has. */
const NAME_SERVERS_MAX = 3;
const SEARCH_DOMAINS_MAX = 6;
const DOTS_MAX = 15;

export function parseResolverSettings(text: string): ResolverSettings {
  const nameServers: string[] = [];
  let searchDomains: readonly string[] = [];
  let dotsMin = 1;
  for (const line of text.split('\n')) {
    const [keyword, ...words] = line
      .replace(/[#;].*/, '')
      .trim()
      .split(/\s+/);
    if (keyword === 'nameserver' && words[0] !== undefined && isIP(words[0]) !== 0) nameServers.push(words[0]);
    // The last `domain` or `search` line wins.
    if (keyword === 'domain') searchDomains = words.slice(0, 1);
    if (keyword === 'search') searchDomains = words.slice(0, SEARCH_DOMAINS_MAX);
    if (keyword === 'options') {
      const dots = words.map((word) => /^ndots:(\d+)$/.exec(word)?.[1]).findLast((digits) => digits !== undefined);
      if (dots !== undefined) dotsMin = Math.min(Number(dots), DOTS_MAX);
    }
  }
  return {
    // Without any name server, the local machine's is used.
    nameServers: nameServers.length === 0 ? ['127.0.0.1'] : nameServers.slice(0, NAME_SERVERS_MAX),
    searchDomains: searchDomains.map((domain) => domain.replace(/^\.|\.$/g, '').toLowerCase()).filter(Boolean),
    dotsMin,
  };
}

/** The full names that a name may stand for, in the order in which they are tried. */
export function candidatesOf(name: string, { searchDomains, dotsMin }: ResolverSettings): readonly string[] {
  if (name.endsWith('.')) return [name.slice(0, -1)];
  const completed = searchDomains.map((domain) => `${name}.${domain}`);
  const dots = name.split('.').length - 1;
  return dots >= dotsMin ? [name, ...completed] : [...completed, name];
}
