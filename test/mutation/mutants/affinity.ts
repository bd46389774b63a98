// Slips on the way of a request to the worker that owns its session.
import { mutantsOf, type Mutant } from '../mutant.js';

const HOPS = ['worker/hop/hops', 'worker/hop/link', 'worker/hop/listener'];

export const affinityMutants: readonly Mutant[] = [
  ...mutantsOf('src/worker/hop/flow.ts', HOPS, [
    {
      slip: 'more credit than the window holds is taken',
      text: "if (this.#creditBytes > limits.hopWindowBytes) throw new StreamFault('more credit than the window holds');",
      becomes: '',
    },
    {
      slip: 'data beyond the window is taken',
      text: "if (this.#openBytes < 0) throw new StreamFault('data beyond the window');",
      becomes: '',
    },
    { slip: 'credit is not used up', text: '    this.#creditBytes -= sentBytes;', becomes: '' },
    { slip: 'credit that was given is not noted', text: '    this.#openBytes += this.#releasedBytes;', becomes: '' },
    { slip: 'credit is given twice', text: '    this.#releasedBytes = 0;', becomes: '' },
    {
      slip: 'the rest of what waits goes out again',
      text: 'else this.#waiting[0] = next.subarray(sentBytes);',
      becomes: 'else return;',
    },
    {
      slip: 'what nobody wants goes on waiting',
      text: '  drop(): void {',
      becomes: '  drop(): void { if (this.#waiting.length > 0) return;',
    },
  ]),
  ...mutantsOf('src/worker/hop/body.ts', HOPS, [
    {
      slip: 'a body longer than its head says is taken',
      text: "if (part.length > this.#totalBytes - this.#filledBytes) throw new StreamFault('body longer than its head says');",
      becomes: '',
    },
    {
      slip: 'a body without room comes all the same',
      text: 'if (this.#isHeld) this.#heldBytes += part.length;',
      becomes: 'if (this.#isHeld) this.#inflow.release(part.length);',
      noticedBy: [...HOPS, 'integration/memory-shares'],
    },
    {
      slip: 'a body that was let go does not go on',
      text: 'if (!this.isComplete) this.#inflow.release(this.#heldBytes);',
      becomes: '',
      noticedBy: [...HOPS, 'integration/memory-shares'],
    },
    {
      slip: 'a body is as long as its memory',
      text: 'return this.#bytes.length === this.#totalBytes ? this.#bytes :',
      becomes: 'return this.#bytes.length >= 0 ? this.#bytes :',
    },
  ]),
  ...mutantsOf('src/worker/hop/call.ts', HOPS, [
    {
      slip: 'what comes with the end is lost',
      text: "if (this.#finish(['ending'])) this.#exchange.end(this.#last);",
      becomes: "if (this.#finish(['ending'])) this.#exchange.end();",
      noticedBy: ['worker/hop/exchange'],
    },
    {
      slip: 'a caller that went away is not told of to the owner',
      text: "this.#socket.reserve('abort', this.stream, 0);",
      becomes: '',
    },
    {
      slip: 'an answer that has begun is answered again',
      after: '#fail(failure: HopFailure',
      text: 'if (hasBegun) this.#exchange.reset();',
      becomes: 'if (hasBegun) this.#onFailure(failure);',
    },
    {
      slip: 'a body shorter than its head says is whole',
      text: 'if (this.#bodyLeftBytes !== undefined && last.length !== this.#bodyLeftBytes)',
      becomes: 'if (this.#bodyLeftBytes === -1)',
    },
    {
      slip: 'a large answer needs no room',
      text: 'if (head.bodyBytes >= limits.countedFromBytes) {',
      becomes: 'if (head.bodyBytes < 0) {',
      noticedBy: [...HOPS, 'integration/memory-shares'],
    },
    {
      slip: 'an answer over the limit is taken',
      text: 'if (head.bodyBytes > limits.hopAnswerBytesMax) throw',
      becomes: 'if (head.bodyBytes < 0) throw',
    },
    {
      slip: 'a stream that waits is written on',
      text: 'if (this.#isBlocked) this.#held.push(Buffer.from(payload));',
      becomes: 'if (this.#isBlocked && payload.length === 0) this.#held.push(Buffer.from(payload));',
    },
    {
      slip: 'what waits shares memory that is used again',
      text: 'this.#held.push(Buffer.from(payload));',
      becomes: 'this.#held.push(payload);',
      noticedBy: HOPS,
    },
    { slip: 'a reader that drained gives nothing back', text: '    this.#release(this.#blockedBytes);', becomes: '' },
    {
      slip: 'the number of a stream is never given back',
      after: "this.#expect(['streaming'], 'ending', 'end');",
      text: 'this.#forget(this.stream);',
      becomes: '',
    },
    {
      slip: 'the owner is not told of a frame that cannot be',
      after: 'onFault(): void {',
      text: "this.#socket.reserve('reset', this.stream, 0);",
      becomes: '',
    },
    {
      slip: 'the exchange keeps hearing of a hop that is over',
      text: '    this.#exchange.onDrain = undefined;',
      becomes: '',
    },
    {
      slip: 'a body that was sent keeps its memory',
      text: 'if (isLarge && this.#outflow.isEmpty) this.#exchange.releaseBody();',
      becomes: '',
    },
    {
      slip: 'a body that is being sent gives its memory away',
      text: 'if (isLarge && this.#outflow.isEmpty) this.#exchange.releaseBody();',
      becomes: 'if (isLarge) this.#exchange.releaseBody();',
    },
  ]),
  ...mutantsOf(
    'src/worker/hop/exchange.ts',
    ['worker/hop/exchange', ...HOPS],
    [
      {
        slip: 'an abort behind a whole answer is told',
        text: 'if (!isAnswered) this.onAbort?.();',
        becomes: 'this.onAbort?.();',
      },
      {
        slip: 'an answer that waits counts for nobody',
        text: 'if (!this.#outflow.isEmpty) this.#roomOfAnswer()?.countUnread(length);',
        becomes: '',
        noticedBy: ['worker/hop/exchange', ...HOPS, 'integration/memory-shares'],
      },
      {
        slip: 'an answer that was sent goes on counting',
        text: '  #settle(): void {',
        becomes: '  #settle(): void { this.#room = undefined;',
        noticedBy: ['worker/hop/exchange', ...HOPS, 'integration/memory-shares'],
      },
      {
        slip: 'a writer is told to go on without need',
        text: '} else if (this.#isDrainDue && this.#outflow.hasCredit) {',
        becomes: '} else if (this.#outflow.hasCredit) {',
      },
      { slip: 'an end overtakes what waits', text: 'if (!this.#outflow.isEmpty) return;', becomes: '' },
      {
        slip: 'a last event behind what waits is lost',
        text: 'last.length <= limits.joinedEventBytesMax && this.#outflow.isEmpty;',
        becomes: 'last.length <= limits.joinedEventBytesMax;',
      },
      { slip: 'a stream that is over is not forgotten', text: '    this.#forget(this.stream);', becomes: '' },
      {
        slip: 'an answer that does not fit is dropped in silence',
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
        slip: 'a secret that begins right is enough',
        text: 'payload.length === this.#secret.length && timingSafeEqual(payload, this.#secret);',
        becomes: 'timingSafeEqual(payload.subarray(0, 8), this.#secret.subarray(0, 8));',
      },
      {
        slip: 'no secret is needed',
        text: "if (!isTrusted) throw new HopFault('the first frame is not the secret');",
        becomes: '',
      },
      {
        slip: 'a silent link stays open',
        text: 'setTimeout(() => this.#socket.destroy(), limits.hopConnectMsMax);',
        becomes: 'setTimeout(() => {}, limits.hopConnectMsMax);',
      },
      {
        slip: 'a trusted link is closed after a while',
        after: 'this.#isTrusted = true;',
        text: 'clearTimeout(this.#helloTimer);',
        becomes: '',
      },
      {
        slip: 'any number of hops is taken',
        text: "if (this.#arriving.size + this.#exchanges.size >= limits.hopsPerLinkMax) throw new StreamFault('too many hops');",
        becomes: '',
      },
      {
        slip: 'a body over the limit is taken',
        text: 'if (head.bodyBytes > this.#bodyBytesMax) throw',
        becomes: 'if (head.bodyBytes < 0) throw',
      },
      {
        slip: 'a stream in use is used again',
        text: "if (this.#arriving.get(stream) ?? this.#exchanges.get(stream)) throw new HopFault('stream in use');",
        becomes: '',
      },
      {
        slip: 'a caller that is gone before its body is not told of',
        text: 'if (isAborted) exchange.abort();',
        becomes: '',
      },
      {
        slip: 'the other worker is not told of a fault',
        text: "this.#socket.reserve('reset', stream, 0);",
        becomes: '',
      },
      {
        slip: 'a link that is gone leaves its exchanges',
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
        slip: 'an owner that was never there passes for lost',
        text: "const failure = this.#state === 'connecting' ? 'owner-absent' : 'owner-lost';",
        becomes: "const failure = 'owner-lost' as const;",
      },
      {
        slip: 'an owner that was lost passes for absent',
        text: "const failure = this.#state === 'connecting' ? 'owner-absent' : 'owner-lost';",
        becomes: "const failure = 'owner-absent' as const;",
      },
      {
        slip: 'any number of hops is sent',
        text: 'if (this.#calls.size >= limits.hopsPerLinkMax) {',
        becomes: 'if (this.#calls.size < 0) {',
      },
      {
        slip: 'hops of a lost link are never answered',
        text: 'for (const call of this.#calls.values()) call.onLost(failure);',
        becomes: '',
      },
      { slip: 'the number of a hop that is over is lost', text: '    this.#numbers.giveBack(stream);', becomes: '' },
    ],
  ),
  ...mutantsOf(
    'src/worker/hop/hops.ts',
    ['worker/hop/hops', 'worker/hop/listener'],
    [
      {
        slip: 'a closed link is used again',
        text: 'if (present !== undefined && !present.isLeft) return present;',
        becomes: 'if (present !== undefined) return present;',
      },
      { slip: 'each hop has a link of its own', text: 'this.#links.set(owner, link);', becomes: '' },
      {
        slip: 'whoever puts another directory in place is told the secret',
        text: 'if (!isPrivateFolder(this.#directory)) return undefined;',
        becomes: '',
      },
      {
        slip: 'a hop begins after the end',
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
        slip: 'a number may be 0',
        text: 'this.#lastUse === USE_MAX ? 1 : this.#lastUse + 1;',
        becomes: 'this.#lastUse === USE_MAX ? 0 : this.#lastUse + 1;',
      },
      {
        slip: 'a stream finds the one that was in its place',
        text: 'return member?.stream === stream ? member : undefined;',
        becomes: 'return member;',
      },
      {
        slip: 'a stream that is over ends the one in its place',
        text: 'if (this.get(stream) === undefined) return;',
        becomes: '',
      },
      { slip: 'a place is taken twice', text: 'if (this.#members[place] !== undefined) return false;', becomes: '' },
    ],
  ),
  ...mutantsOf(
    'src/worker/hop/frames.ts',
    ['worker/hop/frames'],
    [
      {
        slip: 'a frame of any size is gathered',
        text: 'if (payloadBytes > limits.hopFrameBytesMax) throw',
        becomes: 'if (payloadBytes < 0) throw',
      },
      {
        slip: 'a frame of the largest size is refused',
        text: 'if (payloadBytes > limits.hopFrameBytesMax) throw',
        becomes: 'if (payloadBytes >= limits.hopFrameBytesMax) throw',
      },
      {
        slip: 'a header that came in pieces is begun anew',
        text: 'if (this.#headerFilled === 0 && piece.length - from',
        becomes: 'if (piece.length - from',
      },
      {
        slip: 'a frame waits for the next piece',
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
        slip: 'half of a character is read',
        text: 'if (bytes > payload.length - at || bytes % 2 !== 0) throw',
        becomes: 'if (bytes > payload.length - at) throw',
      },
      {
        slip: 'a string longer than its frame is read',
        text: 'if (bytes > payload.length - at || bytes % 2 !== 0) throw',
        becomes: 'if (bytes % 2 !== 0) throw',
      },
      {
        slip: 'a head over the limit is sent',
        text: 'if (method < 0 || answerForms < 0 || payloadBytes > limits.hopFrameBytesMax) return false;',
        becomes: 'if (method < 0 || answerForms < 0) return false;',
      },
      {
        slip: 'an answer over the limit is sent',
        text: 'if (head.bodyBytes > limits.hopAnswerBytesMax || payloadBytes > limits.hopFrameBytesMax) return false;',
        becomes: 'if (payloadBytes > limits.hopFrameBytesMax) return false;',
        noticedBy: ['worker/hop/hops', 'worker/hop/exchange'],
      },
    ],
  ),
  ...mutantsOf(
    'src/worker/hop/socket.ts',
    ['worker/hop/socket', 'worker/hop/hops'],
    [
      { slip: 'the memory of a batch is used again', text: '    this.#batchSent = this.#batchFilled;', becomes: '' },
      {
        slip: 'frames behind a fault are handled',
        text: 'if (!socket.destroyed) handler.onFrame(kind, stream, payload);',
        becomes: 'handler.onFrame(kind, stream, payload);',
      },
      {
        slip: 'a filled batch is sent behind the next',
        text: 'for (const batch of filled) this.#socket.write(batch);',
        becomes: 'queueMicrotask(() => filled.forEach((batch) => this.#socket.write(batch)));',
      },
    ],
  ),
  ...mutantsOf(
    'src/shared/random-pool.ts',
    ['worker/session-id'],
    [{ slip: 'what was drawn last comes again', text: 'this.#used += this.#bytes;', becomes: '' }],
  ),
  ...mutantsOf(
    'src/worker/session-id.ts',
    ['worker/session-id'],
    [
      { slip: 'an id has too little of chance', text: 'const RANDOM_BYTES = 24;', becomes: 'const RANDOM_BYTES = 12;' },
      {
        slip: 'owners follow the last characters',
        text: '  mixed ^= mixed >>> 16;',
        becomes: '',
        noticedBy: ['worker/session-id'],
      },
    ],
  ),
];
