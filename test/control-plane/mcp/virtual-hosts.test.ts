import t from 'tap';
import { VirtualHosts } from '../../../src/control-plane/mcp/mcp-endpoints.js';
import type { BackendConfig } from '../../../src/user-config/user-config-schema.js';

function backends(...names: string[]): ReadonlyMap<string, BackendConfig> {
  return new Map(
    names.map((name) => [
      name,
      {
        name,
        url: 'http://127.0.0.1:1/mcp',
        transport: 'STREAMABLEHTTP',
        passthrough_headers: [],
        allowed_tool_names: name === 'open' ? [] : ['a'],
        allowed_resource_names: [],
        allowed_prompt_names: [],
      },
    ]),
  );
}

t.test('a virtual host is the same object for as long as nothing in it changes', async (t) => {
  const hosts = new VirtualHosts('plain-text-or-tls');
  const first = hosts.compile('id', backends('x', 'open'));
  t.equal(first.id, 'id');
  t.same(first.backends.get('x')?.allowedNames.tools, new Set(['a']));
  t.equal(first.backends.get('open')?.allowedNames.tools, undefined);
  t.equal(hosts.compile('id', backends('x', 'open')), first);
  const second = hosts.compile('id', backends('x'));
  t.not(second, first);
  t.same([...second.backends.keys()], ['x']);
  t.equal(hosts.compile('id', backends('x')), second);
  const other = hosts.compile('other', backends('x'));
  t.not(other, second, 'every virtual host is its own');
  t.equal(hosts.compile('id', backends('x')), second);
});

t.test('a virtual host keeps the rule for plain-text servers', async (t) => {
  const host = new VirtualHosts('tls-only').compile('id', backends('x'));
  t.equal(host.backends.get('x')?.obstacle, 'plain-text-refused');
});

t.test('a server may have any name', async (t) => {
  const host = new VirtualHosts('plain-text-or-tls').compile('id', backends('__proto__', '1', 'a b'));
  t.same([...host.backends.keys()], ['__proto__', '1', 'a b']);
});
