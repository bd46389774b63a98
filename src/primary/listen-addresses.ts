// Makes sure, before any worker is forked, that the listen addresses are free. Workers share their port by
// SO_REUSEPORT, so a second gateway on it would silently take half of the first one's connections; an exclusive bind
// fails instead. Cold.
import { createServer, type AddressInfo, type Server } from 'node:net';
import type { DataplaneOptions, ListenAddress } from '../config/dataplane-options.js';
import { listenFault } from '../process/listen-fault.js';

/**
 * Binds each address once, and lets go of it again. Answers the options with real ports: port 0 is chosen here, since
 * all workers need the same one.
 * @throws {StartFault} that names the address and what to do.
 */
export async function claimAddresses(options: DataplaneOptions): Promise<DataplaneOptions> {
  const bound: Server[] = [];
  try {
    // Both are held until both are bound, so that they cannot be the same.
    const address = await claim(options.address, '--address', bound);
    if (options.tls === undefined) return { ...options, address };
    const tlsAddress = await claim(options.tls.address, '--tls-address', bound);
    return { ...options, address, tls: { ...options.tls, address: tlsAddress } };
  } finally {
    await Promise.all(bound.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}

async function claim(address: ListenAddress, optionName: string, bound: Server[]): Promise<ListenAddress> {
  const server = createServer();
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host: address.host, port: address.port, exclusive: true }, resolve);
    });
  } catch (error) {
    throw listenFault(address, optionName, error);
  }
  bound.push(server);
  return { host: address.host, port: (server.address() as AddressInfo).port };
}
