// Follows each request that reaches the relay to its end, for the access log and the figures: what it was, how it came out
// and how long it took. The owner of a session does, because only the owner knows what the request was. Hot where figures are
// kept: one object for each request, and nothing where nobody wants to know.
import type { LabelCounter } from '../metrics/label-counter.js';
import type { Outcome, RequestFigures } from '../metrics/request-figures.js';
import type {
  Exchange,
  ExchangeEnding,
  ExchangeRequest,
  ExchangeWatcher,
  NameKind,
  RequestOutcome,
} from '../relay/exchange/exchange.js';
import type { Caller } from '../relay/exchange/caller.js';
import type { Refusal } from '../shared/refusals.js';
import type { TraceHeaders } from '../upstream/http/http-upstream.js';
import type { IdSpan } from '../upstream/rpc/request-plan.js';
import type { AccessLog } from './access-log.js';
import type { RecentRequests } from './recent-requests.js';
import type { RequestTrace } from './request-trace.js';
import type { Tracer } from './tracer.js';

/** What is counted of requests. */
export interface WatchFigures {
  readonly requests: RequestFigures;
  readonly refusals: LabelCounter;
  requestsInFlight: number;
  streams: number;
}

/** Why somebody was refused who has not come as far as the relay. */
export interface RefusalDetails {
  readonly refusal: Pick<Refusal, 'code' | 'status'>;
  /** Absent while it is not known. */
  readonly subject?: string | undefined;
  /** What the caller is not told. */
  readonly cause?: string | undefined;
}

export class RequestWatch {
  readonly #log: AccessLog | undefined;
  readonly #figures: WatchFigures | undefined;
  readonly #recent: RecentRequests | undefined;
  readonly #tracer: Tracer | undefined;

  /** @param recent where requests have ids; `tracer` where they are traced. */
  constructor(log: AccessLog | undefined, figures: WatchFigures | undefined, recent?: RecentRequests, tracer?: Tracer) {
    this.#recent = recent;
    this.#log = log;
    this.#figures = figures;
    this.#tracer = tracer;
  }

  watch(caller: Caller, exchange: Exchange): void {
    const request = new WatchedRequest(this, caller, exchange, this.#tracer?.begin(exchange.request));
    exchange.watcher = request;
    const figures = this.#figures;
    if (figures === undefined) return;
    if (request.isStream) figures.streams += 1;
    else figures.requestsInFlight += 1;
  }

  /** Another worker watches it from now on. */
  leave(exchange: Exchange): void {
    if (exchange.watcher === undefined) return;
    exchange.watcher = undefined;
    if (this.#figures === undefined) return;
    if (exchange.request.method === 'GET') this.#figures.streams -= 1;
    else this.#figures.requestsInFlight -= 1;
  }

  get isToolErrorTold(): boolean {
    return (
      this.#figures !== undefined ||
      this.#recent !== undefined ||
      this.#log?.isOfAll === true ||
      this.#tracer !== undefined
    );
  }

  /** A request that was refused before it reached the relay. */
  refused(request: ExchangeRequest, virtualHost: string, { refusal, subject = '', cause = '' }: RefusalDetails): void {
    const { method } = request;
    const { code, status } = refusal;
    this.#figures?.refusals.count(code);
    this.#figures?.requests.record({ ...REFUSED, method, status });
    // Who has no good token can be refused any number of times, and would push out what became of everybody's requests.
    if (subject !== '')
      this.#recent?.keep(request.requestId, subject, virtualHost, method, '', '', 'refused', code, status, 0, -1);
    this.#log?.refused({ request, virtualHost, subject, code, cause, status });
  }

  /** For `WatchedRequest`. */
  onDone(request: WatchedRequest, status: number, bytes: number, ending: ExchangeEnding): void {
    const nowMs = performance.now();
    if (request.trace !== undefined) this.#tracer?.done(request, request.trace, status, nowMs);
    this.#log?.done(request, { durationMs: nowMs - request.startedAtMs, status, bytes, ending });
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

/** What is known of a request by and by. */
export class WatchedRequest implements ExchangeWatcher {
  readonly caller: Caller;
  readonly exchange: Exchange;
  readonly startedAtMs = performance.now();
  /** Of its body, whose memory may be used for another before the end. */
  readonly requestBytes: number;
  /** MCP's; before it is known, and where there is none, HTTP's. */
  method: string;
  backend = '';
  tool = '';
  prompt = '';
  outcome: RequestOutcome = 'ok';
  /** The code of a refusal or of an error, the kind of a fault; `''` when all is well. */
  detail: string | number = '';
  answeredAtMs = -1;
  backendMs = -1;
  /** `undefined` where nobody traces. */
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

  get isToolErrorTold(): boolean {
    return this.#watch.isToolErrorTold;
  }

  onIdentified(method: string, backend: string, name: string, nameKind: NameKind = ''): void {
    // A client's response has no method.
    this.method = method === '' ? 'response' : method;
    this.backend = backend;
    this.tool = nameKind === 'tool' ? name : '';
    this.prompt = nameKind === 'prompt' ? name : '';
  }

  onOutcome(outcome: RequestOutcome, detail: string | number, backendMs: number): void {
    // What comes later, as the end of the session, changes nothing.
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

  onPart(part: Exchange): void {
    this.#watch.watch(this.caller, part);
  }

  onDone(status: number, bytes: number, ending: ExchangeEnding): void {
    this.#watch.onDone(this, status, bytes, ending);
  }

  /** Opened by the client, for as long as it likes. */
  get isStream(): boolean {
    return this.exchange.request.method === 'GET';
  }
}

const REFUSED = { backend: '', outcome: 'refused', totalMs: -1, answeredMs: -1, backendMs: -1 } as const;

function outcomeOf({ outcome, isStream }: WatchedRequest, ending: ExchangeEnding): Outcome {
  if (isStream) return outcome;
  return ending === 'whole' || outcome !== 'ok' ? outcome : 'gone';
}
