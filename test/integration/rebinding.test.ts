// DNS rebinding: names that resolve to a backend and then to an address that the gateway must never connect to; to both at once; or with
// one address family late. Whatever happens between look-up and connection, no refused address of a backend or authorization server is
// connected to, and other callers do not notice. 0.0.0.0, which leads to this machine, stands for a refused address: a trap listens there.
import { writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import type { Scope } from '../attack/scope.js';
import { checkBeside, startScene } from '../support/beside.js';
import { backendFor } from '../support/deployment.js';
import { inParallel } from '../support/in-parallel.js';
import { startNameServer, type NameRecord } from '../support/name-server.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

/** The backend's address; the trap's; and refused addresses, some of which lead to the trap. */
const GOOD = '127.0.0.5';
const TRAP = '127.0.0.1';
const REFUSED = ['0.0.0.0', '169.254.169.254'];
const REFUSED_SIX = ['::', '::ffff:0.0.0.0', '::ffff:169.254.169.254', 'fe80::1'];
const LANES = 2;

/** Each look-up gets the next record of its name. */
const turns: Readonly<Record<string, readonly NameRecord[]>> = {
  'back-and-forth.test': [
    { addresses: [GOOD], ttl: 0 },
    ...REFUSED.map((address) => ({ addresses: [address], ttl: 0 })),
  ],
  'both.test': REFUSED.map((address) => ({ addresses: [GOOD, address], ttl: 0 })),
  'sixes.test': [{ addresses: [GOOD], ttl: 0 }, ...REFUSED_SIX.map((address) => ({ addresses: [address], ttl: 0 }))],
  'both-kinds.test': REFUSED_SIX.map((address) => ({ addresses: [GOOD, address], ttl: 0 })),
  'late.test': [
    { addresses: [GOOD], ttl: 0, silentAbout: 'AAAA' },
    { addresses: REFUSED, ttl: 0, afterMs: 400 },
    { addresses: [GOOD], ttl: 0, afterMs: 400 },
  ],
  'gone.test': [{ addresses: [GOOD], ttl: 0 }, 'server-failure', { addresses: REFUSED, ttl: 0 }, 'garbage', 'silent'],
};

const nameServer = await startNameServer();
t.teardown(() => nameServer.close());
/** By name, how often it was asked for. */
const askedCounts = new Map<string, number>();
for (const [name, records] of Object.entries(turns)) {
  const get = (): NameRecord | undefined => {
    const count = askedCounts.get(name) ?? 0;
    askedCounts.set(name, count + 1);
    // Each look-up asks for both address families, hence the division by two.
    return records[Math.floor(count / 2) % records.length];
  };
  Object.defineProperty(nameServer.records, name, { get });
}
const secrets = createScratchDirectory(t);
writeFileSync(join(secrets, 'client'), 'secret');
const options = ['--name-servers', nameServer.address, '--secrets-directory', secrets, '--initialize-timeout', '4s'];
const scene = await startScene(t, options);

interface Place {
  readonly port: number;
  trapped: number;
  reached: number;
}

/** One port: on one address it forwards to the backend, on the others it is a trap. */
async function startPlace(scope: Scope, backendPort: number): Promise<Place> {
  const place: Place = { port: 0, trapped: 0, reached: 0 };
  const trap = createServer((socket) => {
    place.trapped += 1;
    socket.destroy();
  });
  const trapSix = createServer((socket) => {
    place.trapped += 1;
    socket.destroy();
  });
  const way = createServer((near) => {
    place.reached += 1;
    const far = connect(backendPort, '127.0.0.1');
    near.on('error', () => far.destroy()).on('close', () => far.destroy());
    far.on('error', () => near.destroy()).on('close', () => near.destroy());
    near.pipe(far).pipe(near);
  });
  trap.listen(0, TRAP);
  await once(trap, 'listening');
  const { port } = trap.address() as AddressInfo;
  way.listen(port, GOOD);
  trapSix.listen({ port, host: '::1', ipv6Only: true });
  // Some machines have no IPv6.
  trapSix.on('error', () => undefined);
  await once(way, 'listening');
  for (const server of [trap, trapSix, way]) scope.teardown(() => server.close());
  return Object.assign(place, { port });
}

t.test('names that change between the look-up and the connection', async (t) => {
  await checkBeside(t, scene, async (scope) => {
    const backend = await backendFor(scope, {
      onRequest: (request) => {
        if (request.path !== '/token') return false;
        const issued = { access_token: 'at', token_type: 'Bearer', expires_in: 0.001 };
        request.json(issued, { headers: { connection: 'close' } });
        return true;
      },
    });
    const place = await startPlace(scope, Number(new URL(backend.url).port));
    const auth = (name: string): object => ({
      type: 'oauth2-client-credentials',
      client_id: name,
      client_secret: { file: 'client' },
      token_endpoint: `http://${name}:${place.port}/token`,
    });
    const caller = await scene.deployment.caller(
      Object.fromEntries(
        Object.keys(turns).flatMap((name, n) => [
          [`b${n}`, { url: `http://${name}:${place.port}/mcp` }],
          [`a${n}`, { url: backend.url, auth: auth(name) }],
        ]),
      ),
    );
    let isRefused = false;
    // Until each name has meant all that it is to mean, and then the first once more.
    askedCounts.clear();
    const isOver = (): boolean =>
      isRefused && Object.entries(turns).every(([name, { length }]) => (askedCounts.get(name) ?? 0) > 2 * length);
    await inParallel([...Array(LANES).keys()], LANES, async () => {
      while (!isOver()) {
        const session = await caller.openSession();
        isRefused ||= session.opening.text.includes('link-local and cloud metadata addresses are refused');
        for (const n of Object.keys(turns).keys()) await session.call(`b${n}-echo`);
        // Forces new connections.
        backend.raw.closeConnections();
        await session.delete();
      }
    });
    t.equal(place.trapped, 0, 'nothing refused was connected to');
    t.ok(place.reached > 0, 'the backend was');
    t.ok(isRefused, 'and the caller was told why not');
  });
});
