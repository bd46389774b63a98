import t from 'tap';
import {
  copied,
  joined,
  shortMemory,
  SHORT_MEMORY_BYTES_MAX,
  SHORT_MEMORY_BLOCK_BYTES,
} from '../../src/fair/short-memory.js';

const shortMemoryBytesMax = SHORT_MEMORY_BYTES_MAX;
const shortMemoryStretchBytes = SHORT_MEMORY_BLOCK_BYTES;

t.test('bodies that exist at the same time share a stretch, but no byte', async (t) => {
  const sizes = [1, 100, 4_095, 4_096, 4_097, 5_000, 8_191, shortMemoryBytesMax, shortMemoryBytesMax + 1, 100_000];
  const bodies = Array.from({ length: 200 }, (_, index) => shortMemory(sizes[index % sizes.length]!).fill(index));
  for (const [index, body] of bodies.entries()) {
    if (body.length !== sizes[index % sizes.length]) t.fail(`${body.length} bytes`);
    if (!body.every((byte) => byte === index % 256)) t.fail(`somebody else wrote into body ${index}`);
  }
  const middling = bodies.filter(({ length }) => length >= 4_096 && length <= shortMemoryBytesMax);
  const stretches = new Set(middling.map(({ buffer }) => buffer));
  const bytes = middling.reduce((sum, { length }) => sum + length, 0);
  t.ok(stretches.size <= (2 * bytes) / shortMemoryStretchBytes + 1, `${stretches.size} stretches`);
  t.ok([...stretches].every(({ byteLength }) => byteLength === shortMemoryStretchBytes));
});

t.test('a full stretch is followed by another', async (t) => {
  const first = shortMemory(shortMemoryBytesMax);
  const others = Array.from({ length: 4 }, () => shortMemory(shortMemoryBytesMax));
  t.ok(others.some(({ buffer }) => buffer !== first.buffer));
});

t.test('parts are joined; a single one is not copied', async (t) => {
  const [one, other] = [Buffer.from('one'), Buffer.alloc(5_000, 'o')];
  t.equal(joined([other]), other);
  t.ok(joined([one, other, one]).equals(Buffer.concat([one, other, one])));
  t.equal(joined([]).length, 0);
  const copy = copied(other);
  t.ok(copy.equals(other));
  other.fill('x');
  t.equal(copy.toString(), 'o'.repeat(5_000));
});
