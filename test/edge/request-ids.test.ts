import t from 'tap';
import { RequestIds } from '../../src/edge/request-head.js';

t.test('generated ids are never repeated, not in two workers either', async (t) => {
  const workers = [new RequestIds('make'), new RequestIds('make')];
  const made = workers.flatMap((ids) => Array.from({ length: 1_000 }, () => ids.of('given')));
  t.equal(new Set(made).size, made.length);
  for (const id of made) t.match(id, /^[0-9a-f]{12}-[0-9a-z]+$/);
});

t.test('a received id is used when ids are trusted and it is fit for headers and logs', async (t) => {
  const ids = new RequestIds('trust');
  for (const id of ['7f2c', 'Root=1-67891233-abcdef012345678912345678', 'a'.repeat(128)]) t.equal(ids.of(id), id);
  for (const id of ['', 'a b', 'a"b', 'a\r\nb', '\u{e9}', 'a'.repeat(129)]) t.not(ids.of(id), id);
});

t.test('where request ids are off there are none', async (t) => t.equal(new RequestIds('off').of('given'), ''));
