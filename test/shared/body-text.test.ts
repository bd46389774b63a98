import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { readBodyText } from '../../src/shared/body-text.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** Nothing keeps the request or its signal for the caller, as in the code that asks. */
async function read(url: string, withinMs: number, bytesMax?: number): Promise<string> {
  const signal = AbortSignal.timeout(withinMs);
  return readBodyText(await fetch(url, { signal }), signal, bytesMax);
}

t.test('a body that never ends is given up at its deadline, whatever garbage was collected', async (t) => {
  const url = await serve((_request, response) => void response.writeHead(200).write('{"keys":'));
  const timer = setInterval(collectGarbage, 10);
  t.teardown(() => clearInterval(timer));
  await t.rejects(read(url, 300), { name: 'TimeoutError' });
});

t.test('a whole body is decoded, also characters that arrive in halves', async (t) => {
  const bytes = Buffer.from('“é”');
  const url = await serve((_request, response) => {
    response.write(bytes.subarray(0, 2));
    setImmediate(() => response.end(bytes.subarray(2)));
  });
  t.equal(await read(url, 60_000), '“é”');
});

t.test('a body of more bytes than allowed is not read further', async (t) => {
  const url = await serve((_request, response) => void response.write('x'.repeat(11)));
  await t.rejects(read(url, 60_000, 10), { message: 'it has more than 10 bytes' });
});

t.test('a body of just as many bytes as allowed is read', async (t) => {
  const url = await serve((_request, response) => void response.end('x'.repeat(10)));
  t.equal(await read(url, 60_000, 10), 'x'.repeat(10));
});

t.test('what has come of a body that is given up is not taken for the whole', async (t) => {
  const deadline = new AbortController();
  const reading = readBodyText(new Response(new ReadableStream({ start: begin })), deadline.signal);
  deadline.abort(new Error('too late'));
  await t.rejects(reading, { message: 'too late' });
});

t.test('the connection of a body that is not read further is given back', async (t) => {
  let isGivenBack = false;
  const stream = new ReadableStream({ start: begin, cancel: () => void (isGivenBack = true) });
  await t.rejects(readBodyText(new Response(stream), new AbortController().signal, 1));
  t.ok(isGivenBack);
});

function begin(body: ReadableStreamDefaultController<Uint8Array>): void {
  body.enqueue(Buffer.from('{}'));
}

t.test('an answer without a body is empty', async (t) => {
  const url = await serve((_request, response) => void response.writeHead(204).end());
  t.equal(await read(url, 60_000), '');
});
