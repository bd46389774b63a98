// A request in progress and its response, as the relay sees it.
//
//   waiting (for a connection) → sent → over
import type { UpstreamCall, UpstreamHandler, UpstreamRequest } from './http-upstream.js';
import { upstreamFault, type UpstreamFaultKind } from './upstream-fault.js';
import type { FairQueueEntry } from '../fair/index.js';
import type { PoolUse } from './backend-shares.js';
import type { Http1Connection } from './http1-connection.js';
import { requestBytes, type RequestBytes } from './request-bytes.js';

export class Http1Call implements UpstreamCall {
  readonly subject: string;
  /** The serialized request, head and body; `undefined` when it cannot be serialized. */
  readonly bytes: RequestBytes | undefined;
  /** `undefined` once no more callbacks are wanted. */
  handler: UpstreamHandler | undefined;
  connection: Http1Connection | undefined = undefined;
  isPaused = false;
  isSent = false;
  /** How often it was assigned to a connection that broke before the whole request was sent. */
  unsentCount = 0;
  /** Its place in the queue for a connection. */
  place: FairQueueEntry<Http1Call> | undefined = undefined;
  /** Where it is counted while it has a connection. */
  use: PoolUse | undefined = undefined;

  constructor(request: UpstreamRequest, handler: UpstreamHandler) {
    this.subject = request.subject;
    this.bytes = requestBytes(request);
    this.handler = handler;
  }

  abort(): void {
    if (this.handler === undefined) return;
    this.handler = undefined;
    this.place?.leave();
    this.connection?.giveUp();
  }

  pause(): void {
    this.isPaused = true;
    this.connection?.pause();
  }

  resume(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    this.connection?.resume();
  }

  /** Fails the unsent call asynchronously, because the caller of `dispatch` must have the call before any callback. */
  failLater(kind: UpstreamFaultKind): void {
    process.nextTick(() => this.fail(kind, true));
  }

  /** @param detail `''` for none; that of a failed handshake is for the log. */
  fail(kind: UpstreamFaultKind, isUnsent: boolean, detail = ''): void {
    const { handler } = this;
    this.handler = undefined;
    const more = kind === 'tls-failed' ? { logDetail: detail } : { detail };
    handler?.onFault(detail === '' ? upstreamFault(kind, isUnsent) : { kind, isUnsent, ...more });
  }
}
