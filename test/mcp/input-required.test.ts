// What a backend of MCP 2026-07-28 asks for before it continues a request: all bytes that go to the client and back are kept. And whether
// its result is complete, asks for input, or is of a type that nobody knows.
import t from 'tap';
import { readInputRequired, readResultType } from '../../src/mcp/input-required.js';
import { METHOD_NAME_BYTES_MAX } from '../../src/mcp/json-rpc.js';
import { limits } from '../../src/shared/limits.js';
import { until } from '../support/until.js';

interface Texts {
  readonly requests: readonly Readonly<Record<string, unknown>>[];
  readonly requestState: string | undefined;
}

/** `'not asked'` when the result asks for nothing. */
async function read(result: string): Promise<Texts | 'not asked'> {
  let told: Texts | 'not asked' | undefined;
  readInputRequired('ada', Buffer.from(result), (input) => {
    told =
      input === undefined
        ? 'not asked'
        : {
            requests: input.requests.map(({ key, params, ...rest }) => ({
              key: key.toString(),
              params: params.toString(),
              ...rest,
            })),
            requestState: input.requestState?.toString(),
          };
  });
  await until(() => told !== undefined, 'the reading');
  return told!;
}

const PLAIN = { params: '', mode: '', hasElicitationId: false };

t.test('requests are read with their names, methods and params as they were written', async (t) => {
  const params = '{ "mode":"url", "elicitationId" : "e\\u0031","x":[1.0]}';
  const result = `{"x":{"inputRequests":1},"inputRequests":{"a\\"b":{"method":"roots/list"},"c":{"params":${params},"method":"elicitation/create"}},"requestState":"s\\n1"}`;
  t.same(await read(result), {
    requests: [
      { ...PLAIN, key: '"a\\"b"', method: 'roots/list' },
      { key: '"c"', method: 'elicitation/create', params, mode: 'url', hasElicitationId: true },
    ],
    requestState: '"s\\n1"',
  });
});

t.test('a state alone asks to be asked again, and requests need no state', async (t) => {
  t.same(await read('{"requestState":"s"}'), { requests: [], requestState: '"s"' });
  t.same(await read('{"inputRequests":{},"requestState":""}'), { requests: [], requestState: '""' });
  t.same(await read('{"inputRequests":{"a":{"method":"m","params":{}}}}'), {
    requests: [{ ...PLAIN, key: '"a"', method: 'm', params: '{}' }],
    requestState: undefined,
  });
});

t.test('a mode that is no short text is none', async (t) => {
  const longest = 'm'.repeat(METHOD_NAME_BYTES_MAX - 2);
  for (const [mode, told] of [
    ['7000', ''],
    ['null', ''],
    [`"${longest}"`, longest],
    [`"${longest}m"`, ''],
  ]) {
    const asked = await read(`{"inputRequests":{"a":{"method":"m","params":{"mode":${mode}}}}}`);
    t.match(asked, { requests: [{ mode: told, hasElicitationId: false }] });
  }
});

t.test('what is not of this form, or asks for too much, asks for nothing', async (t) => {
  const method = `"${'m'.repeat(METHOD_NAME_BYTES_MAX - 2)}"`;
  t.match(await read(`{"inputRequests":{"a":{"method":${method}}}}`), { requests: [{ method: method.slice(1, -1) }] });
  const many = (count: number): string =>
    `{"inputRequests":{${Array.from({ length: count }, (_, n) => `"${n}":{"method":"m"}`).join()}}}`;
  const most = await read(many(limits.backendRequestsOpenMax));
  t.equal(most === 'not asked' ? 0 : most.requests.length, limits.backendRequestsOpenMax);
  for (const result of [
    ...['{}', '[]', '7', '{"inputRequests":{}}', '{"inputRequests":[]}', '{"inputRequests":null,"requestState":"s"}'],
    ...['{"requestState":7}', '{"requestState":null,"inputRequests":{"a":{"method":"m"}}}', '{'],
    ...['{"inputRequests":{"a":7}}', '{"inputRequests":{"a":{}}}', '{"inputRequests":{"a":{"method":7}}}'],
    ...['{"inputRequests":{"a":{"method":"m","params":[]}}}', '{"inputRequests":{"a":{"method":"m","params":null}}}'],
    '{"inputRequests":{"a":{"method":"m"},"b":{"params":{}}}}',
    `{"inputRequests":{"a":{"method":"m${method.slice(1)}}}}`,
    many(limits.backendRequestsOpenMax + 1),
  ])
    t.equal(await read(result), 'not asked', result.slice(0, 80));
});

t.test('a large result is read as well', async (t) => {
  const padding = 'x'.repeat(2 * limits.readAtOnceBytesMax);
  t.same(await read(`{"padding":"${padding}","requestState":"s"}`), { requests: [], requestState: '"s"' });
  t.equal(await read(`{"padding":"${padding}"`), 'not asked');
});

t.test('a small result is read at once, and a large one is a scan that can be stopped', async (t) => {
  const [small, large] = [0, 2 * limits.readAtOnceBytesMax].map((bytes) =>
    Buffer.from(`{"resultType":"task","x":"${'x'.repeat(bytes)}"}`),
  );
  const told: string[] = [];
  t.equal(
    readResultType('ada', small!, (type) => void told.push(type)),
    undefined,
  );
  t.same(told, ['other']);
  t.ok(readResultType('ada', large!, (type) => void told.push(type)));
  await until(() => told.length === 2, 'the other');
});

async function readType(result: string): Promise<string> {
  let told = '';
  readResultType('ada', Buffer.from(result), (type) => void (told = type));
  await until(() => told !== '', 'the reading');
  return told;
}

t.test('the type of a result is a member of the result itself, however it is written', async (t) => {
  const many = '{"resultType":"complete"},'.repeat(100);
  const padding = `"x":"${'x'.repeat(2 * limits.readAtOnceBytesMax)}"`;
  for (const [result, type] of [
    ['{}', 'complete'],
    ['{"content":[]}', 'complete'],
    ['{"resultType":"complete"}', 'complete'],
    ['{"resultType": "complete"}', 'complete'],
    ['{"resultType"  :\n"complete"}', 'complete'],
    ['{"resultType":"c\\u006fmplete"}', 'complete'],
    ['{"resultType":"input_required"}', 'input_required'],
    ['{"x":{"resultType":"complete"},"resultType":"input_required"}', 'input_required'],
    ['{"x":{"resultType":"input_required"}}', 'complete'],
    ['{"content":[{"text":"\\"resultType\\":\\"input_required\\""}]}', 'complete'],
    ['{"resultType":"completed"}', 'other'],
    ['{"resultType":"task"}', 'other'],
    ['{"resultType":7}', 'other'],
    ['{"resultType":null}', 'other'],
    ['{"resultType":"input_required","resultType":"complete"}', 'other'],
    ['["resultType"]', 'other'],
    [`{"x":[${many}0],"resultType":"input_required"}`, 'input_required'],
    [`{"x":[${many}0],"resultType":"complete"}`, 'complete'],
    [`{${padding},"resultType":"input_required"}`, 'input_required'],
    [`{${padding},"y":{"resultType":"task"}}`, 'complete'],
    [`{${padding},"resultType":"task"}`, 'other'],
  ] as const)
    t.equal(await readType(result), type, result.length < 100 ? result : `${result.slice(0, 20)}…${result.slice(-40)}`);
});
