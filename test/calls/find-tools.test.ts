// `find_tools` as its callers see it: what it takes, and what stands in the list in place of all tools.
import t from 'tap';
import { limits } from '../../src/shared/limits.js';
import { backendFor } from '../support/deployment.js';
import { post, VERSION } from '../modern/modern-request.js';
import { PARTIAL_CATALOGUE_AGE_MS } from '../../src/lists/list-cache.js';
import { until } from '../support/until.js';
import { REQUEST_ID } from '../upstream/scripted-upstream.js';
import { RelayScene } from '../relay/relay-scene.js';
import { virtualHostOf } from '../relay/virtual-host.js';
import { answerOf, WiredRelay, type RpcAnswer, type WiredCaller } from '../relay/wired-relay.js';

const SEARCH = { exposure: 'search' };

/** @param args as JSON; `undefined` for none. */
async function find(caller: WiredCaller, args: string | undefined): Promise<RpcAnswer['result']> {
  const members = args === undefined ? '' : `,"arguments":${args}`;
  const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_tools"${members}}}`;
  return (await answerOf(caller.request({ body: Buffer.from(body) }))).result;
}

function foundIn(result: RpcAnswer['result']): number {
  return (result?.['structuredContent'] as { tools: unknown[] }).tools.length;
}

t.test('it takes a query and a limit within their bounds, and nothing else', async (t) => {
  const tools = Array.from({ length: limits.foundToolsMax + 10 }, (_, at) => `look_${at}`);
  const backend = await backendFor(t, { tools });
  const caller = new WiredRelay(t).caller({ b: backend.url }, 'alice', SEARCH);
  await caller.open();
  for (const [args, count] of [
    ['{"query":"look"}', 10],
    ['{"query":"look","limit":1}', 1],
    [`{"query":"look","limit":${limits.foundToolsMax}}`, limits.foundToolsMax],
    [`{"query":"${`look${' '.repeat(limits.toolQueryCharsMax)}`.slice(0, limits.toolQueryCharsMax)}"}`, 10],
    ['{"query":"nothing of the sort"}', 0],
  ] as const) {
    t.equal(foundIn(await find(caller, args)), count, args.slice(0, 60));
  }
  const refused = { isError: true, content: [{ text: /^find_tools takes query/ }] };
  for (const args of [
    ...[undefined, 'null', '[]', '"look"', '{}', '{"limit":1}', '{"query":7}', '{"query":["look"]}', '{"query":""}'],
    `{"query":"${'x'.repeat(limits.toolQueryCharsMax + 1)}"}`,
    ...['0', '-1', '1.5', '"1"', 'null', 'true', `${limits.foundToolsMax + 1}`].map(
      (n) => `{"query":"a","limit":${n}}`,
    ),
    '{"query":"look","other":null}',
  ]) {
    t.match(await find(caller, args), refused, String(args).slice(0, 60));
  }
  const large = `{"query":"look","limit":1${' '.repeat(limits.findToolsArgumentsBytesMax)}}`;
  t.match(await find(caller, large), { isError: true, content: [{ text: /smaller than/ }] });
  t.equal(backend.requestsOf('tools/list').length, 1, 'the tools are read once');
});

t.test(
  'tools that were found without those of a backend that was away are soon read again, and others are not',
  async (t) => {
    for (const isAway of [true, false]) {
      const scene = new RelayScene(t, { ...virtualHostOf({ b: {}, c: {} }), exposure: 'search' }).open();
      const listsFor = async (): Promise<number> => {
        const before = scene.http.calls.length;
        const exchange = scene.post('tools/call', { name: 'find_tools', arguments: { query: 'look' } }, 7);
        const lists = scene.http.calls.slice(before);
        for (const [at, list] of lists.entries()) {
          if (at === 0 && isAway) list.fault('connection-lost');
          else list.json(`{"jsonrpc":"2.0","id":"${REQUEST_ID}","result":{"tools":[{"name":"look"}]}}`);
        }
        await until(() => exchange.outcome === 'responded', 'the answer');
        return lists.length;
      };
      t.equal(await listsFor(), 2);
      t.equal(await listsFor(), 0);
      scene.context.advance(PARTIAL_CATALOGUE_AGE_MS + 1_000);
      t.equal(await listsFor(), isAway ? 2 : 0);
    }
  },
);

t.test('what one of the tools finds, the other calls, and says what is wrong with a call', async (t) => {
  const backend = await backendFor(t, { tools: ['look'] });
  const caller = new WiredRelay(t).caller({ b: backend.url }, 'alice', SEARCH);
  await caller.open();
  t.notOk((await caller.call('call_tool', { name: 'b-look', arguments: {} })).result?.['isError']);
  t.equal(backend.requestsOf('tools/call').length, 1);
  t.match((await caller.call('call_tool', { name: 7 })).result, { isError: true, content: [{ text: /name/ }] });
  t.equal(backend.requestsOf('tools/call').length, 1);
});

t.test('the two tools say what they take, and a client without a session is told not to keep them', async (t) => {
  const backend = await backendFor(t, { tools: ['look'] });
  const caller = new WiredRelay(t).caller({ b: backend.url }, 'alice', SEARCH);
  const modern = (await answerOf(post(caller, 'tools/list'))).result;
  await caller.open();
  const legacy = (await caller.list()).result;
  t.same(modern?.['tools'], legacy?.['tools']);
  t.match(modern, { resultType: 'complete', ttlMs: 0 }, VERSION);
  t.notOk('resultType' in (legacy ?? {}));
  const [call, search] = legacy?.['tools'] as Record<string, unknown>[];
  t.match(call, {
    name: 'call_tool',
    inputSchema: { required: ['name'], additionalProperties: false, properties: { arguments: { type: 'object' } } },
  });
  t.match(search, {
    name: 'find_tools',
    inputSchema: {
      ...{ required: ['query'], additionalProperties: false },
      properties: {
        query: { type: 'string', minLength: 1, maxLength: limits.toolQueryCharsMax },
        limit: { type: 'integer', minimum: 1, maximum: limits.foundToolsMax, default: 10 },
      },
    },
    outputSchema: { required: ['tools'] },
    annotations: { readOnlyHint: true },
  });
});
