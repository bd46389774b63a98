// Readiness of a gateway: not ready before its Redis is up, ready once it is, and not ready again when Redis is lost for longer
// than the grace. Shown on the admin listener, and in the health check on the public address.
import { writeFileSync, readFileSync } from 'node:fs';
import t from 'tap';
import { startGateway, verifyWith } from '../support/gateway.js';
import { createKeyPair } from '../support/keys.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { send } from '../support/raw-http.js';
import { startRedis } from '../support/redis.js';
import { until } from '../support/until.js';

const GRACE_MS = 4_000;

t.test(
  'the gateway is not ready without Redis, ready with it, and stays ready for the grace once it is lost',
  async (t) => {
    const redis = await startRedis(t);
    await redis.stop();
    const gateway = await startGateway(t, {
      workerCount: 2,
      storeOptions: redis.storeOptions,
      keyOptions: verifyWith(createKeyPair(t)),
      options: ['--admin-address', '127.0.0.1:0', '--redis-stale-grace', `${GRACE_MS}ms`],
    });
    const { address } = await gateway.waitForLog(({ msg }) => msg === 'admin listener');
    const admin = `http://${String(address)}`;
    const statusOf = async (origin: string, path: string): Promise<number> =>
      (await send(origin, { method: 'GET', path, headers: [] })).status;
    const readiness = async (): Promise<readonly number[]> =>
      Promise.all([statusOf(admin, '/ready'), statusOf(gateway.origin, '/gw-rs/health')]);

    await gateway.waitForLog(({ msg }) => msg === 'not ready');
    t.same(await readiness(), [503, 503]);
    const page = await send(admin, { method: 'GET', path: '/ready', headers: [] });
    t.match(page.json(), { obstacles: [{ code: 'store-unreachable', message: /Redis is not reachable/ }] });
    t.equal(await statusOf(admin, '/live'), 200, 'it lives all the same');

    await redis.start();
    await gateway.waitForLog(({ msg }) => msg === 'ready');
    await until(async () => (await readiness()).join() === '200,200', 'the gateway to be ready');

    const killedAtMs = performance.now();
    await redis.kill();
    await gateway.waitForLog(({ reason, staleGraceMs }) => reason !== undefined && staleGraceMs === GRACE_MS);
    const meanwhile = await readiness();
    if (performance.now() - killedAtMs < GRACE_MS) t.same(meanwhile, [200, 200], 'the grace runs');
    await until(async () => (await readiness()).join() === '503,503', 'the grace to be over');
  },
);

t.test(
  'a changed key file that cannot be used makes the gateway degraded, also in its metrics, until it can',
  async (t) => {
    const key = createKeyPair(t);
    const good = readFileSync(key.publicKeyPath);
    const gateway = await startGateway(t, {
      workerCount: 2,
      storeOptions: { kind: 'embedded', path: createScratchDirectory(t) },
      keyOptions: verifyWith(key),
      options: ['--admin-address', '127.0.0.1:0'],
    });
    const { address } = await gateway.waitForLog(({ msg }) => msg === 'admin listener');
    const get = async (path: string): Promise<string> =>
      (await send(`http://${String(address)}`, { method: 'GET', path, headers: [] })).text;
    const degraded = async (): Promise<string> =>
      JSON.stringify((JSON.parse(await get('/ready')) as { readonly degraded: unknown }).degraded);
    const DEGRADED = 'switchyard_degraded{code="keys-unreachable"} 1';
    t.equal(await degraded(), '[]');

    writeFileSync(key.publicKeyPath, 'of wax');
    await until(async () => (await degraded()).includes('"slots":[0,1]'), 'both workers to tell');
    const ready = JSON.parse(await get('/ready')) as object;
    t.match(ready, {
      status: 'ready',
      degraded: [{ code: 'keys-unreachable', message: /previous keys stay in use: --token/ }],
    });
    t.match(await get('/metrics'), DEGRADED);

    writeFileSync(key.publicKeyPath, good);
    await until(async () => (await degraded()) === '[]', 'the file to be good again');
    t.notMatch(await get('/metrics'), 'switchyard_degraded{');
  },
);
