import t from 'tap';
import { limits } from '../../src/shared/limits.js';
import { decodeUserConfig, type BackendConfig } from '../../src/user-config/user-config-schema.js';

const SECRET = 'do-not-repeat-me';

function issuesOf(json: string | Buffer): string {
  const decoding = decodeUserConfig(Buffer.from(json));
  return decoding.ok ? 'decoded' : decoding.issues;
}

/** A config with one backend `b` in one virtual host `vh`. */
function withBackend(backend: unknown): string {
  return JSON.stringify({ virtual_hosts: { vh: { backends: { b: backend } } } });
}

function decodeBackend(backend: unknown): BackendConfig | undefined {
  const decoding = decodeUserConfig(Buffer.from(withBackend(backend)));
  return decoding.ok ? decoding.config.virtual_hosts.get('vh')?.backends.get('b') : undefined;
}

const url = 'https://b.example/mcp';
const defaults = {
  url,
  transport: 'STREAMABLEHTTP',
  passthrough_headers: [],
  allowed_tool_names: [],
  allowed_resource_names: [],
  allowed_prompt_names: [],
};

t.test('an absent member has its default', async (t) => {
  t.same(decodeBackend({ url }), defaults);
});

t.test('everything that the specification lists is accepted', async (t) => {
  const full = {
    name: 'b',
    url: 'http://127.0.0.1:3000/mcp?tenant=7',
    transport: 'SSE',
    passthrough_headers: ['X-Tenant'],
    allowed_tool_names: ['add'],
    allowed_resource_names: ['r'],
    allowed_prompt_names: ['p'],
  };
  t.same(decodeBackend(full), full);
});

t.test('unknown members are ignored at every level', async (t) => {
  const json = `{"extra":1,"virtual_hosts":{"vh":{"extra":[],"backends":{"b":{"url":"${url}","extra":{},"__proto__":{"url":1}}}}}}`;
  const decoding = decodeUserConfig(Buffer.from(json));
  t.same(decoding.ok && decoding.config.virtual_hosts.get('vh')?.backends.get('b'), defaults);
});

t.test('configs without virtual hosts or backends are valid', async (t) => {
  t.equal(issuesOf('{"virtual_hosts":{}}'), 'decoded');
  t.equal(issuesOf('{"virtual_hosts":{"":{"backends":{}}}}'), 'decoded');
});

t.test('names of JavaScript’s built-in members are names like any other', async (t) => {
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'prototype']) {
    const json = `{"virtual_hosts":{"${name}":{"backends":{"${name}":{"url":"${url}"}}}}}`;
    const decoding = decodeUserConfig(Buffer.from(json));
    t.same(decoding.ok && decoding.config.virtual_hosts.get(name)?.backends.get(name), defaults, name);
    const wrong = `{"virtual_hosts":{"${name}":{"backends":{"${name}":{}}}}}`;
    t.match(issuesOf(wrong), `virtual_hosts.${name}.backends.${name}.url: is missing (must be a string)`);
  }
  t.equal(({} as Record<string, unknown>)['url'], undefined, 'no prototype was touched');
});

const refused: readonly (readonly [what: string, json: string | Buffer, issues: string])[] = [
  ['nothing', '', 'not JSON'],
  ['half an object', '{"virtual_hosts":', 'not JSON'],
  ['a byte order mark', `\ufeff${withBackend({ url })}`, 'not JSON'],
  ['a Latin-1 text', Buffer.from([0x22, 0xe9, 0x22]), 'not UTF-8'],
  ['a list', '[]', 'must be an object'],
  ['null', 'null', 'must be an object'],
  ['a text', '"x"', 'must be an object'],
  ['no virtual hosts', '{}', 'virtual_hosts: is missing (must be an object)'],
  ['a list of virtual hosts', '{"virtual_hosts":[]}', 'virtual_hosts: must be an object'],
  ['a virtual host that is null', '{"virtual_hosts":{"vh":null}}', 'virtual_hosts.vh: must be an object'],
  ['no backends', '{"virtual_hosts":{"vh":{}}}', 'virtual_hosts.vh.backends: is missing (must be an object)'],
  ['a backend that is a text', withBackend(url), 'virtual_hosts.vh.backends.b: must be an object'],
  ['no url', withBackend({}), 'virtual_hosts.vh.backends.b.url: is missing (must be a string)'],
  ['a url that is null', withBackend({ url: null }), 'virtual_hosts.vh.backends.b.url: must be a string'],
  [
    'a misspelt url',
    withBackend({ ulr: `https://user:${SECRET}@b.example/` }),
    'virtual_hosts.vh.backends.b.ulr: is not known; did you mean url, which is missing?',
  ],
  [
    'an empty backend name',
    `{"virtual_hosts":{"vh":{"backends":{"":{"url":"${url}"}}}}}`,
    'virtual_hosts.vh.backends.: a backend name must not be empty',
  ],
  ['a name that is a number', withBackend({ url, name: 1 }), 'virtual_hosts.vh.backends.b.name: must be a string'],
  [
    'an unknown transport',
    withBackend({ url, transport: 'streamablehttp' }),
    'virtual_hosts.vh.backends.b.transport: must be STREAMABLEHTTP, SSE or STDIO',
  ],
  [
    'a list of numbers',
    withBackend({ url, passthrough_headers: ['a', 1] }),
    'virtual_hosts.vh.backends.b.passthrough_headers.1: must be a string',
  ],
  [
    'a text for a list',
    withBackend({ url, allowed_tool_names: 'add' }),
    'virtual_hosts.vh.backends.b.allowed_tool_names: must be a list of strings',
  ],
  ...[
    'b.example/mcp',
    '/mcp',
    'ftp://b.example/',
    'ws://b.example/',
    'file:///etc/passwd',
    'javascript:1',
    'http://',
    `https://user:${SECRET}@b.example/`,
    `https://${SECRET}@b.example/`,
    `https://:${SECRET}@b.example/`,
    `https://[${SECRET}/`,
  ].map(
    (bad) =>
      [
        `the URL ${bad}`,
        withBackend({ url: bad }),
        'virtual_hosts.vh.backends.b.url: must be an http or https URL without credentials',
      ] as const,
  ),
];

for (const [what, json, issues] of refused) {
  t.test(`refused: ${what}`, async (t) => t.equal(issuesOf(json), issues));
}

t.test('messages repeat no value', async (t) => {
  const members = ['name', 'url', 'transport', 'passthrough_headers', 'allowed_tool_names', 'allowed_prompt_names'];
  for (const wrong of [SECRET, { [SECRET]: 1 }, [[SECRET]]]) {
    const backend = Object.fromEntries(members.map((member) => [member, wrong]));
    const issues = issuesOf(withBackend(backend));
    t.notMatch(issues, SECRET);
    t.match(issues, 'virtual_hosts.vh.backends.b.transport');
  }
  t.notMatch(issuesOf(`{"virtual_hosts": ${SECRET}`), SECRET);
});

t.test('many faults are counted, and long names are cut', async (t) => {
  const backends = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`backend-${n}`, {}]));
  const issues = issuesOf(JSON.stringify({ virtual_hosts: { vh: { backends } } }));
  t.match(issues, /backend-9\.url: is missing \(must be a string\); and 490 more$/);
  const long = issuesOf(JSON.stringify({ virtual_hosts: { ['x'.repeat(10_000)]: 1 } }));
  t.ok(long.length < 400, `${long.length} characters`);
});

t.test('a config over the size limit is refused unread', async (t) => {
  const padded = (bytes: number): Buffer => Buffer.from(withBackend({ url }).padEnd(bytes));
  t.equal(issuesOf(padded(limits.userConfigBytesMax)), 'decoded');
  t.match(issuesOf(padded(limits.userConfigBytesMax + 1)), 'larger than 4194304 bytes');
});

t.test('a deeply nested config gets an answer', async (t) => {
  const depth = 1_000_000;
  t.equal(issuesOf('['.repeat(depth)), 'not JSON');
  t.match(issuesOf(`{"virtual_hosts":${'['.repeat(depth)}${']'.repeat(depth)}}`), /must be an object|not JSON/);
});
