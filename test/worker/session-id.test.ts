import t from 'tap';
import { isMintedSessionId, mintSessionId, ownerOf } from '../../src/worker/session-id.js';

/** Pearson's chi-squared statistic of counts that should be equal. */
function chiSquared(counts: readonly number[]): number {
  const expected = counts.reduce((sum, count) => sum + count, 0) / counts.length;
  return counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
}

/** The statistic's value at six standard deviations (Wilson and Hilferty): a fair hash does not reach it. */
function chiSquaredMax(cells: number): number {
  const freedom = cells - 1;
  return freedom * (1 - 2 / (9 * freedom) + 6 * Math.sqrt(2 / (9 * freedom))) ** 3;
}

t.test('an id is owned by the slot that minted it, for 1 to 64 slots', async (t) => {
  let misplaced = 0;
  for (let slotCount = 1; slotCount <= 64; slotCount++) {
    for (let slot = 0; slot < slotCount; slot++) {
      if (ownerOf(mintSessionId(slot, slotCount), slotCount) !== slot) misplaced++;
    }
  }
  t.equal(misplaced, 0);
});

t.test('every one of 1,024 slots can mint', async (t) => {
  let misplaced = 0;
  for (let slot = 0; slot < 1_024; slot++) if (ownerOf(mintSessionId(slot, 1_024), 1_024) !== slot) misplaced++;
  t.equal(misplaced, 0);
});

t.test('100,000 ids are unique, visible ASCII and long enough', async (t) => {
  const ids = new Set<string>();
  const randomParts = new Set<string>();
  let malformed = 0;
  for (let count = 0; count < 100_000; count++) {
    const id = mintSessionId(count % 8, 8);
    if (!/^[A-Za-z0-9_-]{35}$/.test(id)) malformed++;
    ids.add(id);
    randomParts.add(id.slice(0, 32));
  }
  t.equal(ids.size, 100_000);
  t.equal(randomParts.size, 100_000, 'the suffix is not what makes them unique');
  t.equal(malformed, 0);
});

t.test('the random part is uniform at each of its 32 places, whatever slot the id is for', async (t) => {
  const places = Array.from({ length: 32 }, () => new Map<string, number>());
  for (let count = 0; count < 20_000; count++) {
    const id = mintSessionId(3, 7);
    places.forEach((counts, place) => counts.set(id[place] as string, (counts.get(id[place] as string) ?? 0) + 1));
  }
  for (const [place, counts] of places.entries()) {
    const cells = [...counts.values()];
    t.equal(cells.length, 64, `place ${place} takes all 64 characters`);
    t.ok(chiSquared(cells) < chiSquaredMax(64), `place ${place} is uniform`);
  }
});

t.test('owners of ids that were minted elsewhere are uniform', async (t) => {
  for (const slotCount of [2, 3, 4, 16, 64, 1_024]) {
    const counts = new Array<number>(slotCount).fill(0);
    for (let count = 0; count < 50_000; count++) {
      const owner = ownerOf(mintSessionId(0, 1), slotCount);
      counts[owner] = (counts[owner] ?? 0) + 1;
    }
    t.ok(chiSquared(counts) < chiSquaredMax(slotCount), `${slotCount} slots`);
  }
});

t.test('owners do not follow the low bits of the characters', async (t) => {
  // Every character code is a multiple of 4: without mixing, FNV-1a gives each of these ids the same two low bits.
  const chars = ['0', '4', '8', 'D', 'H', 'L', 'P', 'T'];
  const counts = new Array<number>(4).fill(0);
  for (let count = 0; count < 32_768; count++) {
    const id = Array.from({ length: 5 }, (_, place) => chars[(count >> (place * 3)) & 7]).join('');
    const owner = ownerOf(id, 4);
    counts[owner] = (counts[owner] ?? 0) + 1;
  }
  t.ok(chiSquared(counts) < chiSquaredMax(4));
});

t.test('any string has an owner', async (t) => {
  for (const id of ['', 'x', '\u0000', 'é'.repeat(128), '\ud800']) {
    const owner = ownerOf(id, 5);
    t.ok(Number.isInteger(owner) && owner >= 0 && owner < 5);
    t.equal(ownerOf(id, 5), owner);
    t.equal(ownerOf(id, 1), 0);
  }
});

t.test('an id that cannot have been minted is known by its form', async (t) => {
  const id = mintSessionId(2, 3);
  t.equal(isMintedSessionId(id), true);
  for (const other of ['', id.slice(1), `${id}a`, `${id.slice(1)}.`, `${id.slice(1)}é`, `${id}\n`])
    t.equal(isMintedSessionId(other), false, other);
  t.throws(() => mintSessionId(3, 3), { code: 'ERR_ASSERTION' });
  t.throws(() => mintSessionId(-1, 3), { code: 'ERR_ASSERTION' });
});
