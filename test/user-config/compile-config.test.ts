import { createHash } from 'node:crypto';
import t from 'tap';
import { compileUserConfig } from '../../src/user-config/compile-config.js';
import type { CompiledBackend, CompiledVirtualHost } from '../../src/user-config/compiled-config.js';
import { decodeUserConfig } from '../../src/user-config/user-config-schema.js';

const url = 'https://b.example/mcp';

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}

function compile(
  backends: Record<string, unknown>,
  upstreamMode: 'tls-only' | 'plain-text-or-tls' = 'tls-only',
): CompiledVirtualHost {
  const decoding = decodeUserConfig(Buffer.from(JSON.stringify({ virtual_hosts: { vh: { backends } } })));
  if (!decoding.ok) throw new Error(decoding.issues);
  const virtualHost = compileUserConfig(decoding.config, upstreamMode).virtualHosts.get('vh');
  if (virtualHost === undefined) throw new Error('the virtual host is lost');
  return virtualHost;
}

function compileBackend(backend: unknown, upstreamMode?: 'tls-only' | 'plain-text-or-tls'): CompiledBackend {
  return compile({ b: backend }, upstreamMode).backendsByNameLength[0]!;
}

t.test('a backend is compiled once', async (t) => {
  t.same(compileBackend({ url: 'https://B.example:8443/a/mcp?tenant=7#part', name: 'other' }), {
    name: 'b',
    prefix: 'b-',
    uriName: 'b',
    hasCaseVariant: false,
    target: { origin: 'https://b.example:8443', path: '/a/mcp?tenant=7' },
    transport: 'STREAMABLEHTTP',
    obstacle: undefined,
    passthroughHeaders: new Set(),
    allowedNames: { tools: undefined, prompts: undefined, resources: undefined },
    curation: { tools: undefined, prompts: undefined },
    listHashes: {
      tools: sha256('["b-",null,[]]'),
      prompts: sha256('["b-",null,[]]'),
      resources: sha256('["b",null]'),
    },
  });
  t.same(compileBackend({ url: 'https://b.example' }).target, { origin: 'https://b.example', path: '/' });
  t.same(compileBackend({ url: 'https://[::1]:443/mcp' }).target, { origin: 'https://[::1]', path: '/mcp' });
});

t.test('the hash of a list of names tells lists apart, but not their order', async (t) => {
  const hashesOf = (members: object) => compileBackend({ url, ...members }).listHashes;
  const kinds = [
    ['allowed_tool_names', 'tools'],
    ['allowed_prompt_names', 'prompts'],
    ['allowed_resource_names', 'resources'],
  ] as const;
  for (const [member, kind] of kinds) {
    const { [kind]: hash, ...others } = hashesOf({ [member]: ['b', 'a'] });
    const { [kind]: none, ...unchanged } = hashesOf({});
    t.match(others, unchanged, `the other hashes do not depend on ${member}`);
    t.equal(hashesOf({ [member]: ['a', 'b'] })[kind], hash);
    t.not(hashesOf({ [member]: ['a'] })[kind], hash);
    t.not(none, hash);
  }
  t.equal(hashesOf({ allowed_resource_names: ['b', 'a'] }).resourceNames, sha256('["a","b"]'));
  t.equal(hashesOf({ allowed_tool_names: ['a'] }).resourceNames, undefined);
  t.not(hashesOf({ prefix: 'other' }).tools, hashesOf({}).tools);
});

const obstacles = [
  { transport: undefined, scheme: 'https', mode: 'tls-only', obstacle: undefined },
  { transport: 'STREAMABLEHTTP', scheme: 'https', mode: 'plain-text-or-tls', obstacle: undefined },
  { transport: 'STREAMABLEHTTP', scheme: 'http', mode: 'plain-text-or-tls', obstacle: undefined },
  { transport: 'STREAMABLEHTTP', scheme: 'http', mode: 'tls-only', obstacle: 'plain-text-refused' },
  { transport: 'SSE', scheme: 'https', mode: 'tls-only', obstacle: undefined },
  { transport: 'STDIO', scheme: 'http', mode: 'plain-text-or-tls', obstacle: 'transport-unsupported' },
  { transport: 'SSE', scheme: 'http', mode: 'tls-only', obstacle: 'plain-text-refused' },
] as const;

for (const { transport, scheme, mode, obstacle } of obstacles) {
  t.test(`${transport ?? 'no transport'} over ${scheme} under ${mode}`, async (t) => {
    const compiled = compileBackend({ url: `${scheme}://b.example/`, transport }, mode);
    t.equal(compiled.obstacle, obstacle);
    t.equal(compiled.transport, transport === 'SSE' ? 'SSE' : 'STREAMABLEHTTP');
  });
}

t.test('headers may be listed in any case and are copied in lower case only', async (t) => {
  const { passthroughHeaders } = compileBackend({
    url,
    passthrough_headers: ['X-Tenant', 'x-tenant', 'Authorization'],
  });
  t.same([...passthroughHeaders], ['x-tenant', 'authorization']);
});

const neverCopied = [
  'host',
  'connection',
  'keep-alive',
  'proxy-authorization',
  'proxy-authenticate',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'expect',
  'content-length',
  'content-type',
  'content-encoding',
  'accept',
  'accept-encoding',
  'mcp-session-id',
  'mcp-protocol-version',
  'last-event-id',
];
const notHeaderNames = ['', ' ', 'x y', 'x:y', 'x\r\ny', 'é', '\u212aey', ':authority', 'x-tenant '];

for (const name of [...neverCopied, ...neverCopied.map((name) => name.toUpperCase()), ...notHeaderNames]) {
  t.test(`never copied, though listed: ${JSON.stringify(name)}`, async (t) => {
    const { passthroughHeaders } = compileBackend({ url, passthrough_headers: ['x-before', name, 'x-after'] });
    t.same([...passthroughHeaders], ['x-before', 'x-after']);
  });
}

t.test('a header that only begins like one of them is copied', async (t) => {
  const names = ['hostname', 'x-host', 'tenant', 'trailers', 'upgrade-insecure-requests', 'x-mcp-session-id', 'cookie'];
  t.same([...compileBackend({ url, passthrough_headers: names }).passthroughHeaders], names);
});

t.test('a virtual host lists the headers of all its backends', async (t) => {
  const { passthroughHeaders } = compile({
    a: { url, passthrough_headers: ['X-A', 'X-Both'] },
    b: { url, passthrough_headers: ['x-both', 'x-b', 'host'] },
  });
  t.same([...passthroughHeaders].sort(), ['x-a', 'x-b', 'x-both']);
});

t.test('an empty list of tools allows all', async (t) => {
  t.equal(compileBackend({ url, allowed_tool_names: [] }).allowedNames.tools, undefined);
  t.same(compileBackend({ url, allowed_tool_names: ['b', 'a'] }).allowedNames.tools, new Set(['b', 'a']));
});

t.test('backends are found by name and listed longest name first', async (t) => {
  const virtualHost = compile({
    ab: { url },
    a: { url },
    'a-b': { url },
    éé: { url },
    zz: { url },
    constructor: { url },
  });
  t.equal(virtualHost.id, 'vh');
  t.same([...virtualHost.backends.keys()], ['ab', 'a', 'a-b', 'éé', 'zz', 'constructor']);
  t.same(
    virtualHost.backendsByNameLength.map(({ name }) => name),
    ['constructor', 'éé', 'a-b', 'ab', 'zz', 'a'],
    'by bytes, and in order of the config where they are equal',
  );
  for (const backend of virtualHost.backendsByNameLength) t.equal(virtualHost.backends.get(backend.name), backend);
});
