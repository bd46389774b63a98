// The trace of one request: its parent, whether it is recorded, and the ids of its spans, for the request and for the call to its
// backend.
import type { TraceHeaders } from '../http-client/index.js';
import type { IdSpan } from '../upstream/index.js';
import { limits, RandomPool } from '../shared/index.js';

/** A `traceparent` (W3C trace context). */
interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;
const ZERO_ID = /^0+$/;
/** A valid `tracestate`: only characters that may occur in its list. */
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

/** Reads a `traceparent`; `undefined` for an invalid text. A later version begins with the same fields. */
export function readTraceParent(text: string): TraceParent | undefined {
  const [, version, traceId = '', spanId = '', flags = ''] = TRACEPARENT.exec(text) ?? [];
  if (version === undefined || version === 'ff' || ZERO_ID.test(traceId) || ZERO_ID.test(spanId)) return undefined;
  // Version 00 has exactly four fields.
  if (version === '00' && text.length !== 55) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function traceParentText({ traceId, spanId, isSampled }: TraceParent): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}

/** The `tracestate`; `''` if it is invalid. */
export function validTraceState(text: string): string {
  return TRACESTATE.test(text) ? text : '';
}

export class RequestTrace {
  traceId = '';
  spanId = '';
  /** The id of the backend call's span; `''` if there was none. */
  backendSpanId = '';
  /** The JSON-RPC request's id, as text. */
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
   * @param messageParent the message's own `traceparent`, which wins over that of the HTTP request; or `''`.
   * @returns the headers for the backend; for a request that is not recorded, those of its client.
   */
  onSending(messageParent: string, id: IdSpan): TraceHeaders | undefined {
    // A request that is sent again counts as the same call.
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

  /** Makes the ids, unless they exist. Called only for a trace that is forwarded or exported. */
  assignIds(): void {
    if (this.spanId !== '') return;
    this.traceId = this.parent?.traceId ?? traceIds.next().toString('hex');
    this.spanId = spanIds.next().toString('hex');
  }
}

const traceIds = new RandomPool(16);
const spanIds = new RandomPool(8);
