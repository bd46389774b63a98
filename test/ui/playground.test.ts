// How the playground handles addresses, lists, streams and requests.
import { execFileSync } from 'node:child_process';
import t from 'tap';
import { curlText, quoted } from '../../ui/model/curl-text.js';
import { EventReader } from '../../ui/model/event-reader.js';
import { missingServers, offersOf, requestFor } from '../../ui/model/offers.js';
import type { Server } from '../../ui/api/types.js';
import { placeOf, targetsOf } from '../../ui/model/targets.js';

const record: Server = {
  name: '',
  ...{
    id: '0a',
    slug: 'files',
    url: '',
    description: '',
    tags: [],
    status: 'active' as const,
    enabled: true,
    reachable: true,
  },
  ...{ toolCount: 0, capabilities: {}, serverInfo: null, createdAt: '', updatedAt: '' },
  ...{ lastSeen: null, lastRefreshAt: null, lastError: null },
};
const desk = {
  id: '0b',
  name: 'desk',
  description: '',
  servers: [],
  subjects: ['alice'],
  createdAt: '',
  updatedAt: '',
  missingTools: [],
};

t.test('however a stream is split, its events are the same', async (t) => {
  const stream =
    ': hello\r\nid: 1\r\ndata: one\r\n\r\nevent: note\rdata: a\rdata: b\r\r\ndata:three\n\ndata\n\nretry: 5\n\ndata: cut';
  const whole = [
    { event: 'message', data: 'one' },
    { event: 'note', data: 'a\nb' },
    { event: 'message', data: 'three' },
    { event: 'message', data: '' },
  ];
  for (let size = 1; size <= stream.length; size++) {
    const reader = new EventReader();
    const events = [];
    for (let start = 0; start < stream.length; start += size)
      events.push(...reader.read(stream.slice(start, start + size)));
    t.same(events, whole, `pieces of ${size}`);
  }
});

t.test('the shell command has exactly what was sent, and no token', async (t) => {
  const body = `{"a":"it's $HOME \`x\` \\"q\\" \\n 你"}`;
  const text = curlText({ url: "http://127.0.0.1:1/mcp?a='b'", headers: { 'content-type': 'application/json' }, body });
  t.match(text, '$SWITCHYARD_TOKEN');
  const words = execFileSync('sh', ['-c', `curl() { printf '%s\\0' "$@"; }; SWITCHYARD_TOKEN=abc; ${text}`], {
    encoding: 'utf8',
  });
  const [, url, , authorization, , type, , data] = words.split('\0');
  t.same(
    [url, authorization, type, data],
    ["http://127.0.0.1:1/mcp?a='b'", 'authorization: Bearer abc', 'content-type: application/json', body],
  );
  t.equal(execFileSync('sh', ['-c', `printf %s ${quoted("a'b\nc")}`], { encoding: 'utf8' }), "a'b\nc");
});

t.test('a server is tried through the endpoint of all servers, by the prefix of its names', async (t) => {
  const servers = [
    { ...record, name: 'my_files' },
    { ...record, id: '0c', name: 'My sums', curation: { prefix: 'sums' } },
    { ...record, id: '0d', name: '7up', enabled: false },
  ];
  const [all, files, sums, up, composition] = targetsOf(servers, [desk], 'alice');
  t.match(all, { key: 'all', path: '/mcp', prefix: '' });
  t.match(files, { key: 'server:0a', path: '/mcp', prefix: 'my_files-', uriPrefix: 'my.5ffiles' });
  t.match(sums, { prefix: 'sums-', uriPrefix: 'My.20sums' });
  t.match(up, { uriPrefix: 'x.-7up', obstacle: /disabled/ });
  t.match(composition, { key: 'composition:0b', path: '/servers/0b/mcp', prefix: '', obstacle: '' });
  t.match(targetsOf([], [desk], 'bob')[1], { obstacle: /^desk is for others: tools are called as you, bob/ });
  t.equal(placeOf(new URLSearchParams('server=0a&name=x')), 'server:0a');
  t.equal(placeOf(new URLSearchParams('composition=0b')), 'composition:0b');
  t.equal(placeOf(new URLSearchParams('')), 'all');
});

t.test('tools, prompts and resources become offers, and requests', async (t) => {
  const [all, files] = targetsOf([{ ...record, name: 'files' }], [], 'alice');
  if (all === undefined || files === undefined) throw new Error('there are two');
  const tools = [{ name: 'files-read', title: 'Read' }, { name: 'other-x' }, { title: 'nameless' }, 7, null];
  t.same(
    offersOf('tools', tools, all).map(({ name }) => name),
    ['files-read', 'other-x'],
  );
  const [read] = offersOf('tools', tools.slice(0, 2), files);
  t.match(read, { name: 'files-read', title: 'Read' });
  t.same(requestFor('tools', read!, { a: 1 }), {
    method: 'tools/call',
    params: { name: 'files-read', arguments: { a: 1 } },
  });

  const [prompt] = offersOf(
    'prompts',
    [{ name: 'files-p', arguments: [{ name: 'x', required: true }, { name: 'y' }] }],
    files,
  );
  t.match(prompt?.schema, { properties: { x: { type: 'string' }, y: { type: 'string' } }, required: ['x'] });
  t.equal(requestFor('prompts', prompt!, { x: 'a' }).method, 'prompts/get');

  const resources = [
    { uri: 'files+file:///a' },
    { uri: 'ui://files/app' },
    { uriTemplate: 'files+file:///{name}' },
    { uri: 'filesx+a:b' },
  ];
  const offers = offersOf('resources', resources, files);
  t.same(
    offers.map(({ name }) => name),
    ['files+file:///a', 'ui://files/app', 'files+file:///{name}'],
  );
  const value = { name: 'a b/c' };
  t.same(requestFor('resources', offers[2]!, value).params, { uri: 'files+file:///a%20b%2Fc' });
});

t.test('an invalid item does not affect the others', async (t) => {
  const all = targetsOf([record], [], 'alice')[0];
  if (all === undefined) throw new Error('no target');
  const prompts = [null, 7, [], { name: 7 }, { name: 'odd', arguments: [null, { name: {} }, { name: 'to' }] }];
  const [odd, ...others] = offersOf('prompts', prompts, all);
  t.match(odd, { name: 'odd', title: '', schema: { properties: { to: { type: 'string' } }, required: { length: 0 } } });
  t.same(others, []);
  const resources = [{ uri: {} }, { uriTemplate: '{' }, { uri: 'javascript:1', name: 7 }];
  t.match(offersOf('resources', resources, all), [{ name: '{' }, { name: 'javascript:1', title: '' }]);
  t.match(offersOf('tools', [{ name: 'a', title: {}, inputSchema: null }], all), [
    { name: 'a', title: '', schema: {} },
  ]);
});

t.test('the servers that a list lacks are named with the reason, each at its own endpoint', async (t) => {
  const servers = [
    { ...record, name: 'files' },
    { ...record, id: '0c', name: 'mail box' },
  ];
  const [all, files, mail] = targetsOf(servers, [], 'alice');
  const meta = { 'switchyard/unavailable': [{ backend: 'mail box', reason: 'initialize refused' }] };
  t.same(missingServers(meta, all!), ['mail box (initialize refused)']);
  t.same(missingServers(meta, files!), []);
  t.same(missingServers(meta, mail!), ['mail box (initialize refused)']);
  for (const odd of [undefined, null, 1, {}, { 'switchyard/unavailable': 1 }]) t.same(missingServers(odd, all!), []);
});
