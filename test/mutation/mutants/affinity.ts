// Slips on the way of a request to the worker that owns its session.
import { mutantsOf, type Mutant } from '../mutant.js';

const HOPS = ['worker/hop/hops', 'worker/hop/link', 'worker/hop/listener'];

export const affinityMutants: readonly Mutant[] = [
  ...mutantsOf('src/worker/hop/flow.ts', HOPS, [
    {
      slip: 'the sender accepts more credit than its window holds',
      text: "if (this.#creditBytes > limits.hopWindowBytes) throw new StreamFault('more credit than the window holds');",
      becomes: '',
    },
    {
      slip: 'the receiver accepts data beyond the window',
      text: "if (this.#openBytes < 0) throw new StreamFault('data beyond the window');",
      becomes: '',
    },
    { slip: 'sending bytes does not use up credit', text: '    this.#creditBytes -= sentBytes;', becomes: '' },
    {
      slip: 'the receiver does not note the credit that it has returned',
      text: '    this.#openBytes += this.#releasedBytes;',
      becomes: '',
    },
    { slip: 'credit that was already returned is returned again', text: '    this.#releasedBytes = 0;', becomes: '' },
    {
      slip: 'the sent part of waiting bytes is sent again',
      text: 'else this.#waiting[0] = next.subarray(sentBytes);',
      becomes: 'else return;',
    },
    {
      slip: 'bytes that are no longer wanted go on waiting for credit',
      text: '  drop(): void {',
      becomes: '  drop(): void { if (this.#waiting.length > 0) return;',
    },
  ]),
  ...mutantsOf('src/worker/hop/body.ts', HOPS, [
    {
      slip: 'a body longer than its head says is accepted',
      text: "if (part.length > this.#totalBytes - this.#filledBytes) throw new StreamFault('body longer than its head says');",
      becomes: '',
    },
    {
      slip: 'credit is returned for a held body, so that all of it arrives without room',
      text: 'if (this.#isHeld) this.#heldBytes += part.length;',
      becomes: 'if (this.#isHeld) this.#inflow.release(part.length);',
      noticedBy: [...HOPS, 'integration/memory-shares'],
    },
    {
      slip: 'no credit is returned for the held bytes of a body that has room now',
      text: 'if (!this.isComplete) this.#inflow.release(this.#heldBytes);',
      becomes: '',
      noticedBy: [...HOPS, 'integration/memory-shares'],
    },
    {
      slip: 'a body includes the unused end of its memory',
      text: 'return this.#bytes.length === this.#totalBytes ? this.#bytes :',
      becomes: 'return this.#bytes.length >= 0 ? this.#bytes :',
    },
  ]),
  ...mutantsOf('src/worker/hop/call.ts', HOPS, [
    {
      slip: 'bytes that come with the end frame are lost',
      text: "if (this.#finish(['ending'])) this.#exchange.end(this.#last);",
      becomes: "if (this.#finish(['ending'])) this.#exchange.end();",
      noticedBy: ['worker/hop/exchange'],
    },
    {
      slip: 'the owner is not told that the caller went away',
      text: "this.#socket.reserve('abort', this.stream, 0);",
      becomes: '',
    },
    {
      slip: 'a hop that fails after its answer has begun is answered a second time',
      after: '#fail(failure: HopFailure',
      text: 'if (hasBegun) this.#exchange.reset();',
      becomes: 'if (hasBegun) this.#onFailure(failure);',
    },
    {
      slip: 'a body shorter than its head says passes for complete',
      text: 'if (this.#bodyLeftBytes !== undefined && last.length !== this.#bodyLeftBytes)',
      becomes: 'if (this.#bodyLeftBytes === -1)',
    },
    {
      slip: 'a large answer is gathered without asking for room',
      text: 'if (head.bodyBytes >= limits.countedFromBytes) {',
      becomes: 'if (head.bodyBytes < 0) {',
      noticedBy: [...HOPS, 'integration/memory-shares'],
    },
    {
      slip: 'an answer over the size limit is accepted',
      text: 'if (head.bodyBytes > limits.hopAnswerBytesMax) throw',
      becomes: 'if (head.bodyBytes < 0) throw',
    },
    {
      slip: 'data is written to a stream that is blocked',
      text: 'if (this.#isBlocked) this.#held.push(Buffer.from(payload));',
      becomes: 'if (this.#isBlocked && payload.length === 0) this.#held.push(Buffer.from(payload));',
    },
    {
      slip: 'held data is not copied out of the piece that it arrived in',
      text: 'this.#held.push(Buffer.from(payload));',
      becomes: 'this.#held.push(payload);',
      noticedBy: HOPS,
    },
    {
      slip: 'the credit of a blocked write is not returned once there is room again',
      text: '    this.#release(this.#blockedBytes);',
      becomes: '',
    },
    {
      slip: 'a stream number is not given back after the end frame',
      after: "this.#expect(['streaming'], 'ending', 'end');",
      text: 'this.#forget(this.stream);',
      becomes: '',
    },
    {
      slip: 'the owner is not told that it sent an invalid frame',
      after: 'onFault(): void {',
      text: "this.#socket.reserve('reset', this.stream, 0);",
      becomes: '',
    },
    {
      slip: 'the exchange still calls onDrain of a hop that is over',
      text: '    this.#exchange.onDrain = undefined;',
      becomes: '',
    },
    {
      slip: 'a large request body keeps its memory after it was sent',
      text: 'if (isLarge && this.#outflow.isEmpty) this.#exchange.releaseBody();',
      becomes: '',
    },
    {
      slip: 'a large request body gives its memory back while it is still being sent',
      text: 'if (isLarge && this.#outflow.isEmpty) this.#exchange.releaseBody();',
      becomes: 'if (isLarge) this.#exchange.releaseBody();',
    },
  ]),
  ...mutantsOf(
    'src/worker/hop/exchange.ts',
    ['worker/hop/exchange', ...HOPS],
    [
      {
        slip: 'onAbort is called although the answer was already complete',
        text: 'if (!isAnswered) this.onAbort?.();',
        becomes: 'this.onAbort?.();',
      },
      {
        slip: 'an answer that waits for credit is not counted',
        text: 'if (!this.#outflow.isEmpty) this.#roomOfAnswer()?.countUnread(length);',
        becomes: '',
        noticedBy: ['worker/hop/exchange', ...HOPS, 'integration/memory-shares'],
      },
      {
        slip: 'an answer still counts after it was sent',
        text: '  #settle(): void {',
        becomes: '  #settle(): void { this.#room = undefined;',
        noticedBy: ['worker/hop/exchange', ...HOPS, 'integration/memory-shares'],
      },
      {
        slip: 'onDrain is called although no write has returned false',
        text: '} else if (this.#isDrainDue && this.#outflow.hasCredit) {',
        becomes: '} else if (this.#outflow.hasCredit) {',
      },
      {
        slip: 'the end of a stream overtakes bytes that wait for credit',
        text: 'if (!this.#outflow.isEmpty) return;',
        becomes: '',
      },
      {
        slip: 'the last event of a stream is lost if earlier bytes wait for credit',
        text: 'last.length <= limits.joinedEventBytesMax && this.#outflow.isEmpty;',
        becomes: 'last.length <= limits.joinedEventBytesMax;',
      },
      { slip: 'a stream that is over is not forgotten', text: '    this.#forget(this.stream);', becomes: '' },
      {
        slip: 'the peer worker is not told of an answer that does not fit into a hop',
        text: "this.#socket.reserve('reset', this.stream, 0);",
        becomes: '',
      },
    ],
  ),
  ...mutantsOf(
    'src/worker/hop/intake.ts',
    ['worker/hop/listener', 'worker/hop/hops', 'worker/hop/fuzz'],
    [
      {
        slip: 'only the first 8 bytes of the secret are compared',
        text: 'payload.length === this.#secret.length && timingSafeEqual(payload, this.#secret);',
        becomes: 'timingSafeEqual(payload.subarray(0, 8), this.#secret.subarray(0, 8));',
      },
      {
        slip: 'a link is accepted without the secret',
        text: "if (!isTrusted) throw new HopFault('the first frame is not the secret');",
        becomes: '',
      },
      {
        slip: 'a link that never sends the secret stays open',
        text: 'setTimeout(() => this.#socket.destroy(), limits.hopConnectMsMax);',
        becomes: 'setTimeout(() => {}, limits.hopConnectMsMax);',
      },
      {
        slip: 'a trusted link is closed when the time for sending the secret is over',
        after: 'this.#isTrusted = true;',
        text: 'clearTimeout(this.#helloTimer);',
        becomes: '',
      },
      {
        slip: 'a link accepts any number of hops',
        text: "if (this.#arriving.size + this.#exchanges.size >= limits.hopsPerLinkMax) throw new StreamFault('too many hops');",
        becomes: '',
      },
      {
        slip: 'a request body over the size limit is accepted',
        text: 'if (head.bodyBytes > this.#bodyBytesMax) throw',
        becomes: 'if (head.bodyBytes < 0) throw',
      },
      {
        slip: 'a request on a stream that is in use is accepted',
        text: "if (this.#arriving.get(stream) ?? this.#exchanges.get(stream)) throw new HopFault('stream in use');",
        becomes: '',
      },
      {
        slip: 'an abort that comes before the body is complete is ignored',
        text: 'if (isAborted) exchange.abort();',
        becomes: '',
      },
      {
        slip: 'the peer worker is not told of a fault in a stream',
        text: "this.#socket.reserve('reset', stream, 0);",
        becomes: '',
      },
      {
        slip: 'the exchanges of a lost link are not aborted',
        text: 'for (const exchange of this.#exchanges.values()) exchange.abort();',
        becomes: '',
      },
    ],
  ),
  ...mutantsOf(
    'src/worker/hop/link.ts',
    ['worker/hop/link', 'worker/hop/hops'],
    [
      {
        slip: 'an owner that was never reached is reported as lost',
        text: "const failure = this.#state === 'connecting' ? 'owner-absent' : 'owner-lost';",
        becomes: "const failure = 'owner-lost' as const;",
      },
      {
        slip: 'an owner that was lost is reported as absent',
        text: "const failure = this.#state === 'connecting' ? 'owner-absent' : 'owner-lost';",
        becomes: "const failure = 'owner-absent' as const;",
      },
      {
        slip: 'a link sends any number of hops',
        text: 'if (this.#calls.size >= limits.hopsPerLinkMax) {',
        becomes: 'if (this.#calls.size < 0) {',
      },
      {
        slip: 'hops of a lost link are never answered',
        text: 'for (const call of this.#calls.values()) call.onLost(failure);',
        becomes: '',
      },
      {
        slip: 'the stream number of a hop that is over is never reused',
        text: '    this.#numbers.giveBack(stream);',
        becomes: '',
      },
    ],
  ),
  ...mutantsOf(
    'src/worker/hop/hops.ts',
    ['worker/hop/hops', 'worker/hop/listener'],
    [
      {
        slip: 'new hops use a link that is closed or about to close',
        text: 'if (present !== undefined && !present.isLeft) return present;',
        becomes: 'if (present !== undefined) return present;',
      },
      { slip: 'a new link is opened for each hop', text: 'this.#links.set(owner, link);', becomes: '' },
      {
        slip: 'the secret is sent to a socket in a directory that is not private',
        text: 'if (!isPrivateFolder(this.#directory)) return undefined;',
        becomes: '',
      },
      {
        slip: 'hops are still forwarded after close',
        text: "if (this.#isClosed) onFailure('owner-absent');",
        becomes: "if (this.#isClosed && this.#links.size === 0) onFailure('owner-absent');",
      },
    ],
  ),
  ...mutantsOf(
    'src/worker/hop/streams.ts',
    ['worker/hop/streams'],
    [
      {
        slip: 'a stream number may be 0',
        text: 'this.#lastUse === USE_MAX ? 1 : this.#lastUse + 1;',
        becomes: 'this.#lastUse === USE_MAX ? 0 : this.#lastUse + 1;',
      },
      {
        slip: 'a look-up by stream number finds another stream in the same place',
        text: 'return member?.stream === stream ? member : undefined;',
        becomes: 'return member;',
      },
      {
        slip: 'deleting a stream that is over deletes the newer one in its place',
        text: 'if (this.get(stream) === undefined) return;',
        becomes: '',
      },
      {
        slip: 'a stream is added in a place that is taken',
        text: 'if (this.#members[place] !== undefined) return false;',
        becomes: '',
      },
    ],
  ),
  ...mutantsOf(
    'src/worker/hop/frames.ts',
    ['worker/hop/frames'],
    [
      {
        slip: 'a frame of any size is accepted',
        text: 'if (payloadBytes > limits.hopFrameBytesMax) throw',
        becomes: 'if (payloadBytes < 0) throw',
      },
      {
        slip: 'a frame of exactly the maximum size is refused',
        text: 'if (payloadBytes > limits.hopFrameBytesMax) throw',
        becomes: 'if (payloadBytes >= limits.hopFrameBytesMax) throw',
      },
      {
        slip: 'the first part of a header that comes in pieces is ignored',
        text: 'if (this.#headerFilled === 0 && piece.length - from',
        becomes: 'if (piece.length - from',
      },
      {
        slip: 'a frame that ends with its piece waits for the next piece',
        text: 'if (to <= piece.length) {',
        becomes: 'if (to < piece.length) {',
      },
    ],
  ),
  ...mutantsOf(
    'src/worker/hop/heads.ts',
    ['worker/hop/heads', 'worker/hop/link', 'worker/hop/hops'],
    [
      {
        slip: 'a string with an odd number of bytes is accepted',
        text: 'if (bytes > payload.length - at || bytes % 2 !== 0) throw',
        becomes: 'if (bytes > payload.length - at) throw',
      },
      {
        slip: 'a string longer than its frame is accepted',
        text: 'if (bytes > payload.length - at || bytes % 2 !== 0) throw',
        becomes: 'if (bytes % 2 !== 0) throw',
      },
      {
        slip: 'a request head over the frame limit is sent',
        text: 'if (method < 0 || answerForms < 0 || payloadBytes > limits.hopFrameBytesMax) return false;',
        becomes: 'if (method < 0 || answerForms < 0) return false;',
      },
      {
        slip: 'an answer over the size limit is sent',
        text: 'if (head.bodyBytes > limits.hopAnswerBytesMax || payloadBytes > limits.hopFrameBytesMax) return false;',
        becomes: 'if (payloadBytes > limits.hopFrameBytesMax) return false;',
        noticedBy: ['worker/hop/heads'],
      },
    ],
  ),
  ...mutantsOf(
    'src/worker/hop/socket.ts',
    ['worker/hop/socket', 'worker/hop/hops'],
    [
      {
        slip: 'frames that were sent are sent again in a later turn',
        text: '    this.#batchSent = this.#batchFilled;',
        becomes: '',
      },
      {
        slip: 'frames that follow a fault in the same piece are handled',
        text: 'if (!socket.destroyed) handler.onFrame(kind, stream, payload);',
        becomes: 'handler.onFrame(kind, stream, payload);',
      },
      {
        slip: 'a filled batch is sent after the batch that follows it',
        text: 'for (const batch of filled) this.#socket.write(batch);',
        becomes: 'queueMicrotask(() => filled.forEach((batch) => this.#socket.write(batch)));',
      },
    ],
  ),
  ...mutantsOf(
    'src/shared/random-pool.ts',
    ['worker/session-id'],
    [{ slip: 'the random pool returns empty buffers', text: 'this.#used += this.#bytes;', becomes: '' }],
  ),
  ...mutantsOf(
    'src/worker/session-id.ts',
    ['worker/session-id'],
    [
      {
        slip: 'a session id has too few random bits',
        text: 'const RANDOM_BYTES = 24;',
        becomes: 'const RANDOM_BYTES = 12;',
      },
      {
        slip: 'the hash of a session id is not fully mixed before its slot is chosen',
        text: '  mixed ^= mixed >>> 16;',
        becomes: '',
        noticedBy: ['worker/session-id'],
      },
    ],
  ),
];
