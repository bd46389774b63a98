// One JSON-RPC request to a backend, from the bytes that are sent to the one answer that ends it. It handles both forms of an answer (C03)
// and turns every other behaviour of a backend into one fault. Hot path: one object per relayed call.
//
//   waiting ── head ──> json ── end of a large answer ──> reading
//   waiting ── head ──> event-stream ── answer ──> answered
//   waiting ── answer on a stream that requests share ──> answered
//   event-stream ── end, or fault, behind an event with an id ──> resuming ── 200 ──> event-stream
//   waiting ── 4xx, 5xx ──> refused
//   waiting, json, reading, event-stream, resuming, refused, answered ── end, limit, fault, deadline, abort ──> done
//
// Exactly one of `onAnswer` and `onFault` is called, once, unless the request is aborted. While a large event is being read, and while the
// handler wants no more, nothing is read from the stream, and events that were already read wait in `#events`.
import {
  connectionBounds,
  type HttpUpstream,
  movedTarget,
  redirectFault,
  type UpstreamCall,
  upstreamFault,
  type UpstreamFault,
} from '../../http-client/index.js';
import {
  BodyCollector,
  shortLivedMemory,
  EventStreamParser,
  type LargeEventHandler,
  type Scan,
} from '../../bytes/index.js';
import {
  answersRequest,
  beginsWithResult,
  readBackendAnswer,
  readBackendMessage,
  type BackendMessage,
  readLargeBackendMessage,
} from '../../mcp/index.js';
import type { Deadline, DeadlineWheel, MessageHold, RoomWaiter, ShareBound } from '../../fair/index.js';
import { limits } from '../../shared/index.js';
import type { UpstreamTarget } from '../../user-config/index.js';
import {
  isAnswerType,
  jsonOf,
  type RequestHandler,
  type RequestPlan,
  type SharedStreamReader,
} from './request-plan.js';
import { readRefusal, saysNoSession, statusFault } from './refused-request.js';
import { Resumption } from './resumption.js';
import { UnreadAnswer } from './unread-answer.js';

/** Time for a backend to end its event stream after the answer, which keeps the connection usable. After that, the stream is cut. */
export const ANSWERED_STREAM_MS_MAX = 1_000;

type State = 'waiting' | 'json' | 'reading' | 'event-stream' | 'resuming' | 'refused' | 'answered' | 'done';

const NO_BYTES = Buffer.alloc(0);
/** `{`, with which nearly every answer begins. */
const BRACE = 0x7b;

export class RpcRequest implements SharedStreamReader, RoomWaiter {
  readonly #plan: RequestPlan;
  readonly #handler: RequestHandler;
  readonly #answerBytesMax: number;
  readonly #deadlines: DeadlineWheel;
  readonly #deadline: Deadline;
  #call: UpstreamCall;
  /** Set once the stream is resumed; then the same object as `#call`. */
  #resumption: Resumption | undefined;
  #state: State = 'waiting';
  #status = 0;
  #hint = '';
  /** The length that the response's head states; -1 when it does not. */
  #bodyBytes = -1;
  #received: BodyCollector | undefined;
  /** A whole answer in one piece, for a handler that reads it in place: valid until the response ends, which is at once. */
  #whole: Buffer | undefined;
  /** Takes the answer in place of `#received`, for a handler with `onUnread`. */
  readonly #unread: UnreadAnswer | undefined;
  #parser: EventStreamParser | undefined;
  /** The chunk being parsed: data inside it is valid only during the parse. */
  #chunk: Buffer | undefined;
  /** A large message that is being read, or that was read and is being passed to the handler. */
  #reading: Scan | undefined;
  /** Events that wait until `#reading` is done and the handler wants them. `#ending` is how the stream ended behind them. */
  #events: Buffer[] | undefined;
  #ending: UpstreamFault | 'end' | undefined;
  /** The memory held for a large answer or event, until the handler has it. */
  #room: MessageHold | undefined;
  /** The handler wants no more for now. */
  #isHeld = false;
  #isSilenceExcused = false;
  /** What may be read before the handler is asked for more, and the time spent so far; `undefined` for no limit. */
  #ration: { bytesLeft: number; spentMs: number } | undefined;
  /** For sending the request again after a redirect; `undefined` once that was done. */
  #http: HttpUpstream | undefined;
  /** The target that the request was last sent to. */
  #sentTo: UpstreamTarget;

  /** Sends the request. The handler is never called synchronously from the constructor. */
  constructor(http: HttpUpstream, deadlines: DeadlineWheel, plan: RequestPlan, handler: RequestHandler) {
    this.#deadlines = deadlines;
    this.#plan = plan;
    this.#handler = handler;
    this.#answerBytesMax = plan.answerBytesMax ?? limits.upstreamMessageBytesMax;
    this.#deadline = deadlines.after(plan.deadlineMs, () => this.#onDeadline());
    if (handler.onUnread !== undefined)
      this.#unread = new UnreadAnswer(
        (...part) => handler.onUnread?.(...part),
        (whole) => jsonOf(whole, plan),
      );
    this.#http = http;
    this.#sentTo = plan.target;
    this.#call = this.#send(http);
  }

  /** Gives up without calling the handler. The backend is not told: see `UpstreamSession.cancel`. */
  abort(): void {
    if (this.#finish()) this.#call.abort();
  }

  /** The HTTP status of the response; 0 before it has arrived. */
  get status(): number {
    return this.#status;
  }

  onHead(status: number, contentType: string, sessionId: string, bodyBytes: number, hint: string): void {
    if (this.#state !== 'waiting') return this.#onFurtherHead();
    // The server has accepted the message, and answers on the shared stream: the rest of this response does not matter.
    if (this.#plan.stream !== undefined && (status < 300 || this.#isBeingAnswered))
      return void this.#transition('waiting', 'event-stream');
    this.#restartSilenceDeadline();
    this.#plan.endpoint.onAnswer(this.#deadlines.recentMs);
    if (status > 200 && status < 300 && isAnswerType(contentType)) this.#plan.endpoint.onForgiven('status');
    this.#bodyBytes = bodyBytes;
    this.#status = status;
    if (sessionId !== '' || hint !== '') this.#noteHead(status, sessionId, hint);
    this.#hint = hint;
    if (status < 300 && contentType === 'application/json') {
      this.#transition('waiting', 'json');
    } else if (status < 300 && contentType === 'text/event-stream') {
      this.#onStream();
    } else if (status >= 400) {
      this.#transition('waiting', 'refused');
      this.#plan.stream?.forget(this.#plan.id, this);
    } else if (!this.#tryFollow(status, hint)) {
      this.#fail(status >= 300 ? redirectFault(status, hint, this.#plan.target) : upstreamFault('answer-invalid'));
    }
  }

  /** Passes the session id and cookies of a response to the session, except those of a redirect. */
  #noteHead(status: number, sessionId: string, hint: string): void {
    if (status >= 300 && status < 400) return;
    this.#plan.session?.noteHead(sessionId, status < 300 ? hint : '', this.#plan.sessionId ?? '');
  }

  /** Handles the head of the response that resumes the stream; any other further head is ignored. */
  #onFurtherHead(): void {
    if (this.#state !== 'resuming') return;
    this.#plan.endpoint.onAnswer(this.#deadlines.recentMs);
    this.#onStream();
  }

  onData(chunk: Buffer): void {
    const ration = this.#ration;
    const startMs = ration === undefined ? 0 : performance.now();
    switch (this.#state) {
      case 'json':
        if (this.#unread === undefined && this.#isReadInPlace(chunk)) {
          // The end of the response follows in the same turn of the event loop.
          this.#whole = chunk;
          break;
        }
        this.#restartSilenceDeadline();
        if (this.#unread !== undefined) this.#addTo(this.#unread, chunk);
        else this.#collect(chunk, this.#answerBytesMax);
        break;
      case 'event-stream':
        // Without a parser, the answer comes on the shared stream, and the body of the response to the POST is ignored.
        if (this.#parser === undefined) break;
        if (this.#resumption?.hasProgressed(this.#parser.lastEventId) !== false) this.#restartSilenceDeadline();
        this.#chunk = chunk;
        if (!this.#parser.push(chunk)) this.#onStreamEnd(upstreamFault('answer-too-large'));
        this.#chunk = undefined;
        // These events wait for `#reading`, which may have paused the call before a resumption, and not this one.
        if (this.#events?.length) this.#call.pause();
        this.#countEvent();
        break;
      case 'refused':
        this.#collect(chunk, limits.upstreamRefusalBytesMax);
        break;
      default:
    }
    if (ration === undefined) return;
    ration.spentMs += performance.now() - startMs;
    ration.bytesLeft -= chunk.length;
    // After the answer no handler would resume the request, so it is not paused: the stream has a moment to end by itself.
    if (ration.bytesLeft > 0 || this.#state === 'answered' || this.#state === 'done') return;
    this.pause();
    this.#handler.onRationRead?.(ration.spentMs);
  }

  /** Whether the chunk is the whole answer and can be read in place. Larger answers are copied, because their memory is counted. */
  #isReadInPlace({ length }: Buffer): boolean {
    if (this.#handler.readsInPlace !== true || length !== this.#bodyBytes) return false;
    return length < limits.countedFromBytes && length <= this.#answerBytesMax;
  }

  /** Called by `SseStream` with a message of this request. */
  onEvent(data: Buffer): void {
    if (!this.#acceptsEvents) return;
    if (data.length > this.#answerBytesMax) return this.#fail(upstreamFault('answer-too-large'));
    this.#countWhole(data.length);
    this.#restartSilenceDeadline();
    this.#plan.endpoint.onAnswer(this.#deadlines.recentMs);
    this.#onEvent(data);
    this.#countEvent();
    this.#tryEnd();
  }

  /** Whether the answer, or another message of this request, has arrived but is not yet with the handler. */
  get #isBeingAnswered(): boolean {
    return this.#reading !== undefined || (this.#events !== undefined && this.#events.length > 0);
  }

  /** Whether events are accepted now: on a shared stream they may arrive before the head of the response to the POST. */
  get #acceptsEvents(): boolean {
    return this.#state === 'event-stream' || (this.#state === 'waiting' && this.#plan.stream !== undefined);
  }

  onEnd(): void {
    switch (this.#state) {
      case 'json':
        this.#onJson();
        break;
      case 'refused':
        this.#onRefusal();
        break;
      case 'answered':
        this.#finish();
        break;
      case 'event-stream':
        this.#onStreamEnd('end');
        break;
      case 'waiting':
        this.#fail(upstreamFault('answer-incomplete'));
        break;
      default:
    }
  }

  onFault(fault: UpstreamFault): void {
    this.#plan.endpoint.onFault(fault);
    if (this.#plan.stream !== undefined && this.#isBeingAnswered) this.#transition('waiting', 'event-stream');
    // Once the answer has arrived, it does not matter how its stream ends.
    if (this.#state === 'answered') this.#finish();
    else if (this.#state === 'event-stream') this.#onStreamEnd(fault);
    else this.#fail(fault);
  }

  /** Called by `SseStream` when the shared stream has ended. */
  onLost(fault: UpstreamFault): void {
    this.#fail(fault);
  }

  /** The stream has ended: handled once no event waits any more. */
  #onStreamEnd(ending: UpstreamFault | 'end'): void {
    if (this.#state !== 'event-stream') return;
    this.#ending ??= ending;
    this.#tryEnd();
  }

  #tryEnd(): void {
    if (this.#ending === undefined || this.#isBeingAnswered) return;
    if (this.#state === 'answered') this.#finish();
    // A shared stream goes on, however the response to the message has ended.
    else if (this.#plan.stream === undefined && this.#state === 'event-stream' && !this.#tryResume(this.#ending))
      this.#fail(this.#ending === 'end' ? upstreamFault('answer-incomplete') : this.#ending);
  }

  #onStream(): void {
    if (!this.#transition('waiting', 'event-stream')) this.#transition('resuming', 'event-stream');
    const largeHandler = this.#unread && this.#largeEventHandler(this.#unread);
    this.#parser = new EventStreamParser((data) => this.#onEvent(data), this.#answerBytesMax, largeHandler);
  }

  /** Begins to resume the stream, if possible. The deadline continues: a backend that can be asked again may still not answer. */
  #tryResume(ending: UpstreamFault | 'end'): boolean {
    const { streams } = this.#plan;
    if (streams === undefined || (ending !== 'end' && ending.kind !== 'connection-lost')) return false;
    if (this.#parser === undefined || this.#unread?.tryRestart() === false) return false;
    const resumption =
      this.#resumption ?? new Resumption(this.#plan, streams, this.#deadlines, this, this.#call.isSent);
    if (!resumption.tryBegin(this.#parser)) return false;
    this.#call = this.#resumption = resumption;
    this.#transition('event-stream', 'resuming');
    this.#ending = undefined;
    const wasWaitingForRoom = this.#room?.isWaiting === true;
    this.#room?.release();
    // A handler that holds the request has paused the previous call, so the pause is repeated; a wait for room was ended by the release
    // above, so its pause is undone.
    if (this.#isHeld) resumption.pause();
    else resumption.resume();
    if (wasWaitingForRoom) this.#restartSilenceDeadline();
    return true;
  }

  #onJson(): void {
    if (this.#unread !== undefined) {
      this.#unread.end(() => this.#finish());
      return;
    }
    const whole = this.#whole ?? this.#received?.bytes ?? NO_BYTES;
    const bytes = whole[0] === BRACE ? whole : jsonOf(whole, this.#plan);
    if (bytes.length <= limits.readAtOnceBytesMax) {
      this.#onJsonMessage(bytes, readBackendAnswer(bytes));
      return;
    }
    // The whole answer has arrived: the time from now on is not the backend's doing.
    this.#deadline.cancel();
    this.#transition('json', 'reading');
    this.#reading = readLargeBackendMessage(
      this.#plan.subject,
      bytes,
      (message) => this.#onJsonMessage(bytes, message),
      this.#plan.hasTasks,
    );
  }

  #onJsonMessage(bytes: Buffer, message: BackendMessage | undefined): void {
    if (message === undefined || !this.#isAnswer(bytes, message)) return this.#fail(upstreamFault('answer-invalid'));
    if (message.isError && saysNoSession(this.#plan, bytes, message)) return this.#fail(upstreamFault('session-lost'));
    // The memory is held until the handler, which gets the answer, has counted it.
    const room = this.#room;
    this.#room = undefined;
    this.#finish();
    this.#handler.onAnswer(bytes, message, this.#whole !== undefined);
    room?.release();
  }

  /** Whether a message on the request's own response answers it. A number id that comes back as a string is forgiven. */
  #isAnswer(bytes: Buffer, message: BackendMessage): boolean {
    const { id, endpoint } = this.#plan;
    const outcome = answersRequest(bytes, message, id.bytes, id.start, id.end);
    if (outcome === 'as-text') endpoint.onForgiven('id-as-text');
    return outcome !== 'no';
  }

  #onEvent(data: Buffer): void {
    if (!this.#acceptsEvents) return;
    this.#resumption?.noteEvent();
    if (this.#resumption !== undefined && this.#reading === undefined) this.#restartSilenceDeadline();
    if (this.#reading !== undefined || this.#isHeld) (this.#events ??= []).push(this.#owned(data));
    else if (data.length <= limits.readAtOnceBytesMax) this.#onEventMessage(data, readBackendMessage(data));
    else this.#readLarge(this.#owned(data));
  }

  #readLarge(data: Buffer): void {
    this.#pauseReading();
    // Called asynchronously, since `#readLarge` may run inside the parser, whose chunk may contain more events.
    const onRead = (message: BackendMessage | undefined): void => {
      this.#reading = undefined;
      this.#onEventMessage(data, message);
      this.#countEvent();
      this.#goOn();
    };
    this.#reading = readLargeBackendMessage(this.#plan.subject, data, onRead, this.#plan.hasTasks, true);
  }

  #onEventMessage(data: Buffer, message: BackendMessage | undefined): void {
    if (message === undefined) return this.#plan.endpoint.onForgiven('heartbeat');
    if (message.kind === 'response' && !this.#isAnswer(data, message)) {
      this.#fail(upstreamFault('answer-invalid'));
    } else if (message.kind === 'response') {
      this.#deliverAnswer(this.#owned(data), message);
    } else {
      this.#handler.onMessage(data, message);
    }
  }

  #deliverAnswer(bytes: Buffer, message: BackendMessage): void {
    if (message.isError && saysNoSession(this.#plan, bytes, message)) return this.#fail(upstreamFault('session-lost'));
    if (this.#unread === undefined || bytes.length <= limits.readAtOnceBytesMax) {
      this.#onStreamAnswer();
      this.#handler.onAnswer(bytes, message);
      return;
    }
    this.#pauseReading();
    this.#reading = this.#unread;
    this.#unread.takeWhole(bytes, () => {
      this.#reading = undefined;
      this.#onStreamAnswer();
      this.#countEvent();
      this.#goOn();
    });
    this.#passOnParts();
  }

  /** Passes on parts of a large answer until the handler pauses the request. */
  #passOnParts(): void {
    while (!this.#isHeld && this.#unread?.tryPassOnPart() === true);
  }

  /** An event lies either in the current chunk, which is valid only now, or in memory of its own, which may be kept. */
  #owned(data: Buffer): Buffer {
    return data.buffer === this.#chunk?.buffer ? Buffer.from(data) : data;
  }

  /** Passes waiting events to the handler, as long as it wants them, and reads on after the last. */
  #goOn(): void {
    while (this.#reading === undefined && !this.#isHeld && this.#acceptsEvents) {
      const event = this.#events?.shift();
      if (event === undefined) break;
      this.#onEvent(event);
    }
    if (this.#state === 'answered') this.#events = undefined;
    this.#tryEnd();
    if (this.#state === 'done' || this.#reading !== undefined || this.#isHeld) return;
    if (this.#room?.isWaiting === true) return;
    if (this.#state !== 'answered') this.#restartSilenceDeadline();
    this.#call.resume();
  }

  /** The stream should end now (S10). It gets some time to end by itself, so that the connection can be reused. */
  #onStreamAnswer(): void {
    if (!this.#transition('event-stream', 'answered')) this.#transition('waiting', 'answered');
    this.#deadline.restartAfter(ANSWERED_STREAM_MS_MAX);
  }

  #onDeadline(): void {
    if (this.#state === 'answered') this.abort();
    else this.#fail(upstreamFault('answer-timeout'));
  }

  #onRefusal(): void {
    const bytes = jsonOf(this.#received?.bytes ?? NO_BYTES, this.#plan);
    const isAnswer = (message: BackendMessage): boolean => this.#isAnswer(bytes, message);
    const read = readRefusal(this.#plan, this.#handler, this.#status, bytes, this.#hint, isAnswer);
    if ('fault' in read) return this.#fail(read.fault);
    this.#finish();
    this.#handler.onAnswer(bytes, read.answer);
  }

  #collect(chunk: Buffer, bytesMax: number): void {
    const received = (this.#received ??= new BodyCollector(this.#answerBytesMax, shortLivedMemory));
    const bytes = Math.max(received.length + chunk.length, this.#bodyBytes);
    if (bytes <= bytesMax) received.add(chunk, this.#bodyBytes);
    else if (this.#state !== 'refused') this.#fail(upstreamFault('answer-too-large'));
    else this.#fail(statusFault(this.#status, this.#plan.carriesSession));
    if (bytes >= limits.countedFromBytes && this.#state === 'json') this.#makeRoom(bytes);
  }

  /** Counts the memory of an incomplete event, which the parser keeps. The handler counts complete events. */
  #countEvent(): void {
    const bytes = this.#parser?.keptBytes ?? 0;
    if (bytes >= limits.countedFromBytes && this.#state === 'event-stream') this.#makeRoom(bytes);
    else if (this.#reading === undefined && !this.#events?.length) this.#room?.release();
  }

  #addTo(unread: UnreadAnswer, piece: Buffer): void {
    if (!unread.tryAdd(piece)) this.#fail(upstreamFault('answer-too-large'));
  }

  /** Takes large results as they arrive. */
  #largeEventHandler(unread: UnreadAnswer): LargeEventHandler {
    const isOpen = (): boolean => this.#state === 'event-stream';
    return {
      fromBytes: connectionBounds.upstreamReadBytes,
      takes: (beginning) => isOpen() && beginsWithResult(beginning),
      onPiece: (piece) => {
        if (isOpen()) this.#addTo(unread, piece);
      },
      onEnd: () => {
        if (isOpen()) unread.end(() => this.#onStreamAnswer());
      },
    };
  }

  /** Follows a redirect, once: the request was not carried out, so it may be sent again. Later requests go to the new target at once. */
  #tryFollow(status: number, location: string): boolean {
    const { endpoint, target, redirection, stream, isUnauthorizedFault = false } = this.#plan;
    const moved = movedTarget(status, location, this.#sentTo, isUnauthorizedFault, stream?.messageTarget ?? target);
    const http = this.#http;
    // A redirect that cannot be followed also ends the effect of an earlier one.
    (stream ?? redirection).moved = http && moved;
    if (moved === undefined || http === undefined) return false;
    this.#http = undefined;
    endpoint.onForgiven('redirect');
    this.#call.abort();
    this.#call = this.#send(http);
    return true;
  }

  #send(http: HttpUpstream): UpstreamCall {
    const { subject, stream, redirection, id, headers, body, leftOut, putIn, requestId, trace, head } = this.#plan;
    const target = (this.#sentTo = (stream ?? redirection).moved ?? stream?.messageTarget ?? this.#plan.target);
    const request = { subject, target, method: 'POST', headers, body, leftOut, putIn, requestId, trace, head } as const;
    return stream === undefined ? http.dispatch(request, this) : stream.dispatch(id, request, this);
  }

  /** Whether nothing reads the request's memory any more, as far as is known. */
  get isSent(): boolean {
    return this.#call.isSent;
  }

  // Flow control: the request reads no faster than the handler and the memory allow.

  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Stops reading the answer until `resume`; the silence is then the gateway's own, so a deadline on silence stops too. */
  pause(): void {
    if (this.#state === 'done') return;
    this.#isHeld = true;
    this.#pauseReading();
  }

  resume(): void {
    if (this.#state === 'done' || !this.#isHeld) return;
    this.#isHeld = false;
    this.#passOnParts();
    this.#goOn();
  }

  /** Reads this many bytes from now on, then pauses and calls `onRationRead`; `undefined`, the default, sets no limit. */
  ration(bytes: number | undefined): void {
    this.#ration = bytes === undefined ? undefined : { bytesLeft: bytes, spentMs: 0 };
  }

  /** @param isExcused whether the backend waits for the caller: its silence does not count then. */
  excuseSilence(isExcused: boolean): void {
    this.#isSilenceExcused = isExcused;
    if (this.#state === 'done' || this.#state === 'answered' || this.#isHeld || this.#reading !== undefined) return;
    if (!isExcused) this.#restartSilenceDeadline();
    else if (this.#plan.isSilenceDeadline) this.#deadline.cancel();
  }

  /** The silence from now on is the gateway's own, so a deadline on silence stops too. */
  #pauseReading(): void {
    if (this.#plan.isSilenceDeadline && this.#state !== 'answered') this.#deadline.cancel();
    this.#call.pause();
  }

  #restartSilenceDeadline(): void {
    if (this.#plan.isSilenceDeadline && !this.#isSilenceExcused && !this.#isHeld) this.#deadline.restart();
  }

  /** Counts the memory of a message that has arrived completely, without waiting for room. */
  #countWhole(bytes: number): void {
    const { memory, subject } = this.#plan;
    if (memory === undefined || bytes < limits.countedFromBytes) return;
    this.#room ??= memory.hold(subject, this);
    this.#room.take(bytes);
  }

  /** Stops reading until there is memory for this many bytes; where the length is unknown, for more than has arrived. */
  #makeRoom(bytes: number): void {
    const { memory, subject } = this.#plan;
    if (memory === undefined) return;
    this.#room ??= memory.hold(subject, this);
    const outcome = this.#room.grow(bytes, Math.min(2 * this.#room.heldBytes, this.#answerBytesMax));
    if (outcome === 'wait') this.#pauseReading();
    else if (outcome !== 'room') this.onNoRoom(outcome);
  }

  /** Called by `MessageHold`, like `onNoRoom`. */
  onRoom(): void {
    this.#goOn();
  }

  onNoRoom(bound: ShareBound): void {
    this.#fail(upstreamFault(bound === 'subjectMax' ? 'answers-share-used' : 'answers-full'));
  }

  #fail(fault: UpstreamFault): void {
    if (!this.#finish()) return;
    this.#call.abort();
    this.#handler.onFault(fault);
  }

  #finish(): boolean {
    if (this.#state === 'done') return false;
    this.#transition(this.#state, 'done');
    this.#deadline.cancel();
    this.#reading?.cancel();
    this.#events = undefined;
    this.#received?.clear();
    this.#room?.release();
    this.#unread?.cancel();
    this.#plan.stream?.forget(this.#plan.id, this);
    return true;
  }

  /** The only writer of the state. */
  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    return true;
  }
}
