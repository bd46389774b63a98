// The owner's end of one link: checks the secret, assembles requests, and hands each to `onExchange` as an exchange.
import { timingSafeEqual } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Exchange } from '../../exchange/index.js';
import { limits, type Logger } from '../../shared/index.js';
import type { MessageMemory } from '../../fair/index.js';
import { HopBody } from './body.js';
import { HopExchange } from './exchange.js';
import { HopFault, StreamFault, type FrameKind } from './frames.js';
import { readCredit, readRequestHead, type ForwardedIdentity, type ForwardedRequestHead } from './heads.js';
import { HopSocket, LINK_STREAM, type HopSocketHandler } from './socket.js';
import { StreamTable } from './streams.js';
import { hopBounds } from './hop-bounds.js';

export interface HopIntakeOptions {
  /** The limit for request bodies; the peer worker has the same one. */
  readonly bodyBytesMax: number;
  /** The memory in which answers count while they wait for the peer. */
  readonly answerMemory?: MessageMemory;
  readonly logger: Logger;
}

export type OnHopExchange = (hop: ForwardedIdentity, exchange: Exchange) => void;

/** A request whose body is incomplete. */
interface ArrivingRequest {
  readonly stream: number;
  readonly head: ForwardedRequestHead;
  readonly body: HopBody;
  isAborted: boolean;
}

export class HopIntake implements HopSocketHandler {
  readonly #socket: HopSocket;
  readonly #secret: Uint8Array;
  readonly #bodyBytesMax: number;
  readonly #answerMemory: MessageMemory | undefined;
  readonly #onExchange: OnHopExchange;
  readonly #onClosed: (intake: HopIntake) => void;
  readonly #helloTimer: NodeJS.Timeout;
  #isTrusted = false;

  readonly #arriving = new StreamTable<ArrivingRequest>();
  readonly #exchanges = new StreamTable<HopExchange>();
  readonly #forget = (stream: number): void => {
    this.#exchanges.delete(stream);
  };

  constructor(
    socket: Socket,
    secret: Uint8Array,
    options: HopIntakeOptions,
    onExchange: OnHopExchange,
    onClosed: (intake: HopIntake) => void,
  ) {
    this.#secret = secret;
    this.#bodyBytesMax = options.bodyBytesMax;
    this.#answerMemory = options.answerMemory;
    this.#onExchange = onExchange;
    this.#onClosed = onClosed;
    this.#socket = new HopSocket(socket, options.logger, this);
    this.#helloTimer = setTimeout(() => this.#socket.destroy(), limits.peerAnswerMsMax);
  }

  /** Tells the peer worker to close the link once its hops are answered, and to open its next link at the socket path. */
  leave(): void {
    this.#socket.reserve('leave', LINK_STREAM, 0);
  }

  /** Ends the link; its exchanges are aborted when this returns. */
  close(): void {
    this.#socket.destroy();
    this.#abortAll();
  }

  onFrame(kind: FrameKind, stream: number, payload: Buffer): void {
    if (!this.#isTrusted) {
      this.#checkSecret(kind, payload);
      return;
    }
    try {
      this.#take(kind, stream, payload);
    } catch (fault) {
      if (!(fault instanceof StreamFault)) throw fault;
      this.#reset(stream, fault);
    }
  }

  #take(kind: FrameKind, stream: number, payload: Buffer): void {
    switch (kind) {
      case 'request':
        return this.#onRequest(stream, payload);
      case 'data':
        return this.#onBodyPart(stream, payload);
      // Credit and aborts may cross the end of the answer; then no exchange is found, and that is no fault.
      case 'credit':
        return this.#exchanges.get(stream)?.onCredit(readCredit(payload));
      case 'abort':
        return this.#onAbort(stream);
      case 'reset':
        return this.#drop(stream);
      case 'hello':
      case 'sessionless':
      case 'respond':
      case 'open-stream':
      case 'open-body':
      case 'end':
      case 'cut':
      case 'leave':
        throw new HopFault(`${kind} frame at the owner`);
    }
  }

  /** The fault concerns one stream: the peer worker answers its caller, and the link's other hops go on. */
  #reset(stream: number, fault: StreamFault): void {
    this.#socket.logger.error({ fault: fault.message }, 'hop ended over what its peer sent');
    this.#drop(stream);
    this.#socket.reserve('reset', stream, 0);
  }

  #drop(stream: number): void {
    this.#arriving.delete(stream);
    this.#exchanges.get(stream)?.abort();
  }

  onClose(): void {
    clearTimeout(this.#helloTimer);
    this.#abortAll();
    this.#onClosed(this);
  }

  #abortAll(): void {
    this.#arriving.clear();
    for (const exchange of this.#exchanges.values()) exchange.abort();
  }

  #checkSecret(kind: FrameKind, payload: Buffer): void {
    const isTrusted =
      kind === 'hello' && payload.length === this.#secret.length && timingSafeEqual(payload, this.#secret);
    if (!isTrusted) throw new HopFault('the first frame is not the secret');
    this.#isTrusted = true;
    clearTimeout(this.#helloTimer);
  }

  #onRequest(stream: number, payload: Buffer): void {
    // A link fault, not a stream fault: later frames and answers could no longer be attributed.
    if (this.#arriving.get(stream) ?? this.#exchanges.get(stream)) throw new HopFault('stream in use');
    const head = readRequestHead(payload);
    if (this.#arriving.size + this.#exchanges.size >= hopBounds.hopsPerLinkMax) throw new StreamFault('too many hops');
    if (head.bodyBytes > this.#bodyBytesMax) throw new StreamFault(`request body of ${head.bodyBytes} bytes`);
    const request = { stream, head, body: new HopBody(this.#socket, stream, head.bodyBytes), isAborted: false };
    if (head.bodyBytes === 0) this.#deliver(request);
    else if (!this.#arriving.add(request)) throw new HopFault('stream in use');
  }

  #onBodyPart(stream: number, part: Buffer): void {
    const request = this.#arriving.get(stream);
    // The rest of a request that was refused may still arrive.
    if (request === undefined) return;
    request.body.add(part);
    if (!request.body.isComplete) return;
    this.#arriving.delete(stream);
    this.#deliver(request);
  }

  /** A request is delivered even if its caller left before the body was complete: a disconnect is not a cancellation (S12). */
  #deliver({ stream, head, body, isAborted }: ArrivingRequest): void {
    const { subject } = head.hop;
    head.request.body = body.bytes;
    const exchange = new HopExchange(this.#socket, stream, head.request, this.#forget, this.#answerMemory, subject);
    if (!this.#exchanges.add(exchange)) throw new HopFault('stream in use');
    this.#onExchange(head.hop, exchange);
    if (isAborted) exchange.abort();
  }

  #onAbort(stream: number): void {
    const request = this.#arriving.get(stream);
    if (request === undefined) this.#exchanges.get(stream)?.abort();
    else request.isAborted = true;
  }
}
