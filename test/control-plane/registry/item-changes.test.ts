import t from 'tap';
import { type ServerList, serverListOf } from '../../../src/control-plane/records/server-record.js';
import type { ServerTool } from '../server-tool.js';
import { compareItems, type ItemChanges } from '../../../src/control-plane/registry/list-changes.js';

function toolListOf(tools: readonly ServerTool[]): ServerList {
  return serverListOf(new Map(tools.map((tool) => [tool.name, tool])));
}

function compare(before: readonly ServerTool[], after: readonly ServerTool[]): ItemChanges {
  return compareItems(toolListOf(before).items, toolListOf(after).items);
}

t.test('what was added, updated and removed', async (t) => {
  const same = { name: 'same', inputSchema: { type: 'object', properties: { a: {} } } };
  const before = [same, { name: 'gone', inputSchema: {} }, { name: 'changed', inputSchema: { type: 'object' } }];
  const after = [
    { name: 'changed', inputSchema: { type: 'object', required: ['x'] } },
    { name: 'new', inputSchema: {} },
    structuredClone(same),
  ];
  t.same(compare(before, after), { added: 1, updated: 1, removed: 1 });
  t.same(compare(after, [...after].reverse()), { added: 0, updated: 0, removed: 0 }, 'order is no change');
  t.same(compare([], before).added, 3);
  t.same(compare(before, []).removed, 3);
});

t.test('names of JavaScript’s built-in members are ordinary names', async (t) => {
  const tools = ['__proto__', 'constructor'].map((name) => ({ name, inputSchema: {} }));
  t.same(compare([], tools).added, 2);
  t.same(compare(tools, []).removed, 2);
});

t.test('another order of members is no change, other values are', async (t) => {
  const tool = (inputSchema: unknown): ServerTool => ({ name: 'a', inputSchema });
  const none = { added: 0, updated: 0, removed: 0 };
  t.same(compare([tool({ b: 1, a: [{ d: 2, c: 3 }] })], [tool({ a: [{ c: 3, d: 2 }], b: 1 })]), none);
  for (const [one, other] of [
    [{ a: 1 }, { a: 2 }],
    [{ a: [1, 2] }, { a: [2, 1] }],
    [{ a: {} }, { a: [] }],
    [{ a: null }, {}],
    [{ a: ['object'] }, { a: {} }],
    [JSON.parse('{"__proto__":1}'), {}],
  ] as const) {
    t.same(compare([tool(one)], [tool(other)]).updated, 1, JSON.stringify(one));
  }
});

t.test('the digest of a list depends on its tools, in any order', async (t) => {
  const [a, b] = [
    { name: 'a', inputSchema: {} },
    { name: 'b', inputSchema: {} },
  ];
  t.equal(toolListOf([a, b]).digest, toolListOf([b, a]).digest);
  t.not(toolListOf([a, b]).digest, toolListOf([a]).digest);
});
