// Which headers of a request go on to its backend, and in which form.
import t from 'tap';
import { selectHeaders } from '../../src/worker/pipeline.js';

const names = new Set(['x-api-key', 'x-name', 'authorization']);

t.test('only listed headers are passed on, each time that they come, in their order', async (t) => {
  const headers = ['host', 'a', 'x-name', 'one', 'x-api-key', 'k', 'x-other', 'o', 'x-name', 'two'];
  t.strictSame(selectHeaders(headers, names), ['x-name', 'one', 'x-api-key', 'k', 'x-name', 'two']);
  t.strictSame(selectHeaders(headers, new Set()), []);
  t.strictSame(selectHeaders(['x-other', 'x-name'], names), [], 'a value is no name');
});

t.test('what the request calls a matter of its connection is not passed on, wherever it says so', async (t) => {
  const headers = ['x-api-key', 'k', 'connection', 'close,  X-API-Key ', 'x-name', 'n', 'connection', 'authorization'];
  t.strictSame(selectHeaders([...headers, 'authorization', 'Bearer x'], names), ['x-name', 'n']);
  t.strictSame(selectHeaders(['x-name', 'connection', 'x-api-key', 'k'], names), [
    ...['x-name', 'connection', 'x-api-key', 'k'],
  ]);
});

t.test('a value goes out as the bytes that it came as; one whose bytes are lost is named', async (t) => {
  t.strictSame(selectHeaders(['x-name', 'ü€', 'x-api-key', ''], names), [
    ...['x-name', Buffer.from('ü€').toString('latin1'), 'x-api-key', ''],
  ]);
  t.equal(selectHeaders(['x-api-key', 'k', 'x-name', 'a\ufffdb'], names), 'x-name');
  t.strictSame(selectHeaders(['x-other', '\ufffd', 'x-api-key', 'k'], names), ['x-api-key', 'k'], 'if it is wanted');
});
