// What the control plane reports about a dataplane, and to whom: the admin listener is a stand-in, which also misbehaves.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t, { type Test } from 'tap';
import { TokenVerifier } from '../../../src/auth/token-verifier.js';
import { parseClaimPath, parseRoleNames } from '../../../src/config/table/token-options.js';
import type { ListenAddress } from '../../../src/config/index.js';
import { AdminClient } from '../../../src/control-plane/dataplane/admin-client.js';
import { type HttpApp, type HttpAppParts } from '../../../src/control-plane/http/http-app.js';
import { RecentRequests } from '../../../src/observation/recent-requests.js';
import { PROGRAM_VERSION } from '../../../src/shared/program.js';
import { subjectHash } from '../../../src/shared/logger.js';
import { limits, perSubject } from '../../../src/shared/limits.js';
import { tokenOptions } from '../../auth/token-options.js';
import { findFreePort } from '../../support/free-port.js';
import { mint } from '../../support/tokens.js';
import { until } from '../../support/until.js';
import { openApp, SECRET, type Kept } from './app.js';

const roleClaims = { role: parseClaimPath('role'), teams: undefined, roleNames: parseRoleNames('admin=admin') };
const BOUNDS = { answerMsMax: 20_000, otherAnswersMsMax: 20_000, answerBytesMax: 100_000 };
const FOREVER_MS = 2 ** 31 - 1;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** @returns the listener's port, and the paths that it was asked for. */
async function startAdmin(
  t: Test,
  answer: Answer,
  address: Partial<ListenAddress> = {},
): Promise<{ readonly port: number; readonly asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    answer(request, response);
  }).listen(address.port ?? 0, address.host ?? '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, asked };
}

function json(value: unknown, status = 200): Answer {
  return (_request, response) => void response.writeHead(status).end(JSON.stringify(value));
}

type Views = Partial<
  Pick<HttpAppParts, 'adminClient' | 'recentRequests' | 'liveFigures'> & { readonly records: object }
>;

async function appOf(t: Test, views: Views = {}): Promise<HttpApp> {
  const [registry, compositions] = [{ count: async () => 3 }, { countUnpublished: async () => 2 }];
  const kept = { registry, compositions, records: { kind: 'embedded', ping: async () => true } };
  const tokens = new TokenVerifier({ ...tokenOptions({ secret: SECRET }), roleClaims });
  return openApp(t, { ...({ ...kept, ...views } as unknown as Kept), tokenVerifier: tokens });
}

interface Got {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly link: string;
}

async function get(app: HttpApp, url: string, sub: string, role: string): Promise<Got> {
  const authorization = `Bearer ${await mint({ sub, algorithm: 'HS256', key: SECRET, claims: { role } })}`;
  const { statusCode, headers, payload } = await app.inject({ url, headers: { authorization, host: 'localhost' } });
  const link = typeof headers['link'] === 'string' ? headers['link'] : '';
  return { status: statusCode, body: JSON.parse(payload) as Record<string, unknown>, link };
}

const viewsOf = (port: number, bounds = BOUNDS): Views => ({
  adminClient: new AdminClient({ host: '127.0.0.1', port }, bounds),
});

const EXPLAIN = '/dataplane/explanation?virtualHost=vh';

t.test('users other than admins learn only about themselves', async (t) => {
  const told = { workers: [], sessions: [], total: 0, silent: [] };
  const { port, asked } = await startAdmin(t, json(told));
  const app = await appOf(t, viewsOf(port));
  for (const [sub, role, url, expected] of [
    ['ann', 'admin', '/dataplane/sessions', '/sessions?limit=200'],
    ['ann', 'admin', '/dataplane/sessions?subject=bob', '/sessions?subject=bob&limit=200'],
    ['ann', 'admin', `${EXPLAIN}&subject=bob&tool=t`, '/explain?subject=bob&virtual_host=vh&tool=t'],
    ['bob', 'reader', '/dataplane/sessions?cursor=0.7&limit=3', '/sessions?subject=bob&cursor=0.7&limit=3'],
    ['bob', 'reader', '/dataplane/sessions?subject=bob', '/sessions?subject=bob&limit=200'],
    ['bob', 'editor', EXPLAIN, '/explain?subject=bob&virtual_host=vh&tool='],
  ] as const) {
    t.equal((await get(app, url, sub, role)).status, 200, url);
    t.equal(asked.pop(), expected);
  }
  for (const url of ['/dataplane/sessions?subject=ann', `${EXPLAIN}&subject=ann`]) {
    for (const role of ['reader', 'editor']) {
      t.match(await get(app, url, 'bob', role), { status: 403, body: { detail: /requires the role admin/ } });
    }
  }
  for (const [url, words] of [
    ['/dataplane/explanation', /virtualHost/],
    ['/dataplane/sessions?limit=201', /limit/],
    ['/dataplane/sessions?cursor=x', /cursor/],
  ] as const) {
    t.match(await get(app, url, 'ann', 'admin'), { status: 422, body: { detail: words } });
  }
  t.same(asked, [], 'nothing of these was asked');
});

t.test('a request is shown by its id, to its own subject and to admins alone', async (t) => {
  const request = { slot: 0, requestId: 'r', subject: subjectHash('bob'), virtualHost: 'vh', method: 'tools/call' };
  const rest = { backend: 'b', tool: 't', outcome: 'ok', status: 200, durationMs: 5, backendMs: 4, endedAt: 'now' };
  const { port, asked } = await startAdmin(t, json({ requests: [{ ...request, ...rest, unheardOf: 'x' }] }));
  const recent = new RecentRequests(4);
  recent.keep('own', 'bob', 'vh', 'tools/call', 'b', 't', 'ok', '', 200, 7.25, 6.5);
  const app = await appOf(t, { ...viewsOf(port), recentRequests: recent });
  t.strictSame((await get(app, '/requests/r', 'bob', 'none')).body, [{ plane: 'dataplane', ...request, ...rest }]);
  t.equal(asked.pop(), '/requests/r');
  t.equal((await get(app, '/requests/r', 'ann', 'admin')).status, 200);
  t.match(await get(app, '/requests/r', 'eve', 'editor'), {
    status: 404,
    body: { detail: /only admins see those of other subjects/ },
  });
  asked.length = 0;
  const own = await get(app, '/requests/own', 'bob', 'none');
  t.match(own.body, [{ plane: 'control-plane', requestId: 'own', durationMs: 7.3, backendMs: 6.5, detail: undefined }]);
  recent.keep('bad', 'bob', 'vh', 'tools/call', 'b', 't', 'fault', 'answer-timeout', 200, 1, -1);
  const bad = await get(app, '/requests/bad', 'ann', 'admin');
  t.match(bad.body, [{ subject: subjectHash('bob'), detail: 'answer-timeout', backendMs: undefined }]);
  t.equal((await get(app, '/requests/own', 'eve', 'reader')).status, 404);
  t.same(asked, [], 'of what it knows itself nobody is asked');
});

t.test('live figures are a stream that no proxy holds back, and HEAD opens none', async (t) => {
  const opened: unknown[][] = [];
  let stream: Readable | undefined = Readable.from(['event: load\n\n']);
  const app = await appOf(t, { liveFigures: { open: (...asked: unknown[]) => (opened.push(asked), stream) } });
  const ask = async (method: 'GET' | 'HEAD', sub: string, role: string) => {
    const authorization = `Bearer ${await mint({ sub, algorithm: 'HS256', key: SECRET, claims: { role } })}`;
    return app.inject({ method, url: '/dataplane/live', headers: { authorization, host: 'localhost' } });
  };
  t.match(await ask('HEAD', 'ann', 'admin'), { statusCode: 200, payload: '' });
  t.same(opened, []);
  const { statusCode, headers, payload } = await ask('GET', 'ann', 'admin');
  t.match({ statusCode, payload }, { statusCode: 200, payload: 'event: load\n\n' });
  t.match(headers, { 'content-type': /^text\/event-stream/, 'x-accel-buffering': 'no' });
  stream = undefined;
  t.match(await ask('GET', 'bob', 'reader'), { statusCode: 503 });
  t.same(opened, [
    ['ann', true],
    ['bob', false],
  ]);
  t.match(await get(await appOf(t), '/dataplane/live', 'ann', 'admin'), {
    status: 404,
    body: { detail: /--dataplane/ },
  });
});

t.test('a caller is told who it is, with a role or without, and how the control plane is', async (t) => {
  const app = await appOf(t);
  t.strictSame((await get(app, '/whoami', 'ann', 'admin')).body, { subject: 'ann', role: 'admin', teams: [] });
  t.strictSame((await get(app, '/whoami', 'bob', 'none')).body, { subject: 'bob', role: null, teams: [] });
  const { body } = await get(app, '/version', 'bob', 'none');
  t.match(body, { app: { name: 'switchyard', version: PROGRAM_VERSION }, status: 'healthy', uptimeSeconds: Number });
  t.match(body, { store: { kind: 'embedded', reachable: true }, servers: 3, unpublishedChanges: 2 });
  t.ok(Math.abs(Date.parse(String(body['timestamp'])) - Date.now()) < 600_000);
  const lost = await appOf(t, { records: { kind: 'embedded', ping: async () => false } });
  t.match((await get(lost, '/version', 'bob', 'none')).body, {
    ...{ status: 'unhealthy', store: { reachable: false }, servers: null, unpublishedChanges: null },
  });
});

t.test('pages follow each other', async (t) => {
  const { port } = await startAdmin(t, json({ sessions: [], total: 9, next: '1.4', silent: [1] }));
  const app = await appOf(t, viewsOf(port));
  const { body, link } = await get(app, '/dataplane/sessions?limit=4', 'ann', 'admin');
  t.strictSame(body, { sessions: [], total: 9, silent: [1] });
  t.equal(link, '</dataplane/sessions?limit=4&cursor=1.4>; rel="next"');
});

t.test('without an address the response says which option names one', async (t) => {
  const app = await appOf(t);
  for (const url of [EXPLAIN, '/dataplane/sessions', '/requests/x']) {
    t.match(await get(app, url, 'bob', 'reader'), { status: 404, body: { detail: /--dataplane-admin-address/ } });
  }
});

t.test('the address of the listener, and why it does not answer, are for admins', async (t) => {
  const silent = await startAdmin(t, () => {});
  const cases: readonly (readonly [Answer, RegExp])[] = [
    [(_request, response) => void response.writeHead(302, { location: '/' }).end(), /does not respond: .*redirect/],
    [(_request, response) => void response.end('<html>'), /its response is not JSON/],
    [(_request, response) => void response.end(JSON.stringify('x'.repeat(100_000))), /more than 100000 bytes/],
    [json({ detail: 'this host or origin is not let in' }, 403), /refused the question: this host/],
    [json({ detail: 'the workers are asked too much' }, 503), /the workers are asked too much/],
    [json({ sessions: 'none' }), /another version/],
  ];
  for (const [answer, words] of cases) {
    const { port } = await startAdmin(t, answer);
    const app = await appOf(t, viewsOf(port));
    const told = await get(app, '/dataplane/sessions', 'ann', 'admin');
    t.match(told, { status: 503, body: { detail: words } });
    const { status, body } = await get(app, '/dataplane/sessions', 'bob', 'reader');
    t.equal(status, 503);
    t.notMatch(body['detail'], /127\.|host or origin|workers/, 'and nobody else is told more than that');
  }
  const app = await appOf(t, viewsOf(silent.port, { ...BOUNDS, answerMsMax: 50 }));
  t.match((await get(app, '/dataplane/sessions', 'ann', 'admin')).body, {
    detail: /did not respond in 50 ms; check that/,
  });
  const gone = await appOf(t, viewsOf(await findFreePort()));
  t.match((await get(gone, '/dataplane/sessions', 'ann', 'admin')).body, { detail: /127\.0\.0\.1:\d+ .*ECONNREFUSED/ });
  t.notMatch((await get(gone, '/dataplane/sessions', 'bob', 'editor')).body['detail'], /127|ECONN/);
});

t.test('one subject’s requests leave room for others’', async (t) => {
  const held: ServerResponse[] = [];
  const { port, asked } = await startAdmin(t, (_request, response) => void held.push(response));
  const app = await appOf(t, viewsOf(port));
  const own = perSubject(limits.dataplaneQuestionsMax);
  const subjects = Array.from({ length: limits.dataplaneQuestionsMax / own }, (_, n) => `s${n}`);
  const first = Array.from({ length: own }, () => get(app, '/dataplane/sessions', 's0', 'admin'));
  await until(() => asked.length === own, 'the first are asked');
  t.match(await get(app, '/dataplane/sessions', 's0', 'admin'), {
    status: 503,
    body: { detail: /Too many questions/ },
  });
  const others = subjects.slice(1).flatMap((subject) => {
    return Array.from({ length: own }, () => get(app, '/dataplane/sessions', subject, 'admin'));
  });
  await until(() => asked.length === limits.dataplaneQuestionsMax, 'all others are asked');
  t.equal((await get(app, '/dataplane/sessions', 'late', 'admin')).status, 503);
  for (const response of held) response.end('{"sessions":[],"total":0,"silent":[]}');
  for (const { status } of await Promise.all([...first, ...others])) t.equal(status, 200);
  const again = get(app, '/dataplane/sessions', 's0', 'admin');
  await until(() => held.length > limits.dataplaneQuestionsMax, 'the next is asked');
  held.at(-1)?.end('{"sessions":[],"total":0,"silent":[]}');
  t.equal((await again).status, 200, 'what is answered counts no more');
});

/** Sessions as a dataplane shows them: `count` of them on one slot, as many on a page as asked for. */
function sessionsOn(count: number): Answer {
  const session = { subject: '0123456789ab', virtualHost: 'vh', protocolVersion: '2025-11-25', client: 'c' };
  const rest = { slot: 0, ageS: 1, idleS: 1, isBusy: false, backends: [] };
  return (request, response) => {
    const query = new URL(request.url ?? '', 'http://host').searchParams;
    const first = Number((query.get('cursor') ?? '0.0').split('.')[1]);
    const last = Math.min(count, first + Number(query.get('limit')));
    const sessions = Array.from({ length: last - first }, (_, n) => ({
      ...session,
      ...rest,
      session: `s${first + n}`,
    }));
    const next = last < count ? { next: `0.${last}` } : {};
    response.end(JSON.stringify({ sessions, total: count, silent: [3], ...next }));
  };
}

/** Dataplanes on loopback addresses of their own, and an app that knows them by one name. */
async function startSeveral(
  t: Test,
  answers: readonly Answer[],
  others: readonly string[] = [],
  bounds = BOUNDS,
): Promise<HttpApp> {
  const port = await findFreePort();
  const hosts = answers.map((_, n) => `127.0.0.${n + 2}`);
  for (const [n, answer] of answers.entries()) await startAdmin(t, answer, { host: hosts[n]!, port });
  const client = new AdminClient({ host: 'dataplanes.test', port }, bounds, async () => [...hosts, ...others].sort());
  return appOf(t, { adminClient: client });
}

t.test('a name with several addresses stands for several dataplanes', async (t) => {
  const worker = { slot: 0, config: 'read', verdict: 'allowed' };
  const explained = (silent: readonly number[]): Answer => json({ workers: [worker], silent });
  const app = await startSeveral(t, [explained([]), explained([1])], ['127.0.0.9']);
  const { body } = await get(app, EXPLAIN, 'ann', 'admin');
  t.match(body, {
    workers: [
      { slot: '1/0', verdict: 'allowed' },
      { slot: '2/0', verdict: 'allowed' },
    ],
    silent: ['2/1', '3'],
  });
  t.notMatch(JSON.stringify((await get(app, EXPLAIN, 'bob', 'reader')).body), '127.0.0', 'addresses are for admins');
  const told = { slot: 1, requestId: 'r', subject: subjectHash('bob'), virtualHost: 'vh', method: 'tools/call' };
  const rest = { backend: 'b', tool: 't', outcome: 'ok', status: 200, durationMs: 5, endedAt: 'now' };
  const second = await startSeveral(t, [json({}, 404), json({ requests: [{ ...told, ...rest }] })]);
  const found = await get(second, '/requests/r', 'bob', 'none');
  t.match(found.body, [{ requestId: 'r', slot: '2/1' }], 'one of them knows the request');
  const third = await startSeveral(t, [json({}, 404)], ['127.0.0.9']);
  const lost = await get(third, '/requests/r', 'bob', 'none');
  t.match(lost, { status: 503, body: { detail: /some do not respond/ } }, 'the one that knew it may be silent');
  const all = await startSeveral(t, [json({}, 404), json({ requests: [] })]);
  t.equal((await get(all, '/requests/r', 'bob', 'none')).status, 404, 'none of them knows it');
});

t.test('a dataplane that hangs does not delay what the others answer', async (t) => {
  const bounds = { ...BOUNDS, answerMsMax: FOREVER_MS, otherAnswersMsMax: 1 };
  const app = await startSeveral(t, [() => {}, sessionsOn(1)], [], bounds);
  const { body } = await get(app, '/dataplane/sessions', 'ann', 'admin');
  t.match(body, { sessions: [{ session: 's0' }], silent: ['2/3', '1'] });
});

t.test('a dataplane that hangs is given up at its deadline, whatever garbage was collected', async (t) => {
  const { port } = await startAdmin(t, () => {});
  const client = new AdminClient({ host: '127.0.0.1', port }, { ...BOUNDS, answerMsMax: 300 });
  const timer = setInterval(collectGarbage, 10);
  t.teardown(() => clearInterval(timer));
  const { status, body } = await get(await appOf(t, { adminClient: client }), EXPLAIN, 'ann', 'admin');
  t.match({ status, body }, { status: 503, body: { detail: /did not respond in 300 ms/ } });
});

t.test('the sessions of several dataplanes follow each other, a page of one at a time', async (t) => {
  const app = await startSeveral(t, [sessionsOn(3), sessionsOn(0), sessionsOn(2)]);
  const seen: string[] = [];
  for (let url = '/dataplane/sessions?limit=2'; url !== '';) {
    const { status, body, link } = await get(app, url, 'ann', 'admin');
    t.equal(status, 200);
    t.match(body, { total: 5, silent: ['1/3', '2/3', '3/3'] });
    const sessions = body['sessions'] as readonly { readonly slot: string; readonly session: string }[];
    seen.push(sessions.map(({ slot, session }) => `${slot} ${session}`).join());
    url = /^<(.*)>; rel="next"$/.exec(link)?.[1] ?? '';
  }
  t.same(seen, ['1/0 s0,1/0 s1', '1/0 s2', '3/0 s0,3/0 s1']);
  const { body, link } = await get(app, '/dataplane/sessions?cursor=2/0.0', 'ann', 'admin');
  t.match(body, { sessions: { length: 0 } });
  t.match(link, /cursor=3(%2F|\/)0\.0/, 'where one has none, or is gone, the next one follows');
});

t.test('when none of several dataplanes responds, or the name is unknown, that is said', async (t) => {
  const app = await startSeveral(t, [], ['127.0.0.8', '127.0.0.9']);
  const { status, body } = await get(app, EXPLAIN, 'ann', 'admin');
  t.equal(status, 503);
  t.match(body['detail'], /admin listener at http:\/\/127\.0\.0\.8:\d+ does not respond: ECONNREFUSED/);
  const named = async (lookUp: () => Promise<never>, answerMsMax = BOUNDS.answerMsMax) => {
    const client = new AdminClient({ host: 'dataplanes.test', port: 8002 }, { ...BOUNDS, answerMsMax }, lookUp);
    return appOf(t, { adminClient: client });
  };
  const unknown = await named(() => Promise.reject(Object.assign(new Error('getaddrinfo'), { code: 'ENOTFOUND' })));
  const answer = await get(unknown, EXPLAIN, 'ann', 'admin');
  t.match(answer, { status: 503, body: { detail: /dataplanes\.test:8002 .*: the name was not found \(ENOTFOUND\)/ } });
  t.notMatch((await get(unknown, EXPLAIN, 'bob', 'reader')).body['detail'], /dataplanes/);
  const silent = await named(() => new Promise(() => {}), 50);
  await startAdmin(t, () => {}); // keeps the process running meanwhile
  t.match((await get(silent, EXPLAIN, 'ann', 'admin')).body, { detail: /the name was not found \(no answer\)/ });
});
