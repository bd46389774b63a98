// The stream of a session that belongs to no call, opened by the client's GET: what backends say unasked goes on it. A newer
// GET takes the place of an older one. What a slow reader has not taken waits here, bounded; the oldest goes first, and the
// client is told how much it has missed. A client that can go on with a stream (2025-11-25) gets ids, and has some time to come
// back for what was said meanwhile, and for the last that was written. Cold.
//
//   closed, expected, lingering ── GET ──> open ── no room ──> blocked ── drained ──> open
//   closed ── about to be opened ──> expected ── not opened in time, session or process ends ──> closed
//   open, blocked ── a newer GET, the client is gone or has listened for long, session or process ends ──> closed
//   closed ── the client was there, and may come back ──> lingering ── its time, session or process ends ──> closed
//
// What waits is lost when it closes, unless somebody comes for it at once.
import { encodeEventAfter, eventHeadText, keepAliveComment, primingText } from '../../protocol/event-stream.js';
import type { Account } from '../../shared/accounts.js';
import type { Deadline, DeadlineWheel } from '../../shared/deadline-wheel.js';
import { limits } from '../../shared/limits.js';
import { rpcCodes } from '../../shared/refusals.js';
import type { RpcError } from '../exchange/answers.js';
import type { AskingStream } from '../asking/backend-requests.js';
import type { Exchange } from '../exchange/exchange.js';
import { lossNotification } from './kept-event.js';
import type { StreamKeeper } from './stream-keeper.js';

const NO_STREAM: RpcError = {
  code: rpcCodes.internalError,
  message: 'The client has no open stream on which it can be sent requests',
};

interface WaitingEvent {
  readonly position: number;
  readonly bytes: Buffer;
  readonly onLost: (() => void) | undefined;
}

type State = 'closed' | 'expected' | 'open' | 'blocked' | 'lingering';

/** One that was written, in Latin-1. */
interface WrittenEvent {
  readonly position: number;
  readonly text: string;
}

export class SessionStream implements AskingStream {
  readonly #account: Account;
  readonly #deadlines: DeadlineWheel;
  readonly #onClosed: () => void;
  /** For `BackendRequests`: it has no silence of its own. */
  readonly onAsking: AskingStream['onAsking'];
  /** `undefined`: the client cannot go on with a stream. */
  readonly #keeper: StreamKeeper | undefined;
  #state: State = 'closed';
  /** While it is open, or blocked: no room until it says that it has drained. */
  #exchange: Exchange | undefined;
  readonly #waiting: WaitingEvent[] = [];
  #waitingBytes = 0;
  #lostCount = 0;
  /** Changes of lists that have come within the moment, by method; what one backend alone said keeps its bytes. */
  #changes: Map<string, Buffer> | undefined;
  #changeDeadline: Deadline | undefined;
  #lifeDeadline: Deadline | undefined;
  /** Of the last event that was said. */
  #position = 0;
  /** What may not have arrived; older ones are taken for arrived, up to this position. */
  readonly #written: WrittenEvent[] = [];
  #writtenBytes = 0;
  #arrivedThrough = 0;
  #lingerDeadline: Deadline | undefined;
  readonly #isReady: () => boolean;
  /** Runs while what the client is asked waits until it is ready, and with it what is said behind. */
  #readyDeadline: Deadline | undefined;

  /**
   * @param onClosed called when the client went away, and not when another GET took its place.
   * @param isReady whether the client may be asked, which it is not before it has said so (S29).
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

  /** Whether the client hears what is said, or is about to open the stream for the first time. */
  get isOpenOrExpected(): boolean {
    return this.isOpen || this.#state === 'expected';
  }

  /** Whether what is said is heard, now or later. */
  get isHeard(): boolean {
    return this.#state !== 'closed';
  }

  /** The client is about to open it: until then, or until `expectNoMore`, what is said waits. */
  expect(): void {
    this.#transition(['closed'], 'expected');
  }

  /** The client has not come: what waits is lost. */
  expectNoMore(): void {
    if (this.#transition(['expected'], 'closed')) this.#dropAll();
  }

  /** @param position of the last event that the client got; `undefined` when it begins anew. */
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
    // The next GET shows a token that is good then, and is held against the config of that moment.
    this.#lifeDeadline = this.#deadlines.after(limits.sessionStreamMsMax, () => this.#onOld(exchange));
    const goneOnFrom = position !== undefined && position <= this.#position ? position : undefined;
    this.#putBack(goneOnFrom);
    // Some servers send the head with the first bytes only.
    this.#write(this.#keeper === undefined ? keepAliveComment : this.#priming(goneOnFrom));
    this.#flush();
  }

  /** The client has said that it is ready. */
  onReady(): void {
    this.#readyDeadline?.cancel();
    this.#readyDeadline = undefined;
    this.#flush();
  }

  /** Ends it; nothing is said any more unless it is opened again. */
  end(): void {
    this.#changeDeadline?.cancel();
    this.#readyDeadline?.cancel();
    this.#changes = undefined;
    this.#letGo();
    this.#close();
  }

  /** For `BackendRequests`. */
  get askingObstacle(): RpcError | undefined {
    return this.isOpenOrExpected ? undefined : NO_STREAM;
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
    // Nothing else is told with it than what the client is asked.
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

  /** A list has changed at some backend: one notification for all that say so within a moment. */
  tellChanged(method: string, bytes: Buffer): void {
    if (!this.isHeard) return;
    const isFirst = this.#changes === undefined;
    this.#changes ??= new Map();
    const isPlain = this.#changes.has(method) || bytes.length > limits.countedFromBytes;
    this.#changes.set(method, isPlain ? plainNotification(method) : Buffer.from(bytes));
    if (!isFirst) return;
    this.#changeDeadline = this.#deadlines.after(limits.listChangesMs, () => {
      const changes = this.#changes?.values() ?? [];
      this.#changes = undefined;
      for (const change of changes) this.tell([change]);
    });
  }

  get #isHeldBack(): boolean {
    return this.#state === 'blocked' || this.#readyDeadline !== undefined;
  }

  /** A client that never says that it is ready is not asked. */
  #awaitReadiness(): void {
    this.#readyDeadline ??= this.#deadlines.after(limits.clientReadyMsMax, () => {
      this.#readyDeadline = undefined;
      // Another process may have heard that it is.
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

  /** The client has disconnected, and may come back. */
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

  /** Nobody is waited for. */
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

  /** What a client needs to go on with the stream before there is an event, and when it ends by itself. */
  #priming(goneOnFrom: number | undefined): Buffer {
    const position = goneOnFrom ?? (this.#waiting[0]?.position ?? this.#position + 1) - 1;
    return Buffer.from(this.#idText(position) + primingText);
  }

  /** It was written, and may not arrive. */
  #remember(position: number, bytes: Buffer): void {
    if (this.#keeper === undefined) return;
    const { sessionBytes } = this.#account;
    this.#written.push({ position, text: bytes.toString('latin1') });
    this.#writtenBytes += bytes.length;
    sessionBytes.take(bytes.length);
    while (this.#writtenBytes > limits.writtenBytesKept) this.#forgetWritten(this.#written[0]?.position ?? position);
  }

  #forgetWritten(through: number): void {
    for (let event = this.#written[0]; event !== undefined && event.position <= through; event = this.#written[0]) {
      this.#written.shift();
      this.#writtenBytes -= event.text.length;
      this.#account.sessionBytes.give(event.text.length);
      this.#arrivedThrough = event.position;
    }
  }

  /** What was written behind this position is to be written again. Whoever begins anew has no claim to it. */
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

  /** Ends the exchange. One that does not read would never come to its end. */
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

  /** What it took of the room for what waits. */
  #giveBack(event: WaitingEvent): WaitingEvent {
    this.#waitingBytes -= event.bytes.length;
    this.#account.sessionBytes.give(event.bytes.length);
    return event;
  }
}

function plainNotification(method: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","method":${JSON.stringify(method)}}`);
}
