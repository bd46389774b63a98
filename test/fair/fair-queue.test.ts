import t from 'tap';
import { keptHeapBytes } from '../support/kept-bytes.js';
import { Random } from '../support/random.js';
import { FairQueueEntry, FairQueue } from '../../src/fair/fair-queue.js';

function queueOf(bounds: { itemsMax?: number; itemsPerKeyMax?: number } = {}): FairQueue<string> {
  return new FairQueue<string>(bounds.itemsMax ?? 1_000, bounds.itemsPerKeyMax ?? 1_000);
}

/** Adds items, each under the key that it begins with. */
function addAll(queue: FairQueue<string>, ...items: string[]): FairQueueEntry<string>[] {
  return items.map((item) => {
    const place = queue.add(item[0]!, item);
    if (!(place instanceof FairQueueEntry)) throw new Error(`${item}: ${place}`);
    return place;
  });
}

function takeAll(queue: FairQueue<string>): string[] {
  const items: string[] = [];
  for (let item = queue.take(); item !== undefined; item = queue.take()) items.push(item);
  return items;
}

t.test('keys take turns, and the items of a key keep their order', async (t) => {
  const queue = queueOf();
  addAll(queue, 'a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1');
  t.same([queue.count, queue.countOf('a'), queue.countOf('z')], [7, 4, 0]);
  t.same(takeAll(queue), ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
  t.same([queue.count, queue.countOf('a'), queue.take()], [0, 0, undefined]);
});

t.test('a key that arrives while others have many items waiting is served within one round', async (t) => {
  const queue = queueOf();
  for (let index = 0; index < 500; index += 1) addAll(queue, `a${index}`);
  t.equal(queue.take(), 'a0');
  addAll(queue, 'b0');
  t.same([queue.take(), queue.take(), queue.take()], ['a1', 'b0', 'a2']);
});

t.test('a key that takes its turn and returns at once waits for the others', async (t) => {
  const queue = queueOf();
  addAll(queue, 'a1', 'b1', 'c1');
  const served: string[] = [];
  for (let turn = 0; turn < 6; turn += 1) {
    const item = queue.take()!;
    served.push(item[0]!);
    addAll(queue, item);
  }
  t.equal(served.join(''), 'abcabc');
});

t.test('a key can let its turn pass, and keeps its items', async (t) => {
  const queue = queueOf();
  t.equal(queue.next, undefined);
  queue.skip();
  addAll(queue, 'a1', 'a2', 'b1');
  queue.pause('z');
  t.same([queue.next, queue.keyCount], ['a1', 3]);
  queue.skip();
  t.same([queue.next, queue.count], ['b1', 3]);
  t.same(takeAll(queue), ['b1', 'a1', 'a2']);
  t.equal(queue.next, undefined);
});

t.test('an item can leave from anywhere, once', async (t) => {
  const queue = queueOf();
  const [, a2, , b1] = addAll(queue, 'a1', 'a2', 'a3', 'b1');
  a2!.leave();
  a2!.leave();
  b1!.leave();
  t.same([queue.count, queue.countOf('a'), queue.countOf('b')], [2, 2, 0]);
  t.same(takeAll(queue), ['a1', 'a3']);
  const [first] = addAll(queue, 'a4');
  t.equal(queue.take(), 'a4');
  first!.leave();
  t.equal(queue.count, 0, 'one that was taken has nothing to leave');
});

t.test('the queue is bounded per key and in all, and says which bound is reached', async (t) => {
  const queue = queueOf({ itemsMax: 4, itemsPerKeyMax: 3 });
  addAll(queue, 'a1', 'a2', 'a3');
  t.equal(queue.add('a', 'a4'), 'subjectMax');
  const [b1] = addAll(queue, 'b1');
  t.equal(queue.add('b', 'b2'), 'totalMax');
  t.equal(queue.add('c', 'c1'), 'totalMax');
  t.equal(queue.add('a', 'a4'), 'subjectMax', 'its own bound says more');
  b1!.leave();
  addAll(queue, 'c1');
  t.same(takeAll(queue), ['a1', 'c1', 'a2', 'a3']);
  addAll(queue, 'a5', 'a6', 'a7');
});

t.test('a held key is skipped until it is released', async (t) => {
  const queue = queueOf();
  addAll(queue, 'a1', 'a2', 'b1');
  queue.pause('a');
  queue.pause('c');
  addAll(queue, 'a3', 'c1');
  t.equal(queue.isReady, true);
  t.same(takeAll(queue), ['b1']);
  t.equal(queue.isReady, false);
  t.equal(queue.count, 4);
  addAll(queue, 'b2');
  queue.resume('a');
  queue.resume('a');
  t.same(takeAll(queue), ['b2', 'a1', 'a2', 'a3']);
  queue.pause('a');
  addAll(queue, 'a4');
  t.equal(queue.take(), undefined, 'held again');
  queue.resume('c');
  queue.resume('a');
  queue.resume('z');
  t.same(takeAll(queue), ['c1', 'a4']);
});

t.test('a held key whose last item leaves is still held', async (t) => {
  const queue = queueOf();
  const [a1] = addAll(queue, 'a1');
  queue.pause('a');
  a1!.leave();
  addAll(queue, 'a2');
  t.equal(queue.take(), undefined);
  queue.resume('a');
  t.equal(queue.take(), 'a2');
});

t.test('all items can be taken at once, even those of held keys', async (t) => {
  const queue = queueOf();
  addAll(queue, 'a1', 'a2', 'b1');
  queue.pause('a');
  t.same(queue.takeAll().sort(), ['a1', 'a2', 'b1']);
  t.same([queue.count, queue.takeAll()], [0, []]);
  addAll(queue, 'a3');
  t.equal(queue.take(), undefined, 'and is held still');
});

t.test('the queue behaves like a list of lines under any operations', async (t) => {
  const random = new Random(20_260_101);
  const bounds = { itemsMax: 12, itemsPerKeyMax: 5 };
  const queue = queueOf(bounds);
  const lines = new Map<string, string[]>();
  const held = new Set<string>();
  let round: string[] = [];
  const places = new Map<string, FairQueueEntry<string>>();
  const faults: string[] = [];
  const check = (step: number, seen: unknown, expected: unknown): void => {
    if (seen !== expected) faults.push(`step ${step}: ${String(seen)}, not ${String(expected)}`);
  };
  const drop = (key: string, item: string): void => {
    lines.set(
      key,
      lines.get(key)!.filter((each) => each !== item),
    );
    if (lines.get(key)!.length === 0) round = round.filter((each) => each !== key);
  };
  for (let step = 0; step < 20_000; step += 1) {
    const key = 'abcdef'[random.below(6)]!;
    const line = lines.get(key) ?? [];
    const total = [...lines.values()].reduce((sum, items) => sum + items.length, 0);
    switch (random.below(6)) {
      case 0:
      case 1: {
        const item = `${key}${step}`;
        const place = queue.add(key, item);
        const expected =
          line.length >= bounds.itemsPerKeyMax ? 'subjectMax' : total >= bounds.itemsMax ? 'totalMax' : 'added';
        check(step, place instanceof FairQueueEntry ? 'added' : place, expected);
        if (!(place instanceof FairQueueEntry)) break;
        places.set(item, place);
        lines.set(key, [...line, item]);
        if (!held.has(key) && !round.includes(key)) round.push(key);
        break;
      }
      case 2: {
        const [turn] = round;
        const expected = turn === undefined ? undefined : lines.get(turn)![0];
        check(step, queue.take(), expected);
        if (turn === undefined || expected === undefined) break;
        round = [...round.slice(1), turn];
        drop(turn, expected);
        break;
      }
      case 3: {
        const item = line[random.below(line.length)];
        if (item === undefined) break;
        places.get(item)!.leave();
        drop(key, item);
        break;
      }
      case 4:
        queue.pause(key);
        held.add(key);
        round = round.filter((each) => each !== key);
        break;
      default:
        queue.resume(key);
        if (held.delete(key) && line.length > 0) round.push(key);
    }
    const count = [...lines.values()].reduce((sum, items) => sum + items.length, 0);
    check(step, queue.count, count);
  }
  t.same(faults.slice(0, 5), []);
});

t.test('keys that were held and released leave nothing behind', async (t) => {
  const queue = queueOf();
  const keptBytes = keptHeapBytes(() => {
    for (let number = 0; number < 50_000; number++) {
      queue.pause(`key ${number}`);
      queue.resume(`key ${number}`);
    }
  });
  t.ok(keptBytes < 1_000_000, `${keptBytes} bytes`);
  t.equal(queue.count, 0);
});

t.test('however many keys have as many places as they can, one more finds a place', async (t) => {
  const queue = new FairQueue<string>(16_384);
  for (let key = 0; key < 200; key += 1) {
    while (queue.add(`attacker ${key}`, 'item') instanceof FairQueueEntry);
    const place = queue.add('ada', 'item');
    if (t.ok(place instanceof FairQueueEntry, `beside ${key + 1} of them`)) (place as FairQueueEntry<string>).leave();
  }
  t.equal(queue.add('attacker 0', 'item'), 'subjectMax');
});
