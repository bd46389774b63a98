// Makes the spans of requests, by OpenTelemetry's conventions for MCP: one for each recorded request, and a child span for the call to its
// backend. Loaded only if tracing is on.
import type { TraceOptions } from '../config/index.js';
import type { ExchangeRequest } from '../exchange/index.js';
import { limits, type Logger, PROGRAM_VERSION } from '../shared/index.js';
import { RequestTrace } from './request-trace.js';
import { attributesJson, SpanExporter, type SpanCounts, type AttributeValue, type Span } from './span-exporter.js';
import type { WatchedRequest } from './request-watch.js';

/** Time for a process that ends to send its last spans. After that, they are lost and counted. */
export const TRACE_FLUSH_MS_MAX = 2_000;

type Attributes = Record<string, AttributeValue | undefined>;

export class Tracer {
  readonly #ratio: number;
  readonly #exporter: Pick<SpanExporter, 'add' | 'counts' | 'close'>;
  readonly #random: () => number;

  constructor(
    ratio: number,
    exporter: Pick<SpanExporter, 'add' | 'counts' | 'close'>,
    random: () => number = Math.random,
  ) {
    this.#ratio = ratio;
    this.#exporter = exporter;
    this.#random = random;
  }

  /** @param instance distinguishes the processes of one gateway. */
  static of({ endpoint, sampleRatio }: TraceOptions, instance: string, logger: Logger): Tracer {
    const attributes = {
      'service.name': 'switchyard',
      'service.version': PROGRAM_VERSION,
      'service.instance.id': instance,
      'process.pid': process.pid,
    };
    return new Tracer(sampleRatio, new SpanExporter(endpoint, { attributes, version: PROGRAM_VERSION }, logger));
  }

  get counts(): SpanCounts {
    return this.#exporter.counts;
  }

  begin({ traceparent, tracestate }: ExchangeRequest): RequestTrace {
    return new RequestTrace(traceparent, tracestate, this.#ratio, this.#random());
  }

  /** A request has ended. @param endedAtMs on the clock of `performance.now`. */
  done(request: WatchedRequest, trace: RequestTrace, status: number, endedAtMs: number): void {
    if (!trace.isSampled) return;
    trace.assignIds();
    const { traceId, spanId, state, parent } = trace;
    const common = { traceId, state, name: nameOf(request), isError: request.outcome !== 'ok' };
    const attributes = attributesJson(attributesOf(request, trace));
    this.#exporter.add({
      ...{ ...common, spanId, parentId: parent?.spanId ?? '', kind: 'server' },
      ...{ startMs: epochMs(request.startedAtMs), endMs: epochMs(endedAtMs) },
      attributes: `${attributes},${attributesJson(ownAttributes(request, status))}`,
    });
    const backend = backendSpan(request, trace, common, attributes, endedAtMs);
    if (backend !== undefined) this.#exporter.add(backend);
  }

  /** Sends the waiting spans, taking at most `msMax`. */
  close(msMax: number): Promise<void> {
    return this.#exporter.close(msMax);
  }
}

function backendSpan(
  { answeredAtMs, backendMs }: WatchedRequest,
  { backendSpanId, spanId }: RequestTrace,
  common: Pick<Span, 'traceId' | 'state' | 'name' | 'isError'>,
  attributes: string,
  endedAtMs: number,
): Span | undefined {
  if (backendSpanId === '') return undefined;
  const endMs = answeredAtMs < 0 ? endedAtMs : answeredAtMs;
  return {
    ...{ ...common, spanId: backendSpanId, parentId: spanId, kind: 'client' },
    ...{ startMs: epochMs(endMs - Math.max(0, backendMs)), endMs: epochMs(endMs) },
    attributes,
  };
}

/** The attributes that the server span and the client span have in common. */
function attributesOf(request: WatchedRequest, { rpcId }: RequestTrace): Attributes {
  const { method, backend, tool, prompt, outcome, detail } = request;
  return {
    'mcp.method.name': bounded(method),
    'gen_ai.operation.name': method === 'tools/call' ? 'execute_tool' : undefined,
    'gen_ai.tool.name': tool === '' ? undefined : bounded(tool),
    'gen_ai.prompt.name': prompt === '' ? undefined : bounded(prompt),
    'jsonrpc.request.id': rpcId === '' ? undefined : idText(rpcId),
    'switchyard.backend': backend === '' ? undefined : backend,
    'error.type': outcome === 'ok' ? undefined : outcome === 'tool-error' ? 'tool_error' : String(detail),
    'rpc.response.status_code': outcome === 'rpc-error' ? String(detail) : undefined,
    'network.protocol.name': 'http',
    'network.transport': 'tcp',
  };
}

/** The attributes of the request's span alone. */
function ownAttributes({ exchange, caller }: WatchedRequest, status: number): Attributes {
  const { requestId } = exchange.request;
  return {
    'http.response.status_code': status === 0 ? undefined : status,
    'switchyard.virtual_host': caller.virtualHost.id,
    'switchyard.request.id': requestId === '' ? undefined : requestId,
  };
}

function nameOf({ method, tool, prompt }: WatchedRequest): string {
  const target = tool + prompt;
  return bounded(target === '' ? method : `${method} ${target}`);
}

/** The id of a JSON-RPC request as text: a string without its quotes, or a number as it is written. */
function idText(json: string): string {
  return json.startsWith('"') && json.endsWith('"') ? json.slice(1, -1) : json;
}

/** @param ms on the clock of `performance.now`. */
function epochMs(ms: number): number {
  return performance.timeOrigin + ms;
}

function bounded(words: string): string {
  return words.slice(0, limits.quotedCharsMax);
}
