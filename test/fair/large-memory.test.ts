import t from 'tap';
import { LargeMemory } from '../../src/fair/large-memory.js';

const MIB = 1024 * 1024;

t.test('returned memory is reused by bodies of about that size', async (t) => {
  const memory = new LargeMemory(8 * MIB);
  const first = memory.take(MIB + 7);
  t.ok(first.length >= MIB + 7 && first.length <= 1.25 * MIB);
  t.equal(first.byteOffset, 0);
  memory.giveBack(first.subarray(10, 20));
  t.equal(memory.take(MIB + 100_000).buffer, first.buffer);
  t.not(memory.take(MIB + 7).buffer, first.buffer, 'but not twice');
});

t.test('lent memory has room for a body of any size', async (t) => {
  const memory = new LargeMemory(0);
  for (const bytes of [1, 2, 3, 5, 65_535, 65_536, 65_537, 100_000, MIB - 1, MIB, MIB + 1, 3 * MIB + 1]) {
    const { length } = memory.take(bytes);
    t.ok(length >= bytes && length <= 1.25 * bytes + 1, `${length} for ${bytes}`);
  }
});

t.test('memory that was not lent is not kept, and none is returned twice', async (t) => {
  const memory = new LargeMemory(8 * MIB);
  const own = Buffer.allocUnsafeSlow(MIB);
  memory.giveBack(own);
  const lent = memory.take(MIB);
  t.not(lent.buffer, own.buffer);
  memory.giveBack(lent);
  memory.giveBack(lent);
  t.equal(memory.take(MIB).buffer, lent.buffer);
  t.not(memory.take(MIB).buffer, lent.buffer);
});

t.test('a size that no longer occurs makes room, and one body of a rare size takes none', async (t) => {
  const memory = new LargeMemory(8 * MIB);
  const lend = (count: number, bytes: number): Buffer[] => Array.from({ length: count }, () => memory.take(bytes));
  const giveBack = (lent: readonly Buffer[]): void => lent.forEach((each) => memory.giveBack(each));
  const isSame = (one: readonly Buffer[], other: readonly Buffer[]): boolean[] =>
    one.map(({ buffer }) => other.some((each) => each.buffer === buffer));
  const early = lend(4, 2 * MIB);
  giveBack(early);
  const late = lend(3, MIB);
  giveBack(late);
  giveBack(lend(1, 6 * MIB));
  t.same(isSame(lend(3, MIB), late), [true, true, true]);
  t.same(isSame(lend(3, 2 * MIB), early), [true, true, false]);
});

t.test('no more is kept than is allowed', async (t) => {
  const memory = new LargeMemory(4 * MIB);
  const lent = [1, 2, 3, 4, 5].map(() => memory.take(MIB));
  for (const each of lent) memory.giveBack(each);
  const again = [1, 2, 3, 4, 5].map(() => memory.take(MIB));
  const isKept = again.map(({ buffer }) => lent.some((each) => each.buffer === buffer));
  t.same(isKept, [true, true, true, true, false]);
});
