// What a session keeps of its subscriptions, and for how long; that they reach backends is in test/spec/streams.rows.ts.
import t from 'tap';
import { Subscriptions } from '../../src/relay/subscriptions.js';
import { limits } from '../../src/shared/limits.js';

class Memory {
  heldBytes = 0;
  readonly bytesMax: number;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  keep(bytes: number): void {
    this.heldBytes += bytes;
  }

  drop(bytes: number): void {
    this.heldBytes -= bytes;
  }

  hasRoomFor(bytes: number): boolean {
    return this.heldBytes + bytes <= this.bytesMax;
  }
}

t.test('there is a bound for their number and one for their bytes', async (t) => {
  const many = new Subscriptions(new Memory(Infinity));
  for (let number = 0; number < limits.subscriptionsMax; number += 1) many.add('b', `a:${number}`);
  t.notOk(many.hasRoomFor('a:b'));
  const memory = new Memory(10_000);
  const few = new Subscriptions(memory);
  t.notOk(few.hasRoomFor('x'.repeat(5_000)));
  few.add('b', 'x'.repeat(5_000));
  t.equal(memory.heldBytes, 0, 'what has no room is not kept');
  t.ok(few.hasRoomFor('x'.repeat(1_000)));
});

t.test('those of a backend that has gone weigh nothing', async (t) => {
  const memory = new Memory(10_000);
  const subscriptions = new Subscriptions(memory);
  for (const uri of ['a:b', 'a:c']) subscriptions.add('one', uri);
  subscriptions.add('two', 'a:b');
  const three = memory.heldBytes;
  subscriptions.forget('one');
  t.equal(memory.heldBytes, three / 3);
  subscriptions.delete('two', 'a:b');
  t.equal(memory.heldBytes, 0);
});
