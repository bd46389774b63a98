// Decisions 2.4: versions on either side, capabilities, client info, identifiers.
import t from 'tap';
import { backendFor, forEachDeployment } from '../support/deployment.js';
import { memberText } from '../support/json-text.js';
import type { McpBackend } from '../support/mcp-backend.js';
import { answerText, rpc } from '../support/mcp-caller.js';
import { until } from '../support/until.js';

interface InitializeResult {
  readonly protocolVersion: string;
  readonly capabilities: Record<string, unknown>;
  readonly serverInfo: { readonly name: string };
}

function initializeParams(version: string, capabilities = '{}', clientInfo = '{"name":"spec","version":"1"}'): string {
  return `{"protocolVersion":${JSON.stringify(version)},"capabilities":${capabilities},"clientInfo":${clientInfo}}`;
}

await forEachDeployment(t, {}, async (t, deployment) => {
  await t.test("initialize answers the client's version when it is supported, else 2025-11-25 (S27)", async (t) => {
    const caller = await deployment.caller();
    const expected = {
      '2025-11-25': '2025-11-25',
      '2025-06-18': '2025-06-18',
      '2025-03-26': '2025-03-26',
      '2024-11-05': '2024-11-05',
      '2099-01-01': '2025-11-25',
      nonsense: '2025-11-25',
    };
    for (const [asked, answered] of Object.entries(expected)) {
      const answer = await caller.initialize({ params: initializeParams(asked) });
      t.equal(answer.status, 200, asked);
      t.equal((rpc(answer).result as InitializeResult).protocolVersion, answered, asked);
    }
  });

  await t.test('serverInfo.name is switchyard', async (t) => {
    const backend = await backendFor(t, { name: 'someone-else' });
    const answer = await (await deployment.caller({ one: { url: backend.url } })).initialize();
    t.equal((rpc(answer).result as InitializeResult).serverInfo.name, 'switchyard');
  });

  await t.test('capabilities: the union of what backends declare, cut to what is relayed', async (t) => {
    const without = await backendFor(t, { capabilities: {} });
    const withTools = await backendFor(t, { capabilities: { tools: {}, nonsense: { y: 1 } } });
    const capabilitiesOf = async (...backends: McpBackend[]): Promise<Record<string, unknown>> => {
      const entries = backends.map((backend, index) => [`b${index}`, { url: backend.url }] as const);
      const answer = await (await deployment.caller(Object.fromEntries(entries))).initialize();
      return (rpc(answer).result as InitializeResult).capabilities;
    };
    t.notOk('tools' in (await capabilitiesOf(without)), 'no backend has tools');
    const union = await capabilitiesOf(without, withTools);
    t.ok('tools' in union, 'one of two has tools');
    t.notOk('nonsense' in union || 'experimental' in union, 'what is not relayed is not declared');
  });

  await t.test("instructions: all backends', each under its name, in the config's order", async (t) => {
    const saying = async (instructions: string): Promise<McpBackend> =>
      backendFor(t, { initializeExtras: { instructions } });
    const [first, second, silent] = [await saying('Say "b".\n\u00fc'), await saying('# a\n'), await backendFor(t)];
    const instructionsOf = async (backends: Readonly<Record<string, McpBackend>>): Promise<unknown> => {
      const entries = Object.entries(backends).map(([name, { url }]) => [name, { url }] as const);
      const answer = await (await deployment.caller(Object.fromEntries(entries))).initialize();
      return (rpc(answer).result as { readonly instructions?: unknown }).instructions;
    };
    t.equal(await instructionsOf({ b: first, silent, a: second }), '# b\n\nSay "b".\n\u00fc\n\n# a\n\n# a\n');
    t.equal(await instructionsOf({ a: second, b: first }), '# a\n\n# a\n\n\n# b\n\nSay "b".\n\u00fc');
    t.equal(await instructionsOf({ silent }), undefined, 'none where nobody says any');
  });

  await t.test('a backend is asked for its tools whatever it declares (backend server contract)', async (t) => {
    const backend = await backendFor(t, { capabilities: {} });
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    t.same(await session.toolNames(), ['one-echo']);
    t.match(rpc(await session.call('one-echo')), { result: {} });
  });

  await t.test('each backend is offered 2025-11-25, whatever the client asked for (C05)', async (t) => {
    const backend = await backendFor(t);
    const caller = await deployment.caller({ one: { url: backend.url } });
    await caller.initialize({ params: initializeParams('2025-06-18') });
    t.equal(memberText(backend.requestsOf('initialize')[0]!.text, 'params', 'protocolVersion'), '"2025-11-25"');
  });

  await t.test('a backend may answer an older version; later requests to it carry its version (C10)', async (t) => {
    for (const version of ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']) {
      const backend = await backendFor(t, { protocolVersion: version, withSessions: true });
      const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
      t.equal((rpc(session.opening).result as InitializeResult).protocolVersion, '2025-11-25', 'ours is not affected');
      t.same(await session.toolNames(), ['one-echo'], version);
      await session.call('one-echo');
      await session.delete();
      await until(() => backend.deletedSessions.length === 1, 'the DELETE');
      const [first, ...later] = backend.raw.requests;
      t.ok(first?.text.includes('"initialize"'));
      for (const request of later)
        t.equal(request.headers['mcp-protocol-version'], version, `${request.method} ${request.text}`);
    }
  });

  await t.test('a backend that answers an unknown version is unavailable (C08)', async (t) => {
    const backend = await backendFor(t, { protocolVersion: '1999-01-01' });
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    t.match(rpc(session.opening).result, {
      _meta: { 'switchyard/unavailable': [{ backend: 'one', reason: /version/ }] },
    });
  });

  await t.test('clientInfo is passed to the backends as it is', async (t) => {
    const backend = await backendFor(t);
    const clientInfo = '{"name":"Cli\\u0065nt","version":"1.0","title":"A title","extra":[1.0,{"b":1,"a":2}]}';
    const caller = await deployment.caller({ one: { url: backend.url } });
    await caller.initialize({ params: initializeParams('2025-11-25', '{}', clientInfo) });
    t.equal(memberText(backend.requestsOf('initialize')[0]!.text, 'params', 'clientInfo'), clientInfo);
  });

  await t.test("the client's capabilities are passed to each backend as they are (C19)", async (t) => {
    const backends = [await backendFor(t), await backendFor(t)];
    const [one, two] = backends;
    const caller = await deployment.caller({ one: { url: one!.url }, two: { url: two!.url } });
    const capabilities =
      '{ "roots":{"listChanged":true}, "s\\u0061mpling":{"tools":{}},"elicitation":{"form":{},"url":{}},"x":1.0,"x":[1e400]}';
    await caller.initialize({ params: initializeParams('2025-11-25', capabilities) });
    for (const backend of backends) {
      t.equal(memberText(backend.requestsOf('initialize')[0]!.text, 'params', 'capabilities'), capabilities);
    }
  });

  await t.test('ids keep their type and every byte: 0, "", strings, 1.0, beyond 2^53', async (t) => {
    const ids = ['0', '1', '-1', '""', '"a"', '"1"', '"\\u0041"', '1.0', '9007199254740993', '1e2', '"ü😀"'];
    for (const answerAs of ['json', 'event-stream'] as const) {
      const backend = await backendFor(t, { answerAs });
      const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
      for (const id of ids) {
        for (const accept of ['application/json', 'text/event-stream']) {
          const answer = await session.call('one-echo', '{}', { id, accept });
          t.equal(memberText(answerText(answer), 'id'), id, `tools/call ${id}, ${answerAs} to ${accept}`);
        }
        for (const body of [
          `{"jsonrpc":"2.0","id":${id},"method":"tools/list"}`,
          `{"jsonrpc":"2.0","id":${id},"method":"ping"}`,
          `{"jsonrpc":"2.0","id":${id},"method":"nonsense"}`,
          `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"unknown-x"}}`,
        ]) {
          t.equal(memberText(answerText(await session.send(body)), 'id'), id, body);
        }
      }
    }
  });

  await t.test('initialize keeps the type and every byte of its id too', async (t) => {
    const caller = await deployment.caller();
    for (const id of ['0', '""', '"x"', '1.0', '9007199254740993']) {
      const answer = await caller.send({
        body: `{"jsonrpc":"2.0","id":${id},"method":"initialize","params":${initializeParams('2025-11-25')}}`,
      });
      t.equal(answer.status, 200, id);
      t.equal(memberText(answerText(answer), 'id'), id);
    }
  });

  await t.test('two requests of one session with one id at the same time each get their own answer', async (t) => {
    const backend = await backendFor(t);
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    const answers = await Promise.all([1, 2, 3, 4].map((n) => session.call('one-echo', `{"n":${n}}`, { id: '1' })));
    answers.forEach((answer, index) =>
      t.match(rpc(answer), { id: 1, result: { structuredContent: { n: index + 1 } } }),
    );
  });

  await t.test(
    'upstream: requests accept both forms, and carry the session id once there is one (C01, C09)',
    async (t) => {
      const backend = await backendFor(t, { withSessions: true });
      const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
      await session.list({ accept: 'application/json' });
      await session.call('one-echo', '{}', { accept: 'text/event-stream' });
      await until(() => backend.requestsOf('notifications/initialized').length === 1, 'the confirmation');
      const [upstreamId] = backend.sessions;
      for (const request of backend.raw.requests) {
        const accepted = request.headers['accept']?.split(/\s*,\s*/).toSorted();
        t.same(accepted, ['application/json', 'text/event-stream']);
        t.equal(request.headers['content-type'], 'application/json');
        const isInitialize = request.text.includes('"initialize"');
        t.equal(request.headers['mcp-session-id'], isInitialize ? undefined : upstreamId);
      }
    },
  );

  await t.test(
    'upstream: notifications/initialized follows the answer to initialize, ahead of all else (C06, C07)',
    async (t) => {
      const backend = await backendFor(t);
      const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
      await session.list();
      const methods = backend.raw.requests.map(({ text }) => JSON.parse(memberText(text, 'method') ?? '""') as string);
      t.same(methods, ['initialize', 'notifications/initialized', 'tools/list']);
    },
  );
});
