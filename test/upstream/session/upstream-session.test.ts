// Walks the state table of an upstream session: every state with every event that can occur in it. The backend is a script, and the test
// sets the clock.
import t, { type Test } from 'tap';
import { readBackendMessage } from '../../../src/mcp/json-rpc.js';
import { upstreamFault, type UpstreamFault, type UpstreamFaultKind } from '../../../src/http-client/upstream-fault.js';
import {
  UPSTREAM_RETRY_DELAY_MS_MIN,
  UPSTREAM_RETRY_DELAY_MS_MAX,
  BACKEND_STREAM_PATIENCE_MS,
} from '../../../src/upstream/session/upstream-opening.js';
import { UpstreamSession } from '../../../src/upstream/session/upstream-session.js';
import { askAfterRefusal } from '../../../src/session/own-requests.js';
import { MIRRORS_CHARS_MAX, type TextBudget } from '../../../src/upstream/session/known-mirrors.js';
import { limits } from '../../../src/shared/limits.js';
import { KIB } from '../../../src/shared/values.js';
import { backendOf, virtualHostOf } from '../../relay/virtual-host.js';
import { ScriptedContext, SILENT_OWNER } from '../scripted-context.js';
import { REQUEST_ID } from '../scripted-upstream.js';
import { NO_METADATA } from '../../../src/http-client/http-upstream.js';
import { PROBE_DELAY_MS_MIN } from '../../../src/upstream/reach/silence-ledger.js';

const BACKEND = backendOf(virtualHostOf({ b: { url: 'https://b.example:8443/mcp?tenant=7' } }), 'b');
const SUBJECT = 'alice';
const INTRODUCTION = {
  clientInfo: Buffer.from('{"name":"c","version":"1.0","x":1.0}'),
  capabilities: Buffer.from('{ "roots":{},"x":1.0 }'),
};

interface ResultParts {
  readonly protocolVersion?: unknown;
  readonly capabilities?: unknown;
  readonly instructions?: unknown;
}

function initializeResult(parts: ResultParts = {}): string {
  const result = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, ...parts };
  return JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result });
}

const ROOMY: TextBudget = { tryKeepText: ({ length }) => length, drop: () => undefined };

/** An upstream session, with what its waiters were told: `open` or the fault's kind, in order. */
class Scene {
  readonly context: ScriptedContext;
  readonly session: UpstreamSession;
  readonly told: (UpstreamFaultKind | 'open')[] = [];

  constructor(t: Test, backend = BACKEND, memory: TextBudget = ROOMY) {
    this.context = new ScriptedContext(t);
    this.session = new UpstreamSession(this.context, SUBJECT, backend, INTRODUCTION, memory);
  }

  wait(passthrough: readonly string[] = []): void {
    this.session.whenOpen({ headers: passthrough, requestId: '', callerToken: '' }, (fault?: UpstreamFault) =>
      this.told.push(fault?.kind ?? 'open'),
    );
  }

  waitReady(): void {
    this.session.whenReady(NO_METADATA, (fault?: UpstreamFault) => this.told.push(fault?.kind ?? 'open'));
  }

  /** Takes the session from opening to open. */
  handshake(sessionId = 'S-1', parts: ResultParts = {}): void {
    this.context.http.last.json(initializeResult(parts), sessionId);
    this.context.http.last.empty();
  }

  /** The HTTP methods or JSON-RPC methods sent so far. */
  get sent(): string[] {
    return this.context.http.summary;
  }
}

const ways: Readonly<Record<UpstreamSession['state'], (scene: Scene) => void>> = {
  idle: () => undefined,
  opening: (scene) => scene.wait(),
  open: (scene) => {
    scene.wait();
    scene.handshake();
  },
  unavailable: (scene) => {
    scene.wait();
    scene.context.http.last.empty(401);
  },
  closed: (scene) => scene.session.close(NO_METADATA),
};

/** A scene that has just reached this state. */
function sceneIn(t: Test, state: UpstreamSession['state']): Scene {
  const scene = new Scene(t);
  ways[state](scene);
  t.equal(scene.session.state, state, `brought to ${state}`);
  scene.told.length = 0;
  return scene;
}

t.test('an oversized answer to initialize is aborted before it is whole, in both forms', async (t) => {
  const part = ' '.repeat(limits.initializeAnswerBytesMax / 2);
  for (const type of ['application/json', 'text/event-stream']) {
    const scene = sceneIn(t, 'opening');
    const call = scene.context.http.last.head(200, type).data('data: {').data(part);
    t.equal(scene.session.state, 'opening');
    call.data(part);
    t.same(scene.told, ['answer-too-large'], type);
    t.ok(call.isAborted);
  }
  const told = sceneIn(t, 'opening');
  told.context.http.last.head(200, 'application/json', '', limits.initializeAnswerBytesMax + 1).data('{');
  t.same(told.told, ['answer-too-large'], 'by what its head says');
});

t.test(
  'of the notifications before the answer to initialize, the first 16 of 4 KiB at most are kept, counted and given once',
  (t) => {
    const kept: string[] = [];
    const counts = { bytes: 0 };
    const memory: TextBudget = {
      tryKeepText: (text) => {
        kept.push(text);
        counts.bytes += text.length;
        return text.length;
      },
      drop: (bytes) => void (counts.bytes -= bytes),
    };
    const notice = (data: string): string =>
      `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"${data}"}}`;
    const ofBytes = (bytes: number): string => notice('x'.repeat(bytes - notice('').length));
    const said = [ofBytes(4 * KIB + 1), ofBytes(4 * KIB), ...Array.from({ length: 16 }, (_, at) => notice(`n${at}`))];
    const heard = said.slice(1, -1);
    for (const end of ['taken', 'closed'] as const) {
      const scene = new Scene(t, BACKEND, memory);
      scene.wait();
      scene.context.http.last.head(200, 'text/event-stream', 'S-1');
      for (const message of [...said, initializeResult()]) scene.context.http.last.data(`data: ${message}\n\n`);
      scene.context.http.last.empty();
      t.same(scene.told, ['open']);
      t.ok(kept.includes(heard.join('')), 'counted');
      if (end === 'taken') t.same(scene.session.takeEarlyNotifications(), heard);
      else scene.session.close(NO_METADATA);
      t.same(scene.session.takeEarlyNotifications(), [], end);
      if (end === 'taken') scene.session.close(NO_METADATA);
      t.equal(counts.bytes, 0, 'and no longer counted');
    }
    const full = new Scene(t, BACKEND, { tryKeepText: () => undefined, drop: () => undefined });
    full.wait();
    full.context.http.last.head(200, 'text/event-stream', 'S-1');
    for (const message of [notice('a'), initializeResult()]) full.context.http.last.data(`data: ${message}\n\n`);
    full.context.http.last.empty();
    t.same(full.told, ['open'], 'a session without room for them opens without them');
    t.same(full.session.takeEarlyNotifications(), []);
    t.end();
  },
);

t.test('idle, open requested: opening; whoever asks meanwhile joins', async (t) => {
  const scene = sceneIn(t, 'idle');
  scene.wait(['x-trace', '1']);
  t.equal(scene.session.state, 'opening');
  scene.wait(['x-trace', '2']);
  scene.wait();
  t.same(scene.sent, ['initialize'], 'one handshake for all');
  t.same(scene.told, []);
  scene.context.http.last.json(initializeResult(), 'S-1');
  t.same(scene.told, [], 'not before the backend took `initialized` too (C06)');
  t.same(scene.sent, ['initialize', 'notifications/initialized']);
  scene.context.http.last.empty();
  t.same(scene.told, ['open', 'open', 'open']);
  t.equal(scene.session.state, 'open');
  t.same(scene.context.reports, ['available']);
});

t.test('the handshake: what is sent, and what is kept of the answer', async (t) => {
  const scene = sceneIn(t, 'idle');
  scene.wait(['x-trace', '1']);
  const [initialize] = scene.context.http.calls;
  t.match(initialize, {
    request: { method: 'POST', target: { origin: 'https://b.example:8443', path: '/mcp?tenant=7' } },
  });
  t.match(JSON.parse(initialize!.text), {
    params: { protocolVersion: '2025-11-25', capabilities: { roots: {}, x: 1 } },
  });
  t.ok(initialize!.text.includes(`"clientInfo":${INTRODUCTION.clientInfo.toString()}`), "the caller's own words");
  t.ok(
    initialize!.text.includes(`"capabilities":${INTRODUCTION.capabilities.toString()},`),
    'and what it can be asked for',
  );
  t.equal(initialize!.header('mcp-session-id'), undefined);
  t.equal(initialize!.header('x-trace'), '1');
  scene.handshake('S-1', { instructions: 'Be kind.' });
  const { last } = scene.context.http;
  t.equal(last.header('mcp-session-id'), 'S-1');
  t.equal(last.header('mcp-protocol-version'), '2025-06-18', "the backend's own version");
  t.equal(last.header('x-trace'), '1');
  t.same(scene.session.record, {
    era: 'legacy',
    sessionId: 'S-1',
    protocolVersion: '2025-06-18',
    capabilities: 1,
    named: undefined,
    instructions: 'Be kind.',
  });
});

t.test('open, open requested: told at once, and nothing is sent', async (t) => {
  const scene = sceneIn(t, 'open');
  scene.wait();
  t.same(scene.told, ['open']);
  t.equal(scene.sent.length, 2);
});

t.test(
  "while the backend's own stream is being opened, only requests that it may ask for wait, and not for long",
  async (t) => {
    const scene = sceneIn(t, 'open');
    scene.waitReady();
    t.same(scene.told, ['open'], 'nothing is being opened');
    scene.session.delayRequests();
    scene.waitReady();
    t.same(scene.told, ['open'], 'waits');
    scene.wait();
    t.same(scene.told, ['open', 'open'], 'who does not care is told at once');
    scene.session.releaseRequests();
    t.same(scene.told, ['open', 'open', 'open']);
    scene.waitReady();
    t.equal(scene.told.length, 4, 'it is over for all');

    scene.session.delayRequests();
    scene.waitReady();
    scene.context.advance(BACKEND_STREAM_PATIENCE_MS - 10);
    t.equal(scene.told.length, 4);
    scene.context.advance(20);
    t.same(scene.told.slice(4), ['open'], 'its patience is over');
  },
);

t.test('a waiter that finds the session lost after its stream opened waits for the next one', async (t) => {
  const scene = sceneIn(t, 'open');
  scene.session.delayRequests();
  scene.waitReady();
  scene.session.markLost(scene.session.record);
  scene.session.releaseRequests();
  t.same(scene.told, []);
  t.equal(scene.session.state, 'opening');
  // As a session does that reopens its stream once it is open.
  scene.session.owner = { ...SILENT_OWNER, onOpened: () => scene.session.delayRequests() };
  scene.waitReady();
  scene.handshake('S-2');
  t.same(scene.told, ['open'], 'the first has waited once');
  scene.session.releaseRequests();
  t.same(scene.told, ['open', 'open']);
});

t.test('opening, handshake failed: unavailable, and every waiter is told why', async (t) => {
  const failures: [UpstreamFaultKind, (scene: Scene) => void][] = [
    ['connect-timeout', ({ context }) => context.http.last.fault('connect-timeout')],
    ['http-status', ({ context }) => context.http.last.empty(401)],
    ['answer-invalid', ({ context }) => context.http.last.json('{}')],
    ['answer-invalid', ({ context }) => context.http.last.json(initializeResult({ protocolVersion: 1 }))],
    [
      'version-unsupported',
      ({ context }) => context.http.last.json(initializeResult({ protocolVersion: '2023-01-01' })),
    ],
    [
      'initialize-refused',
      ({ context }) =>
        context.http.last.json(`{"jsonrpc":"2.0","id":"${REQUEST_ID}","error":{"code":-32603,"message":"no"}}`),
    ],
    ['answer-timeout', ({ context }) => context.advance(context.options.initializeTimeoutMs + 100)],
    // `initialized` is part of the handshake: a backend that refuses it has no session with the gateway.
    ['http-status', ({ context }) => (context.http.last.json(initializeResult()), context.http.last.empty(500))],
    [
      'connection-lost',
      ({ context }) => (context.http.last.json(initializeResult()), context.http.last.fault('connection-lost')),
    ],
  ];
  for (const [kind, fail] of failures) {
    const scene = sceneIn(t, 'opening');
    scene.wait();
    fail(scene);
    t.same(scene.told, [kind, kind], kind);
    t.equal(scene.session.state, 'unavailable');
    t.equal(scene.session.record, undefined);
    t.same(scene.context.reports, [kind]);
  }
});

t.test('a backend that does not speak any version of ours is said to speak its own', async (t) => {
  const refusalOf = (supported: string): string =>
    JSON.stringify({
      jsonrpc: '2.0',
      id: REQUEST_ID,
      error: { code: -32602, message: 'x', data: { supported: [supported] } },
    });
  for (const [supported, kind] of [
    ['1999-01-01', 'version-unsupported'],
    ['2999-01-01', 'version-later'],
  ] as const) {
    const scene = sceneIn(t, 'opening');
    scene.context.http.last.json(refusalOf(supported), '', 400);
    if (scene.session.state === 'opening') scene.context.http.last.empty(404);
    t.same(scene.session.fault, { kind, isUnsent: false, detail: `(${supported})` });
  }
});

t.test('a failed handshake ends the session that the backend made for it (C12)', async (t) => {
  const refused = sceneIn(t, 'opening');
  refused.context.http.last.json(initializeResult({ protocolVersion: '2023-01-01' }), 'S-9');
  t.same(refused.sent, ['initialize', 'DELETE']);
  t.equal(refused.context.http.last.header('mcp-session-id'), 'S-9');

  const unconfirmed = sceneIn(t, 'opening');
  unconfirmed.context.http.last.json(initializeResult(), 'S-9');
  unconfirmed.context.http.last.empty(500);
  t.same(unconfirmed.sent, ['initialize', 'notifications/initialized', 'DELETE']);
  t.equal(unconfirmed.context.http.last.header('mcp-protocol-version'), '2025-06-18');
});

t.test('the whole handshake has one deadline', async (t) => {
  const scene = sceneIn(t, 'opening');
  const { initializeTimeoutMs } = scene.context.options;
  scene.context.advance(initializeTimeoutMs - 1_000);
  scene.context.http.last.json(initializeResult());
  const notice = scene.context.http.last;
  scene.context.advance(900);
  t.same(scene.told, []);
  scene.context.advance(200);
  t.same(scene.told, ['answer-timeout']);
  t.ok(notice.isAborted);
});

t.test(
  'unavailable: within the delay the last fault is told at once; after it, the next request tries again',
  async (t) => {
    const scene = sceneIn(t, 'unavailable');
    scene.wait();
    scene.context.advance(UPSTREAM_RETRY_DELAY_MS_MIN - 1);
    scene.wait();
    t.same(scene.told, ['http-status', 'http-status']);
    t.same(scene.sent, ['initialize']);
    scene.context.advance(1);
    t.equal(scene.session.state, 'unavailable', 'nobody needs it, so nothing is tried');
    scene.wait();
    t.equal(scene.session.state, 'opening');
    t.equal(scene.told.length, 2, 'who asked waits for the outcome');
    scene.handshake();
    t.equal(scene.told.at(-1), 'open');
  },
);

t.test('the delay doubles with each failure up to its bound, and starts over after a success', async (t) => {
  const scene = sceneIn(t, 'idle');
  const failOnce = (): void => {
    const sentCount = scene.sent.length;
    scene.wait();
    t.equal(scene.sent.length, sentCount + 1, 'it is tried');
    scene.context.http.last.empty(401);
  };
  /** Lets time pass until the next try, and checks that the delay is exact. */
  const passDelay = (delayMs: number): void => {
    const sentCount = scene.sent.length;
    scene.context.advance(delayMs - 1);
    scene.wait();
    t.equal(scene.sent.length, sentCount, `not before ${delayMs} ms`);
    scene.context.advance(1);
  };
  for (let delayMs: number = UPSTREAM_RETRY_DELAY_MS_MIN; delayMs < UPSTREAM_RETRY_DELAY_MS_MAX; delayMs *= 2) {
    failOnce();
    passDelay(delayMs);
  }
  for (let more = 0; more < 3; more += 1) {
    failOnce();
    passDelay(UPSTREAM_RETRY_DELAY_MS_MAX);
  }
  scene.wait();
  scene.handshake();
  scene.session.markLost(scene.session.record);
  failOnce();
  passDelay(UPSTREAM_RETRY_DELAY_MS_MIN);
  failOnce();
});

t.test('open, lost by backend: idle; the next need opens a new session without the lost id', async (t) => {
  const scene = sceneIn(t, 'open');
  const lost = scene.session.record;
  scene.session.markLost(lost);
  t.equal(scene.session.state, 'idle');
  t.equal(scene.session.record, undefined);
  t.equal(scene.sent.length, 2, 'what the backend has lost needs no DELETE');
  scene.wait();
  t.equal(scene.context.http.last.header('mcp-session-id'), undefined);
  scene.handshake('S-2');
  t.same(scene.told, ['open']);
  t.equal(scene.session.record?.sessionId, 'S-2');

  scene.session.markLost(lost);
  t.equal(scene.session.state, 'open', 'a late word of the old loss does not lose the successor');
  t.equal(scene.session.record?.sessionId, 'S-2');
});

t.test(
  'after a refusal without a reason, a ping shows whether a session that no client can replace is lost',
  async (t) => {
    const refusal = upstreamFault('http-status');
    const rows: readonly [version: string, sessionId: string, status: number, isAsked: boolean, isLost: boolean][] = [
      ['2026-07-28', 'S-1', 400, true, true],
      ['2026-07-28', 'S-1', 500, true, true],
      ['2026-07-28', 'S-1', 429, true, false],
      ['2026-07-28', 'S-1', 502, true, false],
      ['2026-07-28', '', 400, false, false],
      ['2025-11-25', 'S-1', 400, false, false],
    ];
    for (const [version, sessionId, status, isAsked, isLost] of rows) {
      const context = new ScriptedContext(t);
      const session = new UpstreamSession(context, SUBJECT, BACKEND, INTRODUCTION, ROOMY, version);
      session.whenOpen(NO_METADATA, () => undefined);
      if (version === '2026-07-28') context.http.last.empty(404);
      context.http.last.json(initializeResult(), sessionId);
      context.http.last.empty();
      t.equal(session.state, 'open');
      askAfterRefusal(session, refusal, NO_METADATA);
      const what = `${version} ${sessionId} ${status}`;
      t.equal(context.http.summary.at(-1) === 'ping', isAsked, what);
      if (isAsked) context.http.last.empty(status);
      t.equal(session.state === 'idle', isLost, what);
    }
  },
);

t.test('lost by backend: no effect in a state without a session to lose', async (t) => {
  for (const state of ['idle', 'opening', 'unavailable', 'closed'] as const) {
    const scene = sceneIn(t, state);
    scene.session.markLost(scene.session.record);
    t.equal(scene.session.state, state);
  }
});

t.test('close in every state: closed for good; current and later waiters are told', async (t) => {
  for (const state of ['idle', 'opening', 'open', 'unavailable', 'closed'] as const) {
    const scene = sceneIn(t, state);
    const sentCount = scene.sent.length;
    scene.session.close({ headers: ['x-trace', '3'], requestId: '', callerToken: '' });
    scene.session.close({ headers: ['x-trace', '3'], requestId: '', callerToken: '' });
    t.equal(scene.session.state, 'closed', state);
    t.equal(scene.session.record, undefined);
    t.same(scene.told, state === 'opening' ? ['session-ended'] : [], state);
    scene.wait();
    t.equal(scene.told.at(-1), 'session-ended');
    t.same(scene.sent.slice(sentCount), state === 'open' ? ['DELETE'] : [], state);
  }
});

t.test('closing an open session tells the backend, in its own version and with its own id (C10, C12)', async (t) => {
  const scene = sceneIn(t, 'open');
  scene.session.close({ headers: ['x-trace', '3'], requestId: '', callerToken: '' });
  const { last } = scene.context.http;
  t.equal(last.request.method, 'DELETE');
  t.equal(last.request.body, undefined);
  t.equal(last.header('mcp-session-id'), 'S-1');
  t.equal(last.header('mcp-protocol-version'), '2025-06-18');
  t.equal(last.header('x-trace'), '3');
  const withoutId = sceneIn(t, 'opening');
  withoutId.handshake('');
  withoutId.session.close(NO_METADATA);
  t.same(withoutId.sent, ['initialize', 'notifications/initialized'], 'no id, no DELETE');
});

t.test('closing while opening frees what the handshake holds, and its late outcome changes nothing', async (t) => {
  const early = sceneIn(t, 'opening');
  early.session.close(NO_METADATA);
  t.ok(early.context.http.last.isAborted);
  early.context.advance(early.context.options.initializeTimeoutMs * 2);
  t.same(early.sent, ['initialize'], 'there is no session to end');

  const late = sceneIn(t, 'opening');
  late.context.http.last.json(initializeResult(), 'S-1');
  const notice = late.context.http.last;
  late.session.close(NO_METADATA);
  t.ok(notice.isAborted);
  t.same(late.sent, ['initialize', 'notifications/initialized', 'DELETE'], 'the backend has made one: it is ended');
  t.equal(late.context.http.last.header('mcp-session-id'), 'S-1');
  late.context.http.last.empty(200);
  late.context.advance(late.context.options.initializeTimeoutMs * 2);
  t.equal(late.sent.length, 3, 'once');
  for (const scene of [early, late]) {
    t.equal(scene.session.state, 'closed');
    t.same(scene.context.reports, [], 'it is not an unavailable backend');
    await scene.context.oneWayRequests.whenSettled(0);
  }
});

t.test('unreachable: the fault is told at once, and a try follows once the origin answers anybody', async (t) => {
  const scene = sceneIn(t, 'opening');
  scene.context.http.last.fault('connection-refused');
  const other = new UpstreamSession(scene.context, 'bob', BACKEND, INTRODUCTION, ROOMY);
  other.whenOpen(NO_METADATA, (fault) => scene.told.push(fault?.kind ?? 'open'));
  t.same(scene.told, ['connection-refused', 'connection-refused'], 'to another session, too');
  t.equal(other.state, 'idle');
  t.same(scene.context.reports, ['connection-refused', 'connection-refused'], 'which the log hears');
  t.same(scene.context.openFaults, ['connection-refused'], 'and that was no other failure');
  t.same(scene.sent, ['initialize']);
  scene.context.endpoints.of(BACKEND.target).onAnswer(scene.context.nowMs());
  scene.wait();
  t.same(scene.sent, ['initialize', 'initialize'], 'without a delay of its own');
  t.notOk(scene.session.isTrial);
});

t.test('a session opened at a silent endpoint is a trial until it is open', async (t) => {
  const scene = sceneIn(t, 'opening');
  scene.context.advance(scene.context.options.initializeTimeoutMs + 100);
  t.equal(scene.session.state, 'unavailable');
  scene.wait();
  t.same(scene.told, ['answer-timeout', 'answer-timeout'], 'told at once');
  scene.context.advance(PROBE_DELAY_MS_MIN);
  scene.wait();
  t.ok(scene.session.isTrial);
  const other = new UpstreamSession(scene.context, SUBJECT, BACKEND, INTRODUCTION, ROOMY);
  const faults: unknown[] = [];
  other.whenOpen(NO_METADATA, (fault) => faults.push(fault));
  t.match(faults, [{ kind: 'answer-timeout', isUnsent: true }], 'one trial of a subject at a time');
  scene.handshake();
  t.notOk(scene.session.isTrial);
});

t.test('a backend that can never be reached as configured is not tried', async (t) => {
  const obstacles = {
    'plain-text-refused': { url: 'http://b.example/' },
    'transport-unsupported': { transport: 'STDIO' },
  } as const;
  for (const [kind, config] of Object.entries(obstacles)) {
    const scene = new Scene(t, backendOf(virtualHostOf({ b: config }), 'b'));
    scene.wait();
    scene.wait();
    t.same(scene.told, [kind, kind]);
    t.same(scene.sent, []);
    t.equal(scene.session.state, 'idle');
    t.same([scene.context.reports, scene.context.openFaults], [[kind], [kind]], 'logged and counted once per session');
  }
});

t.test("requests carry the session, its version and the caller's headers", async (t) => {
  const scene = sceneIn(t, 'open');
  const body = Buffer.from('{"jsonrpc":"2.0","id":"x","method":"tools/list"}');
  const faults: UpstreamFaultKind[] = [];
  const handler = {
    onAnswer: () => undefined,
    onMessage: () => undefined,
    onFault: (fault: UpstreamFault) => faults.push(fault.kind),
  };
  const id = { bytes: Buffer.from('"x"'), start: 0, end: 3 };
  scene.session.request(
    { body },
    id,
    { headers: ['x-trace', '4'], requestId: '', callerToken: '' },
    1_000,
    true,
    handler,
  );
  const { last } = scene.context.http;
  t.equal(last.text, body.toString());
  t.equal(last.header('accept'), 'application/json, text/event-stream');
  t.equal(last.header('content-type'), 'application/json');
  t.equal(last.header('mcp-session-id'), 'S-1');
  t.equal(last.header('mcp-protocol-version'), '2025-06-18');
  t.equal(last.header('x-trace'), '4');
  last.empty(404);
  t.same(faults, ['session-lost']);

  const withoutId = sceneIn(t, 'opening');
  withoutId.handshake('');
  withoutId.session.request({ body }, id, NO_METADATA, 1_000, true, handler);
  t.equal(withoutId.context.http.last.header('mcp-session-id'), undefined);
  withoutId.context.http.last.empty(404);
  t.same(faults, ['session-lost', 'http-status'], 'without a session id none can be lost');
});

t.test('the cookies that a session is set accompany its own requests, and those of no other', async (t) => {
  const scene = sceneIn(t, 'opening');
  const { http } = scene.context;
  const [initialize] = http.calls;
  t.equal(initialize?.header('cookie'), undefined);
  initialize?.head(200, 'application/json', 'S-1', -1, 'node=1; Path=/\nother=x').data(initializeResult()).end();
  t.equal(http.last.header('cookie'), 'node=1; other=x', 'from the first request after `initialize` on');
  http.last.head(202, '', '', 0, 'node=2').end();
  t.equal(scene.session.record?.cookies, 'node=2; other=x', 'for another process');
  const send = (): string | undefined => {
    scene.session.send({ body: Buffer.from('{"method":"notifications/x"}') }, NO_METADATA);
    return http.last.header('cookie');
  };
  t.equal(send(), 'node=2; other=x');
  http.last.head(202, '', '', 0, 'other=; Max-Age=0').end();
  t.equal(send(), 'node=2', 'a notification’s answer counts, too');
  t.equal(http.last.header('mcp-session-id'), 'S-1', 'an answer that names no session changes none');
  const late = http.last;
  scene.session.listen('', NO_METADATA, { onHead() {}, onData() {}, onEnd() {}, onFault() {} });
  t.equal(http.last.header('cookie'), 'node=2', 'and its stream goes to the same node');
  const other = new UpstreamSession(scene.context, 'bob', BACKEND, INTRODUCTION, ROOMY);
  other.whenOpen(NO_METADATA, () => undefined);
  t.equal(http.last.header('cookie'), undefined, 'another subject');

  scene.session.markLost(scene.session.record);
  scene.wait();
  t.equal(http.last.header('cookie'), undefined, 'a session that takes the place of a lost one');
  scene.handshake('S-2');
  late.head(202, '', '', 0, 'node=9').end();
  t.equal(send(), undefined, 'the late answer to a request of the lost one');
});

t.test('a session goes on under the id that an answer to it names, and one without an id gets none', async (t) => {
  for (const opened of ['S-1', '']) {
    const scene = sceneIn(t, 'opening');
    scene.handshake(opened);
    const send = (): void => scene.session.send({ body: Buffer.from('{"method":"notifications/x"}') }, NO_METADATA);
    const { http } = scene.context;
    send();
    const headersOf = (): readonly string[] => http.last.request.headers;
    const before = headersOf();
    http.last.head(202, '', opened, 0).end();
    send();
    t.equal(headersOf(), before, 'the same id changes nothing');
    http.last.head(202, '', 'S-2', 0).end();
    send();
    t.equal(http.last.header('mcp-session-id'), opened === '' ? undefined : 'S-2');
    t.equal(scene.session.record?.sessionId, opened === '' ? '' : 'S-2');
  }
});

t.test('the session that a failed handshake leaves is ended at the node that made it', async (t) => {
  const scene = sceneIn(t, 'opening');
  const { http } = scene.context;
  http.last.head(200, 'application/json', 'S-9', -1, 'node=1').data(initializeResult()).end();
  http.last.head(500, '', '', -1, 'node=9').end();
  t.equal(scene.sent.at(-1), 'DELETE');
  t.equal(http.last.header('cookie'), 'node=1');
});

t.test('where a backend has redirected one session to, no other session is sent', async (t) => {
  const scene = sceneIn(t, 'opening');
  const { http } = scene.context;
  const { path } = http.last.request.target;
  http.last.head(307, '', '', -1, '/elsewhere');
  t.equal(http.last.request.target.path, '/elsewhere');
  const other = new UpstreamSession(scene.context, 'bob', BACKEND, INTRODUCTION, ROOMY);
  other.whenOpen(NO_METADATA, () => undefined);
  t.equal(http.last.request.target.path, path, 'nor are its credentials');
});

t.test('a redirect of its own stream leads all that follows, but nowhere else than to the same origin', async (t) => {
  const scene = sceneIn(t, 'open');
  const { http } = scene.context;
  const handler = { onHead() {}, onData() {}, onEnd() {}, onFault() {} };
  const pathOf = (): string => {
    scene.session.listen('', NO_METADATA, handler);
    return http.last.request.target.path;
  };
  const path = pathOf();
  t.notOk(scene.session.tryFollowRedirect(307, 'https://other.example/mcp/'));
  t.notOk(scene.session.tryFollowRedirect(302, `${path}/`), 'which may mean another method');
  t.equal(pathOf(), path);
  t.ok(scene.session.tryFollowRedirect(307, `${path}/`));
  t.equal(pathOf(), `${path}/`);
});

t.test('where a backend once redirected to, but refuses now, it is not asked again', async (t) => {
  for (const status of [403, 404, 503]) {
    const scene = sceneIn(t, 'open');
    const { http } = scene.context;
    const { path } = scene.session.backend.target;
    const pathOf = (): string => {
      const handler = { onAnswer: () => undefined, onMessage: () => undefined, onFault: () => undefined };
      const [body, id] = [Buffer.from('{"id":1}'), { bytes: Buffer.from('1'), start: 0, end: 1 }];
      scene.session.request({ body }, id, NO_METADATA, 1_000, true, handler);
      return http.last.request.target.path;
    };
    t.equal(pathOf(), path);
    http.last.head(307, '', '', -1, `${path}/`);
    t.equal(http.last.request.target.path, `${path}/`);
    http.last.head(200, 'application/json').data('{"jsonrpc":"2.0","id":1,"result":{}}').end();
    t.equal(pathOf(), `${path}/`);
    http.last.empty(status);
    if (scene.session.state === 'open') t.equal(pathOf(), path, String(status));
  }
});

t.test('the session id of a redirect is nobody’s', async (t) => {
  const scene = sceneIn(t, 'opening');
  const { http } = scene.context;
  http.last.head(307, '', 'OLD', -1, '/mcp/');
  http.last.head(200, 'application/json').data(initializeResult()).end();
  t.equal(scene.sent.at(-1), 'notifications/initialized');
  t.equal(http.last.header('mcp-session-id'), undefined);
});

t.test('a notice that is refused with 400 shows the other era, also when the refusal never ends', async (t) => {
  const scene = sceneIn(t, 'opening');
  const { http } = scene.context;
  http.last.head(200, 'application/json').data(initializeResult()).end();
  http.last.head(400, '').fault('connection-lost');
  t.equal(scene.sent.at(-1), 'server/discover');
});

/** Counts what is kept, and has room for everything. */
class CountingMemory {
  kept = 0;

  tryKeepText({ length }: string): number {
    this.kept += length;
    return length;
  }

  drop(bytes: number): void {
    this.kept -= bytes;
  }
}

t.test('cookies take memory while they are kept, and no longer', async (t) => {
  const memory = new CountingMemory();
  const scene = new Scene(t, BACKEND, memory);
  scene.wait();
  scene.handshake();
  const before = memory.kept;
  for (const cookie of ['node=1', 'node=22', 'other=3']) {
    scene.session.send({ body: Buffer.from('{"method":"notifications/x"}') }, NO_METADATA);
    scene.context.http.last.head(202, '', '', 0, cookie).end();
    t.equal(memory.kept - before, scene.session.record?.cookies?.length, cookie);
  }
  scene.session.markLost(scene.session.record);
  t.equal(memory.kept, 0);
});

t.test('a session id takes memory while the session is open', async (t) => {
  const memory = new CountingMemory();
  const scene = new Scene(t, BACKEND, memory);
  scene.wait();
  scene.handshake('');
  const without = memory.kept;
  scene.session.markLost(scene.session.record);
  scene.wait();
  scene.handshake('S'.repeat(1_000));
  t.equal(memory.kept - without, 1_000);
  scene.session.close(NO_METADATA);
  t.equal(memory.kept, 0);
});

t.test('no cookies are kept once the caller’s own are passed on', async (t) => {
  const scene = sceneIn(t, 'opening');
  scene.context.http.last.head(200, 'application/json', 'S-1', -1, 'node=1').data(initializeResult()).end();
  scene.context.http.last.empty();
  const url = `${BACKEND.target.origin}${BACKEND.target.path}`;
  const passing = backendOf(virtualHostOf({ b: { url, passthrough_headers: ['cookie'] } }), 'b');
  scene.session.reconfigure(passing);
  scene.session.send(
    { body: Buffer.from('{"method":"notifications/x"}') },
    { ...NO_METADATA, headers: ['cookie', 'me'] },
  );
  t.equal(scene.context.http.last.header('cookie'), 'me');
  scene.context.http.last.head(202, '', '', 0, 'node=2').end();
  t.equal(scene.session.record?.cookies, undefined);

  const own = new Scene(t, passing);
  own.wait(['cookie', 'me']);
  own.context.http.last.head(200, 'application/json', 'S-1', -1, 'node=1').data(initializeResult()).end();
  t.equal(own.context.http.last.header('cookie'), 'me');
});

t.test('notifications are sent in the open session only', async (t) => {
  const scene = sceneIn(t, 'open');
  const id = { bytes: Buffer.from('[1.0]'), start: 1, end: 4 };
  scene.session.cancel(id, 'timed out', { headers: ['x-trace', '5'], requestId: '', callerToken: '' });
  t.equal(
    scene.context.http.last.text,
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1.0,"reason":"timed out"}}',
  );
  t.equal(scene.context.http.last.header('x-trace'), '5');
  t.equal(scene.context.http.last.header('mcp-session-id'), 'S-1');
  scene.context.advance(limits.oneWayRequestMsMax + 100);
  t.ok(scene.context.http.last.isAborted, 'a backend that does not take it is not waited for');
  await scene.context.oneWayRequests.whenSettled(0);
  for (const state of ['idle', 'opening', 'unavailable', 'closed'] as const) {
    const other = sceneIn(t, state);
    const sentCount = other.sent.length;
    other.session.cancel(id, 'timed out', NO_METADATA);
    t.equal(other.sent.length, sentCount, state);
  }
});

t.test("a backend's own requests: ping is answered (C18), nothing else was offered (C19)", async (t) => {
  const scene = sceneIn(t, 'open');
  const ask = (text: string): string => {
    const bytes = Buffer.from(text);
    scene.session.answerWithoutClient(bytes, readBackendMessage(bytes)!, NO_METADATA);
    return scene.context.http.last.text;
  };
  t.equal(ask('{"jsonrpc":"2.0","id":0,"method":"ping"}'), '{"jsonrpc":"2.0","id":0,"result":{}}');
  t.equal(
    ask('{"jsonrpc":"2.0","id":"é","method":"sampling/createMessage","params":{}}'),
    '{"jsonrpc":"2.0","id":"é","error":{"code":-32601,"message":"Method not offered"}}',
  );
  const sentCount = scene.sent.length;
  ask('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}');
  t.equal(scene.sent.length, sentCount, 'a notification has no answer');
});

t.test('a newer config of the same backend is used from then on', async (t) => {
  const scene = sceneIn(t, 'open');
  const newer = { ...BACKEND, passthroughHeaders: new Set(['x-new']) };
  scene.session.reconfigure(newer);
  t.equal(scene.session.backend, newer);
  t.equal(scene.session.state, 'open');
});

t.test('every request says on whose behalf it is sent', async (t) => {
  const scene = new Scene(t);
  ways.open(scene);
  scene.session.send({ body: Buffer.from('{"jsonrpc":"2.0","method":"notifications/x"}') }, NO_METADATA);
  scene.session.close(NO_METADATA);
  t.same(scene.sent, ['initialize', 'notifications/initialized', 'notifications/x', 'DELETE']);
  for (const { request } of scene.context.http.calls) t.equal(request.subject, SUBJECT);
});

t.test('a backend’s notice that a list has changed is passed on, and no other', async (t) => {
  const scene = sceneIn(t, 'open');
  scene.session.noteListChange('notifications/tools/list_changed');
  const heard: string[] = [];
  scene.context.onListsChanged = (_backend, method) => heard.push(method);
  for (const method of ['notifications/message', 'notifications/tools/list_changed'])
    scene.session.noteListChange(method);
  t.same(heard, ['notifications/tools/list_changed']);
});

t.test('of what calls of tools depend on, as much is kept as has room', async (t) => {
  const { session } = sceneIn(t, 'open');
  const half = 'x'.repeat(MIRRORS_CHARS_MAX / 2);
  session.learnMirrors([[half, []]], ['a', half, 'b']);
  t.same(session.mirrors?.paramsOf(half), []);
  t.same(
    ['a', half, 'b'].map((name) => session.mirrors?.hasApp(name)),
    [true, false, true],
  );
  session.learnMirrors(
    [
      [half, []],
      ['last', []],
      [`${half}y`, []],
    ],
    [],
  );
  t.same([session.mirrors?.paramsOf('last'), session.mirrors?.paramsOf(`${half}y`)], [[], undefined]);
});

t.test('instructions count in the session’s memory, and are left out where there is no room for them', async (t) => {
  const kept = new Set<number>();
  let hasRoom = true;
  const memory: TextBudget = {
    tryKeepText: ({ length }) => {
      if (hasRoom) kept.add(length);
      return hasRoom ? length : undefined;
    },
    drop: (bytes) => void kept.delete(bytes),
  };
  const scene = new Scene(t, BACKEND, memory);
  scene.wait();
  scene.handshake('S-1', { instructions: 'use with care' });
  t.equal(scene.session.record?.instructions, 'use with care');
  t.same([...kept], ['S-1'.length, 'use with care'.length]);
  scene.session.markLost(scene.session.record);
  t.equal(kept.size, 0, 'what is forgotten weighs nothing');
  hasRoom = false;
  scene.wait();
  scene.handshake('S-2', { instructions: 'use with more care' });
  t.equal(scene.session.state, 'open');
  t.equal(scene.session.record?.instructions, undefined);
});

t.test('experimental capabilities count until they are declared again, or the session is closed', async (t) => {
  let keptBytes = 0;
  let bytesMax = Infinity;
  const memory: TextBudget = {
    tryKeepText: ({ length }) => {
      if (keptBytes + length > bytesMax) return undefined;
      keptBytes += length;
      return length;
    },
    drop: (bytes) => void (keptBytes -= bytes),
  };
  const scene = new Scene(t, BACKEND, memory);
  const open = (experimental: object, instructions?: string): void => {
    scene.wait();
    scene.handshake('S-1', { capabilities: { experimental }, instructions });
  };
  const names = (): string[] => scene.session.namedCapabilities.map(({ name }) => name);
  t.same(names(), []);
  open({ 'a/b': { c: 1 } }, 'use with care');
  t.same(scene.session.namedCapabilities, [{ name: 'a/b', value: '{"c":1}' }]);
  t.equal(keptBytes, 'S-1'.length + 'a/b{"c":1}'.length + 'use with care'.length);
  scene.session.markLost(scene.session.record);
  t.same(names(), ['a/b'], 'whose it is stays known');
  t.equal(keptBytes, 'a/b{"c":1}'.length);
  open({ 'd/e': {} });
  t.same(names(), ['d/e']);
  t.equal(keptBytes, 'S-1'.length + 'd/e{}'.length);
  scene.session.markLost(scene.session.record);
  bytesMax = 0;
  open({ 'f/g': {} });
  t.same([scene.session.state, names(), scene.session.record?.named, keptBytes], ['open', [], undefined, 0]);
  scene.session.markLost(scene.session.record);
  bytesMax = Infinity;
  open({ 'h/i': {} });
  const listed = virtualHostOf({ b: { url: 'https://b.example:8443/mcp?tenant=7', allowed_tool_names: ['x'] } });
  scene.session.reconfigure(backendOf(listed, 'b'));
  t.same(names(), [], 'nothing that is in no list');
  for (const [tools, isShown] of [
    [{ x: { name: 'y', title: 'Y' } }, true],
    [{ x: { hidden: true } }, false],
    [{ x: { hidden_arguments: ['a'] } }, false],
    [{ x: { fixed_arguments: { a: 1 } } }, false],
  ] as const) {
    const text = JSON.stringify({ b: { url: 'https://b.example:8443/mcp?tenant=7', tools } });
    const curated = virtualHostOf(JSON.parse(text) as Parameters<typeof virtualHostOf>[0]);
    scene.session.reconfigure(backendOf(curated, 'b'));
    t.same(names(), isShown ? ['h/i'] : [], text);
  }
  scene.session.close(NO_METADATA);
  t.equal(keptBytes, 0);
});

t.test(
  'requests with the same headers share their array, by which the HTTP client recognizes their head',
  async (t) => {
    const scene = sceneIn(t, 'open');
    const other = new UpstreamSession(scene.context, 'bob', BACKEND, INTRODUCTION, ROOMY);
    other.whenOpen(NO_METADATA, () => undefined);
    const { http } = scene.context;
    t.equal(http.call(2).request.headers, http.call(0).request.headers, '`initialize` of any session');
    scene.session.send({ body: Buffer.from('{}') }, NO_METADATA);
    t.equal(http.call(3).request.headers, http.call(1).request.headers, 'what is sent in one session');
    t.not(http.call(1).request.headers, http.call(0).request.headers);
  },
);

t.test('headers of one caller accompany its own requests only', async (t) => {
  const scene = new Scene(t);
  scene.wait(['x-tenant', 'alice']);
  scene.handshake();
  const other = new UpstreamSession(scene.context, 'bob', BACKEND, INTRODUCTION, ROOMY);
  other.whenOpen(NO_METADATA, () => undefined);
  const { http } = scene.context;
  t.same(http.call(0).request.headers.slice(-2), ['x-tenant', 'alice']);
  t.same(http.call(1).request.headers.slice(-2), ['x-tenant', 'alice']);
  t.notOk(http.call(2).request.headers.includes('x-tenant'), 'another session');
  scene.session.send({ body: Buffer.from('{}') }, NO_METADATA);
  t.notOk(http.call(3).request.headers.includes('x-tenant'), 'a request without them');
});
