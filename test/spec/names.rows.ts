// Decisions 2.5: prefixes, ambiguous names, unknown tools, order and completeness of the list, allowed names.
import t from 'tap';
import { backendFor, forEachDeployment, type BackendMembers } from '../support/deployment.js';
import { JsonText, memberText } from '../support/json-text.js';
import { answerText, rpc } from '../support/mcp-caller.js';

await forEachDeployment(t, {}, async (t, deployment) => {
  await t.test('the prefix is the key in `backends`, whatever `name` says', async (t) => {
    const backend = await backendFor(t, { name: 'server-name', tools: ['x'] });
    const session = await (await deployment.caller({ key: { url: backend.url, name: 'other' } })).openSession();
    t.same(await session.toolNames(), ['key-x']);
    t.match(rpc(await session.call('key-x')), { result: {} });
    t.match(rpc(await session.call('other-x')), { error: { code: -32602 } });
  });

  await t.test('the tool name keeps every byte', async (t) => {
    const tools = [
      'x',
      'X',
      'a-b',
      '-',
      '',
      'a.b/c:d',
      'with space',
      'ünï',
      '😀',
      'quote"d',
      'back\\slash',
      'tab\t',
      'x'.repeat(200),
    ];
    const backend = await backendFor(t, { tools });
    const session = await (await deployment.caller({ b: { url: backend.url } })).openSession();
    const listed = await session.toolNames();
    t.same(listed.toSorted(), tools.map((tool) => `b-${tool}`).toSorted());
    for (const tool of tools) {
      t.match(rpc(await session.call(`b-${tool}`)), { result: {} }, JSON.stringify(tool));
      t.equal(backend.calls.at(-1)?.name, tool);
    }
  });

  await t.test('a name that the caller writes with escapes is the same name', async (t) => {
    const backend = await backendFor(t, { tools: ['add', 'ü'] });
    const session = await (await deployment.caller({ b: { url: backend.url } })).openSession();
    for (const [written, tool] of [
      ['"b-\\u0061dd"', 'add'],
      ['"\\u0062\\u002dadd"', 'add'],
      ['"b-\\u00fc"', 'ü'],
      ['"\\u0062-ü"', 'ü'],
    ] as const) {
      const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":${written},"arguments":{}}}`;
      t.match(rpc(await session.send(body)), { result: {} }, written);
      t.equal(backend.calls.at(-1)?.name, tool, written);
    }
  });

  await t.test('a name that the backend writes with escapes is listed as the same name', async (t) => {
    const tool = new JsonText('{"name":"\\u0061\\/b","inputSchema":{"type":"object"}}');
    const backend = await backendFor(t, { tools: [tool] });
    const session = await (await deployment.caller({ b: { url: backend.url } })).openSession();
    t.same(await session.toolNames(), ['b-a/b']);
    await session.call('b-a/b');
    t.equal(backend.calls.at(-1)?.name, 'a/b');
  });

  await t.test('backend names may contain -; the longest that fits wins', async (t) => {
    const names = ['a', 'a-b', 'a-b-c'];
    const backends = await Promise.all(names.map(() => backendFor(t, { tools: ['x'] })));
    const entries = names.map((name, index) => [name, { url: backends[index]!.url } satisfies BackendMembers] as const);
    const session = await (await deployment.caller(Object.fromEntries(entries))).openSession();
    for (const [index, name] of names.entries()) {
      await session.call(`${name}-x`);
      t.same(
        backends.map(({ calls }) => calls.length),
        names.map((_, other) => (other <= index ? 1 : 0)),
        name,
      );
    }
  });

  await t.test('a tool that this rule makes unreachable is left out of the list and logged once', async (t) => {
    const tools = { a: ['b-c', 'd'], 'a-b': ['c', 'e'] };
    const [short, long] = [await backendFor(t, { tools: tools.a }), await backendFor(t, { tools: tools['a-b'] })];
    const session = await (await deployment.caller({ a: { url: short.url }, 'a-b': { url: long.url } })).openSession();
    for (let round = 0; round < 3; round++) t.same(await session.toolNames(), ['a-b-c', 'a-b-e', 'a-d']);
    t.equal((await session.toolNames()).filter((name) => name === 'a-b-c').length, 1);
    await session.call('a-b-c');
    t.same([short.calls.length, long.calls.length], [0, 1]);
    await session.call('a-b-z');
    t.same(
      [short.calls.length, long.calls.length],
      [0, 2],
      'a name that starts with the longer prefix is never the shorter one',
    );
    const isNamed = (line: Readonly<Record<string, unknown>>): boolean =>
      JSON.stringify(line).includes('"b-c"') || JSON.stringify(line).includes('a-b-c');
    await deployment.gateway.waitForLog(isNamed);
    t.equal(deployment.gateway.logs.filter(isNamed).length, 1, 'logged once');
  });

  await t.test('no configured prefix: -32602, Unknown tool: <name>, HTTP 200', async (t) => {
    const backend = await backendFor(t);
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    for (const name of [
      '',
      'echo',
      'one',
      'oneecho',
      'on-e',
      'ONE-echo',
      '-one-echo',
      'two-echo',
      'ü"\\',
      ' one-echo',
    ]) {
      const answer = await session.call(name);
      t.equal(answer.status, 200, name);
      t.same(rpc(answer), { jsonrpc: '2.0', id: 7, error: { code: -32602, message: `Unknown tool: ${name}` } });
    }
    t.same(backend.calls, []);
  });

  await t.test("a tool that the backend does not have is the backend's to refuse", async (t) => {
    const backend = await backendFor(t, {
      onCall: (call) => call.fail({ code: -32602, message: `Unknown tool: ${call.name}` }),
    });
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    const answer = await session.call('one-nothing');
    t.same(rpc(answer), { jsonrpc: '2.0', id: 7, error: { code: -32602, message: 'Unknown tool: nothing' } });
  });

  await t.test('tools/list is sorted by name', async (t) => {
    const one = await backendFor(t, { tools: ['z', 'B', 'a', '10', '9', 'é', 'A'] });
    const two = await backendFor(t, { tools: ['y', 'b'] });
    const session = await (await deployment.caller({ 'o-n': { url: two.url }, o: { url: one.url } })).openSession();
    const names = await session.toolNames();
    t.equal(names.length, 9);
    t.same(names, names.toSorted());
  });

  await t.test('tools/list is complete: every page of every backend (C20)', async (t) => {
    const tools = Array.from({ length: 23 }, (_, index) => `t${String(index).padStart(2, '0')}`);
    const paged = await backendFor(t, { tools, pageSize: 5 });
    const streaming = await backendFor(t, { tools, pageSize: 1, answerAs: 'event-stream' });
    const session = await (await deployment.caller({ p: { url: paged.url }, s: { url: streaming.url } })).openSession();
    const answer = await session.list();
    t.same(await session.toolNames(), [...tools.map((tool) => `p-${tool}`), ...tools.map((tool) => `s-${tool}`)]);
    t.equal(memberText(answerText(answer), 'result', 'nextCursor'), undefined, 'in one answer');
  });

  await t.test('tools/list of a virtual host without backends is empty', async (t) => {
    const session = await (await deployment.caller()).openSession();
    t.same(await session.toolNames(), []);
  });

  await t.test('allowed_tool_names: empty allows all', async (t) => {
    const backend = await backendFor(t, { tools: ['x', 'y'] });
    const session = await (await deployment.caller({ b: { url: backend.url, allowed_tool_names: [] } })).openSession();
    t.same(await session.toolNames(), ['b-x', 'b-y']);
    t.match(rpc(await session.call('b-not-listed')), { result: {} });
  });

  await t.test('allowed_tool_names: anything else is neither listed nor callable', async (t) => {
    const backend = await backendFor(t, { tools: ['x', 'y', 'x-y', 'X'] });
    const allowed = { url: backend.url, allowed_tool_names: ['x', 'x-y', 'not-there'] };
    const session = await (await deployment.caller({ b: allowed })).openSession();
    t.same(await session.toolNames(), ['b-x', 'b-x-y']);
    t.match(rpc(await session.call('b-x')), { result: {} });
    t.match(rpc(await session.call('b-x-y')), { result: {} });
    for (const name of ['b-y', 'b-X', 'b-', 'b-b-x']) {
      t.same(rpc(await session.call(name)).error, { code: -32602, message: `Unknown tool: ${name}` });
    }
    t.equal(backend.calls.length, 2, 'nothing else reached the backend');
  });

  await t.test('allowed_tool_names are bare names, not prefixed ones', async (t) => {
    const backend = await backendFor(t, { tools: ['x', 'b-x'] });
    const session = await (
      await deployment.caller({ b: { url: backend.url, allowed_tool_names: ['b-x'] } })
    ).openSession();
    t.same(await session.toolNames(), ['b-b-x']);
    t.match(rpc(await session.call('b-x')), { error: { code: -32602 } });
  });

  await t.test("one backend's allowed_tool_names do not affect another's tools", async (t) => {
    const [one, two] = [await backendFor(t, { tools: ['x', 'y'] }), await backendFor(t, { tools: ['x', 'y'] })];
    const caller = await deployment.caller({
      one: { url: one.url, allowed_tool_names: ['x'] },
      two: { url: two.url },
    });
    t.same(await (await caller.openSession()).toolNames(), ['one-x', 'two-x', 'two-y']);
  });

  await t.test('names of properties that every JavaScript object has are names like any other', async (t) => {
    const backend = await backendFor(t, { tools: ['constructor', '__proto__'] });
    const caller = await deployment.caller();
    const member = JSON.stringify({ url: backend.url });
    const config = `{"virtual_hosts":{"${caller.virtualHostId}":{"backends":{"__proto__":${member},"toString":${member}}}}}`;
    await deployment.writeRawConfig(caller.subject, Buffer.from(config));
    const names = ['__proto__-__proto__', '__proto__-constructor', 'toString-__proto__', 'toString-constructor'];
    const session = await caller.openSession();
    t.same(await session.toolNames(), names);
    for (const name of names) t.match(rpc(await session.call(name)), { result: {} }, name);
    t.match(rpc(await session.call('constructor-x')), { error: { code: -32602 } });
  });
});
