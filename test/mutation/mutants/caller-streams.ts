// Slips in streams that outlive their connection: what is kept of them, for how long, and what a returning client gets.
import { mutantsOf, type Mutant } from '../mutant.js';

const KEEPING = ['relay/stream/stream-keeper', 'relay/stream/caller-stream'];

export const callerStreamMutants: readonly Mutant[] = [
  ...mutantsOf('src/relay/stream/caller-stream.ts', KEEPING, [
    {
      slip: 'an id that was never given out names an event',
      text: 'return position <= this.#replay.position;',
      becomes: 'return position <= this.#replay.position + 1;',
    },
    {
      slip: 'a stream is complete before its answer',
      text: 'return this.#isEnding && position === this.#replay.position;',
      becomes: 'return position === this.#replay.position;',
    },
    {
      slip: 'a stream begins twice',
      text: '    this.#isPrimed = true;',
      after: 'if (this.#isPrimed || this.#exchange === undefined) return;',
      becomes: '',
    },
    {
      slip: 'what is said while nobody reads is written on',
      text: "const isDue = this.#state === 'attached';",
      becomes: 'const isDue = this.#exchange !== undefined;',
    },
    {
      slip: 'what was written is kept without ids',
      text: 'if (isDue && this.#keeper === undefined) this.#replay.pass();',
      becomes: 'if (isDue && this.#keeper === undefined) this.#replay.add(event, true, true);',
    },
    {
      slip: 'an id of any length is kept for a word',
      text: ' && id.end - id.start <= limits.keptIdBytesMax;',
      becomes: ';',
    },
    {
      slip: 'the id of the request is kept in memory that is another’s',
      text: 'this.#answerId = Buffer.from(id.bytes.subarray(id.start, id.end));',
      becomes: 'this.#answerId = id.bytes.subarray(id.start, id.end);',
    },
    {
      slip: 'the owner does not hear that its client is gone',
      text: '    this.#owner?.onDetached();',
      becomes: '',
    },
    {
      slip: 'an older connection that does not read is ended in order, which never comes',
      text: 'if (isOlderBlocked) older?.reset();',
      becomes: 'if (older === exchange) older?.reset();',
    },
    {
      slip: 'an event comes twice',
      text: 'this.#replay.goBackTo(position + 1);',
      becomes: 'this.#replay.goBackTo(position);',
    },
    {
      slip: 'a loss from before is told again',
      text: '    this.#lostCount = 0;',
      after: 'this.#replay.goBackTo(position + 1);',
      becomes: '',
    },
    { slip: 'the owner does not hear that its client is back', text: '    this.#owner?.onAttached();', becomes: '' },
    {
      slip: 'what waits is not written to who comes back',
      text: '    this.#pump();',
      after: 'this.#owner?.onAttached();',
      becomes: '',
    },
    {
      slip: 'what is being handed over is dropped',
      text: 'this.#replay.release(this.#exchange === undefined && !this.#isEnding);',
      becomes: 'this.#replay.release(true);',
    },
    {
      slip: 'a large event goes on to a connection that was replaced',
      text: '    this.#sending?.cancel();',
      becomes: '',
    },
    {
      slip: 'a gap is not counted',
      text: 'this.#lostCount += droppedCount;',
      becomes: '',
    },
    {
      slip: 'a loss that comes last is told by nothing that is said then',
      text: "if (this.#lostCount > 0 && this.#state === 'attached') this.#tellLoss();",
      becomes: '',
    },
    {
      slip: 'a loss is not told',
      text: 'else if (this.#lostCount > 0) {',
      becomes: 'else if (this.#lostCount < 0) {',
    },
    {
      slip: 'a loss is told once for each event',
      text: '    this.#lostCount = 0;',
      after: 'const data = lossNotification(this.#lostCount);',
      becomes: '    this.#lostCount -= 1;',
    },
    {
      slip: 'a stream whose answer went out counts as one that nobody has fetched',
      text: 'else this.isDelivered = true;',
      becomes: '',
    },
    {
      slip: 'an answer that is fetched later counts as one that nobody has fetched',
      text: 'if (this.#isFiled) this.#keeper?.deliver(this);',
      becomes: 'if (this.#isFiled) this.isDelivered = false;',
    },
    {
      slip: 'nobody is told that there is room again',
      text: '      this.#owner?.onRoom();',
      becomes: '',
    },
  ]),
  ...mutantsOf('src/relay/stream/replay-buffer.ts', KEEPING, [
    {
      slip: 'what is said to nobody counts nowhere',
      text: 'else if (!isAttached) this.#countTo(this.#position + 1);',
      becomes: '',
    },
    { slip: 'all that was written is kept', text: '    if (isWritten) this.#trimWritten();', becomes: '' },
    {
      slip: 'what a client cannot come back for is not told of',
      text: '    else this.#dropUnwritten();',
      becomes: '',
    },
    {
      slip: 'what stays for long is read as characters',
      text: "if (kept instanceof Buffer) this.#kept.replace(index, kept.toString('latin1'));",
      becomes: "if (kept instanceof Buffer) this.#kept.replace(index, kept.toString('utf8'));",
    },
    {
      slip: 'what is released still counts',
      text: '    this.#keeper?.give(this.#takenBytes);',
      becomes: '',
    },
    {
      slip: 'nothing of what was written is kept',
      text: 'if (this.#countedBytes <= limits.writtenBytesKept && this.#kept.at(0) !== LOST) return;',
      becomes: '',
    },
    {
      slip: 'not even the very last event is kept',
      text: 'while (this.#kept.length > 1 && this.#first < this.#next - 1) {',
      becomes: 'while (this.#kept.length > 0 && this.#first < this.#next) {',
    },
    {
      slip: 'what is to be written is trimmed as well',
      text: ' && this.#first < this.#next - 1) {',
      becomes: ') {',
    },
    {
      slip: 'an answer takes no room of others',
      text: 'isAnswer && this.#first === this.#counted)',
      becomes: 'isAnswer && this.#first < this.#counted)',
    },
    {
      slip: 'the older makes no room for the newer',
      text: '} else if (mayBeHeld && this.#first < this.#counted) {',
      becomes: '} else if (mayBeHeld && this.#first > this.#counted) {',
    },
    {
      slip: 'room that was taken is taken again',
      text: 'const missingBytes = this.#countedBytes + bytes - this.#takenBytes;',
      becomes: 'const missingBytes = bytes;',
    },
    {
      slip: 'what is dropped still counts',
      text: 'this.#countedBytes -= kept.length;',
      becomes: '',
    },
    {
      slip: 'room that is no longer needed is not given back',
      text: '        this.#keeper?.give(spareBytes);',
      becomes: '',
    },
    {
      slip: 'who said what is dropped is not told',
      text: 'if (this.#first > this.#next) onLostOf(kept)?.();',
      becomes: '',
    },
    {
      slip: 'a lost answer leaves nothing in its place',
      text: 'if (word !== undefined && this.#tryTake(keeper, word.length, true)) {',
      becomes: 'if (word === undefined) {',
    },
    {
      slip: 'a stream whose answer is lost looks as if it were there',
      text: '        keeper.forget(this.#stream);',
      becomes: '',
    },
  ]),
  ...mutantsOf('src/relay/stream/stream-keeper.ts', KEEPING, [
    { slip: 'an id has anything behind it', text: '(\\d{1,15})$/', becomes: '(\\d{1,15})/' },
    { slip: 'two streams have one number', text: '    this.#lastNumber += 2;', becomes: '' },
    {
      slip: 'one that was released is kept again when it ends',
      text: 'if (this.#isOver || isForgotten) stream.release();',
      becomes: 'if (this.#isOver) stream.release();',
    },
    {
      slip: 'an answer counts as delivered twice',
      text: 'if (stream.isDelivered || !stream.isLinked) return;',
      becomes: '',
    },
    {
      slip: 'an answer that nobody has fetched cannot be found',
      text: '[this.#running, this.#undelivered, this.#delivered]) {',
      after: 'find(number: number): CallerStream | undefined {',
      becomes: '[this.#running, this.#delivered]) {',
    },
    {
      slip: 'nothing is too large to make room for',
      text: 'return bytes <= this.#options.resumptionBytesMax;',
      becomes: 'return bytes <= Infinity;',
    },
    {
      slip: 'what was delivered does not go first',
      text: 'if (this.#releaseFirst(this.#delivered, stream)) continue;',
      becomes: '',
    },
    {
      slip: 'whatever is said takes the room of answers',
      text: 'if (!isAnswer || !this.#releaseFirst(this.#undelivered, stream)) return false;',
      becomes: 'if (!this.#releaseFirst(this.#undelivered, stream)) return false;',
    },
    {
      slip: 'a stream makes room by its own end',
      text: 'const stream = list.next === spared ? spared.next : list.next;',
      becomes: 'const stream = list.next;',
    },
    {
      slip: 'what a session has kept outlives it',
      text: '    this.give(this.#heldBytes);',
      becomes: '',
    },
    {
      slip: 'any number of delivered streams is kept',
      text: 'if (++this.#deliveredCount > limits.deliveredStreamsKept) this',
      becomes: 'if (++this.#deliveredCount < 0) this',
    },
    {
      slip: 'one session keeps as much as it likes',
      text: 'if (this.#heldBytes + bytes > this.#options.resumptionBytesMax) return false;',
      becomes: '',
    },
    {
      slip: 'what is kept takes all of the share',
      text: 'const KEPT_FRACTION_MAX = 0.5;',
      becomes: 'const KEPT_FRACTION_MAX = 1;',
    },
    {
      slip: 'delivered streams are kept as long as the others',
      text: 'this.#releaseUntil(this.#delivered, nowMs - limits.deliveredStreamsKeptMs);',
      becomes: '',
    },
    {
      slip: 'what nobody fetches is kept for ever',
      text: 'this.#releaseUntil(this.#undelivered, nowMs - this.#options.resumptionTimeMs);',
      becomes: '',
    },
    {
      slip: 'it is swept once',
      text: '    else this.#expiry?.restart();',
      after: 'if (isEmpty) this.#isSweeping = false;',
      becomes: '',
    },
    {
      slip: 'it is never swept again once it was empty',
      text: 'if (isEmpty) this.#isSweeping = false;',
      becomes: 'if (isEmpty) this.#isSweeping = true;',
    },
    {
      slip: 'what is young goes as well',
      text: 'if (stream.keptSinceMs > sinceMs) return;',
      becomes: '',
    },
  ]),
  ...mutantsOf('src/relay/stream/kept-event.ts', KEEPING, [
    {
      slip: 'a large event weighs as much as its head',
      text: 'for (const { length } of parts ?? []) bytes += length;',
      becomes: '',
    },
  ]),
];
