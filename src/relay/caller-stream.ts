// The event stream on which one call is answered. To a client that can go on with it (2025-11-25) every event has an id of
// ours, and what the client may not have is kept: the last bytes that were written, and what is said while it has no connection. A
// GET with the id of the last event that arrived brings the rest, once and in order. For others nothing outlives
// the connection. Hot: of an event of usual size one encoding, one write and one short string.
//
//   attached ──the connection broke──> detached ──GET: `attach`──> attached
//      └──────the last event written──> over, its tail kept; detached ──the last event said──> undelivered
import {
  encodeEvent,
  encodeEventAfter,
  encodeNumberedEvent,
  eventHeadText,
  keepAliveComment,
  primingText,
} from '../protocol/event-stream.js';
import { Fifo } from '../shared/fifo.js';
import { limits } from '../shared/limits.js';
import { rpcCodes } from '../shared/refusals.js';
import { ListNode } from '../shared/list-node.js';
import { errorMessage, type RpcError } from './answers.js';
import type { Exchange } from './exchange.js';
import { EventPieces } from './piece-source.js';
import { Sending } from './sending.js';
import { LARGE_BYTES_FROM, KeptEvent, lossNotification, LOST, type Kept } from './kept-event.js';
import type { StreamKeeper } from './stream-keeper.js';
import type { IdSpan } from '../upstream/rpc-request.js';

/** What a stream takes of the keeper's room at once. */
const TAKEN_BYTES_LEAST = 2_048;

export interface StreamOwner {
  /** The client's connection is gone, and with it what held the backend back. */
  onDetached(): void;
  onAttached(): void;
  /** There is room for more after it was blocked. */
  onRoom(): void;
}

const ANSWER_LOST: RpcError = {
  code: rpcCodes.refused,
  message: 'The answer came while the connection was broken, and is too large to be kept',
};

export class CallerStream extends ListNode {
  /** For `StreamKeeper`. */
  keptSinceMs = 0;
  isDelivered = false;
  /** Of its session's; 0 when it cannot be gone on with. */
  readonly number: number;
  /** Until the answer is said: what is kept then must not keep its request. */
  #owner: StreamOwner | undefined;
  readonly #keeper: StreamKeeper | undefined;
  #exchange: Exchange | undefined;
  /** The exchange takes no more for now, or a large event is on its way: what is said waits. */
  #isBlocked = false;
  /** The last event, which goes out with the end. */
  #last: Buffer | undefined;
  /** A large event on its way. */
  #sending: Sending | undefined;
  #isPrimed = false;
  #isEnding = false;
  #isFiled = false;
  /** Of the request, as JSON: for a word in place of an answer that cannot be kept. */
  #answerId: Buffer | undefined;
  /** Of the last event that was said, and of the next one to be written. */
  #position = 0;
  #next = 1;
  /** The events from this position on. */
  readonly #kept = new Fifo<Kept>();
  #first = 1;
  /** Those before this position count at the keeper. */
  #counted = 1;
  #countedBytes = 0;
  /** What the keeper has for them: taken in larger steps, because each costs. */
  #takenBytes = 0;
  /** Of the ids of its events. */
  readonly #idText: string;
  /** Unwritten ones that were dropped and not told of. */
  #lostCount = 0;

  /** Opens the exchange's stream. The exchange's end is the owner's to hear, and to hand on to `detach`. */
  constructor(owner: StreamOwner, exchange: Exchange, keeper: StreamKeeper | undefined) {
    super();
    this.#owner = owner;
    this.#keeper = keeper;
    this.number = keeper === undefined ? 0 : keeper.begin(this);
    this.#idText = keeper === undefined ? '' : `id: ${this.number}_`;
    this.#exchange = exchange;
    exchange.onDrain = () => this.#onDrain(exchange);
    exchange.openStream();
  }

  get isResumable(): boolean {
    return this.#keeper !== undefined;
  }

  /** Whether who says more should wait. */
  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  /** Whether an event of this position was said. */
  hasSaid(position: number): boolean {
    return position <= this.#position;
  }

  /** Whether the event of this position is the last there will ever be. */
  isCompleteAt(position: number): boolean {
    return this.#isEnding && position === this.#position;
  }

  /** Sends the head, and what a client needs to go on from there, before there is an event. */
  prime(): void {
    if (this.#isPrimed || this.#exchange === undefined) return;
    this.#isPrimed = true;
    // Some servers send the head with the first bytes only.
    this.#write(this.#keeper === undefined ? keepAliveComment : Buffer.from(this.#primingText(0)));
  }

  /**
   * @param data valid until this returns unless it is large.
   * @param onLost called when it will not reach the client, though the stream goes on.
   */
  say(data: Buffer, onLost?: () => void): void {
    if (this.#exchange === undefined && this.#keeper === undefined) return;
    if (data.length > LARGE_BYTES_FROM) {
      this.#sayLarge([data], onLost);
      return;
    }
    // What was lost was the latest there was when the client came back.
    if (this.#lostCount > 0 && this.#exchange !== undefined && !this.#isBlocked) this.#tellLoss();
    this.#position += 1;
    const event =
      this.#keeper === undefined
        ? encodeEvent(data)
        : encodeNumberedEvent(this.number, this.#position, !this.#isPrimed, data);
    this.#isPrimed = true;
    const isDue = this.#exchange !== undefined && !this.#isBlocked;
    if (isDue) {
      if (this.#isEnding && event.length <= limits.joinedEventBytesMax) this.#last = event;
      else this.#write(event);
      this.#next = this.#position + 1;
    }
    if (isDue && this.#keeper === undefined) {
      this.#first = this.#counted = this.#next;
      return;
    }
    this.#kept.push(this.#keepable(event, onLost));
    if (isDue || this.#exchange === undefined) this.#countAll();
    if (isDue) this.#trimWritten();
  }

  /**
   * The last event: the stream ends behind it.
   * @param parts may be large.
   * @param id of the request that it answers.
   */
  finish(parts: readonly Buffer[], id: IdSpan): void {
    this.#isEnding = true;
    this.#owner = undefined;
    // A copy: the request's memory is another's from here on.
    const isIdKept = this.#keeper !== undefined && id.end - id.start <= limits.keptIdBytesMax;
    if (isIdKept) this.#answerId = Buffer.from(id.bytes.subarray(id.start, id.end));
    let bytes = 0;
    for (const { length } of parts) bytes += length;
    const [only] = parts;
    if (bytes > LARGE_BYTES_FROM) this.#sayLarge(parts);
    else this.say(parts.length === 1 ? only! : Buffer.concat(parts));
    const exchange = this.#exchange;
    if (exchange !== undefined && !this.#isBlocked) this.#onAllWritten();
    else if (exchange !== undefined) this.#detachWith(exchange);
    this.#isFiled = true;
    this.#keeper?.finish(this, this.isDelivered);
  }

  /** The client's connection is gone. */
  detach(): void {
    if (this.#exchange === undefined) return;
    this.#forgetExchange();
    if (this.#keeper !== undefined) this.#countAll();
    else this.#dropUnwritten();
    this.#owner?.onDetached();
  }

  /**
   * Goes on behind an event that has been said, on another exchange; one that is open still is ended.
   * @param exchange not answered yet.
   */
  attach(exchange: Exchange, position: number): void {
    if (exchange.isAborted || this.#keeper === undefined) {
      exchange.reset();
      return;
    }
    const older = this.#exchange;
    const isOlderBlocked = this.#isBlocked;
    this.#forgetExchange();
    // One that does not read would never come to its end.
    if (isOlderBlocked) older?.reset();
    else older?.end();
    this.#countAll();
    this.#exchange = exchange;
    this.#detachWith(exchange);
    exchange.onDrain = () => this.#onDrain(exchange);
    exchange.openStream();
    this.#next = position + 1;
    this.#lostCount = 0;
    this.#write(Buffer.from(this.#primingText(position)));
    this.#owner?.onAttached();
    this.#pump();
  }

  /** For `StreamKeeper`: what stays for longer leaves the blocks of memory that it was cut from. */
  compact(): void {
    for (let index = 0; index < this.#kept.length; index += 1) {
      const kept = this.#kept.at(index);
      if (kept instanceof Buffer) this.#kept.replace(index, kept.toString('latin1'));
    }
  }

  /** For `StreamKeeper`: nothing is kept any more. What is being handed over still is. */
  release(): void {
    this.#keeper?.give(this.#takenBytes);
    this.#takenBytes = 0;
    this.#countedBytes = 0;
    this.#counted = this.#position + 1;
    // One that is over is nobody's any more.
    if (this.#exchange !== undefined || this.#isEnding) return;
    this.#kept.clear();
    this.#first = this.#counted;
  }

  #detachWith(exchange: Exchange): void {
    exchange.onAbort = () => {
      if (this.#exchange === exchange) this.detach();
    };
  }

  #headText(position: number): string {
    if (this.#keeper === undefined) return eventHeadText;
    const head = `${this.#idText}${position}\n${eventHeadText}`;
    return this.#isPrimed ? head : this.#primingText(0) + head;
  }

  #primingText(position: number): string {
    return `${this.#idText}${position}\n${primingText}`;
  }

  #write(bytes: Buffer): void {
    this.#isBlocked = this.#exchange?.write(bytes) === false;
  }

  #onDrain(exchange: Exchange): void {
    if (this.#exchange !== exchange) return;
    this.#isBlocked = false;
    this.#pump();
  }

  #forgetExchange(): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.#isBlocked = false;
    this.#sending?.cancel();
    this.#sending = undefined;
    if (exchange === undefined) return;
    exchange.onAbort = undefined;
    exchange.onDrain = undefined;
  }

  /** What nobody may come back for soon is what `compact` would make of it: all of a sweep's at once would take long. */
  #keepable(event: Buffer, onLost: (() => void) | undefined): Kept {
    if (onLost !== undefined) return new KeptEvent(event.toString('latin1'), undefined, onLost);
    return this.#exchange === undefined ? event.toString('latin1') : event;
  }

  #sayLarge(parts: readonly Buffer[], onLost?: () => void): void {
    if (this.#exchange === undefined && this.#keeper === undefined) return;
    this.#position += 1;
    this.#kept.push(new KeptEvent(this.#headText(this.#position), parts, onLost));
    this.#isPrimed = true;
    if (this.#exchange === undefined) this.#countAll();
    else if (!this.#isBlocked) this.#pump();
  }

  /** Writes what waits, until there is no room. */
  #pump(): void {
    while (this.#exchange !== undefined && !this.#isBlocked && this.#next <= this.#position) {
      if (this.#next < this.#first) {
        this.#lostCount += this.#first - this.#next;
        this.#next = this.#first;
        continue;
      }
      const kept = this.#kept.at(this.#next - this.#first) ?? LOST;
      if (kept === LOST) this.#lostCount += 1;
      else if (this.#lostCount > 0) {
        this.#tellLoss();
        continue;
      } else if (typeof kept === 'string') this.#write(Buffer.from(kept, 'latin1'));
      else if (Buffer.isBuffer(kept)) this.#write(kept);
      else if (kept.parts === undefined) this.#write(Buffer.from(kept.text, 'latin1'));
      else {
        this.#sendLarge(this.#exchange, kept.text, kept.parts);
        return;
      }
      this.#onWritten();
    }
    if (!this.#isBlocked && this.#exchange !== undefined) this.#onAllWritten();
  }

  /** The notice bears the id of the event before the next one: it is told again to who goes on from further back. */
  #tellLoss(): void {
    const data = lossNotification(this.#lostCount);
    this.#lostCount = 0;
    this.#write(encodeEventAfter(this.#headText(this.#next - 1), data));
  }

  #sendLarge(exchange: Exchange, head: string, parts: readonly Buffer[]): void {
    this.#isBlocked = true;
    const sending = (this.#sending = new Sending(exchange, () => {
      if (this.#exchange !== exchange) return;
      this.#sending = undefined;
      exchange.onDrain = () => this.#onDrain(exchange);
      this.#isBlocked = false;
      this.#onWritten();
      this.#pump();
    }));
    sending.add(new EventPieces(parts, head));
  }

  #onWritten(): void {
    this.#next += 1;
    if (this.#keeper === undefined) {
      this.#kept.shift();
      this.#first = this.#counted = this.#next;
      return;
    }
    this.#countAll();
    this.#trimWritten();
  }

  #onAllWritten(): void {
    const exchange = this.#exchange;
    if (!this.#isEnding) {
      this.#owner?.onRoom();
    } else if (exchange !== undefined) {
      const last = this.#last;
      this.#last = undefined;
      this.#forgetExchange();
      exchange.end(last);
      if (this.#isFiled) this.#keeper?.deliver(this);
      else this.isDelivered = true;
    }
  }

  /** Of what was written the last is kept, which may not have arrived; and the very last event, however large it is. */
  #trimWritten(): void {
    while (this.#kept.length > 1 && this.#first < this.#next - 1) {
      if (this.#countedBytes <= limits.writtenBytesKept && this.#kept.at(0) !== LOST) return;
      this.#dropFirst();
    }
  }

  /** The client cannot come back for it. */
  #dropUnwritten(): void {
    for (let index = this.#next - this.#first; index < this.#kept.length; index += 1) {
      onLostOf(this.#kept.at(index) ?? LOST)?.();
    }
    this.#kept.clear();
  }

  /** Has all of it that is not due on a connection count, the older making room for the newer. */
  #countAll(): void {
    const keeper = this.#keeper;
    const end = this.#exchange === undefined ? this.#position + 1 : this.#next;
    while (keeper !== undefined && this.#counted < end) {
      const kept = this.#kept.at(this.#counted - this.#first) ?? LOST;
      // What has no room when there is nothing else makes no room in vain, and nothing but an answer takes that of others.
      const mayBeHeld = keeper.mayHold(kept.length);
      const isAnswer = this.#isEnding && this.#counted === this.#position;
      if (mayBeHeld && this.#tryTake(keeper, kept.length, isAnswer && this.#first === this.#counted)) {
        this.#countedBytes += kept.length;
      } else if (mayBeHeld && this.#first < this.#counted) {
        this.#dropFirst();
        continue;
      } else {
        this.#lose(keeper, this.#counted);
      }
      this.#counted += 1;
    }
  }

  #tryTake(keeper: StreamKeeper, bytes: number, mayTakeFromOthers: boolean): boolean {
    const missingBytes = this.#countedBytes + bytes - this.#takenBytes;
    if (missingBytes <= 0) return true;
    let takenBytes = Math.max(missingBytes, TAKEN_BYTES_LEAST);
    if (!keeper.tryTake(takenBytes, this, false)) {
      takenBytes = missingBytes;
      if (!keeper.tryTake(takenBytes, this, mayTakeFromOthers)) return false;
    }
    this.#takenBytes += takenBytes;
    return true;
  }

  #dropFirst(): void {
    const kept = this.#kept.shift() ?? LOST;
    if (this.#first < this.#counted) {
      this.#countedBytes -= kept.length;
      const spareBytes = this.#takenBytes - this.#countedBytes;
      if (spareBytes > limits.writtenBytesKept) {
        this.#takenBytes -= spareBytes;
        this.#keeper?.give(spareBytes);
      }
    }
    this.#first += 1;
    if (this.#first > this.#next) onLostOf(kept)?.();
  }

  /** There is no room for it alone. A lost answer leaves a word in its place, or nothing of its stream is left. */
  #lose(keeper: StreamKeeper, position: number): void {
    const index = position - this.#first;
    const onLost = position >= this.#next ? onLostOf(this.#kept.at(index) ?? LOST) : undefined;
    this.#kept.replace(index, LOST);
    if (this.#isEnding && position === this.#position) {
      const word = this.#lostAnswer(position);
      if (word !== undefined && this.#tryTake(keeper, word.length, true)) {
        this.#kept.replace(index, word);
        this.#countedBytes += word.length;
      } else {
        keeper.forget(this);
      }
    }
    onLost?.();
  }

  #lostAnswer(position: number): string | undefined {
    const bytes = this.#answerId;
    if (bytes === undefined) return undefined;
    const answer = errorMessage({ bytes, start: 0, end: bytes.length }, ANSWER_LOST);
    return encodeEventAfter(this.#headText(position), answer).toString('latin1');
  }
}

function onLostOf(kept: Kept): (() => void) | undefined {
  return kept instanceof KeptEvent ? kept.onLost : undefined;
}
