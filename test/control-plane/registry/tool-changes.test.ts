import t from 'tap';
import { compareTools } from '../../../src/control-plane/registry/tool-changes.js';

t.test('what was added, updated and removed', async (t) => {
  const same = { name: 'same', inputSchema: { type: 'object', properties: { a: {} } } };
  const before = [same, { name: 'gone', inputSchema: {} }, { name: 'changed', inputSchema: { type: 'object' } }];
  const after = [
    { name: 'changed', inputSchema: { type: 'object', required: ['x'] } },
    { name: 'new', inputSchema: {} },
    structuredClone(same),
  ];
  t.same(compareTools(before, after), { added: ['new'], updated: ['changed'], removed: ['gone'] });
  t.same(compareTools(after, [...after].reverse()), { added: [], updated: [], removed: [] }, 'order is no change');
  t.same(compareTools([], before).added.length, 3);
  t.same(compareTools(before, []).removed.length, 3);
});

t.test('names of JavaScript are names', async (t) => {
  const tools = ['__proto__', 'constructor'].map((name) => ({ name, inputSchema: {} }));
  t.same(compareTools([], tools).added, ['__proto__', 'constructor']);
  t.same(compareTools(tools, []).removed, ['__proto__', 'constructor']);
});
