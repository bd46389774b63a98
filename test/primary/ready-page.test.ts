// The admin listener in the primary, with workers that only report their state.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { tokenOptions } from '../auth/token-options.js';
import t from 'tap';
import { send } from '../support/raw-http.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { startPrimary, until, type Primary } from './stub-fleet.js';
import { stubOptions } from './stub-options.js';

const anyPort = { host: '127.0.0.1', port: 0 };

t.test('an admin address in use ends the start, before there is a worker', async (t) => {
  const holder = createServer().listen(anyPort);
  await once(holder, 'listening');
  t.teardown(() => holder.close());
  const adminAddress = { host: '127.0.0.1', port: (holder.address() as AddressInfo).port };
  const primary = startPrimary(t, stubOptions({ adminAddress }));
  t.equal(await primary.ended, 69);
  t.match(primary.fatal(), { msg: /--admin-address/ });
  t.same(primary.journal.entries('start'), [], 'and no worker was started');
});

async function adminOrigin(primary: Primary): Promise<string> {
  return `http://${String((await primary.logged('admin listener'))['address'])}`;
}

interface Ready {
  readonly status: string;
  readonly obstacles: readonly { readonly code: string; readonly slots?: readonly number[] }[];
  readonly workers: { readonly expected: number; readonly listening: number };
}

async function ready(origin: string): Promise<readonly [number, Ready]> {
  const { status, text } = await send(origin, { method: 'GET', path: '/ready', headers: [] });
  return [status, JSON.parse(text) as Ready];
}

t.test('/ready says what is missing: first workers, then the store, and finally nothing', async (t) => {
  const folder = createScratchDirectory(t);
  const [gate, storeGate] = [join(folder, 'gate'), join(folder, 'store-gate')];
  const stubs = [{ storeObstacle: 'no Redis', storeGate }, { gate }];
  const primary = startPrimary(t, stubOptions({ adminAddress: anyPort }), stubs);
  const origin = await adminOrigin(primary);
  t.match(await send(origin, { method: 'GET', path: '/live', headers: [] }), { status: 200 });
  await primary.journal.entry('listening', 0);
  await until('the first worker is known', () => primary.log.some(({ msg }) => msg === 'worker listening'));
  const [status, page] = await ready(origin);
  t.equal(status, 503);
  t.match(page, {
    status: 'not ready',
    obstacles: [
      { code: 'worker-absent', slots: [1] },
      { code: 'store-unreachable', message: 'no Redis', slots: [0] },
    ],
    workers: { expected: 2, listening: 1 },
  });
  writeFileSync(gate, '');
  writeFileSync(storeGate, '');
  await primary.journal.entry('listening', 1);
  const told = await primary.journal.entry('readiness', 0);
  t.same(told.message, { kind: 'readiness', isReady: false }, 'a worker learns that others are missing');
  await until(
    'both know that all is well',
    () =>
      [0, 1].every((slot) => primary.journal.entries('readiness', slot).at(-1)?.message?.kind === 'readiness') &&
      [0, 1].every((slot) =>
        JSON.stringify(primary.journal.entries('readiness', slot).at(-1)).includes('"isReady":true'),
      ),
  );
  t.same(await ready(origin), [
    200,
    { status: 'ready', obstacles: [], degraded: [], workers: { expected: 2, listening: 2 } },
  ]);

  const [first] = primary.journal.entries('listening', 0);
  process.kill(first?.pid ?? 0, 'SIGKILL');
  await primary.journal.entry('start', 0, 2);
  await primary.journal.entry('readiness', 0, 3);
  t.match(await ready(origin), [200, { status: 'ready' }]);
  t.match(
    primary.journal.entries('readiness', 1).at(-1)?.message,
    { isReady: true },
    'one that dies keeps the other ready',
  );
  primary.process.kill('SIGTERM');
  t.equal(await primary.ended, 0);
});

t.test('/ready reports a missing key, and workers are told to serve', async (t) => {
  const token = tokenOptions();
  const primary = startPrimary(t, stubOptions({ workerCount: 1, adminAddress: anyPort, token }));
  await primary.logged('listening');
  t.match(await ready(await adminOrigin(primary)), [503, { obstacles: [{ code: 'keys-missing' }] }]);
  t.match(await primary.journal.entry('readiness', 0), { message: { isReady: true } });
});
