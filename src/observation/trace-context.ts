// W3C's trace context as it comes with a request and goes on with it: whose child a span is, and whether it is recorded.

export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
}

const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;
const NO_ID = /^0+$/;
/** What members of a list may be made of; each may stand in a header as it is. */
const STATE = /^[\x20-\x7e]{1,512}$/;

/** @returns `undefined` for a text that is none, as a later version's may be whose first members are others. */
export function readTraceParent(text: string): TraceParent | undefined {
  const [, version, traceId = '', spanId = '', flags = ''] = FORM.exec(text) ?? [];
  if (version === undefined || version === 'ff' || NO_ID.test(traceId) || NO_ID.test(spanId)) return undefined;
  // The first version has four members and no more.
  if (version === '00' && text.length !== 55) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function traceParentText({ traceId, spanId, isSampled }: TraceParent): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}

/** `tracestate` as it is passed on; `''` when it cannot be. */
export function fitTraceState(text: string): string {
  return STATE.test(text) ? text : '';
}
