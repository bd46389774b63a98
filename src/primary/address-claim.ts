// A listen address is claimed for the life of the primary. Its workers share their port by SO_REUSEPORT and come and go,
// so whether the port can be bound says nothing about whether a gateway has it: one may be about to start its first
// worker, or the next after its last. A claim is a socket in Linux's abstract namespace, named after the address: the
// kernel drops it with the process, and every network namespace has its own, as it has its own ports. Elsewhere there is
// no such namespace, and no claim. Cold.
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
   * Call it while the address is bound exclusively: then no two processes claim what overlaps at the same moment.
   * Rejects with EADDRINUSE when a gateway that runs has claimed the address, or one that overlaps with it.
   * @param address with an IP address for its host, and a real port.
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

/** Whether one address takes connections of the other: the same one, or either has all of the machine's. */
export function isOverlapping(one: ListenAddress, other: ListenAddress): boolean {
  if (one.port !== other.port) return false;
  if (one.host === other.host) return true;
  // A listener on :: takes IPv4 too.
  if (one.host === '::' || other.host === '::') return true;
  const isWildcard = one.host === '0.0.0.0' || other.host === '0.0.0.0';
  return isWildcard && !isIPv6(one.host) && !isIPv6(other.host);
}

/** All claims in this network namespace. Where they cannot be listed, an equal one still stands in the way. */
function readClaims(): ListenAddress[] {
  let sockets: string;
  try {
    sockets = readFileSync('/proc/net/unix', 'latin1');
  } catch {
    return [];
  }
  // The kernel writes NUL as @; some versions of Node.js fill the name up with them.
  const claims = sockets.matchAll(/ @switchyard-claim:(\d+):([0-9A-Fa-f.:%a-z]+)@*$/gm);
  return Array.from(claims, ([, port, host]) => ({ port: Number(port), host: host ?? '' }));
}

function inUse(): Error {
  return Object.assign(new Error('another gateway has claimed the address'), { code: 'EADDRINUSE' });
}
