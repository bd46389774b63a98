// Slips in streams that outlive their connection: what is kept of them, for how long, and what a returning client gets.
import { mutantsOf, type Mutant } from '../mutant.js';

const KEEPING = ['relay/stream/stream-keeper', 'relay/stream/caller-stream'];

export const callerStreamMutants: readonly Mutant[] = [
  ...mutantsOf('src/relay/stream/caller-stream.ts', KEEPING, [
    {
      slip: 'an event id that was never given out is accepted',
      text: 'return position <= this.#replay.position;',
      becomes: 'return position <= this.#replay.position + 1;',
    },
    {
      slip: 'a stream counts as complete before its answer',
      text: 'return this.#isEnding && position === this.#replay.position;',
      becomes: 'return position === this.#replay.position;',
    },
    {
      slip: 'a stream is primed twice',
      text: '    this.#isPrimed = true;',
      after: 'if (this.#isPrimed || this.#exchange === undefined) return;',
      becomes: '',
    },
    {
      slip: 'events are written to a connection that is blocked',
      text: "const isDue = this.#state === 'attached';",
      becomes: 'const isDue = this.#exchange !== undefined;',
    },
    {
      slip: 'written events are kept in a stream that cannot be resumed',
      text: 'if (isDue && this.#keeper === undefined) this.#replay.pass();',
      becomes: 'if (isDue && this.#keeper === undefined) this.#replay.add(event, true, true);',
    },
    {
      slip: 'a request id of any length is kept for the error that replaces a lost answer',
      text: ' && id.end - id.start <= limits.keptIdBytesMax;',
      becomes: ';',
    },
    {
      slip: 'the kept id of the request shares memory that is reused',
      text: 'this.#answerId = Buffer.from(id.bytes.subarray(id.start, id.end));',
      becomes: 'this.#answerId = id.bytes.subarray(id.start, id.end);',
    },
    {
      slip: 'onDetached is not called when the client is gone',
      text: '    this.#owner?.onDetached();',
      becomes: '',
    },
    {
      slip: 'a replaced connection that does not read is ended instead of reset',
      text: 'if (isOlderBlocked) older?.reset();',
      becomes: 'if (older === exchange) older?.reset();',
    },
    {
      slip: 'the last event that arrived is sent again when a client resumes',
      text: 'this.#replay.goBackTo(position + 1);',
      becomes: 'this.#replay.goBackTo(position);',
    },
    {
      slip: 'events lost before a client resumes are counted twice',
      text: '    this.#lostCount = 0;',
      after: 'this.#replay.goBackTo(position + 1);',
      becomes: '',
    },
    { slip: 'onAttached is not called when the client is back', text: '    this.#owner?.onAttached();', becomes: '' },
    {
      slip: 'waiting events are not written when a client resumes',
      text: '    this.#pump();',
      after: 'this.#owner?.onAttached();',
      becomes: '',
    },
    {
      slip: 'events that are being written are dropped when their stream is released',
      text: 'this.#replay.release(this.#exchange === undefined && !this.#isEnding);',
      becomes: 'this.#replay.release(true);',
    },
    {
      slip: 'a large event is still written to a connection that was replaced',
      text: '    this.#sending?.cancel();',
      becomes: '',
    },
    {
      slip: 'events dropped before they were written are not counted as lost',
      text: 'this.#lostCount += droppedCount;',
      becomes: '',
    },
    {
      slip: 'a loss of the newest events is not reported before the next event that is said',
      text: "if (this.#lostCount > 0 && this.#state === 'attached') this.#tellLoss();",
      becomes: '',
    },
    {
      slip: 'a loss is not reported before the next waiting event',
      text: 'else if (this.#lostCount > 0) {',
      becomes: 'else if (this.#lostCount < 0) {',
    },
    {
      slip: 'a loss is reported once for each lost event',
      text: '    this.#lostCount = 0;',
      after: 'const data = lossNotification(this.#lostCount);',
      becomes: '    this.#lostCount -= 1;',
    },
    {
      slip: 'a stream whose answer was written at once counts as undelivered',
      text: 'else this.isDelivered = true;',
      becomes: '',
    },
    {
      slip: 'a stream whose answer is written later still counts as undelivered',
      text: 'if (this.#isFiled) this.#keeper?.deliver(this);',
      becomes: 'if (this.#isFiled) this.isDelivered = false;',
    },
    {
      slip: 'onRoom is not called when there is room again',
      text: '      this.#owner?.onRoom();',
      becomes: '',
    },
  ]),
  ...mutantsOf('src/relay/stream/replay-buffer.ts', KEEPING, [
    {
      slip: 'events said without a connection are not counted',
      text: 'else if (!isAttached) this.#countTo(this.#position + 1);',
      becomes: '',
    },
    {
      slip: 'old events are not trimmed when a new one is written at once',
      text: '    if (isWritten) this.#trimWritten();',
      becomes: '',
    },
    {
      slip: 'onLost is not called for unwritten events of a client that cannot resume',
      text: '    else this.#dropUnwritten();',
      becomes: '',
    },
    {
      slip: 'kept events are compacted as UTF-8 instead of Latin-1',
      text: "if (kept instanceof Buffer) this.#kept.replace(index, kept.toString('latin1'));",
      becomes: "if (kept instanceof Buffer) this.#kept.replace(index, kept.toString('utf8'));",
    },
    {
      slip: 'the bytes of a released stream still count',
      text: '    this.#keeper?.give(this.#takenBytes);',
      becomes: '',
    },
    {
      slip: 'all written events but the last are dropped',
      text: 'if (this.#countedBytes <= limits.writtenBytesKept && this.#kept.at(0) !== LOST) return;',
      becomes: '',
    },
    {
      slip: 'even the last written event is dropped',
      text: 'while (this.#kept.length > 1 && this.#first < this.#next - 1) {',
      becomes: 'while (this.#kept.length > 0 && this.#first < this.#next) {',
    },
    {
      slip: 'unwritten events are trimmed as well',
      text: ' && this.#first < this.#next - 1) {',
      becomes: ') {',
    },
    {
      slip: 'an answer does not evict other streams once it is alone in its own',
      text: 'isAnswer && this.#first === this.#counted)',
      becomes: 'isAnswer && this.#first < this.#counted)',
    },
    {
      slip: 'older events are not dropped to make room for newer ones',
      text: '} else if (mayBeHeld && this.#first < this.#counted) {',
      becomes: '} else if (mayBeHeld && this.#first > this.#counted) {',
    },
    {
      slip: 'room that a stream has already taken is taken again',
      text: 'const missingBytes = this.#countedBytes + bytes - this.#takenBytes;',
      becomes: 'const missingBytes = bytes;',
    },
    {
      slip: 'a dropped event still counts',
      text: 'this.#countedBytes -= kept.length;',
      becomes: '',
    },
    {
      slip: 'room that is no longer needed is not given back',
      text: '        this.#keeper?.give(spareBytes);',
      becomes: '',
    },
    {
      slip: 'onLost is not called for an unwritten event that is dropped',
      text: 'if (this.#first > this.#next) onLostOf(kept)?.();',
      becomes: '',
    },
    {
      slip: 'a lost answer is not replaced by an error',
      text: 'if (word !== undefined && this.#tryTake(keeper, word.length, true)) {',
      becomes: 'if (word === undefined) {',
    },
    {
      slip: 'a stream whose answer is lost can still be found',
      text: '        keeper.forget(this.#stream);',
      becomes: '',
    },
  ]),
  ...mutantsOf('src/relay/stream/stream-keeper.ts', KEEPING, [
    { slip: 'an event id with other characters behind it is accepted', text: '(\\d{1,15})$/', becomes: '(\\d{1,15})/' },
    { slip: 'two streams have the same number', text: '    this.#lastNumber += 2;', becomes: '' },
    {
      slip: 'a stream that was released is kept again when it ends',
      text: 'if (this.#isOver || isForgotten) stream.release();',
      becomes: 'if (this.#isOver) stream.release();',
    },
    {
      slip: 'a delivered stream is filed as delivered a second time',
      text: 'if (stream.isDelivered || !stream.isLinked) return;',
      becomes: '',
    },
    {
      slip: 'an undelivered stream cannot be found',
      text: '[this.#running, this.#undelivered, this.#delivered]) {',
      after: 'find(number: number): CallerStream | undefined {',
      becomes: '[this.#running, this.#delivered]) {',
    },
    {
      slip: 'an event that could never fit still evicts others',
      text: 'return bytes <= this.#options.resumptionBytesMax;',
      becomes: 'return bytes <= Infinity;',
    },
    {
      slip: 'delivered streams are not released to make room',
      text: 'if (this.#releaseFirst(this.#delivered, stream)) continue;',
      becomes: '',
    },
    {
      slip: 'events that are not answers evict undelivered streams',
      text: 'if (!isAnswer || !this.#releaseFirst(this.#undelivered, stream)) return false;',
      becomes: 'if (!this.#releaseFirst(this.#undelivered, stream)) return false;',
    },
    {
      slip: 'a stream is released to make room for itself',
      text: 'const stream = list.next === spared ? spared.next : list.next;',
      becomes: 'const stream = list.next;',
    },
    {
      slip: 'the bytes kept for a session still count after its end',
      text: '    this.give(this.#heldBytes);',
      becomes: '',
    },
    {
      slip: 'any number of delivered streams is kept',
      text: 'if (++this.#deliveredCount > limits.deliveredStreamsKept) this',
      becomes: 'if (++this.#deliveredCount < 0) this',
    },
    {
      slip: 'one session may keep any number of bytes',
      text: 'if (this.#heldBytes + bytes > this.#options.resumptionBytesMax) return false;',
      becomes: '',
    },
    {
      slip: 'kept events may fill the whole share of session bytes',
      text: 'const KEPT_FRACTION_MAX = 0.5;',
      becomes: 'const KEPT_FRACTION_MAX = 1;',
    },
    {
      slip: 'delivered streams are kept whatever their age',
      text: 'this.#releaseUntil(this.#delivered, nowMs - limits.deliveredStreamsKeptMs);',
      becomes: '',
    },
    {
      slip: 'undelivered streams are kept whatever their age',
      text: 'this.#releaseUntil(this.#undelivered, nowMs - this.#options.resumptionTimeMs);',
      becomes: '',
    },
    {
      slip: 'kept streams are swept only once',
      text: '    else this.#expiry?.restart();',
      after: 'if (isEmpty) this.#isSweeping = false;',
      becomes: '',
    },
    {
      slip: 'kept streams are never swept again once there were none',
      text: 'if (isEmpty) this.#isSweeping = false;',
      becomes: 'if (isEmpty) this.#isSweeping = true;',
    },
    {
      slip: 'young streams are released together with old ones',
      text: 'if (stream.keptSinceMs > sinceMs) return;',
      becomes: '',
    },
  ]),
  ...mutantsOf('src/relay/stream/kept-event.ts', KEEPING, [
    {
      slip: 'the size of a large event leaves out its data',
      text: 'for (const { length } of parts ?? []) bytes += length;',
      becomes: '',
    },
  ]),
];
