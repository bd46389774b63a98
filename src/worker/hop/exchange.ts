// The owner's end of one hop: an exchange whose response goes over the link to the peer worker, which sends it to the client.
//
//   unanswered ── respond ──> responding ── all sent ──> complete
//   unanswered ── openStream, openBody ──> streaming ── end ──> ending ── all sent ──> complete
//   unanswered, streaming ── reset ──> aborted
//   responding ── the answer does not fit into a hop ──> aborted
//   unanswered, responding, streaming, ending ── abort ──> aborted
import { type BodyType, Exchange, JOINED_EVENT_BYTES_MAX } from '../../exchange/index.js';
import {
  AnswerMemory,
  largeMemory,
  LARGE_MEMORY_FROM_BYTES,
  type MessageMemory,
  type MemoryWaiter,
  type ShareBound,
} from '../../fair/index.js';
import type { Logger } from '../../shared/index.js';
import { FlowReceiver, FlowSender, HopBody } from './flow.js';
import { HopFault, type FrameKind } from './frames.js';
import {
  type ForwardedIdentity,
  type ForwardedRequestHead,
  parseCredit,
  sendOpenBody,
  sendText,
  trySendRespondHead,
} from './heads.js';
import type { HopSocket, HopStream } from './socket.js';

const NO_BODY = Buffer.alloc(0);

/** What a hop needs of the worker that owns the session. */
export interface HopOwner {
  readonly secret: Uint8Array;
  /** The limit of request bodies, the same in all workers. */
  readonly bodyBytesMax: number;
  /** The memory for answers that wait until the peer takes them. */
  readonly answerMemory: MessageMemory;
  /** Called when the request's body has arrived; the answer goes back through the exchange. */
  readonly onExchange: (identity: ForwardedIdentity, exchange: Exchange) => void;
  readonly logger: Logger;
}

type State = 'unanswered' | 'responding' | 'streaming' | 'ending' | 'complete' | 'aborted';

export class HopExchange extends Exchange implements HopStream {
  readonly stream: number;
  readonly identity: ForwardedIdentity;
  /** Whether the caller went away while the body arrived. The request is still carried out: a disconnect is no cancellation (S12). */
  #isCallerGone = false;
  readonly #socket: HopSocket;
  readonly #owner: HopOwner;
  readonly #outflow: FlowSender;
  readonly request: ForwardedRequestHead['request'];
  #requestBody: HopBody | undefined;
  #state: State = 'unanswered';
  /** The body of an answer sent as a whole, without a copy. */
  #answer: Uint8Array = NO_BODY;
  /** Whether a `write` returned false, and `onDrain` has not been called since. */
  #isDrainDue = false;
  /** The answer's status; 0 before there is an answer. */
  #status = 0;
  /** How many bytes of the answer's body the relay has handed over. */
  #answerBytes = 0;
  /** Counts the answer's bytes that wait for the peer; created when first needed. */
  #answerMemory: AnswerMemory | undefined;

  constructor(socket: HopSocket, stream: number, head: ForwardedRequestHead, owner: HopOwner) {
    super();
    const { identity, request, bodyBytes } = head;
    this.#socket = socket;
    this.stream = stream;
    this.identity = identity;
    this.request = request;
    if (bodyBytes > 0) this.#requestBody = new HopBody(new FlowReceiver(socket, stream), bodyBytes);
    this.#owner = owner;
    this.#outflow = new FlowSender(socket, this, identity.subject);
    if (request.sessionId === '') this.onSessionless = (url) => sendText(socket, 'sessionless', stream, url);
  }

  onFrame(kind: FrameKind, payload: Buffer): void {
    switch (kind) {
      case 'data':
        return this.#receive(payload);
      case 'credit':
        return this.onCredit(parseCredit(payload));
      case 'abort':
        return this.#abort();
      case 'reset':
        return this.fail();
      // A second request with this stream number closes the whole link: later frames could belong to either request.
      case 'request':
        throw new HopFault('stream in use');
      default:
        throw new HopFault(`${kind} frame at the owner`);
    }
  }

  #receive(part: Buffer): void {
    if (this.#requestBody === undefined) return;
    this.#requestBody.add(part);
    if (!this.#requestBody.isComplete) return;
    this.request.body = this.#requestBody.bytes;
    this.#requestBody = undefined;
    this.#owner.onExchange(this.identity, this);
    if (this.#isCallerGone) this.#abort();
  }

  get isAborted(): boolean {
    return this.#state === 'aborted';
  }

  respond(
    status: number,
    contentType: string,
    body: Uint8Array | string,
    sessionId?: string,
    headers: readonly string[] = [],
  ): void {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    if (!this.#begin('responding', status)) return;
    const head = { status, contentType, sessionId, headers, bodyBytes: bytes.length };
    if (!trySendRespondHead(this.#socket, this.stream, head)) {
      this.#socket.logger.error({ bytes: bytes.length }, 'an answer does not fit into a hop');
      this.#transition(['responding'], 'aborted');
      this.#socket.addFrame('reset', this.stream, 0);
      this.#releaseAndForget();
      this.reportDone(this.#status, 0, 'cut');
      return;
    }
    this.#answer = bytes;
    this.#answerBytes = bytes.length;
    this.#outflow.write(bytes);
    this.#countUnread(bytes);
    this.#tryComplete();
  }

  /** Takes memory for an answer that comes from this worker's successor, over a second hop: the relay counts its own answers. */
  override reserve(bytes: number, waiter: MemoryWaiter): 'room' | 'wait' | ShareBound {
    return this.#ensureAnswerMemory().reserve(bytes, waiter);
  }

  override releaseBody(): void {
    if (this.request.body.length < LARGE_MEMORY_FROM_BYTES) return;
    largeMemory.giveBack(this.request.body);
    this.request.body = NO_BODY;
  }

  openStream(sessionId?: string): void {
    if (this.#begin('streaming', 200)) sendText(this.#socket, 'open-stream', this.stream, sessionId);
  }

  openBody(contentType: BodyType, bodyBytes: number): void {
    if (!this.#begin('streaming', 200)) return;
    sendOpenBody(this.#socket, this.stream, { contentType, bodyBytes });
  }

  write(bytes: Uint8Array): boolean {
    if (this.#state !== 'streaming') return true;
    this.#outflow.write(bytes);
    this.#answerBytes += bytes.length;
    this.#countUnread(bytes);
    this.#isDrainDue = !this.#outflow.canSendMore;
    return this.#outflow.canSendMore;
  }

  end(last?: Uint8Array): void {
    // If bytes wait, `last` queues behind them, and `onCredit` calls `#tryComplete` again.
    const isJoined = last !== undefined && last.length <= JOINED_EVENT_BYTES_MAX && this.#outflow.isEmpty;
    if (last !== undefined && !isJoined) this.write(last);
    if (!this.#transition(['streaming'], 'ending')) return;
    if (isJoined) this.#answerBytes += last.length;
    this.#tryComplete(isJoined ? last : NO_BODY);
  }

  reset(): void {
    if (this.#state === 'aborted') this.reportDone(0, 0, 'unheard');
    if (!this.#transition(['unanswered', 'streaming'], 'aborted')) return;
    this.#socket.addFrame('cut', this.stream, 0);
    this.#outflow.drop();
    this.#releaseAndForget();
    this.reportDone(this.#status, this.#answerBytes, 'cut');
  }

  override countSentInPieces(bytes: number): void {
    if (this.#state === 'streaming') this.#ensureAnswerMemory().countSentInPieces(bytes);
  }

  onCredit(creditBytes: number): void {
    this.#outflow.addCredit(creditBytes);
    if (this.#state !== 'streaming') {
      this.#tryComplete();
    } else if (this.#isDrainDue && this.#outflow.canSendMore) {
      this.#isDrainDue = false;
      this.#answerMemory?.releaseUnread();
      this.onDrain?.();
    }
  }

  /** Called when the link is lost, or the stream was reset: no answer is wanted any more. */
  fail(): void {
    if (this.#requestBody === undefined) this.#abort();
    else this.#socket.streams.delete(this.stream);
  }

  /** Ends the hop, because the caller or the peer worker went away. */
  #abort(): void {
    this.#isCallerGone = true;
    if (this.#requestBody !== undefined) return;
    const isAnswered = this.#state === 'responding' || this.#state === 'ending';
    if (!this.#transition(['unanswered', 'responding', 'streaming', 'ending'], 'aborted')) return;
    this.#outflow.drop();
    this.#releaseAndForget();
    if (this.#status !== 0) this.reportDone(this.#status, this.#answerBytes, 'cut');
    // The relay has no more to do with a request that it has answered completely.
    if (!isAnswered) this.onAbort?.();
  }

  #countUnread({ length }: Uint8Array): void {
    if (!this.#outflow.isEmpty) this.#ensureAnswerMemory().countUnread(length);
  }

  #ensureAnswerMemory(): AnswerMemory {
    return (this.#answerMemory ??= new AnswerMemory(this.#owner.answerMemory, this.identity.subject));
  }

  /** Completes the answer. Does nothing while bytes wait: `onCredit` calls it again. */
  #tryComplete(last: Uint8Array = NO_BODY): void {
    if (!this.#outflow.isEmpty) return;
    const isStream = this.#state === 'ending';
    if (!this.#transition(['responding', 'ending'], 'complete')) return;
    if (isStream) this.#socket.addFrame('end', this.stream, last.length).set(last);
    else largeMemory.giveBack(this.#answer);
    this.#releaseAndForget();
    this.reportDone(this.#status, this.#answerBytes, 'whole');
  }

  #releaseAndForget(): void {
    this.#answerMemory?.release();
    this.#socket.streams.delete(this.stream);
  }

  /** Begins the answer. @returns false if one has begun before, or the caller is gone. */
  #begin(to: State, status: number): boolean {
    if (this.#transition(['unanswered'], to)) {
      this.#status = status;
      return true;
    }
    if (this.#state === 'aborted') this.reportDone(status, 0, 'unheard');
    return false;
  }

  #transition(from: readonly State[], to: State): boolean {
    if (!from.includes(this.#state)) return false;
    this.#state = to;
    return true;
  }
}
