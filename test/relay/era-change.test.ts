// A backend that changes from one era of MCP to the other, in the middle of a client's session or lease: its era is found out again, and
// the request that it refused is sent once more, if it was certainly not carried out. The backend counts what it carries out.
import t, { type Test } from 'tap';
import { readEvents } from '../support/event-stream.js';
import { startRawBackend, type RawBackend, type ReceivedRequest } from '../support/raw-backend.js';
import { until } from '../support/until.js';
import { post } from '../modern/modern-request.js';
import { answerOf, WiredRelay, type RpcAnswer, type WiredCaller } from './wired-relay.js';

type Era = 'legacy' | 'modern';

interface Refusal {
  readonly status: number;
  /** A text as it is, or a JSON-RPC error, with the request's own id unless it states another. */
  readonly body: string | { readonly id?: unknown; readonly error: object };
}

interface Message {
  readonly id?: unknown;
  readonly method: string;
  readonly params?: { readonly _meta?: Readonly<Record<string, unknown>>; readonly inputResponses?: unknown };
}

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
const MODERN_ALONE: Refusal = {
  status: 400,
  body: { error: { code: -32_022, message: 'Unsupported protocol version', data: { supported: ['2026-07-28'] } } },
};
const NO_SESSION: Refusal = {
  status: 400,
  body: { id: null, error: { code: -32_000, message: 'Bad Request: No valid session ID provided' } },
};

/** A server that speaks one era at a time, and refuses the other with `refusal`. */
class ChangingBackend {
  era: Era;
  refusal: Refusal = NO_SESSION;
  readonly raw: RawBackend;
  /** The era of each call that was carried out. */
  readonly executed: Era[] = [];
  /** Called for each call; returns true if it has answered in place of the usual result. */
  onCall: ((request: ReceivedRequest, message: Message) => boolean) | undefined;
  readonly #hasSessions: boolean;
  readonly #sessions = new Set<string>();
  readonly listens = { legacy: 0, modern: 0 };

  private constructor(era: Era, hasSessions: boolean, raw: RawBackend) {
    this.era = era;
    this.#hasSessions = hasSessions;
    this.raw = raw;
    raw.handler = (request) => this.#onRequest(request);
  }

  static async start(t: Test, era: Era, hasSessions = true): Promise<ChangingBackend> {
    const raw = await startRawBackend(() => undefined, { hearsDiscovery: true });
    t.teardown(() => raw.close());
    return new ChangingBackend(era, hasSessions, raw);
  }

  get url(): string {
    return this.raw.url;
  }

  /** The methods of all requests that it got. */
  get methods(): string[] {
    return this.raw.requests.map(({ text, method }) => (text === '' ? method : (JSON.parse(text) as Message).method));
  }

  /** From now on it speaks the other era only, and has no sessions of before. */
  change(refusal: Refusal): void {
    this.era = this.era === 'legacy' ? 'modern' : 'legacy';
    this.refusal = refusal;
    this.#sessions.clear();
  }

  #onRequest(request: ReceivedRequest): void {
    if (request.text === '') return this.#onGet(request);
    const message = JSON.parse(request.text) as Message;
    // A legacy server ignores an envelope, and a modern one needs the header to say the same.
    const asked = request.headers['mcp-protocol-version'] === '2026-07-28' ? 'modern' : 'legacy';
    if (asked !== this.era) this.#refuse(request, message);
    else if (this.era === 'modern') this.#onModern(request, message);
    else this.#onLegacy(request, message);
  }

  #refuse(request: ReceivedRequest, message: Message): void {
    // An `initialize` is refused with the supported versions, whatever the refusal of other requests is.
    const refusal = message.method === 'initialize' ? MODERN_ALONE : this.refusal;
    const { status, body } = refusal;
    if (typeof body === 'string') request.json(body, { status, headers: { 'content-type': 'text/plain' } });
    else request.json({ jsonrpc: '2.0', id: message.id, ...body }, { status });
  }

  #onModern(request: ReceivedRequest, message: Message): void {
    const capabilities = { tools: { listChanged: true } };
    if (message.method === 'server/discover')
      this.#answer(request, message, { supportedVersions: ['2026-07-28'], capabilities, resultType: 'complete' });
    else if (message.method === 'subscriptions/listen') this.#listen(request);
    else this.#onCommon(request, message);
  }

  #onLegacy(request: ReceivedRequest, message: Message): void {
    if (message.method === 'initialize') {
      const sessionId = this.#hasSessions ? `s-${this.raw.requests.length}` : '';
      this.#sessions.add(sessionId);
      const result = { protocolVersion: '2025-11-25', capabilities: { tools: { listChanged: true } } };
      const headers: Record<string, string> = this.#hasSessions ? { 'mcp-session-id': sessionId } : {};
      request.json({ jsonrpc: '2.0', id: message.id, result }, { headers });
    } else if (!this.#sessions.has(request.headers['mcp-session-id'] ?? '')) request.empty(404);
    else if (message.id === undefined) request.empty(202);
    else this.#onCommon(request, message);
  }

  #onGet(request: ReceivedRequest): void {
    if (this.era === 'legacy' && request.method === 'GET') this.#listen(request);
    else request.empty(request.method === 'DELETE' ? 200 : 405);
  }

  #listen(request: ReceivedRequest): void {
    this.listens[this.era] += 1;
    const acknowledged = 'notifications/subscriptions/acknowledged';
    const params = { notifications: { toolsListChanged: true } };
    void request.eventStream().event({ jsonrpc: '2.0', method: acknowledged, params });
  }

  #onCommon(request: ReceivedRequest, message: Message): void {
    const { era } = this;
    if (message.method === 'tools/list') this.#answer(request, message, { tools: [{ name: 'x', inputSchema: {} }] });
    else if (this.onCall?.(request, message) !== true) {
      this.executed.push(era);
      this.#answer(request, message, { content: [{ type: 'text', text: era }] });
    }
  }

  #answer(request: ReceivedRequest, { id }: Message, result: object): void {
    request.json({ jsonrpc: '2.0', id, result });
  }
}

/** A client that calls: with a session, or without. */
interface Caller {
  call(): Promise<RpcAnswer>;
  list(): Promise<RpcAnswer>;
}

async function callerOf(wired: WiredCaller, era: Era): Promise<Caller> {
  if (era === 'legacy') {
    await wired.open();
    return { call: () => wired.call('one-x'), list: () => wired.list() };
  }
  return {
    call: () => answerOf(post(wired, 'tools/call', { params: { name: 'one-x', arguments: {} } })),
    list: () => answerOf(post(wired, 'tools/list')),
  };
}

const text = (era: Era): object => ({ result: { content: [{ text: era }] } });

/** How servers that have become legacy refuse requests without a session. */
const LEGACY_REFUSALS: Readonly<Record<string, Refusal>> = {
  'no session, and no id': NO_SESSION,
  'a foreign id': {
    status: 400,
    body: { id: 'server-error', error: { code: -32_600, message: 'Bad Request: Missing session ID' } },
  },
  'words about the version': { status: 400, body: 'Bad Request: Unsupported protocol version\n' },
  'nothing is there': { status: 404, body: 'not found' },
  'only legacy versions': {
    status: 400,
    body: { error: { code: -32_022, message: 'x', data: { supported: ['2025-11-25'] } } },
  },
};

/** How servers that have become modern refuse requests without an envelope. */
const MODERN_REFUSALS: Readonly<Record<string, Refusal>> = {
  'only modern versions': MODERN_ALONE,
  'the same, and no id': {
    status: 400,
    body: { id: null, error: { code: -32_022, message: 'x', data: { supported: ['2026-07-28'] } } },
  },
  'a member of the envelope': {
    status: 400,
    body: { error: { code: -32_602, message: `Invalid params: missing ${VERSION_KEY}` } },
  },
  'a header': { status: 400, body: { error: { code: -32_020, message: 'Mcp-Method header is missing' } } },
  'no such session': { status: 404, body: 'Session not found' },
};

const DIRECTIONS = [
  { from: 'modern', to: 'legacy', refusals: LEGACY_REFUSALS },
  { from: 'legacy', to: 'modern', refusals: MODERN_REFUSALS },
] as const;

for (const { from, to, refusals } of DIRECTIONS) {
  for (const client of ['legacy', 'modern'] as const) {
    t.test(
      `${from} becomes ${to} under a ${client} client: its era is found again, and nothing runs twice`,
      async (t) => {
        for (const [what, refusal] of Object.entries(refusals)) {
          const backend = await ChangingBackend.start(t, from);
          const caller = await callerOf(new WiredRelay(t).caller({ one: backend.url }), client);
          t.match(await caller.call(), text(from), what);
          backend.change(refusal);
          t.match(await caller.call(), text(to), what);
          t.same(backend.executed, [from, to], `${what}: each once`);
          const asked = backend.methods.length;
          t.match(await caller.call(), text(to), what);
          t.equal(backend.methods.length, asked + 1, `${what}: it is known from then on`);
          backend.change(from === 'modern' ? MODERN_ALONE : NO_SESSION);
          t.match((await caller.list()).result, { tools: [{ name: 'one-x' }] }, `${what}: and back, with a list`);
          t.match(await caller.call(), text(from), what);
          t.same(backend.executed, [from, to, to, from], what);
        }
      },
    );
  }
}

t.test('the era of a backend that gives no session ids is found out again, too', async (t) => {
  for (const client of ['legacy', 'modern'] as const) {
    const backend = await ChangingBackend.start(t, 'legacy', false);
    const caller = await callerOf(new WiredRelay(t).caller({ one: backend.url }), client);
    t.match(await caller.call(), text('legacy'));
    backend.change(MODERN_ALONE);
    t.match(await caller.call(), text('modern'), client);
    t.same(backend.executed, ['legacy', 'modern'], client);
  }
});

t.test('the era is found out once for many requests that are refused at once', async (t) => {
  const backend = await ChangingBackend.start(t, 'legacy');
  const caller = await callerOf(new WiredRelay(t).caller({ one: backend.url }), 'modern');
  await caller.call();
  backend.change(MODERN_ALONE);
  const before = backend.methods.length;
  const answers = await Promise.all(Array.from({ length: 10 }, () => caller.call()));
  for (const answer of answers) t.match(answer, text('modern'));
  t.equal(backend.executed.length, 11, 'each once');
  const openings = backend.methods.slice(before).filter((method) => /initialize|discover/.test(method));
  t.same(openings, ['server/discover']);
});

t.test('a backend that refuses for the era but still speaks it is not asked a second time', async (t) => {
  const rows: readonly [Era, Refusal][] = [
    ['modern', LEGACY_REFUSALS['words about the version']!],
    ['modern', { status: 404, body: 'not found' }],
    ['legacy', MODERN_REFUSALS['a member of the envelope']!],
  ];
  for (const [era, refusal] of rows) {
    const backend = await ChangingBackend.start(t, era);
    const caller = await callerOf(new WiredRelay(t).caller({ one: backend.url }), era);
    await caller.call();
    let calls = 0;
    backend.onCall = (request, { id }) => {
      calls += 1;
      const { status, body } = refusal;
      if (typeof body === 'string') request.json(body, { status });
      else request.json({ jsonrpc: '2.0', id, ...body }, { status });
      return true;
    };
    t.match((await caller.call()).error?.message, /"one" failed: (it does not support this version|session lost)/);
    t.equal(calls, 1, `${era} ${refusal.status}`);
    backend.onCall = undefined;
    t.match(await caller.call(), text(era), 'the next is served');
  }
});

t.test('a refusal of what may have been carried out, or without a word on the era, is no evidence', async (t) => {
  const rows: readonly [Era, Refusal][] = [
    ['modern', { status: 400, body: { id: null, error: { code: -32_603, message: 'failed' } } }],
    ['modern', { status: 400, body: { error: { code: -32_000, message: 'no session of this user' } } }],
    ['modern', { status: 500, body: 'session' }],
    ['modern', { status: 403, body: 'session' }],
    ['modern', { status: 400, body: 'quota' }],
    ['modern', { status: 400, body: { error: { code: -32_022, message: 'x', data: { supported: ['2026-07-28'] } } } }],
    ['legacy', { status: 200, body: MODERN_ALONE.body }],
    ['legacy', { status: 500, body: MODERN_ALONE.body }],
    ['legacy', { status: 400, body: { error: { code: -32_602, message: 'missing _meta of the order' } } }],
    ['legacy', { status: 400, body: { error: { code: -32_022, message: 'x', data: { supported: ['2025-06-18'] } } } }],
  ];
  for (const [era, { status, body }] of rows) {
    const what = `${era} ${status} ${JSON.stringify(body)}`;
    const backend = await ChangingBackend.start(t, era);
    const caller = await callerOf(new WiredRelay(t).caller({ one: backend.url }), era);
    await caller.call();
    const asked = backend.methods.length;
    backend.onCall = (request, { id }) => {
      if (typeof body === 'string') request.json(body, { status });
      else request.json({ jsonrpc: '2.0', id, ...body }, { status });
      return true;
    };
    t.ok((await caller.call()).error, what);
    backend.onCall = undefined;
    t.match(await caller.call(), text(era), what);
    t.same(backend.methods.slice(asked), ['tools/call', 'tools/call'], what);
  }
});

t.test('an answer is read in the era of its call, whatever was found out since', async (t) => {
  const inputRequired = { resultType: 'input_required', requestState: 's' };
  const rows = [
    { from: 'modern', refusal: NO_SESSION, answer: { result: inputRequired }, told: { result: inputRequired } },
    {
      from: 'legacy',
      refusal: MODERN_ALONE,
      answer: { error: { code: -32_002, message: 'Resource not found' } },
      told: { error: { code: -32_602 } },
    },
  ] as const;
  for (const { from, refusal, answer, told } of rows) {
    const backend = await ChangingBackend.start(t, from);
    const caller = await callerOf(new WiredRelay(t).caller({ one: backend.url }), 'modern');
    await caller.call();
    let finish: (() => void) | undefined;
    backend.onCall = (request, { id }) => {
      finish = () => request.json({ jsonrpc: '2.0', id, ...answer });
      return true;
    };
    const first = caller.call();
    await until(() => finish !== undefined, 'the call at its backend');
    backend.onCall = undefined;
    backend.change(refusal);
    t.match((await caller.call()).result, { content: [{ text: backend.era }] });
    finish?.();
    t.match(await first, told, from);
  }
});

t.test('a call that its backend has begun is not begun again in the other era', async (t) => {
  const backend = await ChangingBackend.start(t, 'modern');
  const wired = new WiredRelay(t).caller({ one: backend.url });
  await wired.open({ elicitation: {} });
  const inputRequests = { who: { method: 'elicitation/create', params: { message: 'who?', mode: 'form' } } };
  const asking = (request: ReceivedRequest, { id }: Message): boolean => {
    request.json({ jsonrpc: '2.0', id, result: { resultType: 'input_required', inputRequests, requestState: 's' } });
    return true;
  };
  backend.onCall = asking;
  const exchange = wired.post('tools/call', { name: 'one-x' }, 1);
  await until(() => readEvents(exchange.written).length > 0, 'the question');
  backend.change(NO_SESSION);
  backend.onCall = undefined;
  const { id } = JSON.parse(readEvents(exchange.written)[0] ?? '') as Message;
  wired.request({ body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, result: { action: 'decline' } })) });
  t.match((await answerOf(exchange)).error?.message, /session lost/);
  t.same(backend.executed, []);

  const again = await ChangingBackend.start(t, 'modern');
  const modern = new WiredRelay(t).caller({ one: again.url });
  again.onCall = asking;
  const params = { name: 'one-x', arguments: {} };
  const capabilities = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } };
  await answerOf(post(modern, 'tools/call', { params, meta: capabilities }));
  again.change(NO_SESSION);
  again.onCall = undefined;
  const retried = { ...params, requestState: 's', inputResponses: { who: { action: 'decline' } } };
  t.ok((await answerOf(post(modern, 'tools/call', { params: retried, meta: capabilities }))).error);
  t.same(again.executed, [], 'nor where its client makes it again');
});

t.test('a call that a legacy backend holds is not begun again when that becomes modern', async (t) => {
  const backend = await ChangingBackend.start(t, 'legacy');
  let begun = 0;
  backend.onCall = (request) => {
    begun += 1;
    const params = { message: 'who?', requestedSchema: {} };
    void request.eventStream().event({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params });
    return true;
  };
  const modern = new WiredRelay(t).caller({ one: backend.url });
  const params = { name: 'one-x', arguments: {} };
  const meta = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } };
  const { result } = await answerOf(post(modern, 'tools/call', { params, meta }));
  t.match(result, { resultType: 'input_required' });
  backend.change(MODERN_ALONE);
  backend.onCall = undefined;
  backend.raw.closeConnections();
  const { requestState } = result as { requestState: string };
  const retry = { ...params, requestState, inputResponses: { 1: { action: 'decline' } } };
  for (const what of ['the retry', 'and once more'])
    t.ok((await answerOf(post(modern, 'tools/call', { params: retry, meta }))).error, what);
  t.same([begun, backend.executed], [1, []]);
  t.match(await answerOf(post(modern, 'tools/call', { params, meta })), text('modern'), 'a new call is served');
});

for (const { from, to } of DIRECTIONS) {
  for (const client of ['legacy', 'modern'] as const) {
    t.test(`${from} becomes ${to} with a call of a ${client} client under way: nobody begins it anew`, async (t) => {
      const backend = await ChangingBackend.start(t, from);
      const caller = await callerOf(new WiredRelay(t).caller({ one: backend.url }), client);
      await caller.call();
      let begun = 0;
      backend.onCall = ({ connection }) => {
        begun += 1;
        backend.change(to === 'legacy' ? NO_SESSION : MODERN_ALONE);
        connection.destroy();
        return true;
      };
      t.ok((await caller.call()).error, 'its answer is lost');
      t.same([begun, backend.executed], [1, [from]]);
      backend.onCall = undefined;
      t.match(await caller.call(), text(to), 'the next one goes there');
    });
  }
}

for (const { from, to } of DIRECTIONS) {
  t.test(`${from} becomes ${to} while it is listened to: it is listened to in that era`, async (t) => {
    const backend = await ChangingBackend.start(t, from);
    const relay = new WiredRelay(t);
    const caller = relay.caller({ one: backend.url });
    await caller.open();
    const own = caller.request({ method: 'GET', body: Buffer.alloc(0), acceptedTypes: 'event-stream' });
    await until(() => backend.listens[from] === 1, 'it is listened to');
    backend.change(to === 'legacy' ? NO_SESSION : MODERN_ALONE);
    backend.raw.closeConnections();
    await relay.untilPassed(() => backend.listens[to] === 1, 'in the other era');
    t.same(backend.executed, []);
    own.isForgiving = true;
    own.abort();
  });
}
