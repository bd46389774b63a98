// The owner's end of one link: checks the secret, assembles requests, and hands each to `onExchange` as an exchange.
import { timingSafeEqual } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Exchange } from '../../exchange/index.js';
import { limits, type Logger } from '../../shared/index.js';
import type { MessageMemory } from '../../fair/index.js';
import { HopExchange } from './exchange.js';
import { HopFault, StreamFault, type FrameKind } from './frames.js';
import { readCredit, readRequestHead, type ForwardedIdentity } from './heads.js';
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

export class HopIntake implements HopSocketHandler {
  readonly #socket: HopSocket;
  readonly #secret: Uint8Array;
  readonly #bodyBytesMax: number;
  readonly #answerMemory: MessageMemory | undefined;
  readonly #onExchange: OnHopExchange;
  readonly #onClosed: (intake: HopIntake) => void;
  readonly #helloTimer: NodeJS.Timeout;
  #isTrusted = false;

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
    if (!this.#isTrusted) return this.#checkSecret(kind, payload);
    switch (kind) {
      case 'request':
        return this.#onRequest(stream, payload);
      case 'data':
        return this.#onBodyPart(stream, payload);
      // Credit and aborts may cross the end of the answer; then no exchange is found, and that is no fault.
      case 'credit':
        return this.#exchanges.get(stream)?.onCredit(readCredit(payload));
      case 'abort':
        return this.#exchanges.get(stream)?.abort();
      case 'reset':
        return this.#exchanges.get(stream)?.drop();
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

  /** The peer worker answers its caller, and the link's other hops go on. */
  onStreamFault(stream: number): void {
    this.#exchanges.get(stream)?.drop();
  }

  onClose(): void {
    clearTimeout(this.#helloTimer);
    this.#abortAll();
    this.#onClosed(this);
  }

  #abortAll(): void {
    for (const exchange of this.#exchanges.values()) exchange.drop();
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
    if (this.#exchanges.get(stream)) throw new HopFault('stream in use');
    const head = readRequestHead(payload);
    if (this.#exchanges.size >= hopBounds.hopsPerLinkMax) throw new StreamFault('too many hops');
    if (head.bodyBytes > this.#bodyBytesMax) throw new StreamFault(`request body of ${head.bodyBytes} bytes`);
    const exchange = new HopExchange(this.#socket, stream, head, this.#forget, this.#answerMemory);
    if (!this.#exchanges.add(exchange)) throw new HopFault('stream in use');
    if (head.bodyBytes === 0) this.#onExchange(head.hop, exchange);
  }

  #onBodyPart(stream: number, part: Buffer): void {
    const exchange = this.#exchanges.get(stream);
    // The rest of a request that was refused may still arrive.
    if (exchange?.isArriving !== true) return;
    exchange.receive(part);
    if (exchange.isArriving) return;
    this.#onExchange(exchange.hop, exchange);
    if (exchange.isLeft) exchange.abort();
  }
}
