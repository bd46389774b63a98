// How the pages of servers use records: a server's state, the matches of a search, the request of a form, the findings of a refresh.
import t from 'tap';
import { refreshWords } from '../../ui/model/refresh-words.js';
import { authWords, BLANK_DRAFT, draftOf, requestOf } from '../../ui/model/server-draft.js';
import { isFound, stateOf } from '../../ui/model/server-state.js';
import { sinceWords } from '../../ui/model/since-words.js';

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
  t.notMatch(authWords(known.auth), 'files-key');
  t.equal(authWords(known.auth), 'a secret in x-key');
  t.same(requestOf({ ...draftOf(known), credentials: 'none' }).auth, null);
});

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
});
