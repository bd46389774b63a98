// Concurrent changes by two people, and the preview of a server before it is registered.
import t, { type Test } from 'tap';
import { ControlPlaneFault } from '../../../src/control-plane/common/control-plane-fault.js';
import { type HttpApp } from '../../../src/control-plane/http/http-app.js';
import { createCalculator } from '../../../demo/demo-servers.js';
import { startDemoBackend } from '../../../demo/demo-backend.js';
import { mint } from '../../support/tokens.js';
import { setStage, stores } from '../stage.js';
import { openApp, SECRET } from './app.js';

const authorization = `Bearer ${await mint({ sub: 'alice', algorithm: 'HS256', key: SECRET })}`;

async function createApp(t: Test): Promise<HttpApp> {
  const { registry, compositions, records } = await setStage(t, await stores['embedded']!(t));
  return openApp(t, { registry, compositions, records });
}

interface Sent {
  readonly body?: unknown;
  readonly contentType?: string;
  readonly ifMatch?: string;
}

interface Answer {
  readonly status: number;
  readonly etag: string;
  readonly json: Readonly<Record<string, unknown>>;
}

function callerOf(app: HttpApp) {
  return async (
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    url: string,
    {
      body,
      ifMatch,
      contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
    }: Sent = {},
  ): Promise<Answer> => {
    const headers = { authorization, host: 'localhost', ...(ifMatch !== undefined && { 'if-match': ifMatch }) };
    const typed = body === undefined ? headers : { ...headers, 'content-type': contentType };
    const payload = body === undefined ? {} : { payload: typeof body === 'string' ? body : JSON.stringify(body) };
    const answer = await app.inject({ method, url, headers: typed, ...payload });
    const json = answer.payload === '' ? {} : answer.json<Record<string, unknown>>();
    return { status: answer.statusCode, etag: String(answer.headers['etag'] ?? ''), json };
  };
}

const server = { name: 'files', url: 'http://127.0.0.1:1/mcp' };

t.test('the second of two changes that started from one version of a server is refused', async (t) => {
  const send = callerOf(await createApp(t));
  const made = await send('POST', '/servers', { body: server });
  const read = await send('GET', '/servers/files');
  t.match(read.etag, /^"[\w-]{22}"$/);
  t.equal(made.etag, read.etag, 'what was made is what is read');
  await send('POST', '/servers/files/refresh');
  t.equal((await send('GET', '/servers/files')).etag, read.etag, 'what a probe finds out is nobody’s change');
  const first = await send('PUT', '/servers/files', { body: { ...server, description: 'one' }, ifMatch: read.etag });
  t.equal(first.status, 200);
  const second = await send('PUT', '/servers/files', { body: { ...server, description: 'two' }, ifMatch: read.etag });
  t.equal(second.status, 412);
  t.match(second.json, { detail: /files has changed since it was read/ });
  t.equal((await send('DELETE', '/servers/files', { ifMatch: read.etag })).status, 412);
  t.match((await send('GET', '/servers/files')).json, { description: 'one' });
  const third = await send('PUT', '/servers/files', { body: server, ifMatch: `"other", ${first.etag}` });
  t.equal(third.status, 200, 'the tag of the last change is good, in a list too');
  t.equal((await send('PUT', '/servers/files', { body: server, ifMatch: '*' })).status, 200);
  t.equal((await send('PUT', '/servers/files', { body: server })).status, 200, 'who names none takes what there is');
  t.equal((await send('PUT', '/servers/none', { body: server, ifMatch: read.etag })).status, 404);
  const last = await send('GET', '/servers/files');
  t.equal((await send('DELETE', '/servers/files', { ifMatch: last.etag })).status, 204);
});

t.test('the second of two changes that started from one version of a composition is refused', async (t) => {
  const send = callerOf(await createApp(t));
  await send('POST', '/servers', { body: server });
  const desk = { name: 'desk', servers: [{ name: 'files', tools: ['read'] }] };
  const made = await send('POST', '/compositions', { body: desk });
  const read = await send('GET', '/compositions/desk');
  t.equal(read.etag, made.etag);
  await send('PUT', '/servers/files', { body: { ...server, description: 'another' } });
  t.equal((await send('GET', '/compositions/desk')).etag, read.etag, 'its servers are not it');
  const changed = { ...desk, servers: [{ name: 'files', tools: ['read', 'list'] }] };
  const first = await send('PUT', '/compositions/desk', { body: changed, ifMatch: read.etag });
  t.equal(first.status, 200);
  t.not(first.etag, read.etag);
  t.equal((await send('PUT', '/compositions/desk', { body: desk, ifMatch: read.etag })).status, 412);
  t.equal((await send('DELETE', '/compositions/desk', { ifMatch: read.etag })).status, 412);
  t.match((await send('GET', '/compositions/desk')).json, { servers: changed.servers });
  t.equal((await send('DELETE', '/compositions/desk', { ifMatch: first.etag })).status, 204);
});

t.test('a preview of a server shows what would be registered, and stores nothing', async (t) => {
  const send = callerOf(await createApp(t));
  const backend = await startDemoBackend({ createMcpServer: createCalculator, answerAs: 'json' });
  t.teardown(() => backend.close());
  const body = { name: 'My sums', url: backend.url, tags: ['math'] };
  const { status, json } = await send('POST', '/probes', { body });
  t.equal(status, 200);
  const found = { name: 'My sums', slug: 'my-sums', status: 'active', toolCount: 2, tags: ['math'], lastError: null };
  t.match(json, { server: { ...found, curation: { prefix: 'my-sums' } }, tools: [{ name: 'add' }, { name: 'now' }] });
  t.notOk(Object.hasOwn(json['server'] as object, 'id'));
  t.same((await send('GET', '/servers')).json, []);
  const { id: _, createdAt: _made, ...registered } = (await send('POST', '/servers', { body })).json;
  const times = {
    updatedAt: registered['updatedAt'],
    lastSeen: registered['lastSeen'],
    lastRefreshAt: registered['lastRefreshAt'],
  };
  const { createdAt: _then, ...previewed } = json['server'] as Record<string, unknown>;
  t.same({ ...previewed, ...times }, registered, 'exactly that is registered');
  t.match(await send('POST', '/probes', { body }), { status: 409, json: { detail: /already registered/ } });
  const silent = await send('POST', '/probes', { body: server });
  t.match(silent, { status: 200, json: { server: { status: 'inactive', lastError: /./ }, tools: { length: 0 } } });
  t.match(await send('POST', '/probes', { body: { name: 'x', url: 'ftp://x' } }), { status: 422 });
});

t.test('a merge patch of a server changes the members that it contains, and nothing else', async (t) => {
  const send = callerOf(await createApp(t));
  const auth = { type: 'headers', headers: { authorization: { secret: 'one' }, 'x-key': { secret: 'two' } } };
  const whole = { ...server, description: 'old', tags: ['a', 'b'], enabled: false, auth, curation: { prefix: 'f' } };
  t.equal((await send('POST', '/servers', { body: whole })).status, 201);
  const rows: [object, object][] = [
    [{}, whole],
    [{ description: 'new' }, { ...whole, description: 'new' }],
    [
      { description: null, tags: null, enabled: null },
      { ...whole, description: '', tags: [], enabled: true },
    ],
    [{ tags: ['c'] }, { ...whole, description: '', enabled: true, tags: ['c'] }],
    [
      { auth: { headers: { 'x-key': null } } },
      { tags: ['c'], auth: { type: 'headers', headers: { authorization: { secret: 'one' } } } },
    ],
    [
      { auth: null, curation: null, name: 'Files' },
      { name: 'Files', auth: undefined, curation: undefined },
    ],
  ];
  for (const [body, after] of rows) {
    const { status, json, etag } = await send('PATCH', '/servers/files', { body });
    t.match([status, json], [200, after], JSON.stringify(body));
    if ('auth' in after) t.strictSame(json['auth'], after.auth, 'exactly');
    const read = await send('GET', '/servers/files');
    t.strictSame([read.json, read.etag], [json, etag]);
  }
  const read = await send('GET', '/servers/files');
  t.equal((await send('PATCH', '/servers/files', { body: { tags: ['d'] }, ifMatch: read.etag })).status, 200);
  const late = await send('PATCH', '/servers/files', { body: { tags: ['e'] }, ifMatch: read.etag });
  t.match(late, { status: 412, json: { detail: /has changed since it was read/ } });
  const nested = `${'{"auth":'.repeat(80)}{}${'}'.repeat(80)}`;
  const refused: [unknown, number, RegExp, string?][] = [
    [{ name: null }, 422, /^name is missing$/],
    [{ url: 7 }, 422, /^url must be/],
    [{ url: 'ftp://x' }, 422, /^url must be an http/],
    [{ colour: 'red' }, 422, /^colour is not a known member/],
    [{ auth: { type: 'headers' } }, 422, /headers/],
    [[], 422, /^the body must be an object$/],
    ['7', 422, /^the body must be an object$/],
    [nested, 422, /nested too deeply/],
    ['{"name":', 400, /not JSON/],
    [{ tags: [] }, 415, /send application\/merge-patch\+json/, 'application/json'],
  ];
  for (const [body, status, detail, contentType] of refused) {
    const typed = contentType === undefined ? {} : { contentType };
    t.match(await send('PATCH', '/servers/files', { body, ...typed }), { status, json: { detail } }, String(detail));
  }
  const put = { body: server, contentType: 'application/merge-patch+json' };
  t.equal((await send('PUT', '/servers/files', put)).status, 415, 'the whole of it is no patch');
  t.match((await send('GET', '/servers/files')).json, { tags: ['d'] });
  t.equal((await send('PATCH', '/servers/none', { body: {} })).status, 404);
  t.equal((await send('PATCH', '/compositions/none', { body: {} })).status, 404);
});

t.test('of simultaneous patches none is lost', async (t) => {
  const send = callerOf(await createApp(t));
  await send('POST', '/servers', { body: server });
  await send('POST', '/compositions', { body: { name: 'desk', servers: [{ name: 'files', tools: ['read'] }] } });
  const both = await Promise.all([
    send('PATCH', '/servers/files', { body: { description: 'one' } }),
    send('PATCH', '/servers/files', { body: { tags: ['two'] } }),
    send('PATCH', '/compositions/desk', { body: { description: 'one' } }),
    send('PATCH', '/compositions/desk', { body: { subjects: ['two'] } }),
  ]);
  t.strictSame(
    both.map(({ status }) => status),
    [200, 200, 200, 200],
  );
  t.match((await send('GET', '/servers/files')).json, { description: 'one', tags: ['two'] });
  t.match((await send('GET', '/compositions/desk')).json, { description: 'one', subjects: ['two'] });
  const patch = { servers: [{ name: 'files', tools: ['write'] }], description: null };
  const desk = await send('PATCH', '/compositions/desk', { body: patch });
  t.match([desk.status, desk.json], [200, { ...patch, description: '', subjects: ['two'] }], 'a list is another list');
  t.match(await send('PATCH', '/compositions/desk', { body: { servers: null } }), {
    status: 422,
    json: { detail: 'servers is missing' },
  });
});

t.test('a patch of what others change again and again ends', async (t) => {
  const { registry, compositions, records } = await setStage(t, await stores['embedded']!(t));
  const send = callerOf(await openApp(t, { registry, compositions, records }));
  t.equal((await send('POST', '/servers', { body: server })).status, 201);
  let tries = 0;
  registry.replace = async () => {
    if ((tries += 1) > 100) throw new Error('no end');
    throw new ControlPlaneFault('changed-meanwhile', 'changed meanwhile');
  };
  t.equal((await send('PATCH', '/servers/files', { body: { description: 'one' } })).status, 412);
  t.ok(tries > 1, 'after some more tries');
});

t.test('a tool that its server does not have is refused unless it is forced', async (t) => {
  const send = callerOf(await createApp(t));
  const backend = await startDemoBackend({ createMcpServer: createCalculator, answerAs: 'json' });
  t.teardown(() => backend.close());
  await send('POST', '/servers', { body: { name: 'sums', url: backend.url } });
  await send('POST', '/servers', { body: server });
  const desk = (...tools: string[]) => ({ name: 'desk', servers: [{ name: 'sums', tools }] });
  const refused = await send('POST', '/compositions', { body: desk('add', 'ad') });
  t.match(
    [refused.status, refused.json],
    [422, { detail: /^servers\.0\.tools\.1 "ad" is not a tool of sums: .*force/ }],
  );
  t.match(await send('POST', '/compositions?force=maybe', { body: desk('ad') }), { status: 422 });
  const forced = await send('POST', '/compositions?force=true', { body: desk('add', 'ad') });
  t.match([forced.status, forced.json], [201, { missingTools: [{ server: 'sums', tool: 'ad' }] }]);
  t.equal(
    (await send('PUT', '/compositions/desk', { body: desk('ad', 'add') })).status,
    200,
    'what it has, it may keep',
  );
  const more = desk('ad', 'add', 'noww');
  t.match(await send('PUT', '/compositions/desk', { body: more }), {
    status: 422,
    json: { detail: /tools\.2 "noww" is no/ },
  });
  t.equal((await send('PATCH', '/compositions/desk', { body: { servers: more.servers } })).status, 422);
  t.equal((await send('PATCH', '/compositions/desk?force=true', { body: { servers: more.servers } })).status, 200);
  t.equal((await send('PUT', '/compositions/desk?force=true', { body: desk('x') })).status, 200);
  await send('POST', '/servers', { body: { name: 'more sums', url: backend.url } });
  const both = (...tools: string[]) => ({
    name: 'both',
    servers: [
      { name: 'sums', tools: ['ad'] },
      { name: 'more sums', tools },
    ],
  });
  t.equal((await send('POST', '/compositions?force=true', { body: both('x') })).status, 201);
  t.equal((await send('PUT', '/compositions/both', { body: both('x') })).status, 200);
  t.match(await send('PUT', '/compositions/both', { body: both('ad') }), {
    status: 422,
    json: { detail: /^servers\.1\.tools\.0 "ad" is not a tool of more sums/ },
  });
  // The tools of a server that was never reached are unknown, so none is missing.
  const unread = { name: 'late', servers: [{ name: 'files', tools: ['x'] }] };
  t.match(await send('POST', '/compositions', { body: unread }), { status: 201 });
});
