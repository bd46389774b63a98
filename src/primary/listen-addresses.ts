// Checks, before any worker is forked, that the listen addresses are free, and claims them until the program ends. Workers share their
// port with SO_REUSEPORT, so a second gateway would silently take half of the first one's connections. An exclusive bind fails instead.
// Cold path.
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server, isIPv6 } from 'node:net';
import { once } from 'node:events';
import { type DataplaneOptions, type ListenAddress, PORT_MAX } from '../config/index.js';
import { listenFault } from '../process/index.js';

// A claim is a socket in Linux's abstract namespace, named after the address; the kernel drops it when the process ends. Claims are needed
// because workers come and go: that a port can be bound does not mean that no gateway uses it. Other systems have no claims.

const CLAIM_PREFIX = 'switchyard-claim:';

/**
 * Claims an address. The caller must have bound it exclusively, so that no two processes claim it at the same moment. Rejects with
 * EADDRINUSE when a running gateway has claimed an overlapping address.
 * @param address an IP address and a real port.
 * @returns the server to close, which releases the claim; `undefined` on platforms without claims (all but Linux).
 */
async function claimAddress(address: ListenAddress): Promise<Server | undefined> {
  if (process.platform !== 'linux') return undefined;
  if (readClaims().some((claimed) => isOverlapping(address, claimed)))
    throw Object.assign(new Error('another gateway has claimed the address'), { code: 'EADDRINUSE' });
  const holder = createServer((socket) => socket.destroy());
  holder.listen(`\0${CLAIM_PREFIX}${address.port}:${address.host}`);
  await once(holder, 'listening');
  return holder.unref();
}

/** Whether two addresses have the same port, and the same host or one that covers the other. */
export function isOverlapping(one: ListenAddress, other: ListenAddress): boolean {
  if (one.port !== other.port) return false;
  if (one.host === other.host) return true;
  // A listener on :: also accepts IPv4.
  if (one.host === '::' || other.host === '::') return true;
  const isWildcard = one.host === '0.0.0.0' || other.host === '0.0.0.0';
  return isWildcard && !isIPv6(one.host) && !isIPv6(other.host);
}

/** The claims in this network namespace. If they cannot be listed, listening on the claim's name still fails for an equal address. */
function readClaims(): ListenAddress[] {
  let sockets: string;
  try {
    sockets = readFileSync('/proc/net/unix', 'latin1');
  } catch {
    return [];
  }
  // The kernel prints NUL as @; some versions of Node.js append NULs.
  const claims = sockets.matchAll(/ @switchyard-claim:(\d+):([0-9A-Fa-f.:%a-z]+)@*$/gm);
  return Array.from(claims, ([, port, host]) => ({ port: Number(port), host: host ?? '' }));
}

export interface ClaimedAddresses {
  /** The options with real ports in place of 0: all workers need the same port. */
  readonly options: DataplaneOptions;
  readonly release: () => void;
}

interface BoundAddress {
  readonly server: Server;
  readonly claimHolder: Server | undefined;
}

/**
 * Binds each address once, claims it, and releases the port for the workers.
 * @throws {StartFault} for an operator.
 */
export async function claimAddresses(options: DataplaneOptions): Promise<ClaimedAddresses> {
  const bound: BoundAddress[] = [];
  const release = (): void => bound.forEach(({ claimHolder: holder }) => holder?.close());
  try {
    // The first address stays bound while the second is bound, so that they cannot be the same.
    const address = await bind(options.address, '--address', bound);
    const tls = options.tls && {
      ...options.tls,
      address: await bind(options.tls.address, '--tls-address', bound),
    };
    return { options: { ...options, address, tls }, release };
  } catch (error) {
    release();
    throw error;
  } finally {
    await Promise.all(bound.map(({ server }) => new Promise((resolve) => server.close(resolve))));
  }
}

/** How many ports are tried if the option says port 0: each may be in use, or claimed by a gateway that does not listen yet. */
const PORT_TRIES_MAX = 16;
/** The least number of ports to choose from. With fewer, the system chooses. */
const PORTS_TO_CHOOSE_FROM_MIN = 1_000;
const OUTGOING_PORTS_PATH = '/proc/sys/net/ipv4/ip_local_port_range';

/**
 * A random port, perhaps in use, outside the range for outgoing connections: one of these could take a port before the workers listen.
 * @returns 0, the system's choice, if too few ports are left or the range is unknown.
 */
export function choosePort(last = readLastOutgoingPort()): number {
  return PORT_MAX - last < PORTS_TO_CHOOSE_FROM_MIN ? 0 : randomInt(last + 1, PORT_MAX + 1);
}

function readLastOutgoingPort(): number {
  try {
    return Number(readFileSync(OUTGOING_PORTS_PATH, 'latin1').split(/\s+/)[1]);
  } catch {
    return PORT_MAX;
  }
}

async function bind(address: ListenAddress, optionName: string, bound: BoundAddress[]): Promise<ListenAddress> {
  for (let triesLeft = address.port === 0 ? PORT_TRIES_MAX : 1; ; triesLeft--) {
    try {
      return await bindOnce({ host: address.host, port: address.port || choosePort() }, bound);
    } catch (error) {
      if (triesLeft > 1 && (error as NodeJS.ErrnoException).code === 'EADDRINUSE') continue;
      throw listenFault(address, optionName, error);
    }
  }
}

async function bindOnce(address: ListenAddress, bound: BoundAddress[]): Promise<ListenAddress> {
  // Connections that arrive now must not keep the server from closing.
  const server = createServer((socket) => socket.destroy());
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host: address.host, port: address.port }, resolve);
    });
    // A host name was resolved to this IP address.
    const { address: host, port } = server.address() as AddressInfo;
    bound.push({ server, claimHolder: await claimAddress({ host, port }) });
    return { host: address.host, port };
  } catch (error) {
    server.close();
    throw error;
  }
}
