// The session stream: it belongs to no call, is opened by the client's GET, and carries what backends send unasked. A newer GET
// replaces an older one. Messages that a slow reader has not taken wait here, bounded: the oldest are dropped first, and the client is
// told how many it has missed. A client that can resume streams (2025-11-25) gets event ids, and has some time to come back for what
// was said meanwhile and for the last events written. Cold path.
//
//   closed, expected, lingering ── GET ──> open ── no room ──> blocked ── drained ──> open
//   closed ── about to be opened ──> expected ── not opened in time, session or process ends ──> closed
//   open, blocked ── a newer GET, the client is gone or has listened for long, session or process ends ──> closed
//   closed ── the client was there, and may come back ──> lingering ── its time, session or process ends ──> closed
//
// Waiting messages are lost when the stream closes, unless a newer GET takes its place at once.
import { encodeEventAfter, eventHeadText, keepAliveComment, primingText } from '../bytes/index.js';
import type { Account, Deadline, DeadlineWheel } from '../fair/index.js';
import { limits, errorsToBackends, type RpcError } from '../shared/index.js';
import type { AskingStream } from './asking/awaited-answers.js';
import type { Exchange } from '../exchange/index.js';
import { lossNotification, WRITTEN_BYTES_KEPT } from './replay-buffer.js';
import type { StreamKeeper } from './stream-keeper.js';

/**
 * Time that a backend's request on a session's stream waits for the client's `notifications/initialized`. After it, the backend's request
 * is refused.
 */
export const CLIENT_READY_MS_MAX = 5_000;

/** Time in which changes of backends' lists are combined into one notification. After it, a later change is another notification. */
export const LIST_CHANGES_MS = 50;

interface WaitingEvent {
  readonly position: number;
  readonly bytes: Buffer;
  readonly onLost: (() => void) | undefined;
}

type State = 'closed' | 'expected' | 'open' | 'blocked' | 'lingering';

/** An event that was written, as Latin-1 text. */
interface WrittenEvent {
  readonly position: number;
  readonly text: string;
}

export class SessionStream implements AskingStream {
  readonly #account: Account;
  readonly #deadlines: DeadlineWheel;
  readonly #onClosed: () => void;
  /** For `BackendRequests`: the session stream has no silence deadline of its own. */
  readonly onAsking: AskingStream['onAsking'];
  /** `undefined`: the client cannot resume streams. */
  readonly #keeper: StreamKeeper | undefined;
  #state: State = 'closed';
  /** Set while open or blocked. Blocked: it has no room until it has drained. */
  #exchange: Exchange | undefined;
  readonly #waiting: WaitingEvent[] = [];
  #waitingBytes = 0;
  #lostCount = 0;
  /** List changes of the current moment, by method; a notification that came only once keeps its bytes. */
  #changes: Map<string, Buffer> | undefined;
  #changeDeadline: Deadline | undefined;
  #lifeDeadline: Deadline | undefined;
  /** The position of the last event that was said. */
  #position = 0;
  /** Written events that may not have arrived; older ones, up to `#arrivedThrough`, are assumed to have arrived. */
  readonly #written: WrittenEvent[] = [];
  #writtenBytes = 0;
  #arrivedThrough = 0;
  #lingerDeadline: Deadline | undefined;
  readonly #isReady: () => boolean;
  /** Runs while a request to the client waits until the client is ready; everything said after it waits too. */
  #readyDeadline: Deadline | undefined;

  /**
   * @param onClosed called when the client has gone or its GET has lasted too long, but not when another GET has replaced it.
   * @param isReady whether the client may be sent requests, which it may not before it has said that it is ready (S29).
   */
  constructor(
    account: Account,
    deadlines: DeadlineWheel,
    onClosed: () => void,
    keeper?: StreamKeeper,
    onAsking: AskingStream['onAsking'] = () => undefined,
    isReady: () => boolean = () => true,
  ) {
    this.#account = account;
    this.#deadlines = deadlines;
    this.#onClosed = onClosed;
    this.#keeper = keeper;
    this.onAsking = onAsking;
    this.#isReady = isReady;
  }

  get isOpen(): boolean {
    return this.#state === 'open' || this.#state === 'blocked';
  }

  /** Whether the client receives what is said, or is about to open the stream for the first time. */
  get isOpenOrExpected(): boolean {
    return this.isOpen || this.#state === 'expected';
  }

  /** Whether the client receives what is said, now or later. */
  get isHeard(): boolean {
    return this.#state !== 'closed';
  }

  /** The client is about to open the stream: messages wait until it does, or until `expectNoMore`. */
  expect(): void {
    this.#transition(['closed'], 'expected');
  }

  /** The client has not opened the stream: waiting messages are lost. */
  expectNoMore(): void {
    if (this.#transition(['expected'], 'closed')) this.#dropAll();
  }

  /** @param position of the last event that the client received; `undefined` when it does not resume the stream. */
  open(exchange: Exchange, position?: number): void {
    if (exchange.isAborted) {
      exchange.reset();
      return;
    }
    this.#letGo();
    this.#transition(['closed', 'expected', 'lingering'], 'open');
    this.#lingerDeadline?.cancel();
    this.#exchange = exchange;
    exchange.onAbort = () => this.#onAbort(exchange);
    exchange.onDrain = () => this.#onDrain(exchange);
    exchange.openStream();
    // Bounded, because the next GET must show a token that is valid then, and is checked against the config of that time.
    this.#lifeDeadline = this.#deadlines.after(limits.sessionStreamMsMax, () => this.#onOld(exchange));
    const goneOnFrom = position !== undefined && position <= this.#position ? position : undefined;
    this.#putBack(goneOnFrom);
    // Some HTTP servers send the head only with the first bytes of the body.
    this.#write(this.#keeper === undefined ? keepAliveComment : this.#priming(goneOnFrom));
    this.#flush();
  }

  /** The client has said that it is ready. */
  onReady(): void {
    this.#readyDeadline?.cancel();
    this.#readyDeadline = undefined;
    this.#flush();
  }

  /** Ends the stream; nothing is said any more unless it is opened again. */
  end(): void {
    this.#changeDeadline?.cancel();
    this.#readyDeadline?.cancel();
    this.#tellChanges();
    this.#letGo();
    this.#close();
  }

  /** For `BackendRequests`. */
  get askingObstacle(): RpcError | undefined {
    return this.isOpenOrExpected ? undefined : errorsToBackends.clientHasNoStream;
  }

  ask(_id: Buffer, parts: readonly Buffer[], onLost: () => void): void {
    this.tell(parts, onLost);
  }

  withdraw(_id: Buffer, parts: readonly Buffer[]): void {
    this.tell(parts);
  }

  tell(parts: readonly Buffer[], onLost?: () => void): void {
    if (!this.isHeard) {
      onLost?.();
      return;
    }
    // Only requests to the client have an `onLost`.
    if (onLost !== undefined && !this.#isReady()) this.#awaitReadiness();
    this.#position += 1;
    const position = this.#position;
    const bytes = encodeEventAfter(this.#headText(position), Buffer.concat(parts));
    if (this.isOpen && !this.#isHeldBack && this.#waiting.length === 0) {
      this.#write(bytes);
      this.#remember(position, bytes);
      return;
    }
    const isTooLarge = bytes.length > limits.sessionStreamWaitingBytesMax;
    while (!isTooLarge && this.#waiting.length > 0 && !this.#hasRoomFor(bytes.length)) this.#dropOldest();
    if (!this.#hasRoomFor(bytes.length)) {
      this.#lostCount += 1;
      onLost?.();
      return;
    }
    this.#waiting.push({ position, bytes, onLost });
    this.#waitingBytes += bytes.length;
    this.#account.sessionBytes.take(bytes.length);
  }

  /**
   * A list has changed: sends one notification for all that say so within a moment.
   * @param bytes what a backend has said.
   */
  tellChanged(method: string, bytes?: Buffer): void {
    if (!this.isHeard) return;
    const isFirst = this.#changes === undefined;
    this.#changes ??= new Map();
    const isPlain = bytes === undefined || this.#changes.has(method) || bytes.length > limits.countedFromBytes;
    this.#changes.set(method, isPlain ? plainNotification(method) : Buffer.from(bytes));
    if (!isFirst) return;
    this.#changeDeadline = this.#deadlines.after(LIST_CHANGES_MS, () => this.#tellChanges());
  }

  #tellChanges(): void {
    const changes = this.#changes?.values() ?? [];
    this.#changes = undefined;
    for (const change of changes) this.tell([change]);
  }

  get #isHeldBack(): boolean {
    return this.#state === 'blocked' || this.#readyDeadline !== undefined;
  }

  /** Holds back requests until the client is ready; if it does not say so in time, they are lost. */
  #awaitReadiness(): void {
    this.#readyDeadline ??= this.#deadlines.after(CLIENT_READY_MS_MAX, () => {
      this.#readyDeadline = undefined;
      // Another process may have heard that the client is ready.
      if (this.#isReady()) return this.#flush();
      for (const event of this.#waiting.filter(({ onLost }) => onLost !== undefined)) {
        this.#waiting.splice(this.#waiting.indexOf(event), 1);
        this.#giveBack(event).onLost?.();
      }
      this.#flush();
    });
  }

  #write(bytes: Buffer): void {
    if (this.#exchange?.write(bytes) === false) this.#transition(['open'], 'blocked');
  }

  #flush(): void {
    while (this.isOpen && !this.#isHeldBack) {
      if (this.#lostCount > 0) {
        const before = (this.#waiting[0]?.position ?? this.#position + 1) - 1;
        this.#write(encodeEventAfter(this.#headText(before), lossNotification(this.#lostCount)));
        this.#lostCount = 0;
        continue;
      }
      const event = this.#takeWaiting();
      if (event === undefined) return;
      this.#write(event.bytes);
      this.#remember(event.position, event.bytes);
    }
  }

  #onDrain(exchange: Exchange): void {
    if (this.#exchange !== exchange) return;
    this.#transition(['blocked'], 'open');
    this.#flush();
  }

  #onAbort(exchange: Exchange): void {
    if (this.#exchange !== exchange) return;
    this.#transition(['open', 'blocked'], 'closed');
    this.#exchange = undefined;
    this.#lifeDeadline?.cancel();
    this.#linger();
  }

  #onOld(exchange: Exchange): void {
    if (this.#exchange !== exchange) return;
    this.#letGo();
    this.#linger();
  }

  /** The client has disconnected, or its GET has lasted too long; it may come back. */
  #linger(): void {
    if (this.#keeper === undefined) {
      this.#dropAll();
    } else {
      this.#transition(['closed'], 'lingering');
      this.#lingerDeadline ??= this.#deadlines.after(this.#keeper.resumptionTimeMs, () => this.#close());
      this.#lingerDeadline.restart();
    }
    this.#onClosed();
  }

  /** The client is not expected back: everything is dropped. */
  #close(): void {
    this.#transition(['expected', 'lingering'], 'closed');
    this.#lingerDeadline?.cancel();
    this.#dropAll();
    this.#forgetWritten(this.#position);
  }

  #headText(position: number): string {
    return this.#keeper === undefined ? eventHeadText : `${this.#idText(position)}${eventHeadText}`;
  }

  #idText(position: number): string {
    return `id: ${this.#keeper?.sessionStreamNumber}_${position}\n`;
  }

  /** The id from which a client can resume before there is an event, and how soon it may come back when the stream ends. */
  #priming(goneOnFrom: number | undefined): Buffer {
    const position = goneOnFrom ?? (this.#waiting[0]?.position ?? this.#position + 1) - 1;
    return Buffer.from(this.#idText(position) + primingText);
  }

  /** Keeps an event that was written but may not arrive. */
  #remember(position: number, bytes: Buffer): void {
    if (this.#keeper === undefined) return;
    const { sessionBytes } = this.#account;
    this.#written.push({ position, text: bytes.toString('latin1') });
    this.#writtenBytes += bytes.length;
    sessionBytes.take(bytes.length);
    while (this.#writtenBytes > WRITTEN_BYTES_KEPT) this.#forgetWritten(this.#written[0]?.position ?? position);
  }

  #forgetWritten(through: number): void {
    for (let event = this.#written[0]; event !== undefined && event.position <= through; event = this.#written[0]) {
      this.#written.shift();
      this.#writtenBytes -= event.text.length;
      this.#account.sessionBytes.give(event.text.length);
      this.#arrivedThrough = event.position;
    }
  }

  /** Queues the events written after this position to be written again. A client that does not resume has no claim to them. */
  #putBack(position: number | undefined): void {
    if (position === undefined || this.#keeper === undefined) {
      this.#forgetWritten(this.#position);
      return;
    }
    this.#lostCount += Math.max(0, this.#arrivedThrough - position);
    this.#forgetWritten(position);
    for (let event = this.#written.pop(); event !== undefined; event = this.#written.pop()) {
      this.#writtenBytes -= event.text.length;
      this.#waitingBytes += event.text.length;
      const bytes = Buffer.from(event.text, 'latin1');
      this.#waiting.unshift({ position: event.position, bytes, onLost: undefined });
    }
  }

  /** Ends the exchange, or resets it if it is blocked: a client that does not read would never reach the end. */
  #letGo(): void {
    const exchange = this.#exchange;
    if (exchange === undefined) return;
    this.#exchange = undefined;
    exchange.onAbort = undefined;
    exchange.onDrain = undefined;
    this.#lifeDeadline?.cancel();
    const wasBlocked = this.#state === 'blocked';
    this.#transition(['open', 'blocked'], 'closed');
    if (wasBlocked) exchange.reset();
    else exchange.end();
  }

  /** The one writer of the state. */
  #transition(from: readonly State[], to: State): boolean {
    if (!from.includes(this.#state)) return false;
    this.#state = to;
    return true;
  }

  #hasRoomFor(bytes: number): boolean {
    if (this.#waiting.length >= limits.sessionStreamWaitingMax) return false;
    if (this.#waitingBytes + bytes > limits.sessionStreamWaitingBytesMax) return false;
    return this.#account.sessionBytes.boundAgainst(bytes) === undefined;
  }

  #dropOldest(): void {
    this.#lostCount += 1;
    this.#takeWaiting()?.onLost?.();
  }

  #dropAll(): void {
    this.#lostCount = 0;
    for (let event = this.#takeWaiting(); event !== undefined; event = this.#takeWaiting()) event.onLost?.();
  }

  #takeWaiting(): WaitingEvent | undefined {
    const event = this.#waiting.shift();
    return event && this.#giveBack(event);
  }

  /** Gives back the room that the waiting event took. */
  #giveBack(event: WaitingEvent): WaitingEvent {
    this.#waitingBytes -= event.bytes.length;
    this.#account.sessionBytes.give(event.bytes.length);
    return event;
  }
}

function plainNotification(method: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","method":${JSON.stringify(method)}}`);
}
