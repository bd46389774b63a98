// The one event stream of a session with a server of the 2024-11-05 transport: it first names the URL to post messages to, and then carries
// every answer and whatever the server sends unasked. The session ends with its stream, and a new one is opened when it is next needed.
// Cold path: few servers use this transport.
//
//   asking ── 200 ──> naming ── `endpoint` event ──> open
//   asking, naming, open ── any other answer, end, fault, close ──> over
import { EventStreamParser, encodeEvent, idKey, type Scan } from '../../bytes/index.js';
import { readBackendMessage, type BackendMessage, readLargeBackendMessage } from '../../mcp/index.js';
import { type Deadline, wakeScheduler, type MessageHold, type RoomWaiter, type ShareBound } from '../../fair/index.js';
import { limits } from '../../shared/index.js';
import type { UpstreamTarget } from '../../user-config/index.js';
import {
  plainRequest,
  type HttpUpstream,
  type UpstreamCall,
  type UpstreamHandler,
  type UpstreamRequest,
  movedTarget,
  httpStatusFault,
  redirectFault,
  upstreamFault,
  type UpstreamFault,
} from '../../http-client/index.js';
import type { BackendEndpoint } from '../reach/backend-endpoints.js';
import type { IdSpan } from '../rpc/request-plan.js';
import type { UpstreamMeans } from '../upstream-context.js';
import { SseCall, STREAM_LOST, type CallsStream } from './sse-call.js';
import { ANSWERED_STREAM_MS_MAX } from '../rpc/rpc-request.js';

// The URL to which a server of the 2024-11-05 transport wants its messages posted, from its `endpoint` event (C27, C28). Cold path: once
// per stream.

/**
 * @param data of the event: an absolute or relative URL.
 * @param stream that the event came on: a relative URL is resolved against it, and the result must have its origin. Otherwise a server
 *   could have its callers' credentials sent to any address, bypassing the guards of its origin.
 */
function endpointTarget(data: Buffer, stream: UpstreamTarget): UpstreamTarget | UpstreamFault {
  if (data.length > limits.sseEndpointBytesMax) return upstreamFault('endpoint-missing');
  const text = data.toString().trim();
  const base = stream.origin + stream.path;
  if (text === '' || !URL.canParse(text, base)) return upstreamFault('endpoint-missing');
  const { origin, username, password, pathname, search } = new URL(text, base);
  if (origin !== stream.origin || username !== '' || password !== '') return upstreamFault('endpoint-elsewhere');
  return { origin, path: pathname + search };
}

interface SseStreamPlan {
  readonly subject: string;
  readonly target: UpstreamTarget;
  readonly endpoint: BackendEndpoint;
  /** The caller's headers for this backend, and credentials: name, value, … */
  readonly headers: readonly string[];
  readonly hasCredentials: boolean;
}

/** The owner of the session: at first the code that opens it, and then the upstream session. */
interface SseStreamOwner {
  /** The server has named its URL, so messages can be sent. Called once. @param cookies the `set-cookie` lines of its response. */
  onNamed?(cookies: string): void;
  /** The server has sent a message that answers no request, and there is no listener. @returns whether it was delivered to a client. */
  onUnheard?(bytes: Buffer, message: BackendMessage): boolean;
  /** The server has sent a request, and no client can be asked. */
  onUnasked?(bytes: Buffer, message: BackendMessage): void;
  /** The stream has ended without `close`. Called before the waiting calls are failed. */
  onLost(fault: UpstreamFault): void;
}

type State = 'asking' | 'naming' | 'open' | 'over';

export class SseStream implements UpstreamHandler, CallsStream, RoomWaiter {
  owner: SseStreamOwner;
  readonly #context: UpstreamMeans;
  readonly #plan: SseStreamPlan;
  #call: UpstreamCall;
  readonly #parser: EventStreamParser;
  #state: State = 'asking';
  /** Of the stream, and then of the messages: where the last redirect led, if there was one. */
  #target: UpstreamTarget;
  /** Calls that wait for an answer, by the keys of their ids. */
  readonly #waiting = new Map<string, SseCall>();
  /** Calls whose readers want no more data for now. */
  readonly #paused = new Set<SseCall>();
  /** Receives messages that answer no request. */
  #listener: UpstreamHandler | undefined;
  /** A large event that is being read; the events behind it wait. */
  #reading: Scan | undefined;
  #events: Buffer[] = [];
  /** The chunk being parsed: data inside it is valid only during the parse. */
  #chunk: Buffer | undefined;
  #room: MessageHold | undefined;
  #heardAtMs: number;
  /** The `set-cookie` lines of the response to the GET, until the place for messages is known. */
  #cookies = '';

  /** Requests the stream. The owner is never called synchronously. */
  constructor(context: UpstreamMeans, plan: SseStreamPlan, owner: SseStreamOwner) {
    this.#context = context;
    this.#plan = plan;
    this.#target = plan.target;
    this.owner = owner;
    this.#heardAtMs = context.nowMs();
    this.#parser = new EventStreamParser((data, event) => this.#onEvent(data, event), limits.upstreamMessageBytesMax);
    this.#call = this.#ask();
  }

  #ask(): UpstreamCall {
    const { subject, headers } = this.#plan;
    const shown = ['accept', 'text/event-stream', 'cache-control', 'no-cache', ...headers];
    return this.#context.streams.dispatch(plainRequest(subject, this.#target, 'GET', shown), this);
  }

  /** Where messages are posted, once the server has named it. */
  get target(): UpstreamTarget {
    return this.#target;
  }

  /** Whether the server has responded to the GET. */
  get isAnswered(): boolean {
    return this.#state !== 'asking';
  }

  /** An `HttpUpstream` that sends one request and delivers its answer. */
  wayOf(id: IdSpan): HttpUpstream {
    return {
      dispatch: (request, reader) => this.#dispatch(idKey(id.bytes, id.start, id.end), request, reader),
      close: async () => undefined,
    };
  }

  #dispatch(key: string, request: UpstreamRequest, reader: UpstreamHandler): UpstreamCall {
    const call = new SseCall(key, this, reader);
    if (this.#state !== 'open') call.failLater({ ...STREAM_LOST, isUnsent: true });
    else if (this.#waiting.has(key)) call.failLater(upstreamFault('id-in-use', true));
    else if (this.#waiting.size >= limits.sessionRequestsInFlightMax)
      call.failLater(upstreamFault('backend-busy', true));
    else {
      this.#waiting.set(key, call);
      call.post(this.#context.http, { ...request, target: this.#target });
    }
    return call;
  }

  /**
   * Delivers messages that answer no request, as a separate stream would.
   * @param reader replaces the previous listener.
   */
  listen(reader: UpstreamHandler): UpstreamCall {
    let isOver = false;
    process.nextTick(() => {
      if (isOver) return;
      if (this.#state !== 'open') return reader.onFault(STREAM_LOST);
      this.#listener = reader;
      reader.onHead(200, 'text/event-stream', '', -1, '');
    });
    const abort = (): void => {
      isOver = true;
      if (this.#listener === reader) this.#listener = undefined;
    };
    // Messages for a listener are small, and the listener drops what exceeds its bounds.
    return { isSent: true, abort, pause: () => undefined, resume: () => undefined };
  }

  /** Whether nothing was received for this long while no call waits: the connection may be dead without having been closed. */
  hasBeenSilentFor(ms: number): boolean {
    return this.#waiting.size === 0 && this.#context.nowMs() - this.#heardAtMs >= ms;
  }

  /** Closes the stream because it is no longer needed; calls that wait on it fail with `stream-lost`. */
  close(): void {
    if (this.#end(STREAM_LOST)) this.#call.abort();
  }

  onHead(status: number, contentType: string, _sessionId: string, _bodyBytes: number, hint: string): void {
    if (this.#state !== 'asking') return;
    this.#plan.endpoint.onAnswer(this.#context.deadlines.recentMs);
    if (status < 300) this.#cookies = hint;
    if (status < 300 && contentType === 'text/event-stream') this.#transition('asking', 'naming');
    else if (status >= 400) this.#lose(httpStatusFault(status));
    else if (status >= 300) this.#onRedirect(status, hint);
    else this.#lose(upstreamFault('answer-invalid'));
  }

  #onRedirect(status: number, location: string): void {
    const from = this.#target;
    if (from !== this.#plan.target || this.moved(status, location, from) === undefined)
      return this.#lose(redirectFault(status, location, from));
    this.#call.abort();
    this.#call = this.#ask();
  }

  /**
   * Called by `SseCall`. The place of messages is the session's own, so it is remembered here and not for all sessions with the backend.
   * @returns where a request is sent instead; `undefined` if it must not follow.
   */
  moved(status: number, location: string, from: UpstreamTarget): UpstreamTarget | undefined {
    const { endpoint, hasCredentials } = this.#plan;
    const to = movedTarget(status, location, from, hasCredentials);
    if (to === undefined) return undefined;
    endpoint.onForgiven('redirect');
    return (this.#target = to);
  }

  onData(chunk: Buffer): void {
    if (this.#state !== 'naming' && this.#state !== 'open') return;
    this.#heardAtMs = this.#context.nowMs();
    this.#chunk = chunk;
    const isSound = this.#parser.push(chunk);
    this.#chunk = undefined;
    const isTooLarge = this.#state === 'naming' && this.#parser.keptBytes > limits.sseEndpointBytesMax;
    if (!isSound || isTooLarge) this.#lose(upstreamFault(isTooLarge ? 'endpoint-missing' : 'answer-too-large'));
    else this.#count();
  }

  onEnd(): void {
    this.#lose(this.#state === 'naming' ? upstreamFault('endpoint-missing') : STREAM_LOST);
  }

  onFault(fault: UpstreamFault): void {
    this.#plan.endpoint.onFault(fault);
    this.#lose(this.#state === 'open' ? STREAM_LOST : fault);
  }

  /** Called by `SseCall`. */
  forget(call: SseCall): void {
    if (this.#waiting.get(call.key) === call) this.#waiting.delete(call.key);
    this.onPaused(call, false);
  }

  /** Called by `SseCall`. */
  onPaused(call: SseCall, isPaused: boolean): void {
    if (isPaused) this.#paused.add(call);
    else this.#paused.delete(call);
    this.#rest();
  }

  /** Called by `SseCall`. */
  cutLater(cut: () => void): Deadline {
    return this.#context.deadlines.after(ANSWERED_STREAM_MS_MAX, cut);
  }

  /** Called by `MessageHold`, like `onNoRoom`. */
  onRoom(): void {
    this.#rest();
  }

  onNoRoom(bound: ShareBound): void {
    this.#lose(upstreamFault(bound === 'subjectMax' ? 'answers-share-used' : 'answers-full'));
  }

  #onEvent(data: Buffer, event: string): void {
    if (this.#state === 'naming' && event === 'endpoint') return this.#onNamed(data);
    if (this.#state !== 'open') return;
    if (this.#reading !== undefined) this.#events.push(this.#owned(data));
    else if (data.length <= limits.readAtOnceBytesMax) this.#onMessage(data, readBackendMessage(data));
    else this.#readLarge(this.#owned(data));
  }

  #onNamed(data: Buffer): void {
    const target = endpointTarget(data, this.#plan.target);
    if ('kind' in target) return this.#lose(target);
    this.#transition('naming', 'open');
    this.#target = target;
    this.owner.onNamed?.(this.#cookies);
    this.#cookies = '';
  }

  #readLarge(data: Buffer): void {
    const onRead = (message: BackendMessage | undefined): void => {
      this.#reading = undefined;
      this.#onMessage(data, message);
      while (this.#reading === undefined && this.#events.length > 0) this.#onEvent(this.#events.shift()!, '');
      this.#count();
    };
    this.#reading = readLargeBackendMessage(this.#plan.subject, data, onRead, false, true);
    this.#rest();
  }

  #onMessage(data: Buffer, message: BackendMessage | undefined): void {
    if (this.#state !== 'open') return;
    if (message === undefined) return this.#plan.endpoint.onForgiven('heartbeat');
    if (message.kind === 'response') this.#onAnswer(data, message);
    else this.#onSaid(data, message);
  }

  /** An answer that matches no waiting call is ignored: it may be late or never requested. One chunk may contain hundreds of answers. */
  #onAnswer(data: Buffer, { idStart, idEnd }: BackendMessage): void {
    if (idStart === -1) return;
    const call = this.#waiting.get(idKey(data, idStart, idEnd));
    if (call === undefined) return;
    this.#waiting.delete(call.key);
    const owned = this.#owned(data);
    // Large answers are few, and are counted against memory as soon as they arrive.
    if (owned.length >= limits.countedFromBytes) call.answer(owned);
    else wakeScheduler.run(this.#plan.subject, () => call.answer(owned));
  }

  #onSaid(data: Buffer, message: BackendMessage): void {
    const isForListener = data.length <= limits.backendStreamEventBytesMax;
    if (this.#listener !== undefined && isForListener) return this.#listener.onData(encodeEvent(data));
    if (this.#listener === undefined) {
      if (this.owner.onUnheard?.(data, message) === true) return;
      const [only] = this.#waiting.values();
      // With several requests in flight it is unknown which one the message belongs to.
      if (only !== undefined && this.#waiting.size === 1) return only.tell(this.#owned(data));
    }
    if (message.kind === 'request') this.owner.onUnasked?.(data, message);
  }

  /** An event lies either in the current chunk, which is valid only now, or in memory of its own, which may be kept. */
  #owned(data: Buffer): Buffer {
    return data.buffer === this.#chunk?.buffer ? Buffer.from(data) : data;
  }

  /** Counts an incomplete event, and one that is being read, against memory. */
  #count(): void {
    if (this.#state === 'over') return;
    const bytes = this.#parser.keptBytes;
    if (bytes >= limits.countedFromBytes) this.#makeRoom(bytes);
    else if (this.#reading === undefined) this.#room?.release();
    this.#rest();
  }

  #makeRoom(bytes: number): void {
    this.#room ??= this.#context.answerMemory?.hold(this.#plan.subject, this);
    const outcome =
      this.#room?.grow(bytes, Math.min(2 * this.#room.heldBytes, limits.upstreamMessageBytesMax)) ?? 'room';
    if (outcome !== 'room' && outcome !== 'wait') this.onNoRoom(outcome);
  }

  /** Pauses or resumes reading, as the state requires. */
  #rest(): void {
    const isResting = this.#reading !== undefined || this.#paused.size > 0 || this.#room?.isWaiting === true;
    if (isResting) this.#call.pause();
    else this.#call.resume();
  }

  #lose(fault: UpstreamFault): void {
    if (this.#state === 'over') return;
    this.#call.abort();
    this.#end(fault, this.owner);
  }

  #end(fault: UpstreamFault, told?: SseStreamOwner): boolean {
    if (this.#state === 'over') return false;
    this.#transition(this.#state, 'over');
    this.#reading?.cancel();
    this.#events = [];
    this.#room?.release();
    told?.onLost(fault);
    for (const call of [...this.#waiting.values()]) call.lose(fault);
    const listener = this.#listener;
    this.#listener = undefined;
    listener?.onFault(fault);
    return true;
  }

  /** The only writer of the state. */
  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    return true;
  }
}
