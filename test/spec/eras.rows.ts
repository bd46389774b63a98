// Which revision a request belongs to, and what a request of 2026-07-28 is refused for: its body says what it is, and its headers
// must agree (E01–E07, M01–M14). Nothing that is refused here may reach a backend.
import t, { type Test } from 'tap';
import { backendFor, forEachDeployment, type ConfiguredCaller } from '../support/deployment.js';
import { rpc } from '../support/mcp-caller.js';
import { ask, callTool, envelope, modernParts } from '../support/modern-caller.js';
import { META, MODERN_VERSION } from '../support/modern-ladder.js';
import type { HttpAnswer } from '../support/raw-http.js';

const UNKNOWN = 'v999.0.0';

function withVersion(version: string): string {
  return envelope().replace(MODERN_VERSION, version);
}

/** Checks that the request is refused with this status, this code, and its own id. */
function isRefused(t: Test, answer: HttpAnswer, status: number, code: number, why: string): void {
  t.equal(refusal(answer), `${status} ${code} 7`, `${why}: ${answer.text}`);
}

function refusal(answer: HttpAnswer): string {
  const { id, error } = rpc(answer);
  return `${answer.status} ${error?.code} ${JSON.stringify(id)}`;
}

await forEachDeployment(t, { spread: 'all' }, async (t, deployment) => {
  const callerOf = async (t: Test): Promise<ConfiguredCaller> =>
    deployment.caller({ one: { url: (await backendFor(t)).url } });

  await t.test('the body decides the revision; the method and the headers do not (E04, E05, E06, E07)', async (t) => {
    const caller = await callerOf(t);
    isRefused(t, await ask(caller, 'initialize'), 404, -32601, 'initialize in an envelope');
    const legacy = await caller.initialize();
    t.equal(legacy.status, 200, 'initialize without one opens a session');
    t.match(rpc(legacy).result, { protocolVersion: '2025-11-25' });
    const headerAlone = await ask(caller, 'tools/list', { meta: null });
    isRefused(t, headerAlone, 400, -32602, 'the header alone');
    t.match(rpc(headerAlone).error?.message, `${META}protocolVersion`, 'what is missing is named');
    const notification = await ask(caller, 'notifications/cancelled', {
      id: null,
      meta: null,
      params: '"requestId":1',
    });
    t.equal(notification.status, 202, 'a notification with the header alone');
    t.equal(
      (await ask(caller, 'tools/list', { meta: null, version: null })).status,
      400,
      'neither: a session is missing',
    );
    const foreign = { session: 'x'.repeat(32), meta: null, version: null };
    t.equal((await ask(caller, 'tools/list', foreign)).status, 404, 'neither, and a session that is not known');
  });

  await t.test('what is not one request or notification is refused (E01, E02, E03, M03)', async (t) => {
    const caller = await callerOf(t);
    const { body, headers } = modernParts('tools/list');
    const sent = String(body);
    const batch = await caller.send({ body: `[${sent}]`, headers: headers ?? [], protocolVersion: null });
    t.equal(batch.status, 400, batch.text);
    t.equal((batch.json() as { error: { code: number } }).error.code, -32600);
    const unnamed = await caller.send({ body: `[${sent}]`, protocolVersion: null });
    t.equal(unnamed.status, 400, 'an envelope in an array, without headers');
    const response = await caller.send({
      body: '{"jsonrpc":"2.0","id":7,"result":{}}',
      headers: [['mcp-protocol-version', MODERN_VERSION]],
      protocolVersion: null,
    });
    t.equal(response.status, 400, response.text);
    for (const method of ['GET', 'DELETE']) {
      const answer = await caller.send({
        method,
        headers: [['mcp-protocol-version', MODERN_VERSION]],
        protocolVersion: null,
        accept: 'text/event-stream',
      });
      t.ok(answer.status === 400 || answer.status === 405, `${method} belongs to sessions: ${answer.status}`);
    }
  });

  await t.test('wrong, missing or contradictory versions and envelopes are refused (M09, M10, M11)', async (t) => {
    const backend = await backendFor(t);
    const caller = await deployment.caller({ one: { url: backend.url } });
    const discovered = rpc(await ask(caller, 'server/discover')).result as { supportedVersions: string[] };
    const both = await ask(caller, 'server/discover', { meta: withVersion(UNKNOWN), version: UNKNOWN });
    isRefused(t, both, 400, -32022, 'header and body name what nobody knows');
    const { data } = rpc(both).error ?? {};
    t.match(data, { requested: UNKNOWN });
    const { supported } = data as { supported: string[] };
    t.ok(supported.length > 0 && supported.every((version) => discovered.supportedVersions.includes(version)));
    const cells = [
      ['the body names another than the header', { meta: withVersion(UNKNOWN) }, -32020],
      ['the header names another than the body', { version: UNKNOWN }, -32020],
      ['the header names a legacy version', { version: '2025-11-25' }, -32020],
      ['the body names a legacy version', { meta: withVersion('2025-11-25') }, -32020],
      ['both name a legacy version', { meta: withVersion('2025-11-25'), version: '2025-11-25' }, -32022],
      ['no header', { version: null }, -32020],
      ['no envelope', { meta: null }, -32602],
      ['an empty envelope', { meta: '{}' }, -32602],
      ['no version in it', { meta: `{"${META}clientCapabilities":{}}` }, -32602],
      ['no capabilities in it', { meta: `{"${META}protocolVersion":"${MODERN_VERSION}"}` }, -32602],
      ['capabilities that are an array', { capabilities: '[]' }, -32602],
      ['capabilities that are null', { capabilities: 'null' }, -32602],
      ['a level that is none', { meta: envelope('{}', `"${META}logLevel":"loud"`) }, -32602],
      ['a version that is a number', { meta: envelope().replace(`"${MODERN_VERSION}"`, '20260728') }, -32602],
    ] as const;
    for (const [why, parts, code] of cells) {
      isRefused(t, await ask(caller, 'server/discover', parts), 400, code, why);
      isRefused(t, await callTool(caller, 'one-echo', '{}', { id: '7', ...parts }), 400, code, `${why}, of a call`);
    }
    t.equal(backend.calls.length, 0, 'none of the calls was carried out');
    const modest = await ask(caller, 'server/discover', {
      meta: `{"${META}protocolVersion":"${MODERN_VERSION}","${META}clientCapabilities":{}}`,
    });
    t.equal(modest.status, 200, 'without clientInfo it is served');
  });

  await t.test('headers that disagree with the body are refused, in every pair (M12, M29)', async (t) => {
    const backend = await backendFor(t, {
      capabilities: { tools: {}, prompts: {}, resources: {} },
      methods: { 'prompts/get': () => ({ messages: [] }), 'resources/read': () => ({ contents: [] }) },
    });
    const caller = await deployment.caller({ one: { url: backend.url } });
    const methods = {
      'tools/list': '',
      'tools/call': '"name":"one-echo","arguments":{}',
      'prompts/get': '"name":"one-p"',
      'resources/read': '"uri":"one+x://y"',
      'server/discover': '',
    };
    await ask(caller, 'tools/list');
    const reached = backend.raw.requests.length;
    const pairs: (readonly [why: string, answer: Promise<HttpAnswer>])[] = [];
    for (const [method, params] of Object.entries(methods)) {
      for (const said of [...Object.keys(methods), method.toUpperCase(), '', null]) {
        if (said === method) continue;
        pairs.push([
          `${method}, and the header ${said ?? 'missing'}`,
          ask(caller, method, { params, mcpMethod: said }),
        ]);
      }
    }
    const named = ['tools/call', 'prompts/get', 'resources/read'] as const;
    const values = [null, '', 'one-', 'ONE-ECHO', 'one-echo2', 'echo', 'one-P', 'one+x://z', 'one+X://y'];
    const encoded = ['=?base64?b25lLWVjaG8?=', '=?base64?!!!?=', '=?base64??=', '=?base64?b25lLWVjaG9=?='];
    for (const method of named) {
      for (const mcpName of [...values, ...encoded]) {
        const answer = ask(caller, method, { params: methods[method], mcpName });
        pairs.push([`${method}, and the name ${mcpName ?? 'missing'}`, answer]);
      }
    }
    const ofPrompt = ask(caller, 'tools/call', { params: methods['tools/call'], mcpName: 'one-p' });
    pairs.push(['the name of a prompt on a call', ofPrompt]);
    const taken: string[] = [];
    for (const [why, answer] of pairs) {
      const got = refusal(await answer);
      if (got !== '400 -32020 7') taken.push(`${why}: ${got}`);
    }
    t.same(taken, [], `of ${pairs.length}`);
    t.equal(backend.raw.requests.length, reached, 'nothing of it has reached the backend');
  });

  await t.test('headers that agree with the body in another spelling are accepted (M12)', async (t) => {
    const backend = await backendFor(t, { tools: ['echo', 'gr\u00fc\u00df'] });
    const caller = await deployment.caller({ one: { url: backend.url } });
    const base64 = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`;
    const spellings = [
      ['spaces around it', { mcpName: ' \t one-echo  ' }],
      ['base64 that nobody needed', { mcpName: base64('one-echo') }],
      ['another case of the headers’ names', { mcpName: null, headers: [['MCP-NAME', 'one-echo']] as const }],
    ] as const;
    for (const [why, parts] of spellings) {
      const answer = await callTool(caller, 'one-echo', '{"n":1.0}', parts);
      t.equal(answer.status, 200, `${why}: ${answer.text}`);
      t.match(rpc(answer).result, { structuredContent: { n: 1 } }, why);
    }
    const beyondAscii = await callTool(caller, 'one-gr\u00fc\u00df');
    t.equal(beyondAscii.status, 200, beyondAscii.text);
    t.equal(backend.calls.at(-1)?.name, 'gr\u00fc\u00df');
  });

  await t.test('a duplicate header with two different values is refused (M10, M12)', async (t) => {
    const caller = await callerOf(t);
    for (const name of ['mcp-protocol-version', 'mcp-method', 'mcp-name']) {
      const { headers = [], ...parts } = modernParts('tools/call', { params: '"name":"one-echo","arguments":{}' });
      const other = [name, 'other'] as const;
      for (const twice of [
        [...headers, other],
        [other, ...headers],
      ])
        isRefused(t, await caller.send({ ...parts, headers: twice }), 400, -32020, `${name} ${twice[0] === other}`);
    }
  });

  await t.test('methods that only sessions have, and unknown methods, are not found (M14)', async (t) => {
    const caller = await callerOf(t);
    const methods = [
      'initialize',
      'ping',
      'logging/setLevel',
      'resources/subscribe',
      'resources/unsubscribe',
      'unknown/method',
    ];
    for (const method of methods) isRefused(t, await ask(caller, method), 404, -32601, method);
    for (const method of ['tools/list/', 'Tools/List', 'constructor', '__proto__'])
      isRefused(t, await ask(caller, method), 404, -32601, method);
  });

  await t.test('a notification is accepted, whatever its headers say (M04)', async (t) => {
    const caller = await callerOf(t);
    for (const parts of [{}, { mcpMethod: null }, { mcpMethod: 'tools/call' }]) {
      const answer = await ask(caller, 'notifications/cancelled', { id: null, params: '"requestId":7', ...parts });
      t.equal(answer.status, 202, answer.text);
      t.equal(answer.body.length, 0);
    }
  });

  await t.test('ids of every kind are returned unchanged; session ids are ignored (M20, M28)', async (t) => {
    const caller = await callerOf(t);
    for (const id of ['0', '""', '"\\u0061"', '9007199254740991', '-1']) {
      const answer = await callTool(caller, 'one-echo', '{}', { id, session: 'no-session-of-mine' });
      t.equal(answer.status, 200, answer.text);
      t.equal(answer.header('mcp-session-id'), undefined, 'none is given out');
      t.match(answer.text, `"id":${id}`);
    }
    const refused = await ask(caller, 'server/discover', { id: '"\\u0061"', version: null });
    t.match(refused.text, '"id":"\\u0061"');
  });

  await t.test('the token, the virtual host and the origin are checked as always (M02)', async (t) => {
    const caller = await callerOf(t);
    t.equal((await ask(caller, 'server/discover', { token: null })).status, 401);
    t.equal((await ask(caller, 'server/discover', { headers: [['origin', 'http://evil.example']] })).status, 403);
    const elsewhere = deployment.gateway.path('nowhere');
    t.equal((await ask(caller, 'server/discover', { path: elsewhere })).status, 404);
  });
});
