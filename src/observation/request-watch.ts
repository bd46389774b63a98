// Follows each request that reaches the relay to its end, for access log, metrics and traces, in the worker that owns the session. Hot
// path: one object per request; no cost where none of the three is on.
import type { TraceOptions } from '../config/index.js';
import type { LabelCounter, Outcome, RequestFigures } from '../metrics/index.js';
import type { Logger } from '../shared/index.js';
import type {
  Exchange,
  ExchangeEnding,
  ExchangeRequest,
  ExchangeWatcher,
  NameKind,
  RequestOutcome,
  Caller,
} from '../exchange/index.js';
import type { TraceHeaders } from '../http-client/index.js';
import type { IdSpan } from '../upstream/index.js';
import type { AccessLog, RefusalDetails } from './access-log.js';
import type { RecentRequests } from './recent-requests.js';
import type { RequestTrace } from './request-trace.js';
import type { Tracer } from './tracer.js';

interface WatchFigures {
  readonly requests: RequestFigures;
  readonly refusals: LabelCounter;
  requestsInFlight: number;
  streams: number;
}

export class RequestWatch {
  readonly #log: AccessLog | undefined;
  readonly #figures: WatchFigures | undefined;
  readonly #recent: RecentRequests | undefined;
  readonly #tracer: Tracer | undefined;

  /** @param recent given if requests have ids. @param tracer given if requests are traced. */
  constructor(log: AccessLog | undefined, figures: WatchFigures | undefined, recent?: RecentRequests, tracer?: Tracer) {
    this.#recent = recent;
    this.#log = log;
    this.#figures = figures;
    this.#tracer = tracer;
  }

  watch(caller: Caller, exchange: Exchange): void {
    const request = new WatchedRequest(this, caller, exchange, this.#tracer?.beginTrace(exchange.request));
    exchange.watcher = request;
    const figures = this.#figures;
    if (figures === undefined) return;
    if (request.isStream) figures.streams += 1;
    else figures.requestsInFlight += 1;
  }

  /** Stops following an exchange that another worker watches from now on. */
  unwatch(exchange: Exchange): void {
    if (exchange.watcher === undefined) return;
    exchange.watcher = undefined;
    if (this.#figures === undefined) return;
    if (exchange.request.method === 'GET') this.#figures.streams -= 1;
    else this.#figures.requestsInFlight -= 1;
  }

  get wantsToolErrors(): boolean {
    return (
      this.#figures !== undefined ||
      this.#recent !== undefined ||
      this.#log?.logsAll === true ||
      this.#tracer !== undefined
    );
  }

  /** Called when a request was refused before it reached the relay. */
  onRefused(request: ExchangeRequest, virtualHost: string, details: RefusalDetails): void {
    const { method } = request;
    const { code, status } = details.refusal;
    const { subject = '' } = details;
    this.#figures?.refusals.count(code);
    this.#figures?.requests.record({ ...REFUSED, method, status });
    // Only requests with a valid token are kept: requests without one, which anyone can send, would push these out.
    if (subject !== '')
      this.#recent?.keep(request.requestId, subject, virtualHost, method, '', '', 'refused', code, status, 0, -1);
    this.#log?.logRefusal(request, virtualHost, details);
  }

  onDone(request: WatchedRequest, status: number, bytes: number, ending: ExchangeEnding): void {
    const nowMs = performance.now();
    if (request.trace !== undefined) this.#tracer?.exportSpans(request, request.trace, status, nowMs);
    this.#log?.logRequest(request, { durationMs: nowMs - request.startedAtMs, status, bytes, ending });
    const { method, backend, startedAtMs, answeredAtMs, backendMs } = request;
    this.#recent?.keep(
      request.exchange.request.requestId,
      request.caller.subject,
      request.caller.virtualHost.id,
      method,
      backend,
      request.tool,
      outcomeOf(request, ending),
      request.detail,
      status,
      nowMs - startedAtMs,
      backendMs,
    );
    const figures = this.#figures;
    if (figures === undefined) return;
    if (request.isStream) figures.streams -= 1;
    else figures.requestsInFlight -= 1;
    if (request.outcome === 'refused') figures.refusals.count(String(request.detail));
    figures.requests.record({
      method,
      backend,
      outcome: outcomeOf(request, ending),
      status,
      totalMs: request.isStream ? -1 : nowMs - startedAtMs,
      answeredMs: answeredAtMs < 0 ? -1 : answeredAtMs - startedAtMs,
      backendMs,
    });
  }
}

export class WatchedRequest implements ExchangeWatcher {
  readonly caller: Caller;
  readonly exchange: Exchange;
  readonly startedAtMs = performance.now();
  /** The size of the request, noted at the beginning, because the body's memory may be reused. */
  readonly requestBytes: number;
  /** The MCP method; `response` for a response; the HTTP method if neither is known. */
  method: string;
  backend = '';
  tool = '';
  prompt = '';
  outcome: RequestOutcome = 'ok';
  /** The code of a refusal or an error, the kind of a fault, or `''`. */
  detail: string | number = '';
  /** When the request was answered, in `performance.now()` time; -1 before the outcome is known. */
  answeredAtMs = -1;
  /** How long the backend took; -1 if unknown. */
  backendMs = -1;
  readonly trace: RequestTrace | undefined;
  readonly #watch: RequestWatch;

  constructor(watch: RequestWatch, caller: Caller, exchange: Exchange, trace: RequestTrace | undefined) {
    this.trace = trace;
    this.#watch = watch;
    this.caller = caller;
    this.exchange = exchange;
    this.method = exchange.request.method;
    this.requestBytes = exchange.request.body.length;
  }

  get wantsToolErrors(): boolean {
    return this.#watch.wantsToolErrors;
  }

  onIdentified(method: string, backend: string, name: string, nameKind: NameKind = ''): void {
    // A message without a method is a response.
    this.method = method === '' ? 'response' : method;
    this.backend = backend;
    this.tool = nameKind === 'tool' ? name : '';
    this.prompt = nameKind === 'prompt' ? name : '';
  }

  onOutcome(outcome: RequestOutcome, detail: string | number, backendMs: number): void {
    // Only the first outcome counts; a later one may be the end of the session.
    if (this.answeredAtMs >= 0) return;
    this.answeredAtMs = performance.now();
    this.outcome = outcome;
    this.detail = detail;
    this.backendMs = backendMs;
  }

  get isTraced(): boolean {
    return this.trace !== undefined;
  }

  onSending(traceparent: string, id: IdSpan): TraceHeaders | undefined {
    return this.trace?.onSending(traceparent, id);
  }

  onBatchPart(part: Exchange): void {
    this.#watch.watch(this.caller, part);
  }

  onDone(status: number, bytes: number, ending: ExchangeEnding): void {
    this.#watch.onDone(this, status, bytes, ending);
  }

  /** Whether the request is a GET, whose stream lasts as long as the client likes. */
  get isStream(): boolean {
    return this.exchange.request.method === 'GET';
  }
}

const REFUSED = { backend: '', outcome: 'refused', totalMs: -1, answeredMs: -1, backendMs: -1 } as const;

function outcomeOf({ outcome, isStream }: WatchedRequest, ending: ExchangeEnding): Outcome {
  if (isStream) return outcome;
  return ending === 'whole' || outcome !== 'ok' ? outcome : 'gone';
}

/** The most time for sending the last spans. Spans that are not sent by then are lost and counted. */
export const TRACE_FLUSH_MS_MAX = 2_000;

/** The tracer of this process; `undefined` if tracing is off, and then its modules are not loaded. */
export async function openTracer(
  traceOptions: TraceOptions | undefined,
  processName: string,
  logger: Logger,
): Promise<Tracer | undefined> {
  return traceOptions && (await import('./tracer.js')).Tracer.of(traceOptions, processName, logger);
}
