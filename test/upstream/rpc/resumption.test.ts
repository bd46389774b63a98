// A response whose event stream ends before it is complete: from where, when and how often the rest is requested, and what ends that. How
// it passes through the gateway is in test/spec/resumption.rows.ts.
import t, { type Test } from 'tap';
import type { BackendMessage } from '../../../src/mcp/json-rpc.js';
import { upstreamFault, type UpstreamFault } from '../../../src/http-client/upstream-fault.js';
import { RpcRequest } from '../../../src/upstream/rpc/rpc-request.js';
import type { RequestPlan } from '../../../src/upstream/rpc/request-plan.js';
import { LIST_PART_BYTES } from '../../../src/upstream/rpc/unparsed-answer.js';
import { limits } from '../../../src/shared/limits.js';
import { MessageMemory, noWaiter } from '../../../src/fair/message-memory.js';
import { createAccounts } from '../../support/shares.js';
import { ScriptedContext } from '../scripted-context.js';
import type { ScriptedCall } from '../scripted-upstream.js';

const STREAM = 'text/event-stream';
const DEADLINE_MS = 10_000;
const RESULT = '{"jsonrpc":"2.0","id":7,"result":{"n":1.0}}';
const NOTICE = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}';
const RETRY_MS = 500;

class Scene {
  readonly context: ScriptedContext;
  readonly request: RpcRequest;
  readonly heard: string[] = [];
  readonly faults: UpstreamFault[] = [];
  /** Called after each message. */
  onNext: (() => void) | undefined;

  constructor(t: Test, plan: Partial<RequestPlan> = {}, hasStreams = true) {
    this.context = new ScriptedContext(t);
    const target = { origin: 'https://b.example', path: '/mcp' };
    const onMessage = (bytes: Buffer): void => {
      this.heard.push(bytes.toString());
      this.onNext?.();
    };
    this.request = new RpcRequest(
      this.context.http,
      this.context.deadlines,
      {
        ...this.context.to(target),
        headers: ['content-type', 'application/json', 'accept', 'both', 'mcp-session-id', 'S', 'x-own', '1'],
        body: Buffer.from('{"id":7}'),
        leftOut: undefined,
        putIn: undefined,
        id: { bytes: Buffer.from('7'), start: 0, end: 1 },
        timeoutMs: DEADLINE_MS,
        isSilenceTimeout: true,
        carriesSession: true,
        ...(hasStreams && { resumingHttp: this.context.http }),
        ...plan,
      },
      {
        onAnswer: (bytes: Buffer, _message: BackendMessage) => onMessage(bytes),
        onMessage,
        onFault: (fault) => this.faults.push(fault),
      },
    );
  }

  get last(): ScriptedCall {
    return this.context.http.last;
  }

  get askedCount(): number {
    return this.context.http.calls.length - 1;
  }

  /** Begins the first stream with the text that the test needs. */
  begin(text = `id: a\nretry: ${RETRY_MS}\ndata:\n\n`): ScriptedCall {
    return this.last.head(200, STREAM).data(text);
  }
}

t.test('a stream resumes after the last whole event, after the retry, in the same session', async (t) => {
  for (const ending of ['end', 'connection-lost'] as const) {
    const scene = new Scene(t);
    const call = scene.begin(`id: a\nretry: ${RETRY_MS}\ndata:\n\nid: b\ndata: ${NOTICE}\n\nid: c\ndata: ${NOTICE}\n`);
    if (ending === 'end') call.end();
    else call.fault(ending);
    scene.context.advance(RETRY_MS - 20);
    t.equal(scene.askedCount, 0, 'not before');
    scene.context.advance(40);
    t.equal(scene.askedCount, 1, ending);
    t.equal(scene.last.request.method, 'GET');
    t.same(scene.last.request.headers, [
      ...['accept', 'text/event-stream', 'last-event-id', 'b'],
      ...['mcp-session-id', 'S', 'x-own', '1'],
    ]);
    scene.last.head(200, STREAM).data(`id: c\ndata: ${NOTICE}\n\nid: d\ndata: ${RESULT}\n\n`);
    t.same(scene.heard, [NOTICE, NOTICE, RESULT]);
    scene.last.end();
    scene.context.advance(2 * DEADLINE_MS);
    t.same(scene.faults, []);
    t.equal(scene.askedCount, 1);
  }
});

t.test('without an id, or without connections for it, the end of a stream is the fault that it is', async (t) => {
  const rows: [string, string, boolean][] = [
    ['no id', `data: ${NOTICE}\n\n`, true],
    ['an id that no header takes', `id: \u{1f682}\ndata: ${NOTICE}\n\n`, true],
    ['an event without its end', `id: a\ndata: ${NOTICE}\n`, true],
    ['a handshake', `id: a\ndata: ${NOTICE}\n\n`, false],
  ];
  for (const [why, text, hasStreams] of rows) {
    const scene = new Scene(t, {}, hasStreams);
    scene.begin(text).end();
    scene.context.advance(60_000);
    t.equal(scene.askedCount, 0, why);
    t.same(scene.faults, [upstreamFault('answer-incomplete')], why);
  }
  const broken = new Scene(t);
  broken.begin().fault('answer-invalid');
  t.same(broken.faults, [upstreamFault('answer-invalid')], 'bytes that are no HTTP');
});

t.test('a success without a stream is no answer', async (t) => {
  for (const status of [200, 202]) {
    const scene = new Scene(t);
    scene.begin().end();
    scene.context.advance(RETRY_MS + 20);
    scene.last.head(status, 'application/json');
    t.same(scene.faults, [upstreamFault('answer-invalid')]);
    t.ok(scene.last.isAborted);
  }
});

t.test('without a `retry`, a stream that progresses is resumed soon, and one that does not ever later', async (t) => {
  const further = new Scene(t);
  further.begin('id: a\ndata:\n\n').end();
  for (let time = 1; time <= 10; time += 1) {
    further.context.advance(2 * limits.retryDelayMsMin);
    t.equal(further.askedCount, time);
    further.last.head(200, STREAM).data(`id: ${time}\ndata: ${NOTICE}\n\n`).end();
  }
  const stuck = new Scene(t, { timeoutMs: 400_000 });
  stuck.begin('id: a\ndata:\n\n').end();
  for (let time = 1; time <= 10; time += 1) {
    stuck.context.advance(2 * limits.retryDelayMsMin);
    if (stuck.last.request.method === 'GET') stuck.last.head(200, STREAM).end();
  }
  t.ok(stuck.askedCount < 8, `${stuck.askedCount} times`);
});

t.test('after another event the bytes of streams are counted from zero', async (t) => {
  const scene = new Scene(t);
  scene.begin().end();
  for (const bytes of [':'.padEnd(5_000), 'id: b\n\n']) {
    scene.context.advance(RETRY_MS + 20);
    scene.last.head(200, STREAM).data(bytes).end();
  }
  scene.context.advance(RETRY_MS + 20);
  scene.last.head(200, STREAM);
  for (let count = 0; count < 4; count += 1) {
    scene.last.data(':\n');
    scene.context.advance(DEADLINE_MS * 0.6);
  }
  t.same(scene.faults, []);
});

t.test('a refusal is a definite fault; a failure is retried', async (t) => {
  for (const status of [400, 404, 405, 300, 301]) {
    const scene = new Scene(t);
    scene.begin().end();
    scene.context.advance(RETRY_MS + 20);
    scene.last.head(status, STREAM);
    t.same(scene.faults, [{ kind: 'stream-not-resumed', isUnsent: false, detail: String(status) }]);
    t.ok(scene.last.isAborted);
    scene.context.advance(60_000);
    t.equal(scene.askedCount, 1);
  }
  const scene = new Scene(t, { timeoutMs: 400_000 });
  scene.begin().end();
  scene.context.advance(RETRY_MS + 20);
  for (const fail of [503, 'connection-refused', 429, 500] as const) {
    const asked = scene.askedCount;
    const call = scene.last;
    if (typeof fail === 'number') call.head(fail, '');
    else call.fault(fail);
    t.equal(call.isAborted, typeof fail === 'number', 'nobody reads why');
    scene.context.advance(RETRY_MS);
    t.equal(scene.askedCount, asked, `${fail}: later than the retry`);
    scene.context.advance(limits.retryDelayMsMax);
    t.equal(scene.askedCount, asked + 1, `${fail}: again`);
  }
  scene.last.head(200, STREAM).data(`data: ${RESULT}\n\n`);
  t.same(scene.heard, [RESULT]);
});

t.test(
  'a resumed stream that ends again is resumed again, until the deadline, for which only silence counts',
  async (t) => {
    const scene = new Scene(t);
    scene.begin().end();
    for (let time = 1; time <= 50; time += 1) {
      scene.context.advance(RETRY_MS + 20);
      t.equal(scene.askedCount, time);
      scene.last.head(200, STREAM).data(`id: ${time}\ndata: ${NOTICE}\n\n`).end();
    }
    t.equal(scene.heard.length, 50);
    t.equal(scene.last.header('last-event-id'), '49');
    // From here on the backend accepts each resumption, and sends nothing.
    for (let ms = 0; ms < DEADLINE_MS + RETRY_MS; ms += RETRY_MS + 20) {
      scene.context.advance(RETRY_MS + 20);
      if (scene.last.request.method === 'GET' && scene.faults.length === 0) scene.last.head(200, STREAM).end();
    }
    t.same(scene.faults, [upstreamFault('answer-timeout')]);
    const { askedCount } = scene;
    scene.context.advance(60_000);
    t.equal(scene.askedCount, askedCount, 'and then nobody asks');
  },
);

t.test('a stream that always breaks at the same place is no sign of life', async (t) => {
  const begun = 'data: {"jsonrpc":"2.0","id":7,"resu';
  for (const texts of [[begun], [': alive\n\n'], ['id: a\ndata:\n\n'], [begun, begun.slice(0, 3)]]) {
    const scene = new Scene(t);
    scene.begin().end();
    for (let time = 0; time < 3 * (DEADLINE_MS / RETRY_MS) && scene.faults.length === 0; time += 1) {
      scene.context.advance(RETRY_MS + 20);
      if (scene.faults.length === 0)
        scene.last
          .head(200, STREAM)
          .data(texts[time % texts.length]!)
          .end();
    }
    t.same(scene.faults, [upstreamFault('answer-timeout')], texts.join());
  }
});

t.test('a resumed stream counts as alive once it brings more than those before it', async (t) => {
  const rows: [string, string[]][] = [
    ['more of the event', [`data: {"jsonrpc":"2.0"`, ',', ' ', ' ', ' ']],
    ['comments', [': 1\n\n', ': 2\n\n', ': 3\n\n', ': 4\n\n', ': 5\n\n']],
    ['events', Array<string>(5).fill(`data: ${NOTICE}\n\n`)],
    ['an id, then comments', ['id: b\ndata:\n\n', ':\n', ':\n', ':\n', ':\n']],
    ['an id that is no event, then comments', ['id: b\n\n', ':\n', ':\n', ':\n', ':\n']],
  ];
  const long = new Set(['events', 'an id that is no event, then comments']);
  for (const [what, texts] of rows) {
    const scene = new Scene(t);
    scene.begin().end();
    scene.context.advance(RETRY_MS + 20);
    scene.last
      .head(200, STREAM)
      .data(long.has(what) ? ':'.padEnd(5_000) : texts[0]!)
      .end();
    scene.context.advance(RETRY_MS + 20);
    scene.last.head(200, STREAM);
    for (const text of texts) {
      scene.last.data(text);
      scene.context.advance(DEADLINE_MS * 0.6);
    }
    t.same(scene.faults, [], what);
    scene.context.advance(DEADLINE_MS * 0.6);
    t.same(scene.faults, [upstreamFault('answer-timeout')], `${what}: and then silence counts`);
  }
  const scene = new Scene(t);
  scene.begin().end();
  for (const bytes of [':'.padEnd(5_000), `data: ${NOTICE}\n\n`]) {
    scene.context.advance(RETRY_MS + 20);
    scene.last.head(200, STREAM);
    scene.context.advance(DEADLINE_MS * 0.6);
    scene.last.data(bytes);
    if (scene.heard.length === 0) scene.last.end();
  }
  scene.context.advance(DEADLINE_MS * 0.6);
  t.same(scene.faults, [], 'a whole event, however short');
});

t.test('an abort ends it in every state', async (t) => {
  const waiting = new Scene(t);
  waiting.begin().end();
  waiting.request.abort();
  waiting.context.advance(60_000);
  t.equal(waiting.askedCount, 0);
  const asking = new Scene(t);
  asking.begin().end();
  asking.context.advance(RETRY_MS + 20);
  const call = asking.last;
  asking.request.abort();
  t.ok(call.isAborted);
  t.same([asking.faults, waiting.faults], [[], []]);
});

t.test('a slow reader is waited for: first the events that arrived, then the rest', async (t) => {
  const scene = new Scene(t);
  scene.begin();
  scene.request.pause();
  scene.last.data(`id: b\ndata: ${NOTICE}\n\n`).end();
  scene.context.advance(3 * DEADLINE_MS);
  t.equal(scene.askedCount, 0, 'what is here is read first');
  t.same(scene.faults, [], 'and that is not the doing of the backend');
  scene.request.resume();
  t.same(scene.heard, [NOTICE]);
  scene.request.pause();
  scene.context.advance(RETRY_MS + 20);
  t.ok(scene.last.isPaused, 'nor is the rest read');
  scene.request.resume();
  t.notOk(scene.last.isPaused);
  scene.last.head(200, STREAM).data(`data: ${RESULT}\n\n`);
  t.same(scene.heard, [NOTICE, RESULT]);
});

t.test('a handler that wants no more gets no more, whatever ends while it waits, and however often', async (t) => {
  const scene = new Scene(t);
  const call = scene.begin();
  scene.request.pause();
  call.end();
  scene.context.advance(RETRY_MS + 20);
  t.equal(scene.askedCount, 1);
  t.ok(scene.last.isPaused, 'a pause from before the end');
  // The stream was requested before the pause, so it arrives all the same.
  scene.last.head(200, STREAM).data(`id: b\ndata: ${NOTICE}\n\n`).end();
  scene.context.advance(3 * DEADLINE_MS);
  t.same([scene.heard, scene.faults, scene.askedCount], [[], [], 1], "the wait is not the backend's");
  scene.request.resume();
  t.same(scene.heard, [NOTICE]);
  scene.context.advance(RETRY_MS + 20);
  t.notOk(scene.last.isPaused);
  scene.last.head(200, STREAM);
  scene.request.pause();
  scene.last.end();
  scene.context.advance(RETRY_MS + 20);
  t.equal(scene.askedCount, 3);
  t.ok(scene.last.isPaused, 'nor by the one after the next');
  scene.request.resume();
  t.notOk(scene.last.isPaused);
  scene.last.head(200, STREAM).data(`data: ${RESULT}\n\n`);
  t.same(scene.heard, [NOTICE, RESULT]);
});

t.test('a handler that wants no more at the last event of a stream does not get the next stream', async (t) => {
  const scene = new Scene(t);
  const call = scene.begin();
  scene.request.pause();
  call.data(`id: b\ndata: ${NOTICE}\n\n`).end();
  scene.onNext = () => scene.request.pause();
  scene.request.resume();
  scene.context.advance(RETRY_MS + 20);
  t.equal(scene.askedCount, 1);
  t.ok(scene.last.isPaused);
});

t.test('a stream that ends while its event waits for room continues, and is timed', async (t) => {
  const memory = new MessageMemory(createAccounts(), new ScriptedContext(t).deadlines, 'answerBytes');
  const scene = new Scene(t, { memory });
  scene.begin().end();
  scene.context.advance(RETRY_MS + 20);
  const other = memory.createReservation('alice', noWaiter);
  other.take(memory.shareOf('alice').roomWhenEmpty);
  scene.last.head(200, STREAM).data(`data: ${'x'.repeat(limits.countedFromBytes)}`);
  t.ok(scene.last.isPaused, 'no room');
  scene.last.fault('connection-lost');
  scene.context.advance(RETRY_MS + 20);
  t.equal(scene.askedCount, 2);
  t.notOk(scene.last.isPaused);
  scene.context.advance(DEADLINE_MS);
  t.same(scene.faults, [upstreamFault('answer-timeout')]);
});

t.test('an answer that was passed on in part cannot be sent again from its beginning', async (t) => {
  const pieces: number[] = [];
  const context = new ScriptedContext(t);
  const target = { origin: 'https://b.example', path: '/mcp' };
  const faults: string[] = [];
  new RpcRequest(
    context.http,
    context.deadlines,
    {
      ...context.to(target),
      ...{ headers: [], body: Buffer.from('{}') },
      ...{ leftOut: undefined, putIn: undefined, id: { bytes: Buffer.from('7'), start: 0, end: 1 } },
      ...{ timeoutMs: DEADLINE_MS, isSilenceTimeout: false, carriesSession: true, resumingHttp: context.http },
    },
    {
      onAnswer: () => t.fail('no answer'),
      onMessage: () => undefined,
      onFault: ({ kind }) => faults.push(kind),
      onUnparsed: (parts) => pieces.push(...parts.map(({ length }) => length)),
    },
  );
  const call = context.http.last.head(200, STREAM).data('id: a\ndata:\n\n');
  call.data(`data: {"jsonrpc":"2.0","id":7,"result":{"tools":["${'x'.repeat(LIST_PART_BYTES)}`);
  call.data('x'.repeat(LIST_PART_BYTES));
  t.ok(pieces.length > 0, 'it is large enough');
  call.fault('connection-lost');
  t.same(faults, ['connection-lost']);
});
