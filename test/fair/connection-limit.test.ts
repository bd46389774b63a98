import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { limitConnections } from '../../src/fair/connection-limit.js';
import { until } from '../support/until.js';

const CONNECTIONS_MAX = 3;

interface Room {
  /** Responses that are still to be sent, in the order of their requests. */
  readonly waiting: ServerResponse[];
  /** Opens a connection, and waits until the server knows it. */
  readonly open: () => Promise<Socket>;
}

async function openRoom(t: Test): Promise<Room> {
  const waiting: ServerResponse[] = [];
  const server = createServer((_request, response) => void waiting.push(response));
  limitConnections(server, CONNECTIONS_MAX);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const sockets: Socket[] = [];
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.closeAllConnections();
    server.close();
  });
  const open = async (): Promise<Socket> => {
    const accepted = once(server, 'connection');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    sockets.push(socket);
    socket.on('error', () => {});
    socket.resume();
    await accepted;
    return socket;
  };
  return { waiting, open };
}

function request(socket: Socket): void {
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
}

t.test('the longest-silent connection makes room, and no other', async (t) => {
  const { waiting, open } = await openRoom(t);
  const [first, second, third] = [await open(), await open(), await open()];
  request(first);
  await until(() => waiting.length === 1, 'the request of the first');
  const ended = once(second, 'close');
  const fourth = await open();
  await ended;
  t.same([first.destroyed, third.destroyed, fourth.destroyed], [false, false, false]);
  request(fourth);
  await until(() => waiting.length === 2, 'the newcomer to be served');
});

t.test('after its answer a connection is silent again, and the last to make room', async (t) => {
  const { waiting, open } = await openRoom(t);
  const [first, second, third] = [await open(), await open(), await open()];
  request(first);
  await until(() => waiting.length === 1, 'the request of the first');
  const answered = once(first, 'data');
  waiting[0]?.end('done');
  await answered;
  const endings = [once(second, 'close'), once(third, 'close')];
  await open();
  await open();
  await Promise.all(endings);
  t.equal(first.destroyed, false);
  const ending = once(first, 'close');
  await open();
  await ending;
});

t.test('while every connection has a request, a newcomer is closed', async (t) => {
  const { waiting, open } = await openRoom(t);
  for (let count = 1; count <= CONNECTIONS_MAX; count++) {
    request(await open());
    await until(() => waiting.length === count, 'the request');
  }
  await once(await open(), 'close');
  for (const response of waiting) response.end();
  request(await open());
  await until(() => waiting.length === CONNECTIONS_MAX + 1, 'a newcomer to be served again');
});

t.test('where none is silent, the oldest whose request has not come whole makes room', async (t) => {
  const { waiting, open } = await openRoom(t);
  const [whole, second, third] = [await open(), await open(), await open()];
  request(whole);
  for (const slow of [third, second]) slow.write('PUT / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nx');
  await until(() => waiting.length === 3, 'all three requests');
  const ended = once(second, 'close');
  const fourth = await open();
  await ended;
  request(fourth);
  await until(() => waiting.length === 4, 'the newcomer to be served');
  t.same([whole.destroyed, third.destroyed], [false, false]);
});

t.test('it is the last request of a connection that has come whole or not', async (t) => {
  const { waiting, open } = await openRoom(t);
  const [slow, ...others] = [await open(), await open(), await open()];
  request(slow);
  await until(() => waiting.length === 1, 'a first request, which is whole');
  const answered = once(slow, 'data');
  waiting[0]?.end('done');
  await answered;
  slow.write('PUT / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nx');
  for (const other of others) request(other);
  await until(() => waiting.length === 4, 'the next requests');
  const ended = once(slow, 'close');
  request(await open());
  await ended;
  await until(() => waiting.length === 5, 'the newcomer to be served');
  t.same(
    others.map(({ destroyed }) => destroyed),
    [false, false],
  );
});
