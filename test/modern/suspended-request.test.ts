// Requests of modern clients whose legacy backend asks before it answers, through a real relay; the backend is scripted.
import t, { type Test } from 'tap';
import { LATE_PROGRESS_WAIT_MS } from '../../src/calls/answered-request.js';
import type { ExchangeRequest } from '../../src/exchange/exchange.js';
import { QUESTIONS_GATHER_MS } from '../../src/modern/suspended-call.js';
import { limits } from '../../src/shared/limits.js';
import type { RpcError } from '../../src/shared/rpc-errors.js';
import { UpstreamSession } from '../../src/upstream/session/upstream-session.js';
import { readEvents } from '../support/event-stream.js';
import { hasten } from '../support/hasten.js';
import type { RecordedExchange } from '../support/recorded-exchange.js';
import { until } from '../support/until.js';
import { REQUEST_ID, type ScriptedCall } from '../upstream/scripted-upstream.js';
import { initializeResult, RelayScene } from '../relay/relay-scene.js';
import { virtualHostOf } from '../relay/virtual-host.js';

const ASKED = 'data: {"jsonrpc":"2.0","id":"q","method":"roots/list"}\n\n';
const META = 'io.modelcontextprotocol/';
const CAPABILITIES = { roots: {}, sampling: {} };

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: { readonly progressToken?: unknown; readonly requestId?: unknown };
  readonly result?: {
    readonly resultType?: string;
    readonly inputRequests?: Readonly<Record<string, unknown>>;
    readonly requestState?: string;
    readonly content?: unknown;
  };
  readonly error?: RpcError;
}

class SuspendedScene {
  readonly scene: RelayScene;
  /** The backend's own stream, if it has one. */
  own: ScriptedCall | undefined;
  /** The current config. */
  virtualHost = virtualHostOf({ b: {}, c: {} });

  constructor(t: Test) {
    this.scene = new RelayScene(t, this.virtualHost);
  }

  post(
    id: unknown,
    params: object = {},
    more: Partial<ExchangeRequest> = {},
    capabilities: object = CAPABILITIES,
    method = 'tools/call',
  ): RecordedExchange {
    const meta = {
      [`${META}protocolVersion`]: '2026-07-28',
      [`${META}clientCapabilities`]: capabilities,
      progressToken: `token-${String(id)}`,
    };
    const body = JSON.stringify({
      ...{ jsonrpc: '2.0', id, method },
      params: { name: 'b-x', arguments: { a: 1 }, _meta: meta, ...params },
    });
    const { name: tool = 'b-x', uri: name = tool } = params as { readonly name?: string; readonly uri?: string };
    const mirror = { protocolVersion: '2026-07-28', method, name, params: [] };
    const exchange = this.scene.exchange({ sessionId: '', body: Buffer.from(body), mirror, ...more });
    this.scene.relay.handle({ subject: 'alice', virtualHost: this.virtualHost }, exchange);
    return exchange;
  }

  /** Posts the retry, and waits until the backend has got an answer, or the client: its JSON is read in a later turn if this one took long. */
  async retry(...posted: Parameters<SuspendedScene['post']>): Promise<RecordedExchange> {
    const { calls } = this.scene.http;
    const { length } = calls;
    const exchange = this.post(...posted);
    await until(() => calls.length > length || exchange.outcome !== 'none', 'the retry to be read');
    return exchange;
  }

  /** Opens the upstream session, and begins the answer to the call. @param hasOwn whether the backend has a stream of its own. */
  begin(
    capabilities?: object,
    hasOwn = false,
    id = 1,
    params: object = {},
  ): { readonly exchange: RecordedExchange; readonly call: ScriptedCall } {
    const exchange = this.post(id, params, {}, capabilities);
    // The gateway tries the era of the client first; the backend speaks the other.
    this.scene.http.last.json('{"jsonrpc":"2.0","error":{"code":-32000,"message":"No session"}}', '', 400);
    this.scene.http.last.json(initializeResult, 'upstream-session');
    this.scene.http.last.empty();
    if (hasOwn) this.own = this.scene.http.last.head(200, 'text/event-stream');
    else this.scene.http.last.empty(405);
    return { exchange, call: this.scene.http.last.head(200, 'text/event-stream') };
  }
}

async function answerOf(exchange: RecordedExchange): Promise<Message> {
  await until(() => exchange.outcome === 'responded' || exchange.outcome === 'ended', 'the answer');
  return messagesOf(exchange).at(-1) ?? {};
}

function messagesOf({ answer, written }: RecordedExchange): Message[] {
  const texts = answer === undefined ? readEvents(written) : [answer.body.toString()];
  return texts.map((text) => JSON.parse(text) as Message);
}

/** The id by which the backend knows the call. */
function sentId(call: ScriptedCall): unknown {
  return (JSON.parse(call.text) as Message).id;
}

t.test('a question becomes the answer, and the retry gets what comes next', async (t) => {
  const suspended = new SuspendedScene(t);
  const { exchange, call } = suspended.begin();
  call.data(ASKED);
  const asked = await answerOf(exchange);
  t.match(asked, { id: 1, result: { resultType: 'input_required', inputRequests: { 1: { method: 'roots/list' } } } });
  t.equal(exchange.outcome, 'responded');

  suspended.scene.context.advance(limits.personMsMax - 1_000);
  const inputResponses = { 1: { roots: [{ uri: 'file:///a' }] } };
  const retry = await suspended.retry(2, { inputResponses, requestState: asked.result?.requestState });
  t.equal(suspended.scene.http.last.text, '{"jsonrpc":"2.0","id":"q","result":{"roots":[{"uri":"file:///a"}]}}');
  suspended.scene.http.last.empty();

  const token = JSON.stringify(sentId(call));
  call.data(
    `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"progress":1}}\n\n`,
  );
  call.data(ASKED.replace('"q"', '"r"'));
  const again = await answerOf(retry);
  t.match(messagesOf(retry), [
    { method: 'notifications/progress', params: { progressToken: 'token-2' } },
    { id: 2, result: { resultType: 'input_required', inputRequests: { 2: { method: 'roots/list' } } } },
  ]);

  const last = await suspended.retry('three', {
    inputResponses: { 2: { roots: [] } },
    requestState: again.result?.requestState,
  });
  t.match(JSON.parse(suspended.scene.http.last.text), { id: 'r', result: { roots: [] } });
  call.data(`data: {"jsonrpc":"2.0","id":${token},"result":{"content":[]}}\n\n`);
  t.same(await answerOf(last), { jsonrpc: '2.0', id: 'three', result: { resultType: 'complete', content: [] } });
  const calls = suspended.scene.http.calls.filter(({ text }) => text.includes('tools/call'));
  t.equal(calls.length, 1, 'the tool was called once');
});

t.test('what the backend reports while its client is asked is told when the client comes back', async (t) => {
  for (const hasOwn of [false, true]) {
    const suspended = new SuspendedScene(t);
    const { exchange, call } = suspended.begin(undefined, hasOwn);
    const token = JSON.stringify(sentId(call));
    call.data(ASKED);
    const asked = await answerOf(exchange);
    const stream = (hasOwn ? suspended.own : undefined) ?? call;
    const report = (progress: number, message = ''): void => {
      const params = `{"progressToken":${token},"progress":${progress},"message":"${message}"}`;
      stream.data(`data: {"jsonrpc":"2.0","method":"notifications/progress","params":${params}}\n\n`);
    };
    for (let progress = 1; progress <= 40; progress += 1) report(progress, 'x'.repeat(1_000));
    report(41);
    const retry = await suspended.retry(2, {
      inputResponses: { 1: { roots: [] } },
      requestState: asked.result?.requestState,
    });
    const reports = messagesOf(retry) as {
      readonly params: { readonly progress: number; readonly progressToken: string };
    }[];
    t.ok(reports.every(({ params }) => params.progressToken === 'token-2'));
    const told = reports.map(({ params }) => params.progress);
    t.equal(told.at(-1), 41);
    t.strictSame(
      told,
      Array.from(told, (_, index) => 41 - told.length + 1 + index),
      'in order',
    );
    t.ok(told.length > 10 && told.length < 20, `the newest, up to 16 KiB: ${told.length}`);
    call.data(`data: {"jsonrpc":"2.0","id":${token},"result":{"content":[]}}\n\n`);
    // An answer waits a moment for one more report where these come beside it.
    suspended.scene.context.advance(LATE_PROGRESS_WAIT_MS);
    t.match((await answerOf(retry)).result, { content: [] });
  }
});

t.test('a list that changes while a client is asked is known to have changed at once', async (t) => {
  const suspended = new SuspendedScene(t);
  const { exchange, call } = suspended.begin();
  const noted = t.capture(UpstreamSession.prototype, 'noteListChange');
  call.data(ASKED);
  await answerOf(exchange);
  call.data('data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n');
  t.strictSame(
    noted().map(({ args }) => args),
    [['notifications/tools/list_changed']],
  );
});

t.test('a question that the backend withdraws at once is not asked, and others are', async (t) => {
  const suspended = new SuspendedScene(t);
  const { exchange, call } = suspended.begin();
  const notice = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'q' } };
  call.data(`${ASKED}data: ${JSON.stringify(notice)}\n\n${ASKED.replace('"q"', '"r"')}`);
  const { result } = await answerOf(exchange);
  t.strictSame(Object.keys(result?.inputRequests ?? {}), ['2']);
});

t.test('a question on a backend’s own stream belongs to the only call in flight there', async (t) => {
  const suspended = new SuspendedScene(t);
  const elsewhere = suspended.begin(CAPABILITIES, false, 9, { name: 'c-x' });
  const { exchange, call } = suspended.begin(CAPABILITIES, true);
  t.equal(call.summary, 'tools/call', 'which waits until its backend is listened to');
  suspended.own?.data(ASKED);
  const asked = await answerOf(exchange);
  t.match(asked, { id: 1, result: { resultType: 'input_required', inputRequests: { 1: { method: 'roots/list' } } } });
  const retry = await suspended.retry(2, {
    inputResponses: { 1: { roots: [] } },
    requestState: asked.result?.requestState,
  });
  t.match(JSON.parse(suspended.scene.http.last.text), { id: 'q', result: { roots: [] } });
  suspended.scene.http.last.empty();

  const other = suspended.post(3);
  const otherCall = suspended.scene.http.last.head(200, 'text/event-stream');
  suspended.own?.data(ASKED.replace('"q"', '"r"'));
  t.match(
    JSON.parse(suspended.scene.http.last.text),
    { id: 'r', error: { code: -32603 } },
    'of two nobody knows whose it is',
  );
  suspended.scene.http.last.empty();
  for (const [each, waiting] of [
    [call, retry],
    [otherCall, other],
  ] as const) {
    each.data(`data: {"jsonrpc":"2.0","id":${JSON.stringify(sentId(each))},"result":{"content":[]}}\n\n`);
    t.match(await answerOf(waiting), { result: { resultType: 'complete' } });
  }
  suspended.own?.data(ASKED.replace('"q"', '"s"'));
  t.match(
    JSON.parse(suspended.scene.http.last.text),
    { id: 's', error: { code: -32603 } },
    'nor is it that of a call that is over',
  );
  suspended.scene.http.last.empty();
  t.equal(elsewhere.exchange.outcome, 'none', 'nor that of a call to another backend');
});

t.test('a backend’s own stream is not opened for a client that can be asked nothing', async (t) => {
  const suspended = new SuspendedScene(t);
  suspended.post(1, {}, {}, {});
  suspended.scene.http.last.json('{"jsonrpc":"2.0","error":{"code":-32000,"message":"No session"}}', '', 400);
  suspended.scene.http.last.json(initializeResult, 'upstream-session');
  suspended.scene.http.last.empty();
  t.equal(suspended.scene.http.last.summary, 'tools/call');
});

t.test('reports on a backend’s own stream are found by the token that was sent last', async (t) => {
  const suspended = new SuspendedScene(t);
  suspended.begin(CAPABILITIES, true);
  const says = (token: unknown): string =>
    `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${JSON.stringify(token)},"progress":1}}\n\n`;
  const exchange = suspended.post(2);
  const first = suspended.scene.http.last;
  suspended.own?.data(says('of no call'));
  first.empty(404);
  suspended.scene.http.last.json(initializeResult, 'another-session');
  suspended.scene.http.last.empty();
  const own = suspended.scene.http.last.head(200, 'text/event-stream');
  const call = suspended.scene.http.last;
  t.not(sentId(call), sentId(first));
  for (const token of [sentId(first), 'token-2', sentId(call)]) own.data(says(token));
  call.json(`{"jsonrpc":"2.0","id":"${REQUEST_ID}","result":{"content":[]}}`);
  suspended.scene.context.advance(1_000);
  await answerOf(exchange);
  t.match(messagesOf(exchange), [{ params: { progressToken: 'token-2' } }, { id: 2, result: {} }]);
});

t.test(
  'a question from a session that was lost since is asked of nobody: the answer would reach another session',
  async (t) => {
    const suspended = new SuspendedScene(t);
    const { exchange, call } = suspended.begin();
    const second = suspended.post(2);
    suspended.scene.http.last.empty(404);
    suspended.scene.http.last.json(initializeResult, 'another-session');
    suspended.scene.http.last.empty();
    suspended.scene.http.last.empty(405);
    suspended.scene.http.last.json(`{"jsonrpc":"2.0","id":"${REQUEST_ID}","result":{"content":[]}}`);
    t.match(await answerOf(second), { id: 2, result: { resultType: 'complete' } });
    call.data(ASKED);
    const [lease] = [...suspended.scene.relay.sessions];
    t.ok(lease?.backendRequests.isEmpty);
    call.data(`data: {"jsonrpc":"2.0","id":${JSON.stringify(sentId(call))},"result":{"content":[]}}\n\n`);
    t.match(await answerOf(exchange), { id: 1, result: { resultType: 'complete' } });
  },
);

t.test('a retry obeys the current config', async (t) => {
  for (const backends of [{ b: { allowed_tool_names: ['y'] } }, { other: {} }]) {
    const suspended = new SuspendedScene(t);
    const { exchange, call } = suspended.begin();
    call.data(ASKED);
    const { result } = await answerOf(exchange);
    suspended.virtualHost = virtualHostOf(backends);
    const retry = await suspended.retry(2, {
      inputResponses: { 1: { roots: [] } },
      requestState: result?.requestState,
    });
    t.match(await answerOf(retry), { id: 2, error: { code: -32602, message: 'Unknown tool: b-x' } });
    const sent = suspended.scene.http.calls.map(({ text }) => text).join('\n');
    t.notMatch(sent, /"id":"q","result"/, 'its backend is not answered');
    t.ok(call.isAborted);
  }
});

t.test('a repeated read obeys the current allow-list of resources', async (t) => {
  const read = { name: undefined, arguments: undefined, uri: 'b+x:1' };
  const refused = { code: -32602, message: 'Resource not found', data: { uri: 'b+x:1' } };
  const begunAnew = { code: -32602, message: /allow-list has changed meanwhile: call again without requestState/ };
  for (const [config, error] of [
    [{ allowed_resource_names: ['x:1', 'y:1'] }, undefined],
    [{ allowed_resource_names: ['x:{rest}'] }, undefined],
    [{}, undefined],
    [{ exposes: ['tools'] }, refused],
    // The entry may be the name of what is read.
    [{ allowed_resource_names: ['y:1'] }, begunAnew],
  ] as const) {
    const suspended = new SuspendedScene(t);
    suspended.virtualHost = virtualHostOf({ b: { allowed_resource_names: ['x:1'] } });
    const posted = (id: number, more: object = {}): Parameters<SuspendedScene['post']> => [
      id,
      { ...read, ...more },
      {},
      CAPABILITIES,
      'resources/read',
    ];
    const exchange = suspended.post(...posted(1));
    suspended.scene.http.last.json('{"jsonrpc":"2.0","error":{"code":-32000,"message":"No session"}}', '', 400);
    suspended.scene.http.last.json(initializeResult.replace('"tools":{}', '"resources":{}'), 'upstream-session');
    suspended.scene.http.last.empty();
    suspended.scene.http.last.empty(405);
    const call = suspended.scene.http.last.head(200, 'text/event-stream');
    call.data(ASKED);
    const { result } = await answerOf(exchange);
    suspended.virtualHost = virtualHostOf({ b: structuredClone(config) as object });
    const again = { inputResponses: { 1: { roots: [] } }, requestState: result?.requestState };
    const retry = await suspended.retry(...posted(2, again));
    const isAnswered = suspended.scene.http.calls.some(({ text }) => text.includes('"id":"q","result"'));
    t.equal(isAnswered, error === undefined, `whether its backend is answered under ${JSON.stringify(config)}`);
    t.equal(call.isAborted, error !== undefined);
    if (error !== undefined) t.match(await answerOf(retry), { id: 2, error });
  }
});

t.test('a request whose state does not fit it is not carried out', async (t) => {
  const suspended = new SuspendedScene(t);
  const { exchange, call } = suspended.begin();
  call.data(ASKED);
  const asked = await answerOf(exchange);
  const sentCount = suspended.scene.http.calls.length;
  for (const params of [
    { requestState: 'forged' },
    { requestState: asked.result?.requestState, arguments: { a: 2 } },
    { inputResponses: { 1: {} } },
  ]) {
    const refused = await answerOf(suspended.post(2, params));
    t.match(refused, { id: 2, error: { code: -32602, message: /call again without requestState/ } });
  }
  t.equal(suspended.scene.http.calls.length, sentCount, 'the backend hears of none of them');
});

t.test('a backend that asks without end is refused, and its call was begun once', async (t) => {
  t.teardown(hasten(QUESTIONS_GATHER_MS, 1));
  const suspended = new SuspendedScene(t);
  let { exchange } = suspended.begin();
  const call = suspended.scene.http.last;
  const { length: before } = suspended.scene.http.calls;
  for (let round = 1; round <= limits.suspendedCallRoundsMax; round += 1) {
    call.data(ASKED.replace('"q"', `"q${round}"`));
    const { result } = await answerOf(exchange);
    const [name = ''] = Object.keys(result?.inputRequests ?? {});
    exchange = await suspended.retry(round, {
      inputResponses: { [name]: { roots: [] } },
      requestState: result?.requestState,
    });
    suspended.scene.http.last.empty();
  }
  call.data(ASKED.replace('"q"', '"last"'));
  t.match(JSON.parse(suspended.scene.http.last.text), { id: 'last', error: { code: -32603 } });
  suspended.scene.http.last.empty();
  call.data(`data: {"jsonrpc":"2.0","id":${JSON.stringify(sentId(call))},"result":{"content":[]}}\n\n`);
  t.match(await answerOf(exchange), { id: limits.suspendedCallRoundsMax, result: { resultType: 'complete' } });
  const sent = suspended.scene.http.calls.slice(before).map(({ text }) => JSON.parse(text) as Message);
  t.notOk(sent.some(({ method }) => method === 'tools/call'));
});

t.test('a client is not asked for what it has not declared, and is told what it lacks', async (t) => {
  const ends = [
    [
      '"result":{"isError":true,"content":[]}',
      { error: { code: -32021, data: { requiredCapabilities: { roots: {} } } } },
    ],
    ['"error":{"code":-32603,"message":"no roots"}', { error: { code: -32021 } }],
    // The backend can do without the answer.
    ['"result":{"content":[]}', { result: { resultType: 'complete', content: [] } }],
  ] as const;
  for (const [end, told] of ends) {
    const suspended = new SuspendedScene(t);
    const { exchange, call } = suspended.begin({ sampling: {} });
    call.data(ASKED);
    t.match(JSON.parse(suspended.scene.http.last.text), { id: 'q', error: { code: -32601 } });
    call.data(`data: {"jsonrpc":"2.0","id":${JSON.stringify(sentId(call))},${end}}\n\n`);
    t.match(await answerOf(exchange), { id: 1, ...told });
    t.equal(exchange.answer?.status, 'error' in told ? 400 : 200);
  }
  const suspended = new SuspendedScene(t);
  const { exchange, call } = suspended.begin({ sampling: {} });
  call.data(ASKED);
  suspended.scene.http.last.empty();
  call.data(ASKED.replace('"q","method":"roots/list"', '"e","method":"elicitation/create","params":{"mode":"url"}'));
  call.data(`data: {"jsonrpc":"2.0","id":${JSON.stringify(sentId(call))},"result":{"isError":true,"content":[]}}\n\n`);
  const { error } = await answerOf(exchange);
  t.strictSame(error?.data, { requiredCapabilities: { roots: {}, elicitation: { url: {} } } }, 'all of it');
});

t.test('a caller that goes away ends its call, but not once it has received its answer', async (t) => {
  const suspended = new SuspendedScene(t);
  const { exchange, call } = suspended.begin();
  call.data(ASKED);
  const asked = await answerOf(exchange);
  exchange.abort();
  t.equal(suspended.scene.http.calls.at(-1), call, 'the backend is told nothing');
  const retry = await suspended.retry(2, {
    inputResponses: { 1: { roots: [] } },
    requestState: asked.result?.requestState,
  });
  suspended.scene.http.last.empty();
  retry.isForgiving = true;
  retry.abort();
  t.match(JSON.parse(suspended.scene.http.last.text), {
    method: 'notifications/cancelled',
    params: { requestId: sentId(call) },
  });
});

t.test('a call whose client does not come back is cancelled', async (t) => {
  const suspended = new SuspendedScene(t);
  const { exchange, call } = suspended.begin();
  call.data(ASKED);
  const asked = await answerOf(exchange);
  suspended.scene.context.advance(limits.personMsMax + 100);
  const told = suspended.scene.http.calls.slice(suspended.scene.http.calls.indexOf(call) + 1).map(({ text }) => text);
  t.match(told.join('\n'), /notifications\/cancelled/);
  const late = await answerOf(suspended.post(2, { inputResponses: {}, requestState: asked.result?.requestState }));
  t.match(late, { error: { code: -32602 } });
  t.equal(
    suspended.scene.http.calls.filter(({ text }) => text.includes('tools/call')).length,
    1,
    'nor is it begun again',
  );
});
