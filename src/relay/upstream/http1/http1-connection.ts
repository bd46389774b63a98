// One kept connection to a backend, with one request at a time on it. Reads go into a buffer that all connections share,
// and are parsed before the next read; a request is one write. Hot.
//
//   state       connected      send     written   answered        ended, fault, given up
//   connecting  free, sending  (kept)   -         -               lost; given up: goes on
//   free        -              sending  -         -               lost
//   sending     -              -        busy      -               lost; given up: free
//   busy        -              -        -         free, or lost   lost
//   lost        -              -        -         -               -
import { connect as connectPlain, isIP, type LookupFunction, type OnReadOpts, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { limits } from '../../../shared/limits.js';
import { connectFaultKindOf } from './connect-fault.js';
import type { UpstreamFaultKind } from '../upstream-fault.js';
import type { Http1Call } from './http1-call.js';
import { INVALID, ResponseParser, type ResponseEvents } from './response-parser.js';
import type { BatchedWriter, WriteBatch } from './write-batch.js';

export interface ConnectionOwner {
  /** The call on it is over, and it can take the next one. */
  onFree(connection: Http1Connection): void;
  /** The call that it is being opened for was given up: it can take another one. */
  onSpare(connection: Http1Connection): void;
  /** It can be written on. */
  onConnected(): void;
  /** The call needs no connection any more. Comes before `onFree`, `onSpare` and `onLost`. */
  onOver(call: Http1Call): void;
  /**
   * It is gone.
   * @param unsent a call that the backend cannot have received whole, to be sent on another connection
   * @param refusal why it could not be opened, when it never was
   */
  onLost(connection: Http1Connection, unsent: Http1Call | undefined, refusal: UpstreamFaultKind | undefined): void;
}

/** Where a connection goes, and how. */
export interface ConnectionTarget {
  /** The origin as requests write it. */
  readonly name: string;
  readonly origin: URL;
  readonly connectTimeoutMs: number;
  /** `undefined`: the system's. */
  readonly lookup: LookupFunction | undefined;
}

type State = 'connecting' | 'free' | 'sending' | 'busy' | 'lost';

/** Every read of every connection: it is used up before the callback returns. */
const readBuffer = Buffer.allocUnsafe(limits.upstreamReadBytes);

export class Http1Connection implements ResponseEvents, BatchedWriter {
  readonly #owner: ConnectionOwner;
  readonly #batch: WriteBatch;
  readonly #isTls: boolean;
  readonly #socket: Socket;
  readonly #parser = new ResponseParser(this);
  readonly #connectTimer: NodeJS.Timeout;
  #state: State = 'connecting';
  #call: Http1Call | undefined;
  /** Why it was lost, where that is known before its socket closes. */
  #faultKind: UpstreamFaultKind | undefined;
  /** Whether the system refused bytes of the request: then the backend cannot have it whole. */
  #isWriteRefused = false;
  /** How many more sweeps a free connection may see before it is too old to trust. */
  #sweepsLeft = 0;

  constructor(target: ConnectionTarget, _subject: string, batch: WriteBatch, owner: ConnectionOwner) {
    this.#owner = owner;
    this.#batch = batch;
    this.#isTls = target.origin.protocol === 'https:';
    this.#socket = open(target, (length) => this.#onRead(length));
    this.#connectTimer = setTimeout(() => this.#fail('connect-timeout'), target.connectTimeoutMs);
    this.#socket.setNoDelay(true);
    this.#socket.once(this.#isTls ? 'secureConnect' : 'connect', () => this.#onConnected());
    this.#socket.on('error', (error) => this.#onError(error));
    this.#socket.on('end', () => this.#onEnd());
    this.#socket.on('close', () => this.#onClose());
  }

  /** Whether the backend keeps it open still, as far as can be told. */
  get isUsable(): boolean {
    return this.#state === 'free' && this.#socket.writable && this.#sweepsLeft > 0;
  }

  /** Ages a free connection by one sweep, and closes one that is too old. */
  sweep(): void {
    if (this.#state !== 'free') return;
    this.#sweepsLeft -= 1;
    if (this.#sweepsLeft <= 0) this.#socket.destroy();
  }

  /** Puts a call on it; it is written when it is connected, and the turn's reads are done. */
  send(call: Http1Call): void {
    this.#call = call;
    call.connection = this;
    if (this.#state === 'connecting') return;
    this.#state = 'sending';
    this.#batch.add(this);
  }

  writeNow(): void {
    const call = this.#call;
    if (this.#state !== 'sending' || call?.bytes === undefined || this.#socket.destroyed) return;
    this.#state = 'busy';
    this.#parser.begin();
    const { first, rest } = call.bytes;
    if (rest === undefined) {
      this.#socket.write(first);
    } else {
      this.#socket.cork();
      this.#socket.write(first);
      for (const part of rest) this.#socket.write(part);
      this.#socket.uncork();
    }
    if (call.isPaused) this.#socket.pause();
  }

  /** Nobody waits for the answer any more: the rest of it is not worth a connection. */
  giveUp(): void {
    switch (this.#state) {
      case 'connecting':
        this.#takeCall();
        this.#owner.onSpare(this);
        break;
      case 'sending':
        this.#takeCall();
        this.#onFree();
        break;
      case 'free':
      case 'busy':
      case 'lost':
        this.#socket.destroy();
    }
  }

  pause(): void {
    if (this.#state === 'busy') this.#socket.pause();
  }

  resume(): void {
    if (this.#state === 'busy') this.#socket.resume();
  }

  /** Resolved when the socket is closed. */
  destroy(): Promise<void> {
    if (this.#socket.closed) return Promise.resolve();
    return new Promise((resolve) => {
      this.#socket.once('close', () => resolve());
      this.#socket.destroy();
    });
  }

  onHead(status: number, contentType: string, sessionId: string, bodyBytes: number): void {
    this.#call?.handler?.onHead(status, contentType, sessionId, bodyBytes);
  }

  onBody(chunk: Buffer): void {
    this.#call?.handler?.onData(chunk);
  }

  #onConnected(): void {
    clearTimeout(this.#connectTimer);
    const call = this.#call;
    this.#state = 'free';
    this.#owner.onConnected();
    if (call === undefined) this.#onFree();
    else this.send(call);
  }

  #onRead(length: number): boolean {
    const taken = this.#parser.push(readBuffer.subarray(0, length));
    if (taken === INVALID) this.#fail('answer-invalid');
    else if (this.#state === 'busy' && this.#parser.isDone) this.#onAnswered(taken === length);
    // Bytes that answer no request: nothing on this connection can be trusted any more.
    else if (taken < length) this.#fail('connection-lost');
    return true;
  }

  #onAnswered(isClean: boolean): void {
    const call = this.#takeCall();
    if (call?.isPaused === true) this.#socket.resume();
    // A connection that is still sending what the backend did not wait for would hold the next request up.
    const isSent = this.#socket.writableLength === 0;
    const canReuse = isClean && isSent && this.#parser.canReuse && this.#socket.writable;
    // First, so that a request that follows from the answer finds this connection free.
    if (canReuse) this.#onFree();
    else this.#socket.destroy();
    if (call === undefined) return;
    const { handler } = call;
    call.handler = undefined;
    call.isSent = isSent;
    handler?.onEnd();
  }

  #onFree(): void {
    this.#state = 'free';
    const keptMs = Math.min(
      limits.upstreamConnectionIdleMs,
      this.#parser.keepAliveMs - limits.upstreamKeepAliveMarginMs,
    );
    // Counted in sweeps, because looking at the clock for each call costs more than the count is worth.
    this.#sweepsLeft = Math.floor(keptMs / limits.upstreamSweepMs);
    this.#owner.onFree(this);
  }

  #fail(kind: UpstreamFaultKind): void {
    this.#faultKind ??= kind;
    this.#socket.destroy();
  }

  #onError(error: NodeJS.ErrnoException): void {
    if (this.#state === 'connecting') this.#faultKind ??= connectFaultKindOf(error, this.#isTls);
    else if (error.syscall === 'write') this.#isWriteRefused = true;
  }

  #onEnd(): void {
    if (this.#state === 'busy' && this.#parser.end()) this.#onAnswered(true);
    else this.#socket.destroy();
  }

  #onClose(): void {
    clearTimeout(this.#connectTimer);
    const wasConnecting = this.#state === 'connecting';
    const isUnsent = this.#state === 'sending' || this.#isWriteRefused;
    const kind = this.#faultKind ?? 'connection-lost';
    const call = this.#takeCall();
    this.#state = 'lost';
    this.#owner.onLost(this, isUnsent ? call : undefined, wasConnecting ? kind : undefined);
    if (!isUnsent) call?.fail(kind, wasConnecting);
  }

  /** The call leaves this connection. */
  #takeCall(): Http1Call | undefined {
    const call = this.#call;
    if (call === undefined) return undefined;
    this.#call = undefined;
    call.connection = undefined;
    this.#owner.onOver(call);
    return call;
  }
}

function open({ origin, lookup }: ConnectionTarget, onRead: (length: number) => boolean): Socket {
  const onread: OnReadOpts = { buffer: readBuffer, callback: onRead };
  const host = origin.hostname.replace(/^\[(.*)\]$/, '$1');
  const isTls = origin.protocol === 'https:';
  const port = Number(origin.port) || (isTls ? 443 : 80);
  const common = { host, port, onread, ...(lookup !== undefined && { lookup }) };
  if (!isTls) return connectPlain(common);
  const options: ConnectionOptions & { onread: OnReadOpts } = { ...common, ALPNProtocols: ['http/1.1'] };
  if (isIP(host) === 0) options.servername = host;
  return connectTls(options);
}
