// The caller's end of one hop: sends a request to its owner and passes the answer to the exchange that the request came by.
//
//   asked ── respond ──> gathering ── body complete ──> done
//   asked ── open-stream, open-body ──> streaming ── end ──> ending ── all written ──> done
//   asked, gathering, streaming ── cut, or the link is lost ──> done
//   asked, gathering, streaming, abandoned ── reset, or an invalid frame ──> done
//   asked, gathering, streaming ── the caller went away ──> abandoned ── request sent ──> done
//   ending ── the caller went away ──> done
import { type Exchange, JOINED_EVENT_BYTES_MAX } from '../../exchange/index.js';
import { limits } from '../../shared/index.js';
import { type MemoryWaiter, LARGE_MEMORY_FROM_BYTES } from '../../fair/index.js';
import { FlowReceiver, FlowSender, HopBody } from './flow.js';
import { HopFault, StreamFault, type FrameKind, hopBounds } from './frames.js';
import {
  parseCredit,
  parseOpenBody,
  parseRespondHead,
  parseText,
  trySendRequestHead,
  type ForwardedIdentity,
  type RespondHead,
} from './heads.js';
import type { HopSocket, HopStream } from './socket.js';

/**
 * Why there is no answer. `owner-absent`: no process listens in the owner's slot, so nothing was sent. `owner-lost`: the owner cannot be
 * reached, or its link broke; the request may have been sent. `hop-failed`: a fault in the frames of this one request. `answer-bytes-full`:
 * no memory is left for the answer.
 */
export type HopFailure = 'owner-absent' | 'owner-lost' | 'hop-failed' | 'answer-bytes-full';

type State = 'asked' | 'gathering' | 'streaming' | 'ending' | 'abandoned' | 'done';

export class HopCall implements HopStream, MemoryWaiter {
  readonly #socket: HopSocket;
  readonly stream: number;
  readonly #identity: ForwardedIdentity;
  readonly #exchange: Exchange;
  readonly #onFailure: (failure: HopFailure) => void;
  readonly #forget: (stream: number) => void;
  readonly #outflow: FlowSender;
  #state: State = 'asked';
  /** An answer that the owner sends as a whole (`respond`), while its body arrives. */
  #answer: { readonly head: RespondHead; readonly body: HopBody } | undefined;
  readonly #inflow: FlowReceiver;
  /** The remaining bytes of a body of known length; `undefined` in an event stream. */
  #bodyLeftBytes: number | undefined;
  /** Stream data that arrived after a `write` returned false, kept until `onDrain`: at most one window. */
  #unwritten: Buffer[] = [];
  #isBlocked = false;
  #lastBytes: Buffer | undefined;
  /** The size of the `write` that returned false, for which `onDrain` returns the credit. */
  #blockedBytes = 0;

  /** @param forget called once, when no further frame of the stream matters. */
  constructor(
    socket: HopSocket,
    stream: number,
    identity: ForwardedIdentity,
    exchange: Exchange,
    onFailure: (failure: HopFailure) => void,
    forget: (stream: number) => void,
  ) {
    this.#socket = socket;
    this.stream = stream;
    this.#identity = identity;
    this.#exchange = exchange;
    this.#onFailure = onFailure;
    this.#forget = forget;
    this.#outflow = new FlowSender(socket, this, identity.subject);
    this.#inflow = new FlowReceiver(socket, stream);
  }

  start(): void {
    if (!trySendRequestHead(this.#socket, this.stream, this.#identity, this.#exchange.request)) {
      this.#socket.logger.error('a request does not fit into a hop');
      this.fail();
      return;
    }
    this.#outflow.write(this.#exchange.request.body);
    this.#exchange.onAbort = (): void => this.#onAbort();
    this.#exchange.onDrain = (): void => this.#onDrain();
    this.#releaseBodyIfSent();
    if (this.#exchange.isAborted) this.#onAbort();
  }

  /** Releases the body once all of it is in frames. A small body is kept, because a refusal takes the request id from it. */
  #releaseBodyIfSent(): void {
    const isLarge = this.#exchange.request.body.length >= LARGE_MEMORY_FROM_BYTES;
    if (isLarge && this.#outflow.isEmpty) this.#exchange.releaseBody();
  }

  /**
   * Takes a frame. @throws {StreamFault} for one that is not valid in this state.
   * @throws {HopFault} for one that an owner never sends.
   */
  onFrame(kind: FrameKind, payload: Buffer): void {
    if (kind === 'reset') return this.fail();
    if (kind === 'credit') return this.onCredit(parseCredit(payload));
    // The owner does not know yet that the caller is gone.
    if (this.#state === 'abandoned') return;
    switch (kind) {
      case 'respond':
        return this.#onRespond(parseRespondHead(payload));
      case 'open-stream':
        this.#expect(['asked'], 'streaming', kind);
        return this.#exchange.openStream(parseText(payload));
      case 'open-body': {
        const { contentType, bodyBytes } = parseOpenBody(payload);
        this.#expect(['asked'], 'streaming', kind);
        this.#bodyLeftBytes = bodyBytes;
        return this.#exchange.openBody(contentType, bodyBytes);
      }
      case 'sessionless':
        return this.#exchange.onSessionless?.(parseText(payload) ?? '');
      case 'data':
        return this.#onData(payload);
      case 'end':
        return this.#onEnd(payload);
      case 'cut':
        return this.#onCut();
      case 'hello':
      case 'request':
      case 'abort':
      case 'leave':
        throw new HopFault(`${kind} frame at the caller`);
    }
  }

  /** Ends a hop whose owner forgot it, or whose link is lost: reports the failure, or cuts the caller off if its answer has begun. */
  fail(failure: HopFailure = 'hop-failed'): void {
    const hasBegun = this.#state === 'streaming';
    const isWaiting = this.#state === 'asked' || this.#state === 'gathering';
    if (!this.#finish(['asked', 'gathering', 'streaming', 'abandoned'])) return;
    this.#outflow.drop();
    this.#forget(this.stream);
    if (hasBegun) this.#exchange.reset();
    else if (isWaiting) this.#onFailure(failure);
  }

  #onRespond(head: RespondHead): void {
    if (head.bodyBytes > hopBounds.hopAnswerBytesMax) throw new StreamFault(`answer of ${head.bodyBytes} bytes`);
    this.#expect(['asked'], 'gathering', 'respond');
    const body = new HopBody(this.#inflow, head.bodyBytes);
    this.#answer = { head, body };
    if (head.bodyBytes >= limits.countedFromBytes) {
      const outcome = this.#exchange.reserve(head.bodyBytes, this);
      if (outcome === 'wait') body.pause();
      else if (outcome !== 'room') this.onNoRoom();
    }
    this.#tryRespond();
  }

  onRoom(): void {
    if (this.#state === 'gathering') this.#answer?.body.resume();
  }

  /** Called when there is no memory for the answer: the caller is refused, and the owner drops the rest. */
  onNoRoom(): void {
    if (this.#state !== 'gathering') return;
    this.#socket.addFrame('reset', this.stream, 0);
    this.fail('answer-bytes-full');
  }

  #onData(payload: Buffer): void {
    if (this.#answer !== undefined) {
      this.#answer.body.add(payload);
      this.#tryRespond();
      return;
    }
    if (this.#state !== 'streaming') throw new StreamFault(`data frame while ${this.#state}`);
    this.#inflow.countArrived(payload.length);
    if (this.#bodyLeftBytes !== undefined) {
      if (payload.length > this.#bodyLeftBytes) throw new StreamFault('body longer than its head says');
      this.#bodyLeftBytes -= payload.length;
    }
    // The data is copied, so that a small event does not keep alive the whole piece that it arrived in.
    if (this.#isBlocked) this.#unwritten.push(Buffer.from(payload));
    else this.#write(payload);
  }

  #tryRespond(): void {
    if (this.#answer?.body.isComplete !== true || !this.#finish(['gathering'])) return;
    const { head, body } = this.#answer;
    this.#forget(this.stream);
    this.#exchange.respond(head.status, head.contentType, body.bytes, head.sessionId, head.headers);
  }

  #onEnd(last: Buffer): void {
    if (last.length > JOINED_EVENT_BYTES_MAX) throw new StreamFault(`${last.length} bytes with the end`);
    if (this.#bodyLeftBytes !== undefined && last.length !== this.#bodyLeftBytes)
      throw new StreamFault(`body ${last.length < this.#bodyLeftBytes ? 'shorter' : 'longer'} than its head says`);
    this.#expect(['streaming'], 'ending', 'end');
    this.#forget(this.stream);
    this.#lastBytes = this.#isBlocked ? Buffer.from(last) : last;
    this.#writeWaiting();
  }

  #onCut(): void {
    if (!this.#finish(['asked', 'gathering', 'streaming'])) return;
    this.#forget(this.stream);
    this.#exchange.reset();
  }

  onCredit(creditBytes: number): void {
    this.#outflow.addCredit(creditBytes);
    this.#releaseBodyIfSent();
    if (this.#state === 'abandoned' && this.#outflow.isEmpty) this.#finishAbandoned();
  }

  #onDrain(): void {
    if (!this.#isBlocked) return;
    this.#isBlocked = false;
    this.#countReleased(this.#blockedBytes);
    this.#writeWaiting();
  }

  /** Writes the waiting bytes, until the exchange takes no more; `#onDrain` continues. */
  #writeWaiting(): void {
    while (!this.#isBlocked && (this.#state === 'streaming' || this.#state === 'ending')) {
      const bytes = this.#unwritten.shift();
      if (bytes === undefined) {
        if (this.#finish(['ending'])) this.#exchange.end(this.#lastBytes);
        return;
      }
      this.#write(bytes);
    }
  }

  #write(bytes: Buffer): void {
    this.#isBlocked = !this.#exchange.write(bytes);
    if (this.#isBlocked) this.#blockedBytes = bytes.length;
    else this.#countReleased(bytes.length);
  }

  /** Lets the owner send as much again. Not once the stream is ending: then the owner has nothing to send. */
  #countReleased(bytes: number): void {
    if (this.#state === 'streaming') this.#inflow.countReleased(bytes);
  }

  #onAbort(): void {
    this.#unwritten = [];
    if (this.#finish(['ending'])) return;
    if (!this.#transition(['asked', 'gathering', 'streaming'], 'abandoned')) return;
    this.#socket.addFrame('abort', this.stream, 0);
    // The rest of the request is still sent: the owner carries it out (S12).
    if (this.#outflow.isEmpty) this.#finishAbandoned();
  }

  #finishAbandoned(): void {
    this.#finish(['abandoned']);
    this.#forget(this.stream);
  }

  #expect(from: readonly State[], to: State, kind: FrameKind): void {
    if (!this.#transition(from, to)) throw new StreamFault(`${kind} frame while ${this.#state}`);
  }

  #finish(from: readonly State[]): boolean {
    if (!this.#transition(from, 'done')) return false;
    this.#exchange.onAbort = undefined;
    this.#exchange.onDrain = undefined;
    return true;
  }

  #transition(from: readonly State[], to: State): boolean {
    if (!from.includes(this.#state)) return false;
    this.#state = to;
    return true;
  }
}
