// Parameters of tools that calls repeat in headers: learnt from the lists of backends of MCP 2026-07-28, written for clients with a
// session, and compared with the body for clients without one.
import t, { type Test } from 'tap';
import type { MirroredTool } from '../../src/mcp/tool-mirrors.js';
import { LIST_BYTES_INLINE_MAX } from '../../src/lists/list-memory.js';
import { limits } from '../../src/shared/limits.js';
import { KnownMirrors, MIRRORS_CHARS_MAX } from '../../src/upstream/session/known-mirrors.js';
import { backendFor } from '../support/deployment.js';
import { Failure } from '../support/mcp-backend.js';
import {
  modernBackendFor,
  RefusedWith,
  type ModernBackend,
  type ModernBackendOptions,
} from '../support/modern-backend.js';
import { encodeMirrored } from '../support/modern-ladder.js';
import { bodyOf, post } from '../modern/modern-request.js';
import { answerOf, WiredRelay } from '../relay/wired-relay.js';
import { MIRRORED_NAME_BYTES_MAX } from '../../src/upstream/session/modern-request.js';
import { INVALID_MIRRORS_LOGGED_MAX } from '../../src/mcp/list-page.js';

const ROUTE = {
  name: 'route',
  inputSchema: {
    type: 'object',
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      place: { type: 'object', properties: { größe: { type: 'integer', 'x-mcp-header': 'Size' } } },
      isDry: { type: 'boolean', 'x-mcp-header': 'Dry-Run' },
      text: { type: 'string', default: { 'x-mcp-header': 7 } },
    },
  },
};

/** A backend with the tool `route`, whose calls must have the headers that its schema names. */
function routing(t: Test, options: ModernBackendOptions = {}): Promise<ModernBackend> {
  return modernBackendFor(t, { tools: [ROUTE, 'echo'], ...options });
}

/** After another digit, these make a number too long for any header. */
const ZEROS = '0'.repeat(70);

const VALUES: readonly (readonly [string, string | undefined])[] = [
  ['{"region":"us west","place":{"größe":42},"isDry":false,"text":"t"}', undefined],
  ['{"region":" padded\\u00fc\\n","place":{"größe":7.0}}', undefined],
  ['{"region":"","isDry":true}', undefined],
  ['{"region":"=?base64?eA==?=","place":{"größe":-9007199254740993}}', undefined],
  ['{"region":null,"place":{}}', undefined],
  ['{}', undefined],
];

t.test('arguments of a client with a session are repeated in headers (N03)', async (t) => {
  const backend = await routing(t);
  const caller = new WiredRelay(t).caller({ b: backend.url });
  await caller.open();
  await caller.list();
  for (const [args] of VALUES) {
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"b-route","arguments":${args}}}`;
    const answer = await answerOf(caller.request({ body: Buffer.from(body) }));
    t.equal(answer.error, undefined, args);
    t.equal(backend.calls.at(-1)?.argumentsText, args, 'the backend holds the headers against them');
  }
  t.same(backend.refusals, []);
  t.equal(backend.calls[0]?.received.headers['mcp-param-size'], '42');
  t.equal(backend.calls[3]?.received.headers['mcp-param-size'], '-9007199254740993', 'not a digit is lost');
  t.equal(backend.calls[0]?.received.headers['mcp-param-text'], undefined);
  await caller.call('b-echo', { region: 'eu' });
  t.equal(backend.calls.at(-1)?.received.headers['mcp-param-region'], undefined, 'another tool has none');
  const padding = { name: 'zz', description: 'x'.repeat(LIST_BYTES_INLINE_MAX), inputSchema: {} };
  const large = await routing(t, { tools: [ROUTE, padding] });
  const other = new WiredRelay(t).caller({ b: large.url });
  await other.open();
  await other.list();
  t.equal((await other.call('b-route', { region: 'eu' })).error, undefined);
  t.same([large.calls.length, large.refusals], [1, []], 'learnt from a list that the list thread has read');
  const { error } = await caller.call('b-route', { region: 'x'.repeat(limits.mirroredParamBytesMax) });
  t.match(error, { code: -32_602, message: /too long/ });
  const called = backend.calls.length;
  for (const size of [`1.${ZEROS}e5`, `1${ZEROS}`]) {
    const params = `{"name":"b-route","arguments":{"place":{"größe":${size}}}}`;
    const body = Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`);
    t.match((await answerOf(caller.request({ body }))).error, { code: -32_602, message: /too long/ }, size);
  }
  t.equal(backend.calls.length, called, 'no head says a part of a number');
});

t.test('after a refused header the list is read again, and the call is sent once more (N04)', async (t) => {
  const backend = await routing(t);
  const caller = new WiredRelay(t).caller({ b: backend.url });
  await caller.open();
  t.match((await caller.call('b-route', { region: 'eu' })).result, { content: [{ text: '{"region":"eu"}' }] });
  t.same([backend.refusals.length, backend.requestsOf('tools/list').length, backend.calls.length], [1, 1, 1]);
  await caller.call('b-route', { region: 'us' });
  t.same([backend.refusals.length, backend.requestsOf('tools/list').length, backend.calls.length], [1, 1, 2]);
});

t.test('a call is sent once more only where that helps, and where it was not carried out', async (t) => {
  const mismatch = { code: -32_020, message: 'Header mismatch' };
  const stubborn = await routing(t, { onCall: () => new RefusedWith({ status: 400, ...mismatch }) });
  const failing = await routing(t, { onCall: () => new Failure(mismatch) });
  const caller = new WiredRelay(t).caller({ a: stubborn.url, b: failing.url });
  await caller.open();
  await caller.list();
  for (const [name, backend, lists] of [
    ['a-route', stubborn, 2],
    ['b-route', failing, 1],
  ] as const) {
    t.match((await caller.call(name, { region: 'eu' })).error, mismatch);
    t.same([backend.calls.length, backend.requestsOf('tools/list').length], [1, lists], name);
  }
});

t.test('tools with invalid header annotations are not listed, and the log names them (N03)', async (t) => {
  const property = (said: unknown): object => ({ type: 'string', 'x-mcp-header': said });
  const schema = (properties: object): object => ({ type: 'object', properties });
  const invalid: Readonly<Record<string, object>> = {
    empty: schema({ a: property('') }),
    number: schema({ a: property(7) }),
    space: schema({ a: property('My Region') }),
    colon: schema({ a: property('a:b') }),
    foreign: schema({ a: property('Région') }),
    control: schema({ a: property('a\tb') }),
    twice: schema({ a: property('Same'), b: property('sAME') }),
    float: schema({ a: { type: 'number', 'x-mcp-header': 'A' } }),
    object: schema({ a: { type: 'object', 'x-mcp-header': 'A' } }),
    untyped: schema({ a: { 'x-mcp-header': 'A' } }),
    root: { type: 'object', 'x-mcp-header': 'A' },
    items: schema({ a: { type: 'array', items: property('A') } }),
    either: schema({ a: { anyOf: [property('A')] } }),
    many: schema(
      Object.fromEntries(
        Array.from({ length: limits.mirroredParamsMax + 1 }, (_, at) => [`p${at}`, property(`p${at}`)]),
      ),
    ),
  };
  const valid = {
    plain: schema({ a: { type: 'string' } }),
    nested: schema({ properties: { type: 'object', properties: { items: property('A') } } }),
    value: schema({ a: { type: 'object', default: { 'x-mcp-header': 7 }, enum: [{ 'x-mcp-header': '' }] } }),
  };
  const tools = Object.entries({ ...invalid, ...valid }).map(([name, inputSchema]) => ({ name, inputSchema }));
  const padding = { name: 'zz', description: 'x'.repeat(LIST_BYTES_INLINE_MAX), inputSchema: schema({}) };
  for (const more of [[], [padding]]) {
    const modern = await modernBackendFor(t, { tools: [...tools, ...more] });
    const legacy = await backendFor(t, { tools });
    const wired = new WiredRelay(t);
    const caller = wired.caller({ m: modern.url, l: legacy.url });
    await caller.open();
    const names = (((await caller.list()).result?.['tools'] ?? []) as { name: string }[]).map(({ name }) => name);
    const listed = Object.keys(valid).concat(more.length > 0 ? 'zz' : []);
    const expected = [...listed.map((name) => `m-${name}`), ...tools.map(({ name }) => `l-${name}`)];
    t.same(names.sort(), expected.sort(), 'to servers of before the word means nothing');
    const lines = wired.logLines.filter((line) => line.includes('x-mcp-header'));
    t.equal(lines.length, 1);
    for (const name of Object.keys(invalid)) t.ok(lines[0]?.includes(`"${name}: `), name);
    await caller.list();
    t.equal(wired.logLines.filter((line) => line.includes('x-mcp-header')).length, 1, 'once');
  }
});

t.test(
  'headers of a client without a session are compared with the arguments that tools map to them (M13)',
  async (t) => {
    const legacy = await backendFor(t, { tools: [ROUTE] });
    const modern = await routing(t);
    const caller = new WiredRelay(t).caller({ m: modern.url, l: legacy.url });
    const args = { region: 'ü', place: { größe: 42 } };
    const right = ['mcp-param-region', encodeMirrored('ü'), 'mcp-param-size', '42'];
    const call = (name: string, params: readonly string[]): ReturnType<typeof post> =>
      post(caller, 'tools/call', { params: { name, arguments: args }, headers: { params } });
    t.equal((await answerOf(call('l-route', ['mcp-param-region', 'eu']))).error, undefined, 'nobody has read the list');
    await answerOf(post(caller, 'tools/list'));
    const wrong: readonly (readonly string[])[] = [
      [],
      ['mcp-param-region', encodeMirrored('ü')],
      ['mcp-param-region', 'u', 'mcp-param-size', '42'],
      ['mcp-param-region', '=?base64?w7?=', 'mcp-param-size', '42'],
      ['mcp-param-region', encodeMirrored('ü'), 'mcp-param-size', '42.5'],
      [...right, 'mcp-param-dry-run', 'true'],
    ];
    const [called, passed] = [legacy.calls.length, modern.calls.length];
    for (const name of ['l-route', 'm-route']) {
      for (const params of wrong) {
        const exchange = call(name, params);
        t.match((await answerOf(exchange)).error, { code: -32_020, message: /mcp-param-/ }, params.join());
        t.equal(exchange.answer?.status, 400);
      }
    }
    t.same([legacy.calls.length, modern.calls.length], [called, passed], 'no backend is asked');
    for (const name of ['l-route', 'm-route'])
      for (const size of ['42', '42.0', '042'])
        t.equal((await answerOf(call(name, [...right.slice(0, 3), size]))).error, undefined, size);
    for (const [size, said] of [
      ['9007199254740993', '9007199254740992'],
      ['9007199254740993', '9007199254740992.0'],
      [`1.${ZEROS}e5`, '1'],
      [`1${ZEROS}`, `1${'0'.repeat(63)}`],
      ['1,"größe":2', '2'],
    ] as const) {
      const params = { name: 'm-route', arguments: { place: { größe: 0 } } };
      const body = bodyOf('tools/call', { params }).replace('"größe":0', `"größe":${size}`);
      const exchange = post(caller, 'tools/call', { params, body, headers: { params: ['mcp-param-size', said] } });
      t.match((await answerOf(exchange)).error, { code: -32_020, message: /mcp-param-size/ }, size);
    }
    await answerOf(call('m-route', [...right, 'mcp-param-other', 'o']));
    t.match(modern.calls.at(-1)?.received.headers, { 'mcp-param-other': 'o', 'mcp-param-size': '42' });
    t.same(modern.refusals, []);
  },
);

t.test('arguments that the config fixes are repeated in headers too, whatever the client sent', async (t) => {
  const backend = await routing(t);
  const config = { url: backend.url, tools: { route: { fixed_arguments: { region: 'eu' } } } };
  const caller = new WiredRelay(t).caller({ b: config });
  await caller.open();
  await caller.list();
  t.equal((await caller.call('b-route', { isDry: true })).error, undefined);
  await answerOf(post(caller, 'tools/list'));
  const headers = { params: ['mcp-param-dry-run', 'true'] };
  const params = { name: 'b-route', arguments: { isDry: true } };
  t.equal((await answerOf(post(caller, 'tools/call', { params, headers }))).error, undefined);
  t.equal(backend.calls.length, 2);
  for (const { received } of backend.calls)
    t.match(received.headers, { 'mcp-param-region': 'eu', 'mcp-param-dry-run': 'true' });
  t.same(backend.refusals, []);
});

/** Makes a call larger than is read at once. */
const PAD = 'ü"\\\n'.repeat(limits.readAtOnceBytesMax / 8 + 1);

t.test('calls that are too large to be read at once get headers as well, for clients of both eras', async (t) => {
  const backend = await routing(t);
  const config = { url: backend.url, tools: { route: { fixed_arguments: { isDry: true } } } };
  const wired = new WiredRelay(t);
  const caller = wired.caller({ b: backend.url, f: config });
  await caller.open();
  const refusedHeads = (): number => backend.refusals.filter(({ code }) => code === -32_020).length;
  await caller.call('b-route', { text: PAD, region: 'eu' });
  t.same([refusedHeads(), backend.calls.length], [1, 1], 'the list is read for it, and it goes out once');
  await caller.list();
  const before = (args: string): string => `{"text":${JSON.stringify(PAD)},"other":[{"region":1}],${args.slice(1)}`;
  const behind = (args: string): string => `${args.slice(0, -1)},"text":${JSON.stringify(PAD)}}`;
  const rows = VALUES.filter(([args]) => args !== '{}' && !args.includes('"text"')).flatMap(([args]) => [
    ['b', before(args)],
    ['b', behind(args)],
    ...(args.includes('isDry') ? [] : [['f', behind(args)]]),
  ]);
  for (const [name, args] of rows as [string, string][]) {
    for (const params of [`"name":"${name}-route","arguments":${args}`, `"arguments":${args},"name":"${name}-route"`]) {
      const body = Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{${params}}}`);
      t.equal((await answerOf(caller.request({ body }))).error, undefined, args.slice(-80));
    }
  }
  t.equal(refusedHeads(), 1, 'the backend holds the headers against the arguments');
  t.equal(backend.calls.length, 1 + 2 * rows.length);
  const fixed = backend.calls.filter(({ argumentsText }) => argumentsText?.includes('"isDry":true'));
  t.ok(fixed.length > 4 && fixed.every(({ received }) => received.headers['mcp-param-dry-run'] === 'true'));
  t.match((await caller.call('b-route', { text: PAD, region: 'x'.repeat(limits.mirroredParamBytesMax) })).error, {
    code: -32_602,
    message: /too long/,
  });
  t.match((await caller.call('b-route', { region: PAD.repeat(4) })).error, { code: -32_602, message: /too long/ });
  const many = Object.fromEntries(
    Array.from({ length: limits.argumentsExaminedMax }, (_, at) => [`a${at}`, 'x'.repeat(9)]),
  );
  t.match((await caller.call('b-route', many)).error, { code: -32_602, message: /Too many arguments/ });
  const called = backend.calls.length;
  await answerOf(post(caller, 'tools/list'));
  for (const [name, args, headers, isRight] of [
    ['b-route', { text: PAD, region: 'eu' }, [], false],
    ['b-route', { text: PAD, region: 'eu' }, ['mcp-param-region', 'us'], false],
    ['b-route', { text: PAD }, ['mcp-param-region', 'eu'], false],
    ['b-route', { text: PAD, region: 'eu' }, ['mcp-param-region', 'eu'], true],
    ['f-route', { text: PAD, region: 'eu' }, ['mcp-param-region', 'eu'], true],
  ] as const) {
    const params = { name, arguments: args };
    const { error } = await answerOf(post(caller, 'tools/call', { params, headers: { params: headers } }));
    t.match(error, isRight ? undefined : { code: -32_020, message: /mcp-param-region/ });
  }
  t.same([backend.calls.length - called, refusedHeads()], [2, 1]);
  t.equal(backend.calls.at(-1)?.received.headers['mcp-param-dry-run'], 'true');
  const text = JSON.stringify(PAD.repeat(40));
  const call = `"method":"tools/call","params":{"name":"b-route","arguments":{"region":"eu","text":${text}}}`;
  const cancelled = caller.request({ body: Buffer.from(`{"jsonrpc":"2.0","id":9,${call}}`) });
  caller.request({
    body: Buffer.from('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}'),
  });
  t.match((await answerOf(cancelled)).error, { message: /cancelled/i });
  t.equal(backend.calls.length - called, 2, 'it has not gone out');
});

t.test('headers of large tools are learnt too, and a call of a tool that is too large is refused', async (t) => {
  const wide = { ...ROUTE, name: 'wide', description: 'x'.repeat(200 * 1024) };
  const giant = { ...ROUTE, name: 'giant', description: 'x'.repeat(limits.mirroredToolBytesMax) };
  const properties = Object.fromEntries(
    Array.from({ length: 40 }, (_, at) => [`${at}${'p'.repeat(500)}`, { type: 'string', 'x-mcp-header': `P${at}` }]),
  );
  const long = ['long', 'other'].map((name) => ({ name, inputSchema: { type: 'object', properties } }));
  const backend = await routing(t, { tools: [wide, ...long] });
  const giants = await routing(t, { tools: [giant] });
  const caller = new WiredRelay(t).caller({ b: backend.url, g: giants.url });
  await caller.open();
  await caller.list();
  t.equal((await caller.call('b-wide', { region: 'eu' })).error, undefined);
  t.same([backend.calls.length, backend.refusals], [1, []]);
  for (const name of ['b-long', 'b-other', 'b-long'])
    t.equal((await caller.call(name, { [`0${'p'.repeat(500)}`]: 'v' })).error, undefined, name);
  t.equal(backend.calls.length, 4, 'those for which there is no room are read when they are missed');
  const { error } = await caller.call('g-giant', { region: 'eu' });
  t.match(error, { code: -32_602, message: /schema is too large/ });
  t.same([giants.calls.length, giants.refusals.length], [0, 0]);
  t.equal(
    (
      await answerOf(
        post(caller, 'tools/call', {
          params: { name: 'g-giant', arguments: { region: 'eu' } },
          headers: { params: ['mcp-param-region', 'eu'] },
        }),
      )
    ).error,
    undefined,
    'who says them itself',
  );
});

t.test('what is kept, read and logged of such tools is bounded', async (t) => {
  const kept: number[] = [];
  const memory = {
    tryKeepText: ({ length }: string): number | undefined =>
      kept.length > 1 ? undefined : (kept.push(length), length),
    drop: (bytes: number): void => void (bytes > 0 && kept.pop()),
  };
  const mirrors = new KnownMirrors(memory);
  const half = (name: string): MirroredTool => [
    name,
    [{ header: 'mcp-param-a', path: ['x'.repeat(MIRRORS_CHARS_MAX / 2)] }],
  ];
  const small = (name: string): MirroredTool => [name, [{ header: 'mcp-param-a', path: ['a'] }]];
  mirrors.learn([small('one'), half('two'), half('three')]);
  t.same(
    ['one', 'two', 'three'].map((name) => mirrors.paramsOf(name) !== undefined),
    [true, true, false],
  );
  mirrors.learn([small('four'), ['four', []]]);
  t.same(
    [mirrors.paramsOf('one'), mirrors.paramsOf('four')?.length, kept.length],
    [undefined, 1, 1],
    'in place of those before',
  );
  mirrors.drop();
  t.same([mirrors.paramsOf('four'), kept], [undefined, []]);
  kept.push(1, 1);
  mirrors.learn([small('five')]);
  t.equal(mirrors.paramsOf('five'), undefined, 'the session has no memory left');

  mirrors.drop();
  kept.length = 0;
  mirrors.learn([half('six'), half('seven')]);
  mirrors.noteMissed('seven');
  mirrors.learn([half('six'), half('seven')]);
  t.same(
    [mirrors.paramsOf('six'), mirrors.paramsOf('seven')?.length],
    [undefined, 1],
    'what was missed last comes first',
  );

  const inputSchema = { 'x-mcp-header': 'A' };
  const tools = Array.from({ length: INVALID_MIRRORS_LOGGED_MAX + 1 }, (_, at) => ({
    name: `t${at}`,
    inputSchema,
  }));
  const backend = await modernBackendFor(t, { tools });
  const wired = new WiredRelay(t);
  const caller = wired.caller({ b: backend.url });
  await caller.open();
  t.same((await caller.list()).result, { tools: [] });
  const [line = ''] = wired.logLines.filter((text) => text.includes('x-mcp-header'));
  t.equal((JSON.parse(line) as { tools: string[] }).tools.length, INVALID_MIRRORS_LOGGED_MAX);
});

t.test('a name that is too long for a header is refused with a message', async (t) => {
  const modern = await modernBackendFor(t, {
    capabilities: { resources: {} },
    methods: { 'resources/read': () => ({ contents: [] }) },
  });
  const caller = new WiredRelay(t).caller({ b: modern.url });
  await caller.open();
  const read = async (uri: string): Promise<unknown> =>
    (await answerOf(caller.post('resources/read', { uri: `b+x:${uri}` }, 3))).error;
  t.equal(await read('y'.repeat(MIRRORED_NAME_BYTES_MAX - 2)), undefined);
  t.match(await read('y'.repeat(MIRRORED_NAME_BYTES_MAX - 1)), { code: -32_602, message: /too long/ });
  t.match(await read('ü'.repeat(MIRRORED_NAME_BYTES_MAX / 2)), { code: -32_602, message: /too long/ });
});
