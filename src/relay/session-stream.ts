// The stream of a session that belongs to no call, opened by the client's GET: what backends say unasked goes on it. A newer
// GET takes the place of an older one. What a slow reader has not taken waits here, bounded; the oldest goes first, and the
// client is told how much it has missed. Cold.
//
//   closed ──GET──> open ──newer GET──> open
//                    ├──the client goes away, or has listened for long──> closed: what waits is lost
//                    └──session or process ends──> over
import { encodeEvent, keepAliveComment } from '../protocol/event-stream.js';
import type { Account } from '../shared/accounts.js';
import type { Deadline, DeadlineWheel } from '../shared/deadline-wheel.js';
import { limits } from '../shared/limits.js';
import { rpcCodes } from '../shared/refusals.js';
import type { RpcError } from './answers.js';
import type { AskingStream } from './backend-requests.js';
import type { Exchange } from './exchange.js';

const NO_STREAM: RpcError = { code: rpcCodes.internalError, message: 'The client has no stream open to be asked on' };

interface WaitingEvent {
  readonly bytes: Buffer;
  readonly onLost: (() => void) | undefined;
}

export class SessionStream implements AskingStream {
  readonly #account: Account;
  readonly #deadlines: DeadlineWheel;
  readonly #onClosed: () => void;
  #exchange: Exchange | undefined;
  /** The exchange has no room until it says that it has drained. */
  #isBlocked = false;
  readonly #waiting: WaitingEvent[] = [];
  #waitingBytes = 0;
  #lostCount = 0;
  /** Changes of lists that have come within the moment, by method; what one backend alone said keeps its bytes. */
  readonly #changes = new Map<string, Buffer>();
  #changeDeadline: Deadline | undefined;
  #lifeDeadline: Deadline | undefined;

  /** @param onClosed called when the client went away, and not when another GET took its place. */
  constructor(account: Account, deadlines: DeadlineWheel, onClosed: () => void) {
    this.#account = account;
    this.#deadlines = deadlines;
    this.#onClosed = onClosed;
  }

  get isOpen(): boolean {
    return this.#exchange !== undefined;
  }

  open(exchange: Exchange): void {
    if (exchange.isAborted) return;
    this.#letGo();
    this.#exchange = exchange;
    exchange.onAbort = () => this.#onAbort(exchange);
    exchange.onDrain = () => this.#onDrain(exchange);
    exchange.openStream();
    // The next GET shows a token that is good then, and is held against the config of that moment.
    this.#lifeDeadline = this.#deadlines.after(limits.sessionStreamMsMax, () => this.#onOld(exchange));
    // Some servers send the head with the first bytes only.
    this.#write(keepAliveComment);
    this.#flush();
  }

  /** Ends it for good; nothing is said any more. */
  end(): void {
    this.#changeDeadline?.cancel();
    this.#changes.clear();
    this.#letGo();
    this.#dropAll();
  }

  /** For `BackendRequests`. */
  get askingObstacle(): RpcError | undefined {
    return this.isOpen ? undefined : NO_STREAM;
  }

  /** For `BackendRequests`: no call waits for it. */
  onAsking(): void {}

  tell(parts: readonly Buffer[], onLost?: () => void): void {
    if (!this.isOpen) {
      onLost?.();
      return;
    }
    const bytes = encodeEvent(Buffer.concat(parts));
    if (!this.#isBlocked && this.#waiting.length === 0) {
      this.#write(bytes);
      return;
    }
    const isTooLarge = bytes.length > limits.sessionStreamWaitingBytesMax;
    while (!isTooLarge && this.#waiting.length > 0 && !this.#hasRoomFor(bytes.length)) this.#dropOldest();
    if (!this.#hasRoomFor(bytes.length)) {
      this.#lostCount += 1;
      onLost?.();
      return;
    }
    this.#waiting.push({ bytes, onLost });
    this.#waitingBytes += bytes.length;
    this.#account.sessionBytes.take(bytes.length);
  }

  /** A list has changed at some backend: one notification for all that say so within a moment. */
  tellChanged(method: string, bytes: Buffer): void {
    if (!this.isOpen) return;
    const isFirst = this.#changes.size === 0;
    const isPlain = this.#changes.has(method) || bytes.length > limits.countedFromBytes;
    this.#changes.set(method, isPlain ? plainNotification(method) : Buffer.from(bytes));
    if (!isFirst) return;
    this.#changeDeadline = this.#deadlines.after(limits.listChangesMs, () => {
      const changes = [...this.#changes.values()];
      this.#changes.clear();
      for (const change of changes) this.tell([change]);
    });
  }

  #write(bytes: Buffer): void {
    this.#isBlocked = this.#exchange?.write(bytes) === false;
  }

  #flush(): void {
    while (this.isOpen && !this.#isBlocked) {
      if (this.#lostCount > 0) {
        this.#write(encodeEvent(lossNotification(this.#lostCount)));
        this.#lostCount = 0;
        continue;
      }
      const event = this.#takeWaiting();
      if (event === undefined) return;
      this.#write(event.bytes);
    }
  }

  #onDrain(exchange: Exchange): void {
    if (this.#exchange !== exchange) return;
    this.#isBlocked = false;
    this.#flush();
  }

  #onAbort(exchange: Exchange): void {
    if (this.#exchange !== exchange) return;
    this.#exchange = undefined;
    this.#isBlocked = false;
    this.#lifeDeadline?.cancel();
    this.#dropAll();
    this.#onClosed();
  }

  #onOld(exchange: Exchange): void {
    if (this.#exchange !== exchange) return;
    this.#letGo();
    this.#dropAll();
    this.#onClosed();
  }

  /** Ends the exchange. One that does not read would never come to its end. */
  #letGo(): void {
    const exchange = this.#exchange;
    if (exchange === undefined) return;
    this.#exchange = undefined;
    exchange.onAbort = undefined;
    exchange.onDrain = undefined;
    this.#lifeDeadline?.cancel();
    if (this.#isBlocked) exchange.cut();
    else exchange.end();
    this.#isBlocked = false;
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
    if (event === undefined) return undefined;
    this.#waitingBytes -= event.bytes.length;
    this.#account.sessionBytes.give(event.bytes.length);
    return event;
  }
}

function plainNotification(method: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","method":${JSON.stringify(method)}}`);
}

function lossNotification(lostCount: number): Buffer {
  const data = `${lostCount} messages of backends were lost: this stream was not read in time`;
  const params = { level: 'warning', logger: 'switchyard', data };
  return Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params }));
}
