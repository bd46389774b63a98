// How results are completed for clients of MCP 2026-07-28: those of legacy backends, and those of modern ones.
import t from 'tap';
import { limits } from '../../src/shared/limits.js';
import { backendFor } from '../support/deployment.js';
import { JsonText } from '../support/json-text.js';
import { modernBackendFor } from '../support/modern-backend.js';
import { answerOf, WiredRelay, type RpcAnswer } from '../relay/wired-relay.js';
import { post } from './modern-request.js';
import { SCOPES_CHANGED_MAX } from '../../src/modern/modern-results.js';

t.test('results and error codes of legacy backends become those of the modern era', async (t) => {
  const results: unknown[] = [{}, { resultType: 'complete', content: [] }, { text: '"resultType"' }];
  const backend = await backendFor(t, {
    tools: ['echo'],
    onCall: (received) => results.shift() ?? received.fail({ code: -32002, message: 'no -32002', data: { uri: 'u' } }),
  });
  const caller = new WiredRelay(t).caller({ b: backend.url });
  const texts: string[] = [];
  for (let i = 0; i < 4; i += 1) {
    const exchange = post(caller, 'tools/call', { params: { name: 'b-echo', arguments: {} } });
    await answerOf(exchange);
    t.equal(exchange.answer?.status, 200);
    texts.push(String(exchange.answer?.body));
  }
  t.strictSame(
    texts.slice(0, 3).map((text) => (JSON.parse(text) as RpcAnswer).result),
    [
      { resultType: 'complete', content: [] },
      { resultType: 'complete', content: [] },
      { resultType: 'complete', content: [], text: '"resultType"' },
    ],
  );
  t.notOk(/resultType.*resultType/.test(texts[1] ?? ''), 'not twice');
  t.match(JSON.parse(texts[3] ?? ''), { error: { code: -32602, message: 'no -32002', data: { uri: 'u' } } });
});

t.test('a legacy backend cannot ask for a retry through its resultType', async (t) => {
  const own = '"structuredContent":{"resultType":"mine"}';
  const rows: readonly (readonly [members: string, says?: object])[] = [
    [`"resultType":"input_required",${own}`, { structuredContent: { resultType: 'mine' } }],
    [`"resultType": "complete",${own}`],
    [`"resultType":"input\\u005frequired",${own}`],
    [`"resultType":"input_required","resultType":"partial",${own}`],
    [`${own},"result\\u0054ype":"input_required"`],
    ['"\\u0072esultType":"input_required"'],
    ['"resultType":"complete","result\\u0054ype":"input_required"'],
    [`"text":"\\u001b${'x'.repeat(limits.readAtOnceBytesMax)}"`],
    ['"ResultType":"other","text":"\\u001b"', { ResultType: 'other', text: '\u001b' }],
  ];
  const backend = await backendFor(t, {
    tools: ['echo'],
    onCall: ({ argumentsText }) => {
      const { members } = JSON.parse(argumentsText ?? '{}') as { members: string };
      return new JsonText(`{"requestState":"s",${members}}`);
    },
  });
  const caller = new WiredRelay(t).caller({ b: backend.url });
  for (const [members, says] of rows) {
    const answer = await answerOf(post(caller, 'tools/call', { params: { name: 'b-echo', arguments: { members } } }));
    t.match(answer, { result: { resultType: 'complete', ...says } }, members);
  }
});

t.test('what was read may not be cached unless its backend says so, and never for others', async (t) => {
  const extras = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
  const contents = [{ uri: 'x://y', text: '"ttlMs"' }];
  const results: object[] = [{ contents }, { ttlMs: 5, contents, cacheScope: 'public' }, { contents, ttlMs: 7 }];
  const backend = await backendFor(t, {
    capabilities: { resources: {} },
    methods: { 'resources/read': () => results.shift() },
  });
  const caller = new WiredRelay(t).caller({ b: backend.url });
  const read = async (): Promise<unknown> => {
    const exchange = post(caller, 'resources/read', { params: { uri: 'b+x://y' } });
    const { result } = await answerOf(exchange);
    for (const name of ['resultType', 'ttlMs', 'cacheScope'])
      t.equal(String(exchange.answer?.body).split(`"${name}":`).length, 2, `${name}, once`);
    return result;
  };
  const told = [{ uri: 'b+x://y', text: '"ttlMs"' }];
  t.strictSame(await read(), { ...extras, contents: told });
  t.strictSame(await read(), { ...extras, ttlMs: 5, contents: told });
  t.strictSame(await read(), { ...extras, ttlMs: 7, contents: told });
});

t.test('a modern backend’s result without a type is complete, and nothing else of it changes', async (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['{}', '{"resultType":"complete"}'],
    ['{ "content" : [1e1] }', '{"resultType":"complete", "content" : [1e1] }'],
    [
      '{"structuredContent":{"resultType":"mine"},"content":[]}',
      '{"resultType":"complete","structuredContent":{"resultType":"mine"},"content":[]}',
    ],
    [
      '{"content":[],"structuredContent":{"resultType":"complete","_meta":{}}}',
      '{"resultType":"complete","content":[],"structuredContent":{"resultType":"complete","_meta":{}}}',
    ],
    [
      '{"content":["}}"],"resultType":"complete","_meta":{"a":{"b":1}}}',
      '{"content":["}}"],"resultType":"complete","_meta":{"a":{"b":1}}}',
    ],
    ['{"content":[{"resultType":"complete"}]}', '{"resultType":"complete","content":[{"resultType":"complete"}]}'],
    ['{"a":"\\"resultType"}', '{"resultType":"complete","a":"\\"resultType"}'],
    ['{"content":[],"resultType":"complete"}', '{"content":[],"resultType":"complete"}'],
    ['{"content":[], "resultType" : "complete" ,"a":1}', '{"content":[], "resultType" : "complete" ,"a":1}'],
    ['{"taskId":"x","resultType":"task"}', '{"taskId":"x","resultType":"task"}'],
    ['{"resultType":"partial"}', '{"resultType":"partial"}'],
    ['[]', '[]'],
  ];
  const left = rows.map(([result]) => new JsonText(result));
  const backend = await modernBackendFor(t, { onCall: () => left.shift() });
  const caller = new WiredRelay(t).caller({ b: backend.url });
  for (const [result, expected] of rows) {
    const exchange = post(caller, 'tools/call', { params: { name: 'b-echo', arguments: {} } });
    await answerOf(exchange);
    t.equal(String(exchange.answer?.body), `{"jsonrpc":"2.0","id":1,"result":${expected}}`, result);
  }
});

t.test('a result that a modern backend declares public is passed on as private', async (t) => {
  const text = 'x'.repeat(limits.readAtOnceBytesMax);
  const padded = (bytes: number): string => `"cache\\u0053cope":"public","a":"${'x'.repeat(bytes)}"`;
  const exact = [padded(limits.readAtOnceBytesMax - `{"resultType":"complete",${padded(0)}}`.length)];
  const rows: readonly (readonly [string, string])[] = [
    ['"ttlMs":5,"cacheScope":"public"', '"ttlMs":5,"cacheScope":"private"'],
    ['"cache\\u0053cope":1,"cacheScope" : "private"', '"cache\\u0053cope":"private","cacheScope" : "private"'],
    ['"cacheScope":"private","\\u0063acheScope":"public"', '"cacheScope":"private","\\u0063acheScope":"private"'],
    ['"cacheScop\\u0065" :"public"', '"cacheScop\\u0065" :"private"'],
    ['"cacheScope":"public","cacheScope":{}', '"cacheScope":"private","cacheScope":"private"'],
    [
      `"contents":[{"text":"${text}"}],"cacheScope": "public"`,
      `"contents":[{"text":"${text}"}],"cacheScope": "private"`,
    ],
    ...exact
      .map((members) => [members.replace('"public"', '"private"'), members] as const)
      .map(([b, a]) => [a, b] as const),
    [`"a":"${text}\\"cacheScope\\":\\"public\\""`, `"a":"${text}\\"cacheScope\\":\\"public\\""`],
  ];
  const many = (count: number, scope: string): string => `,"cacheScope":"${scope}"`.repeat(count);
  const bounded = [
    `"a":"${text}"${many(17, 'public')}`,
    `"a":"${text}"${many(16, 'private')}${many(1, 'public')}`,
  ] as const;
  t.equal(SCOPES_CHANGED_MAX, 16);
  const left = [...rows, bounded].map(([members]) => new JsonText(`{"resultType":"complete",${members}}`));
  const backend = await modernBackendFor(t, {
    capabilities: { resources: {} },
    methods: { 'resources/read': () => left.shift() },
  });
  const caller = new WiredRelay(t).caller({ b: backend.url });
  for (const [members, expected] of [...rows, bounded]) {
    const exchange = post(caller, 'resources/read', { params: { uri: 'b+x://y' } });
    await answerOf(exchange);
    const told = (exchange.answer?.body ?? exchange.written).toString();
    t.ok(told === `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete",${expected}}}`, members.slice(0, 60));
  }
});
