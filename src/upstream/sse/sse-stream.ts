// The one event stream of a session with a server of the 2024-11-05 transport: it first names the URL to post messages to, and then carries
// every answer and whatever the server sends unasked. The session ends with its stream, and a new one is opened when it is next needed.
// Cold path: few servers use this transport.
//
//   asking ── 200 ──> naming ── `endpoint` event ──> open
//   asking, naming, open ── any other answer, end, fault, close ──> over
import { EventStreamParser, encodeEvent, idKey, type Scan } from '../../bytes/index.js';
import { readBackendMessage, type BackendMessage, readLargeBackendMessage } from '../../mcp/index.js';
import { wakeScheduler, type MessageHold, type RoomWaiter, type ShareBound } from '../../fair/index.js';
import { limits } from '../../shared/index.js';
import type { UpstreamTarget } from '../../user-config/index.js';
import {
  plainRequest,
  type UpstreamCall,
  type UpstreamHandler,
  type UpstreamRequest,
  movedTarget,
  httpStatusFault,
  redirectFault,
  upstreamFault,
  type UpstreamFault,
} from '../../http-client/index.js';
import type { IdSpan, RequestPlan, SharedStream, SharedStreamReader } from '../rpc/request-plan.js';
import type { UpstreamMeans } from '../upstream-context.js';

const STREAM_LOST = upstreamFault('stream-lost');
/** The call of a request that was not sent. */
const NO_CALL: UpstreamCall = Object.freeze({ isSent: false, abort: ignore, pause: ignore, resume: ignore });

/**
 * The URL to which the server wants messages posted, from its `endpoint` event (C27, C28).
 * @param data of the event: an absolute or relative URL.
 * @param stream where the event came from: a relative URL is resolved against it, and the result must have its origin. Otherwise a server
 *   could have its callers' credentials sent to any address, past the checks of its origin.
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

type SseStreamPlan = Pick<RequestPlan, 'subject' | 'target' | 'endpoint' | 'headers' | 'isUnauthorizedFault'>;

function ignore(): void {}

function keyOf({ bytes, start, end }: IdSpan): string {
  return idKey(bytes, start, end);
}

/** The owner of the session: at first the code that opens it, and then the upstream session. */
interface SseStreamOwner {
  /** The server has sent its `endpoint` event; called once. @param cookies the `set-cookie` lines of its response. */
  onEndpoint?(cookies: string): void;
  /** The server has sent a message that answers no request, and there is no listener. @returns whether it was delivered to a client. */
  onWithoutListener?(bytes: Buffer, message: BackendMessage): boolean;
  /** The server has sent a request, and no client can be asked. */
  onWithoutClient?(bytes: Buffer, message: BackendMessage): void;
  /** The stream has ended without `close`. Called before the waiting calls are failed. */
  onLost(fault: UpstreamFault): void;
}

type State = 'asking' | 'naming' | 'open' | 'over';

export class SseStream implements UpstreamHandler, SharedStream, RoomWaiter {
  owner: SseStreamOwner;
  readonly #context: UpstreamMeans;
  readonly #plan: SseStreamPlan;
  #call: UpstreamCall;
  readonly #parser: EventStreamParser;
  #state: State = 'asking';
  /** The URL of the stream; from the `endpoint` event on, the URL for messages. */
  messageTarget: UpstreamTarget;
  moved: UpstreamTarget | undefined = undefined;
  /** Requests that wait for an answer, by the keys of their ids. */
  readonly #waiting = new Map<string, SharedStreamReader>();
  /** Those requests in `#waiting` that want no more data for now. */
  readonly #paused = new Set<SharedStreamReader>();
  /** Receives messages that answer no request. */
  #listener: UpstreamHandler | undefined;
  /** A large event that is being read; the events behind it wait. */
  #reading: Scan | undefined;
  #events: Buffer[] = [];
  /** The chunk being parsed: data inside it is valid only during the parse. */
  #chunk: Buffer | undefined;
  #room: MessageHold | undefined;
  #receivedAtMs: number;
  /** The `set-cookie` lines of the response to the GET, until the `endpoint` event. */
  #cookies = '';

  /** Requests the stream. The owner is never called synchronously. */
  constructor(context: UpstreamMeans, plan: SseStreamPlan, owner: SseStreamOwner) {
    this.#context = context;
    this.#plan = plan;
    this.messageTarget = plan.target;
    this.owner = owner;
    this.#receivedAtMs = context.nowMs();
    this.#parser = new EventStreamParser((data, event) => this.#onEvent(data, event), limits.upstreamMessageBytesMax);
    this.#call = this.#ask();
  }

  #ask(): UpstreamCall {
    const { subject, headers } = this.#plan;
    const withAccept = ['accept', 'text/event-stream', 'cache-control', 'no-cache', ...headers];
    return this.#context.streams.dispatch(plainRequest(subject, this.target, 'GET', withAccept), this);
  }

  get target(): UpstreamTarget {
    return this.moved ?? this.messageTarget;
  }

  /** Whether the server has responded to the GET. */
  get isAnswered(): boolean {
    return this.#state !== 'asking';
  }

  dispatch(id: IdSpan, request: UpstreamRequest, reader: SharedStreamReader): UpstreamCall {
    const key = keyOf(id);
    const obstacle = this.#obstacleTo(key, reader);
    if (obstacle !== undefined) {
      process.nextTick(() => reader.onFault(obstacle));
      return NO_CALL;
    }
    this.#waiting.set(key, reader);
    const post = this.#context.http.dispatch(request, reader);
    return {
      get isSent() {
        return post.isSent;
      },
      abort: () => post.abort(),
      pause: () => {
        if (this.#waiting.get(key) === reader) this.#paused.add(reader);
        this.#pauseOrResume();
      },
      resume: () => {
        this.#paused.delete(reader);
        this.#pauseOrResume();
      },
    };
  }

  /** Why a request cannot be sent now. A request that was redirected is in `#waiting` already. */
  #obstacleTo(key: string, reader: SharedStreamReader): UpstreamFault | undefined {
    if (this.#state !== 'open') return { ...STREAM_LOST, isUnsent: true };
    const other = this.#waiting.get(key);
    if (other !== undefined) return other === reader ? undefined : upstreamFault('id-in-use', true);
    return this.#waiting.size >= limits.sessionRequestsInFlightMax ? upstreamFault('backend-busy', true) : undefined;
  }

  forget(id: IdSpan, reader: SharedStreamReader): void {
    this.#forget(keyOf(id), reader);
  }

  #forget(key: string, reader: SharedStreamReader): void {
    if (this.#waiting.get(key) === reader) this.#waiting.delete(key);
    this.#paused.delete(reader);
    this.#pauseOrResume();
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
    return this.#waiting.size === 0 && this.#context.nowMs() - this.#receivedAtMs >= ms;
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
    const { endpoint, target, isUnauthorizedFault = false } = this.#plan;
    const moved = this.moved === undefined ? movedTarget(status, location, target, isUnauthorizedFault) : undefined;
    if (moved === undefined) return this.#lose(redirectFault(status, location, this.target));
    endpoint.onForgiven('redirect');
    this.moved = moved;
    this.#call.abort();
    this.#call = this.#ask();
  }

  onData(chunk: Buffer): void {
    if (this.#state !== 'naming' && this.#state !== 'open') return;
    this.#receivedAtMs = this.#context.nowMs();
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

  /** Called by `MessageHold`, like `onNoRoom`. */
  onRoom(): void {
    this.#pauseOrResume();
  }

  onNoRoom(bound: ShareBound): void {
    this.#lose(upstreamFault(bound === 'subjectMax' ? 'answers-share-used' : 'answers-full'));
  }

  #onEvent(data: Buffer, event: string): void {
    if (this.#state === 'naming' && event === 'endpoint') return this.#onEndpoint(data);
    if (this.#state !== 'open') return;
    if (this.#reading !== undefined) this.#events.push(this.#owned(data));
    else if (data.length <= limits.readAtOnceBytesMax) this.#onMessage(data, readBackendMessage(data));
    else this.#readLarge(this.#owned(data));
  }

  #onEndpoint(data: Buffer): void {
    const target = endpointTarget(data, this.#plan.target);
    if ('kind' in target) return this.#lose(target);
    this.#transition('naming', 'open');
    this.messageTarget = target;
    this.moved = undefined;
    this.owner.onEndpoint?.(this.#cookies);
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
    this.#pauseOrResume();
  }

  #onMessage(data: Buffer, message: BackendMessage | undefined): void {
    if (this.#state !== 'open') return;
    if (message === undefined) return this.#plan.endpoint.onForgiven('heartbeat');
    if (message.kind === 'response') this.#onAnswer(data, message);
    else this.#onUnsolicited(data, message);
  }

  /** An answer that matches no waiting call is ignored: it may be late or never requested. One chunk may contain hundreds of answers. */
  #onAnswer(data: Buffer, { idStart, idEnd }: BackendMessage): void {
    if (idStart === -1) return;
    const key = idKey(data, idStart, idEnd);
    const reader = this.#waiting.get(key);
    if (reader === undefined) return;
    const owned = this.#owned(data);
    this.#forget(key, reader);
    // Large answers are few, and are counted against memory as soon as they arrive.
    if (owned.length >= limits.countedFromBytes) reader.onEvent(owned);
    else wakeScheduler.run(this.#plan.subject, () => reader.onEvent(owned));
  }

  /** A notification or a request of the server. */
  #onUnsolicited(data: Buffer, message: BackendMessage): void {
    const isForListener = data.length <= limits.backendStreamEventBytesMax;
    if (this.#listener !== undefined && isForListener) return this.#listener.onData(encodeEvent(data));
    if (this.#listener === undefined) {
      if (this.owner.onWithoutListener?.(data, message) === true) return;
      const [onlyReader] = this.#waiting.values();
      // With several requests in flight it is unknown which one the message belongs to.
      if (onlyReader !== undefined && this.#waiting.size === 1) return onlyReader.onEvent(this.#owned(data));
    }
    if (message.kind === 'request') this.owner.onWithoutClient?.(data, message);
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
    this.#pauseOrResume();
  }

  #makeRoom(bytes: number): void {
    this.#room ??= this.#context.answerMemory?.hold(this.#plan.subject, this);
    const outcome =
      this.#room?.grow(bytes, Math.min(2 * this.#room.heldBytes, limits.upstreamMessageBytesMax)) ?? 'room';
    if (outcome !== 'room' && outcome !== 'wait') this.onNoRoom(outcome);
  }

  #pauseOrResume(): void {
    const isPaused = this.#reading !== undefined || this.#paused.size > 0 || this.#room?.isWaiting === true;
    if (isPaused) this.#call.pause();
    else this.#call.resume();
  }

  #lose(fault: UpstreamFault): void {
    if (this.#state === 'over') return;
    this.#call.abort();
    this.#end(fault, this.owner);
  }

  #end(fault: UpstreamFault, owner?: SseStreamOwner): boolean {
    if (this.#state === 'over') return false;
    this.#transition(this.#state, 'over');
    this.#reading?.cancel();
    this.#events = [];
    this.#room?.release();
    owner?.onLost(fault);
    for (const reader of [...this.#waiting.values()]) reader.onLost(fault);
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
