// The control plane's MCP endpoints, with everything that involves a stream: what servers send unasked, what they ask, calls whose
// streams break, slow responses. At `/mcp` and at a composition alike, and as on the dataplane: byte for byte.
import t, { type Test } from 'tap';
import { forEachStore, newName, type ApiCaller, type ControlPlane } from '../../support/control-plane.js';
import { EventLog } from '../../support/event-log.js';
import { EventReader } from '../../support/event-reader.js';
import { memberText } from '../../support/json-text.js';
import { INITIALIZE_PARAMS, McpCaller, rpc, type McpSession } from '../../support/mcp-caller.js';
import type { EventStreamBody, ReceivedRequest } from '../../support/raw-backend.js';
import { SpeakingBackend } from '../../support/speaking-backend.js';
import { until } from '../../support/until.js';

/** With these, no health check opens a stream at the servers while the rows run. */
const OPTIONS = ['--slow-answer', '200ms', '--health-check-interval', '1h'];
const OFFERS = INITIALIZE_PARAMS.replace(
  '"capabilities":{}',
  '"capabilities":{"roots":{},"sampling":{"tools":{}},"elicitation":{"form":{}}}',
);
const CAPABILITIES = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  logging: {},
  completions: {},
};
const METHODS = {
  'logging/setLevel': () => ({}),
  'completion/complete': () => ({ completion: { values: ['x'] } }),
  'resources/subscribe': () => ({}),
  'prompts/list': () => ({ prompts: [{ name: 'a' }] }),
  'resources/list': () => ({ resources: [{ uri: 'test://x', name: 'x' }] }),
  'resources/templates/list': () => ({ resourceTemplates: [] }),
};

/** One endpoint, the server behind it, and a subject who may use it. */
class Scene {
  readonly speaking: SpeakingBackend;
  /** The server's name. */
  readonly name: string;
  readonly path: string;
  /** The subject, as a user of the API and as a caller of the endpoint. */
  readonly api: ApiCaller;
  readonly caller: McpCaller;
  /** The requests of calls, which the test answers. */
  readonly calls: ReceivedRequest[];

  private constructor(
    speaking: SpeakingBackend,
    name: string,
    path: string,
    api: ApiCaller,
    caller: McpCaller,
    calls: ReceivedRequest[],
  ) {
    this.speaking = speaking;
    this.name = name;
    this.path = path;
    this.api = api;
    this.caller = caller;
    this.calls = calls;
  }

  /** @param endpoint `/mcp`, with this server only, or a composition of the server. */
  static async open(t: Test, controlPlane: ControlPlane, endpoint: '/mcp' | 'a composition'): Promise<Scene> {
    const calls: ReceivedRequest[] = [];
    const speaking = await SpeakingBackend.start(t, {
      capabilities: CAPABILITIES,
      methods: METHODS,
      onCall: (call) => void calls.push(call.takeOver()),
    });
    const api = await controlPlane.caller(t);
    const name = newName('server');
    t.equal((await api.post('/servers', { name, url: speaking.backend.url })).status, 201);
    const path = endpoint === '/mcp' ? endpoint : await composedPath(t, api, name);
    const caller = new McpCaller(controlPlane.origin, path, await controlPlane.token(api.subject));
    return new Scene(speaking, name, path, api, caller, calls);
  }

  /** Opens a session. Returns it with the id of its upstream session. */
  async openSession(): Promise<{ readonly session: McpSession; readonly upstreamId: string }> {
    const { sessions } = this.speaking.backend;
    const before = new Set(sessions);
    const session = await this.caller.openSession({ params: OFFERS });
    const upstreamId = [...sessions].find((id) => !before.has(id));
    if (upstreamId === undefined) throw new Error('the server has no new session');
    return { session, upstreamId };
  }

  callBody(id: string): string {
    return `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${this.name}-echo","arguments":{},"_meta":{"progressToken":"p"}}}`;
  }

  /** Begins a call that the server answers with an event stream. Resolves after its first event, a progress notification. */
  async beginCall(
    session: McpSession,
    id = '7',
  ): Promise<{ readonly log: EventLog; readonly stream: EventStreamBody }> {
    const count = this.calls.length;
    const begun = EventLog.open(session.caller, { session: session.id, body: this.callBody(id) });
    await until(() => this.calls.length > count, 'the call at the server');
    const stream = this.calls.at(-1)!.eventStream();
    await stream.event(progress(1));
    const log = await (await begun).until(1);
    return { log, stream };
  }

  /** The responses that the server was sent. */
  responses(): string[] {
    const texts = this.speaking.backend.raw.requests.map(({ text }) => text);
    return texts.filter((text) => text !== '' && memberText(text, 'method') === undefined);
  }

  sent(method: string): string[] {
    return this.speaking.backend.requestsOf(method).map(({ text }) => text);
  }
}

async function composedPath(t: Test, api: ApiCaller, server: string): Promise<string> {
  const name = newName('composed');
  const servers = [{ name: server, tools: ['echo'], prompts: ['a'], resources: ['test://x'] }];
  t.equal((await api.post('/compositions', { name, servers })).status, 201);
  return `/servers/${name}/mcp`;
}

function progress(number: number): string {
  return `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":${number}.0}}`;
}

function updated(uri: string): string {
  return `{"method":"notifications/resources/updated", "jsonrpc":"2.0","params":{"uri":"${uri}","title":"\\u0041"}}`;
}

async function goOn(session: McpSession, lastId: string): Promise<EventLog> {
  const headers = [['last-event-id', lastId]] as const;
  return EventLog.open(session.caller, { method: 'GET', session: session.id, accept: 'text/event-stream', headers });
}

await forEachStore(t, { options: OPTIONS }, async (t, controlPlane) => {
  for (const endpoint of ['/mcp', 'a composition'] as const) {
    await t.test(endpoint, async (t) => {
      const scene = await Scene.open(t, controlPlane, endpoint);
      await t.test('GET: notifications of the server arrive unchanged, except for the URI', (t) => said(t, scene));
      await t.test('GET: requests of the server are answered under its own ids', (t) => askedUnasked(t, scene));
      await t.test('sampling with tools and elicitation within a call: byte for byte', (t) => askedInCall(t, scene));
      await t.test('a call whose connection breaks can be resumed', (t) => broken(t, scene));
      await t.test('setLevel, completion and cancellation reach the server', (t) => passedOn(t, scene));
      await t.test('the head of a slow answer goes ahead of it', (t) => slow(t, scene));
      await t.test('a session is its subject’s and its endpoint’s alone: 404', (t) => foreign(t, scene, controlPlane));
      t.equal((await scene.api.delete(`/servers/${scene.name}`)).status, 204);
    });
  }
});

async function said(t: Test, scene: Scene): Promise<void> {
  const { session, upstreamId } = await scene.openSession();
  const log = await EventLog.open(session.caller, { method: 'GET', session: session.id, accept: 'text/event-stream' });
  t.equal(log.status, 200);
  const stream = await scene.speaking.streamOf(upstreamId);
  const notice = '{ "jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":[1.0,"\\u00e9"]}}';
  await stream.event(notice, { id: 'of the server' });
  t.same((await log.until(1)).messages, [notice]);
  // A composition does not pass on notifications about resources that it does not name.
  if (scene.path !== '/mcp') await stream.event(updated('test://other'));
  await stream.event(updated('test://x'));
  t.equal((await log.until(2)).messages[1], updated(`${scene.name}+test://x`));
  const changes = ['tools', 'prompts', 'resources'].map(
    (list) => `{"jsonrpc":"2.0", "method":"notifications/${list}/list_changed"}`,
  );
  for (const change of changes) await stream.event(change);
  t.same((await log.until(5)).messages.slice(2).sort(), changes.sort());
  t.equal(new Set(log.events.map(({ id }) => id)).size, log.events.length, 'each event has an id of its own');
  t.equal((await session.delete()).status, 200);
  t.equal((await log.end()).messages.length, 5, 'the stream ends with its session');
}

async function askedUnasked(t: Test, scene: Scene): Promise<void> {
  const { session, upstreamId } = await scene.openSession();
  const reader = await EventReader.open(session.caller, {
    ...{ method: 'GET', session: session.id, accept: 'text/event-stream' },
  });
  const stream = await scene.speaking.streamOf(upstreamId);
  await stream.event('{"jsonrpc":"2.0","id":1.50e1,"method":"roots/list" }');
  const asked = (await reader.next()) ?? '';
  const id = memberText(asked, 'id') ?? '';
  t.equal(asked, `{"jsonrpc":"2.0","id":${id},"method":"roots/list" }`);
  t.type(JSON.parse(id), 'string');
  t.equal((await session.send(`{"result":{"roots":[], "n":1.0},"jsonrpc":"2.0","id":${id}}`)).status, 202);
  const expected = '{"result":{"roots":[], "n":1.0},"jsonrpc":"2.0","id":1.50e1}';
  await until(() => scene.responses().includes(expected), 'the answer at the server');
  await session.delete();
  t.same(await reader.rest(), []);
}

async function askedInCall(t: Test, scene: Scene): Promise<void> {
  const { session } = await scene.openSession();
  const before = scene.responses().length;
  const { log, stream } = await scene.beginCall(session);
  // The tools of a sampling request belong to the server: their names stay, whatever they look like.
  const sampling = `{ "method":"sampling/createMessage","params":{"messages":[],"maxTokens":1.0,"tools":[{"name":"${scene.name}-x","inputSchema":{"type":"object"}}],"toolChoice":{"mode":"auto"}},"id":@,"jsonrpc":"2.0"}`;
  const elicitation =
    '{"jsonrpc":"2.0","id":@,"method":"elicitation/create","params":{"message":"\\u0041 ü","requestedSchema":{"type":"object","properties":{"n":{"type":"integer","default":1e3}}}}}';
  const dialogue = [
    {
      asked: sampling,
      id: '0',
      answer:
        '{"jsonrpc":"2.0","id":@,"result":{"role":"assistant","content":[{"type":"tool_use","id":"u","name":"x","input":{"n":1.0}}],"model":"m","stopReason":"toolUse"}}',
    },
    {
      asked: elicitation,
      id: '"\\u00e9"',
      answer: '{"jsonrpc":"2.0", "result":{"action":"accept","content":{"n":9007199254740993}},"id":@}',
    },
  ];
  for (const [index, { asked, id, answer }] of dialogue.entries()) {
    await stream.event(asked.replace('@', id));
    const event = (await log.until(index + 2)).messages.at(-1) ?? '';
    const ours = memberText(event, 'id') ?? '';
    t.equal(event, asked.replace('@', ours));
    t.equal((await session.send(answer.replace('@', ours))).status, 202);
    await until(() => scene.responses().length > before + index, 'the answer at the server');
    t.equal(scene.responses().at(-1), answer.replace('@', id));
  }
  const last = '{"jsonrpc":"2.0","id":7,"result":{"content":[],"n":1.0}}';
  await stream.event(last);
  stream.end();
  t.equal((await log.end()).messages.at(-1), last);
}

async function broken(t: Test, scene: Scene): Promise<void> {
  const { session } = await scene.openSession();
  const { log, stream } = await scene.beginCall(session);
  log.close();
  await stream.event(progress(2));
  const second = await goOn(session, log.lastId);
  t.equal(second.status, 200);
  t.same((await second.until(1)).messages, [progress(2)]);
  second.close();
  await stream.event(progress(3));
  const answer = '{"jsonrpc":"2.0","id":7,"result":{"content":[],"n":1.0}}';
  await stream.event(answer);
  stream.end();
  const rest = await (await goOn(session, second.lastId)).end();
  t.same(rest.messages, [progress(3), answer], 'once, and in order');
  t.same((await (await goOn(session, rest.lastId)).end()).messages, [], 'nothing is left');
  const { session: other } = await scene.openSession();
  const [lost = ''] = (await (await goOn(other, log.lastId)).end()).messages;
  t.match(JSON.parse(lost), { id: 7, error: { code: -32000 } }, 'it is not another session’s');
}

async function passedOn(t: Test, scene: Scene): Promise<void> {
  const { session } = await scene.openSession();
  const level = '{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{ "level":"w\\u0061rning"}}';
  t.same(rpc(await session.send(level)), { jsonrpc: '2.0', id: 1, result: {} });
  t.equal(memberText(scene.sent('logging/setLevel').at(-1) ?? '', 'params'), '{ "level":"w\\u0061rning"}');

  const refs = [
    ['{"type":"ref/prompt","name":"@a"}', `${scene.name}-`],
    ['{"uri":"@test://x", "type":"ref/resource"}', `${scene.name}+`],
  ] as const;
  for (const [ref, prefix] of refs) {
    const params = `{"argument":{"name":"n","value":"\\u0041"},"ref":${ref}}`;
    const request = `{"jsonrpc":"2.0","id":2,"method":"completion/complete","params":${params.replace('@', prefix)}}`;
    t.match(rpc(await session.send(request)), { id: 2, result: { completion: { values: ['x'] } } });
    t.equal(memberText(scene.sent('completion/complete').at(-1) ?? '', 'params'), params.replace('@', ''));
  }

  const { log, stream } = await scene.beginCall(session, '"c"');
  const cancel = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c", "reason":"\\u0041"}}';
  t.equal((await session.send(cancel)).status, 202);
  await until(() => scene.sent('notifications/cancelled').includes(cancel), 'the cancellation at the server');
  stream.end();
  t.match(JSON.parse((await log.end()).messages.at(-1) ?? ''), { id: 'c', error: {} });
}

async function slow(t: Test, scene: Scene): Promise<void> {
  const { session } = await scene.openSession();
  const count = scene.calls.length;
  // Resolves with the head of the response, before the server has sent anything.
  const log = await EventLog.open(session.caller, { session: session.id, body: scene.callBody('7') });
  t.equal(log.status, 200);
  t.equal(scene.calls.length, count + 1);
  const answer = '{"jsonrpc":"2.0","id":7,"result":{"content":[],"n":1.0}}';
  scene.calls.at(-1)!.json(answer);
  t.same((await log.end()).messages, [answer]);
}

async function foreign(t: Test, scene: Scene, controlPlane: ControlPlane): Promise<void> {
  const { session } = await scene.openSession();
  const other = new McpCaller(scene.caller.origin, scene.path, await controlPlane.token(newName('stranger')));
  const elsewhere = new McpCaller(
    scene.caller.origin,
    scene.path === '/mcp' ? await composedPath(t, await controlPlane.caller(t, scene.api.subject), scene.name) : '/mcp',
    scene.caller.token,
  );
  const accept = 'text/event-stream';
  const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
  for (const caller of [other, elsewhere]) {
    t.equal((await caller.send({ method: 'GET', session: session.id, accept })).status, 404);
    t.equal((await caller.send({ session: session.id, body: ping })).status, 404);
    t.equal((await caller.send({ method: 'DELETE', session: session.id })).status, 404);
  }
  t.equal((await session.send(ping)).status, 200, 'it goes on for its own');
}
