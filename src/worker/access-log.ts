// One line per request when the option is on (decisions 1): who (a hash), what and how it went; never arguments, tokens
// or whole session ids. Without the option refusals and backends' failures have their lines all the same, the first of a
// kind at once and the others counted, because whoever asks why somebody was not served looks here.
import type { ExchangeEnding, ExchangeRequest } from '../relay/exchange.js';
import { limits } from '../shared/limits.js';
import { subjectHash, type Logger } from '../shared/logger.js';
import type { Refusal } from '../shared/refusals.js';
import { RepeatedLog } from '../shared/repeated-log.js';
import type { WatchedRequest } from './request-watch.js';

/** How a request ended. */
export interface RequestEnd {
  readonly durationMs: number;
  /** Of the answer's head; 0 when there was none. */
  readonly status: number;
  /** Of the answer's body that were handed over. */
  readonly bytes: number;
  readonly ending: ExchangeEnding;
}

export class AccessLog {
  readonly #logger: Logger;
  /** A line for each request, not for refusals and failures alone. */
  readonly isOfAll: boolean;
  readonly #repeated = new RepeatedLog();

  constructor(logger: Logger, isOfAll: boolean) {
    this.#logger = logger;
    this.isOfAll = isOfAll;
  }

  /** A request that the relay has answered, or not. */
  done(request: WatchedRequest, end: RequestEnd): void {
    const { outcome } = request;
    const isProblem = outcome === 'refused' || outcome === 'fault';
    if (!this.isOfAll && !isProblem) return;
    const { backend, detail } = request;
    this.#write(`${outcome} ${detail} ${backend}`, { ...whatOf(request), ...howOf(request, end) });
  }

  /** A request that was refused before it reached the relay. */
  refused({ method, requestId }: ExchangeRequest, virtualHost: string, refusal: Refusal): void {
    const { status, code } = refusal;
    const fields = {
      ...idOf(requestId),
      virtualHost: bounded(virtualHost),
      method,
      outcome: 'refused',
      refusal: code,
      status,
    };
    this.#write(`refused ${code}`, fields);
  }

  #write(kind: string, fields: object): void {
    if (this.isOfAll) this.#logger.info(fields, 'request');
    else this.#repeated.info(this.#logger, kind, fields, 'request not served');
  }
}

/** Who asked for what. */
function whatOf({ caller, exchange, method, backend, tool }: WatchedRequest): object {
  return {
    ...idOf(exchange.request.requestId),
    subject: subjectHash(caller.subject),
    virtualHost: caller.virtualHost.id,
    method: bounded(method),
    ...(backend !== '' && { backend }),
    ...(tool !== '' && { tool: bounded(tool) }),
  };
}

function howOf({ exchange, outcome, detail, backendMs }: WatchedRequest, end: RequestEnd): object {
  const { durationMs, status, bytes, ending } = end;
  const detailName = DETAIL_NAMES[outcome];
  return {
    outcome: ending === 'unheard' && outcome === 'ok' ? 'gone' : outcome,
    ...(detailName !== undefined && { [detailName]: detail }),
    // Where the answer was cut before it began, there is no status.
    ...(status !== 0 && { status }),
    bytes,
    durationMs: tenths(durationMs),
    ...(backendMs >= 0 && { backendMs: tenths(backendMs) }),
    callerGone: exchange.isAborted,
    ...(ending === 'cut' && { cut: true }),
  };
}

const DETAIL_NAMES: Readonly<Record<WatchedRequest['outcome'], string | undefined>> = {
  ok: undefined,
  'tool-error': undefined,
  'rpc-error': 'code',
  fault: 'fault',
  refused: 'refusal',
};

function idOf(requestId: string): object {
  return requestId === '' ? {} : { requestId };
}

function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}

/** What a caller made up may be as long as a request. */
function bounded(words: string): string {
  return words.slice(0, limits.accessLogNameCharsMax);
}
