// The trace of one request: its parent, whether it is recorded, and the ids of its two spans, for the request and for the call to its
// backend. Created only if tracing is on.
import type { TraceHeaders } from '../http-client/index.js';
import type { IdSpan } from '../upstream/index.js';
import { limits, RandomPool } from '../shared/index.js';

/** A `traceparent` header (W3C trace context): the parent of a span, and whether the trace is recorded. */
interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;
const NO_ID = /^0+$/;
/** A `tracestate` with only characters that its list members may contain; all are valid in a header. */
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

/** @returns `undefined` for an invalid text. Of a later version, the first members must have the same form. */
export function readTraceParent(text: string): TraceParent | undefined {
  const [, version, traceId = '', spanId = '', flags = ''] = TRACEPARENT.exec(text) ?? [];
  if (version === undefined || version === 'ff' || NO_ID.test(traceId) || NO_ID.test(spanId)) return undefined;
  // Version 00 has exactly four members.
  if (version === '00' && text.length !== 55) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function traceParentText({ traceId, spanId, isSampled }: TraceParent): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}

/** The `tracestate` to forward; `''` if it is invalid. */
export function validTraceState(text: string): string {
  return TRACESTATE.test(text) ? text : '';
}

export class RequestTrace {
  traceId = '';
  spanId = '';
  /** Span id of the call to the backend; `''` if there was none. */
  backendSpanId = '';
  /** Id of the JSON-RPC request, as text. */
  rpcId = '';
  readonly state: string;
  parent: TraceParent | undefined = undefined;
  isSampled = false;

  /** @param random a request without a parent is recorded if this is below `ratio`. */
  constructor(traceparent: string, tracestate: string, ratio: number, random: number) {
    this.parent = readTraceParent(traceparent);
    this.state = this.parent === undefined ? '' : validTraceState(tracestate);
    this.isSampled = this.parent?.isSampled ?? random < ratio;
  }

  /**
   * Called when the request is sent to its backend.
   * @param messageParent the message's own `traceparent`, which takes precedence over that of the HTTP request; `''` if there is none.
   * @returns the headers for the backend; for a request that is not recorded, those that its client sent.
   */
  onSending(messageParent: string, id: IdSpan): TraceHeaders | undefined {
    // A request that was refused and is sent again is still the same call.
    if (this.backendSpanId === '') this.#setParent(messageParent);
    if (!this.isSampled) return this.parent && { traceparent: traceParentText(this.parent), tracestate: this.state };
    this.assignIds();
    if (this.backendSpanId === '') {
      this.backendSpanId = spanIds.next().toString('hex');
      this.rpcId = id.bytes.toString('utf8', id.start, Math.min(id.end, id.start + limits.quotedCharsMax));
    }
    const { traceId, backendSpanId: spanId } = this;
    return { traceparent: traceParentText({ traceId, spanId, isSampled: true }), tracestate: this.state };
  }

  #setParent(messageParent: string): void {
    const parent = readTraceParent(messageParent);
    if (parent === undefined) return;
    this.parent = parent;
    this.isSampled = parent.isSampled;
  }

  /** Gives the trace and the request's span their ids, which they need when they are forwarded or exported. */
  assignIds(): void {
    if (this.spanId !== '') return;
    this.traceId = this.parent?.traceId ?? traceIds.next().toString('hex');
    this.spanId = spanIds.next().toString('hex');
  }
}

const traceIds = new RandomPool(16);
const spanIds = new RandomPool(8);
