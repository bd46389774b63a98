import t from 'tap';
import { Random } from '../../support/random.js';
import { type Row, Rows } from './rows.js';

t.test('after any changes the names are in the order that sorting would give', async (t) => {
  const random = new Random(7);
  const mirror = new Rows('rows/');
  const there = new Map<string, Row>();
  for (let step = 0; step < 2_000; step++) {
    const id = String(random.below(150));
    if (random.below(3) === 0) {
      there.delete(id);
      mirror.put(`rows/${id}`, undefined);
    } else {
      const row = { id, name: `${random.below(2) === 0 ? 'Server' : 'server'} ${random.below(200)}` };
      there.set(id, row);
      mirror.put(`rows/${id}`, Buffer.from(JSON.stringify(row)));
    }
  }
  const folded = (rows: Iterable<Row>): string[] => Array.from(rows, ({ name }) => name.toLowerCase());
  t.same(folded(mirror.sorted), folded(there.values()).sort());
  const byId = (rows: Iterable<Row>): Row[] => [...rows].sort((a, b) => Number(a.id) - Number(b.id));
  t.same(byId(mirror.sorted), byId(there.values()), 'those that are there, and of two with one name the right one');
});

t.test('removing a row that was never there removes nothing', async (t) => {
  const mirror = new Rows('rows/');
  const row = { id: '1', name: 'a' };
  mirror.put('rows/1', Buffer.from(JSON.stringify(row)));
  mirror.put('rows/2', undefined);
  t.same(mirror.sorted, [row]);
});
