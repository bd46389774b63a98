// The caller's end of the connection to an owner, with all its hops. It stays open while idle.
//
//   connecting ── connected ──> open ── the owner has a successor ──> leaving
//   connecting, open, leaving ── the socket is closed ──> closed
//
// A link in `leaving` is replaced when the next hop needs it (hops.ts); so is a closed link, as soon as its socket reports it.
import { connect } from 'node:net';
import type { Exchange } from '../../exchange/index.js';
import { limits, type Logger, KIB } from '../../shared/index.js';
import { HopCall, type HopFailure } from './call.js';
import { type FrameKind, hopBounds } from './frames.js';
import type { ForwardedIdentity } from './heads.js';
import { HopSocket, LINK_STREAM, type HopSocketHandler, StreamNumbers } from './socket.js';

const HOP_READ_BYTES = 64 * KIB;

type State = 'connecting' | 'open' | 'leaving' | 'closed';

/** One buffer for the reads of all links: copying out of it costs less than allocating memory for each read. */
const readBuffer = Buffer.allocUnsafeSlow(HOP_READ_BYTES);

export class HopLink implements HopSocketHandler {
  readonly #socket: HopSocket<HopCall>;
  readonly #connectTimer: NodeJS.Timeout;
  #state: State = 'connecting';

  /** Each starts a call once the link is connected. Until then nothing is written: each retry during a restart would copy a request. */
  readonly #unstartedCalls: (() => void)[] = [];
  readonly #numbers = new StreamNumbers();
  readonly #forget = (stream: number): void => {
    this.#socket.streams.delete(stream);
    this.#numbers.giveBack(stream);
    this.#endIfReplaced();
  };

  constructor(path: string, secret: Uint8Array, logger: Logger) {
    const callback = (length: number): boolean => {
      this.#socket.onPiece(Buffer.from(readBuffer.subarray(0, length)));
      return true;
    };
    const socket = connect({ path, onread: { buffer: readBuffer, callback } });
    this.#socket = new HopSocket(socket, logger, this);
    this.#connectTimer = setTimeout(() => socket.destroy(), limits.peerAnswerMsMax);
    socket.once('connect', () => {
      this.#transition('connecting', 'open');
      clearTimeout(this.#connectTimer);
      for (const start of this.#unstartedCalls.splice(0)) start();
    });
    // Node.js queues writes until the socket is connected.
    this.#socket.addFrame('hello', LINK_STREAM, secret.length).set(secret);
  }

  get isClosed(): boolean {
    return this.#socket.isDestroyed;
  }

  get isReplaced(): boolean {
    return this.#state === 'leaving' || this.isClosed;
  }

  forward(identity: ForwardedIdentity, exchange: Exchange, onFailure: (failure: HopFailure) => void): void {
    if (this.#socket.streams.size >= hopBounds.hopsPerLinkMax) {
      onFailure('owner-lost');
      return;
    }
    const call = new HopCall(this.#socket, this.#numbers.take(), identity, exchange, onFailure, this.#forget);
    this.#socket.streams.add(call);
    if (this.#state === 'connecting') this.#unstartedCalls.push(() => call.start());
    else call.start();
  }

  /** Closes the link. Its hops fail as if the owner were lost. */
  close(): void {
    this.#socket.destroy();
  }

  /** Takes a frame of no open hop: `leave` concerns the whole link; the hops of any other frame have ended. */
  onFrame(kind: FrameKind): void {
    if (kind !== 'leave') return;
    this.#transition('open', 'leaving');
    this.#endIfReplaced();
  }

  onClose(): void {
    clearTimeout(this.#connectTimer);
    const failure = this.#state === 'connecting' ? 'owner-absent' : 'owner-lost';
    this.#transition(this.#state, 'closed');
    for (const call of this.#socket.streams.values()) call.fail(failure);
  }

  #endIfReplaced(): void {
    if (this.#state === 'leaving' && this.#socket.streams.size === 0) this.#socket.end();
  }

  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    return true;
  }
}
