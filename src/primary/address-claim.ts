// Claims a listen address for the life of the primary. Workers share their port with SO_REUSEPORT and come and go, so whether the
// port can be bound does not tell whether a gateway has it: one may be about to start its first worker, or the next after its last.
// A claim is a socket in Linux's abstract namespace, named after the address: the kernel drops it with the process, and each
// network namespace has its own claims, as it has its own ports. Other systems have no such namespace, and no claims. Cold path.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, isIPv6, type Server } from 'node:net';
import type { ListenAddress } from '../config/dataplane-options.js';

const PREFIX = 'switchyard-claim:';

export class AddressClaim {
  readonly #holder: Server | undefined;

  private constructor(holder: Server | undefined) {
    this.#holder = holder;
  }

  /**
   * Call while the address is bound exclusively: then no two processes claim overlapping addresses at the same moment. Rejects
   * with EADDRINUSE when a running gateway has claimed the address, or one that overlaps with it.
   * @param address with an IP address as its host, and a real port.
   */
  static async take(address: ListenAddress): Promise<AddressClaim> {
    if (process.platform !== 'linux') return new AddressClaim(undefined);
    if (readClaims().some((claimed) => isOverlapping(address, claimed))) throw inUse();
    const holder = createServer((socket) => socket.destroy());
    holder.listen(`\0${PREFIX}${address.port}:${address.host}`);
    await once(holder, 'listening');
    holder.unref();
    return new AddressClaim(holder);
  }

  release(): void {
    this.#holder?.close();
  }
}

/** Whether the two addresses overlap: they are the same, or one of them covers all addresses of the machine. */
export function isOverlapping(one: ListenAddress, other: ListenAddress): boolean {
  if (one.port !== other.port) return false;
  if (one.host === other.host) return true;
  // A listener on :: also accepts IPv4.
  if (one.host === '::' || other.host === '::') return true;
  const isWildcard = one.host === '0.0.0.0' || other.host === '0.0.0.0';
  return isWildcard && !isIPv6(one.host) && !isIPv6(other.host);
}

/** All claims in this network namespace. If they cannot be listed, listening on the claim's name still fails for an equal address. */
function readClaims(): ListenAddress[] {
  let sockets: string;
  try {
    sockets = readFileSync('/proc/net/unix', 'latin1');
  } catch {
    return [];
  }
  // The kernel prints NUL as @; some versions of Node.js pad the name with NULs.
  const claims = sockets.matchAll(/ @switchyard-claim:(\d+):([0-9A-Fa-f.:%a-z]+)@*$/gm);
  return Array.from(claims, ([, port, host]) => ({ port: Number(port), host: host ?? '' }));
}

function inUse(): Error {
  return Object.assign(new Error('another gateway has claimed the address'), { code: 'EADDRINUSE' });
}
