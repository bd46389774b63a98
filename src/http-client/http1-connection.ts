// One persistent connection to a backend, with one request at a time. All connections read into one buffer, which is parsed before the next
// read. A request is one write. Hot path.
//
//   connecting ── connected ──> free ── send ──> sending ── written ──> busy ── answered ──> free
//   sending ── the call is aborted ──> free
//   connecting, free, sending, busy ── ended, fault, destroyed; in busy: the call is aborted ──> lost
//
// A call that is assigned while connecting is sent once the connection is free. If it is aborted before, the connection can serve another
// call.
import type { OnReadOpts, Socket } from 'node:net';
import { type FairQueueEntry, announceReturned } from '../fair/index.js';
import type { PoolUse } from './backend-shares.js';
import type { UpstreamCall, UpstreamHandler, UpstreamRequest } from './http-upstream.js';
import { requestBytes, type RequestBytes } from './request-bytes.js';
import { faultReason, isReachFault, upstreamFault, type UpstreamFaultKind } from './upstream-fault.js';
import { connectFaultKindOf, Dial } from './dial.js';
import type { ConnectionTarget } from './connection-target.js';
import type { OutboundProxy, Tunnel } from './names/outbound-proxy.js';
import { ReadPace, type PacedConnection } from './read-scheduler.js';
import { INVALID, ResponseParser, type ResponseReceiver } from './response-parser.js';
import { connectionBounds } from './connection-bounds.js';

export interface ConnectionOwner {
  onFreed(connection: Http1Connection): void;
  /** Called when the call was aborted while connecting: the connection can take another call. */
  onUnassigned(connection: Http1Connection): void;
  onConnected(): void;
  /** Called when the connection no longer has this call, before `onFreed`, `onUnassigned` and `onLost`. */
  onCallOver(call: Http1Call): void;
  /** Called at the end. @param unsent a call that another connection may send. @param refusal why it could not connect, if so. */
  onLost(connection: Http1Connection, unsent: Http1Call | undefined, refusal: UpstreamFaultKind | undefined): void;
}

type State = 'connecting' | 'free' | 'sending' | 'busy' | 'lost';

/** The buffer that all connections read into. Its content is parsed or copied before the callback returns. */
const readBuffer = Buffer.allocUnsafe(connectionBounds.upstreamReadBytes);

export class Http1Connection implements ResponseReceiver, PacedConnection {
  /** Whether the host's name no longer resolves to this connection's address. */
  isOutdated = false;
  readonly #owner: ConnectionOwner;
  readonly #target: ConnectionTarget;
  readonly #batch: WriteBatch;
  readonly #parser = new ResponseParser(this);
  readonly #connectTimer: NodeJS.Timeout;
  readonly #onLostListeners: (() => void)[] = [];
  #dialOrTunnel: Dial | Tunnel | undefined;
  #socket: Socket | undefined;
  /** The remote address, once it is known. Changed only here, like `call` and `answerCount`. */
  address: string | undefined = undefined;
  call: Http1Call | undefined = undefined;
  answerCount = 0;
  #state: State = 'connecting';
  /** Why the connection is being closed, if that is known. `#faultDetail`: a text about it; `''` for none. */
  #faultKind: UpstreamFaultKind | undefined;
  #faultDetail = '';
  /** Whether anything has arrived since the request was written. */
  #hasAnswerBegun = false;
  /** Whether `resume` was called since the reads were last stopped. */
  #wasResumed = false;
  /** Whether the connection broke before the kernel had taken the whole request: the backend cannot have received all of it. */
  #isCutOff = false;
  #isEndedByBackend = false;
  readonly #pace: ReadPace;
  /** While the connection is free: the sweeps until it is closed. `#sweepsSeen`: the sweeps since it became free. */
  #sweepsLeft = 0;
  #sweepsSeen = 0;
  #freedAtTurn = -1;

  /** @param subject the one in whose share the look-up counts. */
  constructor(target: ConnectionTarget, subject: string, batch: WriteBatch, owner: ConnectionOwner) {
    this.#owner = owner;
    this.#target = target;
    this.#batch = batch;
    const { isTls, host, dependencies, proxy } = target;
    this.#pace = new ReadPace(dependencies.readScheduler, this);
    const onread: OnReadOpts = {
      buffer: readBuffer,
      callback: (length) => this.#onRead(readBuffer.subarray(0, length)),
    };
    this.#connectTimer = setTimeout(
      () => this.#failToReach(this.#dialOrTunnel?.timeoutKind ?? 'connect-timeout'),
      dependencies.connectTimeoutMs,
    );
    this.#dialOrTunnel = new Dial(
      dependencies.names,
      { host, subject, isTls, open: (address) => target.open(address, onread) },
      {
        onSocket: (socket, address) => {
          if (proxy === undefined) this.#onSocket(socket, address);
          else this.#openTunnel(proxy, socket, address);
        },
        onFault: (kind) => this.#failToReach(kind),
      },
    );
  }

  /** Whether the connection can take a call: as far as is known, the backend keeps it open. */
  get isUsable(): boolean {
    return this.#state === 'free' && this.#sweepsLeft > 0 && !this.isOutdated && this.#socket?.writable === true;
  }

  /** Whether the backend closed the connection soon after the first response. Backends that keep no connections do so. */
  get isClosedAfterAnswer(): boolean {
    return this.#isEndedByBackend && this.answerCount === 1 && this.#sweepsSeen <= 1;
  }

  /** Whether the connection has been free for so long that this backend evidently keeps connections open. */
  get hasStayedOpen(): boolean {
    return this.#sweepsSeen > 1;
  }

  sweep(): void {
    if (this.#state !== 'free') return;
    this.#sweepsLeft -= 1;
    this.#sweepsSeen += 1;
    if (this.#sweepsLeft <= 0 || this.isOutdated) this.#closeSocket();
  }

  /** Takes a call, which is written once the connection is established and the reads of the turn are done. */
  send(call: Http1Call): void {
    this.call = call;
    call.connection = this;
    if (this.#transition('free', 'sending')) this.#batch.add(this, this.#freedAtTurn);
  }

  writeNow(): void {
    const call = this.call;
    const socket = this.#socket;
    if (call?.bytes === undefined || socket === undefined || socket.destroyed) return;
    if (!this.#transition('sending', 'busy')) return;
    this.#hasAnswerBegun = false;
    this.#parser.begin();
    const { first, furtherParts } = call.bytes;
    if (furtherParts === undefined) {
      socket.write(first);
    } else {
      socket.cork();
      socket.write(first);
      for (const part of furtherParts) socket.write(part);
      socket.uncork();
    }
    if (call.isPaused) socket.pause();
  }

  /** If the request was already written, the connection is closed: reading the rest of the response would cost more. */
  onCallAborted(): void {
    switch (this.#state) {
      case 'connecting':
        this.#takeCall();
        this.#owner.onUnassigned(this);
        break;
      case 'sending':
        this.#takeCall();
        this.#onFreed();
        break;
      case 'free':
      case 'busy':
      case 'lost':
        this.#closeSocket();
    }
  }

  pause(): void {
    if (this.#state === 'busy') this.#socket?.pause();
  }

  resume(): void {
    if (this.#state !== 'busy') return;
    this.#wasResumed = true;
    this.#pace.resume();
  }

  get isPaused(): boolean {
    return this.call?.isPaused === true;
  }

  stopReading(): void {
    this.#socket?.pause();
  }

  resumeReading(): void {
    this.#socket?.resume();
  }

  destroy(): Promise<void> {
    if (this.#state === 'lost') return Promise.resolve();
    return new Promise((resolve) => {
      this.#onLostListeners.push(resolve);
      this.#closeSocket();
    });
  }

  #openTunnel(proxy: OutboundProxy, proxied: Socket, address: string): void {
    const target = this.#target;
    this.#dialOrTunnel = proxy.openTunnel(target.authority, proxied, {
      onOpen: () =>
        this.#onSocket(
          target.startTls(proxied, (read) => this.#onRead(read)),
          address,
        ),
      onFailed: (why) => this.#fail('proxy-failed', `(${why})`),
    });
  }

  #onSocket(socket: Socket, address: string): void {
    this.#dialOrTunnel = undefined;
    this.#socket = socket;
    this.address = address;
    socket.on('error', (error) => this.#onError(error));
    socket.on('end', () => this.#onEnd());
    socket.on('close', () => this.#onClose());
    if (this.#target.isTls) socket.once('secureConnect', () => this.#onConnected());
    else this.#onConnected();
  }

  #onConnected(): void {
    clearTimeout(this.#connectTimer);
    const call = this.call;
    this.#transition('connecting', 'free');
    if (call === undefined) this.#onFreed();
    else this.send(call);
    this.#owner.onConnected();
  }

  /** Fails a connection that could not be established. With a proxy, the proxy is what could not be reached. */
  #failToReach(kind: UpstreamFaultKind): void {
    const fault = upstreamFault(kind);
    if (this.#target.proxy === undefined || !isReachFault(fault)) this.#fail(kind);
    else this.#fail('proxy-failed', `(${faultReason(fault)})`);
  }

  #onRead(read: Buffer): boolean {
    this.#hasAnswerBegun = true;
    const subject = this.#state === 'busy' ? this.call?.subject : undefined;
    if (subject === undefined || !this.#pace.tryKeep(read, subject)) this.onBytes(read);
    announceReturned(read);
    if (!this.#pace.isResting) return true;
    // A `resume` during the read takes effect later, and would start the reads again.
    if (this.#wasResumed) this.#socket?.pause();
    this.#wasResumed = false;
    // Returning false stops the reads, at less cost than `pause`.
    return false;
  }

  onBytes(bytes: Buffer): void {
    let read = bytes;
    let taken = this.#parser.push(read);
    while (taken !== INVALID && taken < read.length && this.#parser.state !== 'done') {
      const { call } = this;
      // The connection of an aborted call is being closed.
      if (call === undefined) return;
      read = read.subarray(taken);
      this.#pace.onPiece(taken, call.subject);
      if (this.#pace.isResting && this.#pace.tryKeep(read, call.subject)) return;
      taken = this.#parser.push(read);
    }
    const { length } = read;
    if (taken === INVALID) this.#fail(this.#parser.encoding === '' ? 'answer-invalid' : 'answer-encoded');
    else if (this.#state === 'busy' && this.#parser.state === 'done') {
      this.#onAnswered(taken === length, length);
    }
    // Bytes that belong to no request: such a connection cannot be trusted any more.
    else if (taken < length) this.#fail('connection-lost');
    else if (this.call !== undefined) this.#pace.onPiece(length, this.call.subject);
  }

  #onAnswered(hasNothingLeftOver: boolean, lastBytes = 0): void {
    const socket = this.#socket;
    const wasStopped = this.#pace.endAnswer(lastBytes);
    const call = this.#takeCall();
    this.answerCount += 1;
    if (call?.isPaused === true || wasStopped) socket?.resume();
    // If the backend answered before the whole request was sent, the rest of this request would delay the next one.
    const isSent = socket?.writableLength === 0;
    const canReuse = hasNothingLeftOver && isSent && this.#parser.canReuseConnection && socket.writable;
    // This comes before the handler's `onEnd`, which may send another request.
    if (canReuse) this.#onFreed();
    else this.#closeSocket();
    if (call === undefined) return;
    const { handler } = call;
    call.handler = undefined;
    call.isSent = isSent;
    handler?.onEnd();
  }

  #onFreed(): void {
    if (!this.#transition('busy', 'free')) this.#transition('sending', 'free');
    this.#freedAtTurn = this.#batch.noteFree();
    // The idle time is counted in sweeps, because reading the clock for each call would cost too much.
    this.#sweepsLeft = Math.floor(this.#parser.idleMsMax / connectionBounds.upstreamSweepMs);
    this.#sweepsSeen = 0;
    this.#owner.onFreed(this);
  }

  #fail(kind: UpstreamFaultKind, detail = ''): void {
    this.#faultKind ??= kind;
    this.#faultDetail = detail;
    this.#closeSocket();
  }

  /** Closes the connection. `onLost` follows asynchronously. */
  #closeSocket(): void {
    const opening = this.#dialOrTunnel;
    if (opening === undefined) {
      this.#socket?.destroy();
      return;
    }
    this.#dialOrTunnel = undefined;
    opening.abandon();
    process.nextTick(() => this.#onClose());
  }

  #onError(error: NodeJS.ErrnoException): void {
    if (this.#state === 'connecting') {
      this.#faultKind ??= connectFaultKindOf(error, this.#target.isTls);
      if (this.#faultKind === 'tls-failed') this.#faultDetail = error.code ?? '';
      // The resumed TLS session may have been the cause.
      this.#target.dependencies.tlsSessions.drop(this.#target.origin);
    }
    this.#onBroken(error.syscall === 'write');
  }

  #onEnd(): void {
    this.#pace.processAllKept();
    if (this.#state === 'busy' && this.#parser.end()) {
      this.#onAnswered(true);
      return;
    }
    this.#onBroken(false);
    this.#socket?.destroy();
  }

  #onBroken(isWriteError: boolean): void {
    this.#isEndedByBackend = true;
    if (isWriteError || this.#socket?.writableLength !== 0) this.#isCutOff = true;
  }

  #onClose(): void {
    clearTimeout(this.#connectTimer);
    this.#pace.processAllKept();
    const wasConnecting = this.#state === 'connecting';
    this.#pace.endAnswer();
    const isUnsent = this.#maySendAgain();
    const kind = this.#faultKind ?? 'connection-lost';
    const call = this.#takeCall();
    this.#transition(this.#state, 'lost');
    this.#owner.onLost(this, isUnsent ? call : undefined, wasConnecting ? kind : undefined);
    const detail = this.#faultDetail === '' ? this.#parser.encoding : this.#faultDetail;
    if (!isUnsent) call?.fail(kind, wasConnecting, detail);
    for (const listener of this.#onLostListeners) listener();
  }

  /**
   * Whether the call may be sent again: none of it was written, or the backend had closed a reused connection, so that it broke before the
   * whole call was written and before any response. If a new connection breaks, that is the backend's reaction to this request.
   */
  #maySendAgain(): boolean {
    if (this.call?.handler === undefined) return false;
    if (this.#state === 'sending') return true;
    return this.#state === 'busy' && this.answerCount > 0 && this.#isCutOff && !this.#hasAnswerBegun;
  }

  #takeCall(): Http1Call | undefined {
    const call = this.call;
    if (call === undefined) return undefined;
    this.call = undefined;
    call.connection = undefined;
    this.#owner.onCallOver(call);
    return call;
  }

  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    return true;
  }
}

export class Http1Call implements UpstreamCall {
  readonly subject: string;
  /** The request's bytes; `undefined` when it cannot be serialized. */
  readonly bytes: RequestBytes | undefined;
  /** The call's handler; `undefined` once it must not be called any more. */
  handler: UpstreamHandler | undefined;
  connection: Http1Connection | undefined = undefined;
  isPaused = false;
  isSent = false;
  /** How many connections broke before the whole request was sent. */
  unsentCount = 0;
  queueEntry: FairQueueEntry<Http1Call> | undefined = undefined;
  poolUse: PoolUse | undefined = undefined;

  constructor(request: UpstreamRequest, handler: UpstreamHandler) {
    this.subject = request.subject;
    this.bytes = requestBytes(request);
    this.handler = handler;
  }

  abort(): void {
    if (this.handler === undefined) return;
    this.handler = undefined;
    this.queueEntry?.leave();
    this.connection?.onCallAborted();
  }

  pause(): void {
    this.isPaused = true;
    this.connection?.pause();
  }

  /** Does nothing for a call that is not paused: `resume` would cost two system calls. */
  resume(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    this.connection?.resume();
  }

  /** Fails the call asynchronously, because `dispatch` must return the call before any callback. */
  failLater(kind: UpstreamFaultKind): void {
    process.nextTick(() => this.fail(kind, true));
  }

  /** Fails the call. @param detail `''` for none; for a failed TLS handshake, it is only logged. */
  fail(kind: UpstreamFaultKind, isUnsent: boolean, detail = ''): void {
    const { handler } = this;
    this.handler = undefined;
    const more = kind === 'tls-failed' ? { logDetail: detail } : { detail };
    handler?.onFault(detail === '' ? upstreamFault(kind, isUnsent) : { kind, isUnsent, ...more });
  }
}

/**
 * Delays requests until the event loop has read what has arrived. If the backend has closed a free connection, that read shows it, and the
 * request goes to another one. On a connection that became free in this turn, a request waits for the reads of the next turn: a backend
 * that closes after its answer does so at once.
 */
export class WriteBatch {
  #connections: Http1Connection[] = [];
  #nextTurnConnections: Http1Connection[] = [];
  #turn = 0;
  #isScheduled = false;
  readonly #flush = (): void => {
    const connections = this.#connections;
    this.#turn += 1;
    this.#isScheduled = false;
    this.#connections = this.#nextTurnConnections;
    this.#nextTurnConnections = [];
    if (this.#connections.length > 0) this.#schedule();
    for (const connection of connections) connection.writeNow();
  };

  /** @returns the current turn, to pass to `add`. */
  noteFree(): number {
    this.#schedule();
    return this.#turn;
  }

  /** @param freedAtTurn the turn that `noteFree` returned; -1 for a new connection. */
  add(connection: Http1Connection, freedAtTurn: number): void {
    if (freedAtTurn === this.#turn) this.#nextTurnConnections.push(connection);
    else this.#connections.push(connection);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#flush);
  }
}
