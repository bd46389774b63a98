// Responses as event streams, however their bytes are split.
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import t from 'tap';
import { StreamedAnswers } from '../../bench/streamed-answers.js';

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';

/** What the reader makes of these pieces, each of them sent as a separate packet. */
async function read(pieces: readonly string[]): Promise<string[]> {
  const server = createServer({ noDelay: true }, (socket) => {
    void (async () => {
      for (const piece of pieces) {
        await new Promise<void>((resolve) => void socket.write(piece, () => resolve()));
        await new Promise(setImmediate);
      }
      socket.end();
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const seen: string[] = [];
  new StreamedAnswers(socket, {
    onData: (data) => seen.push(data),
    onEnd: (status, body) => seen.push(`${status} ${body}`),
  });
  socket.on('error', (error) => seen.push(error.message));
  await new Promise((resolve) => void socket.once('close', resolve));
  server.close();
  return seen;
}

t.test('events are read whole, in single bytes, and two in a row', async (t) => {
  const answer = `${HEAD}9\r\ndata: a\n\n\r\n12\r\nid: 1\ndata: b\n: c\n\n\r\n0\r\n\r\n`;
  const expected = ['a', 'b', '200 '];
  t.same(await read([answer]), expected);
  t.same(await read([...answer]), expected);
  t.same(await read([answer + answer]), [...expected, ...expected]);
});

t.test("a chunk's line end may come with the next chunk", async (t) => {
  t.same(await read([`${HEAD}9\r\ndata: a\n\n`, '\r\n9\r\ndata: b\n\n', '\r\n0\r\n\r\n']), ['a', 'b', '200 ']);
});

t.test('an event is reported as soon as its line is complete', async (t) => {
  t.same(await read([`${HEAD}8\r\ndata: a\n`, '\r\n3\r\nda']), ['a']);
});

t.test('answers with a content-length, and with an unknown length, are read', async (t) => {
  t.same(await read(['HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n', HEAD, '0\r\n\r\n']), ['202 ', '200 ']);
  t.same(await read(['HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nno', 'ne']), ['404 none']);
  t.same(await read(['HTTP/1.1 200 OK\r\n\r\nabc']), ['an answer of unknown length']);
});
