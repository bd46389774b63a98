// The session stream: it belongs to no call, is opened by the client's GET, and carries what backends send unasked. A newer GET
// replaces an older one. Messages that a slow reader has not taken wait here, bounded: the oldest are dropped first, and the client is
// told how many it has missed. A client that can resume streams (2025-11-25) gets event ids, and has some time to come back for what
// was emitted meanwhile and for the last events written. Cold path.
//
//   closed, expected, lingering ── GET ──> open
//   closed ── about to be opened ──> expected ── not opened in time, session or process ends ──> closed
//   open ── the client is gone or has listened for long ──> lingering ── its time, session or process ends ──> closed
//   open ── the same, where it cannot resume; session or process ends ──> closed
//
// Waiting messages are lost when the stream closes, unless a newer GET takes its place at once.
import { type Account, type Deadline, type DeadlineWheel, wakeScheduler } from '../fair/index.js';
import { limits, errorsToBackends, type RpcError } from '../shared/index.js';
import type { AskingStream } from './asking/backend-requests.js';
import type { Exchange } from '../exchange/index.js';
import type { UpstreamSession } from '../upstream/index.js';
import { CallerStream, type StreamOwner } from './caller-stream.js';
import type { EventMemory } from './replay-buffer.js';
import type { StreamKeeper } from './stream-keeper.js';

/**
 * Time that a backend's request on a session's stream waits for the client's `notifications/initialized`. After that, the backend's request
 * is refused.
 */
export const CLIENT_READY_MS_MAX = 5_000;

/** Time in which changes of backends' lists are combined into one notification. After that, a later change is another notification. */
export const LIST_CHANGES_MS = 50;

/** Counts the events that a session's stream keeps, because they wait or may not have arrived, in the share of session bytes. */
class WaitingRoom implements EventMemory {
  readonly countMax = limits.sessionStreamWaitingMax;
  readonly #account: Account;
  #heldBytes = 0;

  constructor(account: Account) {
    this.#account = account;
  }

  mayHold(bytes: number): boolean {
    return bytes <= limits.sessionStreamWaitingBytesMax;
  }

  tryTake(bytes: number): boolean {
    const { sessionBytes } = this.#account;
    if (!this.mayHold(this.#heldBytes + bytes) || sessionBytes.boundAgainst(bytes) !== undefined) return false;
    this.#heldBytes += bytes;
    sessionBytes.take(bytes);
    return true;
  }

  give(bytes: number): void {
    this.#heldBytes -= bytes;
    this.#account.sessionBytes.give(bytes);
  }
}

/** Changes a session's stream that answers a request (`subscriptions/listen`) instead of a GET. */
export interface StreamAdapter {
  /** @returns what the client gets in place of the message; `undefined` for nothing. */
  adapt(message: Buffer): Buffer | undefined;
  /** The stream ends. @returns its last event, if it was opened. */
  onEnding(): Buffer | undefined;
  onEnded(): void;
}

type State = 'closed' | 'expected' | 'open' | 'lingering';

/** What the stream needs of its session. */
interface StreamedSession {
  readonly account: Account;
  /** `undefined`: the client cannot resume streams. */
  readonly streamKeeper: StreamKeeper | undefined;
  /** Whether the client may be sent requests, which it may not before it has said that it is ready (S29). */
  readonly isReady: boolean;
  readonly inFlight: { excuseSilence(upstream: UpstreamSession, isExcused: boolean): void };
}

export class SessionStream implements AskingStream, StreamOwner {
  readonly #session: StreamedSession;
  readonly #deadlines: DeadlineWheel;
  readonly #onClosed: () => void;
  readonly #adapter: StreamAdapter | undefined;
  readonly #events: CallerStream;
  #state: State = 'closed';
  /** When the current state ends, if its time is limited. */
  #stateEnd: Deadline | undefined;
  /** Notifications of list changes to be sent soon, by method; if one came only once, as the backend's own bytes. */
  #changes: Map<string, Buffer> | undefined;
  #changeDeadline: Deadline | undefined;
  /** Runs while a request to the client waits until the client is ready; everything emitted after it waits too. */
  #readyDeadline: Deadline | undefined;

  /** @param onClosed called when the client has gone, or its GET has lasted too long; not when another GET has replaced it. */
  constructor(session: StreamedSession, deadlines: DeadlineWheel, onClosed: () => void, adapter?: StreamAdapter) {
    this.#session = session;
    this.#deadlines = deadlines;
    this.#onClosed = onClosed;
    this.#adapter = adapter;
    const room = new WaitingRoom(session.account);
    this.#events = new CallerStream(this, undefined, session.streamKeeper, undefined, room);
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  /** Whether the client receives what is emitted, or is about to open the stream for the first time. */
  get isOpenOrExpected(): boolean {
    return this.isOpen || this.#state === 'expected';
  }

  /** Whether the client receives what is emitted, now or later. */
  get isHeard(): boolean {
    return this.#state !== 'closed';
  }

  /** The client is about to open the stream: messages wait until it does, for so long. */
  expect(forMs: number): void {
    if (this.#transition(['closed'], 'expected')) this.#endsAfter(forMs, () => this.#close());
  }

  /** For `CallerStream`: a `subscriptions/listen` has not asked for notifications of losses. */
  get hidesLosses(): boolean {
    return this.#adapter !== undefined;
  }

  /**
   * @param position of the last event that the client received; `undefined` when it does not resume the stream.
   * @param first what is written first.
   */
  open(exchange: Exchange, position?: number, first?: Buffer): void {
    if (exchange.isAborted) return;
    this.#transition(['closed', 'expected', 'lingering'], 'open');
    // Bounded, because the next GET must show a token that is valid then, and is checked against the config of that time.
    this.#endsAfter(limits.sessionStreamMsMax, () => {
      // Closes a stream with an adapter, whose last event must be written before the connection ends.
      this.#onGone();
      this.#events.endConnection();
    });
    const isKnown = position !== undefined && this.#events.hasEmitted(position);
    this.#events.attach(exchange, isKnown ? position : undefined, first);
  }

  /** The client has said that it is ready. */
  onReady(): void {
    this.#readyDeadline?.cancel();
    this.#readyDeadline = undefined;
    this.#events.holdBack(false);
  }

  /** Ends the stream; nothing is emitted any more unless it is opened again. */
  end(): void {
    this.#changeDeadline?.cancel();
    this.#readyDeadline?.cancel();
    this.#sendChanges();
    this.#close();
  }

  get askingObstacle(): RpcError | undefined {
    return this.isOpenOrExpected ? undefined : errorsToBackends.clientHasNoStream;
  }

  /** The stream has no silence deadline of its own: those of the session's calls to the backend stand still. */
  onAsking(isAsking: boolean, upstream: UpstreamSession): void {
    this.#session.inFlight.excuseSilence(upstream, isAsking);
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
    if (onLost !== undefined && !this.#session.isReady) this.#awaitReadiness();
    const message = Buffer.concat(parts);
    const adapted = this.#adapter === undefined ? message : this.#adapter.adapt(message);
    if (adapted !== undefined) this.#events.emit(adapted, onLost);
  }

  /**
   * Notifies the client that a list has changed; notifications close together are sent as one.
   * @param bytes the backend's notification; `undefined` if the gateway itself has noticed the change.
   */
  tellChanged(method: string, bytes?: Buffer): void {
    if (!this.isHeard) return;
    const isFirst = this.#changes === undefined;
    this.#changes ??= new Map();
    const isPlain = bytes === undefined || this.#changes.has(method) || bytes.length > limits.countedFromBytes;
    this.#changes.set(method, isPlain ? plainNotification(method) : Buffer.from(bytes));
    if (!isFirst) return;
    const { subject } = this.#session.account;
    // In turns, because a subject may listen thousands of times.
    const tell = (): void => wakeScheduler.run(subject, () => this.#sendChanges());
    this.#changeDeadline = this.#deadlines.after(LIST_CHANGES_MS, tell);
  }

  #sendChanges(): void {
    const changes = this.#changes?.values() ?? [];
    this.#changes = undefined;
    for (const change of changes) this.tell([change]);
  }

  /** Holds back requests until the client is ready; if it does not say so in time, they are lost. */
  #awaitReadiness(): void {
    if (this.#readyDeadline !== undefined) return;
    this.#events.holdBack(true);
    this.#readyDeadline = this.#deadlines.after(CLIENT_READY_MS_MAX, () => {
      // Another process may have heard that the client is ready.
      if (!this.#session.isReady) this.#events.dropWithCallback();
      this.onReady();
    });
  }

  /** For `CallerStream`: the client has disconnected. A `subscriptions/listen` then ends its session, so that thousands take turns. */
  onCallerDetached(): void {
    if (this.#adapter === undefined) this.#onGone();
    else wakeScheduler.run(this.#session.account.subject, () => this.#onGone());
  }

  /** The client has disconnected, or its GET has lasted too long: it may come back. */
  #onGone(): void {
    const { streamKeeper } = this.#session;
    if (streamKeeper === undefined) this.#close();
    else if (this.#transition(['open'], 'lingering'))
      this.#endsAfter(streamKeeper.resumptionTimeMs, () => this.#close());
    this.#onClosed();
  }

  /** The client is not expected back: everything is dropped. */
  #close(): void {
    if (!this.#transition(['expected', 'open', 'lingering'], 'closed')) return;
    this.#stateEnd?.cancel();
    this.#events.endConnection(this.#adapter?.onEnding());
    this.#events.dropAll();
    this.#adapter?.onEnded();
  }

  #endsAfter(ms: number, onEnd: () => void): void {
    this.#stateEnd?.cancel();
    this.#stateEnd = this.#deadlines.after(ms, onEnd);
  }

  /** The only method that sets the state. @returns whether the state was one of `from`. */
  #transition(from: readonly State[], to: State): boolean {
    if (!from.includes(this.#state)) return false;
    this.#state = to;
    return true;
  }
}

function plainNotification(method: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","method":${JSON.stringify(method)}}`);
}
