// Requests from backends to the client, on the stream of the call that they belong to: each goes out under an id of the gateway,
// and its response, on whatever connection it arrives, returns under the backend's own id; no other byte differs.
import t from 'tap';
import { limits } from '../../src/shared/limits.js';
import { refusals } from '../../src/shared/refusals.js';
import { backendFor, forEachDeployment, type Deployment } from '../support/deployment.js';
import { EventReader } from '../support/event-reader.js';
import { JsonText, memberText } from '../support/json-text.js';
import type { McpBackend, ReceivedCall } from '../support/mcp-backend.js';
import { BOTH_FORMS, rpc, type McpSession } from '../support/mcp-caller.js';
import { until } from '../support/until.js';
import { BACKEND_ANSWERS_UNDER_WAY_MAX } from '../../src/upstream/session/upstream-session.js';

const CAPABILITIES = '{"sampling":{"tools":{}},"roots":{"listChanged":true},"elicitation":{"form":{},"url":{}}}';

async function openSession(
  deployment: Deployment,
  backends: Readonly<Record<string, McpBackend>>,
  capabilities = CAPABILITIES,
): Promise<McpSession> {
  const members = Object.entries(backends).map(([name, { url }]) => [name, { url }] as const);
  const caller = await deployment.caller(Object.fromEntries(members));
  const params = `{"protocolVersion":"2025-11-25","capabilities":${capabilities},"clientInfo":{"name":"spec","version":"1"}}`;
  return caller.openSession({ params });
}

function callBody(tool: string, id = '7'): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${tool}","arguments":{}}}`;
}

/** Begins a call whose stream is read as it arrives. */
async function beginCall(session: McpSession, tool: string, id?: string): Promise<EventReader> {
  return EventReader.open(session.caller, { session: session.id, accept: BOTH_FORMS, body: callBody(tool, id) });
}

/** Every response that a backend was sent. */
function responsesTo(backend: McpBackend): string[] {
  const texts = backend.raw.requests.map(({ text }) => text);
  return texts.filter((text) => text !== '' && memberText(text, 'method') === undefined);
}

/** Sends these requests during a call, and ends the call after the given number of responses. */
function asker(requests: readonly string[], answersAwaited = requests.length) {
  return async (call: ReceivedCall, backend: () => McpBackend): Promise<unknown> => {
    const before = responsesTo(backend()).length;
    for (const request of requests) await call.send(new JsonText(request));
    await until(() => responsesTo(backend()).length - before >= answersAwaited, 'the answers');
    return { content: [] };
  };
}

async function askingBackend(
  t: Parameters<typeof backendFor>[0],
  requests: readonly string[],
  answersAwaited?: number,
): Promise<McpBackend> {
  const ask = asker(requests, answersAwaited);
  const backend: McpBackend = await backendFor(t, { framing: 'chunked', onCall: (call) => ask(call, () => backend) });
  return backend;
}

function withId(text: string, id: string): string {
  return text.replace('@', id);
}

await forEachDeployment(t, { spread: 'all' }, async (t, deployment) => {
  await t.test('requests of a backend and responses of the client arrive unchanged, except for the id', async (t) => {
    const asked = [
      {
        id: '0',
        text: '{ "method":"sampling/createMessage","params":{"maxTokens":1.0,"messages":[],"x":1,"x":1e400},"id":@ , "jsonrpc":"2.0"}',
      },
      {
        id: '"0"',
        text: '{"jsonrpc":"2.0","id":@,"method":"elicitation/create","params":{"message":"\\u0041 ü","requestedSchema":{"type":"object","properties":{}}}}',
      },
      {
        id: '""',
        text: '{"jsonrpc":"2.0","id":@,"method":"elicitation/create","params":{"mode":"url","elicitationId":"e","url":"https://a.example/","message":"go"}}',
      },
      {
        id: '"t"',
        // The tools of a sampling request belong to the backend: a name that looks like a merged one is left as it is.
        text: '{"jsonrpc":"2.0","id":@,"method":"sampling/createMessage","params":{"messages":[],"tools":[{"name":"one-x","inputSchema":{"type":"object"}}],"toolChoice":{"mode":"required"},"maxTokens":9}}',
      },
      { id: '1.50e1', text: '{"jsonrpc":"2.0","id":@,"method":"roots/list"}' },
      {
        id: '"\\u00e9\\"\\\\"',
        text: '{"jsonrpc":"2.0","id":@,"method":"roots/list","params":{"_meta":{"a/b":9007199254740993}}}',
      },
    ];
    const answers = [
      '{ "id":@,"result":{"role":"assistant","content":{"type":"text","text":"\\u0041 ü"},"model":"m","n":1.0},"jsonrpc":"2.0" }',
      '{"jsonrpc":"2.0","id":@,"result":{"action":"accept","content":{"n":9007199254740993}}}',
      '{"jsonrpc":"2.0","id":@,"error":{"code":-32042,"message":"no","data":[1e400]}}',
      '{"jsonrpc":"2.0","id":@,"result":{"role":"assistant","content":[{"type":"tool_use","id":"u","name":"one-x","input":{"n":1.0}}],"model":"m"}}',
      '{"jsonrpc":"2.0","result":{"roots":[]},"id":@}',
      '{"jsonrpc":"2.0","result":{"roots":[],"roots":[]},"more":{},"id":@}',
    ];
    const backend = await askingBackend(
      t,
      asked.map(({ id, text }) => withId(text, id)),
    );
    const session = await openSession(deployment, { one: backend });
    const stream = await beginCall(session, 'one-echo');
    const ids = new Set<string>();
    for (const [index, { text }] of asked.entries()) {
      const event = (await stream.next()) ?? '';
      const id = memberText(event, 'id') ?? '';
      t.equal(event, withId(text, id), 'to the client');
      t.type(JSON.parse(id), 'string');
      ids.add(id);
      const answer = await session.send(withId(answers[index]!, id));
      t.equal(answer.status, 202);
      t.equal(answer.text, '');
    }
    t.equal(ids.size, asked.length, 'every id is another');
    t.match(JSON.parse((await stream.next()) ?? ''), { id: 7, result: { content: [] } });
    t.equal(await stream.next(), undefined);
    t.same(responsesTo(backend).sort(), answers.map((text, index) => withId(text, asked[index]!.id)).sort());
    await session.delete();
  });

  await t.test('two backends, and two calls of one, may use the same request id at once', async (t) => {
    const request = '{"jsonrpc":"2.0","id":1,"method":"roots/list"}';
    const backends = [await askingBackend(t, [request]), await askingBackend(t, [request])] as const;
    const session = await openSession(deployment, { one: backends[0], two: backends[1] });
    const streams = [await beginCall(session, 'one-echo', '1'), await beginCall(session, 'two-echo', '2')];
    const ids = await Promise.all(streams.map(async (stream) => JSON.stringify((await stream.message()).id)));
    t.not(ids[0], ids[1]);
    // In reverse order.
    await session.send(`{"jsonrpc":"2.0","id":${ids[1]},"result":{"roots":[],"of":"two"}}`);
    await session.send(`{"jsonrpc":"2.0","id":${ids[0]},"result":{"roots":[],"of":"one"}}`);
    for (const [index, stream] of streams.entries()) t.match(await stream.message(), { id: index + 1, result: {} });
    t.same(responsesTo(backends[0]), ['{"jsonrpc":"2.0","id":1,"result":{"roots":[],"of":"one"}}']);
    t.same(responsesTo(backends[1]), ['{"jsonrpc":"2.0","id":1,"result":{"roots":[],"of":"two"}}']);
  });

  await t.test('a request that cannot be put to the client is refused to the backend, with a reason', async (t) => {
    const request = (method: string, params = '{}'): string =>
      `{"jsonrpc":"2.0","id":"a","method":"${method}","params":${params}}`;
    const rows = [
      { why: 'ping', ask: request('ping'), answer: { result: {} } },
      {
        why: 'not declared',
        capabilities: '{}',
        ask: request('sampling/createMessage'),
        answer: { error: { code: -32601 } },
      },
      {
        why: 'no such method',
        ask: request('tools/list'),
        answer: { error: { code: -32601, message: /tools\/list/ } },
      },
      {
        why: 'forms alone',
        capabilities: '{"elicitation":{}}',
        ask: request('elicitation/create', '{"mode":"url"}'),
        answer: { error: { code: -32602 } },
      },
      {
        why: 'URLs alone',
        capabilities: '{"elicitation":{"url":{}}}',
        ask: request('elicitation/create'),
        answer: { error: { code: -32602 } },
      },
      {
        why: 'JSON alone',
        accept: 'application/json',
        ask: request('roots/list'),
        answer: { error: { code: -32603, message: /event stream/ } },
      },
      {
        why: 'a long id',
        ask: `{"jsonrpc":"2.0","id":"${'x'.repeat(2_000)}","method":"roots/list"}`,
        answer: { error: { code: -32603, message: /id/ } },
      },
    ];
    for (const { why, capabilities, ask, accept = BOTH_FORMS, answer } of rows) {
      const backend = await askingBackend(t, [ask]);
      const session = await openSession(deployment, { one: backend }, capabilities);
      const called = await session.send(callBody('one-echo'), { accept });
      t.match(rpc(called), { id: 7, result: { content: [] } }, why);
      const [response = ''] = responsesTo(backend);
      t.match(JSON.parse(response), answer, why);
      t.equal(memberText(response, 'id'), memberText(ask, 'id'), why);
    }
  });

  await t.test('responses to requests that were never sent reach no backend', async (t) => {
    const backend = await askingBackend(t, ['{"jsonrpc":"2.0","id":1,"method":"roots/list"}']);
    const session = await openSession(deployment, { one: backend });
    const stream = await beginCall(session, 'one-echo');
    const { id } = await stream.message();
    const answer = (ofId: unknown, of: string): string =>
      JSON.stringify({ jsonrpc: '2.0', id: ofId, result: { roots: [], of } });
    const others = [await session.caller.openSession(), await openSession(deployment, { one: backend })];
    const lost = refusals.askerLost;
    for (const other of others) t.equal((await other.send(answer(id, 'another session'))).text, lost.body);
    const ofAnotherProcess = String(id).replace(/\.(.)/, (_, first: string) => (first === 'A' ? '.B' : '.A'));
    const guesses = [
      ...[1, '1', '', 0, `${String(id)} `, String(id).replace('1', '2'), 'x'.repeat(60_000), '__proto__'],
      String(id).replace(/1$/, '999'),
    ];
    for (const guess of guesses) t.equal((await session.send(answer(guess, 'a guess'))).status, 202);
    // If another process may have sent the request, the response cannot be passed on, and the client is told.
    for (const guess of [ofAnotherProcess, ofAnotherProcess.replace(/1$/, '999')]) {
      t.equal((await session.send(answer(guess, 'a guess'))).status, lost.status);
    }
    const stranger = await deployment.caller();
    t.equal((await stranger.send({ session: session.id, body: answer(id, 'a stranger') })).status, 404);
    t.same(responsesTo(backend), []);
    await session.send(answer(id, 'the client'));
    await session.send(answer(id, 'the client, again'));
    t.match(await stream.message(), { id: 7, result: {} });
    t.same(responsesTo(backend), ['{"jsonrpc":"2.0","id":1,"result":{"roots":[],"of":"the client"}}']);
  });

  await t.test('a backend can cancel its request; the end of its call cancels the others', async (t) => {
    const backend = await askingBackend(
      t,
      [
        '{"jsonrpc":"2.0","id":1,"method":"roots/list"}',
        '{"jsonrpc":"2.0","id":"1","method":"roots/list"}',
        '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"\\u0041"}}',
      ],
      0,
    );
    const session = await openSession(deployment, { one: backend });
    const stream = await beginCall(session, 'one-echo');
    const [first, second] = [await stream.next(), await stream.next()].map(
      (event) => memberText(event ?? '', 'id') ?? '',
    );
    t.equal(
      await stream.next(),
      `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${first},"reason":"\\u0041"}}`,
    );
    t.match(await stream.message(), {
      method: 'notifications/cancelled',
      params: { requestId: JSON.parse(second!) as string },
    });
    t.match(await stream.message(), { id: 7, result: {} });
    for (const id of [first, second]) {
      t.equal((await session.send(`{"jsonrpc":"2.0","id":${id},"result":{"roots":[]}}`)).status, 202);
    }
    t.same(responsesTo(backend), []);
  });

  await t.test('a backend that never stops asking is limited, and its call still ends', async (t) => {
    const events = Array.from(
      { length: 10_000 },
      (_, id) => `data: {"jsonrpc":"2.0","id":${id},"method":"roots/list"}\n\n`,
    );
    const backend: McpBackend = await backendFor(t, {
      onCall: async (call) => {
        const stream = call.takeOver().eventStream();
        await stream.bytes(events.join(''));
        await until(() => responsesTo(backend).length >= BACKEND_ANSWERS_UNDER_WAY_MAX, 'refusals');
        await stream.event('{"jsonrpc":"2.0","id":7,"result":{}}');
        stream.end();
      },
    });
    const session = await openSession(deployment, { one: backend });
    const stream = await beginCall(session, 'one-echo');
    const messages = (await stream.rest()).map((text) => JSON.parse(text) as { id?: unknown; method?: string });
    const { backendRequestsOpenMax: askedCount } = limits;
    t.equal(messages.filter(({ method }) => method === 'roots/list').length, askedCount, 'the client is asked a few');
    t.equal(
      messages.filter(({ method }) => method === 'notifications/cancelled').length,
      askedCount,
      'and told that they are over',
    );
    t.match(messages.at(-1), { id: 7, result: {} });
    for (const text of responsesTo(backend)) t.match(JSON.parse(text), { error: { code: -32603 } });
  });

  await t.test("the client's progress with a backend's request goes to that backend, as it is", async (t) => {
    const backend = await askingBackend(t, [
      '{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"_meta":{"progressToken":5}}}',
    ]);
    const session = await openSession(deployment, { one: backend });
    const stream = await beginCall(session, 'one-echo');
    const { id } = await stream.message();
    const progress = (token: string): string =>
      `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1.0, "progressToken":${token}}}`;
    for (const token of ['5', '"5"', '6']) t.equal((await session.send(progress(token))).status, 202);
    const reported = (): string[] => backend.requestsOf('notifications/progress').map(({ text }) => text);
    await until(() => reported().length > 0, 'the progress at the backend');
    await session.send(JSON.stringify({ jsonrpc: '2.0', id, result: {} }));
    t.match(await stream.message(), { id: 7, result: {} });
    t.same(reported(), [progress('5')]);
  });
});
