// The event stream on which one call is answered. To a client that can go on with it (2025-11-25) every event has an id of
// ours, and what the client may not have is kept: the last bytes that were written, and what is said while it has no connection. A
// GET with the id of the last event that arrived brings the rest, once and in order. For others nothing outlives
// the connection. Hot: of an event of usual size one encoding, one write and one short string.
//
//   attached ── no room, or a large event is on its way ──> blocked ── room ──> attached
//   attached, blocked ── the connection broke or was replaced, all was written ──> detached ── GET: `attach` ──> attached
//
// Whether the last event was said is another matter: behind it the stream is delivered, or not yet, as its keeper has it.
import {
  encodeEvent,
  encodeEventAfter,
  encodeNumberedEvent,
  eventHeadText,
  keepAliveComment,
  primingText,
} from '../../protocol/event-stream.js';
import { limits } from '../../shared/limits.js';
import { rpcCodes } from '../../shared/refusals.js';
import { ListNode } from '../../shared/list-node.js';
import { errorMessage, type RpcError } from '../exchange/answers.js';
import type { Exchange } from '../exchange/exchange.js';
import { EventPieces } from '../exchange/piece-source.js';
import { Sending } from '../exchange/sending.js';
import { LARGE_BYTES_FROM, KeptEvent, lossNotification, LOST, type Kept } from './kept-event.js';
import { SaidEvents } from './said-events.js';
import type { StreamKeeper } from './stream-keeper.js';
import type { IdSpan } from '../../upstream/rpc/rpc-request.js';

export interface StreamOwner {
  /** The client's connection is gone, and with it what held the backend back. */
  onDetached(): void;
  onAttached(): void;
  /** There is room for more after it was blocked. */
  onRoom(): void;
}

const ANSWER_LOST: RpcError = {
  code: rpcCodes.refused,
  message: 'The response came while the connection was lost, and is too large to be kept',
};

type State = 'attached' | 'blocked' | 'detached';

export class CallerStream extends ListNode {
  /** For `StreamKeeper`. */
  keptSinceMs = 0;
  isDelivered = false;
  /** Of its session's; 0 when it cannot be gone on with. */
  readonly number: number;
  /** Until the answer is said: what is kept then must not keep its request. */
  #owner: StreamOwner | undefined;
  readonly #keeper: StreamKeeper | undefined;
  #state: State = 'attached';
  /** Unless it is detached. What is said while that takes no more waits. */
  #exchange: Exchange | undefined;
  /** The last event, which goes out with the end. */
  #last: Buffer | undefined;
  /** A large event on its way. */
  #sending: Sending | undefined;
  #isPrimed = false;
  #isEnding = false;
  #isFiled = false;
  /** Of the request, as JSON: for a word in place of an answer that cannot be kept. */
  #answerId: Buffer | undefined;
  readonly #said: SaidEvents;
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
    this.#said = new SaidEvents(keeper, this);
    this.#exchange = exchange;
    exchange.onDrain = () => this.#onDrain(exchange);
    exchange.openStream();
  }

  get isResumable(): boolean {
    return this.#keeper !== undefined;
  }

  /** Whether who says more should wait. */
  get isBlocked(): boolean {
    return this.#state === 'blocked';
  }

  /** Whether an event of this position was said. */
  hasSaid(position: number): boolean {
    return position <= this.#said.position;
  }

  /** Whether the event of this position is the last there will ever be. */
  isCompleteAt(position: number): boolean {
    return this.#isEnding && position === this.#said.position;
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
    if (this.#lostCount > 0 && this.#state === 'attached') this.#tellLoss();
    const position = this.#said.position + 1;
    const event =
      this.#keeper === undefined
        ? encodeEvent(data)
        : encodeNumberedEvent(this.number, position, !this.#isPrimed, data);
    this.#isPrimed = true;
    const isDue = this.#state === 'attached';
    if (isDue) {
      if (this.#isEnding && event.length <= limits.joinedEventBytesMax) this.#last = event;
      else this.#write(event);
    }
    if (isDue && this.#keeper === undefined) this.#said.pass();
    else this.#said.add(this.#keepable(event, onLost), isDue, this.#exchange !== undefined);
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
    if (this.#state === 'attached') this.#onAllWritten();
    else if (this.#exchange !== undefined) this.#detachWith(this.#exchange);
    this.#isFiled = true;
    this.#keeper?.finish(this, this.isDelivered);
  }

  /** The client's connection is gone. */
  detach(): void {
    if (this.#exchange === undefined) return;
    this.#forgetExchange();
    this.#said.onDetached();
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
    const isOlderBlocked = this.isBlocked;
    this.#forgetExchange();
    // One that does not read would never come to its end.
    if (isOlderBlocked) older?.reset();
    else older?.end();
    this.#said.onDetached();
    this.#transition('detached', 'attached');
    this.#exchange = exchange;
    this.#detachWith(exchange);
    exchange.onDrain = () => this.#onDrain(exchange);
    exchange.openStream();
    this.#said.goBackTo(position + 1);
    this.#lostCount = 0;
    this.#write(Buffer.from(this.#primingText(position)));
    this.#owner?.onAttached();
    this.#pump();
  }

  /** For `StreamKeeper`: what stays for longer leaves the blocks of memory that it was cut from. */
  compact(): void {
    this.#said.compact();
  }

  /** For `StreamKeeper`: nothing is kept any more. What is being handed over still is. */
  release(): void {
    // One that is over is nobody's any more.
    this.#said.release(this.#exchange === undefined && !this.#isEnding);
  }

  /** For `SaidEvents`. @returns what stands in the place of an answer that cannot be kept. */
  lostAnswer(position: number): string | undefined {
    const bytes = this.#answerId;
    if (bytes === undefined) return undefined;
    const answer = errorMessage({ bytes, start: 0, end: bytes.length }, ANSWER_LOST);
    return encodeEventAfter(this.#headText(position), answer).toString('latin1');
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
    if (this.#exchange?.write(bytes) === false) this.#transition('attached', 'blocked');
  }

  #onDrain(exchange: Exchange): void {
    if (this.#exchange !== exchange) return;
    this.#transition('blocked', 'attached');
    this.#pump();
  }

  #forgetExchange(): void {
    const exchange = this.#exchange;
    if (!this.#transition('attached', 'detached')) this.#transition('blocked', 'detached');
    this.#exchange = undefined;
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
    const kept = new KeptEvent(this.#headText(this.#said.position + 1), parts, onLost);
    this.#isPrimed = true;
    this.#said.add(kept, false, this.#exchange !== undefined);
    if (!this.isBlocked) this.#pump();
  }

  /** Writes what waits, until there is no room. */
  #pump(): void {
    while (this.#exchange !== undefined && this.#state === 'attached' && this.#said.isAnyUnwritten) {
      const droppedCount = this.#said.skipDropped();
      if (droppedCount > 0) {
        this.#lostCount += droppedCount;
        continue;
      }
      const kept = this.#said.unwritten;
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
      this.#said.onWritten();
    }
    if (this.#state === 'attached') this.#onAllWritten();
  }

  /** The notice bears the id of the event before the next one: it is told again to who goes on from further back. */
  #tellLoss(): void {
    const data = lossNotification(this.#lostCount);
    this.#lostCount = 0;
    this.#write(encodeEventAfter(this.#headText(this.#said.next - 1), data));
  }

  #sendLarge(exchange: Exchange, head: string, parts: readonly Buffer[]): void {
    this.#transition('attached', 'blocked');
    const sending = (this.#sending = new Sending(exchange, () => {
      if (this.#exchange !== exchange) return;
      this.#sending = undefined;
      exchange.onDrain = () => this.#onDrain(exchange);
      this.#transition('blocked', 'attached');
      this.#said.onWritten();
      this.#pump();
    }));
    sending.add(new EventPieces(parts, head));
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

  /** The one writer of the state. */
  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    return true;
  }
}
