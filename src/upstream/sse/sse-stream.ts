// The event stream of a session with a server of the 2024-11-05 transport. Its first event names the URL to post messages to; all others
// are the server's messages. The session ends with its stream. Cold path: few servers use this transport.
//
//   asking ── 200 ──> naming ── `endpoint` event ──> open
//   asking, naming, open ── any other answer, end, fault, close ──> over
import { EventStreamParser, encodeEvent, idKey, type Scan } from '../../bytes/index.js';
import { readBackendMessage, type BackendMessage, readLargeBackendMessage } from '../../mcp/index.js';
import { type MessageReservation, type MemoryWaiter, type ShareBound } from '../../fair/index.js';
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
import {
  deliverAnswer,
  type IdSpan,
  type RequestPlan,
  type AnswerStream,
  type AnswerReader,
  takeReader,
} from '../rpc/request-plan.js';
import type { UpstreamDependencies } from '../upstream-context.js';

const STREAM_LOST = upstreamFault('stream-lost');
const NO_CALL: UpstreamCall = Object.freeze({ isSent: false, abort: noop, pause: noop, resume: noop });

/**
 * The URL to post messages to, from an `endpoint` event (C27, C28).
 * @param data an absolute or relative URL.
 * @param stream the base of a relative URL. The origin must be the same: otherwise a server could have its callers' credentials sent
 *   anywhere.
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

type SseStreamPlan = Pick<RequestPlan, 'subject' | 'target' | 'endpoint' | 'headers' | 'credentials'>;

function noop(): void {}

/** The owner is first the handshake, then the upstream session. */
interface SseStreamOwner {
  /** Called once, with the first event. @param cookies the `set-cookie` lines of the response. */
  onEndpoint?(cookies: string): void;
  /** Called with a message that answers no request, while there is no reader from `listen`. @returns whether a client got it. */
  onMessageWithoutListener?(bytes: Buffer, message: BackendMessage): boolean;
  /** Called with a request when no client can be asked. */
  onRequestWithoutClient?(bytes: Buffer, message: BackendMessage): void;
  /** Called when the stream has ended, but not after `close`. The waiting calls fail after this. */
  onLost(fault: UpstreamFault): void;
}

type State = 'asking' | 'naming' | 'open' | 'over';

export class SseStream implements UpstreamHandler, AnswerStream, MemoryWaiter {
  owner: SseStreamOwner;
  readonly #context: UpstreamDependencies;
  readonly #plan: SseStreamPlan;
  #call: UpstreamCall;
  readonly #parser: EventStreamParser;
  #state: State = 'asking';
  /** Where messages go; before the `endpoint` event, the URL of the stream. */
  messageTarget: UpstreamTarget;
  movedTo: UpstreamTarget | undefined = undefined;
  /** The readers of requests that have no answer yet, by the keys of the requests' ids. */
  readonly #waiting = new Map<string, AnswerReader>();
  readonly #paused = new Set<AnswerReader>();
  #listener: UpstreamHandler | undefined;
  /** The scan of a large event. `#events`: the events that arrived behind it. */
  #scan: Scan | undefined;
  #events: Buffer[] = [];
  #chunk: Buffer | undefined;
  #reservation: MessageReservation | undefined;
  #receivedAtMs: number;
  /** Cookies of the response to the GET, until the `endpoint` event. */
  #cookies = '';

  constructor(context: UpstreamDependencies, plan: SseStreamPlan, owner: SseStreamOwner) {
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
    const streamHeaders = ['accept', 'text/event-stream', 'cache-control', 'no-cache', ...headers];
    return this.#context.streams.dispatch(plainRequest(subject, this.target, 'GET', streamHeaders), this);
  }

  get target(): UpstreamTarget {
    return this.movedTo ?? this.messageTarget;
  }

  get isAnswered(): boolean {
    return this.#state !== 'asking';
  }

  dispatch(id: IdSpan, request: UpstreamRequest, reader: AnswerReader): UpstreamCall {
    const key = idKey(id.bytes, id.start, id.end);
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

  /** Why a request cannot be sent. A request that follows a redirect is in `#waiting` already. */
  #obstacleTo(key: string, reader: AnswerReader): UpstreamFault | undefined {
    if (this.#state !== 'open') return { ...STREAM_LOST, isUnsent: true };
    const other = this.#waiting.get(key);
    if (other !== undefined) return other === reader ? undefined : upstreamFault('id-in-use', true);
    return this.#waiting.size >= limits.sessionRequestsInFlightMax ? upstreamFault('backend-busy', true) : undefined;
  }

  forget(id: IdSpan, reader: AnswerReader): void {
    const key = idKey(id.bytes, id.start, id.end);
    if (this.#waiting.get(key) === reader) this.#waiting.delete(key);
    this.#endPauseOf(reader);
  }

  #endPauseOf(reader: AnswerReader): void {
    this.#paused.delete(reader);
    this.#pauseOrResume();
  }

  /** Delivers messages that answer no request, as if on a stream of their own. @param reader replaces the reader of an earlier call. */
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
    // Pausing does nothing: the messages are small, and the stream drops what exceeds its bounds.
    return { isSent: true, abort, pause: () => undefined, resume: () => undefined };
  }

  /** Whether no request waits, and nothing has arrived for `ms`: the connection may be dead. */
  hasBeenSilentFor(ms: number): boolean {
    return this.#waiting.size === 0 && this.#context.nowMs() - this.#receivedAtMs >= ms;
  }

  close(): void {
    this.#end(STREAM_LOST);
  }

  onHead(status: number, contentType: string, _sessionId: string, _bodyBytes: number, statusHeader: string): void {
    if (this.#state !== 'asking') return;
    this.#plan.endpoint.onAnswer(this.#context.deadlines.recentMs);
    if (status < 300) this.#cookies = statusHeader;
    if (status < 300 && contentType === 'text/event-stream') this.#transition('asking', 'naming');
    else if (status >= 400) this.#failStream(httpStatusFault(status));
    else if (status >= 300) this.#onRedirect(status, statusHeader);
    else this.#failStream(upstreamFault('answer-invalid'));
  }

  #onRedirect(status: number, location: string): void {
    const { endpoint, target, credentials } = this.#plan;
    const moved =
      this.movedTo === undefined ? movedTarget(status, location, target, credentials !== undefined) : undefined;
    if (moved === undefined) return this.#failStream(redirectFault(status, location, this.target));
    endpoint.onForgiven('redirect');
    this.movedTo = moved;
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
    if (!isSound || isTooLarge) this.#failStream(upstreamFault(isTooLarge ? 'endpoint-missing' : 'answer-too-large'));
    else this.#countKeptBytes();
  }

  onEnd(): void {
    this.#failStream(this.#state === 'naming' ? upstreamFault('endpoint-missing') : STREAM_LOST);
  }

  onFault(fault: UpstreamFault): void {
    this.#plan.endpoint.circuit.onFault(fault);
    this.#failStream(this.#state === 'open' ? STREAM_LOST : fault);
  }

  onRoom(): void {
    this.#pauseOrResume();
  }

  onNoRoom(bound: ShareBound): void {
    this.#failStream(upstreamFault(bound === 'subjectMax' ? 'answers-share-used' : 'answers-full'));
  }

  #onEvent(data: Buffer, event: string): void {
    if (this.#state === 'naming' && event === 'endpoint') return this.#onEndpoint(data);
    if (this.#state !== 'open') return;
    if (this.#scan !== undefined) this.#events.push(this.#ownedCopyOf(data));
    else if (data.length <= limits.readAtOnceBytesMax) this.#onMessage(data, readBackendMessage(data));
    else this.#scanLarge(this.#ownedCopyOf(data));
  }

  #onEndpoint(data: Buffer): void {
    const target = endpointTarget(data, this.#plan.target);
    if ('kind' in target) return this.#failStream(target);
    this.#transition('naming', 'open');
    this.messageTarget = target;
    this.movedTo = undefined;
    this.owner.onEndpoint?.(this.#cookies);
    this.#cookies = '';
  }

  #scanLarge(data: Buffer): void {
    const onRead = (message: BackendMessage | undefined): void => {
      this.#scan = undefined;
      this.#onMessage(data, message);
      while (this.#scan === undefined && this.#events.length > 0) this.#onEvent(this.#events.shift()!, '');
      this.#countKeptBytes();
    };
    this.#scan = readLargeBackendMessage(this.#plan.subject, data, onRead, false, true);
    this.#pauseOrResume();
  }

  #onMessage(data: Buffer, message: BackendMessage | undefined): void {
    if (this.#state !== 'open') return;
    if (message === undefined) return this.#plan.endpoint.onForgiven('heartbeat');
    if (message.kind === 'response') this.#onAnswer(data, message);
    else this.#onUnsolicited(data, message);
  }

  /** Passes an answer to its request. An answer that no request waits for may be late, and is ignored. */
  #onAnswer(data: Buffer, { idStart, idEnd }: BackendMessage): void {
    if (idStart === -1) return;
    const reader = takeReader(this.#waiting, idKey(data, idStart, idEnd));
    if (reader === undefined) return;
    this.#endPauseOf(reader);
    deliverAnswer(this.#plan.subject, reader, this.#ownedCopyOf(data));
  }

  #onUnsolicited(data: Buffer, message: BackendMessage): void {
    const isForListener = data.length <= limits.backendStreamEventBytesMax;
    if (this.#listener !== undefined && isForListener) return this.#listener.onData(encodeEvent(data));
    if (this.#listener === undefined) {
      if (this.owner.onMessageWithoutListener?.(data, message) === true) return;
      const [onlyReader] = this.#waiting.values();
      // If several requests are in flight, the event could belong to any of them.
      if (onlyReader !== undefined && this.#waiting.size === 1) return onlyReader.onEvent(this.#ownedCopyOf(data));
    }
    if (message.kind === 'request') this.owner.onRequestWithoutClient?.(data, message);
  }

  /** The event, copied if it lies in the current chunk, whose memory is valid only during `onData`. */
  #ownedCopyOf(data: Buffer): Buffer {
    return data.buffer === this.#chunk?.buffer ? Buffer.from(data) : data;
  }

  /** Counts a large event that is incomplete or being scanned. */
  #countKeptBytes(): void {
    if (this.#state === 'over') return;
    const bytes = this.#parser.keptBytes;
    if (bytes >= limits.countedFromBytes) {
      this.#reservation ??= this.#context.answerMemory?.createReservation(this.#plan.subject, this);
      const askedBytes = Math.min(2 * (this.#reservation?.reservedBytes ?? 0), limits.upstreamMessageBytesMax);
      const outcome = this.#reservation?.grow(bytes, askedBytes) ?? 'room';
      if (outcome !== 'room' && outcome !== 'wait') this.onNoRoom(outcome);
    } else if (this.#scan === undefined) this.#reservation?.release();
    this.#pauseOrResume();
  }

  #pauseOrResume(): void {
    const isPaused = this.#scan !== undefined || this.#paused.size > 0 || this.#reservation?.isWaiting === true;
    if (isPaused) this.#call.pause();
    else this.#call.resume();
  }

  #failStream(fault: UpstreamFault): void {
    this.#end(fault, this.owner);
  }

  #end(fault: UpstreamFault, owner?: SseStreamOwner): void {
    if (this.#state === 'over') return;
    this.#transition(this.#state, 'over');
    this.#call.abort();
    this.#scan?.cancel();
    this.#events = [];
    this.#reservation?.release();
    owner?.onLost(fault);
    for (const reader of [...this.#waiting.values()]) reader.onLost(fault);
    const listener = this.#listener;
    this.#listener = undefined;
    listener?.onFault(fault);
  }

  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    return true;
  }
}
