// Makes spans by OpenTelemetry's conventions for MCP: one for each recorded request, and a child for the call to its backend. Loaded only
// if tracing is on.
import { hostname } from 'node:os';
import type { TraceOptions } from '../config/index.js';
import type { ExchangeRequest } from '../exchange/index.js';
import { KIB, type Logger, PROGRAM_VERSION, RecentMap } from '../shared/index.js';
import { cutText } from './access-log.js';
import { RequestTrace } from './request-trace.js';
import { attributesJson, SpanExporter, type SpanCounts } from './span-exporter.js';
import type { WatchedRequest } from './request-watch.js';

/** The most targets of requests (backend, tool or prompt) whose attributes are cached as text. */
const CACHED_ATTRIBUTES_MAX = 512;
const CACHED_ATTRIBUTES_BYTES_MAX = 256 * KIB;

export class Tracer {
  readonly #ratio: number;
  readonly #exporter: Pick<SpanExporter, 'add' | 'counts' | 'close'>;
  readonly #random: () => number;
  readonly #cache = new RecentMap<string>(CACHED_ATTRIBUTES_MAX, CACHED_ATTRIBUTES_BYTES_MAX, ({ length }) => length);

  constructor(
    ratio: number,
    exporter: Pick<SpanExporter, 'add' | 'counts' | 'close'>,
    random: () => number = Math.random,
  ) {
    this.#ratio = ratio;
    this.#exporter = exporter;
    this.#random = random;
  }

  /** @param processName part of the instance id: tells the control plane and the workers of a machine apart. */
  static of({ endpoint, sampleRatio }: TraceOptions, processName: string, logger: Logger): Tracer {
    const attributes = {
      'service.name': 'switchyard',
      'service.version': PROGRAM_VERSION,
      'service.instance.id': `${hostname()}/${processName}`,
      'process.pid': process.pid,
    };
    return new Tracer(sampleRatio, new SpanExporter(endpoint, { attributes, version: PROGRAM_VERSION }, logger));
  }

  get counts(): SpanCounts {
    return this.#exporter.counts;
  }

  beginTrace({ traceparent, tracestate }: ExchangeRequest): RequestTrace {
    return new RequestTrace(traceparent, tracestate, this.#ratio, this.#random());
  }

  /** Makes the spans of a request that is over. @param endedAtMs by `performance.now()`. */
  exportSpans(request: WatchedRequest, trace: RequestTrace, status: number, endedAtMs: number): void {
    if (!trace.isSampled) return;
    trace.assignIds();
    const { traceId, spanId, state, backendSpanId } = trace;
    const name = spanNameOf(request);
    const isError = request.outcome !== 'ok';
    const attributes = this.#attributesOf(request, trace);
    this.#exporter.add({
      traceId,
      spanId,
      parentId: trace.parent?.spanId ?? '',
      traceState: state,
      kind: 'server',
      name,
      startMs: epochMs(request.startedAtMs),
      endMs: epochMs(endedAtMs),
      isError,
      attributes,
      moreAttributes: requestAttributes(request, status),
    });
    if (backendSpanId === '') return;
    const endMs = request.answeredAtMs < 0 ? endedAtMs : request.answeredAtMs;
    this.#exporter.add({
      traceId,
      spanId: backendSpanId,
      parentId: spanId,
      traceState: state,
      kind: 'client',
      name,
      startMs: epochMs(endMs - Math.max(0, request.backendMs)),
      endMs: epochMs(endMs),
      isError,
      attributes,
      moreAttributes: '',
    });
  }

  /** The attributes that both spans have. */
  #attributesOf(request: WatchedRequest, { rpcId }: RequestTrace): string {
    const targetAttributes = this.#targetAttributesOf(request);
    const { outcome, detail } = request;
    if (rpcId === '' && outcome === 'ok') return targetAttributes;
    const more = attributesJson({
      'jsonrpc.request.id': rpcId === '' ? undefined : idText(rpcId),
      'error.type': outcome === 'ok' ? undefined : outcome === 'tool-error' ? 'tool_error' : String(detail),
      'rpc.response.status_code': outcome === 'rpc-error' ? String(detail) : undefined,
    });
    return `${targetAttributes},${more}`;
  }

  /** The attributes that depend only on the method, the backend, and the tool or prompt. Cached. */
  #targetAttributesOf({ method, backend, tool, prompt }: WatchedRequest): string {
    const key = `${method} ${backend} ${tool} ${prompt}`;
    const cached = this.#cache.get(key);
    if (cached !== undefined) return cached;
    const json = attributesJson({
      'mcp.method.name': cutText(method),
      'gen_ai.operation.name': method === 'tools/call' ? 'execute_tool' : undefined,
      'gen_ai.tool.name': tool === '' ? undefined : cutText(tool),
      'gen_ai.prompt.name': prompt === '' ? undefined : cutText(prompt),
      'switchyard.backend': backend === '' ? undefined : backend,
      'network.protocol.name': 'http',
      'network.transport': 'tcp',
    });
    // A key longer than the attributes has a name that was cut in them; it may have any length, so it is not cached.
    if (key.length < json.length) this.#cache.set(key, json);
    return json;
  }

  /** Sends the last spans, for at most `msMax`. */
  close(msMax: number): Promise<void> {
    return this.#exporter.close(msMax);
  }
}

/** The attributes that only the request's own span has, as elements of an array after others. */
function requestAttributes({ exchange, caller }: WatchedRequest, status: number): string {
  const { requestId } = exchange.request;
  const json = attributesJson({
    'switchyard.virtual_host': caller.virtualHost.id,
    'http.response.status_code': status === 0 ? undefined : status,
    'switchyard.request.id': requestId === '' ? undefined : requestId,
  });
  return `,${json}`;
}

function spanNameOf({ method, tool, prompt }: WatchedRequest): string {
  const target = tool + prompt;
  return cutText(target === '' ? method : `${method} ${target}`);
}

/** The request's id as text: a string without its quotes, or a number as it is written. */
function idText(json: string): string {
  return json.startsWith('"') && json.endsWith('"') ? json.slice(1, -1) : json;
}

/** A time in milliseconds since 1970. @param ms by `performance.now()`. */
function epochMs(ms: number): number {
  return performance.timeOrigin + ms;
}
