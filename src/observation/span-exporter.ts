// Sends spans to a collector (OTLP over HTTP, as JSON) in batches, one request at a time. No request waits for the collector: spans that
// are too many, or not accepted, are lost and counted.
import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { KIB, type Logger, RepeatedLog } from '../shared/index.js';

export type AttributeValue = string | number | boolean;

export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  /** The id of the parent span; `''` for a root span. */
  readonly parentId: string;
  readonly traceState: string;
  readonly kind: 'server' | 'client';
  readonly name: string;
  /** When the span began, in milliseconds since 1970. */
  readonly startMs: number;
  readonly endMs: number;
  readonly isError: boolean;
  /** The attributes of a request and of its call to a backend, as `attributesJson` writes them. */
  readonly attributes: string;
  /** The attributes of the request alone, each with a comma before it; `''` for the call to the backend. */
  readonly moreAttributes: string;
}

interface Resource {
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  readonly version: string;
}

const SPAN_KINDS = { server: 2, client: 3 } as const;
const STATUS_ERROR = 2;
const SAMPLED_FLAG = 1;

// Spans are written as text: objects in between cost three times as much as all else about a traced call.

/**
 * Bodies for a collector (OTLP 1.x, `ExportTraceServiceRequest` as JSON), one at a time in the same memory: texts of hundreds of
 * kilobytes would make V8 collect garbage all the time.
 */
class ExportBody {
  readonly #beginning: string;
  #memory = Buffer.allocUnsafe(256 * KIB);
  #length = 0;

  constructor({ attributes, version }: Resource) {
    const resource = `{"attributes":[${attributesJson(attributes)}]}`;
    const scope = `{"name":"switchyard","version":${JSON.stringify(version)}}`;
    this.#beginning = `{"resourceSpans":[{"resource":${resource},"scopeSpans":[{"scope":${scope},"spans":[`;
  }

  /** The body for these spans. The next call overwrites it. */
  encode(spans: readonly Span[]): Buffer {
    this.#length = 0;
    this.#add(this.#beginning);
    for (const [index, span] of spans.entries()) this.#add(`${index === 0 ? '' : ','}${spanJson(span)}`);
    this.#add(']}]}]}');
    return this.#memory.subarray(0, this.#length);
  }

  #add(text: string): void {
    // A UTF-16 unit takes at most 3 bytes.
    const bytesMax = this.#length + 3 * text.length;
    if (bytesMax > this.#memory.length) this.#memory = Buffer.concat([this.#memory], 2 * bytesMax);
    this.#length += this.#memory.write(text, this.#length);
  }
}

/** A span as JSON. Ids need no escapes. */
function spanJson(span: Span): string {
  const { startMs, endMs, attributes, moreAttributes } = span;
  const parent = span.parentId === '' ? '' : `","parentSpanId":"${span.parentId}`;
  const state = span.traceState === '' ? '' : `"traceState":${JSON.stringify(span.traceState)},`;
  return `{"traceId":"${span.traceId}","spanId":"${span.spanId}${parent}",${state}"flags":${SAMPLED_FLAG},"kind":${SPAN_KINDS[span.kind]},"name":${JSON.stringify(span.name)},"startTimeUnixNano":"${nanoseconds(startMs)}","endTimeUnixNano":"${nanoseconds(Math.max(startMs, endMs))}","attributes":[${attributes}${moreAttributes}],"status":${span.isError ? `{"code":${STATUS_ERROR}}` : '{}'}}`;
}

/** Writes attributes as the elements of a JSON array, without its brackets. Those that are `undefined` are left out. */
export function attributesJson(attributes: Readonly<Record<string, AttributeValue | undefined>>): string {
  let json = '';
  for (const key in attributes) {
    const value = attributes[key];
    if (value !== undefined) json += `${json === '' ? '' : ','}{"key":"${key}","value":${valueJson(value)}}`;
  }
  return json;
}

function valueJson(value: AttributeValue): string {
  if (typeof value === 'string') return `{"stringValue":${JSON.stringify(value)}}`;
  if (typeof value === 'boolean') return `{"boolValue":${value}}`;
  // OTLP writes 64-bit integers as strings.
  return Number.isSafeInteger(value) ? `{"intValue":"${value}"}` : `{"doubleValue":${value}}`;
}

/** The time in nanoseconds, as text: a number does not have enough digits. */
function nanoseconds(ms: number): string {
  return `${Math.round(ms * 1_000)}000`;
}

/** The most spans that wait for the collector. Further spans are dropped and counted. */
export const TRACE_SPANS_WAITING_MAX = 4_096;
/** The most spans in one request. Further spans go in the next. */
export const TRACE_SPANS_AT_ONCE_MAX = 256;
/** How long a span waits for others to be sent with it; also the pause after a failure. */
export const TRACE_EXPORT_INTERVAL_MS = 1_000;
/** Time for one request. After that, its spans are lost and counted. */
export const TRACE_EXPORT_MS_MAX = 5_000;

/** How many spans were sent, and how many were lost: `dropped` before they were sent, or `failed` with their request. */
export interface SpanCounts {
  exported: number;
  dropped: number;
  failed: number;
}

export class SpanExporter {
  readonly counts: SpanCounts = { exported: 0, dropped: 0, failed: 0 };
  readonly #endpoint: URL;
  readonly #agent: HttpAgent;
  readonly #body: ExportBody;
  readonly #logger: Logger;
  readonly #repeated = new RepeatedLog();
  #waiting: Span[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #isClosing = false;

  constructor(endpoint: string, resource: Resource, logger: Logger) {
    this.#endpoint = new URL(endpoint);
    const options = { keepAlive: true, maxSockets: 1 };
    this.#agent = this.#endpoint.protocol === 'https:' ? new HttpsAgent(options) : new HttpAgent(options);
    this.#body = new ExportBody(resource);
    this.#logger = logger;
  }

  add(span: Span): void {
    if (this.#waiting.length >= TRACE_SPANS_WAITING_MAX) {
      this.counts.dropped += 1;
      return;
    }
    this.#waiting.push(span);
    if (this.#waiting.length >= TRACE_SPANS_AT_ONCE_MAX) this.#send();
    else this.#timer ??= setTimeout(() => this.#send(), TRACE_EXPORT_INTERVAL_MS).unref();
  }

  /** Sends the waiting spans, for at most `msMax`. */
  async close(msMax: number): Promise<void> {
    this.#isClosing = true;
    this.#send();
    await Promise.race([this.#sending, sleep(msMax, undefined, { ref: false })]);
    this.counts.dropped += this.#waiting.length;
    this.#waiting = [];
    this.#agent.destroy();
  }

  #send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, TRACE_SPANS_AT_ONCE_MAX);
      const fault = await this.#post(this.#body.encode(batch));
      if (fault === undefined) {
        this.counts.exported += batch.length;
        continue;
      }
      this.counts.failed += batch.length;
      this.#repeated.warn(this.#logger, fault, { reason: fault, spans: batch.length }, 'spans could not be exported');
      // During the pause, new spans wait, up to `TRACE_SPANS_WAITING_MAX`.
      if (!this.#isClosing) await sleep(TRACE_EXPORT_INTERVAL_MS, undefined, { ref: false });
    }
  }

  /** Sends a body. @returns why its spans were not accepted; `undefined` if they were. */
  async #post(body: Buffer): Promise<string | undefined> {
    const send = this.#endpoint.protocol === 'https:' ? httpsRequest : httpRequest;
    const headers = { 'content-type': 'application/json', 'content-length': body.length };
    const request = send(this.#endpoint, { method: 'POST', agent: this.#agent, headers });
    const timer = setTimeout(() => request.destroy(new Error('no response in time')), TRACE_EXPORT_MS_MAX);
    return new Promise((resolve) => {
      request.on('response', (answer) => {
        const { statusCode = 0 } = answer;
        answer.on('error', () => resolve('the connection broke'));
        // The answer's body is ignored.
        answer.on('end', () => resolve(statusCode >= 200 && statusCode < 300 ? undefined : `status ${statusCode}`));
        answer.resume();
      });
      request.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
      request.on('close', () => {
        clearTimeout(timer);
        resolve('the connection broke');
      });
      request.end(body);
    });
  }
}
