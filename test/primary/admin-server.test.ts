// The admin listener by itself; in the primary, it is in ready-page.test.ts.
import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import {
  ADMIN_BODY_CHARS_MAX,
  ADMIN_CONNECTIONS_MAX,
  openAdminServer,
  createAdminServer,
  jsonPage,
  type AdminOptions,
  type AdminPage,
} from '../../src/primary/admin-server.js';
import { limits } from '../../src/shared/limits.js';
import { send } from '../support/raw-http.js';
import { until } from '../support/until.js';

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
  const server = await openAdminServer(anyPort, options);
  t.teardown(() => server.close());
  return `http://127.0.0.1:${server.address.port}`;
}

t.test('pages are answered by their path, GET and HEAD alone', async (t) => {
  const origin = await startServer(t);
  const page = await send(origin, { method: 'GET', path: '/live?verbose', headers: [] });
  t.match([page.status, page.text], [200, '{"accepted":true}\n']);
  t.match(await send(origin, { method: 'HEAD', path: '/live', headers: [] }), { status: 200, text: '' });
  t.match(await send(origin, { method: 'POST', path: '/live', headers: [] }), { status: 405, text: /use GET/ });
  for (const path of ['/', '/toString', '/gw-rs/health', '/live/']) {
    t.match(await send(origin, { method: 'GET', path, headers: [] }), { status: 404, text: /\/live/ }, path);
  }
  t.match(await send(origin, { method: 'GET', path: '/broken', headers: [] }), {
    status: 500,
    text: '{"detail":"out of order"}\n',
  });
  const long = [['x', 'y'.repeat(limits.requestHeaderBytesMax)] as const];
  t.match(await send(origin, { method: 'GET', path: '/live', headers: long }), { status: 431 });
});

t.test(
  'what follows a path with a slash is a name, decoded; without one, or with one that cannot be, there is no page',
  async (t) => {
    const pages: AdminOptions['pages'] = {
      '/things/': (accept, query, name) => jsonPage(200, { name, ...Object.fromEntries(query), accept }),
    };
    const server = await openAdminServer(anyPort, { ...options, pages });
    t.teardown(() => server.close());
    const origin = `http://127.0.0.1:${server.address.port}`;
    const get = async (path: string, accept?: string) =>
      send(origin, { method: 'GET', path, headers: accept === undefined ? [] : [['accept', accept]] });
    t.match(await get('/things/r-1'), { status: 200, text: '{"name":"r-1","accept":""}\n' });
    t.match(await get('/things/a%2Fb%20c?x=1', 'a/b'), { text: '{"name":"a/b c","x":"1","accept":"a/b"}\n' });
    for (const path of ['/things/', '/things', '/things/%', '/things/%ff'])
      t.match(await get(path), { status: 404 }, path);
  },
);

t.test('changes are made with PUT alone, and by a body that is too long not at all', async (t) => {
  const bodies: string[] = [];
  const change = (body: string) => jsonPage(bodies.push(body) && 200, {});
  const server = await openAdminServer(anyPort, { ...options, changes: { '/level': change } });
  t.teardown(() => server.close());
  const origin = `http://127.0.0.1:${server.address.port}`;
  for (const method of ['GET', 'POST'])
    t.match(await send(origin, { method, path: '/level', headers: [] }), { status: 405, text: /PUT/ }, method);
  t.match(await send(origin, { method: 'GET', path: '/levels', headers: [] }), {
    status: 404,
    text: /\/live.*\/level/,
  });
  for (const path of ['/toString', '/live'])
    t.match(await send(origin, { method: 'PUT', path, headers: [] }), { status: path === '/live' ? 405 : 404 }, path);
  for (const length of [3, ADMIN_BODY_CHARS_MAX, ADMIN_BODY_CHARS_MAX + 1])
    t.match(await send(origin, { method: 'PUT', path: '/level', headers: [], body: 'é'.repeat(length) }), {
      status: 200,
    });
  t.strictSame(
    bodies.map(({ length }) => length),
    [3, ADMIN_BODY_CHARS_MAX, 0],
  );
});

t.test('nothing keeps an answer, and no browser guesses what it is', async (t) => {
  const { headers } = await fetch(`${await startServer(t)}/live`);
  t.equal(headers.get('content-type'), 'application/json');
  t.equal(headers.get('cache-control'), 'no-store');
  t.equal(headers.get('x-content-type-options'), 'nosniff');
  t.equal(headers.get('content-length'), '18');
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
  const server = await openAdminServer(everywhere, {
    ...options,
    allowedHosts: ['gateway.example', 'port.example:81'],
  });
  t.teardown(() => server.close());
  const origin = `http://127.0.0.1:${server.address.port}`;
  for (const [host, status] of [
    ['127.0.0.1:8002', 200],
    ['[2001:db8::1]:8002', 200],
    ['localhost', 200],
    ['Gateway.example:8002', 200],
    ['Port.example:81', 200],
    ['', 200],
    ['port.example:82', 403],
    ['evil.example:8002', 403],
    ['127.0.0.1.evil.example', 403],
    ['1[::1]', 403],
    ['[::1]1', 403],
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
  const server = await openAdminServer(anyPort, { ...options, requestMsMax: 100 });
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

t.test('a caller that never reads its answer gives its place to others', async (t) => {
  const large = (): AdminPage => ({ status: 200, contentType: 'text/plain', body: 'x'.repeat(2 ** 24) });
  const server = createAdminServer('127.0.0.1', { ...options, pages: { '/large': large }, requestMsMax: 100 });
  server.listen(anyPort);
  await once(server, 'listening');
  t.teardown(() => server.close());
  const asked = once(server, 'request');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
  t.teardown(() => socket.destroy());
  socket.write('GET /large HTTP/1.1\r\nhost: localhost\r\n\r\n');
  await asked;
  const count = promisify(server.getConnections.bind(server));
  await until(async () => (await count()) === 0, 'its connection to be closed');
  t.pass('it is closed');
});

t.test('silent connections keep nobody out, and none keeps the listener from closing', async (t) => {
  const server = await openAdminServer(anyPort, options);
  const closed: Socket[] = [];
  const open = async (): Promise<Socket> => {
    const socket = connect(server.address.port, server.address.host).on('error', () => undefined);
    socket.once('close', () => closed.push(socket)).resume();
    await once(socket, 'connect');
    return socket;
  };
  const silent = [await open()];
  while (silent.length < ADMIN_CONNECTIONS_MAX) silent.push(await open());
  const { port } = server.address;
  t.match(await send(`http://127.0.0.1:${port}`, { method: 'GET', path: '/live', headers: [] }), { status: 200 });
  await until(() => closed.length > 0, 'the oldest to be closed');
  t.same([closed.length, closed[0] === silent[0]], [1, true]);
  silent.at(-1)?.write('GET /live HTTP/1.1\r\n');
  await server.close();
  await until(() => closed.length === silent.length, 'all to be closed');
});

t.test('an address in use is a start error that names it and the option', async (t) => {
  const origin = new URL(await startServer(t));
  const address = { host: '127.0.0.1', port: Number(origin.port) };
  await t.rejects(openAdminServer(address, { ...options, onFault: () => t.fail('it was never open') }), {
    name: 'StartFault',
    message: `cannot listen on ${origin.host}: it is in use; stop the program that listens there (\`ss -ltnp\` shows it), or choose another address with --admin-address`,
  });
});
