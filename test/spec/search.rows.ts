// Virtual hosts with exposure `search`: two tools are listed, one finds the others and one calls them, in either era, and
// everything that holds for a direct call holds for a call through them.
import t from 'tap';
import { backendFor, forEachDeployment, type ConfiguredCaller } from '../support/deployment.js';
import { EventReader } from '../support/event-reader.js';
import { JsonText, memberText } from '../support/json-text.js';
import type { McpBackend } from '../support/mcp-backend.js';
import { encodeRequest, RawConnection, type HttpAnswer } from '../support/raw-http.js';
import { answerText, BOTH_FORMS, INITIALIZE_PARAMS, rpc, type RequestParts } from '../support/mcp-caller.js';
import { modernBackendFor } from '../support/modern-backend.js';
import { ask, callTool, envelope, modernParts } from '../support/modern-caller.js';
import { until } from '../support/until.js';

const SEARCH = { exposure: 'search' };

interface Found {
  readonly content: readonly { readonly type: string; readonly text: string }[];
  readonly structuredContent: { readonly tools: readonly { readonly name: string }[] };
  readonly isError?: boolean;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

function found(answer: HttpAnswer): Found {
  return rpc(answer).result as Found;
}

function namesIn(answer: HttpAnswer): string[] {
  return found(answer).structuredContent.tools.map(({ name }) => name);
}

function errorText(answer: HttpAnswer): string {
  const { isError, content } = found(answer);
  return isError === true ? (content[0]?.text ?? '') : `no error: ${answer.text}`;
}

/** Sends a request without waiting for its response. */
async function sendAndKeep(caller: ConfiguredCaller, request: RequestParts): Promise<RawConnection> {
  const connection = await RawConnection.open(caller.origin);
  connection.write(encodeRequest(caller.origin, caller.request(request)));
  return connection;
}

/** Every response that a backend was sent. */
function responsesTo(backend: McpBackend): string[] {
  const texts = backend.raw.requests.map(({ text }) => text);
  return texts.filter((text) => text !== '' && memberText(text, 'method') === undefined);
}

const never = async (): Promise<never> => new Promise(() => {});

const issue = new JsonText(
  '{ "n" : 1.0, "name" :"createIssue" ,"description":"Opens a \\u0074icket in the tracker","inputSchema":{"type":"object"} }',
);

await forEachDeployment(t, {}, async (t, deployment) => {
  await t.test('two tools are listed, and what one finds the other calls, byte for byte', async (t) => {
    const forge = await backendFor(t, {
      tools: [issue, { name: 'list_pulls', description: 'Lists pull requests' }, 'secret', 'old'],
    });
    const files = await backendFor(t, { tools: [{ name: 'read_file', description: 'Reads a file' }, 'find_tools'] });
    const config = {
      forge: {
        url: forge.url,
        allowed_tool_names: ['createIssue', 'list_pulls', 'old'],
        tools: { old: { name: 'say', description: 'Greets', fixed_arguments: { v: 7 } } },
      },
      files: { url: files.url, prefix: '' },
    };
    const caller = await deployment.caller(config, SEARCH);
    const session = await caller.openSession();
    t.same(await session.toolNames(), ['call_tool', 'find_tools']);
    const answer = await session.call('find_tools', '{"query":"open an issue"}');
    t.equal(namesIn(answer)[0], 'forge-createIssue');
    const shown = issue.text.replace('"createIssue"', '"forge-createIssue"');
    t.equal(memberText(answerText(answer), 'result', 'structuredContent'), `{"tools":[${shown}]}`);
    t.equal(found(answer).content[0]?.text, `{"tools":[${shown}]}`, 'the same as text');
    const rows: readonly (readonly [string, readonly string[]])[] = [
      ['tickets', ['forge-createIssue']],
      ['PULL request', ['forge-list_pulls']],
      ['greet', ['forge-say']],
      ['files', ['read_file']],
      ['secret old', []],
      ['find tools', []],
    ];
    for (const [query, names] of rows)
      t.same(namesIn(await session.call('find_tools', JSON.stringify({ query }))), names, query);
    t.match(found(await session.call('find_tools', '{"query":"secret"}')).content[1]?.text, /No tool matches/);
    t.same(namesIn(await session.call('find_tools', '{"query":"lists reads opens","limit":1}')).length, 1);
    const args = '{ "t":1.50,"t":"\\u0041" }';
    for (const wrapped of [
      `{"name":"call_tool","arguments":{"name":"forge-say","arguments":${args}}}`,
      `{ "_meta":{"progressToken":"p"} , "arguments" : { "arguments":${args} ,"name":"forge-say" } , "name" : "call\\u005ftool" }`,
      `{"arguments":{"name":"forge-say","arguments":${args}},"name":"call_tool","x":[1]}`,
    ]) {
      const text = `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":${wrapped}}`;
      t.match(rpc(await session.send(text)), { id: 9, result: { content: [{ type: 'text' }] } });
      t.equal(forge.calls.at(-1)?.name, 'old');
      // At the start or the end, on the side of the name, as in a direct call.
      const fixed = [args.replace('{', '{"v":7,'), args.replace(/}$/, ',"v":7}')];
      t.ok(fixed.includes(forge.calls.at(-1)?.argumentsText ?? ''), forge.calls.at(-1)?.argumentsText ?? 'none');
    }
    const forged = forge.calls.length;
    for (const name of ['forge-secret', 'forge-old', 'forge-list_PULLS'])
      t.match(errorText(await session.call('call_tool', JSON.stringify({ name }))), /There is no tool/, name);
    const closed = '{"name":"forge-say","arguments":{"V":8}}';
    t.match(rpc(await session.call('call_tool', closed)).error, { code: -32602, message: 'Argument not accepted: V' });
    t.equal(forge.calls.length, forged, 'what is not allowed, renamed or fixed is so here as well');
    await session.call('call_tool', '{"name":"read_file"}');
    t.equal(files.calls.at(-1)?.argumentsText, undefined);
    await session.call('read_file', '{"v":1.0}');
    t.equal(files.calls.at(-1)?.argumentsText, '{"v":1.0}', 'by its own name too');
    const large = `{"v":"${'x'.repeat(3_000_000)}"}`;
    await session.call('call_tool', `{"name":"read_file","arguments":${large}}`);
    t.ok(files.calls.at(-1)?.argumentsText === large, 'large arguments');
    await session.call('call_tool', '{"name":"find_tools","arguments":{"query":"file"}}');
    t.equal(files.calls.length, 3, 'no backend’s tool takes the place of ours');
  });

  await t.test('an invalid call is explained to the model in words, and reaches no backend', async (t) => {
    const backend = await backendFor(t, { tools: ['a'] });
    const url = 'http://127.0.0.1:9/mcp';
    const caller = await deployment.caller(
      { b: { url: backend.url, allowed_tool_names: ['a'] }, gone: { url } },
      SEARCH,
    );
    const session = await caller.openSession();
    t.match(errorText(await session.call('call_tool', '{"name":"b-c"}')), /b-c.*find_tools/);
    t.match(errorText(await session.call('call_tool', '{"name":"call_tool","arguments":{}}')), /itself/);
    for (const args of ['{}', '[]', '{"name":1}', '{"name":"b-a","_meta":{}}', '{"name":"b-a","name":"b-a"}'])
      t.match(errorText(await session.call('call_tool', args)), /call_tool takes name/, args);
    for (const args of ['{"query":""}', '{"query":"a","limit":51}', '{"query":"a","x":1}', '{"limit":1}', '[]'])
      t.match(errorText(await session.call('find_tools', args)), /find_tools takes query/, args);
    t.match(rpc(await session.call('b-c')), { error: { code: -32602, message: 'Unknown tool: b-c' } });
    t.equal(backend.calls.length, 0);
    const { content, _meta } = found(await session.call('find_tools', '{"query":"a"}'));
    t.match(_meta, { 'switchyard/unavailable': [{ backend: 'gone' }] });
    t.match(content[1]?.text, /missing now: gone/);
  });

  await t.test('tools are read once, until a backend announces a change or the config changes', async (t) => {
    const tools: string[] = ['a-one'];
    const backend = await backendFor(t, {
      tools,
      capabilities: { tools: { listChanged: true } },
      onCall: async (call) => {
        tools.push('a-two');
        await call.notify('notifications/tools/list_changed', {});
        return { content: [] };
      },
    });
    const caller = await deployment.caller({ b: { url: backend.url } }, SEARCH);
    const session = await caller.openSession();
    const find = async (): Promise<string[]> => namesIn(await session.call('find_tools', '{"query":"one two"}'));
    t.same([await find(), await find()], [['b-a-one'], ['b-a-one']]);
    t.equal(backend.requestsOf('tools/list').length, 1);
    await session.call('call_tool', '{"name":"b-a-one"}');
    t.same((await find()).sort(), ['b-a-one', 'b-a-two']);
    await caller.configure({ b: { url: backend.url, allowed_tool_names: ['a-two'] } }, SEARCH);
    // Redis notifies the workers a moment later.
    await until(async () => (await find()).join() === 'b-a-two', 'the config to be obeyed');
    await caller.configure({ b: { url: backend.url } });
    await until(async () => (await session.toolNames()).join() === 'b-a-one,b-a-two', 'all tools to be listed');
    t.match(rpc(await session.call('find_tools')), { error: { message: 'Unknown tool: find_tools' } });
  });

  await t.test('callers who share a backend find only the tools that each of them may see', async (t) => {
    const backend = await backendFor(t, { tools: ['both', 'mine'] });
    const alice = await deployment.caller({ b: { url: backend.url } }, SEARCH);
    const bob = await deployment.caller({ b: { url: backend.url, allowed_tool_names: ['both'] } }, SEARCH);
    const query = '{"query":"both mine"}';
    const [one, other] = [await alice.openSession(), await bob.openSession()];
    t.same(namesIn(await one.call('find_tools', query)).sort(), ['b-both', 'b-mine']);
    t.same(namesIn(await other.call('find_tools', query)), ['b-both']);
  });

  await t.test('a call through call_tool has progress, questions, tasks and cancellation like any other', async (t) => {
    const question =
      '{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"message":"\\u0041","requestedSchema":{"type":"object","properties":{}}}}';
    const backend: McpBackend = await backendFor(t, {
      framing: 'chunked',
      tools: ['ask', 'wait', 'work'],
      capabilities: { tools: {}, tasks: { requests: { tools: { call: {} } } } },
      onCall: async (call) => {
        if (call.name === 'wait') await never();
        if (call.name === 'work') return new JsonText('{"task":{"taskId":"t-1","status":"working","ttl":1.0}}');
        const token = memberText(call.request.text, 'params', '_meta', 'progressToken') ?? 'null';
        await call.notify('notifications/progress', { progressToken: JSON.parse(token) as unknown, progress: 1 });
        const answered = responsesTo(backend).length;
        await call.send(new JsonText(question));
        await until(() => responsesTo(backend).length > answered, 'the answer');
        return { content: [] };
      },
    });
    const caller = await deployment.caller({ b: { url: backend.url } }, SEARCH);
    const params = INITIALIZE_PARAMS.replace('"capabilities":{}', '"capabilities":{"elicitation":{"form":{}}}');
    const session = await caller.openSession({ params });
    const body = (name: string, more = ''): string =>
      `{"jsonrpc":"2.0","id":"c1","method":"tools/call","params":{"name":"call_tool","arguments":{"name":"b-${name}"}${more}}}`;
    const inSession = (text: string): RequestParts => ({ session: session.id, accept: BOTH_FORMS, body: text });
    const stream = await EventReader.open(caller, inSession(body('ask', ',"_meta":{"progressToken":"p\\u0031"}')));
    t.match(await stream.next(), /"progressToken":"p1"/, 'progress');
    const asked = (await stream.next()) ?? '';
    const id = memberText(asked, 'id') ?? '';
    t.equal(asked, question.replace('"q1"', id), 'a question in the middle');
    const result = '{"action":"accept","content":{"n":1.0}}';
    t.equal((await session.send(`{"jsonrpc":"2.0","id":${id},"result":${result}}`)).status, 202);
    t.match(await stream.rest(), [/"id":"c1","result":\{"content":\[\]/]);
    t.equal(memberText(responsesTo(backend)[0] ?? '', 'result'), result);

    const work = await session.send(body('work', ',"task":{"ttl":1.0}'));
    t.match(work.text, '"result":{"task":{"taskId":"b-t-1","status":"working","ttl":1.0}}', 'a task');
    t.equal(memberText(backend.calls.at(-1)?.request.text ?? '', 'params', 'task'), '{"ttl":1.0}');

    const connection = await sendAndKeep(caller, inSession(body('wait')));
    t.teardown(() => connection.close());
    const waiting = (): number => backend.calls.filter(({ name }) => name === 'wait').length;
    await until(() => waiting() === 1, 'the call at the backend');
    const cancelled = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c1","reason":"r"}}';
    t.equal((await session.send(cancelled)).status, 202);
    await until(() => backend.requestsOf('notifications/cancelled').length === 1, 'the cancellation at the backend');
    const told = backend.requestsOf('notifications/cancelled')[0]?.text ?? '';
    t.equal(memberText(told, 'params', 'requestId'), memberText(backend.calls.at(-1)?.request.text ?? '', 'id'));

    // In the modern era, a client that disconnects has cancelled its call.
    const modern = await modernBackendFor(t, { tools: ['wait'], onCall: never });
    await caller.configure({ b: { url: backend.url }, m: { url: modern.url } }, SEARCH);
    const wrapping = (name: string, more = ''): string => `"name":"call_tool","arguments":{"name":"${name}"}${more}`;
    const capabilities = '{"elicitation":{"form":{}}}';
    const held = await ask(caller, 'tools/call', { params: wrapping('b-ask'), capabilities });
    const { requestState } = rpc(held).result as { readonly requestState?: string };
    t.match(rpc(held).result, { inputRequests: { 1: { method: 'elicitation/create', params: { message: 'A' } } } });
    const answers = `,"requestState":${JSON.stringify(requestState)},"inputResponses":{"1":{"action":"accept","content":{"n":2.0}}}`;
    const retry = await ask(caller, 'tools/call', { params: wrapping('b-ask', answers), capabilities });
    t.match(rpc(retry).result, { resultType: 'complete', content: [] }, 'and is asked by the answer');
    t.match(memberText(responsesTo(backend)[1] ?? '', 'result'), /"n":2\.0/);
    const leaving = await sendAndKeep(caller, modernParts('tools/call', { params: wrapping('b-wait') }));
    await until(() => waiting() === 2, 'the call at the backend');
    leaving.close();
    await until(() => backend.requestsOf('notifications/cancelled').length === 2, 'the cancellation');
    const hanging = await sendAndKeep(caller, modernParts('tools/call', { params: wrapping('m-wait') }));
    await until(() => modern.calls.length === 1, 'the call at the other backend');
    hanging.close();
    await modern.calls[0]?.gone();
  });

  await t.test('both tools work in a batch, and in MCP 2026-07-28', async (t) => {
    const legacy = await backendFor(t, {
      tools: [{ name: 'add', description: 'Adds numbers' }],
      onCall: async (call) => {
        const token = memberText(call.request.text, 'params', '_meta', 'progressToken');
        if (token !== undefined)
          await call.notify('notifications/progress', { progressToken: JSON.parse(token) as unknown, progress: 1 });
      },
    });
    const modern = await modernBackendFor(t, { tools: ['subtract'] });
    const caller = await deployment.caller({ l: { url: legacy.url }, m: { url: modern.url } }, SEARCH);
    const list = rpc(await ask(caller, 'tools/list')).result;
    t.match(list, { resultType: 'complete', ttlMs: 0, cacheScope: 'private', tools: [{ name: 'call_tool' }, {}] });
    const answer = await callTool(caller, 'find_tools', '{"query":"add numbers, or subtract"}');
    t.same(namesIn(answer).sort(), ['l-add', 'm-subtract'], answer.text);
    t.match(found(answer), { resultType: 'complete' });
    for (const name of ['l-add', 'm-subtract'])
      t.match(rpc(await callTool(caller, 'call_tool', `{"name":"${name}","arguments":{"v":2.0}}`)).result, {
        resultType: 'complete',
      });
    t.equal(legacy.calls.at(-1)?.argumentsText, '{"v":2.0}');
    t.same([...modern.refusals], [], 'its headers say what its body says');
    t.match(rpc(await callTool(caller, 'call_tool', '{"name":"x"}')).result, { isError: true, resultType: 'complete' });
    const progress = envelope('{}', '"progressToken":"p"');
    const told = await callTool(caller, 'call_tool', '{"name":"l-add"}', { meta: progress });
    t.match(told.text, /"progressToken":"p"/, 'progress comes as to any call');
    t.equal(legacy.calls.at(-1)?.argumentsText, undefined);
    const params = '{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}';
    const session = await caller.openSession({ params });
    const part = (id: number, name: string): string =>
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"call_tool","arguments":{"name":"${name}","arguments":{"v":${id}.0}}}}`;
    const batch = await session.send(`[${part(1, 'l-add')},${part(2, 'm-subtract')},${part(3, 'x')}]`, {
      protocolVersion: '2025-03-26',
    });
    t.match(batch.text, /"v\\?":1\.0/);
    t.equal(legacy.calls.at(-1)?.argumentsText, '{"v":1.0}');
  });
});
