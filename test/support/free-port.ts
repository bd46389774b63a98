// A port for a process that must keep it over restarts. Another process may start to listen on it in between: then the start
// is retried. Ports that outgoing connections use, and might hold for their whole life, are not chosen.
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { choosePort } from '../../src/primary/listen-addresses.js';

export async function findFreePort(): Promise<number> {
  for (;;) {
    const probe = createServer().listen(choosePort(), '127.0.0.1');
    try {
      await once(probe, 'listening');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
      continue;
    }
    const { port } = probe.address() as AddressInfo;
    probe.close();
    await once(probe, 'close');
    return port;
  }
}
