// A finished span as plain data, and its JSON form in OTLP.

export type AttributeValue = string | number | boolean;

export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  /** `''` for the root span of a trace. */
  readonly parentId: string;
  readonly state: string;
  readonly kind: 'server' | 'client';
  readonly name: string;
  /** Milliseconds since the epoch. */
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
  // OTLP writes 64-bit integers as strings in JSON.
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/** As text, since a number does not have enough digits. */
function nanoseconds(ms: number): string {
  return `${Math.round(ms * 1_000)}000`;
}
