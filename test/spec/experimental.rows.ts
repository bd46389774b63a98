// Methods that MCP does not have: a method that is named like an experimental capability of exactly one backend goes to that
// backend, byte for byte, and so is one in the name of an extension that exactly one backend declares; every other is "method not found".
import t from 'tap';
import { backendFor, forEachDeployment, type Deployment } from '../support/deployment.js';
import { memberText } from '../support/json-text.js';
import type { McpBackend } from '../support/mcp-backend.js';
import { answerText, rpc, type McpSession } from '../support/mcp-caller.js';
import { modernBackendFor } from '../support/modern-backend.js';
import { ask } from '../support/modern-caller.js';
import type { ReceivedRequest } from '../support/raw-backend.js';
import { EXTRA_CAPABILITY_BYTES_MAX } from '../../src/mcp/initialize-result.js';

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
    const long = 'x'.repeat(EXTRA_CAPABILITY_BYTES_MAX);
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

  await t.test(
    'clients of both eras are told the extensions of all backends, with the first one’s settings',
    async (t) => {
      const apps = 'io.modelcontextprotocol/ui';
      const tasks = { 'io.modelcontextprotocol/tasks': {}, 'io.modelcontextprotocol/oauth-client-credentials': {} };
      const one = await backendFor(t, {
        capabilities: { tools: {}, extensions: { [apps]: { mimeTypes: ['text/html;profile=mcp-app'] }, ...tasks } },
      });
      const two = await modernBackendFor(t, {
        capabilities: { tools: {}, extensions: { [apps]: { mimeTypes: [] }, 'com.example/b': { x: 1 } } },
      });
      // The settings are those of the first backend by name, whatever their order in the config; an allow-list hides no extension.
      const caller = await deployment.caller({
        two: { url: two.url, allowed_tool_names: ['x'] },
        one: { url: one.url },
      });
      const wanted = { [apps]: { mimeTypes: ['text/html;profile=mcp-app'] }, 'com.example/b': { x: 1 } };
      const session = await caller.openSession();
      const { capabilities } = rpc(session.opening).result as { capabilities: { extensions: object } };
      t.same(capabilities.extensions, wanted, 'with a session');
      const discovered = rpc(await ask(caller, 'server/discover')).result as { capabilities: { extensions: object } };
      t.same(discovered.capabilities.extensions, wanted, 'without a session');
    },
  );

  await t.test(
    'a method of an extension goes to the only backend that declares the extension, in both eras',
    async (t) => {
      const methods = { 'com.example/b/paint': () => ({ by: 'full' }), 'b/paint': () => ({ by: 'short' }) };
      const extensions = { 'com.example/b': {}, 'com.example/resources': {} };
      const one = await backendFor(t, { capabilities: { tools: {}, extensions }, methods });
      const two = await backendFor(t, { capabilities: { tools: {}, extensions: { 'com.example/bb': {} } } });
      const caller = await deployment.caller({ one: { url: one.url }, two: { url: two.url } });
      const session = await caller.openSession();
      for (const [method, by] of [
        ['com.example/b/paint', 'full'],
        ['b/paint', 'short'],
      ] as const) {
        t.match(rpc(await session.send(requestText(method))), { id: 5, result: { by } }, method);
        t.match(rpc(await ask(caller, method)), { id: 7, result: { by } }, `${method} without a session`);
      }
      for (const method of ['com.example/bpaint', 'c/paint', 'paint', 'b'])
        t.match(rpc(await session.send(requestText(method))), { error: { code: -32601 } }, method);
      // MCP's own methods are never such methods: their URIs and names would pass unchecked.
      const unknown = await ask(caller, 'resources/subscribe', { params: '"uri":"x:y"' });
      t.match([unknown.status, rpc(unknown)], [404, { error: { code: -32601 } }]);
      const twin = await backendFor(t, { capabilities: { tools: {}, extensions }, methods });
      const limited = { allowed_tool_names: ['x'] };
      for (const [what, backends] of [
        ['two backends', { one: { url: one.url }, two: { url: twin.url } }],
        ['an allow-list', { one: { url: one.url, ...limited } }],
      ] as const) {
        const other = await deployment.caller(backends);
        t.match(rpc(await (await other.openSession()).send(requestText('b/paint'))), { error: { code: -32601 } }, what);
        t.match(rpc(await ask(other, 'b/paint')), { error: { code: -32601 } }, `${what}, without a session`);
      }
      t.equal(one.requestsOf('b/paint').length, 2);
    },
  );
});
