// W3C trace context, as received with a request and forwarded with it: the parent of a span, and whether it is recorded.

export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
}

const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;
const NO_ID = /^0+$/;
/** The characters that list members may contain; all are valid in a header. */
const STATE = /^[\x20-\x7e]{1,512}$/;

/** @returns `undefined` for an invalid text, including a later version's whose first members have another form. */
export function readTraceParent(text: string): TraceParent | undefined {
  const [, version, traceId = '', spanId = '', flags = ''] = FORM.exec(text) ?? [];
  if (version === undefined || version === 'ff' || NO_ID.test(traceId) || NO_ID.test(spanId)) return undefined;
  // Version 00 has exactly four members.
  if (version === '00' && text.length !== 55) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function traceParentText({ traceId, spanId, isSampled }: TraceParent): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}

/** `tracestate` as it is forwarded; `''` when it is invalid. */
export function fitTraceState(text: string): string {
  return STATE.test(text) ? text : '';
}
