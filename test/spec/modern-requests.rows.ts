// Requests of MCP 2026-07-28 to backends of that revision: what each is sent, what comes back, and what the gateway itself answers
// (M13–M22, M26, M30, N01, N02, N07).
import t from 'tap';
import { backendFor, forEachDeployment } from '../support/deployment.js';
import { JsonText, memberText } from '../support/json-text.js';
import { Failure } from '../support/mcp-backend.js';
import { answerText, rpc } from '../support/mcp-caller.js';
import { modernBackendFor, RefusedWith } from '../support/modern-backend.js';
import { ask, callTool, envelope } from '../support/modern-caller.js';
import { META, MODERN_VERSION } from '../support/modern-ladder.js';

const OWN_META = { [`${META}serverInfo`]: { name: /./, version: /./ } };
const NOWHERE = 'http://127.0.0.1:9/mcp';

await forEachDeployment(t, { spread: 'all' }, async (t, deployment) => {
  await t.test('server/discover: the union of what the backends have, and the gateway’s name (M16, M18)', async (t) => {
    const one = await modernBackendFor(t, { capabilities: { tools: {}, prompts: {} } });
    const two = await modernBackendFor(t, { capabilities: { resources: { subscribe: true }, completions: {} } });
    const caller = await deployment.caller({ one: { url: one.url }, two: { url: two.url } });
    const answer = await ask(caller, 'server/discover');
    t.equal(answer.status, 200, answer.text);
    const { result } = rpc(answer);
    t.match(result, {
      resultType: 'complete',
      cacheScope: 'private',
      capabilities: { tools: {}, prompts: {}, resources: {}, completions: {} },
      _meta: OWN_META,
    });
    const { supportedVersions, ttlMs, capabilities } = result as {
      supportedVersions: string[];
      ttlMs: number;
      capabilities: object;
    };
    t.ok(supportedVersions.includes(MODERN_VERSION) && supportedVersions.includes('2025-11-25'));
    t.ok(Number.isInteger(ttlMs) && ttlMs >= 0);
    t.notOk('logging' in capabilities, 'what no backend has is not declared');
    t.equal(one.requestsOf('initialize').length, 0, 'a backend of the same era is asked in it');
    t.same([...one.refusals, ...two.refusals], []);
  });

  await t.test(
    'lists: merged, in one order, cacheable for the shortest time and by one caller alone (M18, M19, M21, M30)',
    async (t) => {
      const cache = (ttlMs: number): { ttlMs: number; cacheScope: 'public' } => ({ ttlMs, cacheScope: 'public' });
      const one = await modernBackendFor(t, { tools: ['b', 'a'], cache: cache(60_000) });
      const two = await modernBackendFor(t, { tools: ['c'], cache: cache(5_000) });
      const caller = await deployment.caller({ one: { url: one.url }, two: { url: two.url } });
      const lists = [await ask(caller, 'tools/list'), await ask(caller, 'tools/list')].map(
        (answer) => rpc(answer).result,
      );
      for (const result of lists) {
        t.match(result, { resultType: 'complete', cacheScope: 'private', _meta: OWN_META });
        const { tools, ttlMs } = result as { tools: { name: string }[]; ttlMs: number };
        t.same(
          tools.map(({ name }) => name),
          ['one-a', 'one-b', 'two-c'],
        );
        t.ok(ttlMs <= 5_000 && ttlMs >= 0, `${ttlMs}: no longer than the shortest`);
      }
      await caller.configure({ one: { url: one.url }, gone: { url: NOWHERE } });
      t.match(rpc(await ask(caller, 'tools/list')).result, { ttlMs: 0 }, 'with a backend missing it does not hold');
      const legacy = await backendFor(t);
      await caller.configure({ one: { url: one.url }, old: { url: legacy.url } });
      t.match(
        rpc(await ask(caller, 'tools/list')).result,
        { ttlMs: 0, cacheScope: 'private' },
        'nor with one of sessions',
      );
    },
  );

  await t.test('a call: the bare name in body and header, everything else byte for byte (N01, N02, M13)', async (t) => {
    const backend = await modernBackendFor(t);
    const caller = await deployment.caller({ one: { url: backend.url } });
    const meta = envelope('{"sampling":{},"elicitation":{"form":{}}}', '"x/y":1.0,"traceparent":"00-1-2-01"');
    const args = '{"n":9007199254740993,"d":1.0,"t":"\\u0061\\/","k":{"b":1,"a":2}}';
    const headers = [
      ['mcp-param-region', 'us-west1'],
      ['Mcp-Param-Text', '=?base64?w6Q=?='],
    ] as const;
    const answer = await callTool(caller, 'one-echo', args, { meta, headers, id: '"x"' });
    t.equal(answer.status, 200, answer.text);
    t.equal(memberText(answerText(answer), 'result', 'structuredContent'), args);
    const { received } = backend.calls[0]!;
    t.equal(memberText(received.text, 'params', 'arguments'), args);
    t.equal(memberText(received.text, 'params', 'name'), '"echo"');
    t.equal(memberText(received.text, 'params', '_meta'), meta, 'the envelope is the client’s');
    t.match(received.headers, {
      'mcp-protocol-version': MODERN_VERSION,
      'mcp-method': 'tools/call',
      'mcp-name': 'echo',
      'mcp-param-region': 'us-west1',
      'mcp-param-text': '=?base64?w6Q=?=',
      accept: /application\/json.*text\/event-stream/,
    });
    for (const name of ['authorization', 'mcp-session-id', 'cookie']) t.notOk(name in received.headers, name);
    t.same(backend.refusals, []);
  });

  await t.test('names that a header cannot have are encoded, in each direction separately (N02)', async (t) => {
    const lookalike = '=?base64?ZWNobw==?=';
    const backend = await modernBackendFor(t, { tools: ['echo', lookalike, 'gr\u00fc\u00df'] });
    const caller = await deployment.caller({ one: { url: backend.url } });
    for (const name of ['gr\u00fc\u00df', lookalike]) {
      const answer = await callTool(caller, `one-${name}`);
      t.equal(answer.status, 200, answer.text);
      t.equal(backend.calls.at(-1)?.name, name);
      const base64 = `=?base64?${Buffer.from(name).toString('base64')}?=`;
      t.equal(backend.calls.at(-1)?.received.headers['mcp-name'], base64);
    }
    const needless = await callTool(caller, 'one-echo', '{}', { mcpName: '=?base64?b25lLWVjaG8=?=' });
    t.equal(needless.status, 200);
    t.same(backend.refusals, []);
  });

  await t.test('mirrored parameters of a tool are checked against the body, as its schema says (M13)', async (t) => {
    const properties = {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      count: { type: 'integer', 'x-mcp-header': 'Count' },
      deep: { type: 'object', properties: { flag: { type: 'boolean', 'x-mcp-header': 'Flag' } } },
    };
    const tool = { name: 'mirrored', description: 'd', inputSchema: { type: 'object', properties } };
    const backend = await modernBackendFor(t, { tools: [tool] });
    const caller = await deployment.caller({ one: { url: backend.url } });
    await ask(caller, 'tools/list');
    const call = async (args: string, ...headers: [string, string][]): Promise<number> =>
      (await callTool(caller, 'one-mirrored', args, { headers })).status;
    t.equal(await call('{"region":"eu"}', ['mcp-param-region', 'eu']), 200);
    t.equal(await call('{"region":"\u00e4"}', ['mcp-param-region', '=?base64?w6Q=?=']), 200);
    t.equal(await call('{"count":42}', ['mcp-param-count', '42.0']), 200, 'integers are compared as numbers');
    t.equal(await call('{"deep":{"flag":true}}', ['mcp-param-flag', 'true']), 200);
    t.equal(await call('{"region":null}'), 200, 'null has no header');
    t.equal(await call('{}', ['mcp-param-other', 'x']), 200, 'what the schema does not name means nothing');
    const reached = backend.calls.length;
    t.equal(reached, 6);
    const refused: [string, ...[string, string][]][] = [
      ['{"region":"eu"}'],
      ['{"region":"eu"}', ['mcp-param-region', 'us']],
      ['{"region":"eu"}', ['mcp-param-region', 'EU']],
      ['{"region":"Hello"}', ['mcp-param-region', '=?base64?SGVsbG8?=']],
      ['{"count":42}', ['mcp-param-count', '43']],
      ['{"deep":{"flag":true}}'],
    ];
    for (const [args, ...headers] of refused) {
      const answer = await callTool(caller, 'one-mirrored', args, { headers });
      t.equal(answer.status, 400, `${args} ${JSON.stringify(headers)}: ${answer.text}`);
      t.equal(rpc(answer).error?.code, -32020);
    }
    t.equal(backend.calls.length, reached, 'none was carried out');
  });

  await t.test('input_required and its answer pass untouched, in any number of rounds (M22, N07)', async (t) => {
    const state = '{"a":1.0,\\"\\u0061\\"}';
    const asked =
      `{"resultType":"input_required","inputRequests":{"user name":{"method":"elicitation/create","params":` +
      `{"message":"?","requestedSchema":{"type":"object","properties":{"n":{"type":"number","default":1.0}}}}}},` +
      `"requestState":"${state.replaceAll('"', '\\"').replaceAll('\\\\"', '\\"')}"}`;
    const backend = await modernBackendFor(t, {
      onCall: ({ params }) => ('inputResponses' in params ? { content: [] } : new JsonText(asked)),
    });
    const caller = await deployment.caller({ one: { url: backend.url } });
    const first = await callTool(caller, 'one-echo', '{}', { capabilities: '{"elicitation":{}}' });
    t.equal(memberText(answerText(first), 'result', 'inputRequests'), memberText(asked, 'inputRequests'));
    const given = memberText(answerText(first), 'result', 'requestState')!;
    t.equal(given, memberText(asked, 'requestState'));
    const responses = '{"user name":{"action":"accept","content":{"n":2.50}}}';
    const second = await ask(caller, 'tools/call', {
      id: '8',
      capabilities: '{"elicitation":{}}',
      params: `"name":"one-echo","arguments":{},"inputResponses":${responses},"requestState":${given}`,
    });
    t.match(rpc(second).result, { resultType: 'complete' });
    const retried = backend.calls.at(-1)!.received.text;
    t.equal(memberText(retried, 'params', 'inputResponses'), responses);
    t.equal(memberText(retried, 'params', 'requestState'), given);
    t.equal(backend.calls.length, 2);
  });

  await t.test('errors of a backend: code, message and data; a missing capability is 400 (M15, M26)', async (t) => {
    const refusal = { status: 400, code: -32021, message: 'm', data: { requiredCapabilities: { sampling: {} } } };
    const backend = await modernBackendFor(t, {
      capabilities: { tools: {}, resources: {} },
      tools: ['lacking', 'failing'],
      onCall: ({ name }) =>
        name === 'lacking' ? new RefusedWith(refusal) : new Failure({ code: 7, message: 'no', data: { d: 1 } }),
      methods: {
        'resources/read': ({ params }) =>
          new Failure({ code: -32602, message: 'Resource not found', data: { uri: params['uri'] } }),
      },
    });
    const caller = await deployment.caller({ one: { url: backend.url } });
    const lacking = await callTool(caller, 'one-lacking');
    t.equal(lacking.status, 400, lacking.text);
    t.match(rpc(lacking).error, { code: -32021, data: { requiredCapabilities: { sampling: {} } } });
    const failing = await callTool(caller, 'one-failing');
    t.equal(failing.status, 200);
    t.same(rpc(failing).error, { code: 7, message: 'no', data: { d: 1 } });
    const missing = await ask(caller, 'resources/read', { params: '"uri":"one+x://y"' });
    t.match(rpc(missing).error, { code: -32602, data: { uri: 'one+x://y' } });
    t.equal(backend.requestsOf('resources/read')[0]?.params['uri'], 'x://y');
    t.equal(backend.requestsOf('resources/read')[0]?.received.headers['mcp-name'], 'x://y');
    const unknown = await callTool(caller, 'one-nothing');
    t.ok([-32602, 7].includes(rpc(unknown).error?.code ?? 0), unknown.text);
  });

  await t.test('no state of one request is left for the next (M20)', async (t) => {
    const backend = await modernBackendFor(t, {
      onCall: ({ capabilities }) => ({ content: [{ type: 'text', text: JSON.stringify(capabilities) }] }),
    });
    const caller = await deployment.caller({ one: { url: backend.url } });
    for (const capabilities of ['{"sampling":{}}', '{}', '{"roots":{}}']) {
      const answer = await callTool(caller, 'one-echo', '{}', { capabilities });
      t.match(rpc(answer).result, { content: [{ text: capabilities }] });
    }
  });

  await t.test('allow-lists and curation apply to requests without a session', async (t) => {
    const backend = await modernBackendFor(t, { tools: ['yes', 'no'] });
    const caller = await deployment.caller({ one: { url: backend.url, allowed_tool_names: ['yes'] } });
    const { tools } = rpc(await ask(caller, 'tools/list')).result as { tools: { name: string }[] };
    t.same(
      tools.map(({ name }) => name),
      ['one-yes'],
    );
    t.equal((await callTool(caller, 'one-yes')).status, 200);
    const refused = rpc(await callTool(caller, 'one-no'));
    t.equal(refused.error?.code, -32602);
    t.equal(backend.calls.length, 1);
  });
});
