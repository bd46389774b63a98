import t from 'tap';
import { NameOrder } from '../../../src/control-plane/mirror/name-order.js';
import { Random } from '../../support/random.js';

t.test('after any changes the names are in the order that sorting would give', async (t) => {
  const random = new Random(7);
  const order = new NameOrder<{ readonly name: string }>();
  const there: { readonly name: string }[] = [];
  for (let step = 0; step < 2_000; step++) {
    if (there.length > 0 && random.below(3) === 0) {
      const [gone] = there.splice(random.below(there.length), 1);
      if (gone !== undefined) order.remove(gone);
    } else {
      const item = { name: `${random.below(2) === 0 ? 'Server' : 'server'} ${random.below(200)}` };
      there.push(item);
      order.add(item);
    }
  }
  const folded = (items: readonly { readonly name: string }[]): string[] => items.map(({ name }) => name.toLowerCase());
  t.same(folded(order.items), folded(there).sort());
  t.same(new Set(order.items), new Set(there), 'those that are there, and of two with one name the right one');
});

t.test('removing a name that was never added removes nothing', async (t) => {
  const order = new NameOrder<{ readonly name: string }>();
  order.add({ name: 'a' });
  order.remove({ name: 'a' });
  order.remove({ name: 'b' });
  t.same(order.items, [{ name: 'a' }]);
});
