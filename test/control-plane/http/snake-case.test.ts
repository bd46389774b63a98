import t from 'tap';
import { withCamelCaseMembers } from '../../../src/control-plane/http/mount.js';

t.test('members of the object itself are renamed, and none inside of them', async (t) => {
  t.strictSame(
    withCamelCaseMembers({ tool_count: 1, name: 'a_b', last_seen_at: { in_here: 1 }, _x: 1, a__b: 1, A_1: 1 }),
    {
      toolCount: 1,
      name: 'a_b',
      lastSeenAt: { in_here: 1 },
      X: 1,
      a_B: 1,
      A_1: 1,
    },
  );
});

t.test('a value that is no object stays as it is', async (t) => {
  for (const value of [undefined, null, 7, 'a_b', ['a_b']]) t.equal(withCamelCaseMembers(value), value);
});

t.test('a member in both spellings is refused', async (t) => {
  t.throws(() => withCamelCaseMembers({ tool_count: 1, toolCount: 1 }), { message: /^toolCount is given twice/ });
});

t.test('a name of the prototype is a name like any other', async (t) => {
  const renamed = withCamelCaseMembers(JSON.parse('{"to_string":1,"constructor":2}')) as object;
  t.strictSame(Object.entries(renamed), [
    ['toString', 1],
    ['constructor', 2],
  ]);
});
