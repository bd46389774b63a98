// An event stream to a caller: a call's, or a session's (session-stream.ts). If the client can resume it (2025-11-25), every event has an
// id, and what the client may have missed is kept: the last bytes written, and events without a connection. A GET with the id of the last
// event that arrived brings the rest, with a notice of how many were lost. While a connection is not writable, a call's sender waits, and a
// session's stream drops its oldest events. Hot path: one encoding, one write and one short string per event.
import {
  encodeEvent,
  encodeEventAfter,
  encodeNumberedEvent,
  eventHeadText,
  keepAliveComment,
  primingEventText,
} from '../bytes/index.js';
import { rpcErrors } from '../shared/index.js';
import { JOINED_EVENT_BYTES_MAX, errorMessage, type Exchange, EventPieces, PieceSender } from '../exchange/index.js';
import {
  LARGE_BYTES_FROM,
  KeptEvent,
  lossNotification,
  LOST_EVENT,
  type EventMemory,
  type KeptEventBytes,
  ReplayBuffer,
  requestPartOfEventId,
  requestOfPart,
} from './replay-buffer.js';
import type { StreamKeeper } from './stream-keeper.js';
import type { IdSpan } from '../upstream/index.js';

export interface StreamOwner {
  /** Called when the client's connection is gone, and with it the backpressure. */
  onCallerDetached(): void;
  onCallerAttached?(): void;
  onWritable?(): void;
  /** Whether the client gets no count of lost events. */
  readonly hidesLosses?: boolean;
}

export class CallerStream extends ReplayBuffer {
  /** When `StreamKeeper` put the stream into its present list, by the deadline wheel's clock. */
  listedSinceMs = 0;
  isDelivered = false;
  /** The stream's number in its session; 0 if it cannot be resumed. */
  readonly number: number;
  /** The owner, cleared with the answer: a kept stream must not keep its request. */
  #owner: StreamOwner | undefined;
  readonly #keeper: StreamKeeper | undefined;
  #exchange: Exchange | undefined;
  /** Whether events wait, because the connection is not writable or a large event is being written. Changed only here. */
  isBlocked = false;
  #lastEvent: Buffer | undefined;
  #pieceSender: PieceSender | undefined;
  /** Whether events wait even if the connection is writable. */
  #isPaused = false;
  #isPrimed: boolean;
  #isEnding = false;
  /** The beginning of each event's `id:` line: the stream's number, and the request's id if it is short enough. */
  readonly #idText: string;
  readonly #requestPart: string;
  /** Counts the kept events: the keeper, or for a session's stream a memory of its own. */
  readonly #memory: EventMemory | undefined;

  /**
   * @param exchange the call's, not opened yet; its owner calls `detach` when the caller goes. `undefined` for a session's stream.
   * @param keeper `undefined` if the client cannot resume.
   * @param id the id of the request that the last event answers; `undefined` for a session's stream.
   */
  constructor(
    owner: StreamOwner,
    exchange: Exchange | undefined,
    keeper: StreamKeeper | undefined,
    id: IdSpan | undefined,
    memory: EventMemory | undefined = keeper,
  ) {
    super(memory, id !== undefined);
    this.#owner = owner;
    this.#keeper = keeper;
    this.#memory = memory;
    this.#isPrimed = id === undefined;
    this.number = keeper === undefined ? 0 : id === undefined ? keeper.sessionStreamNumber : keeper.begin(this);
    this.#requestPart = keeper === undefined || id === undefined ? '' : requestPartOfEventId(id);
    this.#idText = keeper === undefined ? '' : `id: ${this.number}${this.#requestPart}_`;
    this.#exchange = exchange;
    if (exchange === undefined) return;
    exchange.onDrain = () => this.#onDrain(exchange);
    exchange.openStream();
  }

  override get isResumable(): boolean {
    return this.#keeper !== undefined;
  }

  get #isWriting(): boolean {
    return this.#exchange !== undefined && !this.isBlocked;
  }

  protected override get isSending(): boolean {
    return this.#pieceSender !== undefined;
  }

  override isCompleteAt(position: number): boolean {
    return this.#isEnding && position === this.lastPosition;
  }

  /** Sends the head, and an id to resume from, before there is an event. */
  prime(): void {
    if (this.#isPrimed || this.#exchange === undefined) return;
    this.#isPrimed = true;
    this.#write(this.#priming(0));
  }

  /** Sends an event. @param data valid until this returns unless it is large. @param onLost called if the client will not get the event. */
  emit(data: Buffer, onLost?: () => void): void {
    if (this.#exchange === undefined && this.#memory === undefined) return;
    if (data.length > LARGE_BYTES_FROM) {
      this.#emitLarge([data], onLost);
      return;
    }
    const position = this.lastPosition + 1;
    const event =
      this.#keeper === undefined
        ? encodeEvent(data)
        : encodeNumberedEvent(this.#idText, position, !this.#isPrimed, data);
    this.#isPrimed = true;
    const isDue = this.#isWriting && !this.#isPaused;
    if (isDue) {
      if (this.#isEnding && event.length <= JOINED_EVENT_BYTES_MAX) this.#lastEvent = event;
      else this.#write(event);
    }
    if (isDue && this.#keeper === undefined) this.skipEvent();
    else this.add(this.#keepable(event, onLost), isDue, this.#exchange !== undefined);
  }

  /** Sends the answer and ends. @param parts of the answer, which may be large. */
  finish(parts: readonly Buffer[]): void {
    this.#isEnding = true;
    this.#owner = undefined;
    let bytes = 0;
    for (const { length } of parts) bytes += length;
    const [only] = parts;
    if (bytes > LARGE_BYTES_FROM) this.#emitLarge(parts);
    else this.emit(parts.length === 1 ? only! : Buffer.concat(parts));
    this.#keeper?.finish(this);
    if (this.#isWriting) this.#onAllWritten();
    else if (this.#exchange !== undefined) this.#detachWith(this.#exchange);
  }

  detach(): void {
    if (this.#exchange === undefined) return;
    this.#forgetExchange();
    this.onDetached();
    this.#owner?.onCallerDetached();
  }

  /**
   * Continues on another exchange; the previous one is ended.
   * @param position that of the last event that arrived, which must have been emitted; `undefined` if the client does not resume.
   * @param priming the bytes to write first.
   */
  attach(exchange: Exchange, position?: number, priming = this.#priming(position ?? this.nextPosition - 1)): void {
    if (exchange.isAborted) {
      exchange.reset();
      return;
    }
    this.endConnection();
    this.#exchange = exchange;
    this.#detachWith(exchange);
    exchange.onDrain = () => this.#onDrain(exchange);
    exchange.openStream();
    if (position === undefined) this.forgetWritten();
    else this.resumeAfter(position);
    this.#write(priming);
    this.#owner?.onCallerAttached?.();
    this.#pump();
  }

  /** Ends the connection, or resets it if it is blocked: its client would never read the end. @param last bytes to end with. */
  endConnection(last?: Buffer): void {
    const exchange = this.#exchange;
    const isBlocked = this.isBlocked;
    this.#forgetExchange();
    if (isBlocked && last === undefined) exchange?.reset();
    else exchange?.end(last);
  }

  /** Makes events wait, or lets them go. @param isPaused whether events wait even if the connection is writable. */
  setPaused(isPaused: boolean): void {
    this.#isPaused = isPaused;
    this.#pump();
  }

  protected override onAnswerLost(): void {
    this.#keeper?.forget(this);
  }

  protected override lostAnswerError(position: number): string | undefined {
    const id = requestOfPart(this.#requestPart);
    if (id === undefined) return undefined;
    const answer = errorMessage(id, rpcErrors.answerTooLargeToResume);
    return encodeEventAfter(this.#eventHead(position), answer).toString('latin1');
  }

  #detachWith(exchange: Exchange): void {
    exchange.onAbort = () => {
      if (this.#exchange === exchange) this.detach();
    };
  }

  #eventHead(position: number): string {
    if (this.#keeper === undefined) return eventHeadText;
    const head = `${this.#idText}${position}\n${eventHeadText}`;
    return this.#isPrimed ? head : this.#primingText(0) + head;
  }

  #primingText(position: number): string {
    return `${this.#idText}${position}\n${primingEventText}`;
  }

  /** What is written first on each connection: some HTTP servers send the head of a response only together with bytes of its body. */
  #priming(position: number): Buffer {
    return this.#keeper === undefined ? keepAliveComment : Buffer.from(this.#primingText(position));
  }

  #write(bytes: Buffer): void {
    const exchange = this.#exchange;
    if (exchange?.write(bytes) === false && this.#exchange === exchange) this.isBlocked = true;
  }

  #onDrain(exchange: Exchange): void {
    if (this.#exchange !== exchange) return;
    this.isBlocked = false;
    this.#pump();
  }

  #forgetExchange(): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.isBlocked = false;
    this.#pieceSender?.cancel();
    this.#pieceSender = undefined;
    this.onCut();
    if (exchange === undefined) return;
    exchange.onAbort = undefined;
    exchange.onDrain = undefined;
  }

  /** The form in which an event is kept: bytes while there is a connection, which `compact` converts later; else a string at once. */
  #keepable(event: Buffer, onLost: (() => void) | undefined): KeptEventBytes {
    if (onLost !== undefined) return new KeptEvent(event.toString('latin1'), undefined, onLost);
    // A session's stream is not swept by `compact`, so its events are strings at once.
    return this.#exchange === undefined || this.#memory !== this.#keeper ? event.toString('latin1') : event;
  }

  #emitLarge(parts: readonly Buffer[], onLost?: () => void): void {
    const kept = new KeptEvent(this.#eventHead(this.lastPosition + 1), parts, onLost);
    this.#isPrimed = true;
    this.add(kept, false, this.#exchange !== undefined);
    this.#pump();
  }

  #pump(): void {
    let lostCount = 0;
    while (this.#exchange !== undefined && !this.isBlocked && !this.#isPaused) {
      lostCount += this.skipDropped();
      const kept = this.unwritten;
      if (kept === LOST_EVENT) lostCount += 1;
      else if (lostCount > 0) {
        this.#sendLossCount(lostCount);
        lostCount = 0;
        continue;
      } else if (kept === undefined) return this.#onAllWritten();
      else if (typeof kept === 'string') this.#write(Buffer.from(kept, 'latin1'));
      else if (Buffer.isBuffer(kept)) this.#write(kept);
      else if (kept.parts !== undefined) return this.#sendLarge(this.#exchange, kept.text, kept.parts);
      else if (kept.length > 0) this.#write(Buffer.from(kept.text, 'latin1'));
      this.onWritten();
    }
  }

  /** Sends the count of lost events, with the id before the next event's: a client that resumes before that id gets the count again. */
  #sendLossCount(lostCount: number): void {
    if (this.#owner?.hidesLosses === true) return;
    this.#write(encodeEventAfter(this.#eventHead(this.nextPosition - 1), lossNotification(lostCount)));
  }

  #sendLarge(exchange: Exchange, head: string, parts: readonly Buffer[]): void {
    this.isBlocked = true;
    this.#pieceSender = new PieceSender(exchange, new EventPieces(parts, head), () => {
      this.#pieceSender = undefined;
      exchange.onDrain = () => this.#onDrain(exchange);
      this.isBlocked = false;
      this.onWritten();
      this.#pump();
    });
    this.#pieceSender.start();
  }

  #onAllWritten(): void {
    const exchange = this.#exchange;
    if (!this.#isEnding) {
      this.#owner?.onWritable?.();
    } else if (exchange !== undefined) {
      const last = this.#lastEvent;
      this.#lastEvent = undefined;
      this.#forgetExchange();
      exchange.end(last);
      this.#keeper?.noteDelivered(this);
    }
  }
}
