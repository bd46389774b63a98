// Methods that MCP does not have: a method that is named like an experimental capability of exactly one backend goes to that
// backend, byte for byte; every other is "method not found".
import t from 'tap';
import { limits } from '../../src/shared/limits.js';
import { backendFor, forEachDeployment, type Deployment } from '../support/deployment.js';
import { memberText } from '../support/json-text.js';
import type { McpBackend } from '../support/mcp-backend.js';
import { answerText, rpc, type McpSession } from '../support/mcp-caller.js';
import type { ReceivedRequest } from '../support/raw-backend.js';

const METHOD = 'acme/paint';

/** A backend with this `capabilities.experimental`, as JSON text, which answers the method with `answer`. */
async function experimentalBackend(
  t: Parameters<typeof backendFor>[0],
  experimental: string,
  answer: (request: ReceivedRequest) => void | Promise<void> = (request) =>
    request.json(`{"jsonrpc":"2.0","id":${memberText(request.text, 'id')},"result":{}}`),
): Promise<McpBackend> {
  return backendFor(t, {
    onRequest: async (request) => {
      if (request.method !== 'POST') return false;
      const method = JSON.parse(memberText(request.text, 'method') ?? '""') as string;
      if (method === 'initialize') request.json(initializeAnswer(request, experimental));
      else if (method === METHOD) await answer(request);
      else return false;
      return true;
    },
  });
}

function initializeAnswer(request: ReceivedRequest, experimental: string): string {
  const result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"experimental":${experimental}},"serverInfo":{"name":"x","version":"1"}}`;
  return `{"jsonrpc":"2.0","id":${memberText(request.text, 'id')},"result":${result}}`;
}

function requestText(method = METHOD, params = '{}'): string {
  return `{"jsonrpc":"2.0","id":5,"method":${JSON.stringify(method)},"params":${params}}`;
}

/** The experimental capabilities that the client is told, as text. */
function told(session: McpSession): string | undefined {
  return memberText(answerText(session.opening), 'result', 'capabilities', 'experimental');
}

await forEachDeployment(t, {}, async (t, deployment) => {
  await t.test('such a method and its answer pass byte for byte', async (t) => {
    const result =
      '{ "uri":"file:///a","contents":[{"uri":"x:y"}],"tools":[{"name":"x"}],"taskId":"t","n":1.0,"n":1e400 }';
    const one = await experimentalBackend(t, `{"${METHOD}":{ "since" : 1.0 }}`, (request) =>
      request.json(`{"result":${result} ,"id":5.0,"jsonrpc":"2.0","x":[]}`),
    );
    const two = await experimentalBackend(t, '{"acme/other":{}}');
    const session = await (await deployment.caller({ one: { url: one.url }, two: { url: two.url } })).openSession();
    const body = `{ "params":{"name":"two-x","uri":"two+file:///a","taskId":"two-t","\\u0061":1.0,"_meta":{"x/y":[]}},"id":5 ,"method":"acme\\/paint","jsonrpc":"2.0" }`;
    const answer = await session.send(body);
    t.equal(answer.status, 200);
    t.equal(answer.text, `{"result":${result} ,"id":5,"jsonrpc":"2.0","x":[]}`);
    t.same(
      one.requestsOf(METHOD).map(({ text }) => text),
      [body],
    );
    t.same(two.requestsOf(METHOD), []);
    t.equal(told(session), `{"${METHOD}":{ "since" : 1.0 },"acme/other":{}}`, "each as its backend's own words");
  });

  await t.test('progress comes before its answer; an error passes; a lost session is opened again', async (t) => {
    const progress = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":9,"progress":1.0}}';
    const error = '{"code":-1,"message":"no","data":{"uri":"x:y","n":1.0}}';
    const talking = await experimentalBackend(t, `{"${METHOD}":{}}`, async (request) => {
      const stream = request.eventStream();
      await stream.event(progress);
      await stream.event(`{"jsonrpc":"2.0","id":5,"error":${error}}`);
      stream.end();
    });
    const session = await (await deployment.caller({ one: { url: talking.url } })).openSession();
    const answer = await session.send(requestText(METHOD, '{"_meta":{"progressToken":9}}'));
    t.equal(answer.contentType, 'text/event-stream');
    t.ok(answer.text.includes(`data: ${progress}\n`));
    t.equal(answerText(answer), `{"jsonrpc":"2.0","id":5,"error":${error}}`);

    const forgetful = await backendFor(t, {
      withSessions: true,
      capabilities: { experimental: { [METHOD]: {} } },
      methods: { [METHOD]: () => ({ painted: true }) },
    });
    const other = await (await deployment.caller({ one: { url: forgetful.url } })).openSession();
    for (const round of ['first', 'second']) {
      t.match(rpc(await other.send(requestText())), { id: 5, result: { painted: true } }, round);
      forgetful.forgetSessions();
    }
    t.equal(forgetful.requestsOf('initialize').length, 2);
  });

  await t.test('declared by two backends, or by one with an allow-list: nobody is asked or told', async (t) => {
    const backend = await experimentalBackend(t, `{"${METHOD}":{"a":1},"acme/own":{}}`);
    const { url } = backend;
    const refused = async (backends: Parameters<Deployment['caller']>[0], what: string): Promise<McpSession> => {
      const session = await (await deployment.caller(backends)).openSession();
      const answer = rpc(await session.send(requestText()));
      t.match(answer, { id: 5, error: { code: -32601, message: `Method not found: ${METHOD}` } }, what);
      return session;
    };
    const twin = await experimentalBackend(t, `{"${METHOD}":{"a":1}}`);
    const both = await refused({ one: { url }, two: { url: twin.url } }, 'two backends');
    t.equal(told(both), '{"acme/own":{}}');
    for (const list of [
      { allowed_tool_names: ['x'] },
      { allowed_prompt_names: ['x'] },
      { allowed_resource_names: ['x'] },
      { exposes: ['tools', 'resources'] },
    ]) {
      const limited = await refused({ one: { url, ...list } }, JSON.stringify(list));
      t.equal(told(limited), undefined, JSON.stringify(list));
    }
    // The other backend has no allow-list, so it is the only one with the method.
    const caller = await deployment.caller({ one: { url, allowed_tool_names: ['x'] }, two: { url: twin.url } });
    t.match(rpc(await (await caller.openSession()).send(requestText())), { id: 5, result: {} });
    t.equal(backend.requestsOf(METHOD).length, 0);
    t.equal(twin.requestsOf(METHOD).length, 1);
  });

  await t.test('without a session, or declared otherwise: method not found', async (t) => {
    const long = 'x'.repeat(limits.experimentalBytesMax);
    for (const experimental of [
      '[]',
      'null',
      `{"${METHOD}":true}`,
      `{"${METHOD}":[]}`,
      `{"${METHOD}/x":{},"Acme/paint":{}}`,
      `{"x":{"${METHOD}":{}}}`,
      `{"x":{"y":"${long}"},"${METHOD}":{}}`,
      `{"${METHOD}":{"y":"${long}"}}`,
    ]) {
      const backend = await experimentalBackend(t, experimental);
      const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
      t.match(rpc(await session.send(requestText())), { id: 5, error: { code: -32601 } }, experimental.slice(0, 60));
      t.equal(backend.requestsOf(METHOD).length, 0);
      const alone = await session.caller.send({ body: requestText() });
      t.equal(alone.status, 400);
      t.match(alone.json(), { id: 5, error: { code: -32601 } });
    }
  });
});
