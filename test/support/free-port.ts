// A port for a process that must keep it over restarts. Somebody else may listen there in between: whoever starts there tries
// again. An outgoing connection, which might hold it for as long as it lasts, is not given it.
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
