import t from 'tap';
import { deepFreeze } from '../../src/config/values.js';

t.test('objects and lists are frozen at every level, bytes are not', async (t) => {
  const bytes = new Uint8Array([1]);
  const value = deepFreeze({ a: { b: [{ c: 1 }] }, bytes, none: null, absent: undefined });
  t.ok(Object.isFrozen(value));
  t.ok(Object.isFrozen(value.a));
  t.ok(Object.isFrozen(value.a.b));
  t.ok(Object.isFrozen(value.a.b[0]));
  t.equal(value.bytes, bytes);
});

t.test('a primitive value is returned as it is', async (t) => {
  t.equal(deepFreeze('x'), 'x');
  t.equal(deepFreeze(null), null);
});
