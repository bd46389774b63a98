// The commands that ask a control plane: what each asks, what it prints, and with which status it ends. The control plane here answers
// what the test says.
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import * as compositions from '../../src/cli/compositions.js';
import { CliFault, printResult, type CommandResult } from '../../src/cli/command-result.js';
import { ControlPlaneConnection, pathOf, whoami, type CommandContext } from '../../src/cli/control-plane-connection.js';
import * as servers from '../../src/cli/servers.js';

interface Asked {
  readonly line: string;
  readonly body: unknown;
  readonly headers: IncomingHttpHeaders;
}

interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** As JSON; `undefined` for no content. */
  readonly body?: unknown;
  /** In place of JSON. */
  readonly text?: string;
  /** Cuts the connection in the middle of the response. */
  readonly isCut?: boolean;
}

interface Scene extends CommandContext {
  readonly asked: readonly Asked[];
  readonly url: string;
}

/** @param answers one for each request; the last one for all that follow. */
async function scene(t: Test, ...answers: readonly Answer[]): Promise<Scene> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    request.on('end', () => {
      const { status = 200, headers = {}, body, text: raw, isCut } = answers[asked.length] ?? answers.at(-1)!;
      asked.push({
        line: `${request.method} ${request.url}`,
        body: text === '' ? undefined : JSON.parse(text),
        headers: request.headers,
      });
      const content = raw ?? (body === undefined ? '' : JSON.stringify(body));
      const length = Buffer.byteLength(content) + (isCut === true ? 10 : 0);
      response.writeHead(status, { ...(status === 204 ? {} : { 'content-length': length }), ...headers });
      if (isCut !== true) return void response.end(content);
      response.write(content, () => response.destroy());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    asked,
    url,
    connection: new ControlPlaneConnection(url, 'x.y.z'),
    columns: undefined,
    print: async () => {},
  };
}

const SERVER = {
  ...{ id: 'i1', name: 'git', slug: 'git', url: 'https://git.example/mcp', description: 'code', tags: ['a', 'b'] },
  ...{ status: 'active', enabled: true, toolCount: 2, lastSeen: '2026-01-02T03:04:05.678Z', lastError: null },
};
const COMPOSITION = {
  ...{ id: 'c1', name: 'dev', description: 'for all', subjects: ['alice', 'bob'], missingTools: [] },
  servers: [
    { name: 'git', tools: ['log', 'show'], prompts: ['p'] },
    { name: 'wiki', tools: ['find'] },
  ],
};

function lines(...each: readonly string[]): string {
  return each.map((line) => `${line}\n`).join('');
}

async function faultOf(work: Promise<unknown>): Promise<{ exitStatus: number; message: string }> {
  try {
    await work;
  } catch (error) {
    if (error instanceof CliFault) return { exitStatus: error.exitStatus, message: error.message };
    throw error;
  }
  throw new Error('it did not fail');
}

t.test('servers are listed as a table, from all pages, and by tags and status if so asked', async (t) => {
  const other = { ...SERVER, name: 'wiki', tags: [], enabled: false, status: 'inactive', lastError: 'refused' };
  const way = await scene(
    t,
    { body: [SERVER], headers: { link: '</servers?tags=a%2Cb&cursor=x>; rel="next"' } },
    { body: [other] },
  );
  const { answer, text } = await servers.list({ tags: ['a', 'b'], status: 'active' }, way);
  t.same(
    way.asked.map(({ line }) => line),
    ['GET /servers?tags=a%2Cb&status=active', 'GET /servers?tags=a%2Cb&cursor=x'],
  );
  t.match(way.asked[0]?.headers, { authorization: 'Bearer x.y.z', accept: 'application/json' });
  t.same(answer, [SERVER, other]);
  t.equal(
    text,
    lines(
      'NAME  STATUS              TOOLS  TAGS  URL                      LAST ERROR',
      'git   active              2      a,b   https://git.example/mcp',
      'wiki  inactive, disabled  2            https://git.example/mcp  refused',
    ),
  );
  const none = await scene(t, { body: [] });
  t.strictSame(await servers.list({ tags: undefined, status: undefined }, none), { answer: [], text: 'No servers.\n' });
  t.equal(none.asked[0]?.line, 'GET /servers');
});

t.test('a server is shown with its tools, and with whose it is where that is known', async (t) => {
  const tools = [{ name: 'log', description: 'shows a log' }, { name: 'x' }];
  const way = await scene(t, { body: { ...SERVER, owner: 'ann', team: 'pay' } }, { body: tools });
  const { answer, text } = await servers.show({ server: 'my git/1' }, way);
  t.same(
    way.asked.map(({ line }) => line),
    ['GET /servers/my%20git%2F1', 'GET /servers/my%20git%2F1/tools'],
  );
  t.same(answer, { ...SERVER, owner: 'ann', team: 'pay', tools });
  t.equal(
    text,
    lines(
      'name         git',
      'status       active',
      'url          https://git.example/mcp',
      'description  code',
      'tags         a, b',
      'tools        2',
      'last seen    2026-01-02T03:04:05.678Z',
      'last error   none',
      'owner        ann',
      'team         pay',
      'slug         git',
      'id           i1',
      '',
      'TOOL  DESCRIPTION',
      'log   shows a log',
      'x',
    ),
  );
  const bare = await scene(t, { body: { ...SERVER, lastSeen: null, lastError: 'timeout' } }, { body: [] });
  const shown = String((await servers.show({ server: 'git' }, bare)).text);
  t.match(shown, /^last seen {4}never\nlast error {3}timeout\nslug/m);
  t.match(shown, /id +i1\n$/, 'nothing of tools where there are none');
});

t.test('a server is added, changed and removed', async (t) => {
  const addition = { name: 'git', url: SERVER.url, properties: { tags: ['a'] } };
  const added = await scene(t, { status: 201, body: SERVER });
  t.match(await servers.add(addition, added), { answer: SERVER, text: /^name +git\n/ });
  t.match(added.asked, [{ line: 'POST /servers', body: { name: 'git', url: SERVER.url, tags: ['a'] } }]);
  t.equal(added.asked[0]?.headers['content-type'], 'application/json');
  const changed = await scene(t, { body: SERVER, headers: { etag: '"7"' } }, { body: { ...SERVER, description: 'd' } });
  t.match(await servers.update({ server: 'git', change: { description: 'd' } }, changed), { text: /description  d\n/ });
  t.match(changed.asked, [
    { line: 'GET /servers/git', headers: { 'if-match': undefined } },
    {
      line: 'PUT /servers/git',
      body: { name: 'git', url: SERVER.url, description: 'd' },
      headers: { 'if-match': '"7"' },
    },
  ]);
  t.same(Object.keys(changed.asked[1]?.body as object), ['name', 'url', 'description'], 'and nothing that is not said');
  const removed = await scene(t, { status: 204 });
  t.same(await servers.remove({ server: 'git\u001b' }, removed), { answer: undefined, text: 'Removed git\u{FFFD}.\n' });
  t.equal(removed.asked[0]?.line, 'DELETE /servers/git%1B');
});

t.test('a refresh tells what has changed, and by its status whether the server could be read', async (t) => {
  const report = { status: 'active', toolsAdded: 1, toolsUpdated: 2, toolsRemoved: 3 };
  const way = await scene(t, { body: { ...report, promptsUpdated: 1, resourcesAdded: 4, templatesRemoved: 5 } });
  t.match(await servers.refresh({ server: 'git' }, way), {
    exitStatus: 0,
    text: lines(
      'status     active',
      'tools      1 added, 2 updated, 3 removed',
      'prompts    0 added, 1 updated, 0 removed',
      'resources  4 added, 0 updated, 0 removed',
      'templates  0 added, 0 updated, 5 removed',
    ),
  });
  t.equal(way.asked[0]?.line, 'POST /servers/git/refresh');
  const plain = await scene(t, { body: report });
  t.equal(
    (await servers.refresh({ server: 'git' }, plain)).text,
    lines('status  active', 'tools   1 added, 2 updated, 3 removed'),
  );
  const unread = await scene(t, { body: { ...report, status: 'inactive', error: 'timeout' } });
  const outcome = await servers.refresh({ server: 'git' }, unread);
  t.equal(outcome.text, lines('status  inactive', 'error   timeout'));
  t.not(outcome.exitStatus, 0);
  const busy = await scene(t, { status: 409, body: { detail: 'it is being refreshed' } });
  t.match(await faultOf(servers.refresh({ server: 'git' }, busy)), {
    exitStatus: 75,
    message: 'it is being refreshed',
  });
  const missing = await scene(t, { status: 404, body: { detail: 'no such server' } });
  t.match(await faultOf(servers.refresh({ server: 'git' }, missing)), { exitStatus: 66 });
});

t.test('a user gets the link for the consent, and is told what a disconnection leaves to do', async (t) => {
  const way = await scene(t, { body: { url: 'https://gateway.example/connect/git?ticket=t' } });
  const connected = await servers.connect({ server: 'git', isForProbes: true }, way);
  t.equal(connected.text, 'https://gateway.example/connect/git?ticket=t\n');
  t.match(way.asked, [{ line: 'POST /servers/git/connect', body: { probes: true } }]);
  for (const [revocation, text] of [
    ['revoked', 'Disconnected git.\n'],
    ['failed', 'Disconnected git. The consent could not be withdrawn at its authorization server: withdraw it there'],
  ] as const) {
    const gone = await scene(t, { body: { revocation } });
    t.match((await servers.disconnect({ name: 'git' }, gone)).text, text);
    t.equal(gone.asked[0]?.line, 'DELETE /connect/git');
  }
});

t.test('compositions are listed and shown with their tools as the command line writes them', async (t) => {
  const lacking = { ...COMPOSITION, name: 'ops', id: 'c2', missingTools: [{ server: 'wiki', tool: 'find' }] };
  const way = await scene(t, { body: [COMPOSITION, lacking] });
  t.equal(
    (await compositions.list({}, way)).text,
    lines(
      'NAME  ID  TOOLS                       SUBJECTS   MISSING',
      'dev   c1  git:log,git:show,wiki:find  alice,bob',
      'ops   c2  git:log,git:show,wiki:find  alice,bob  wiki:find',
    ),
  );
  t.equal(way.asked[0]?.line, 'GET /compositions');
  t.match(await compositions.list({}, await scene(t, { body: [] })), { text: 'No compositions.\n' });
  const one = await scene(t, { body: { ...lacking, exposure: 'search', owner: 'ann' } });
  t.equal(
    (await compositions.show({ composition: 'ops' }, one)).text,
    lines(
      'name         ops',
      'description  for all',
      'tools        git:log, git:show, wiki:find',
      'missing      wiki:find',
      'exposure     search',
      'subjects     alice, bob',
      'owner        ann',
      'id           c2',
    ),
  );
  t.equal(one.asked[0]?.line, 'GET /compositions/ops');
  const whole = await scene(t, { body: COMPOSITION });
  t.match((await compositions.show({ composition: 'dev' }, whole)).text, /^missing {6}none\nsubjects .*\nid /m);
});

t.test('a composition is created, changed and deleted, by force only if so asked', async (t) => {
  const creation = { name: 'dev', 'server:tool': ['git:log'], properties: { subjects: ['alice'] } };
  for (const [isForced, query] of [
    [false, ''],
    [true, '?force=true'],
  ] as const) {
    const created = await scene(t, { status: 201, body: COMPOSITION });
    t.match(await compositions.create({ ...creation, isForced }, created), {
      answer: COMPOSITION,
      text: /^name +dev\n/,
    });
    const body = { name: 'dev', servers: [{ name: 'git', tools: ['log'] }], subjects: ['alice'] };
    t.strictSame(
      created.asked.map((each) => [each.line, each.body]),
      [[`POST /compositions${query}`, body]],
    );
    const changed = await scene(t, { body: COMPOSITION, headers: { etag: '"3"' } }, { body: COMPOSITION });
    const change = { composition: 'dev', change: { subjects: ['eve'] }, isForced };
    t.match(await compositions.update(change, changed), { answer: COMPOSITION, text: /^name +dev\n/ });
    t.strictSame(
      changed.asked.map((each) => [each.line, each.body]),
      [
        ['GET /compositions/dev', undefined],
        [`PUT /compositions/dev${query}`, { name: 'dev', servers: COMPOSITION.servers, subjects: ['eve'] }],
      ],
    );
    t.equal(changed.asked[1]?.headers['if-match'], '"3"');
  }
  const others = await scene(t, { body: COMPOSITION }, { body: COMPOSITION });
  const wanted = [{ name: 'git', tools: ['blame'] }];
  await compositions.update({ composition: 'dev', change: { servers: wanted }, isForced: false }, others);
  t.match(others.asked[1]?.body, { servers: [{ name: 'git', tools: ['blame'], prompts: ['p'] }] });
  const deleted = await scene(t, { status: 204 });
  t.same(await compositions.remove({ composition: 'dev' }, deleted), { answer: undefined, text: 'Deleted dev.\n' });
  t.equal(deleted.asked[0]?.line, 'DELETE /compositions/dev');
});

t.test('whose token it is, and what it may do', async (t) => {
  const way = await scene(t, { body: { subject: 'ann', role: 'editor', teams: ['pay', 'ops'] } });
  t.equal((await whoami({}, way)).text, lines('subject  ann', 'role     editor', 'teams    pay, ops'));
  t.equal(way.asked[0]?.line, 'GET /whoami');
  const none = await scene(t, { body: { subject: 'ann', role: null, teams: [] } });
  t.equal((await whoami({}, none)).text, lines('subject  ann', 'role     none', 'teams    none'));
});

t.test('a script can tell from the status why a command failed', async (t) => {
  for (const [status, exitStatus] of [
    [400, 65],
    [401, 77],
    [403, 77],
    [404, 66],
    [409, 65],
    [412, 75],
    [422, 65],
    [499, 65],
    [500, 69],
    [503, 75],
    [504, 69],
  ] as const) {
    const { connection } = await scene(t, { status, body: { detail: 'the reason' } });
    const fault = await faultOf(connection.request('GET', '/servers'));
    t.equal(fault.exitStatus, exitStatus, String(status));
    t.match(fault.message, status === 401 ? /^the reason: put a new token into SWITCHYARD_TOKEN/ : /^the reason$/);
  }
  const invalid = await scene(t, { status: 401, body: { detail: 'Invalid token' } });
  t.match(await faultOf(invalid.connection.request('GET', '/servers')), { message: /^Invalid token: .*JWT|put a new/ });
  const wordless = await scene(t, { status: 500, body: 'no detail' });
  t.match(await faultOf(wordless.connection.request('GET', '/')), {
    exitStatus: 69,
    message: /does not respond like a control plane \(HTTP status 500\)/,
  });
});

t.test('what answers but is no control plane, or none of this version, is named, with what to do', async (t) => {
  const { connection, url } = await scene(t, { text: '<html>' });
  const advice = 'start it with `switchyard control-plane`, or give its --control-plane-url';
  const strange = {
    exitStatus: 69,
    message: `the control plane at ${url} does not respond like a control plane; ${advice}`,
  };
  t.same(await faultOf(connection.request('GET', '/')), strange);
  const object = await scene(t, { body: {} });
  t.match(await faultOf(object.connection.list('/servers')), {
    exitStatus: 69,
    message: /respond like a control plane/,
  });
  const other = await scene(t, { body: [{ name: 'git' }] });
  t.match(await faultOf(servers.list({ tags: undefined, status: undefined }, other)), {
    exitStatus: 69,
    message: /not understood; .*another version of Switchyard/,
  });
  const cut = await scene(t, { text: '{"a":', isCut: true });
  t.match(await faultOf(cut.connection.request('GET', '/')), {
    exitStatus: 69,
    message: /closed the connection in the middle of its response/,
  });
  const away = await scene(t, { status: 307, headers: { location: '/elsewhere' } });
  t.match(await faultOf(away.connection.request('GET', '/servers')), { exitStatus: 69, message: /cannot be reached/ });
  t.same(
    away.asked.map(({ line }) => line),
    ['GET /servers'],
    'a redirect is not followed: it would hand the token to another server',
  );
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  await new Promise<void>((resolve) => closed.close(() => resolve()));
  const nobody = new ControlPlaneConnection(`http://127.0.0.1:${port}`, 'x.y.z');
  t.match(await faultOf(nobody.request('GET', '/')), { exitStatus: 69, message: /cannot be reached \(ECONNREFUSED\)/ });
});

t.test('a command waits when it is told to come back, but not for as long as somebody says', async (t) => {
  const later = (seconds: string): Answer => ({
    ...{ status: 429, body: { detail: 'Too many requests' } },
    headers: { 'retry-after': seconds },
  });
  const twice = await scene(t, later('0'), later('0.01'), { body: [] });
  t.same(await twice.connection.list('/servers'), []);
  t.equal(twice.asked.length, 3);
  for (const answer of [later('121'), later('soon'), { status: 429, body: { detail: 'Too many requests' } }]) {
    const refused = await scene(t, answer);
    t.match(await faultOf(refused.connection.request('POST', '/servers', {})), {
      ...{ exitStatus: 75, message: 'Too many requests' },
    });
    t.equal(refused.asked.length, 1);
  }
  const always = await scene(t, later('0'));
  t.match(await faultOf(always.connection.request('GET', '/')), { exitStatus: 75 });
  t.equal(always.asked.length, 11, 'and not for ever');
  const other = await scene(t, { ...later('0'), status: 503 });
  t.match(await faultOf(other.connection.request('GET', '/')), { exitStatus: 75 });
  t.equal(other.asked.length, 1, 'what may have been carried out is not sent again');
});

t.test('a change that has not reached every user config is told', async (t) => {
  const { connection } = await scene(t, { body: {}, headers: { 'switchyard-unpublished': '3' } }, { body: {} });
  await connection.request('PUT', '/compositions/dev', {});
  t.equal(connection.unpublishedCount, 3);
  await connection.request('GET', '/compositions/dev');
  t.equal(connection.unpublishedCount, 0);
});

t.test('any name is one segment of a path', async (t) => {
  t.equal(pathOf('servers', '../a?b#c', 'ü'), '/servers/..%2Fa%3Fb%23c/%C3%BC');
});

t.test('a result is printed as text or as JSON that no terminal obeys, a fault in one line', async (t) => {
  const printed = async (isJson: boolean, work: () => Promise<CommandResult>): Promise<[number, string, string]> => {
    const streams = [process.stdout, process.stderr];
    const texts = ['', ''];
    const originals = streams.map((stream) => stream.write.bind(stream));
    for (const [at, stream] of streams.entries()) {
      stream.write = (text: unknown, ...rest: unknown[]): boolean => {
        texts[at] += String(text);
        (rest.at(-1) as () => void)();
        return true;
      };
    }
    try {
      return [await printResult(isJson, work), texts[0]!, texts[1]!];
    } finally {
      for (const [at, stream] of streams.entries()) stream.write = originals[at]!;
    }
  };
  const result = async () => ({ answer: { a: '\u001b[31m\u202e' }, text: 'text\n' });
  t.same(await printed(false, result), [0, 'text\n', '']);
  t.same(await printed(true, result), [0, '{\n  "a": "\\u001b[31m\\u202e"\n}\n', '']);
  t.same(await printed(true, async () => ({ answer: undefined, text: 'text' })), [0, '', '']);
  t.same(await printed(false, async () => ({ ...(await result()), exitStatus: 69 })), [69, 'text\n', '']);
  const failing = async (): Promise<CommandResult> => {
    throw new CliFault(66, 'no such\nserver \u001b');
  };
  t.same(await printed(true, failing), [66, '', 'switchyard: no such server \u{FFFD}\n']);
});
