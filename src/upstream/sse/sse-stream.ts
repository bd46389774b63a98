// The one event stream of a session with a server of the transport of 2024-11-05: where messages are to be posted comes on it first, and
// then every answer and whatever the server says by itself. With the stream the session is over: it is opened anew when it is next
// needed. Cold: few servers are so.
//
//   asking ── 200 ──> naming ── `endpoint` event ──> open
//   asking, naming, open ── any other answer, end, fault, close ──> over
import { EventStreamParser, encodeEvent } from '../../protocol/event-stream.js';
import { readBackendMessage, type BackendMessage } from '../../protocol/json-rpc.js';
import { idKey } from '../../protocol/message-id.js';
import { readLargeBackendMessageLater } from '../../protocol/large-backend-message.js';
import type { Reading } from '../../protocol/reading-queue.js';
import type { Deadline } from '../../shared/deadline-wheel.js';
import { wokenTurns } from '../../shared/fair-turns.js';
import { limits } from '../../shared/limits.js';
import type { MessageHold, RoomWaiter } from '../../shared/message-memory.js';
import type { ShareBound } from '../../shared/share.js';
import type { UpstreamTarget } from '../../user-config/upstream-target.js';
import {
  plainRequest,
  type HttpUpstream,
  type UpstreamCall,
  type UpstreamHandler,
  type UpstreamRequest,
} from '../http/http-upstream.js';
import type { Endpoint } from '../reach/endpoint.js';
import type { IdSpan } from '../rpc/request-plan.js';
import type { UpstreamContext } from '../upstream-context.js';
import { httpStatusFault, redirectFault, upstreamFault, type UpstreamFault } from '../http/upstream-fault.js';
import { endpointTarget } from './endpoint-url.js';
import { SseCall, STREAM_LOST, type CallsStream } from './sse-call.js';

export interface SseStreamPlan {
  readonly subject: string;
  readonly target: UpstreamTarget;
  readonly endpoint: Endpoint;
  /** Of the caller for this backend, and credentials: name, value, … */
  readonly headers: readonly string[];
}

/** Whose session it is: who opens it at first, and then the upstream session. */
export interface SseStreamOwner {
  /** Messages can be sent. Called once. */
  onNamed?(): void;
  /** The server says something that answers nothing, and nobody listens. @returns whether it has come to somebody. */
  onUnheard?(bytes: Buffer, message: BackendMessage): boolean;
  /** The server asks something, and there is nobody who could be asked. */
  onUnasked?(bytes: Buffer, message: BackendMessage): void;
  /** It is over by itself, for whoever waits as well: they hear it next. */
  onLost(fault: UpstreamFault): void;
}

type State = 'asking' | 'naming' | 'open' | 'over';

export class SseStream implements UpstreamHandler, CallsStream, RoomWaiter {
  owner: SseStreamOwner;
  readonly #context: UpstreamContext;
  readonly #plan: SseStreamPlan;
  readonly #call: UpstreamCall;
  readonly #parser: EventStreamParser;
  #state: State = 'asking';
  #target: UpstreamTarget;
  /** By the keys of their ids. */
  readonly #waiting = new Map<string, SseCall>();
  /** Their readers want no more for now. */
  readonly #paused = new Set<SseCall>();
  /** Who wants to hear what answers nothing. */
  #listener: SaidBody | undefined;
  /** A large event is being read, and those behind it wait. */
  #reading: Reading | undefined;
  #events: Buffer[] = [];
  /** The chunk that the parser is given: what lies in it is valid only now. */
  #chunk: Buffer | undefined;
  #room: MessageHold | undefined;
  #isResting = false;
  #heardAtMs: number;

  /** Asks for it. The owner is never called from within. */
  constructor(context: UpstreamContext, plan: SseStreamPlan, owner: SseStreamOwner) {
    this.#context = context;
    this.#plan = plan;
    this.#target = plan.target;
    this.owner = owner;
    this.#heardAtMs = context.nowMs();
    this.#parser = new EventStreamParser((data, event) => this.#onEvent(data, event), limits.upstreamMessageBytesMax);
    const headers = ['accept', 'text/event-stream', 'cache-control', 'no-cache', ...plan.headers];
    this.#call = context.streams.dispatch(plainRequest(plan.subject, plan.target, 'GET', headers), this);
  }

  /** Where messages go, once that is known. */
  get target(): UpstreamTarget {
    return this.#target;
  }

  /** Whether the server has begun it. */
  get isAnswered(): boolean {
    return this.#state !== 'asking';
  }

  /** What sends one request and hands its answer on. */
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
    else if (this.#waiting.size >= limits.sseRequestsWaitingMax) call.failLater(upstreamFault('backend-busy', true));
    else {
      this.#waiting.set(key, call);
      call.post(this.#context.http, { ...request, target: this.#target });
    }
    return call;
  }

  /**
   * Hands on what answers nothing, as a stream of its own would.
   * @param reader hears it in place of who has before.
   */
  listen(reader: UpstreamHandler): UpstreamCall {
    const listening = new SaidBody(reader, () => {
      if (this.#listener === listening) this.#listener = undefined;
    });
    process.nextTick(() => {
      if (this.#state !== 'open') return listening.fail(STREAM_LOST);
      if (!listening.begin()) return;
      this.#listener = listening;
    });
    return listening;
  }

  /** Whether so long nothing was heard on it, and nobody waits: it may be gone without a word. */
  hasBeenSilentFor(ms: number): boolean {
    return this.#waiting.size === 0 && this.#context.nowMs() - this.#heardAtMs >= ms;
  }

  /** Nobody wants it any more; who waits on it is told that it is lost. */
  close(): void {
    if (this.#end(STREAM_LOST)) this.#call.abort();
  }

  onHead(status: number, contentType: string, _sessionId: string, _bodyBytes: number, location: string): void {
    if (this.#state !== 'asking') return;
    this.#plan.endpoint.onAnswer(this.#context.deadlines.recentMs);
    if (status === 200 && contentType === 'text/event-stream') this.#transition('asking', 'naming');
    else if (status >= 400) this.#lose(httpStatusFault(status));
    else if (status >= 300) this.#lose(redirectFault(status, location, this.#plan.target));
    else this.#lose(upstreamFault('answer-invalid'));
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

  /** For `SseCall`. */
  forget(call: SseCall): void {
    if (this.#waiting.get(call.key) === call) this.#waiting.delete(call.key);
    this.onPaused(call, false);
  }

  /** For `SseCall`. */
  onPaused(call: SseCall, isPaused: boolean): void {
    if (isPaused) this.#paused.add(call);
    else this.#paused.delete(call);
    this.#rest();
  }

  /** For `SseCall`. */
  cutLater(cut: () => void): Deadline {
    return this.#context.deadlines.after(limits.answeredStreamMsMax, cut);
  }

  /** For `MessageHold`, as the next one. */
  onRoom(): void {
    this.#rest();
  }

  onNoRoom(bound: ShareBound): void {
    this.#lose(upstreamFault(bound === 'subjectMax' ? 'answers-share-used' : 'answers-full'));
  }

  #onEvent(data: Buffer, event: string): void {
    if (this.#state === 'naming' && event === 'endpoint') this.#onNamed(data);
    if (this.#state !== 'open' || event !== '') return;
    if (this.#reading !== undefined) this.#events.push(this.#owned(data));
    else if (data.length <= limits.readAtOnceBytesMax) this.#onMessage(data, readBackendMessage(data));
    else this.#readLarge(this.#owned(data));
  }

  #onNamed(data: Buffer): void {
    const target = endpointTarget(data, this.#plan.target);
    if ('kind' in target) return this.#lose(target);
    this.#transition('naming', 'open');
    this.#target = target;
    this.owner.onNamed?.();
  }

  #readLarge(data: Buffer): void {
    this.#reading = readLargeBackendMessageLater(this.#plan.subject, data, (message) => {
      this.#reading = undefined;
      this.#onMessage(data, message);
      while (this.#reading === undefined && this.#events.length > 0) this.#onEvent(this.#events.shift()!, '');
      this.#count();
    });
    this.#rest();
  }

  #onMessage(data: Buffer, message: BackendMessage | undefined): void {
    if (this.#state !== 'open') return;
    // Whose answer it should have been nobody knows.
    if (message === undefined) this.#lose(upstreamFault('answer-invalid'));
    else if (message.kind === 'response') this.#onAnswer(data, message);
    else this.#onSaid(data, message);
  }

  /** An answer that nobody waits for is none: it may be late, or never have been asked for. Hundreds come in one piece. */
  #onAnswer(data: Buffer, { idStart, idEnd }: BackendMessage): void {
    if (idStart === -1) return;
    const call = this.#waiting.get(idKey(data, idStart, idEnd));
    if (call === undefined) return;
    this.#waiting.delete(call.key);
    const owned = this.#owned(data);
    // Large ones are few, and count as soon as they are here.
    if (owned.length >= limits.countedFromBytes) call.answer(owned);
    else wokenTurns.run(this.#plan.subject, () => call.answer(owned));
  }

  #onSaid(data: Buffer, message: BackendMessage): void {
    const isForListener = data.length <= limits.backendStreamEventBytesMax;
    if (this.#listener !== undefined && isForListener) return this.#listener.tell(data);
    if (this.#listener === undefined) {
      if (this.owner.onUnheard?.(data, message) === true) return;
      const [only] = this.#waiting.values();
      // During several requests nobody can tell whose it is.
      if (only !== undefined && this.#waiting.size === 1) return only.tell(this.#owned(data));
    }
    if (message.kind === 'request') this.owner.onUnasked?.(data, message);
  }

  /** An event lies in a chunk that is valid only now, or in memory of its own, which may be kept. */
  #owned(data: Buffer): Buffer {
    return data.buffer === this.#chunk?.buffer ? Buffer.from(data) : data;
  }

  /** An event whose end has not come, and one that is being read. */
  #count(): void {
    if (this.#state === 'over') return;
    const bytes = this.#parser.keptBytes;
    if (bytes >= limits.countedFromBytes) this.#makeRoom(bytes);
    else if (this.#reading === undefined) this.#room?.release();
    this.#rest();
  }

  #makeRoom(bytes: number): void {
    if (bytes <= (this.#room?.heldBytes ?? 0)) return;
    this.#room ??= this.#context.answerMemory.hold(this.#plan.subject, this);
    const outcome = this.#room.grow(bytes, Math.min(2 * this.#room.heldBytes, limits.upstreamMessageBytesMax));
    if (outcome !== 'room' && outcome !== 'wait') this.onNoRoom(outcome);
  }

  /** Reads on, or not. */
  #rest(): void {
    const isResting = this.#reading !== undefined || this.#paused.size > 0 || this.#room?.isWaiting === true;
    if (isResting === this.#isResting || this.#state === 'over') return;
    this.#isResting = isResting;
    if (isResting) this.#call.pause();
    else this.#call.resume();
  }

  #lose(fault: UpstreamFault): void {
    if (this.#state === 'over') return;
    this.#call.abort();
    this.#end(fault, this.owner);
  }

  #end(fault: UpstreamFault, told?: SseStreamOwner): boolean {
    if (this.#state === 'over' || !this.#transition(this.#state, 'over')) return false;
    this.#reading?.cancel();
    this.#events = [];
    this.#room?.release();
    told?.onLost(fault);
    for (const call of [...this.#waiting.values()]) call.lose(fault);
    this.#listener?.fail(fault);
    return true;
  }

  /** The one writer of the state. */
  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    return true;
  }
}

/** What the server says by itself, as the body of a stream that it would have for that. */
class SaidBody implements UpstreamCall {
  readonly isSent = true;
  #reader: UpstreamHandler | undefined;
  readonly #onOver: () => void;

  constructor(reader: UpstreamHandler, onOver: () => void) {
    this.#reader = reader;
    this.#onOver = onOver;
  }

  begin(): boolean {
    this.#reader?.onHead(200, 'text/event-stream', '', -1, '');
    return this.#reader !== undefined;
  }

  tell(data: Buffer): void {
    this.#reader?.onData(encodeEvent(data));
  }

  fail(fault: UpstreamFault): void {
    const reader = this.#reader;
    this.abort();
    reader?.onFault(fault);
  }

  abort(): void {
    this.#reader = undefined;
    this.#onOver();
  }

  pause(): void {
    // Messages for it are small, and who hears them drops what is too much.
  }

  resume(): void {
    // As above.
  }
}
