// What the commands that query a dataplane print of its answers, whatever clients and backends have put into these.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { AdminConnection } from '../../src/cli/admin-commands.js';
import * as commands from '../../src/cli/admin-commands.js';
import { sessionHash } from '../../src/shared/logger.js';
import { mintSessionId } from '../../src/worker/session-id.js';

const HOSTILE = 'evil\u001b[2J\u202e\n2nd line';
const session = {
  ...{
    slot: 1,
    session: '0123456789ab',
    subject: 'ba9876543210',
    virtualHost: 'vh',
    protocolVersion: '2025-11-25',
    client: HOSTILE,
    ageS: 7_300,
    idleS: 5,
    isBusy: false,
  },
  backends: [{ name: HOSTILE, state: 'unavailable', reason: 'connection refused' }],
};

/** An admin listener that serves these pages. */
function adminWith(pages: Readonly<Record<string, unknown>>) {
  const asked: string[] = [];
  return {
    asked,
    get: async (path: string) => (asked.push(path), pages[path]),
    find: async (path: string) => (asked.push(path), pages[path]),
    put: async (path: string, value: unknown) => ({ path, value }),
  };
}

t.test('sessions of all pages are printed, a line each, without control sequences', async (t) => {
  const admin = adminWith({
    '/sessions?cursor=0.0&subject=a+b': { sessions: [session], total: 2, next: '1.1', silent: [] },
    '/sessions?cursor=1.1&subject=a+b': { sessions: [{ ...session, client: '' }], total: 2, silent: [3] },
  });
  const { text, answer } = await commands.listSessions({ subject: 'a b' }, { admin, columns: undefined });
  t.match(answer, { sessions: [{ session: '0123456789ab' }, { session: '0123456789ab' }] });
  t.match(
    String(text),
    /^SESSION .*\n0123456789ab {2}ba9876543210 {2}vh .*2h {3}5s {4}1 .*\n0123456789ab .*\n\nNo answer from the workers of slots 3\.\n$/,
  );
  t.notMatch(String(text), /[\u001b\u202e]/);
});

t.test('an id is looked up as that of a request, then of a session', async (t) => {
  const request = {
    ...{ slot: 0, requestId: 'r', subject: 's', virtualHost: 'vh', method: 'tools/call', backend: 'b', tool: HOSTILE },
    ...{ outcome: 'fault', detail: 'answer-timeout', status: 200, durationMs: 12, backendMs: 10, endedAt: 'then' },
  };
  const ofRequest = adminWith({ '/requests/r': { requests: [request], silent: [] } });
  const { text } = await commands.explain({ id: 'r' }, { admin: ofRequest, columns: undefined });
  t.match(String(text), /outcome +fault: answer-timeout\nstatus +200\ntook +12 ms, the backend 10 ms of it\n/);
  t.notMatch(String(text), /[\u001b\u202e]/);
  const ofSession = adminWith({ '/sessions?session=0123456789ab': { sessions: [session], total: 1, silent: [] } });
  const found = await commands.explain({ id: '0123456789ab' }, { admin: ofSession, columns: undefined });
  t.match(String(found.text), /BACKEND +STATE +WHY\nevil.*unavailable +connection refused\n$/);
});

t.test('a whole session id is looked up by its hash, and is sent nowhere', async (t) => {
  const id = mintSessionId(0, 4);
  const path = `/sessions?session=${sessionHash(id)}`;
  const admin = adminWith({ [path]: { sessions: [session], total: 1, silent: [] } });
  const { text } = await commands.explain({ id }, { admin, columns: undefined });
  t.match(String(text), /^session +0123456789ab\n/);
  t.strictSame(admin.asked, [path]);
});

t.test('for an unknown id: which ids there are, and where to look', async (t) => {
  for (const id of ['x', '0123456789ab', mintSessionId(0, 4)]) {
    const hash = id === '0123456789ab' ? id : sessionHash(id);
    const admin = adminWith({ [`/sessions?session=${hash}`]: { sessions: [], total: 0, silent: [2] } });
    const explained = commands.explain({ id }, { admin, columns: undefined });
    await t.rejects(explained, {
      name: 'CliFault',
      exitStatus: 66,
      message: /id of a recent request \(x-request-id\)/,
    });
    const { message } = (await explained.catch((error: unknown) => error)) as Error;
    t.match(message, /or the id or the hash of an open session \(`switchyard sessions` lists the hashes\)/);
    t.match(message, /\(401\).* is only in the dataplane's log: the line with its `requestId` has the `refusal`/);
    t.match(message, /A session that has ended is there, too: .*`session`, with --access-log/);
    t.match(message, /No answer from the workers of slots 2\./);
    if (id !== 'x') t.notMatch(message, id);
  }
});

t.test('why somebody has a tool or not', async (t) => {
  const known = { name: 'b', origin: 'http://b', prefix: 'b-', circuit: 'open', reason: 'connection refused' };
  const sessions = [{ session: '0123456789ab', state: 'open' }];
  const backend = { ...known, lastFault: null, allowedTools: ['add'], sessions };
  const worker = { slot: 0, config: 'read', verdict: 'not allowed: …' };
  const admin = adminWith({
    '/explain?subject=s&virtual_host=v&tool=b-x': {
      workers: [{ ...worker, backends: [backend] }],
      silent: [],
    },
  });
  const asked = { subject: 's', virtualHost: 'v', tool: 'b-x' };
  const { text } = await commands.explain(asked, { admin, columns: undefined });
  t.match(
    String(text),
    /^config +read\nverdict +not allowed: …\n\nBACKEND .*\nb +http:\/\/b +0 +open +connection refused +add +open\n$/,
  );
  const odd = { ...backend, forgiven: { 'id-as-text': 12 } };
  const oddly = adminWith({
    '/explain?subject=s&virtual_host=v&tool=b-x': { workers: [{ ...worker, backends: [odd] }], silent: [] },
  });
  const told = await commands.explain(asked, { admin: oddly, columns: undefined });
  t.match(String(told.text), /\n\nBACKEND +SLOT +FORGIVEN +TIMES\nb +0 +id as text +12\n$/, 'what was overlooked');
  const kept = { readAt: '2026-01-01T00:00:00Z', usedUntil: '2026-01-01T01:00:00Z' };
  const keeping = adminWith({
    '/explain?subject=s&virtual_host=v&tool=b-x': {
      workers: [{ ...worker, config: 'kept', kept, backends: [backend] }],
      silent: [],
    },
  });
  const { text: keptText } = await commands.explain(asked, { admin: keeping, columns: undefined });
  t.match(String(keptText), /^config +kept\nkept +read at 2026-01-01T00:00:00Z, used until 2026-01-01T01:00:00Z\n/);
  await t.rejects(commands.explain(asked, { admin: adminWith({}), columns: undefined }), {
    name: 'CliFault',
    exitStatus: 69,
  });
});

t.test('the log level', async (t) => {
  const { answer } = await commands.setLogLevel({ level: 'debug' }, { admin: adminWith({}) });
  t.strictSame(answer, { path: '/log-level', value: { level: 'debug' } });
});

t.test('no sessions, no workers: what there is not is said', async (t) => {
  const none = adminWith({ '/sessions?cursor=0.0': { sessions: [], total: 0, silent: [] } });
  t.same(await commands.listSessions({ subject: undefined }, { admin: none, columns: undefined }), {
    answer: { sessions: [], silent: [] },
    text: 'No sessions.\n',
  });
  const asked = { subject: 's', virtualHost: 'v', tool: undefined };
  const path = '/explain?subject=s&virtual_host=v&tool=';
  const nobody = adminWith({ [path]: { workers: [], silent: [] } });
  t.equal((await commands.explain(asked, { admin: nobody, columns: undefined })).text, 'No worker answers.\n');
  const silent = adminWith({ [path]: { workers: [], silent: [1, 2] } });
  t.equal(
    (await commands.explain(asked, { admin: silent, columns: undefined })).text,
    '\nNo answer from the workers of slots 1, 2.\n',
  );
});

t.test('how long ago is told in seconds, then in minutes, then in hours', async (t) => {
  for (const [ageS, text] of [
    [0, '0s'],
    [119, '119s'],
    [120, '2m'],
    [7_199, '119m'],
    [7_200, '2h'],
    [100_000, '27h'],
  ] as const) {
    const admin = adminWith({
      '/sessions?cursor=0.0': { sessions: [{ ...session, client: 'c', ageS, backends: [] }], total: 1, silent: [] },
    });
    const told = await commands.listSessions({ subject: undefined }, { admin, columns: undefined });
    t.equal(String(told.text).split(/\s+/)[13], text);
  }
});

t.test('what each worker knows of each backend is a line of its own', async (t) => {
  const backend = { name: 'b', origin: 'http://b', prefix: 'b-', circuit: 'closed', allowedTools: 'all' };
  const workers = [
    {
      ...{ slot: 0, config: 'read', oddities: 'an odd thing', virtualHosts: ['v', 'w'], verdict: 'allowed' },
      backends: [
        {
          ...backend,
          lastFault: { reason: 'timeout', at: 'then' },
          sessions: ['open', 'opening', 'open'].map((state) => ({ session: '0123456789ab', state })),
        },
      ],
    },
    {
      ...{ slot: 1, config: 'read' },
      backends: [{ ...backend, lastFault: null, obstacle: 'no secret', allowedTools: ['a', 'b'], sessions: [] }],
    },
  ];
  const admin = adminWith({ '/explain?subject=s&virtual_host=v&tool=': { workers, silent: [2] } });
  const asked = { subject: 's', virtualHost: 'v', tool: undefined };
  t.equal(
    (await commands.explain(asked, { admin, columns: undefined })).text,
    [
      'config         read',
      'oddities       an odd thing',
      'virtual hosts  v, w',
      'verdict        allowed',
      '',
      'BACKEND  ORIGIN    SLOT  CIRCUIT    LAST ERROR      TOOLS  SESSIONS',
      'b        http://b  0     closed     timeout (then)  all    2 open, opening',
      'b        http://b  1     no secret                  a,b',
      '',
      'No answer from the workers of slots 2.',
      '',
    ].join('\n'),
  );
});

t.test('a request that ended without a status, and was asked of no backend, is told as that', async (t) => {
  const request = {
    ...{ slot: 3, requestId: 'r', subject: 's', virtualHost: 'vh', method: 'ping', backend: '', tool: '' },
    ...{ outcome: 'gone', status: 0, durationMs: 12, endedAt: 'then' },
  };
  const admin = adminWith({ '/requests/r%2F1': { requests: [request, request], silent: [] } });
  const { text, answer } = await commands.explain({ id: 'r/1' }, { admin, columns: undefined });
  const one = [
    ...[
      'request       r',
      'ended         then',
      'subject       s',
      'virtual host  vh',
      'method        ping',
      'backend',
    ],
    ...['tool', 'outcome       gone', 'status        none', 'took          12 ms', 'slot          3', ''],
  ].join('\n');
  t.equal(text, `${one}\n${one}`);
  t.match(answer, { requests: [{ requestId: 'r' }, { requestId: 'r' }] });
  const refused = adminWith({ '/requests/r': { requests: [{ ...request, verdict: 'not allowed' }], silent: [] } });
  const explained = await commands.explain({ id: 'r' }, { admin: refused, columns: undefined });
  t.match(String(explained.text), /outcome +gone\nnow +not allowed\n/);
});

t.test('the listener of a dataplane is asked as it must be, and its refusals are told', async (t) => {
  const asked: string[] = [];
  let answer: readonly [status: number, text: string] = [200, '{"a":1}'];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.accept}`);
    request.resume().on('end', () => void response.writeHead(answer[0], { location: '/x' }).end(answer[1]));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const admin = new AdminConnection({ host: '127.0.0.1', port });
  t.same(await admin.get('/sessions'), { a: 1 });
  t.same(await admin.put('/log-level', { level: 'debug' }), { a: 1 });
  t.same(asked, ['GET /sessions application/json', 'PUT /log-level application/json']);
  for (const [status, exitStatus] of [
    [400, 65],
    [403, 77],
    [404, 66],
    [500, 69],
    [503, 75],
  ] as const) {
    answer = [status, '{"detail":"the reason"}'];
    await t.rejects(admin.get('/'), { name: 'CliFault', exitStatus, message: 'the reason' }, String(status));
    // The second is what a dataplane's listener for clients says.
    for (const foreign of ['[]', '{"detail":"Not Found"}']) {
      answer = [status, foreign];
      const message = `what answers at http://127.0.0.1:${port} (HTTP status ${status}) is no admin listener; give the --admin-address of a dataplane`;
      await t.rejects(admin.get('/'), { exitStatus: 69, message });
    }
  }
  answer = [404, '{"detail":"the reason"}'];
  t.equal(await admin.find('/requests/x'), undefined);
  answer = [503, '{"detail":"the reason"}'];
  await t.rejects(admin.find('/requests/x'), { name: 'CliFault', exitStatus: 75 });
  for (const strange of [
    [200, 'no json'],
    [302, '{}'],
  ] as const) {
    answer = strange;
    await t.rejects(admin.get('/'), {
      exitStatus: 69,
      message: `no admin listener answers at http://127.0.0.1:${port}; start a dataplane, or give its --admin-address`,
    });
  }
  await t.rejects(new AdminConnection({ host: '::1', port: 1 }).get('/'), { message: /at http:\/\/\[::1\]:1;/ });
});
