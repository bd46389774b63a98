// How the pages of servers use records: a server's state, the matches of a search, the request of a form, the findings of a refresh.
import t from 'tap';
import { refreshWords } from '../../ui/model/refresh-words.js';
import { authWords, BLANK_DRAFT, draftOf, requestOf, secretCommand } from '../../ui/model/server-draft.js';
import { isFound, stateOf } from '../../ui/model/server-state.js';
import { choicesFor, type Choice } from '../../ui/model/choices.js';
import { inOrder } from '../../ui/model/server-order.js';
import { serversInSettings, type ImportedServer } from '../../ui/model/settings-file.js';
import { dayWords, sinceWords } from '../../ui/model/since-words.js';

const active = { status: 'active', enabled: true, reachable: true } as const;

t.test('states', async (t) => {
  t.equal(stateOf(active), 'active');
  t.equal(stateOf({ ...active, reachable: false }), 'failing');
  t.equal(stateOf({ ...active, status: 'inactive', reachable: false }), 'inactive');
  t.equal(stateOf({ ...active, enabled: false }), 'disabled', 'whatever its probes say');
});

t.test('a search matches each word anywhere, and the tag and the state', async (t) => {
  const server = {
    ...active,
    name: 'GitHub',
    url: 'https://mcp.example.com',
    description: 'code',
    tags: ['dev', 'vcs'],
  };
  const found = (words: string, tag = '', state = ''): boolean => isFound(server, { words, tag, state });
  t.ok(found(''));
  t.ok(found('hub CODE'));
  t.ok(found('vcs example'));
  t.notOk(found('hub files'));
  t.ok(found('', 'dev', 'active'));
  t.notOk(found('', 'de'), 'tags are whole');
  t.notOk(found('', '', 'inactive'));
});

t.test('a form becomes a request', async (t) => {
  const draft = { ...BLANK_DRAFT, name: ' files ', url: ' http://x/mcp ', tags: 'a, b,,' };
  const said = { name: 'files', url: 'http://x/mcp', transport: 'STREAMABLEHTTP', description: '', tags: ['a', 'b'] };
  t.same(requestOf(draft), { ...said, auth: null });
  t.same(requestOf({ ...draft, transport: 'SSE', team: ' ops ' }), {
    ...said,
    transport: 'SSE',
    team: 'ops',
    auth: null,
  });
  t.equal(requestOf({ ...draft, team: '' }).team, null, 'none');
  const secret = { ...draft, credentials: 'headers', headerName: 'x-key', secretName: 'files-key' } as const;
  t.same(requestOf(secret).auth, { type: 'headers', headers: { 'x-key': { secret: 'files-key' } } });
  const login = { ...draft, clientId: ' gw ', secretName: 'login', scope: 'mcp' };
  t.same(requestOf({ ...login, credentials: 'client', tokenEndpoint: 'https://x/token' }).auth, {
    type: 'oauth2-client-credentials',
    ...{ token_endpoint: 'https://x/token', client_id: 'gw', client_secret: { secret: 'login' }, scope: 'mcp' },
  });
  t.same(requestOf({ ...draft, credentials: 'user' }).auth, { type: 'oauth2-user' }, 'the server says the rest');
  t.same(requestOf({ ...login, credentials: 'user', issuer: 'https://x' }).auth, {
    type: 'oauth2-user',
    ...{ issuer: 'https://x', client_id: 'gw', client_secret: { secret: 'login' }, scope: 'mcp' },
  });
});

t.test('a change leaves credentials alone unless it sets them', async (t) => {
  const known = {
    ...{ id: '1', name: 'files', slug: 'files', url: 'http://x/mcp', description: 'd', tags: ['a', 'b'], ...active },
    ...{ toolCount: 1, capabilities: {}, serverInfo: null, createdAt: '', updatedAt: '' },
    ...{ lastSeen: null, lastRefreshAt: null, lastError: null },
    auth: { type: 'headers', headers: { 'x-key': { secret: 'files-key' } } },
  } as const;
  const request = requestOf(draftOf(known));
  const transport = 'STREAMABLEHTTP';
  t.same(request, { name: 'files', url: 'http://x/mcp', transport, description: 'd', tags: ['a', 'b'] });
  t.match(draftOf(known), { headerName: 'x-key', secretName: 'files-key' }, 'they are there for who replaces them');
  t.notMatch(authWords(known.auth), 'files-key');
  t.equal(authWords(known.auth), 'a secret in x-key');
  t.same(requestOf({ ...draftOf(known), credentials: 'none' }).auth, null);
});

t.test(
  'the command that stores a secret names each origin once, and quotes what a shell would read otherwise',
  async (t) => {
    const addresses = ['https://x/mcp', 'https://x/token', 'http://y:1/token'];
    t.equal(secretCommand('files-key', addresses), 'switchyard secrets set files-key --origins https://x,http://y:1');
    t.equal(secretCommand("a' $(b)", ['https://x']), "switchyard secrets set 'a'\\'' $(b)' --origins https://x");
    t.equal(secretCommand('files-key', ['https://x', 'not yet']), '');
  },
);

t.test('refreshes and times are put in words', async (t) => {
  const report = { status: 'active', toolsAdded: 0, toolsUpdated: 0, toolsRemoved: 0, durationMs: 12 } as const;
  t.equal(refreshWords(report), 'Read in 12 ms. Tools: nothing has changed');
  t.equal(refreshWords({ ...report, toolsAdded: 2, toolsRemoved: 1 }), 'Read in 12 ms. Tools: 2 added, 1 removed');
  t.equal(refreshWords({ ...report, error: 'no route' }), 'It could not be read: no route');
  t.equal(sinceWords(-5), 'just now');
  t.equal(sinceWords(30_000), '30 seconds ago');
  t.equal(sinceWords(60_000), '1 minute ago');
  t.equal(sinceWords(3 * 3_600_000 + 1), '3 hours ago');
  t.equal(sinceWords(50 * 3_600_000), '2 days ago');
  const noon = new Date(2026, 2, 1, 12);
  t.equal(dayWords(new Date(2026, 2, 1, 0, 1).toISOString(), noon), 'Today');
  t.equal(dayWords(new Date(2026, 1, 28, 23).toISOString(), noon), 'Yesterday');
  t.equal(dayWords(new Date(2026, 2, 2).toISOString(), noon), 'Today', 'a clock that is behind');
  t.match(dayWords(new Date(2026, 1, 27, 23).toISOString(), noon), '2026');
});

t.test('a table of servers is sorted by what its columns mean, and by name where that is the same', async (t) => {
  const server = (name: string, more: object) => ({
    ...{ id: name, name, slug: name, url: '', description: '', tags: [], ...active, toolCount: 1, capabilities: {} },
    ...{
      serverInfo: null,
      createdAt: '',
      updatedAt: '',
      lastSeen: null,
      lastRefreshAt: null,
      lastError: null,
      ...more,
    },
  });
  const all = [
    server('b', { toolCount: 9, lastSeen: '2026-01-02T00:00:00Z', team: 'ops' }),
    server('A', { toolCount: 10, status: 'inactive', reachable: false }),
    server('c', { toolCount: 10, lastSeen: '2026-01-01T00:00:00Z' }),
  ];
  const sorted = (column: string, isDown = false): string =>
    inOrder(all, column, isDown)
      .map(({ name }) => name)
      .join('');
  t.equal(sorted('Name'), 'Abc', 'whatever the case');
  t.equal(sorted('Name', true), 'cbA');
  t.equal(sorted('Tools'), 'bAc', 'as numbers');
  t.equal(sorted('Status'), 'Abc', 'the worst first');
  t.equal(sorted('Belongs to'), 'bAc', 'those of nobody last');
  t.equal(sorted('Last seen'), 'bcA', 'never is the longest ago');
  t.equal(sorted('Colour'), 'bAc', 'an unknown column leaves them as they are');
});

t.test('the servers of a settings file become registrations without any secret', async (t) => {
  const read = async (settings: unknown): Promise<readonly ImportedServer[]> => {
    const text = typeof settings === 'string' ? settings : JSON.stringify(settings);
    const found = await serversInSettings(text);
    if (typeof found === 'string') throw new Error(found);
    return found;
  };
  const headers = { Authorization: 'Bearer s3cr3t', 'X-Team': '1' };
  const [server] = await read({ mcpServers: { 'Git Hub': { type: 'http', url: 'https://x.example/mcp', headers } } });
  t.same(server, {
    name: 'Git Hub',
    body: {
      ...{ name: 'Git Hub', url: 'https://x.example/mcp', transport: 'STREAMABLEHTTP' },
      auth: {
        type: 'headers',
        headers: { Authorization: { secret: 'git-hub-authorization' }, 'X-Team': { secret: 'git-hub-x-team' } },
      },
    },
    note: 'has 2 headers, each a secret of its own: Authorization, X-Team',
    secrets: ['git-hub-authorization', 'git-hub-x-team'],
  });
  t.match(
    await read({ servers: { a: { url: 'https://x.example/sse' } } }),
    [{ body: { transport: 'SSE' } }],
    'by custom',
  );
  t.match(await read({ mcp: { servers: { a: { serverUrl: 'https://x/', disabled: true } } } }), [
    { body: { enabled: false } },
  ]);
  t.match(
    await read({ a: { httpUrl: 'https://x/' } }),
    [{ name: 'a', body: { url: 'https://x/' } }],
    'without a place',
  );
  t.match(await read('\ufeff{ // mine\n "mcpServers": { "a": { "url": "https://x//y", }, }, }'), [
    { body: { url: 'https://x//y' } },
  ]);
  for (const [said, why] of [
    [{ command: 'npx', args: ['x'] }, /command/],
    [{ url: 'https://x/?api_key=1' }, /secret in its URL/],
    [{ url: 'https://u:p@x/' }, /user or password/],
    [{ url: 'https://x/${TOKEN}' }, /placeholder/],
    [{ url: 'file:///x' }, /neither http nor https/],
    [{ url: 'https://x/', type: 'ws' }, /neither http nor sse/],
    [{}, /no URL/],
    ['x', /no object/],
  ] as const) {
    const [refused] = await read({ mcpServers: { a: said } });
    t.match(refused, { body: undefined, note: why });
  }
  t.match(await serversInSettings('{'), /^This is not JSON/);
  t.match(await serversInSettings('{"a":1}'), /mcpServers/);
  t.match(await serversInSettings('{"mcpServers":{}}'), /names no server/);
  const codex = `# mine
[mcp_servers.docs]
url = "https://x.example/mcp"
bearer_token_env_var = "DOCS_TOKEN"
http_headers = { "X-Team" = "hush" }

[mcp_servers.files]
command = "npx"
`;
  t.match(await read(codex), [
    {
      name: 'docs',
      body: {
        auth: { headers: { 'X-Team': { secret: 'docs-x-team' }, Authorization: { secret: 'docs-authorization' } } },
      },
      note: /2 headers.*its Authorization is Bearer \$DOCS_TOKEN/,
    },
    { name: 'files', body: undefined, note: /runs as a command/ },
  ]);
  t.match(await read('mcpServers:\n  - name: docs\n    type: sse\n    url: https://x.example/\n'), [
    { name: 'docs', body: { transport: 'SSE' } },
  ]);
  for (const [text, fault] of [
    ['{\n  "mcpServers": {,\n}', /^This is not JSON: at line 2, column 18/],
    ['[mcp_servers.docs]\nurl = https://x\n', /^This is not TOML: at line 2, column \d+/],
    ['mcpServers:\n  a:\n    url: [\n', /^This is not YAML: at line [34], column \d+/],
  ] as const) {
    t.match(await serversInSettings(text), fault);
  }
});

t.test('the palette finds by each word, and the closest name comes first', async (t) => {
  const choice = (name: string, kind: string): Choice => ({
    key: `${kind} ${name}`,
    name,
    kind,
    icon: 'go',
    page: '/',
  });
  const all = [
    choice('Servers', 'page'),
    choice('Register a server', 'action'),
    choice('mail', 'server'),
    choice('mail-archive', 'composition'),
  ];
  const found = (text: string): readonly string[] => choicesFor(all, text).map(({ key }) => key);
  t.same(found('mail'), ['server mail', 'composition mail-archive', 'tools']);
  t.same(found('archive'), ['composition mail-archive', 'tools']);
  t.same(found('server'), ['page Servers', 'action Register a server', 'server mail', 'tools']);
  t.same(found('  REG serv '), ['action Register a server', 'tools']);
  t.same(found('zzz'), ['tools'], 'tools are searched where they are listed');
  t.equal(found('').length, 4);
});
