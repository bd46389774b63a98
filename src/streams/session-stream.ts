// The stream that a client opens with GET, for what backends send outside calls. A newer GET replaces an older one. Messages that are not
// read in time wait, bounded: the oldest are dropped, and the client is told how many. A client that can resume (2025-11-25) has some time
// to come back. Cold path.
//
//   closed, expected, lingering ── GET ──> open
//   closed ── about to be opened ──> expected ── not opened in time, session or process ends ──> closed
//   open ── the client is gone or has listened for long ──> lingering ── its time, session or process ends ──> closed
//   open ── the client cannot resume, and is gone or has listened for long; session or process ends ──> closed
//
// Waiting messages are lost when the stream closes, but not when a newer GET replaces it.
import { type Account, type Deadline, type DeadlineWheel, wakeScheduler } from '../fair/index.js';
import { limits, errorsToBackends, type RpcError } from '../shared/index.js';
import type { AskingStream } from './asking/backend-requests.js';
import type { Exchange } from '../exchange/index.js';
import type { UpstreamSession } from '../upstream/index.js';
import { CallerStream, type StreamOwner } from './caller-stream.js';
import type { EventMemory } from './replay-buffer.js';
import type { StreamKeeper } from './stream-keeper.js';

/** Time that a backend's request waits for the client's `notifications/initialized`. After that, it is refused. */
export const CLIENT_READY_MS_MAX = 5_000;

/** Time in which changes of lists become one notification. */
export const LIST_CHANGES_MS = 50;

/** Counts what the stream keeps in the share of session bytes. */
class StreamMemory implements EventMemory {
  readonly countMax = limits.sessionStreamWaitingMax;
  readonly #account: Account;
  #keptBytes = 0;

  constructor(account: Account) {
    this.#account = account;
  }

  mayKeep(bytes: number): boolean {
    return bytes <= limits.sessionStreamWaitingBytesMax;
  }

  tryTake(bytes: number): boolean {
    const { sessionBytes } = this.#account;
    if (!this.mayKeep(this.#keptBytes + bytes) || sessionBytes.boundExceededBy(bytes) !== undefined) return false;
    this.#keptBytes += bytes;
    sessionBytes.take(bytes);
    return true;
  }

  give(bytes: number): void {
    this.#keptBytes -= bytes;
    this.#account.sessionBytes.give(bytes);
  }
}

/** Changes a session's stream so that it answers a request (`subscriptions/listen`) instead of a GET. */
export interface StreamAdapter {
  /** @returns what the client gets in place of the message; `undefined` for nothing. */
  adapt(message: Buffer): Buffer | undefined;
  /** Called when the stream ends. @returns its last event, if it was opened. */
  onEnding(): Buffer | undefined;
  onEnded(): void;
}

type State = 'closed' | 'expected' | 'open' | 'lingering';

interface StreamedSession {
  readonly account: Account;
  /** Keeps streams for resumption; `undefined` if the client cannot resume any. */
  readonly streamKeeper: StreamKeeper | undefined;
  /** Whether the client is ready, so that it may be sent requests (S29). */
  readonly isReady: boolean;
  readonly inFlight: { excuseSilence(upstream: UpstreamSession, isExcused: boolean): void };
}

export class SessionStream implements AskingStream, StreamOwner {
  readonly #session: StreamedSession;
  readonly #deadlines: DeadlineWheel;
  readonly #onClosed: () => void;
  readonly #adapter: StreamAdapter | undefined;
  readonly #callerStream: CallerStream;
  #state: State = 'closed';
  #stateEnd: Deadline | undefined;
  /** Changed lists to be reported soon, by method, with the backend's own bytes if there was one notification. */
  #changes: Map<string, Buffer> | undefined;
  #changeDeadline: Deadline | undefined;
  /** Runs while a backend's request, and every event after that, waits for the client to be ready. */
  #readyDeadline: Deadline | undefined;

  /** @param onClosed called when the client has gone or its GET has lasted too long, not for another GET. */
  constructor(session: StreamedSession, deadlines: DeadlineWheel, onClosed: () => void, adapter?: StreamAdapter) {
    this.#session = session;
    this.#deadlines = deadlines;
    this.#onClosed = onClosed;
    this.#adapter = adapter;
    const memory = new StreamMemory(session.account);
    this.#callerStream = new CallerStream(this, undefined, session.streamKeeper, undefined, memory);
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  /** Whether the stream is open, or the client is about to open it, also for the first time. */
  get isOpenOrExpected(): boolean {
    return this.isOpen || this.#state === 'expected';
  }

  /** Whether the client receives what is emitted, now or later. */
  get isHeard(): boolean {
    return this.#state !== 'closed';
  }

  /** Called when the client is about to open the stream. @param forMs how long messages wait for that. */
  expect(forMs: number): void {
    if (this.#transition(['closed'], 'expected')) this.#endStateAfter(forMs, () => this.#close());
  }

  /** Whether the stream answers a `subscriptions/listen`, whose client gets no count of losses. */
  get hidesLosses(): boolean {
    return this.#adapter !== undefined;
  }

  /** Opens the stream. @param position of the last event received; `undefined` if the client does not resume. @param first sent first. */
  open(exchange: Exchange, position?: number, first?: Buffer): void {
    if (exchange.isAborted) return;
    this.#transition(['closed', 'expected', 'lingering'], 'open');
    // The stream ends after a while: the next GET needs a token and a config that are valid then.
    this.#endStateAfter(limits.sessionStreamMsMax, () => {
      // This comes before the connection ends, because an adapter writes a last event.
      this.#onClientGone();
      this.#callerStream.endConnection();
    });
    const isKnown = position !== undefined && this.#callerStream.hasEmitted(position);
    this.#callerStream.attach(exchange, isKnown ? position : undefined, first);
  }

  onReady(): void {
    this.#readyDeadline?.cancel();
    this.#readyDeadline = undefined;
    this.#callerStream.setPaused(false);
  }

  /** Ends the stream. Nothing is emitted any more unless it is opened again. */
  end(): void {
    this.#changeDeadline?.cancel();
    this.#sendChanges();
    this.#close();
    // If the stream is opened again, no request waits on it any more until the client is ready.
    this.onReady();
  }

  get askingObstacle(): RpcError | undefined {
    return this.isOpenOrExpected ? undefined : errorsToBackends.clientHasNoStream;
  }

  /** Stops the silence deadlines of the session's calls to the backend, while it asks. */
  onAskingChanged(isAsking: boolean, upstream: UpstreamSession): void {
    this.#session.inFlight.excuseSilence(upstream, isAsking);
  }

  ask(_id: Buffer, parts: readonly Buffer[], onLost: () => void): void {
    this.sendToClient(parts, onLost);
  }

  withdraw(_id: Buffer, parts: readonly Buffer[]): void {
    this.sendToClient(parts);
  }

  sendToClient(parts: readonly Buffer[], onLost?: () => void): void {
    if (!this.isHeard) {
      onLost?.();
      return;
    }
    if (onLost !== undefined && !this.#session.isReady) this.#awaitReadiness();
    const message = Buffer.concat(parts);
    const adapted = this.#adapter === undefined ? message : this.#adapter.adapt(message);
    if (adapted !== undefined) this.#callerStream.emit(adapted, onLost);
  }

  /** Reports a changed list. Changes close together become one notification. @param bytes the backend's notification, if it sent one. */
  reportListChange(method: string, bytes?: Buffer): void {
    if (!this.isHeard) return;
    const isFirst = this.#changes === undefined;
    this.#changes ??= new Map();
    const isPlain = bytes === undefined || this.#changes.has(method) || bytes.length > limits.countedFromBytes;
    this.#changes.set(method, isPlain ? plainNotification(method) : Buffer.from(bytes));
    if (!isFirst) return;
    const { subject } = this.#session.account;
    // The streams are written round robin, because a subject may have thousands.
    const tell = (): void => wakeScheduler.run(subject, () => this.#sendChanges());
    this.#changeDeadline = this.#deadlines.after(LIST_CHANGES_MS, tell);
  }

  #sendChanges(): void {
    const changes = this.#changes?.values() ?? [];
    this.#changes = undefined;
    for (const change of changes) this.sendToClient([change]);
  }

  /** Makes events wait until the client is ready; after a while without that, requests are dropped. */
  #awaitReadiness(): void {
    if (this.#readyDeadline !== undefined) return;
    this.#callerStream.setPaused(true);
    this.#readyDeadline = this.#deadlines.after(CLIENT_READY_MS_MAX, () => {
      // A session that another process has served counts as ready: then nothing is dropped.
      if (!this.#session.isReady) this.#callerStream.dropWithCallback();
      this.onReady();
    });
  }

  /** Called when the client has disconnected. A `subscriptions/listen` then ends its session, so thousands are served round robin. */
  onCallerDetached(): void {
    if (this.#adapter === undefined) this.#onClientGone();
    else wakeScheduler.run(this.#session.account.subject, () => this.#onClientGone());
  }

  #onClientGone(): void {
    const { streamKeeper } = this.#session;
    if (streamKeeper === undefined) this.#close();
    else if (this.#transition(['open'], 'lingering'))
      this.#endStateAfter(streamKeeper.resumptionTimeMs, () => this.#close());
    this.#onClosed();
  }

  #close(): void {
    if (!this.#transition(['expected', 'open', 'lingering'], 'closed')) return;
    this.#stateEnd?.cancel();
    this.#callerStream.endConnection(this.#adapter?.onEnding());
    this.#callerStream.dropAll();
    this.#adapter?.onEnded();
  }

  #endStateAfter(ms: number, onEnd: () => void): void {
    this.#stateEnd?.cancel();
    this.#stateEnd = this.#deadlines.after(ms, onEnd);
  }

  #transition(from: readonly State[], to: State): boolean {
    if (!from.includes(this.#state)) return false;
    this.#state = to;
    return true;
  }
}

function plainNotification(method: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","method":${JSON.stringify(method)}}`);
}
