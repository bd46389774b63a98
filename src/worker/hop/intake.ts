// The owner's end of one link: checks the secret, and hands each request to the owner as an exchange.
import { timingSafeEqual } from 'node:crypto';
import type { Socket } from 'node:net';
import { limits } from '../../shared/index.js';
import { HopExchange, type HopOwner } from './exchange.js';
import { HopFault, StreamFault, type FrameKind, hopBounds } from './frames.js';
import { parseRequestHead } from './heads.js';
import { HopSocket, LINK_STREAM, type HopSocketHandler } from './socket.js';
import { RestoredSocket } from '../../process/index.js';

export class HopIntake implements HopSocketHandler {
  readonly #socket: HopSocket<HopExchange>;
  readonly #owner: HopOwner;
  readonly #onClosed: (intake: HopIntake) => void;
  readonly #helloTimer: NodeJS.Timeout;
  #isTrusted = false;

  constructor(socket: Socket, owner: HopOwner, onClosed: (intake: HopIntake) => void) {
    this.#owner = owner;
    this.#onClosed = onClosed;
    this.#socket = new HopSocket(socket, owner.logger, this);
    this.#helloTimer = setTimeout(() => this.#socket.destroy(), limits.peerAnswerMsMax);
  }

  /** Tells the peer worker to use another link for new hops, and to close this one when its hops are answered. */
  leave(): void {
    this.#socket.addFrame('leave', LINK_STREAM, 0);
  }

  /** Closes the link; its exchanges are aborted when this returns. */
  close(): void {
    this.#socket.destroy();
    this.#abortAll();
  }

  onFrame(kind: FrameKind, stream: number, payload: Buffer): void {
    if (!this.#isTrusted) return this.#checkSecret(kind, payload);
    switch (kind) {
      case 'request':
        return this.#onRequest(stream, payload);
      // These frames may cross the end of the answer, or follow a request that was refused.
      case 'data':
      case 'credit':
      case 'abort':
      case 'reset':
        return;
      default:
        throw new HopFault(`${kind} frame at the owner`);
    }
  }

  onClose(): void {
    clearTimeout(this.#helloTimer);
    this.#abortAll();
    this.#onClosed(this);
  }

  #abortAll(): void {
    for (const exchange of this.#socket.streams.values()) exchange.fail();
  }

  #checkSecret(kind: FrameKind, payload: Buffer): void {
    const { secret } = this.#owner;
    if (kind !== 'hello' || payload.length !== secret.length || !timingSafeEqual(payload, secret))
      throw new HopFault('the first frame is not the secret');
    this.#isTrusted = true;
    clearTimeout(this.#helloTimer);
  }

  #onRequest(stream: number, payload: Buffer): void {
    const head = parseRequestHead(payload);
    if (this.#socket.streams.size >= hopBounds.hopsPerLinkMax) throw new StreamFault('too many hops');
    if (head.bodyBytes > this.#owner.bodyBytesMax) throw new StreamFault(`request body of ${head.bodyBytes} bytes`);
    const exchange = new HopExchange(this.#socket, stream, head, this.#owner);
    if (!this.#socket.streams.add(exchange)) throw new HopFault('stream in use');
    if (head.bodyBytes === 0) this.#owner.onExchange(head.identity, exchange);
  }
}

// The private Unix socket on which other workers forward requests. Its directory (mode 0700), its mode, and a secret of each start protect
// it. What an HTTP caller sends is only ever a part of a frame's payload.

/** The most links from other workers: two from each, because a restarted worker's old link may still be open. */
export const HOP_LINKS_MAX = 2_048;

export class HopListener extends RestoredSocket {
  readonly #intakes: Set<HopIntake>;

  constructor(path: string, owner: HopOwner) {
    const { logger } = owner;
    const intakes = new Set<HopIntake>();
    const onClosed = (intake: HopIntake): void => void intakes.delete(intake);
    super(path, {
      onConnection: (socket) => intakes.add(new HopIntake(socket, owner, onClosed)),
      onRecreated: () => logger.warn('the socket for hops was removed; it is made again'),
      onFault: (reason) => logger.error({ reason }, 'the other workers cannot reach this one'),
      connectionsMax: HOP_LINKS_MAX,
    });
    this.#intakes = intakes;
  }

  /** Sends the other workers to the successor. Resolves when every request that came here is answered. */
  async leave(): Promise<void> {
    for (const intake of this.#intakes) intake.leave();
    await super.close();
  }

  override async close(): Promise<void> {
    const closed = super.close();
    for (const intake of this.#intakes) intake.close();
    await closed;
  }
}
