// Slips at the HTTP edge of a worker: heads, bodies, responses, callers that are slow or disconnect.
import { mutantsOf, type Mutant } from '../mutant.js';

const EXCHANGE = ['worker/edge/edge-exchange'];

export const edgeMutants: readonly Mutant[] = [
  ...mutantsOf(
    'src/worker/edge/request-head.ts',
    ['spec/malformed-http', 'spec/order-of-checks', 'spec/methods'],
    [
      {
        slip: 'a header that must come once may come twice',
        text: 'if ((seen & header) !== 0) current.isAmbiguous = true;',
        becomes: '',
      },
      {
        slip: 'an empty header that came first does not count',
        text: '  seen |= header;',
        becomes: "  if (value !== '') seen |= header;",
      },
      { slip: 'what one request brought counts for the next', text: '  seen = 0;', becomes: '' },
      {
        slip: 'any coding of a body is taken for chunks',
        text: "if (value.toLowerCase() !== 'chunked') current.isAmbiguous = true;",
        becomes: '',
      },
      {
        slip: 'chunks in capitals are refused',
        text: "if (value.toLowerCase() !== 'chunked')",
        becomes: "if (value !== 'chunked')",
      },
      {
        slip: 'the last of two origins counts',
        text: 'current.origin = (seen & ORIGIN) === 0 ? value : `${current.origin}, ${value}`;',
        becomes: 'current.origin = value;',
        noticedBy: ['spec/order-of-checks', 'spec/methods', 'spec/answers', 'spec/accept'],
      },
      {
        slip: 'the last of two accept headers counts',
        text: "current.accept = current.accept === '' ? value : `${current.accept},${value}`;",
        becomes: 'current.accept = value;',
        noticedBy: ['spec/accept'],
      },
      {
        slip: 'a segment that cannot be decoded ends the worker',
        text: '    return undefined;',
        becomes: '    return segment;',
        noticedBy: ['spec/endpoints', 'spec/names', 'spec/errors'],
      },
    ],
  ),
  ...mutantsOf(
    'src/worker/edge/request-body.ts',
    [...EXCHANGE, 'integration/refused-bodies', 'integration/memory-shares'],
    [
      {
        slip: 'a body of the length that may be is too large',
        text: "if (lengthBytes > bytesMax) this.#outcome = 'too-large';",
        becomes: "if (lengthBytes >= bytesMax) this.#outcome = 'too-large';",
        noticedBy: ['spec/errors', 'spec/order-of-checks'],
      },
      {
        slip: 'a body without a length has no bound',
        text: 'if (this.#received.length + chunk.byteLength > this.#bytesMax) {',
        becomes: 'if (false as boolean) {',
        noticedBy: ['spec/errors', 'spec/order-of-checks', 'spec/malformed-http'],
      },
      {
        slip: 'a body that is held is read on',
        text: '    } else if (this.#isHeld) {',
        becomes: '    } else if (this.#isHeld && isLast) {',
      },
      { slip: 'a body that was let in stays held', text: '    this.#isHeld = false;', becomes: '' },
      {
        slip: 'a pause outlives its reason',
        after: '#readOn(): void {',
        text: "this.#transition('pausing', 'reading');",
        becomes: '',
      },
      {
        slip: 'a body that nobody wants is paused',
        text: "if (this.#transition('pausing', 'paused')) this.#res.pause();",
        becomes: 'this.#res.pause();',
      },
      {
        slip: 'a body that is dropped is not read to its end',
        text: "    // Behind it may be the connection's next request.",
        becomes: 'return;',
      },
      { slip: 'a dropped body keeps its room', after: 'drop(): void {', text: 'this.#room?.release();', becomes: '' },
      {
        slip: 'a large body counts for nobody',
        text: '    this.#memory = memory;',
        becomes: '',
        noticedBy: ['integration/memory-shares'],
      },
      {
        slip: 'a large body counts for another',
        text: '    this.#subject = subject;',
        becomes: '',
        noticedBy: ['integration/memory-shares', 'integration/tenants'],
      },
      {
        slip: 'a body without room is read on',
        after: "if (outcome === 'room') return true;",
        text: 'this.#pause();',
        becomes: '',
        noticedBy: ['integration/memory-shares', ...EXCHANGE],
      },
      {
        slip: 'a body that finds no room is waited for',
        text: "if (outcome !== 'wait') this.onNoRoom(outcome);",
        becomes: '',
        noticedBy: ['integration/memory-shares'],
      },
    ],
  ),
  ...mutantsOf('src/worker/edge/edge-heads.ts', EXCHANGE, [
    {
      slip: 'a kept connection stays open while draining',
      text: "if (this.context.isDraining) this.res.writeHeader('connection', 'close');",
      becomes: '',
    },
  ]),
  ...mutantsOf('src/worker/edge/edge-exchange.ts', EXCHANGE, [
    { slip: 'a stream keeps the token that opened it', text: '    forgetHeaders(this.head);', becomes: '' },
    { slip: 'an aborted exchange goes on counting', text: '    this.context.openCount -= 1;', becomes: '' },
    {
      slip: 'room for an answer is never given back',
      after: '#finish(from: State, ending: ExchangeEnding): boolean {',
      text: 'this.#answerRoom?.release();',
      becomes: '',
      noticedBy: ['integration/memory-shares', ...EXCHANGE],
    },
    {
      slip: 'an abort is told twice',
      text: '  #abort(): void {',
      becomes: "  #abort(): void { if (this.#state === 'done') this.onAbort?.();",
    },
    {
      slip: 'an abort behind a whole answer is told',
      text: '    if (!isAnswered) this.onAbort?.();',
      becomes: '    this.onAbort?.();',
    },
    {
      slip: 'who waits for the end of all is not told',
      text: 'if (this.context.openCount === 0) this.context.onIdle?.();',
      becomes: '',
      noticedBy: ['spec/drain'],
    },
    {
      slip: 'an answer to HEAD has a body',
      text: 'if (this.isHead || status === 204) {',
      becomes: 'if (status === 204) {',
      noticedBy: ['spec/methods', 'spec/endpoints'],
    },
    {
      slip: 'a 204 has a length',
      text: "if (status !== 204) this.res.writeHeader('content-length', String(Buffer.byteLength(body)));",
      becomes: "this.res.writeHeader('content-length', String(Buffer.byteLength(body)));",
      noticedBy: ['spec/methods'],
    },
    {
      slip: 'an ambiguous request is answered as any other',
      text: 'if (this.head.isAmbiguous) this.#respondBehind(status, contentType, body, headers);',
      becomes: 'if (this.#isAborted) this.#respondBehind(status, contentType, body, headers);',
      noticedBy: ['spec/malformed-http'],
    },
    { slip: 'a slow caller is never cut off', text: '    else this.#watchReader();', becomes: '' },
    {
      slip: 'a caller that has caught up is watched on',
      text: 'if (hasRoom) this.#watch?.stop();',
      becomes: 'if (hasRoom) void 0;',
    },
    {
      slip: 'a body shorter than was said is ended',
      text: "assert.ok(this.#parts?.isGiven, 'a body is as long as was said');",
      becomes: '',
    },
    {
      slip: 'nothing keeps a silent stream alive',
      text: 'this.#keepAlive = this.context.deadlines.after(this.context.streamKeepAliveMs, () => this.#onSilence());',
      becomes: '',
      noticedBy: ['integration/slow-backend', ...EXCHANGE],
    },
    {
      slip: 'a stream is kept alive once',
      after: '#onSilence(): void {',
      text: 'this.#keepAlive?.restart();',
      becomes: '',
      noticedBy: ['integration/slow-backend', ...EXCHANGE],
    },
  ]),
  ...mutantsOf('src/worker/edge/part-writer.ts', EXCHANGE, [
    {
      slip: 'memory of an answer is used again too early',
      text: '    if (isComplete) {',
      becomes: '    if (hasRoom && !isComplete) largeMemory.giveBack(this.#part); if (isComplete) {',
    },
    { slip: 'memory of an answer is never used again', text: 'largeMemory.giveBack(this.#part);', becomes: '' },
  ]),
  ...mutantsOf('src/worker/edge/reader-watch.ts', EXCHANGE, [
    {
      slip: 'a caller that takes something is cut off',
      text: 'if (this.#tryMore()) this.noteProgress();',
      becomes: 'this.#tryMore();',
      noticedBy: ['worker/edge/reader-watch', ...EXCHANGE],
    },
    {
      slip: 'a caller that is slow again has no time',
      after: 'this.#isWatching = true;',
      text: 'this.noteProgress();',
      becomes: '',
      noticedBy: ['worker/edge/reader-watch'],
    },
    {
      slip: 'a caller is watched after the end',
      text: 'if (!this.#isWatching) return;',
      becomes: '',
      noticedBy: ['worker/edge/reader-watch'],
    },
    {
      slip: 'a watch that is over looks again',
      text: '    this.#next.cancel();',
      becomes: '',
      noticedBy: ['worker/edge/reader-watch'],
    },
    {
      slip: 'it is looked once',
      text: '      this.#next.restart();',
      becomes: '',
      noticedBy: ['worker/edge/reader-watch', ...EXCHANGE],
    },
  ]),
  ...mutantsOf('src/worker/edge/stream-writer.ts', EXCHANGE, [
    {
      slip: 'a head goes out on its own',
      text: 'if (slice.length > limits.joinedEventBytesMax && this.#writeHead !== undefined)',
      becomes: 'if (this.#writeHead !== undefined)',
      noticedBy: ['worker/edge/stream-writer'],
    },
    {
      slip: 'a large event goes out with the head, and may be lost',
      text: 'if (slice.length > limits.joinedEventBytesMax && this.#writeHead !== undefined)',
      becomes: 'if (slice.length > 2 * SLICE_BYTES)',
      noticedBy: ['worker/edge/stream-writer'],
    },
    {
      slip: 'a long stream ends without looking whether it was taken',
      text: ' && this.#writtenBytes + bytes <= SLICE_BYTES;',
      becomes: ';',
      noticedBy: ['worker/edge/stream-writer'],
    },
    {
      slip: 'a comment breaks an event',
      text: 'return this.#rest.length > 0 || !this.#isBetweenEvents ? !this.#isBlocked',
      becomes: 'return this.#rest.length > 0 ? !this.#isBlocked',
      noticedBy: ['worker/edge/stream-writer', ...EXCHANGE],
    },
    {
      slip: 'what waits is overtaken',
      text: 'if (this.#rest.length === 0) return this.#give(bytes);',
      becomes: 'if (!this.#isBlocked) return this.#give(bytes);',
      noticedBy: ['worker/edge/stream-writer', ...EXCHANGE],
    },
    {
      slip: 'what waited is lost',
      text: 'this.#rest = Buffer.concat([this.#rest, bytes]);',
      becomes: 'this.#rest = bytes;',
      noticedBy: ['worker/edge/stream-writer', ...EXCHANGE],
    },
    {
      slip: 'all of an event is given to a caller that takes nothing',
      text: '} while (!this.#isBlocked && at < bytes.length);',
      becomes: '} while (at < bytes.length);',
      noticedBy: ['worker/edge/stream-writer', 'integration/slow-caller'],
    },
    {
      slip: 'a line feed ends an event',
      text: 'bytes.at(-1) === LINE_FEED && bytes.at(-2) === LINE_FEED;',
      becomes: 'bytes.at(-1) === LINE_FEED;',
      noticedBy: ['worker/edge/stream-writer', ...EXCHANGE],
    },
  ]),
  ...mutantsOf(
    'src/worker/edge/edge.ts',
    ['spec/methods', 'spec/drain', 'integration/drain'],
    [
      {
        slip: 'a DELETE is a POST',
        text: "return this.#handler.onRequest(this.#exchange(res, req, isTls, 'DELETE'));",
        becomes: "return this.#handler.onRequest(this.#exchange(res, req, isTls, 'POST'));",
      },
      {
        slip: 'requests are taken after the drain',
        text: '    if (this.#isDrained) {',
        becomes: '    if (this.#isDrained && isTls) {',
        noticedBy: ['integration/drain', 'spec/drain'],
      },
      {
        slip: 'connections are taken while draining',
        text: 'for (const close of this.#closers) close();',
        becomes: '',
        noticedBy: ['spec/drain', 'integration/drain'],
      },
      {
        slip: 'the drain ends before what is in flight',
        text: 'while (this.#context.openCount > 0 || hasCallers())',
        becomes: 'while (hasCallers())',
        noticedBy: ['spec/drain'],
      },
      {
        slip: 'a draining worker is healthy',
        text: 'const refusal = isRefusing ? refusals.draining : this.#handler.healthRefusal;',
        becomes: 'const refusal = this.#handler.healthRefusal;',
        noticedBy: ['spec/drain', 'integration/drain'],
      },
    ],
  ),
];
