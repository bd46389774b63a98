// Each state of a request with each event that can occur in it; the backend is a script, and the clock stands still.
import t, { type Test } from 'tap';
import type { BackendMessage } from '../../../src/mcp/json-rpc.js';
import { upstreamFault, type UpstreamFault } from '../../../src/http-client/upstream-fault.js';
import { RpcRequest, ANSWERED_STREAM_MS_MAX } from '../../../src/upstream/rpc/rpc-request.js';
import { Credentials } from '../../../src/credentials/credentials.js';
import type { UpstreamTarget } from '../../../src/user-config/compiled-config.js';
import type {
  AnswerSource,
  IdSpan,
  RequestHandler,
  RequestPlan,
  AnswerReader,
} from '../../../src/upstream/rpc/request-plan.js';
import { LIST_BYTES_INLINE_MAX } from '../../../src/lists/list-memory.js';
import { LIST_PART_BYTES } from '../../../src/upstream/rpc/unparsed-answer.js';
import { limits } from '../../../src/shared/limits.js';
import { createMessageMemories } from '../../../src/fair/message-memory.js';
import { createAccounts } from '../../support/shares.js';
import { until } from '../../support/until.js';
import { ScriptedContext } from '../scripted-context.js';
import type { ScriptedCall } from '../scripted-upstream.js';
import { URI_NODES_MAX } from '../../../src/mcp/value-finder.js';
import { BACKEND_REFUSAL_CHARS_MAX } from '../../../src/upstream/rpc/refused-request.js';
import { connectionBounds } from '../../../src/http-client/connection-bounds.js';

const JSON_TYPE = 'application/json';
const STREAM_TYPE = 'text/event-stream';
const DEADLINE_MS = 1_000;

const RESULT = '{"jsonrpc":"2.0","id":7,"result":{"n":1.0}}';
const ERROR = '{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"no"}}';
const NOTICE = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}';
const PING = '{"jsonrpc":"2.0","id":7,"method":"ping"}';

/** Records what it is told. */
class Listener implements RequestHandler {
  readonly answers: string[] = [];
  readonly messages: string[] = [];
  readonly faults: UpstreamFault[] = [];
  sessionId: string | undefined;
  /** Called for each message. */
  onNext: (() => void) | undefined;
  #kept: Buffer | undefined;

  noteHead(sessionId: string): void {
    this.sessionId = sessionId;
  }

  onAnswer(bytes: Buffer, message: BackendMessage, _isInPlace?: boolean): void {
    this.answers.push(`${message.isError ? 'error' : 'result'} ${bytes.toString()}`);
    this.#kept = bytes;
  }

  onMessage(bytes: Buffer, message: BackendMessage): void {
    this.messages.push(`${message.kind} ${bytes.toString()}`);
    this.onNext?.();
  }

  onFault(fault: UpstreamFault): void {
    this.faults.push(fault);
  }

  /** The answer's bytes in their current state. */
  get kept(): string | undefined {
    return this.#kept?.toString();
  }
}

interface Started<Its extends Listener = Listener> {
  readonly context: ScriptedContext;
  readonly call: ScriptedCall;
  readonly request: RpcRequest;
  readonly listener: Its;
}

function start(t: Test, plan?: Partial<RequestPlan>): Started;
function start<Its extends Listener>(t: Test, plan: Partial<RequestPlan>, listener: Its): Started<Its>;
function start(t: Test, plan: Partial<RequestPlan> = {}, listener = new Listener()): Started {
  const context = new ScriptedContext(t);
  const target = { origin: 'https://b.example', path: '/mcp' };
  const request = new RpcRequest(
    context.http,
    context.deadlines,
    {
      ...context.to(target),
      headers: ['accept', 'both'],
      body: Buffer.from('{"id":7}'),
      id: { bytes: Buffer.from('{"id":7}'), start: 6, end: 7 },
      timeoutMs: DEADLINE_MS,
      isSilenceTimeout: true,
      carriesSession: true,
      session: listener,
      ...plan,
    },
    listener,
  );
  return { context, call: context.http.last, request, listener };
}

/** Leads a request into each state but `done`; the same faults lead out of all of them. */
const reach: Readonly<Record<string, (call: ScriptedCall) => void>> = {
  waiting: () => undefined,
  json: (call) => call.head(200, JSON_TYPE).data('{"jsonrpc":'),
  'event-stream': (call) => call.head(200, STREAM_TYPE).data(`data: ${NOTICE}\n\ndata: `),
  refused: (call) => call.head(500, JSON_TYPE).data('{"jsonrpc":'),
};

function httpStatus(status: number): UpstreamFault {
  return { kind: 'http-status', isUnsent: false, detail: String(status) };
}

t.test('the planned request is sent once', async (t) => {
  const { context, call, listener } = start(t);
  t.equal(context.http.calls.length, 1);
  t.match(call.request, { subject: 'alice', method: 'POST', headers: ['accept', 'both'], target: { path: '/mcp' } });
  t.equal(call.text, '{"id":7}');
  t.same([listener.answers, listener.faults], [[], []]);
});

t.test('an answer in one piece is not copied for a reader that reads it in place, and only for that', async (t) => {
  class InPlace extends Listener {
    readonly acceptsBorrowed: true | undefined;
    readonly inPlace: (boolean | undefined)[] = [];

    constructor(readsInPlace: true | undefined) {
      super();
      this.acceptsBorrowed = readsInPlace;
    }

    override onAnswer(bytes: Buffer, message: BackendMessage, isBorrowed?: boolean): void {
      super.onAnswer(bytes, message);
      this.inPlace.push(isBorrowed);
    }
  }
  const large = `{"jsonrpc":"2.0","id":7,"result":"${'x'.repeat(limits.countedFromBytes)}"}`;
  for (const [readsInPlace, text, isBorrowed] of [
    [true, RESULT, true],
    [undefined, RESULT, false],
    [true, large, false],
  ] as const) {
    const { call, listener } = start(t, {}, new InPlace(readsInPlace));
    call.whole(text);
    t.same(listener.answers, [`result ${text}`]);
    t.same(listener.inPlace, [isBorrowed]);
    t.equal(listener.kept === text, !isBorrowed, 'what may be kept is its own');
  }
  for (const bodyBytes of [-1, RESULT.length + 1]) {
    const { call, listener } = start(t, {}, new InPlace(true));
    call.head(200, JSON_TYPE, '', bodyBytes).data(RESULT).end();
    t.same(listener.inPlace, [false]);
    t.equal(listener.kept, RESULT);
  }
  const { call, listener } = start(t, {}, new InPlace(true));
  call.head(200, JSON_TYPE, '', RESULT.length).data(RESULT.slice(0, 9)).data(RESULT.slice(9)).end();
  t.same(listener.inPlace, [false]);
  t.equal(listener.kept, RESULT);
});

t.test('waiting, json: one object is the answer, byte for byte, whatever its pieces', async (t) => {
  for (const [kind, text] of Object.entries({ result: RESULT, error: ERROR })) {
    const { call, listener, context } = start(t);
    call.head(200, JSON_TYPE, 'S-1');
    for (const byte of text) call.data(byte);
    t.same(listener.answers, [], 'not before the end');
    call.end();
    t.same(listener.answers, [`${kind} ${text}`]);
    t.equal(listener.kept, text, 'it may be kept');
    t.equal(listener.sessionId, 'S-1');
    context.advance(DEADLINE_MS * 2);
    t.same(listener.faults, []);
    t.notOk(call.isAborted, 'its connection can be used again');
  }
});

t.test('json: anything but the answer is a fault', async (t) => {
  const texts = {
    'another id': RESULT.replace('7', '8'),
    'other digits as a string': RESULT.replace('7', '"7.0"'),
    'no id': '{"jsonrpc":"2.0","error":{"code":1,"message":""}}',
    'a request': PING,
    'a notification': NOTICE,
    'an array of two': `[${RESULT},${RESULT}]`,
    'half an object': RESULT.slice(0, -1),
    nothing: '',
  };
  for (const [what, text] of Object.entries(texts)) {
    const { call, listener } = start(t);
    call.json(text);
    t.same(listener.faults, [upstreamFault('answer-invalid')], what);
    t.same(listener.answers, [], what);
  }
});

t.test(
  'an array with the answer and other messages, in a body or an event, is taken as if each came on its own',
  async (t) => {
    for (const array of [`[${NOTICE},${RESULT}]`, ` [${RESULT},\n${NOTICE}]`])
      for (const type of [JSON_TYPE, STREAM_TYPE]) {
        const { call, listener } = start(t);
        const text = type === JSON_TYPE ? array : `data: ${array.replace('\n', '\ndata: ')}\n\n`;
        call.head(200, type).data(text).end();
        t.same(
          [listener.messages, listener.answers, listener.faults],
          [[`notification ${NOTICE}`], [`result ${RESULT}`], []],
          text,
        );
      }
    const large = `[${NOTICE},${RESULT.replace('{', `{"_":"${'x'.repeat(limits.readAtOnceBytesMax)}",`)}]`;
    for (const array of [
      large,
      `[${RESULT},${ERROR}]`,
      `[${NOTICE}]`,
      `[[${RESULT}],${RESULT}]`,
      '[]',
      `[${RESULT},1]`,
    ]) {
      const { call, listener } = start(t);
      call.json(array);
      await until(() => listener.faults.length > 0, array.slice(0, 99));
      t.same([listener.messages, listener.answers], [[], []]);
    }
  },
);

t.test('the id is the same in other digits or escapes', async (t) => {
  const { call, listener } = start(t);
  call.json(RESULT.replace('7', '7.0e0'));
  t.equal(listener.answers.length, 1);
});

t.test(
  'a number may come back as a string, and a byte order mark before JSON, as official clients take them',
  async (t) => {
    const asText = RESULT.replace('7', '"7"');
    for (const text of [asText, `\uFEFF${RESULT}`, `\uFEFF${asText}`]) {
      const { call, listener } = start(t);
      call.json(text);
      t.same(listener.answers, [`result ${text.replace('\uFEFF', '')}`]);
    }
    const refused = start(t);
    refused.call.head(400, JSON_TYPE).data(`\uFEFF${ERROR}`).end();
    t.same(refused.listener.answers, [`error ${ERROR}`]);
    const streamed = start(t);
    streamed.call.head(201, STREAM_TYPE).data(`\uFEFFdata: ${asText}\n\n`).end();
    t.same(streamed.listener.answers, [`result ${asText}`]);
    const string = start(t, { id: { bytes: Buffer.from('"7"'), start: 0, end: 3 } });
    string.call.json(RESULT);
    t.same(
      string.listener.faults,
      [upstreamFault('answer-invalid')],
      'a string that comes back as a number is another id',
    );
  },
);

t.test(
  'an answer that grows beyond what is read at once when its bytes are made UTF-8 is still given, in both forms',
  (t) => {
    const [head, tail] = ['{"jsonrpc":"2.0","id":7,"result":{"x":"', '"}}'];
    const bad = Buffer.alloc(limits.readAtOnceBytesMax / 2, 0xe4);
    const answer = (before: string, after: string): Buffer =>
      Buffer.concat([Buffer.from(before + head), bad, Buffer.from(tail + after)]);
    for (const [type, bytes] of [
      [JSON_TYPE, answer('', '')],
      [STREAM_TYPE, answer('data: ', '\n\n')],
    ] as const) {
      const { call, listener } = start(t);
      call.head(200, type).chunk(bytes).end();
      t.same(listener.faults, [], type);
      t.same(listener.answers, [`result ${head}${'\ufffd'.repeat(bad.length)}${tail}`], type);
    }
    t.end();
  },
);

t.test('an answer with more links than can be found is said to be too large, in both forms', async (t) => {
  const links = '{"type":"resource_link","uri":"a:1"},'.repeat(URI_NODES_MAX / 3);
  const answer = `{"jsonrpc":"2.0","id":7,"result":{"content":[${links}{}]}}`;
  for (const [type, text] of [
    [JSON_TYPE, answer],
    [STREAM_TYPE, `data: ${answer}\n\n`],
  ] as const) {
    const { call, listener } = start(t);
    call.head(200, type).data(text).end();
    await until(() => listener.faults.length > 0, 'the fault');
    t.match(listener.faults, [{ kind: 'answer-too-large', detail: /at most 32768 JSON values .* links/ }], type);
    t.same(listener.answers, []);
  }
});

t.test('event-stream: messages come before the answer, and the answer may be kept', async (t) => {
  const { call, listener } = start(t);
  call.head(200, STREAM_TYPE, 'S-2');
  call.data('id: 1\ndata:\n\n').data(`data: ${NOTICE}\n\n`).data(`data: ${PING}\n\ndata: ${RESULT}\n\n`);
  t.same(listener.messages, [`notification ${NOTICE}`, `request ${PING}`]);
  t.same(listener.answers, [`result ${RESULT}`]);
  t.equal(listener.kept, RESULT, 'the chunk is overwritten by now, the answer is not');
  t.equal(listener.sessionId, 'S-2');
});

t.test('event-stream: the answer to another request, or to none, is skipped, and is not the answer', async (t) => {
  const noId = '{"jsonrpc":"2.0","error":{"code":1,"message":""}}';
  for (const text of [RESULT.replace('7', '8'), noId, noId.replace('{', '{"id":null,')]) {
    const [answered, cut] = [start(t), start(t)];
    for (const { call } of [answered, cut]) call.head(200, STREAM_TYPE).data(`data: ${text}\n\n`);
    t.same([answered.listener.faults, answered.listener.messages], [[], []], text);
    answered.call.data(`data: ${RESULT}\n\n`).end();
    t.same(answered.listener.answers, [`result ${RESULT}`], text);
    cut.call.end();
    t.same([cut.listener.answers, cut.listener.faults], [[], [upstreamFault('answer-incomplete')]], text);
  }
});

/** The backend's own stream, as a request sees it. */
class OwnStream implements AnswerSource {
  reader: AnswerReader | undefined;

  wait(_id: IdSpan, reader: AnswerReader): void {
    this.reader = reader;
  }

  forget(_id: IdSpan, reader: AnswerReader): void {
    if (this.reader === reader) this.reader = undefined;
  }
}

function startAccepted(t: Test, elsewhere = new OwnStream()): Started & { readonly elsewhere: OwnStream } {
  const started = start(t, { session: { strayAnswers: elsewhere, noteHead: () => undefined } });
  started.call.head(202, '');
  return { ...started, elsewhere };
}

t.test(
  '202: the answer comes on the backend’s own stream, before or after the response to the POST ends',
  async (t) => {
    for (const endsFirst of [true, false]) {
      const { call, listener, elsewhere, context } = startAccepted(t);
      if (endsFirst) call.end();
      context.advance(DEADLINE_MS / 2);
      elsewhere.reader?.onEvent(Buffer.from(RESULT));
      t.same([listener.answers, listener.faults], [[`result ${RESULT}`], []]);
      if (!endsFirst) call.end();
      t.equal(elsewhere.reader, undefined, 'nothing waits any more');
    }
  },
);

t.test('202: without the backend’s own stream, or when it is lost, nothing is waited for', async (t) => {
  const { call, listener } = start(t, { session: { strayAnswers: undefined, noteHead: () => undefined } });
  call.head(202, '');
  t.same(listener.faults, [upstreamFault('answer-invalid')]);
  const lost = startAccepted(t);
  lost.elsewhere.reader?.onLost(upstreamFault('answer-incomplete'));
  t.same(lost.listener.faults, [upstreamFault('answer-incomplete')]);
});

t.test('202: an answer that is there already is taken', async (t) => {
  const ahead = new OwnStream();
  ahead.wait = (_id, reader) => reader.onEvent(Buffer.from(RESULT));
  const { call, listener } = startAccepted(t, ahead);
  t.same([listener.answers, listener.faults], [[`result ${RESULT}`], []]);
  call.end();
  t.same([listener.answers, listener.faults], [[`result ${RESULT}`], []]);
});

t.test('202: whatever ends the wait, the stream is told', async (t) => {
  const [late, aborted] = [startAccepted(t), startAccepted(t)];
  late.call.fault('connection-lost');
  t.same(late.listener.faults, [], 'the answer does not depend on this connection');
  late.context.advance(2 * DEADLINE_MS);
  t.same(late.listener.faults, [upstreamFault('answer-timeout')]);
  aborted.request.abort();
  t.same([late.elsewhere.reader, aborted.elsewhere.reader], [undefined, undefined]);
});

t.test('event-stream: heartbeats of any name are skipped, whatever they say', async (t) => {
  const { call, listener } = start(t);
  call.head(200, STREAM_TYPE);
  for (const text of ['hello', '[]', '{"time":"12:00"}', '{', 'null']) {
    call.data(`event: ping\ndata: ${text}\n\n`).data(`data: ${text}\n\n`);
  }
  call.data(`event: keepalive\ndata: ${NOTICE}\n\n`);
  t.equal(listener.messages.length, 1, 'a message is one under any name');
  call.data(`data: ${RESULT}\n\n`).end();
  t.same(listener.answers, [`result ${RESULT}`]);
  t.same(listener.faults, []);
});

t.test('event-stream: nothing follows an abort from within a message, not even of the same chunk', async (t) => {
  const { call, listener, request } = start(t);
  listener.onNext = () => request.abort();
  call.head(200, STREAM_TYPE).data(`data: ${NOTICE}\n\ndata: ${NOTICE}\n\ndata: ${RESULT}\n\n`);
  t.equal(listener.messages.length, 1);
  t.same([listener.answers, listener.faults], [[], []]);
});

t.test('an end without an answer', async (t) => {
  for (const [state, contentType] of Object.entries({ waiting: undefined, 'event-stream': STREAM_TYPE })) {
    const { call, listener } = start(t);
    if (contentType !== undefined) call.head(200, contentType).data(`data: ${NOTICE}\n\ndata: ${RESULT}\n`);
    call.end();
    t.same(listener.faults, [upstreamFault('answer-incomplete')], state);
    t.same(listener.answers, [], 'an event that no empty line ends is not dispatched');
  }
});

t.test('a head that cannot lead to an answer is a fault at once', async (t) => {
  const heads: [number, string, UpstreamFault][] = [
    [200, 'text/html', upstreamFault('answer-invalid')],
    [200, '', upstreamFault('answer-invalid')],
    [201, 'text/html', upstreamFault('answer-invalid')],
    [202, '', upstreamFault('answer-invalid')],
    [301, JSON_TYPE, httpStatus(301)],
    [307, '', httpStatus(307)],
  ];
  for (const [status, contentType, fault] of heads) {
    const { call, listener } = start(t);
    call.head(status, contentType);
    t.same(listener.faults, [fault], `${status} ${contentType}`);
    t.ok(call.isAborted);
  }
});

t.test('refused: the status is reported, unless the error of the request itself is in the body (R24)', async (t) => {
  for (const status of [400, 401, 403, 405, 429, 500, 503]) {
    const { call, request, listener } = start(t);
    t.equal(request.status, 0);
    call.json('Nope', '', status);
    t.equal(request.status, status);
    const isForNow = status === 429 || status === 503;
    t.same(listener.faults, [{ ...httpStatus(status), ...(isForNow && { refusal: { message: 'Nope' } }) }]);
    const other = start(t);
    other.call.json(ERROR, '', status);
    t.same(other.listener.answers, [`error ${ERROR}`], `${status} with the error`);
    t.same(other.listener.faults, []);
  }
  const result = start(t);
  result.call.json(RESULT, '', 404);
  t.same(result.listener.answers, [`result ${RESULT}`], 'what has the id was carried out, whatever the status');
  const foreign = start(t);
  foreign.call.json(ERROR.replace('7', '8'), '', 500);
  t.same(foreign.listener.faults, [httpStatus(500)], "another request's error");
});

t.test('refused for now: the fault says what the backend says, and when to try again', async (t) => {
  const inAMinute = new Date(Date.now() + 60_000).toUTCString();
  const foreign = ERROR.replace('7', 'null');
  const cases: readonly [status: number, text: string, retryAfter: string, refusal: object][] = [
    [429, 'Slow down\n', '30', { message: 'Slow down', retryAfterSeconds: 30 }],
    [503, foreign, '0', { message: 'no', retryAfterSeconds: 0 }],
    [503, '<html>Unavailable</html>', '', {}],
    [503, 'a\u0007b', 'soon', {}],
    [429, 'in a line of < 5', '', { message: 'in a line of < 5' }],
    [429, 'x'.repeat(limits.upstreamRefusalBytesMax), '', { message: 'x'.repeat(BACKEND_REFUSAL_CHARS_MAX) }],
  ];
  for (const [status, text, retryAfter, refusal] of cases) {
    const { call, listener } = start(t);
    call.head(status, '', '', -1, retryAfter).data(text).end();
    t.same(listener.faults, [{ ...httpStatus(status), refusal }]);
  }
  const { call, listener } = start(t);
  call.head(503, '', '', -1, inAMinute).end();
  const seconds = listener.faults[0]?.refusal?.retryAfterSeconds ?? 0;
  t.ok(seconds > 0 && seconds <= 60, 'a date is told in seconds');
});

t.test('refused: the session is lost with 404, when there was one (C11)', async (t) => {
  const bodies = {
    nothing: '',
    text: 'Not found',
    'an error without id': ERROR.replace('7', 'null'),
    "another request's error": ERROR.replace('7', '8'),
    'its error, which says so': ERROR.replace('-32000', '-32001').replace('no', 'Session not found'),
  };
  for (const [what, body] of Object.entries(bodies)) {
    const { call, listener } = start(t);
    call.json(body, '', 404);
    t.same(listener.faults, [upstreamFault('session-lost')], what);
    t.same(listener.answers, [], what);
  }
  const its = start(t);
  its.call.json(ERROR, '', 404);
  t.same(its.listener.answers, [`error ${ERROR}`], 'an answer with its id was carried out');
  for (const era of ['legacy', 'modern'] as const) {
    const found = start(t, { era, carriesSession: era === 'legacy' });
    found.call.json(RESULT, '', 404);
    t.same(found.listener.answers, [`result ${RESULT}`], `${era}: so was a result`);
    const streamed = start(t, { era, carriesSession: era === 'legacy' });
    streamed.call.head(404, STREAM_TYPE).data(`data: ${NOTICE}\n\ndata: ${RESULT}\n\n`).end();
    t.same(streamed.listener.answers, [`result ${RESULT}`], `${era}: also as the last event`);
  }
  const without = start(t, { carriesSession: false });
  without.call.json('', '', 404);
  t.same(without.listener.faults, [httpStatus(404)]);
  const withError = start(t, { carriesSession: false });
  withError.call.json(ERROR, '', 404);
  t.same(withError.listener.answers, [`error ${ERROR}`]);
});

t.test(
  'refused: the session is lost when the backend says so, in an error that no carried out request gets',
  async (t) => {
    const lost =
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid Session ID provided"}}';
    const restarted = lost.replace(/Bad.*provided/, 'Bad Request: Server not initialized');
    const elsewhere = lost.replace('null', '"server-error"');
    const invalid = ERROR.replace('-32000', '-32600').replace('no', 'Invalid Request: Session not found');
    const said = [
      ...['No active session', 'invalid session', 'Session terminated', 'Session 3f-a7 does not exist'],
      ...['Invalid or missing session ID', 'No transport found for sessionId', 'Could not find the session'],
      ...[
        'Session timed out',
        'SessionId 3f-a7 is unknown',
        'Invalid Mcp-Session-Id header',
        `: hello\n\ndata: ${lost}\n\n`,
      ],
    ];
    for (const body of [lost, restarted, elsewhere, invalid, ...said]) {
      for (const status of [400, 401, 403, 404, 410, 422]) {
        const { call, listener } = start(t);
        call.json(body, '', status);
        t.same(listener.faults, [upstreamFault('session-lost')], `${status} ${body}`);
      }
    }
    for (const code of ['-32001', '-32600']) {
      const inStream = start(t);
      const answer = ERROR.replace('-32000', code).replace('no', 'Session not found');
      inStream.call.head(200, STREAM_TYPE).data(`data: ${answer}\n\n`);
      t.same(inStream.listener.faults, [upstreamFault('session-lost')], `also as the answer, with ${code}`);
      const inJson = start(t);
      inJson.call.json(answer);
      t.same(inJson.listener.faults, [upstreamFault('session-lost')], `in JSON, too, with ${code}`);
      const begun = start(t);
      begun.call.head(200, STREAM_TYPE).data(`data: ${NOTICE}\n\ndata: ${answer}\n\n`);
      t.same(
        begun.listener.answers,
        [`error ${answer}`],
        `but ${code} behind progress is of a call that was carried out`,
      );
    }
    const kept: [string, string, number, boolean][] = [
      ['of something else', lost.replace('Session', 'Request'), 400, true],
      ['that only has the word', lost.replace(/Bad.*provided/, 'session_type must be a string'), 400, true],
      ['about params', lost.replace('-32000', '-32602').replace(/Bad.*provided/, 'Unknown session'), 400, true],
      ...[-32_700, -32_601, -32_603].map((code): [string, string, number, boolean] => [
        `about the message, with the code ${code}`,
        lost.replace('-32000', String(code)),
        400,
        true,
      ]),
      ['about a param', lost.replace(/Bad.*provided/, 'no room left at the session of Tuesday'), 400, true],
      ['about another param', lost.replace(/Bad.*provided/, 'session is required'), 400, true],
      ['with the status of a server that fails', lost, 500, true],
      ['with the status of a proxy', lost, 502, true],
      ['without a session', lost, 400, false],
      ['a page about other things', 'Sessions are held on Tuesdays', 400, true],
    ];
    for (const [what, body, status, carriesSession] of kept) {
      const other = start(t, { carriesSession });
      other.call.json(body, '', status);
      t.same(other.listener.faults, [httpStatus(status)], what);
    }
    const unavailable = start(t);
    unavailable.call.json(lost, '', 503);
    t.match(unavailable.listener.faults, [{ kind: 'session-lost' }], 'with 503, as some say it after a restart');
    const named = String.raw`{"code":-32603,"message":"Session \"S-1\" not found"}`;
    for (const [sessionId, fault] of [
      ['S-1', upstreamFault('session-lost')],
      ['S-2', httpStatus(500)],
    ] as const) {
      const failed = start(t, { sessionId });
      failed.call.json(named, '', 500);
      t.same(failed.listener.faults, [fault], `with 500, where the text names the session, asked in ${sessionId}`);
    }
    const busy = start(t);
    busy.call.json(lost, '', 429);
    t.match(busy.listener.faults, [httpStatus(429)], 'with the status of too many requests');
    const own = start(t);
    own.call.json(ERROR.replace('no', 'no session'), '', 400);
    t.equal(own.listener.answers.length, 1, "the request's own error is its answer");
    const credentials = start(t, { credentials: Credentials.ofHeaders(['authorization', 'Bearer one']) });
    credentials.call.json('No active session', '', 401);
    t.same(credentials.listener.faults, [httpStatus(401)], 'with credentials, 401 is about them');
    const answered = start(t, { credentials: Credentials.ofHeaders(['authorization', 'Bearer one']) });
    answered.call.json(ERROR, '', 401);
    t.same([answered.listener.faults, answered.listener.answers], [[httpStatus(401)], []], 'also with an error');
    const timeout = start(t);
    timeout.call.json(ERROR.replace('-32000', '-32001').replace('no', 'Request timed out'));
    t.equal(timeout.listener.answers.length, 1, 'the code has other meanings as well');
  },
);

t.test('refused: a backend that speaks the other era now is told from one that refuses this request', async (t) => {
  const error = (code: number, id = 'null', more = ''): string =>
    `{"jsonrpc":"2.0","id":${id},"error":{"code":${code},"message":"x"${more}}}`;
  const versions = (...supported: string[]): string => `,"data":{"supported":${JSON.stringify(supported)}}`;
  const [modern, legacy] = ['2026-07-28', '2025-11-25'];
  const envelope = error(-32_602).replace('"x"', '"no io.modelcontextprotocol/protocolVersion"');
  const rows: readonly (readonly [era: 'modern' | 'legacy', status: number, body: string, isRefused: boolean])[] = [
    ['modern', 404, '', true],
    ['modern', 405, '', true],
    ['modern', 400, 'Nope', false],
    ['modern', 400, 'Missing session', true],
    ['modern', 403, 'Missing session', false],
    ['modern', 400, error(-32_000), true],
    ['modern', 400, error(-32_020), false],
    ['modern', 400, error(-32_021), false],
    ['modern', 400, error(-32_603), false],
    ['modern', 400, error(-32_022, '7', versions(legacy)), true],
    ['modern', 400, error(-32_022, '7', versions(legacy, modern)), false],
    ['legacy', 400, error(-32_022, '7', versions(modern)), true],
    ['legacy', 400, error(-32_022, '7', versions(legacy, modern)), false],
    ['legacy', 400, error(-32_020), true],
    ['legacy', 404, error(-32_020), false],
    ['legacy', 400, envelope, true],
    ['legacy', 400, error(-32_602), false],
    ['legacy', 400, '', false],
  ];
  for (const [era, status, body, isRefused] of rows) {
    const { call, listener } = start(t, { era, carriesSession: false });
    call.json(body, '', status);
    t.equal(listener.faults[0]?.kind === 'era-refused', isRefused, `${era} ${status} ${body}`);
    t.equal(listener.answers.length + listener.faults.length, 1);
  }
});

t.test('every state: a fault of the connection is passed on once', async (t) => {
  for (const [state, lead] of Object.entries(reach)) {
    const { call, listener } = start(t);
    lead(call);
    call.fault('connection-lost').fault('connection-lost').end();
    t.same(listener.faults, [upstreamFault('connection-lost')], state);
  }
});

t.test('every state: the deadline ends it, and the connection with it', async (t) => {
  for (const [state, lead] of Object.entries(reach)) {
    const { context, call, listener } = start(t);
    lead(call);
    context.advance(DEADLINE_MS - 100);
    t.same(listener.faults, [], `${state}: not early`);
    context.advance(200);
    t.same(listener.faults, [upstreamFault('answer-timeout')], state);
    t.ok(call.isAborted, state);
    context.advance(DEADLINE_MS * 3);
    t.equal(listener.faults.length, 1, 'once');
  }
});

t.test('every state: after an abort nothing is called back, whatever the connection does', async (t) => {
  for (const [state, lead] of Object.entries(reach)) {
    const { context, call, request, listener } = start(t);
    lead(call);
    request.abort();
    request.abort();
    t.ok(call.isAborted, state);
    // Simulates an HTTP client that breaks its promise: a late callback must not reach anybody either.
    call.isAborted = false;
    call.head(200, JSON_TYPE).data(RESULT).end().fault('connection-lost');
    context.advance(DEADLINE_MS * 2);
    t.same([listener.answers, listener.faults], [[], []], state);
    t.notOk(call.isAborted, 'and it is not aborted again');
  }
});

t.test('every byte of the answer puts off a deadline on silence, but not one on the whole request', async (t) => {
  const answers: Record<string, (call: ScriptedCall) => (() => void)[]> = {
    json: (call) => [() => call.head(200, JSON_TYPE), ...[...RESULT].map((byte) => () => call.data(byte))],
    stream: (call) => [() => call.head(200, STREAM_TYPE), ...[...NOTICE].map((byte) => () => call.data(byte))],
  };
  for (const [form, stepsOf] of Object.entries(answers)) {
    const silence = start(t, { isSilenceTimeout: true });
    for (const step of stepsOf(silence.call)) {
      silence.context.advance(DEADLINE_MS - 100);
      step();
    }
    t.same(silence.listener.faults, [], `${form}: silence never lasted so long`);
    silence.context.advance(DEADLINE_MS + 100);
    t.same(silence.listener.faults, [upstreamFault('answer-timeout')], `${form}: then it did`);

    const whole = start(t, { isSilenceTimeout: false });
    for (const step of stepsOf(whole.call).slice(0, 2)) {
      whole.context.advance(DEADLINE_MS - 400);
      step();
    }
    t.same(whole.listener.faults, [upstreamFault('answer-timeout')], `${form}: the whole took too long`);
  }
});

t.test('a refusal that arrives slowly puts no deadline off', async (t) => {
  const { context, call, listener } = start(t);
  call.head(500, '');
  for (let piece = 0; piece < 3; piece += 1) {
    context.advance(DEADLINE_MS / 2);
    call.data('x');
  }
  t.same(listener.faults, [upstreamFault('answer-timeout')]);
});

t.test('pausing stops the deadline, because the silence is not the backend’s', async (t) => {
  const { context, call, request, listener } = start(t);
  call.head(200, STREAM_TYPE).data(`data: ${NOTICE}\n\n`);
  request.pause();
  t.ok(call.isPaused);
  context.advance(DEADLINE_MS * 3);
  t.same(listener.faults, []);
  request.resume();
  t.notOk(call.isPaused);
  context.advance(DEADLINE_MS - 100);
  t.same(listener.faults, [], 'it begins anew');
  context.advance(200);
  t.same(listener.faults, [upstreamFault('answer-timeout')]);
  request.pause();
  t.notOk(call.isPaused, 'a request that is over leaves the connection alone');
  request.resume();
  context.advance(DEADLINE_MS * 2);
  t.equal(listener.faults.length, 1, 'and is not timed again');
});

t.test('a handler that rations its reading is asked after each ration, until it rations no more', async (t) => {
  const asked: number[] = [];
  const handler = Object.assign(new Listener(), { onRationRead: (spentMs: number) => asked.push(spentMs) });
  const { call, request } = start(t, {}, handler);
  call.head(200, STREAM_TYPE);
  request.setRation(10);
  call.data(': 34\n');
  t.same([call.isPaused, asked.length], [false, 0]);
  call.data(': 34\n');
  t.same([call.isPaused, asked.length], [true, 1]);
  request.setRation(undefined);
  request.resume();
  call.data(`data: ${NOTICE}\n\n`);
  t.same([call.isPaused, asked.length, handler.messages.length], [false, 1, 1]);
});

t.test('answered: the stream may stay open for a while, so that the connection can be reused', async (t) => {
  const answered = (t: Test): Started => {
    const started = start(t);
    started.call.head(200, STREAM_TYPE).data(`data: ${RESULT}\n\n`);
    t.equal(started.listener.answers.length, 1);
    return started;
  };
  const ends = answered(t);
  ends.call.end();
  ends.context.advance(ANSWERED_STREAM_MS_MAX * 2);
  t.notOk(ends.call.isAborted, 'it ended by itself');

  const lingers = answered(t);
  lingers.call.data(`data: ${NOTICE}\n\ndata: ${RESULT}\n\n`);
  lingers.context.advance(ANSWERED_STREAM_MS_MAX - 100);
  lingers.call.data(': still here\n\n');
  lingers.request.excuseSilence(true);
  lingers.request.excuseSilence(false);
  t.notOk(lingers.call.isAborted);
  lingers.context.advance(200);
  t.ok(lingers.call.isAborted, 'cut, whatever it still sends');

  const rationed = start(t);
  rationed.request.setRation(RESULT.length);
  rationed.call.head(200, STREAM_TYPE).data(`data: ${RESULT}\n\n`);
  t.notOk(rationed.call.isPaused, 'nobody would ask for more');

  const waits = start(t);
  const armed = t.capture(
    waits.context.deadlines,
    'after',
    waits.context.deadlines.after.bind(waits.context.deadlines),
  );
  waits.call.head(200, STREAM_TYPE).data(`data: ${RESULT}\n\n`).end();
  t.equal(armed().length, 0, 'the one deadline of the request serves');

  const breaks = answered(t);
  breaks.call.fault('connection-lost');
  breaks.context.advance(ANSWERED_STREAM_MS_MAX * 2);

  for (const { listener } of [ends, lingers, rationed, breaks]) {
    t.equal(listener.answers.length, 1, 'one answer');
    t.same([listener.messages, listener.faults], [[], []], 'and nothing after it');
  }
});

t.test('a handler that reads its answer itself gets it unparsed, when it is JSON or a large result', async (t) => {
  /** A listener that also records the answers that were passed on unparsed. */
  class Reader extends Listener {
    readonly pieces: Buffer[] = [];

    onUnparsed(pieces: readonly Buffer[]): void {
      this.pieces.push(...pieces);
    }

    get unread(): string {
      return Buffer.concat(this.pieces).toString();
    }
  }
  const large = RESULT.replace('1.0', `"${'x'.repeat(LIST_BYTES_INLINE_MAX)}"`);
  const json = start(t, {}, new Reader());
  json.call.head(200, JSON_TYPE).data('\ufeff{"anything":').data('at all').end();
  t.equal(json.listener.unread, '{"anything":at all', 'without a mark of the byte order');
  t.equal(json.listener.pieces.length, 2);
  const stream = start(t, {}, new Reader());
  stream.call.head(200, STREAM_TYPE);
  // In pieces of the size of one read.
  const text = `data: ${NOTICE}\n\ndata: ${large}\n\ndata: ${large}\n\n`;
  for (let at = 0; at < text.length; at += connectionBounds.upstreamReadBytes) {
    stream.call.data(text.slice(at, at + connectionBounds.upstreamReadBytes));
  }
  stream.call.end();
  t.same(stream.listener.messages, [`notification ${NOTICE}`]);
  t.equal(stream.listener.unread, large, 'once, and it may be kept');
  for (const { listener, context } of [json, stream]) {
    context.advance(DEADLINE_MS * 2);
    t.same([listener.answers, listener.faults], [[], []]);
  }
  const small = start(t, {}, new Reader());
  small.call.head(200, STREAM_TYPE).data(`data: ${RESULT}\n\n`);
  t.equal(small.listener.answers.length, 1, 'a small event is read');
  const notice = start(t, {}, new Reader());
  notice.call
    .head(200, STREAM_TYPE)
    .data(`data: ${NOTICE.replace('1}', `"${'x'.repeat(LIST_BYTES_INLINE_MAX)}"}`)}\n\n`);
  await until(() => notice.listener.messages.length === 1, 'and what is no result');
  const refused = start(t, {}, new Reader());
  refused.call.json('', '', 404);
  t.same(refused.listener.faults, [upstreamFault('session-lost')], 'and a refusal');
});

/** Enlarges a message so that it is parsed in slices. */
function enlarged(text: string): string {
  return text.replace('{', `{"x":"${'ü'.repeat(limits.readAtOnceBytesMax)}",`);
}

/** A message that takes longer than one turn of the event loop to parse: every byte is a token. */
function overlong(text: string): string {
  return text.replace('{', `{"x":[[${'[],'.repeat(2 ** 20)}1]],`);
}

t.test('a large JSON answer is parsed in slices, and its backend has no deadline meanwhile', async (t) => {
  const { context, call, listener } = start(t);
  call.json(overlong(RESULT), 'S-1');
  t.same(listener.answers, [], 'not at once');
  context.advance(DEADLINE_MS * 2);
  await until(() => listener.answers.length > 0, 'the answer');
  t.ok(listener.answers[0] === `result ${overlong(RESULT)}`);
  t.equal(listener.sessionId, 'S-1');
  t.same(listener.faults, []);
  const broken = start(t);
  broken.call.json(`${enlarged(RESULT).slice(0, -1)}]`);
  await until(() => broken.listener.faults.length > 0, 'the fault');
  t.same(broken.listener.faults, [upstreamFault('answer-invalid')]);
});

t.test('a request given up while its large answer is parsed hears nothing more', async (t) => {
  const { call, request, listener } = start(t);
  call.json(overlong(RESULT));
  request.abort();
  const next = start(t);
  next.call.json(overlong(RESULT));
  await until(() => next.listener.answers.length > 0, 'an answer that came later');
  t.same([listener.answers, listener.faults], [[], []]);
});

t.test('whatever follows a large event waits until that is parsed, even the end of the stream', async (t) => {
  const ends: Readonly<Record<string, (call: ScriptedCall) => unknown>> = {
    'an end': (call) => call.end(),
    'a fault': (call) => call.fault('connection-lost'),
  };
  for (const [what, end] of Object.entries(ends)) {
    const { context, call, listener } = start(t);
    call.head(200, STREAM_TYPE).data(`data: ${enlarged(NOTICE)}\n\ndata: ${PING}\n\ndata: ${enlarged(RESULT)}\n\n`);
    t.ok(call.isPaused, 'nothing more is read of it');
    end(call);
    t.same([listener.messages, listener.answers, listener.faults], [[], [], []]);
    context.advance(DEADLINE_MS * 2);
    await until(() => listener.answers.length > 0, 'the answer');
    t.same(listener.messages, [`notification ${enlarged(NOTICE)}`, `request ${PING}`], what);
    t.same(listener.answers, [`result ${enlarged(RESULT)}`]);
    t.same(listener.faults, []);
  }
  const lost = start(t);
  lost.call
    .head(200, STREAM_TYPE)
    .data(`data: ${enlarged(NOTICE)}\n\n`)
    .fault('connection-lost');
  await until(() => lost.listener.faults.length > 0, 'the fault');
  t.equal(lost.listener.messages.length, 1);
  t.same(lost.listener.faults, [upstreamFault('connection-lost')]);
});

t.test('a stream is read on after a large event, unless its reader wants no more', async (t) => {
  const { call, request, listener } = start(t);
  call.head(200, STREAM_TYPE).data(`data: ${enlarged(NOTICE)}\n\n`);
  await until(() => !call.isPaused, 'the stream to go on');
  t.equal(listener.messages.length, 1);
  listener.onNext = () => request.pause();
  call.data(`data: ${enlarged(NOTICE)}\n\ndata: ${PING}\n\n`);
  await until(() => listener.messages.length === 2, 'the second');
  t.ok(call.isPaused);
  listener.onNext = undefined;
  request.resume();
  t.same(listener.messages[2], `request ${PING}`, 'what was read already came with the wish for more');
  t.notOk(call.isPaused);
});

t.test('a deadline for the whole request continues while nothing is read', async (t) => {
  const { context, call, request, listener } = start(t, { isSilenceTimeout: false });
  call.head(200, JSON_TYPE).data('{');
  request.pause();
  context.advance(DEADLINE_MS / 2);
  request.resume();
  t.same(listener.faults, []);
  request.pause();
  context.advance(DEADLINE_MS / 2 + 100);
  t.same(listener.faults, [upstreamFault('answer-timeout')]);
});

t.test('an answer that declares a length beyond the limit is not read', async (t) => {
  const { call, listener } = start(t);
  call.head(200, JSON_TYPE, '', limits.upstreamMessageBytesMax + 1).data('{');
  t.same(listener.faults, [upstreamFault('answer-too-large')]);
  t.ok(call.isAborted);
});

t.test('answers of more bytes than the limit', async (t) => {
  const mebibyte = ' '.repeat(1024 * 1024);
  const mebibytes = limits.upstreamMessageBytesMax / mebibyte.length;
  for (const [contentType, before] of Object.entries({ [JSON_TYPE]: '', [STREAM_TYPE]: 'data: ' })) {
    const { call, listener } = start(t);
    call.head(200, contentType).data(before);
    for (let sent = 0; sent < mebibytes - 1; sent += 1) call.data(mebibyte);
    t.same(listener.faults, [], contentType);
    call.data(mebibyte).data('xxxxxxx');
    t.same(listener.faults, [upstreamFault('answer-too-large')], contentType);
    t.ok(call.isAborted);
  }
  const { call, listener } = start(t);
  call.head(503, JSON_TYPE).data(' '.repeat(limits.upstreamRefusalBytesMax));
  t.same(listener.faults, []);
  call.data(' ');
  t.same(listener.faults, [httpStatus(503)], 'of a refusal the status alone counts');
  t.ok(call.isAborted);
  const lost = start(t);
  lost.call.head(404, 'text/html').data(' '.repeat(limits.upstreamRefusalBytesMax + 1));
  t.same(lost.listener.faults, [upstreamFault('session-lost')]);
  for (const readsInPlace of [true, undefined] as const) {
    for (const [tooMany, answerBytesMax] of [RESULT.length, RESULT.length - 1].entries()) {
      const its = start(t, { answerBytesMax }, Object.assign(new Listener(), { acceptsBorrowed: readsInPlace }));
      its.call.whole(RESULT);
      const event = start(t, { answerBytesMax }, Object.assign(new Listener(), { acceptsBorrowed: readsInPlace }));
      event.call.head(200, STREAM_TYPE);
      event.request.onEvent(Buffer.from(RESULT));
      for (const { listener } of [its, event]) {
        t.equal(listener.answers.length, 1 - tooMany, 'a limit of its own');
        t.same(listener.faults, tooMany ? [upstreamFault('answer-too-large')] : []);
      }
    }
  }
});

t.test('the memory held for an answer of unknown length is at most twice what has arrived, or what may', async (t) => {
  const accounts = createAccounts();
  const { answers: memory } = createMessageMemories(accounts, new ScriptedContext(t).deadlines);
  const answerBytesMax = 5 * limits.countedFromBytes;
  const { call, listener } = start(t, { memory, answerBytesMax });
  call.head(200, JSON_TYPE);
  const piece = ' '.repeat(limits.countedFromBytes);
  for (const pieces of [1, 2, 4, 4, 5]) {
    call.data(piece);
    t.equal(accounts.of('alice').answerBytes.used, pieces * piece.length);
  }
  t.same(listener.faults, []);

  for (const bounds of [{ subjectBytesInFlightMax: piece.length }, { bytesInFlightMax: piece.length }]) {
    const { answers } = createMessageMemories(createAccounts(bounds), new ScriptedContext(t).deadlines);
    const full = start(t, { memory: answers });
    full.call.head(200, JSON_TYPE, '', 2 * piece.length).data('{');
    t.match(full.listener.faults[0]?.kind, /^answers-/, 'one that can never have room is given up');
    t.ok(full.call.isAborted);
  }
  const heard = start(t, { memory });
  const notice = NOTICE.replace('1}', `"${piece}"}`);
  for (const event of [notice, NOTICE]) {
    heard.listener.onNext = () =>
      t.equal(accounts.of('alice').answerBytes.used - before, event === notice ? event.length : 0);
    const before = accounts.of('alice').answerBytes.used;
    if (event === notice) heard.call.head(200, STREAM_TYPE);
    heard.request.onEvent(Buffer.from(event));
    t.equal(accounts.of('alice').answerBytes.used, before, 'a whole event counts while it is handled');
  }
  t.equal(heard.listener.messages.length, 2);
  const uncounted = start(t);
  const large = RESULT.replace('1.0', `"${piece}"`);
  uncounted.call.head(200, STREAM_TYPE);
  uncounted.request.onEvent(Buffer.from(large));
  t.same(uncounted.listener.answers, [`result ${large}`], 'nor does any, where none is counted');
});

t.test('a large answer that did not begin like one is passed on a part at a time, and not while paused', async (t) => {
  class Reader extends Listener {
    readonly parts: Buffer[] = [];
    onPart: () => void = () => undefined;
    isOver = false;

    onUnparsed(pieces: readonly Buffer[], isLast: boolean): void {
      this.parts.push(...pieces);
      this.isOver ||= isLast;
      this.onPart();
    }
  }
  const late = `{"x":"${'x'.repeat(5.5 * LIST_PART_BYTES)}",${RESULT.slice(1)}`;
  const begin = (): { listener: Reader; request: RpcRequest } => {
    const listener = new Reader();
    const { call, request } = start(t, {}, listener);
    call.head(200, STREAM_TYPE).data(`data: ${late}\n\n`).end();
    return { listener, request };
  };
  const { listener, request } = begin();
  listener.onPart = () => request.pause();
  await until(() => listener.parts.length > 0, 'the first part');
  for (let count = 1; !listener.isOver; count += 1) {
    await turns(2);
    t.equal(listener.parts.length, count, 'none while nobody wants any');
    request.resume();
  }
  t.equal(Buffer.concat(listener.parts).toString(), late);
  t.equal(listener.parts.length, 6);
  t.same([listener.answers, listener.faults], [[], []]);

  const given = begin();
  given.listener.onPart = () => given.request.abort();
  await until(() => given.listener.parts.length > 0, 'the first part');
  given.request.resume();
  await turns(5);
  t.equal(given.listener.parts.length, 1, 'what is given up is not passed on');
});

/** Waits for so many turns of the event loop. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise(setImmediate);
}

t.test('an answer of tiny pieces takes little more memory than its bytes', async (t) => {
  const single = ' ';
  const sentBytes = 100_000;
  let pieceCount = 0;
  let bytes = 0;
  class Counter extends Listener {
    onUnparsed(pieces: readonly Buffer[]): void {
      pieceCount += pieces.length;
      for (const piece of pieces) bytes += piece.length;
    }
  }
  const { call } = start(t, {}, new Counter());
  call.head(200, JSON_TYPE);
  for (let sent = 0; sent < sentBytes; sent += 1) call.data(single);
  call.end();
  t.equal(bytes, sentBytes);
  t.ok(pieceCount < 2_048, `${pieceCount} pieces`);
});

t.test('requests that are redirected at the same time are all followed', async (t) => {
  const redirection = { movedTo: undefined };
  const [one, other] = [start(t, { redirection }), start(t, { redirection })];
  for (const { context, call } of [one, other]) {
    call.head(307, '', '', -1, '/v2/mcp');
    t.equal(context.http.last.request.target.path, '/v2/mcp');
    context.http.last.json('{"jsonrpc":"2.0","id":7,"result":{}}');
  }
  t.same([one.listener.faults, other.listener.faults], [[], []]);
});

t.test('with credentials, a redirect is followed only to the path with or without a slash at the end', async (t) => {
  const credentials = Credentials.ofHeaders(['authorization', 'Bearer one']);
  const [slash, other] = [start(t, { credentials }), start(t, { credentials })];
  slash.call.head(307, '', '', -1, '/mcp/');
  t.equal(slash.context.http.last.request.target.path, '/mcp/');
  other.call.head(307, '', '', -1, '/v2/mcp');
  t.equal(other.context.http.calls.length, 1);
  t.equal(other.listener.faults[0]?.kind, 'redirected');
});

t.test('redirects lengthen a path by little, however many there are', async (t) => {
  const redirection: { movedTo: UpstreamTarget | undefined } = { movedTo: undefined };
  const lengths: number[] = [];
  for (let count = 0; count < 8; count += 1) {
    const { context, call } = start(t, { redirection });
    call.head(307, '', '', -1, `./${'é'.repeat(50)}/`);
    lengths.push(context.http.last.request.target.path.length);
  }
  t.ok(Math.max(...lengths) > 300, 'they are followed');
  t.ok(Math.max(...lengths) < 1_100, String(lengths));
});

t.test('what a refusal costs grows with its length, not with the square of it', async (t) => {
  const cost = (count: number): number => {
    const runs = Array.from({ length: 5 }, () => {
      const { call } = start(t);
      const begunMs = performance.now();
      call.json('expired '.repeat(count), '', 400);
      return performance.now() - begunMs;
    });
    return Math.min(...runs);
  };
  cost(500);
  t.ok(cost(8_000) < 40 * cost(500), 'sixteen times the words');
});
