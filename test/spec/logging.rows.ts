// Logging, and other notifications during calls: levels go to every backend that supports logging, log messages to the stream of
// their call, changed roots to every backend.
import t from 'tap';
import { backendFor, forEachDeployment } from '../support/deployment.js';
import { JsonText, memberText } from '../support/json-text.js';
import { EventReader } from '../support/event-reader.js';
import { readEvents } from '../support/event-stream.js';
import type { McpBackend, McpBackendOptions } from '../support/mcp-backend.js';
import { INITIALIZE_PARAMS, rpc } from '../support/mcp-caller.js';
import type { EventStreamBody } from '../support/raw-backend.js';
import { until } from '../support/until.js';

const LOGGING = { tools: {}, logging: {} };
const TAKES_LEVELS = async (request: { text: string; json(value: unknown): void }): Promise<boolean> => {
  if (memberText(request.text, 'method') !== '"logging/setLevel"') return false;
  request.json(`{"jsonrpc":"2.0","id":${memberText(request.text, 'id')},"result":{}}`);
  return Promise.resolve(true);
};

function setLevel(params: string): string {
  return `{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":${params}}`;
}

function levelsAt(backend: McpBackend): (string | undefined)[] {
  return backend.requestsOf('logging/setLevel').map(({ text }) => memberText(text, 'params'));
}

await forEachDeployment(t, {}, async (t, deployment) => {
  await t.test('a level goes to every backend that declares logging, and is answered once they have it', async (t) => {
    const backends = [
      await backendFor(t, { capabilities: LOGGING, onRequest: TAKES_LEVELS }),
      await backendFor(t, { capabilities: LOGGING, onRequest: TAKES_LEVELS }),
      await backendFor(t),
    ] as const;
    const [one, two, three] = backends;
    const caller = await deployment.caller({ one: { url: one.url }, two: { url: two.url }, three: { url: three.url } });
    let session = await caller.openSession();
    // On a busy machine a session may open without a backend, and then does not know that backend's capabilities.
    while (JSON.stringify(rpc(session.opening).result).includes('switchyard/unavailable')) {
      session = await caller.openSession();
    }
    t.match(rpc(session.opening).result, { capabilities: { logging: {} } });
    const params = '{ "level":"w\\u0061rning","_meta":{"a/b":1.0}}';
    t.same(rpc(await session.send(setLevel(params))), { jsonrpc: '2.0', id: 3, result: {} });
    t.same([levelsAt(one), levelsAt(two), levelsAt(three)], [[params], [params], []]);
    for (const bad of ['{"level":"loud"}', '{}', '{"level":1}', `{"level":"debug","x":"${'x'.repeat(2_000)}"}`]) {
      t.match(rpc(await session.send(setLevel(bad))).error, { code: -32602, message: /level/ }, bad.slice(0, 20));
    }
    t.equal(levelsAt(one).length, 1, 'the bad ones went nowhere');
  });

  await t.test('without a backend that supports logging the method is unknown', async (t) => {
    const backend = await backendFor(t);
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    t.notOk('logging' in (rpc(session.opening).result as { capabilities: object }).capabilities);
    t.match(rpc(await session.send(setLevel('{"level":"debug"}'))).error, { code: -32601 });
  });

  await t.test('a backend that lost its session gets the level again, and so does a new backend', async (t) => {
    const options = { capabilities: LOGGING, onRequest: TAKES_LEVELS, withSessions: true };
    const [one, two] = [await backendFor(t, options), await backendFor(t, options)];
    const caller = await deployment.caller({ one: { url: one.url } });
    const session = await caller.openSession();
    await session.send(setLevel('{"level":"debug"}'));
    one.forgetSessions();
    t.match(rpc(await session.call('one-echo')), { result: {} });
    await until(() => levelsAt(one).length === 2, 'the level, again');
    await caller.configure({ one: { url: one.url }, two: { url: two.url } });
    await until(async () => rpc(await session.call('two-echo')).error === undefined, 'the new backend');
    await until(() => levelsAt(two).length === 1, 'the level at the new one');
    t.same(
      [...levelsAt(one), ...levelsAt(two)],
      Array.from({ length: 3 }, () => '{"level":"debug"}'),
    );
  });

  await t.test('notifications on the stream of a call arrive on it, in order and as they are', async (t) => {
    const notifications = [
      '{ "method":"notifications/message","params":{"level":"info","data":{"n":1.0,"n":"\\u0041"}},"jsonrpc":"2.0"}',
      '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}',
      '{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e-1"}}',
      '{"jsonrpc":"2.0","method":"notifications/example.com/own","params":{"x":1e400}}',
    ];
    const kept = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}';
    const backend = await backendFor(t, {
      onCall: async (call) => {
        for (const text of [...notifications, kept]) await call.send(new JsonText(text));
        return undefined;
      },
    });
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    const events = readEvents((await session.call('one-echo')).body);
    t.same(events.slice(0, -1), notifications, 'but for progress that nobody asked for');
    t.match(JSON.parse(events.at(-1) ?? ''), { id: 7, result: {} });
    const alone = await session.call('one-echo', '{}', { accept: 'application/json' });
    t.match(rpc(alone), { id: 7, result: {} }, 'who takes JSON alone gets the answer alone');
  });

  await t.test('a progress token that two calls share: each gets its own progress', async (t) => {
    const options: McpBackendOptions = { onCall: (call) => void streams.push(call.takeOver().eventStream()) };
    const streams: EventStreamBody[] = [];
    const [one, two] = [await backendFor(t, options), await backendFor(t, options)];
    const session = await (await deployment.caller({ one: { url: one.url }, two: { url: two.url } })).openSession();
    const readers = [];
    for (const [id, tool] of ['one-echo', 'one-echo', 'two-echo'].entries()) {
      const params = `{"name":"${tool}","_meta":{"progressToken":"\\u0070"}}`;
      const body = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`;
      readers.push(EventReader.open(session.caller, { session: session.id, body }));
      await until(() => streams.length === id + 1, 'the call at the backend');
    }
    const progress = (id: number): string =>
      `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":${id}.0,"progressToken":"p"}}`;
    const answer = (id: number): string => `{"jsonrpc":"2.0","id":${id},"result":{}}`;
    // In reverse order: routing by the token alone would give the last progress to the first call.
    for (const id of [2, 1, 0]) await streams[id]!.event(progress(id));
    for (const id of [0, 1, 2]) await streams[id]!.event(answer(id));
    for (const [id, reader] of readers.entries()) t.same(await (await reader).rest(), [progress(id), answer(id)]);
  });

  await t.test("updates of resources carry the caller's URI", async (t) => {
    const updated = (uri: string): string =>
      `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"title":"uri", "uri":${uri}}}`;
    const backend = await backendFor(t, {
      onCall: async (call) => {
        for (const uri of ['"a:\\u0062"', '"ui://x/y"', '7']) await call.send(new JsonText(updated(uri)));
        return undefined;
      },
    });
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    const events = readEvents((await session.call('one-echo')).body);
    t.same(events.slice(0, -1), [updated('"one+a:\\u0062"'), updated('"ui://one/x/y"')]);
  });

  await t.test('changed roots are told to every backend, if the client has any', async (t) => {
    const [one, two] = [await backendFor(t), await backendFor(t)];
    const caller = await deployment.caller({ one: { url: one.url }, two: { url: two.url } });
    const changed = '{ "jsonrpc":"2.0","method":"notifications/roots/list_changed","params":{"_meta":{"x":1.0}}}';
    const told = (backend: McpBackend): string[] =>
      backend.requestsOf('notifications/roots/list_changed').map(({ text }) => text);
    const rootless = await caller.openSession();
    t.equal((await rootless.send(changed)).status, 202);
    const rooted = await caller.openSession({
      params: INITIALIZE_PARAMS.replace('"capabilities":{}', '"capabilities":{"roots":{"listChanged":true}}'),
    });
    t.equal((await rooted.send(changed)).status, 202);
    await until(() => told(one).length + told(two).length >= 2, 'both to be told');
    t.same([told(one), told(two)], [[changed], [changed]]);
  });
});
