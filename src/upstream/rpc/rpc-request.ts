// One JSON-RPC request to a backend: sends it, reads the answer as JSON or from an event stream (C03), and reports one outcome. Hot path.
//
//   waiting ── head ──> json ── end of a large answer ──> scanning
//   json ── end of an array of messages ──> event-stream
//   waiting ── head ──> event-stream ── answer ──> answered
//   waiting ── answer on a stream that requests share ──> answered
//   waiting ── 202, while the backend's own stream is open ──> event-stream
//   event-stream ── end, or fault, after an event with an id ──> resuming ── 200 ──> event-stream
//   waiting ── 4xx, 5xx ──> refused
//   waiting, json, scanning, event-stream, resuming, refused, answered ── end, limit, fault, deadline, abort ──> done
//
// Unless the request is aborted, exactly one of `onAnswer` and `onFault` is called, once. While a large event is being scanned or the
// handler has paused the request, nothing is read from the stream, and events already read wait in `#waitingEvents`.
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
  readBackendBatch,
  readBackendMessage,
  type BackendMessage,
  readLargeBackendMessage,
} from '../../mcp/index.js';
import type { Deadline, DeadlineWheel, MessageReservation, MemoryWaiter, ShareBound } from '../../fair/index.js';
import { limits } from '../../shared/index.js';
import type { UpstreamTarget } from '../../user-config/index.js';
import {
  type AnswerSource,
  answerJsonOf,
  repairedUtf8,
  type RequestHandler,
  type RequestPlan,
  type AnswerReader,
} from './request-plan.js';
import { readRefusal, answerFault, statusFault, withoutEvents } from './refused-request.js';
import { Resumption } from './resumption.js';
import { UnparsedAnswer } from './unparsed-answer.js';

/** After the answer, the backend has this time to end its event stream; the connection can then be reused. Otherwise the stream is cut. */
export const ANSWERED_STREAM_MS_MAX = 1_000;

type State = 'waiting' | 'json' | 'scanning' | 'event-stream' | 'resuming' | 'refused' | 'answered' | 'done';

const NO_BYTES = Buffer.alloc(0);
const OPENING_BRACE = 0x7b;

export class RpcRequest implements AnswerReader, MemoryWaiter {
  readonly #plan: RequestPlan;
  readonly #handler: RequestHandler;
  readonly #answerBytesMax: number;
  readonly #deadlines: DeadlineWheel;
  readonly #deadline: Deadline;
  #call: UpstreamCall;
  #answerSource: Pick<AnswerSource, 'forget'> | undefined;
  /** The resumption, once the stream is resumed; then it is the same object as `#call`. */
  #resumption: Resumption | undefined;
  #state: State = 'waiting';
  /** The HTTP status; 0 before the response. Changed only here. */
  status = 0;
  #statusHeader = '';
  #bodyBytes = -1;
  #receivedBody: BodyCollector | undefined;
  /** Whether the backend has sent messages about the request, and so knows the session. */
  #isCarriedOut = false;
  /** The whole answer, for a handler that `acceptsBorrowed`, in memory that is valid only until the response ends. */
  #wholeAnswer: Buffer | undefined;
  /** The parts of an answer, used instead of `#receivedBody` for a handler with `onUnparsed`. */
  readonly #unparsed: UnparsedAnswer | undefined;
  #parser: EventStreamParser | undefined;
  #chunk: Buffer | undefined;
  #scan: Scan | undefined;
  /** Events that arrived while `#scan` was set or the request was paused. `#streamEnding`: how the stream ended after them. */
  #waitingEvents: Buffer[] | undefined;
  #streamEnding: UpstreamFault | 'end' | undefined;
  /** Memory counted for a large answer or event until the handler takes it over. */
  #reservation: MessageReservation | undefined;
  /** Whether the handler has paused the request. Changed only here. */
  isPaused = false;
  #isSilenceExcused = false;
  /** The bytes that may be read before the request pauses, and the time spent reading; `undefined` for no limit. */
  #ration: { bytesLeft: number; spentMs: number } | undefined;
  /** The HTTP client that sends the request again after a redirect; `undefined` once a redirect was followed. */
  #redirectHttp: HttpUpstream | undefined;
  #target: UpstreamTarget;

  /** The handler is never called synchronously. */
  constructor(http: HttpUpstream, deadlines: DeadlineWheel, plan: RequestPlan, handler: RequestHandler) {
    this.#deadlines = deadlines;
    this.#plan = plan;
    this.#handler = handler;
    this.#answerSource = plan.stream;
    this.#answerBytesMax = plan.answerBytesMax ?? limits.upstreamMessageBytesMax;
    this.#deadline = deadlines.after(plan.timeoutMs, () => {
      if (this.#state === 'answered') this.abort();
      else this.#fail(upstreamFault('answer-timeout'));
    });
    if (handler.onUnparsed !== undefined)
      this.#unparsed = new UnparsedAnswer(plan, (...part) => handler.onUnparsed?.(...part));
    this.#redirectHttp = http;
    this.#target = plan.target;
    this.#call = this.#send(http);
  }

  /** Ends the request. The handler is not called, and the backend is not told: see `UpstreamSession.cancel`. */
  abort(): void {
    if (this.#tryFinish()) this.#call.abort();
  }

  onHead(status: number, contentType: string, sessionId: string, bodyBytes: number, statusHeader: string): void {
    if (this.#state !== 'waiting') return this.#onFurtherHead();
    // The answer comes on the shared stream, so the rest of this response does not matter.
    if (this.#plan.stream !== undefined && (status < 300 || this.#hasPendingMessage))
      return void this.#transition('waiting', 'event-stream');
    this.#restartSilenceTimeout();
    this.#plan.endpoint.onAnswer(this.#deadlines.recentMs);
    this.#bodyBytes = bodyBytes;
    this.status = status;
    if (sessionId !== '' || statusHeader !== '') this.#noteHead(status, sessionId, statusHeader);
    this.#statusHeader = statusHeader;
    const isJson = status < 300 && contentType === 'application/json';
    const isStream = status < 300 && contentType === 'text/event-stream';
    if (status > 200 && (isJson || isStream)) this.#plan.endpoint.onForgiven('status');
    if (isJson) {
      this.#transition('waiting', 'json');
    } else if (isStream) {
      this.#onStream();
    } else if (status >= 400) {
      this.#transition('waiting', 'refused');
      this.#plan.stream?.forget(this.#plan.id, this);
    } else if (!this.#tryFollowRedirect(status, statusHeader) && !this.#tryWaitForStrayAnswer(status)) {
      this.#fail(
        status >= 300 ? redirectFault(status, statusHeader, this.#plan.target) : upstreamFault('answer-invalid'),
      );
    }
  }

  #tryWaitForStrayAnswer(status: number): boolean {
    const strayAnswers = this.#plan.session?.strayAnswers;
    if (status !== 202 || strayAnswers === undefined) return false;
    this.#plan.endpoint.onForgiven('stray-answer');
    this.#answerSource = strayAnswers;
    this.#transition('waiting', 'event-stream');
    strayAnswers.wait(this.#plan.id, this);
    return true;
  }

  #noteHead(status: number, sessionId: string, statusHeader: string): void {
    if (status >= 300 && status < 400) return;
    this.#plan.session?.noteHead(sessionId, status < 300 ? statusHeader : '', this.#plan.sessionId ?? '');
  }

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
        if (this.#unparsed === undefined && this.#isBorrowable(chunk)) {
          this.#wholeAnswer = chunk;
          break;
        }
        this.#restartSilenceTimeout();
        if (this.#unparsed === undefined) this.#collectBody(chunk, this.#answerBytesMax);
        else if (!this.#unparsed.tryAdd(chunk)) this.#fail(upstreamFault('answer-too-large'));
        break;
      case 'event-stream':
        // There is no parser if the answer comes on another stream.
        if (this.#parser === undefined) break;
        if (this.#resumption?.hasProgressed(this.#parser.lastEventId) !== false) this.#restartSilenceTimeout();
        this.#chunk = chunk;
        if (!this.#parser.push(chunk)) this.#onStreamEnd(upstreamFault('answer-too-large'));
        this.#chunk = undefined;
        this.#countEvent();
        break;
      case 'refused':
        this.#collectBody(chunk, limits.upstreamRefusalBytesMax);
        break;
      default:
    }
    if (ration === undefined) return;
    ration.spentMs += performance.now() - startMs;
    ration.bytesLeft -= chunk.length;
    // The request is not paused after the answer: no handler would resume it.
    if (ration.bytesLeft > 0 || this.#state === 'answered' || this.#state === 'done') return;
    this.pause();
    this.#handler.onRationRead?.(ration.spentMs);
  }

  /** Whether the handler may get the chunk without a copy: it is the whole answer, and not so large that its memory is counted. */
  #isBorrowable({ length }: Buffer): boolean {
    if (this.#handler.acceptsBorrowed !== true || length !== this.#bodyBytes) return false;
    return length < limits.countedFromBytes && length <= this.#answerBytesMax;
  }

  onEvent(data: Buffer): void {
    if (!this.#acceptsEvents) return;
    if (data.length > this.#answerBytesMax) return this.#fail(upstreamFault('answer-too-large'));
    this.#countMessage(data.length);
    this.#restartSilenceTimeout();
    this.#plan.endpoint.onAnswer(this.#deadlines.recentMs);
    this.#onEvent(data);
    this.#countEvent();
    this.#tryEndStream();
  }

  /** Whether a message has arrived that the handler does not have yet. */
  get #hasPendingMessage(): boolean {
    return this.#scan !== undefined || (this.#waitingEvents !== undefined && this.#waitingEvents.length > 0);
  }

  /** On a shared stream, events may arrive before the head of the response to the POST. */
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
        this.#tryFinish();
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
    this.#plan.endpoint.circuit.onFault(fault);
    if (this.#plan.stream !== undefined && this.#hasPendingMessage) this.#transition('waiting', 'event-stream');
    if (this.#state === 'answered') this.#tryFinish();
    else if (this.#state === 'event-stream') this.#onStreamEnd(fault);
    else this.#fail(fault);
  }

  /** Called by `SseStream` when the shared stream has ended. */
  onLost(fault: UpstreamFault): void {
    this.#fail(fault);
  }

  /** Notes how the stream ended. The end takes effect when no event waits any more. */
  #onStreamEnd(ending: UpstreamFault | 'end'): void {
    if (this.#state !== 'event-stream') return;
    this.#streamEnding ??= ending;
    this.#tryEndStream();
  }

  #tryEndStream(): void {
    if (this.#streamEnding === undefined || this.#hasPendingMessage) return;
    if (this.#state === 'answered') this.#tryFinish();
    // If another stream brings the answer, the end of the response to the POST does not matter.
    else if (this.#answerSource === undefined && this.#state === 'event-stream' && !this.#tryResume(this.#streamEnding))
      this.#fail(this.#streamEnding === 'end' ? upstreamFault('answer-incomplete') : this.#streamEnding);
  }

  #onStream(): void {
    if (!this.#transition('waiting', 'event-stream')) this.#transition('resuming', 'event-stream');
    const largeHandler = this.#unparsed && this.#largeEventHandler(this.#unparsed);
    this.#parser = new EventStreamParser((data) => this.#onEvent(data), this.#answerBytesMax, largeHandler);
  }

  /** Resumes the stream. The deadline keeps running: a backend that resumes a stream may still not answer. */
  #tryResume(ending: UpstreamFault | 'end'): boolean {
    const { resumingHttp } = this.#plan;
    if (resumingHttp === undefined || (ending !== 'end' && ending.kind !== 'connection-lost')) return false;
    if (this.#parser === undefined || this.#unparsed?.tryRestart() === false) return false;
    const resumption =
      this.#resumption ?? new Resumption(this.#plan, resumingHttp, this.#deadlines, this, this.#call.isSent);
    if (!resumption.tryBegin(this.#parser)) return false;
    this.#call = this.#resumption = resumption;
    this.#transition('event-stream', 'resuming');
    this.#streamEnding = undefined;
    const wasWaitingForRoom = this.#reservation?.isWaiting === true;
    this.#reservation?.release();
    // A pause by the handler is repeated on the new call. A pause for want of memory has ended with the reservation.
    if (this.isPaused) resumption.pause();
    else resumption.resume();
    if (wasWaitingForRoom) this.#restartSilenceTimeout();
    return true;
  }

  #onJson(): void {
    if (this.#unparsed !== undefined) return this.#unparsed.end(() => this.#tryFinish());
    const whole = this.#wholeAnswer ?? this.#receivedBody?.bytes ?? NO_BYTES;
    if (whole[0] !== OPENING_BRACE && this.#tryBatch(whole)) return this.onEnd();
    const bytes = whole[0] === OPENING_BRACE ? whole : answerJsonOf(whole, this.#plan);
    if (bytes.length <= limits.readAtOnceBytesMax) return this.#onJsonMessage(bytes, readBackendAnswer(bytes));
    // The answer is complete: the backend is not to blame for further delays.
    this.#deadline.cancel();
    this.#transition('json', 'scanning');
    this.#scan = readLargeBackendMessage(
      this.#plan.subject,
      bytes,
      (message) => this.#onJsonMessage(bytes, message),
      this.#plan.hasTasks,
    );
  }

  /** Treats each message of an array (a batch of 2025-03-26) as if it came in an event of its own. */
  #tryBatch(bytes: Buffer): boolean {
    const messages = readBackendBatch(bytes);
    if (messages === undefined) return false;
    this.#plan.endpoint.onForgiven('array');
    if (this.#transition('json', 'event-stream')) this.#chunk = this.#wholeAnswer;
    for (const message of messages) this.#onEvent(message);
    return true;
  }

  #onJsonMessage(bytes: Buffer, message: BackendMessage | undefined): void {
    const readable = message === undefined ? repairedUtf8(bytes, this.#plan) : undefined;
    if (readable !== undefined) return this.#onJsonMessage(readable, readBackendAnswer(readable));
    if (message === undefined || !this.#isAnswer(bytes, message)) return this.#fail(upstreamFault('answer-invalid'));
    const isPlain = !message.isError && bytes.length <= limits.readAtOnceBytesMax;
    const fault = isPlain ? undefined : answerFault(this.#plan, bytes, message);
    if (fault !== undefined) return this.#fail(fault);
    // The bytes stay counted until the handler has counted the answer itself.
    const reservation = this.#reservation;
    this.#reservation = undefined;
    this.#tryFinish();
    this.#handler.onAnswer(bytes, message, this.#wholeAnswer !== undefined);
    reservation?.release();
  }

  /** Whether the message is the answer: a number id may come back as a string. */
  #isAnswer(bytes: Buffer, message: BackendMessage): boolean {
    const { id, endpoint } = this.#plan;
    const outcome = answersRequest(bytes, message, id.bytes, id.start, id.end);
    if (outcome === 'as-text') endpoint.onForgiven('id-as-text');
    return outcome !== 'no';
  }

  #onEvent(data: Buffer): void {
    if (!this.#acceptsEvents) return;
    this.#resumption?.noteEvent();
    if (this.#resumption !== undefined && this.#scan === undefined) this.#restartSilenceTimeout();
    if (this.#scan !== undefined || this.isPaused) (this.#waitingEvents ??= []).push(this.#ownedCopyOf(data));
    else if (data.length <= limits.readAtOnceBytesMax) this.#onEventMessage(data, readBackendMessage(data));
    else this.#scanLarge(this.#ownedCopyOf(data));
  }

  #scanLarge(data: Buffer): void {
    this.#pauseReading();
    // The result comes asynchronously: `#scanLarge` may run inside the parser, whose chunk may contain more events.
    const onRead = (message: BackendMessage | undefined): void => {
      this.#scan = undefined;
      this.#onEventMessage(data, message);
      this.#countEvent();
      this.#deliverEvents();
    };
    this.#scan = readLargeBackendMessage(this.#plan.subject, data, onRead, this.#plan.hasTasks, true);
  }

  #onEventMessage(data: Buffer, message: BackendMessage | undefined): void {
    const readable = message === undefined ? repairedUtf8(data, this.#plan) : undefined;
    if (readable !== undefined) return this.#onEventMessage(readable, readBackendAnswer(readable));
    if (message === undefined) {
      if (!this.#tryBatch(data)) this.#plan.endpoint.onForgiven('heartbeat');
    } else if (message.kind !== 'response') {
      this.#isCarriedOut = this.#plan.stream === undefined;
      this.#handler.onMessage(data, message);
    } else if (this.#isAnswer(data, message)) this.#deliverAnswer(this.#ownedCopyOf(data), message);
    else this.#plan.endpoint.onForgiven('stray-answer');
  }

  #deliverAnswer(bytes: Buffer, message: BackendMessage): void {
    const fault = answerFault(this.#plan, bytes, message, this.#isCarriedOut);
    if (fault !== undefined) return this.#fail(fault);
    if (this.#unparsed === undefined || bytes.length <= limits.readAtOnceBytesMax) {
      this.#onAnsweredOnStream();
      this.#handler.onAnswer(bytes, message);
      return;
    }
    this.#pauseReading();
    this.#scan = this.#unparsed;
    this.#unparsed.addWhole(bytes, () => {
      this.#scan = undefined;
      this.#onAnsweredOnStream();
      this.#countEvent();
      this.#deliverEvents();
    });
    this.#deliverParts();
  }

  /** Delivers parts of a large answer until the handler pauses the request. */
  #deliverParts(): void {
    while (!this.isPaused && this.#unparsed?.tryDeliverPart() === true);
  }

  /** The event, copied if it lies in the current chunk, whose memory is valid only during `onData`. */
  #ownedCopyOf(data: Buffer): Buffer {
    return data.buffer === this.#chunk?.buffer ? Buffer.from(data) : data;
  }

  /** Delivers waiting events until the handler pauses the request, then continues reading. */
  #deliverEvents(): void {
    while (this.#scan === undefined && !this.isPaused && this.#acceptsEvents) {
      const event = this.#waitingEvents?.shift();
      if (event === undefined) break;
      this.#onEvent(event);
    }
    if (this.#state === 'answered') this.#waitingEvents = undefined;
    this.#tryEndStream();
    if (this.#state === 'done' || this.#scan !== undefined || this.isPaused) return;
    if (this.#reservation?.isWaiting === true) return;
    if (this.#state !== 'answered') this.#restartSilenceTimeout();
    this.#call.resume();
  }

  /** Called when the answer has come on a stream. The backend gets time to end the stream (S10), so that the connection can be reused. */
  #onAnsweredOnStream(): void {
    if (!this.#transition('event-stream', 'answered')) this.#transition('waiting', 'answered');
    this.#deadline.restartAfter(ANSWERED_STREAM_MS_MAX);
  }

  #onRefusal(): void {
    const bytes = answerJsonOf(withoutEvents(this.#receivedBody?.bytes ?? NO_BYTES), this.#plan);
    const isAnswer = (message: BackendMessage): boolean => this.#isAnswer(bytes, message);
    const read = readRefusal(this.#plan, this.#handler, this.status, bytes, this.#statusHeader, isAnswer);
    if ('fault' in read) return this.#fail(read.fault);
    this.#tryFinish();
    this.#handler.onAnswer(bytes, read.answer);
  }

  #collectBody(chunk: Buffer, bytesMax: number): void {
    const received = (this.#receivedBody ??= new BodyCollector(this.#answerBytesMax, shortLivedMemory));
    const bytes = Math.max(received.length + chunk.length, this.#bodyBytes);
    if (bytes > bytesMax) {
      const tooLarge = upstreamFault('answer-too-large');
      return this.#fail(this.#state === 'refused' ? statusFault(this.status, this.#plan.carriesSession) : tooLarge);
    }
    const isCounted = bytes >= limits.countedFromBytes && this.#state === 'json' && this.#tryReserveMemory(bytes);
    // If there is no room, the request has failed.
    if (this.#state !== 'done') received.add(chunk, this.#bodyBytes, isCounted);
  }

  /** Counts the memory of an incomplete event, which the parser keeps. The handler counts complete events. */
  #countEvent(): void {
    const bytes = this.#parser?.keptBytes ?? 0;
    if (bytes >= limits.countedFromBytes && this.#state === 'event-stream') this.#tryReserveMemory(bytes);
    else if (this.#scan === undefined && !this.#waitingEvents?.length) this.#reservation?.release();
  }

  #largeEventHandler(unparsed: UnparsedAnswer): LargeEventHandler {
    const isOpen = (): boolean => this.#state === 'event-stream';
    return {
      fromBytes: connectionBounds.upstreamReadBytes,
      accepts: (beginning) => isOpen() && beginsWithResult(beginning),
      onPiece: (piece) => {
        if (isOpen() && !unparsed.tryAdd(piece)) this.#fail(upstreamFault('answer-too-large'));
      },
      onEnd: () => {
        if (isOpen()) unparsed.end(() => this.#onAnsweredOnStream());
      },
    };
  }

  /** Follows one redirect, which says that the request was not carried out. Later requests go to the new target at once. */
  #tryFollowRedirect(status: number, location: string): boolean {
    const { endpoint, target, redirection, stream, credentials } = this.#plan;
    const configured = stream?.messageTarget ?? target;
    const moved = movedTarget(status, location, this.#target, credentials !== undefined, configured);
    const http = this.#redirectHttp;
    (stream ?? redirection).movedTo = http && moved;
    if (moved === undefined || http === undefined) return false;
    this.#redirectHttp = undefined;
    endpoint.onForgiven('redirect');
    this.#call.abort();
    this.#call = this.#send(http);
    return true;
  }

  #send(http: HttpUpstream): UpstreamCall {
    const { subject, stream, redirection, id, headers, body, leftOut, putIn, requestId, trace, head } = this.#plan;
    const target = (this.#target = (stream ?? redirection).movedTo ?? stream?.messageTarget ?? this.#plan.target);
    const request = { subject, target, method: 'POST', headers, body, leftOut, putIn, requestId, trace, head } as const;
    return stream === undefined ? http.dispatch(request, this) : stream.dispatch(id, request, this);
  }

  /** Whether the whole request has been sent, so that its memory may be reused. */
  get isSent(): boolean {
    return this.#call.isSent;
  }

  /** Stops reading the answer, and the deadline on silence, until `resume`. */
  pause(): void {
    if (this.#state === 'done') return;
    this.isPaused = true;
    this.#pauseReading();
  }

  resume(): void {
    if (this.#state === 'done' || !this.isPaused) return;
    this.isPaused = false;
    this.#deliverParts();
    this.#deliverEvents();
  }

  /** Sets a ration: after so many more bytes, the request pauses and calls `onRationRead`. @param bytes `undefined` for no limit. */
  setRation(bytes: number | undefined): void {
    this.#ration = bytes === undefined ? undefined : { bytesLeft: bytes, spentMs: 0 };
  }

  /** @param isExcused whether the backend is waiting for the caller: its silence does not count then. */
  excuseSilence(isExcused: boolean): void {
    this.#isSilenceExcused = isExcused;
    if (this.#state === 'done' || this.#state === 'answered' || this.isPaused || this.#scan !== undefined) return;
    if (!isExcused) this.#restartSilenceTimeout();
    else if (this.#plan.isSilenceTimeout) this.#deadline.cancel();
  }

  #pauseReading(): void {
    if (this.#plan.isSilenceTimeout && this.#state !== 'answered') this.#deadline.cancel();
    this.#call.pause();
  }

  #restartSilenceTimeout(): void {
    if (this.#plan.isSilenceTimeout && !this.#isSilenceExcused && !this.isPaused) this.#deadline.restart();
  }

  /** Counts a complete message, whether or not there is room. */
  #countMessage(bytes: number): void {
    const { memory, subject } = this.#plan;
    if (memory === undefined || bytes < limits.countedFromBytes) return;
    this.#reservation ??= memory.createReservation(subject, this);
    this.#reservation.take(bytes);
  }

  /** Reserves memory for the bytes of a message so far. Without room, reading stops until `onRoom`. @returns whether there is room. */
  #tryReserveMemory(bytes: number): boolean {
    const { memory, subject } = this.#plan;
    if (memory === undefined) return false;
    this.#reservation ??= memory.createReservation(subject, this);
    const outcome = this.#reservation.grow(bytes, Math.min(2 * this.#reservation.reservedBytes, this.#answerBytesMax));
    if (outcome === 'wait') this.#pauseReading();
    else if (outcome !== 'room') this.onNoRoom(outcome);
    return outcome === 'room';
  }

  onRoom(): void {
    this.#deliverEvents();
  }

  onNoRoom(bound: ShareBound): void {
    this.#fail(upstreamFault(bound === 'subjectMax' ? 'answers-share-used' : 'answers-full'));
  }

  #fail(fault: UpstreamFault): void {
    if (!this.#tryFinish()) return;
    this.#call.abort();
    this.#handler.onFault(fault);
  }

  #tryFinish(): boolean {
    if (this.#state === 'done') return false;
    this.#transition(this.#state, 'done');
    this.#deadline.cancel();
    this.#scan?.cancel();
    this.#waitingEvents = undefined;
    this.#receivedBody?.clear();
    this.#reservation?.release();
    this.#unparsed?.cancel();
    this.#answerSource?.forget(this.#plan.id, this);
    return true;
  }

  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    return true;
  }
}
