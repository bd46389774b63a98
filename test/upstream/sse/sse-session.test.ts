// Upstream sessions with servers of the 2024-11-05 transport: one stream carries everything from the server, and servers may misuse it in
// any way. The server is a script, and the test sets the clock.
import t, { type Test } from 'tap';
import type { BackendMessage } from '../../../src/mcp/json-rpc.js';
import { limits } from '../../../src/shared/limits.js';
import { NO_METADATA } from '../../../src/http-client/http-upstream.js';
import { type RpcRequest, ANSWERED_STREAM_MS_MAX } from '../../../src/upstream/rpc/rpc-request.js';
import type { UpstreamFault } from '../../../src/http-client/upstream-fault.js';
import { Secrets } from '../../../src/credentials/secrets.js';
import { type UpstreamOwner, UpstreamSession } from '../../../src/upstream/session/upstream-session.js';
import type { CompiledBackend } from '../../../src/user-config/compiled-config.js';
import { backendOf, virtualHostOf } from '../../relay/virtual-host.js';
import { until } from '../../support/until.js';
import { ScriptedContext, SILENT_OWNER } from '../scripted-context.js';
import type { ScriptedCall } from '../scripted-upstream.js';

const URL_OF_STREAM = 'https://b.example/at/sse?tenant=7';
const BACKEND = backendOf(virtualHostOf({ b: { url: URL_OF_STREAM, transport: 'SSE' } }), 'b');
const INTRODUCTION = { clientInfo: Buffer.from('{"name":"c","version":"1"}'), capabilities: Buffer.from('{}') };
const MEMORY = { tryKeepText: ({ length }: string): number => length, drop: (): void => undefined };

class Scene {
  readonly context: ScriptedContext;
  readonly session: UpstreamSession;
  /** What the waiters for the session were told. */
  readonly told: string[] = [];
  /** The outcome of each request, by the name that it was given. */
  readonly outcomes: string[] = [];
  dropCount = 0;
  stream!: ScriptedCall;

  constructor(t: Test, backend: CompiledBackend = BACKEND) {
    this.context = new ScriptedContext(t);
    const secrets = new Secrets(undefined, () => this.context.nowMs(), {
      read: async () => Promise.resolve({ kind: 'found', secret: { value: 'v', origins: 'any' } }),
    });
    this.context.credentials = { ...this.context.credentials, secrets };
    this.session = new UpstreamSession(this.context, 'alice', backend, INTRODUCTION, MEMORY);
    this.session.owner = { ...SILENT_OWNER, onDropped: () => (this.dropCount += 1) };
  }

  /** Asks for the session, which requests the stream. */
  ask(headers: readonly string[] = []): this {
    this.session.whenOpen({ ...NO_METADATA, headers }, (fault?: UpstreamFault) =>
      this.told.push(fault?.kind ?? 'open'),
    );
    this.stream = this.context.http.last;
    return this;
  }

  name(endpoint = '/messages?s=1'): this {
    this.stream.head(200, 'text/event-stream').data(`event: endpoint\ndata: ${endpoint}\n\n`);
    return this;
  }

  open(): this {
    this.ask().name();
    const { idText } = this.context.http.last;
    this.context.http.last.empty();
    this.say(`{"jsonrpc":"2.0","id":${idText},"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{}}}}`);
    this.context.http.last.empty();
    this.told.length = 0;
    return this;
  }

  /** Sends an event on the stream. */
  say(data: string): void {
    this.stream.data(`event: message\ndata: ${data}\n\n`);
  }

  /** Sends a request; its outcome is recorded under `name`. */
  call(id: string, name = id): { readonly request: RpcRequest; readonly post: ScriptedCall } {
    const bytes = Buffer.from(id);
    const text = (data: Buffer): string => (data.length > 400 ? `${data.length} bytes` : data.toString());
    const request = this.session.request(
      { body: Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"tools/call"}`) },
      { bytes, start: 0, end: bytes.length },
      NO_METADATA,
      1_000,
      true,
      {
        onAnswer: (answer) => this.outcomes.push(`${name}: ${text(answer)}`),
        onMessage: (_data: Buffer, { method }: BackendMessage) => this.outcomes.push(`${name} hears ${method}`),
        onFault: ({ kind, isUnsent }) => this.outcomes.push(`${name}: ${kind}${isUnsent ? ', unsent' : ''}`),
      },
    );
    return { request, post: this.context.http.last };
  }

  get sent(): string[] {
    return this.context.http.summary;
  }
}

t.test('a session opens its stream first, then sends to the URL that it names; answers match by id', async (t) => {
  const scene = new Scene(t).ask(['x-tenant', '7']);
  const { stream } = scene;
  t.equal(stream.request.method, 'GET');
  t.same(stream.request.target, { origin: 'https://b.example', path: '/at/sse?tenant=7' });
  t.same([stream.header('accept'), stream.header('x-tenant')], ['text/event-stream', '7']);
  t.same(scene.sent, ['GET'], 'nothing is posted before it is known where to');
  scene.name('messages?s=1');
  const initialize = scene.context.http.last;
  t.same(initialize.request.target, { origin: 'https://b.example', path: '/at/messages?s=1' });
  t.equal(initialize.header('x-tenant'), '7');
  const result = '{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}';
  scene.say(`{"result":${result},"jsonrpc":"2.0","id":${initialize.idText}}`);
  t.same(scene.sent, ['GET', 'initialize', 'notifications/initialized'], 'the answer may come before the POST is over');
  initialize.empty();
  t.same(scene.told, []);
  scene.context.http.last.empty(202);
  t.same(scene.told, ['open']);
  t.match(scene.session.record, { protocolVersion: '2024-11-05', sessionId: '' });

  const first = scene.call('1').post;
  const second = scene.call('"two"').post;
  t.same(first.request.target, { origin: 'https://b.example', path: '/at/messages?s=1' });
  t.equal(first.header('mcp-protocol-version'), '2024-11-05');
  first.empty(202);
  second.empty(202);
  scene.say('{"jsonrpc":"2.0","id":99,"result":{}}');
  scene.say('{"jsonrpc":"2.0","id":"99","result":{}}');
  scene.say('{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"},"id":null}');
  t.same(scene.outcomes, [], 'an answer that nobody waits for is none');
  scene.say('{"jsonrpc":"2.0",  "id":"\\u0074wo","result":{"x":1.0}}');
  scene.stream.data('data: {"jsonrpc":"2.0","id":1.0,\ndata: "result":{"é":[ ]}}\n\n: a comment\n\n');
  scene.say('{"jsonrpc":"2.0","id":1,"result":{"again":true}}');
  t.same(scene.outcomes, [
    '"two": {"jsonrpc":"2.0",  "id":"\\u0074wo","result":{"x":1.0}}',
    '1: {"jsonrpc":"2.0","id":1.0,\n"result":{"é":[ ]}}',
  ]);

  scene.session.close(NO_METADATA);
  t.ok(stream.isAborted, 'the end of the stream is the end of the session');
  t.notOk(scene.sent.includes('DELETE'));
});

t.test('a cookie that comes with the stream keeps the messages at its node', async (t) => {
  const scene = new Scene(t).ask();
  scene.stream
    .head(200, 'text/event-stream', '', -1, 'node=1; Path=/at')
    .data('event: endpoint\ndata: messages?s=1\n\n');
  const initialize = scene.context.http.last;
  t.equal(initialize.header('cookie'), 'node=1');
  scene.say(`{"jsonrpc":"2.0","id":${initialize.idText},"result":{"protocolVersion":"2024-11-05","capabilities":{}}}`);
  initialize.empty();
  scene.context.http.last.empty(202);
  t.equal(scene.call('1').post.header('cookie'), 'node=1');
});

t.test('the URL for messages is of the same origin, or the session is refused', async (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['/m', '/m'],
    ['m?x=%20', '/at/m?x=%20'],
    ['?s=2', '/at/sse?s=2'],
    ['https://b.example/m#x', '/m'],
    ['HTTPS://B.EXAMPLE:443/m', '/m'],
    ['https://evil.example/m', 'endpoint-elsewhere'],
    ['//evil.example/m', 'endpoint-elsewhere'],
    ['\\\\evil.example/m', 'endpoint-elsewhere'],
    ['http://b.example/m', 'endpoint-elsewhere'],
    ['https://b.example:8443/m', 'endpoint-elsewhere'],
    ['https://u:p@b.example/m', 'endpoint-elsewhere'],
    ['https://u@b.example/m', 'endpoint-elsewhere'],
    ['https://:p@b.example/m', 'endpoint-elsewhere'],
    ['file:///etc/passwd', 'endpoint-elsewhere'],
    ['https://[', 'endpoint-missing'],
    ['   ', 'endpoint-missing'],
    [`/${'m'.repeat(limits.sseEndpointBytesMax)}`, 'endpoint-missing'],
  ];
  for (const [endpoint, outcome] of rows) {
    // Waiters are served in turns of the event loop.
    await new Promise(setImmediate);
    const scene = new Scene(t).ask().name(endpoint);
    const { path } = scene.context.http.last.request.target;
    t.equal(scene.told[0] ?? path, outcome, endpoint.slice(0, 40));
    if (scene.told.length === 0) continue;
    t.same(scene.sent, ['GET'], 'and nothing is posted anywhere');
    t.ok(scene.stream.isAborted);
    t.equal(scene.session.state, 'unavailable');
  }
});

t.test('a stream that names no URL, or is no stream, is a fault', async (t) => {
  const { initializeTimeoutMs } = new ScriptedContext(t).options;
  const rows: Readonly<Record<string, readonly [(scene: Scene) => unknown, string]>> = {
    'is not answered': [({ context }) => context.advance(initializeTimeoutMs + 10), 'answer-timeout'],
    'is refused': [({ stream }) => stream.empty(405), 'http-status'],
    'redirects to another origin': [
      ({ stream }) => stream.head(307, '', '', -1, 'https://evil.example/at/sse'),
      'redirected',
    ],
    'redirects twice': [
      ({ stream, context }) => {
        stream.head(307, '', '', -1, '/other');
        context.http.last.head(308, '', '', -1, '/another');
      },
      'redirected',
    ],
    'is JSON': [({ stream }) => stream.json('{}'), 'answer-invalid'],
    'ends at once': [({ stream }) => stream.head(200, 'text/event-stream').end(), 'endpoint-missing'],
    'breaks at once': [
      ({ stream }) => stream.head(200, 'text/event-stream').fault('connection-lost'),
      'connection-lost',
    ],
    'cannot be had': [({ stream }) => stream.fault('connection-refused'), 'connection-refused'],
    'says other things': [
      (scene) => {
        scene.stream.head(200, 'text/event-stream').data('data: {"jsonrpc":"2.0","id":1,"result":{}}\n\n');
        scene.stream.data(': waiting\n\nevent: other\ndata: /m\n\n');
        t.same(scene.told, []);
        scene.context.advance(initializeTimeoutMs + 10);
      },
      'endpoint-missing',
    ],
    'never ends its first line': [
      ({ stream }) => {
        stream.head(200, 'text/event-stream');
        for (let bytes = 0; bytes <= limits.sseEndpointBytesMax; bytes += 1_024) stream.data('x'.repeat(1_024));
      },
      'endpoint-missing',
    ],
    'names it and does not answer initialize': [
      (scene) => scene.name().context.advance(initializeTimeoutMs + 10),
      'answer-timeout',
    ],
    'answers initialize at too great a length': [
      (scene) => {
        scene.name();
        const { idText } = scene.context.http.last;
        scene.say(`{"jsonrpc":"2.0","id":${idText},"result":{"x":"${'x'.repeat(limits.initializeAnswerBytesMax)}"}}`);
        return until(() => scene.told.length > 0, 'the fault');
      },
      'answer-too-large',
    ],
  };
  for (const [what, [happen, fault]] of Object.entries(rows)) {
    const scene = new Scene(t).ask();
    await happen(scene);
    await until(() => scene.told.length > 0, 'the fault');
    t.same(scene.told, [fault], what);
    t.notOk(
      scene.context.http.calls.some(
        ({ request, isAborted }) => request.method === 'GET' && !isAborted && fault === 'answer-too-large',
      ),
    );
  }
});

t.test('a session that is closed while it is opened gives up its stream, and `initialize`', async (t) => {
  for (const isNamed of [false, true]) {
    const scene = new Scene(t).ask();
    if (isNamed) scene.name();
    const { last } = scene.context.http;
    scene.session.close(NO_METADATA);
    t.ok(scene.stream.isAborted);
    t.ok(last.isAborted, last.summary);
    scene.context.advance(scene.context.options.initializeTimeoutMs + 10);
    t.same(scene.told, ['session-ended']);
  }
});

t.test('a redirect of the stream within its origin is followed once', async (t) => {
  for (const [status, location, path] of [
    [307, '/at/sse/?tenant=7', '/at/sse/?tenant=7'],
    [308, 'https://b.example/v2/sse', '/v2/sse'],
  ] as const) {
    const scene = new Scene(t).ask(['x-tenant', '7']);
    const first = scene.stream.head(status, 'text/html', '', -1, location);
    t.ok(first.isAborted);
    scene.stream = scene.context.http.last;
    t.same(scene.stream.request.target, { origin: 'https://b.example', path });
    t.same([scene.stream.request.method, scene.stream.header('x-tenant')], ['GET', '7']);
    scene.name('messages?s=1');
    t.equal(scene.context.http.last.request.target.path, '/at/messages?s=1', 'relative to the URL that was given');
    t.match(scene.context.endpoints.origins, [{ forgiven: { redirect: 1 } }]);
  }
});

t.test('with credentials, only to the path with or without a slash at the end', async (t) => {
  for (const [location, isFollowed] of [
    ['/at/sse/?tenant=7', true],
    ['/v2/sse', false],
  ] as const) {
    const scene = new Scene(t, { ...BACKEND, auth: { type: 'headers', headers: { 'x-key': { secret: 's' } } } });
    scene.session.whenOpen(NO_METADATA, (fault?: UpstreamFault) => scene.told.push(fault?.kind ?? 'open'));
    await until(() => scene.sent.length === 1, 'the secret');
    const stream = scene.context.http.last;
    t.equal(stream.header('x-key'), 'v');
    stream.head(307, '', '', -1, location);
    t.equal(scene.sent.length, isFollowed ? 2 : 1, location);
    if (!isFollowed) t.same(scene.told, ['redirected']);
  }
});

t.test('a redirected message is sent once more, and what follows in its session goes to the new place', async (t) => {
  const scene = new Scene(t).ask().name();
  const initialize = scene.context.http.last;
  initialize.head(307, '', '', -1, '/messages/?s=1');
  t.ok(initialize.isAborted);
  const again = scene.context.http.last;
  t.same([again.request.target.path, again.text], ['/messages/?s=1', initialize.text]);
  again.empty();
  scene.say(`{"jsonrpc":"2.0","id":${again.idText},"result":{"protocolVersion":"2024-11-05","capabilities":{}}}`);
  const notice = scene.context.http.last.empty();
  t.same([notice.summary, notice.request.target.path], ['notifications/initialized', '/messages/?s=1']);
  const { post } = scene.call('1');
  t.equal(post.request.target.path, '/messages/?s=1');
  post.empty();
  scene.say('{"jsonrpc":"2.0","id":1,"result":{}}');
  scene.call('2').post.head(307, '', '', -1, '/v2/messages?s=1');
  scene.context.http.last.head(307, '', '', -1, '/v3/messages?s=1');
  scene.call('3').post.head(308, '', '', -1, 'https://evil.example/messages?s=1');
  t.same(scene.outcomes, ['1: {"jsonrpc":"2.0","id":1,"result":{}}', '2: redirected', '3: redirected']);
  t.equal(scene.session.state, 'open');

  const other = new UpstreamSession(scene.context, 'bob', BACKEND, INTRODUCTION, MEMORY);
  other.whenOpen(NO_METADATA, () => undefined);
  t.equal(scene.context.http.last.request.target.path, '/at/sse?tenant=7', 'other sessions learn nothing of it');
  scene.context.http.last.head(200, 'text/event-stream').data('event: endpoint\ndata: /messages?s=2\n\n');
  t.equal(scene.context.http.last.request.target.path, '/messages?s=2');
});

t.test('a stream that ends fails the requests in flight, and is opened again when it is needed', async (t) => {
  for (const end of ['end', 'fault'] as const) {
    const scene = new Scene(t).open();
    scene.call('1').post.empty(202);
    const { post } = scene.call('2');
    if (end === 'end') scene.stream.end();
    else scene.stream.fault('connection-lost');
    t.same(scene.outcomes, ['1: stream-lost', '2: stream-lost'], 'neither is sent again: it may have been carried out');
    t.ok(post.isAborted);
    t.equal(scene.session.state, 'idle');
    t.equal(scene.dropCount, 1);
    const before = scene.sent.length;
    scene.open();
    t.same(scene.sent.slice(before), ['GET', 'initialize', 'notifications/initialized']);
    scene.call('3').post.empty(202);
    scene.say('{"jsonrpc":"2.0","id":3,"result":{}}');
    t.equal(scene.outcomes.at(-1), '3: {"jsonrpc":"2.0","id":3,"result":{}}');
    scene.session.close(NO_METADATA);
  }
});

t.test('heartbeats of any name are skipped, whatever they say, and messages are read under any name', async (t) => {
  const scene = new Scene(t).open();
  scene.call('1').post.empty(202);
  for (const text of ['<html>', '{"time":"12:00"}', '[]', '/other']) {
    scene.say(text);
    scene.stream.data(`event: ping\ndata: ${text}\n\nevent: endpoint\ndata: ${text}\n\n`);
  }
  t.same(scene.outcomes, []);
  scene.stream.data('event: keepalive\ndata: {"jsonrpc":"2.0","id":1,"result":{}}\n\n');
  await until(() => scene.outcomes.length > 0, 'the answer');
  t.match(scene.outcomes, [/^1: (?!answer-invalid)/]);
  t.equal(scene.stream.isAborted, false);
  t.equal(scene.call('2').post.request.target.path, '/messages?s=1', 'the place for messages is named once');
});

t.test('an endless event costs the session and nothing else', async (t) => {
  const endless = new Scene(t).open();
  endless.call('1').post.empty(202);
  const part = 'x'.repeat(4 * 1_048_576);
  endless.stream.data('data: {"jsonrpc":"2.0","id":1,"result":"');
  for (let bytes = 0; bytes <= limits.upstreamMessageBytesMax; bytes += part.length) endless.stream.data(part);
  t.match(endless.outcomes, [/^1: answer/]);
  t.equal(endless.session.state, 'idle');
});

t.test('large events are read in turns; whatever follows them waits', async (t) => {
  const scene = new Scene(t).open();
  for (const id of ['1', '2', '3', '4']) scene.call(id).post.empty(202);
  const large = `{"jsonrpc":"2.0","result":{"x":"${'x'.repeat(2 * limits.readAtOnceBytesMax)}"},"id":1}`;
  const other = large.replace('"id":1', '"id":4');
  const event = (data: string): string => `data: ${data}\n\n`;
  const answer = (id: number): string => `{"jsonrpc":"2.0","id":${id},"result":{}}`;
  scene.stream.data(event(large) + event(answer(3)) + event(other) + event(answer(2)));
  t.ok(scene.stream.isPaused, 'no more is read meanwhile');
  t.same(scene.outcomes, []);
  await until(() => scene.outcomes.length === 4, 'the answers');
  t.notOk(scene.stream.isPaused);
  const [bytes, small] = [`${large.length} bytes`, [`2: ${answer(2)}`, `3: ${answer(3)}`]];
  t.same([...scene.outcomes].sort(), [`1: ${bytes}`, ...small, `4: ${bytes}`]);
  t.equal(scene.session.endpoint.circuit.forgiven, undefined, 'and nothing but what was sent is read');
});

t.test('the refusal of a POST is the answer to its request', async (t) => {
  const scene = new Scene(t).open();
  scene.call('1').post.empty(500);
  scene.call('2').post.json('{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"no"}}', '', 400);
  scene.call('3').post.fault('connection-lost');
  scene.call('4').post.empty(404);
  t.same(scene.outcomes, [
    '1: http-status',
    '2: {"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"no"}}',
    '3: connection-lost',
    '4: session-lost',
  ]);
  for (const id of [1, 3]) scene.say(`{"jsonrpc":"2.0","id":${id},"result":{}}`);
  t.equal(scene.outcomes.length, 4, 'what comes later is no news');
});

t.test('a POST without end is cut once its answer has arrived', async (t) => {
  const scene = new Scene(t).open();
  const { post } = scene.call('1');
  post.head(202, '');
  scene.say('{"jsonrpc":"2.0","id":1,"result":{}}');
  t.equal(scene.outcomes.length, 1);
  t.notOk(post.isAborted);
  scene.context.advance(ANSWERED_STREAM_MS_MAX + 10);
  t.ok(post.isAborted);
});

t.test('ids on one stream are distinct, and the number of waiting requests is bounded', async (t) => {
  const scene = new Scene(t).open();
  scene.call('1', 'first').post.empty(202);
  scene.call('1.0', 'same');
  await until(() => scene.outcomes.length === 1, 'the refusal');
  t.same(scene.outcomes, ['same: id-in-use, unsent']);
  for (let id = 2; id <= limits.sessionRequestsInFlightMax; id++) scene.call(String(id)).post.empty(202);
  scene.call('"more"');
  await until(() => scene.outcomes.length === 2, 'the next one');
  t.equal(scene.outcomes[1], '"more": backend-busy, unsent');
  scene.say('{"jsonrpc":"2.0","id":7,"result":{}}');
  scene.call('"more"').post.empty(202);
  scene.say('{"jsonrpc":"2.0","id":"more","result":{}}');
  t.equal(scene.outcomes.at(-1), '"more": {"jsonrpc":"2.0","id":"more","result":{}}');
});

t.test('a request that is given up, or gets no answer, waits no more', async (t) => {
  const scene = new Scene(t).open();
  const { request, post } = scene.call('1');
  request.abort();
  t.ok(post.isAborted);
  scene.say('{"jsonrpc":"2.0","id":1,"result":{}}');
  scene.call('2').post.empty(202);
  scene.context.advance(1_010);
  t.same(scene.outcomes, ['2: answer-timeout']);
  scene.session.reportFailure({ kind: 'answer-timeout', isUnsent: false });
  t.equal(scene.session.state, 'open', 'the stream has been heard of late');
  scene.context.advance(scene.context.options.callIdleTimeoutMs);
  scene.session.reportFailure({ kind: 'answer-timeout', isUnsent: false });
  t.equal(scene.session.state, 'idle', 'one that nothing was heard of may be gone without a word');
  t.ok(scene.stream.isAborted);
});

t.test('a reader that takes nothing holds the stream back, but no longer than its limit', async (t) => {
  const scene = new Scene(t).open();
  const { request, post } = scene.call('1');
  post.empty(202);
  request.pause();
  t.ok(scene.stream.isPaused);
  scene.say('{"jsonrpc":"2.0","id":1,"result":{}}');
  t.same(scene.outcomes, [], 'what was read already waits');
  t.notOk(scene.stream.isPaused, 'it is there: others need not wait for it');
  request.resume();
  t.equal(scene.outcomes.length, 1);
});

const PROGRESS = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}';
const QUESTION = '{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{}}';
const LOG = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}';

t.test('a server’s own message goes to its listener, else to the only request, else to nobody', async (t) => {
  const scene = new Scene(t).open();
  const heard: string[] = [];
  const onProgress: UpstreamOwner['onProgress'] = (_upstream, _bytes, { method }) => heard.push(method) > 0;
  scene.session.owner = { ...SILENT_OWNER, onProgress };
  scene.say(PROGRESS);
  t.same(heard, ['notifications/progress'], 'whoever waits for progress knows its token');
  scene.say(LOG);
  const before = scene.sent.length;
  scene.say(QUESTION);
  t.same(scene.sent.slice(before), ['response'], 'nobody is there to be asked, and the server is told');
  t.match(scene.context.http.last.text, /"id":"q","error":\{"code":-32601/);
  t.same(scene.context.http.last.request.target.path, '/messages?s=1');

  scene.call('1').post.empty(202);
  scene.say(QUESTION);
  scene.say(LOG);
  t.same(scene.outcomes, ['1 hears elicitation/create', '1 hears notifications/message']);
  scene.call('2').post.empty(202);
  scene.say(LOG);
  const during = scene.sent.length;
  scene.say(QUESTION);
  t.equal(scene.outcomes.length, 2, 'of two nobody can tell whose it is');
  t.same(scene.sent.slice(during), ['response']);
  for (const id of [1, 2]) scene.say(`{"jsonrpc":"2.0","id":${id},"result":{}}`);
  t.match(scene.outcomes.slice(2), [/^1: /, /^2: /]);
});

t.test('a listener gets all messages, but no answer', async (t) => {
  const scene = new Scene(t).open();
  const heard: string[] = [];
  const handler = {
    onHead: (status: number, type: string): void => void heard.push(`${status} ${type}`),
    onData: (chunk: Buffer): void => void heard.push(chunk.toString().trim()),
    onEnd: (): void => void heard.push('end'),
    onFault: ({ kind }: UpstreamFault): void => void heard.push(kind),
  };
  const before = scene.sent.length;
  const first = scene.session.listen('', NO_METADATA, handler);
  t.same(heard, [], 'not from within');
  await until(() => heard.length > 0, 'its beginning');
  t.equal(scene.sent.length, before, 'there is no other stream to be asked for');
  scene.call('1').post.empty(202);
  scene.say(LOG);
  scene.say(QUESTION);
  scene.say(`{"jsonrpc":"2.0","method":"x/${'x'.repeat(limits.backendStreamEventBytesMax)}"}`);
  scene.say('{"jsonrpc":"2.0","id":1,"result":{}}');
  const event = (data: string): string => `event: message\ndata: ${data}`;
  t.same(heard, ['200 text/event-stream', event(LOG), event(QUESTION)]);
  // The event is too large and skipped, but takes time to be read.
  await until(() => scene.outcomes.length === 1, 'the answer');
  t.equal(heard.length, 3);
  first.abort();
  scene.say(LOG);
  t.equal(heard.length, 3);
  scene.session.listen('', NO_METADATA, handler);
  await until(() => heard.length > 3, 'its beginning');
  scene.stream.end();
  t.equal(heard.at(-1), 'stream-lost');
});
