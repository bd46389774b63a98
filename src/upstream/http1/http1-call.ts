// A request on its way and its answer, as the relay holds it.
//
//   waiting (for a connection) → sent → over
import type { UpstreamCall, UpstreamHandler, UpstreamRequest } from '../http/http-upstream.js';
import { upstreamFault, type UpstreamFaultKind } from '../http/upstream-fault.js';
import type { FairPlace } from '../../shared/fair-queue.js';
import type { Http1Connection } from './http1-connection.js';
import type { PoolUse } from './origin-pool.js';
import { requestBytes, type RequestBytes } from './request-bytes.js';

export class Http1Call implements UpstreamCall {
  readonly subject: string;
  /** The request, head and body; `undefined` when it cannot be written down. */
  readonly bytes: RequestBytes | undefined;
  /** `undefined` once nobody listens any more. */
  handler: UpstreamHandler | undefined;
  connection: Http1Connection | undefined = undefined;
  isPaused = false;
  isSent = false;
  /** How often it was put on a kept connection that turned out to be closed before anything was sent. */
  unsentCount = 0;
  /** Where it waits for a connection. */
  place: FairPlace<Http1Call> | undefined = undefined;
  /** What it is counted in while it has a connection. */
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

  /** Ends the unsent call with a fault: later, because who dispatches hears nothing before it has its call in hand. */
  failLater(kind: UpstreamFaultKind): void {
    process.nextTick(() => this.fail(kind, true));
  }

  fail(kind: UpstreamFaultKind, isUnsent: boolean): void {
    const { handler } = this;
    this.handler = undefined;
    handler?.onFault(upstreamFault(kind, isUnsent));
  }
}
