// Slips at the HTTP edge of a worker: heads, bodies, responses, callers that are slow or disconnect.
import { mutantsOf, type Mutant } from '../mutant.js';

const EXCHANGE = ['worker/edge/edge-exchange'];

export const edgeMutants: readonly Mutant[] = [
  ...mutantsOf(
    'src/worker/edge/request-head.ts',
    ['spec/malformed-http', 'spec/order-of-checks', 'spec/methods'],
    [
      {
        slip: 'a header that may come only once is accepted twice',
        text: 'if ((seen & header) !== 0) current.isAmbiguous = true;',
        becomes: '',
      },
      {
        slip: 'an empty header before another of the same name does not count as a duplicate',
        text: '  seen |= header;',
        becomes: "  if (value !== '') seen |= header;",
      },
      { slip: 'the headers of one request count as duplicates in the next', text: '  seen = 0;', becomes: '' },
      {
        slip: 'any transfer coding is taken for chunked',
        text: "if (value.toLowerCase() !== 'chunked') current.isAmbiguous = true;",
        becomes: '',
      },
      {
        slip: 'the transfer coding chunked is refused in capitals',
        text: "if (value.toLowerCase() !== 'chunked')",
        becomes: "if (value !== 'chunked')",
      },
      {
        slip: 'only the last of two origin headers counts',
        text: 'current.origin = (seen & ORIGIN) === 0 ? value : `${current.origin}, ${value}`;',
        becomes: 'current.origin = value;',
        noticedBy: ['spec/order-of-checks', 'spec/methods', 'spec/answers', 'spec/accept'],
      },
      {
        slip: 'only the last of two accept headers counts',
        text: "current.accept = current.accept === '' ? value : `${current.accept},${value}`;",
        becomes: 'current.accept = value;',
        noticedBy: ['spec/accept'],
      },
      {
        slip: 'a path segment that cannot be decoded is taken as it is',
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
        slip: 'a body of exactly the maximum length is refused',
        text: "if (lengthBytes > bytesMax) this.#outcome = 'too-large';",
        becomes: "if (lengthBytes >= bytesMax) this.#outcome = 'too-large';",
        noticedBy: ['spec/errors', 'spec/order-of-checks'],
      },
      {
        slip: 'a body without a content length may have any size',
        text: 'if (this.#received.length + chunk.byteLength > this.#bytesMax) {',
        becomes: 'if (false as boolean) {',
        noticedBy: ['spec/errors', 'spec/order-of-checks', 'spec/malformed-http'],
      },
      {
        slip: 'reading does not stop while a body is held',
        text: '    } else if (this.#isHeld) {',
        becomes: '    } else if (this.#isHeld && isLast) {',
      },
      { slip: 'a body stays held after its caller was let in', text: '    this.#isHeld = false;', becomes: '' },
      {
        slip: 'a pause that is no longer needed still takes effect',
        after: '#readOn(): void {',
        text: "this.#transition('pausing', 'reading');",
        becomes: '',
      },
      {
        slip: 'a scheduled pause takes effect even after the body was dropped',
        text: "if (this.#transition('pausing', 'paused')) this.#res.pause();",
        becomes: 'this.#res.pause();',
      },
      {
        slip: 'a paused body is not resumed when it is dropped',
        text: "    // Behind it may be the connection's next request.",
        becomes: 'return;',
      },
      { slip: 'a dropped body keeps its room', after: 'drop(): void {', text: 'this.#room?.release();', becomes: '' },
      {
        slip: 'a large body is not counted',
        text: '    this.#memory = memory;',
        becomes: '',
        noticedBy: ['integration/memory-shares'],
      },
      {
        slip: 'a large body counts for the empty subject instead of its own',
        text: '    this.#subject = subject;',
        becomes: '',
        noticedBy: ['integration/memory-shares', 'integration/tenants'],
      },
      {
        slip: 'reading goes on although there is no room for the body',
        after: "if (outcome === 'room') return true;",
        text: 'this.#pause();',
        becomes: '',
        noticedBy: ['integration/memory-shares', ...EXCHANGE],
      },
      {
        slip: 'a request is not refused although its body can get no room',
        text: "if (outcome !== 'wait') this.onNoRoom(outcome);",
        becomes: '',
        noticedBy: ['integration/memory-shares'],
      },
    ],
  ),
  ...mutantsOf('src/worker/edge/edge-heads.ts', EXCHANGE, [
    {
      slip: 'a draining worker does not announce that it closes the connection',
      text: "if (this.context.isDraining) this.res.writeHeader('connection', 'close');",
      becomes: '',
    },
  ]),
  ...mutantsOf('src/worker/edge/edge-exchange.ts', EXCHANGE, [
    { slip: 'a stream keeps the token of its request in memory', text: '    forgetHeaders(this.head);', becomes: '' },
    { slip: 'an exchange that is over still counts as open', text: '    this.context.openCount -= 1;', becomes: '' },
    {
      slip: 'room for an answer is never given back',
      after: '#finish(from: State, ending: ExchangeEnding): boolean {',
      text: 'this.#answerRoom?.release();',
      becomes: '',
      noticedBy: ['integration/memory-shares', ...EXCHANGE],
    },
    {
      slip: 'onAbort is called although the exchange is already over',
      text: '  #abort(): void {',
      becomes: "  #abort(): void { if (this.#state === 'done') this.onAbort?.();",
    },
    {
      slip: 'onAbort is called although the answer was already complete',
      text: '    if (!isAnswered) this.onAbort?.();',
      becomes: '    this.onAbort?.();',
    },
    {
      slip: 'onIdle is not called when the last open exchange is over',
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
      slip: 'a 204 response has a content length',
      text: "if (status !== 204) this.res.writeHeader('content-length', String(Buffer.byteLength(body)));",
      becomes: "this.res.writeHeader('content-length', String(Buffer.byteLength(body)));",
      noticedBy: ['spec/methods'],
    },
    {
      slip: 'an ambiguous request is answered like any other',
      text: 'if (this.head.isAmbiguous) this.#respondBehind(status, contentType, body, headers);',
      becomes: 'if (this.#isAborted) this.#respondBehind(status, contentType, body, headers);',
      noticedBy: ['spec/malformed-http'],
    },
    { slip: 'a slow caller is never cut off', text: '    else this.#watchReader();', becomes: '' },
    {
      slip: 'a caller that has caught up is still watched',
      text: 'if (hasRoom) this.#watch?.stop();',
      becomes: 'if (hasRoom) void 0;',
    },
    {
      slip: 'a body shorter than announced can be ended',
      text: "assert.ok(this.#parts?.isGiven, 'a body is as long as was said');",
      becomes: '',
    },
    {
      slip: 'a silent stream gets no keep-alive comment',
      text: 'this.#keepAlive = this.context.deadlines.after(this.context.streamKeepAliveMs, () => this.#onSilence());',
      becomes: '',
      noticedBy: ['integration/slow-backend', ...EXCHANGE],
    },
    {
      slip: 'a silent stream gets only one keep-alive comment',
      after: '#onSilence(): void {',
      text: 'this.#keepAlive?.restart();',
      becomes: '',
      noticedBy: ['integration/slow-backend', ...EXCHANGE],
    },
  ]),
  ...mutantsOf('src/worker/edge/part-writer.ts', EXCHANGE, [
    {
      slip: 'the memory of an answer is given back before all of it was taken',
      text: '    if (isComplete) {',
      becomes: '    if (hasRoom && !isComplete) largeMemory.giveBack(this.#part); if (isComplete) {',
    },
    { slip: 'the memory of an answer is never given back', text: 'largeMemory.giveBack(this.#part);', becomes: '' },
  ]),
  ...mutantsOf('src/worker/edge/reader-watch.ts', EXCHANGE, [
    {
      slip: 'a slow caller is cut off although it still reads something',
      text: 'if (this.#tryMore()) this.noteProgress();',
      becomes: 'this.#tryMore();',
      noticedBy: ['worker/edge/reader-watch', ...EXCHANGE],
    },
    {
      slip: 'a caller that becomes slow again does not get the full timeout',
      after: 'this.#isWatching = true;',
      text: 'this.noteProgress();',
      becomes: '',
      noticedBy: ['worker/edge/reader-watch'],
    },
    {
      slip: 'a caller is still watched after the end of its answer',
      text: 'if (!this.#isWatching) return;',
      becomes: '',
      noticedBy: ['worker/edge/reader-watch'],
    },
    {
      slip: 'the timer of a stopped watch is not cancelled',
      text: '    this.#next.cancel();',
      becomes: '',
      noticedBy: ['worker/edge/reader-watch'],
    },
    {
      slip: 'a slow caller is checked only once',
      text: '      this.#next.restart();',
      becomes: '',
      noticedBy: ['worker/edge/reader-watch', ...EXCHANGE],
    },
  ]),
  ...mutantsOf('src/worker/edge/stream-writer.ts', EXCHANGE, [
    {
      slip: 'the response head goes out on its own even before a small event',
      text: 'if (slice.length > limits.joinedEventBytesMax && this.#writeHead !== undefined)',
      becomes: 'if (this.#writeHead !== undefined)',
      noticedBy: ['worker/edge/stream-writer'],
    },
    {
      slip: 'a large event goes out together with the response head, and may be lost',
      text: 'if (slice.length > limits.joinedEventBytesMax && this.#writeHead !== undefined)',
      becomes: 'if (slice.length > 2 * SLICE_BYTES)',
      noticedBy: ['worker/edge/stream-writer'],
    },
    {
      slip: 'a long stream ends without a check that its bytes were taken',
      text: ' && this.#writtenBytes + bytes <= SLICE_BYTES;',
      becomes: ';',
      noticedBy: ['worker/edge/stream-writer'],
    },
    {
      slip: 'a comment is written in the middle of an event',
      text: 'return this.#rest.length > 0 || !this.#isBetweenEvents ? !this.#isBlocked',
      becomes: 'return this.#rest.length > 0 ? !this.#isBlocked',
      noticedBy: ['worker/edge/stream-writer', ...EXCHANGE],
    },
    {
      slip: 'new bytes overtake bytes that wait',
      text: 'if (this.#rest.length === 0) return this.#give(bytes);',
      becomes: 'if (!this.#isBlocked) return this.#give(bytes);',
      noticedBy: ['worker/edge/stream-writer', ...EXCHANGE],
    },
    {
      slip: 'waiting bytes are lost when more are written',
      text: 'this.#rest = Buffer.concat([this.#rest, bytes]);',
      becomes: 'this.#rest = bytes;',
      noticedBy: ['worker/edge/stream-writer', ...EXCHANGE],
    },
    {
      slip: 'the library is given all of an event although it holds bytes back',
      text: '} while (!this.#isBlocked && at < bytes.length);',
      becomes: '} while (at < bytes.length);',
      noticedBy: ['worker/edge/stream-writer', 'integration/slow-caller'],
    },
    {
      slip: 'a single line feed counts as the end of an event',
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
        slip: 'a DELETE is handled as a POST',
        text: "return this.#handler.onRequest(this.#exchange(res, req, isTls, 'DELETE'));",
        becomes: "return this.#handler.onRequest(this.#exchange(res, req, isTls, 'POST'));",
      },
      {
        slip: 'plain-text requests are accepted after the drain',
        text: '    if (this.#isDrained) {',
        becomes: '    if (this.#isDrained && isTls) {',
        noticedBy: ['integration/drain', 'spec/drain'],
      },
      {
        slip: 'new connections are accepted while draining',
        text: 'for (const close of this.#closers) close();',
        becomes: '',
        noticedBy: ['spec/drain', 'integration/drain'],
      },
      {
        slip: 'the drain ends while requests are still in flight',
        text: 'while (this.#context.openCount > 0 || hasCallers())',
        becomes: 'while (hasCallers())',
        noticedBy: ['spec/drain'],
      },
      {
        slip: 'a draining worker reports that it is healthy',
        text: 'const refusal = isRefusing ? refusals.draining : this.#handler.healthRefusal;',
        becomes: 'const refusal = this.#handler.healthRefusal;',
        noticedBy: ['spec/drain', 'integration/drain'],
      },
    ],
  ),
];
