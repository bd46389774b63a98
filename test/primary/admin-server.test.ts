// The admin listener by itself, and in the primary with workers that only report their state.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { tokenOptions } from '../auth/token-options.js';
import t, { type Test } from 'tap';
import { AdminServer, createAdminServer, jsonPage, type AdminOptions } from '../../src/primary/admin-server.js';
import { send } from '../support/raw-http.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { startPrimary, stubOptions, until, type Primary } from './stub-fleet.js';

const anyPort = { host: '127.0.0.1', port: 0 };

const options: AdminOptions = {
  pages: {
    '/live': () => jsonPage(200, { accepted: true }),
    '/broken': () => Promise.reject(new Error('out of order')),
  },
  allowedHosts: [],
  onFault: () => {},
};

async function startServer(t: Test): Promise<string> {
  const server = await AdminServer.listen(anyPort, options);
  t.teardown(() => server.close());
  return `http://127.0.0.1:${server.address.port}`;
}

t.test('pages are answered by their path, GET and HEAD alone', async (t) => {
  const origin = await startServer(t);
  const page = await send(origin, { method: 'GET', path: '/live?verbose', headers: [] });
  t.match([page.status, page.text], [200, '{"accepted":true}\n']);
  t.match(await send(origin, { method: 'HEAD', path: '/live', headers: [] }), { status: 200, text: '' });
  t.match(await send(origin, { method: 'POST', path: '/live', headers: [] }), { status: 405 });
  for (const path of ['/', '/toString', '/gw-rs/health', '/live/']) {
    t.match(await send(origin, { method: 'GET', path, headers: [] }), { status: 404, text: /\/live/ }, path);
  }
  t.match(await send(origin, { method: 'GET', path: '/broken', headers: [] }), { status: 500, text: /out of order/ });
});

t.test('a web page of another origin, or behind a rebound name, reads nothing', async (t) => {
  const origin = await startServer(t);
  const statusWith = async (host: string, from?: string): Promise<number> => {
    const headers = [['host', host] as const, ...(from === undefined ? [] : [['origin', from] as const])];
    return (await send(origin, { method: 'GET', path: '/live', headers })).status;
  };
  t.equal(await statusWith('localhost:8002'), 200);
  t.equal(await statusWith('evil.example:8002'), 403);
  t.equal(await statusWith('localhost:8002', 'https://evil.example'), 403);
});

t.test('beyond loopback, addresses and configured names are admitted', async (t) => {
  const everywhere = { host: '0.0.0.0', port: 0 };
  const server = await AdminServer.listen(everywhere, { ...options, allowedHosts: ['gateway.example'] });
  t.teardown(() => server.close());
  const origin = `http://127.0.0.1:${server.address.port}`;
  for (const [host, status] of [
    ['127.0.0.1:8002', 200],
    ['[2001:db8::1]:8002', 200],
    ['localhost', 200],
    ['Gateway.example:8002', 200],
    ['evil.example:8002', 403],
    ['127.0.0.1.evil.example', 403],
  ] as const) {
    t.match(await send(origin, { method: 'GET', path: '/live', headers: [['host', host]] }), { status }, host);
  }
});

t.test('a fault of an incoming connection is reported, and ends nothing', async (t) => {
  const faults: Error[] = [];
  const server = createAdminServer('127.0.0.1', { ...options, onFault: (error) => faults.push(error) });
  server.listen({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  t.teardown(() => server.close());
  server.emit('error', new Error('accept EMFILE'));
  t.match(faults, [{ message: 'accept EMFILE' }]);
});

t.test('a connection that sends nothing, or never a whole request, gives its place to others', async (t) => {
  const server = await AdminServer.listen(anyPort, { ...options, requestMsMax: 100 });
  t.teardown(() => server.close());
  for (const part of ['', 'GET /live HTTP/1.1\r\nhost: localhost\r\nx: ']) {
    const socket = connect(server.address.port, server.address.host).resume();
    socket.write(part);
    const drip = setInterval(() => part !== '' && socket.write('x'), 20);
    await new Promise<void>((resolve) => socket.on('error', () => undefined).once('close', () => resolve()));
    clearInterval(drip);
    t.pass(part === '' ? 'nothing' : 'drop by drop');
  }
});

t.test('an address in use is a start error that names it and the option', async (t) => {
  const origin = new URL(await startServer(t));
  const address = { host: '127.0.0.1', port: Number(origin.port) };
  await t.rejects(AdminServer.listen(address, options), {
    name: 'StartFault',
    message: `cannot listen on ${origin.host}: it is in use; stop the program that listens there (\`ss -ltnp\` shows it), or choose another address with --admin-address`,
  });
  const primary = startPrimary(t, stubOptions({ adminAddress: address }));
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
  t.match(await ready(origin), [200, { status: 'ready', obstacles: [] }]);

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
