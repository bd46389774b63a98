// The `fetch` over the HTTP client: what its responses say, and how its requests end early.
import t, { type Test } from 'tap';
import { Http1Upstream } from '../../src/http-client/http1-upstream.js';
import { Names } from '../../src/http-client/names/names.js';
import { faultReason, type UpstreamFault } from '../../src/http-client/upstream-fault.js';
import { type FetchedRequest, upstreamFetch } from '../../src/http-client/upstream-fetch.js';
import { startRawBackend, type RawBackend, type RawHandler } from '../support/raw-backend.js';
import { until } from '../support/until.js';

const BODY_BYTES_MAX = 1_000;

interface Stage {
  readonly backend: RawBackend;
  readonly fetch: (request?: FetchedRequest) => Promise<Response>;
  readonly ending: AbortController;
}

async function stage(t: Test, handler: RawHandler): Promise<Stage> {
  const backend = await startRawBackend(handler);
  const http = new Http1Upstream({ connectTimeoutMs: 10_000, names: new Names() });
  t.teardown(async () => {
    await http.close();
    await backend.close();
  });
  const ending = new AbortController();
  let bytes = 0;
  const means = {
    http,
    subject: 'alice',
    signal: ending.signal,
    acceptsPiece: ({ length }: Buffer): boolean => (bytes += length) <= BODY_BYTES_MAX,
    errorOf: (fault: UpstreamFault): Error => new Error(fault.kind, { cause: faultReason(fault) }),
  };
  const fetch = async (request: FetchedRequest = {}): Promise<Response> =>
    upstreamFetch(means, new URL(`${backend.origin}/a?b=c`), request);
  return { backend, fetch, ending };
}

t.test('a request is sent as it is, GET unless it says otherwise', async (t) => {
  const { backend, fetch } = await stage(t, (request) => request.json('{}'));
  t.same(await (await fetch({ headers: { accept: 'application/json' } })).json(), {});
  await fetch({ method: 'POST', body: new URLSearchParams({ grant: 'a b' }) });
  await fetch({ method: 'POST', body: '"text"' });
  t.match(backend.requests, [
    { method: 'GET', path: '/a?b=c', headers: { accept: 'application/json' }, text: '' },
    { method: 'POST', path: '/a?b=c', text: 'grant=a+b' },
    { method: 'POST', text: '"text"' },
  ]);
  t.notOk('content-length' in backend.requests[0]!.headers, 'without a body');
});

t.test('an answer without a body is a response', async (t) => {
  for (const status of [204, 205, 304]) {
    const { fetch } = await stage(t, (request) => request.empty(status));
    const response = await fetch();
    t.equal(response.status, status);
    t.equal(await response.text(), '');
  }
});

t.test('of the headers, a response has those that mean something with its status', async (t) => {
  const sent = {
    'set-cookie': 'a=1',
    location: '/b',
    'retry-after': '7',
    'www-authenticate': 'Bearer',
    'mcp-session-id': 's',
  };
  for (const [status, name] of [
    [200, 'set-cookie'],
    [302, 'location'],
    [503, 'retry-after'],
    [401, 'www-authenticate'],
  ] as const) {
    const { fetch } = await stage(t, (request) => request.json('{}', { status, headers: sent }));
    const { headers } = await fetch();
    const expected = { 'content-type': 'application/json', 'mcp-session-id': 's', [name]: sent[name] };
    t.same(Object.fromEntries(headers), expected, String(status));
  }
  const { fetch } = await stage(t, (request) => request.empty(200));
  t.same([...(await fetch()).headers], [], 'and none that are empty');
});

t.test(
  'a redirect is followed within the origin; that of a POST, which may carry a secret, only over a slash',
  async (t) => {
    const post = { method: 'POST', body: 'secret' };
    const rows: readonly (readonly [request: FetchedRequest, status: number, location: string, isFollowed: boolean])[] =
      [
        ...[301, 302, 303, 307, 308].map((status) => [{}, status, '/other?x', true] as const),
        [{}, 300, '/other', false],
        [{}, 302, 'http://localhost:1/', false],
        [{}, 302, '', false],
        [post, 307, '/a/?b=c', true],
        [post, 308, '/a/?b=c', true],
        [post, 302, '/a/?b=c', false],
        [post, 307, '/other', false],
        [post, 307, 'http://localhost:1/a/?b=c', false],
      ];
    for (const [request, status, location, isFollowed] of rows) {
      const { backend, fetch } = await stage(t, (received) =>
        received.path === '/a?b=c' ? received.empty(status, { location }) : received.json('{}'),
      );
      const what = `${request.method ?? 'GET'} ${status} to ${location}`;
      t.equal((await fetch(request)).status, isFollowed ? 200 : status, what);
      t.same(backend.requests.map(({ text }) => text).slice(1), isFollowed ? [request.body ?? ''] : [], what);
    }
    const endless = await stage(t, (request) => request.empty(302, { location: `${request.path}x` }));
    t.equal((await endless.fetch()).status, 302);
    t.equal(endless.backend.requests.length, 6);
  },
);

t.test('an answer that is no response, or larger than its reader takes, is a fault', async (t) => {
  const odd = await stage(t, (request) => request.empty(600));
  await t.rejects(odd.fetch(), { message: 'answer-invalid' });
  const large = await stage(t, (request) => request.json(`"${'x'.repeat(BODY_BYTES_MAX)}"`));
  await t.rejects((await large.fetch()).text(), { message: 'answer-too-large' });
  await until(() => large.backend.openConnections === 0, 'the end of its connection');
});

t.test('the signal ends a request before its answer, and while the answer is read', async (t) => {
  const silent = await stage(t, () => undefined);
  const unanswered = silent.fetch();
  await silent.backend.request(0);
  silent.ending.abort();
  await t.rejects(unanswered, { message: 'answer-timeout' });
  await t.rejects(silent.fetch(), { message: 'answer-timeout' }, 'and any later one');
  t.equal(silent.backend.requests.length, 1, 'which is not sent');
  const half = await stage(t, (request) => request.bytes('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{'));
  const text = (await half.fetch()).text();
  half.ending.abort();
  await t.rejects(text, { message: 'answer-timeout' });
  await until(() => half.backend.openConnections === 0, 'the end of its connection');
});

t.test('a response whose reader does not want the rest ends its connection', async (t) => {
  const { backend, fetch } = await stage(t, (request) =>
    request.bytes('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{'),
  );
  await (await fetch()).body?.cancel();
  await until(() => backend.openConnections === 0, 'the end of its connection');
});
