// A span that is over, as plain data, and what it is as OTLP's JSON.

export type AttributeValue = string | number | boolean;

export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  /** `''` for the first of a trace. */
  readonly parentId: string;
  readonly state: string;
  readonly kind: 'server' | 'client';
  readonly name: string;
  /** Since the epoch. */
  readonly startMs: number;
  readonly endMs: number;
  readonly isError: boolean;
  readonly attributes: Readonly<Record<string, AttributeValue | undefined>>;
}

export interface Resource {
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  readonly version: string;
}

const KINDS = { server: 2, client: 3 } as const;
const ERROR = 2;
const SAMPLED = 1;

/** The body of a request to a collector (OTLP 1.x, `ExportTraceServiceRequest` as JSON). */
export function exportJson({ attributes, version }: Resource, spans: readonly Span[]): string {
  return JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: keyValues(attributes) },
        scopeSpans: [{ scope: { name: 'switchyard', version }, spans: spans.map(spanJson) }],
      },
    ],
  });
}

function spanJson({ traceId, spanId, parentId, state, kind, name, startMs, endMs, isError, attributes }: Span): object {
  return {
    traceId,
    spanId,
    ...(parentId !== '' && { parentSpanId: parentId }),
    ...(state !== '' && { traceState: state }),
    flags: SAMPLED,
    name,
    kind: KINDS[kind],
    startTimeUnixNano: nanoseconds(startMs),
    endTimeUnixNano: nanoseconds(Math.max(startMs, endMs)),
    attributes: keyValues(attributes),
    status: isError ? { code: ERROR } : {},
  };
}

function keyValues(attributes: Readonly<Record<string, AttributeValue | undefined>>): object[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: anyValue(value) }],
  );
}

function anyValue(value: AttributeValue): object {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  // 64 bits, which in JSON are text.
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/** More digits than a number has. */
function nanoseconds(ms: number): string {
  return `${Math.round(ms * 1_000)}000`;
}
