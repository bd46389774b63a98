import t from 'tap';
import { deepFreeze } from '../../src/config/deep-freeze.js';

t.test('objects and lists are frozen all the way down, bytes are left', async (t) => {
  const bytes = new Uint8Array([1]);
  const value = deepFreeze({ a: { b: [{ c: 1 }] }, bytes, none: null, absent: undefined });
  t.ok(Object.isFrozen(value));
  t.ok(Object.isFrozen(value.a));
  t.ok(Object.isFrozen(value.a.b));
  t.ok(Object.isFrozen(value.a.b[0]));
  t.equal(value.bytes, bytes);
});

t.test('a plain value is itself', async (t) => {
  t.equal(deepFreeze('x'), 'x');
  t.equal(deepFreeze(null), null);
});
