// One line per request when the option is on (decisions 1): who (a hash), what and how it went; never arguments, tokens
// or whole session ids. Without the option refusals and backends' failures have their lines all the same, the first of a
// kind at once and the others counted, because whoever asks why somebody was not served looks here.
import type { ExchangeEnding, ExchangeRequest } from '../relay/exchange/exchange.js';
import { limits } from '../shared/limits.js';
import { LineShares } from '../shared/line-shares.js';
import { sessionHash, subjectHash, type Logger } from '../shared/logger.js';
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

/** What is known of a request that was refused before anybody looked at its message. */
export interface Refused {
  readonly request: Pick<ExchangeRequest, 'requestId'> & { readonly method: string };
  readonly virtualHost: string;
  /** `''` while it is not known. */
  readonly subject: string;
  readonly code: string;
  /** What the caller is not told, as what is wrong with its token; `''` for nothing. */
  readonly cause: string;
  readonly status: number;
}

/** A request that no relay has had, as the control plane's own. */
export interface Answered {
  readonly requestId: string;
  readonly subject: string;
  readonly method: string;
  readonly route: string;
  /** Names of what it is about, as the path has them. */
  readonly server: string | undefined;
  readonly composition: string | undefined;
  /** `error`: the request is not right; `refused`: it was not looked at; `fault`: it is the program's own, or the store's. */
  readonly outcome: 'ok' | 'error' | 'refused' | 'fault';
  readonly code: string;
  readonly cause: string;
  readonly status: number;
  readonly durationMs: number;
  readonly requestBytes: number;
  readonly bytes: number;
}

export class AccessLog {
  readonly #logger: Logger;
  /** A line for each request, not for refusals and failures alone. */
  readonly isOfAll: boolean;
  readonly #repeated: RepeatedLog;

  constructor(logger: Logger, isOfAll: boolean, nowMs: () => number = () => performance.now()) {
    this.#logger = logger;
    this.isOfAll = isOfAll;
    this.#repeated = new RepeatedLog(nowMs, new LineShares(nowMs));
  }

  /** A request that the relay has answered, or not. */
  done(request: WatchedRequest, end: RequestEnd): void {
    const { outcome } = request;
    if (!this.#logger.isLevelEnabled('info')) return;
    const isProblem = outcome === 'refused' || outcome === 'fault';
    if (!this.isOfAll && !isProblem) return;
    const { backend, detail, caller } = request;
    const fields = { ...whatOf(request), ...howOf(request, end) };
    this.#write(`${outcome} ${detail} ${backend}`, caller.subject, fields);
  }

  /** A request that was refused before it reached the relay. */
  refused({ request, virtualHost, subject, code, cause, status }: Refused): void {
    const fields = {
      ...idOf(request.requestId),
      ...(subject !== '' && { subject: subjectHash(subject) }),
      virtualHost: bounded(virtualHost),
      method: bounded(request.method),
      outcome: 'refused',
      refusal: code,
      ...(cause !== '' && { cause }),
      status,
    };
    this.#write(`refused ${code} ${cause}`, subject, fields);
  }

  /** A request that was answered without a relay. */
  answered(answered: Answered): void {
    const { requestId, subject, method, route, server, composition, outcome, code, cause, durationMs } = answered;
    if (!this.isOfAll && outcome !== 'refused' && outcome !== 'fault') return;
    const { status, requestBytes, bytes } = answered;
    const fields = {
      ...idOf(requestId),
      subject: subject === '' ? '' : subjectHash(subject),
      method,
      route,
      ...(server !== undefined && { server: bounded(server) }),
      ...(composition !== undefined && { composition: bounded(composition) }),
      outcome,
      ...(code !== '' && { [outcome === 'refused' ? 'refusal' : outcome]: code }),
      ...(cause !== '' && { cause }),
      ...{ status, requestBytes, bytes, durationMs: tenths(durationMs) },
    };
    this.#write(`${outcome} ${code} ${cause}`, subject, fields);
  }

  /** @param subject whose failures are told apart from others', and count in a share of their own. */
  #write(kind: string, subject: string, fields: object): void {
    if (this.isOfAll) this.#logger.info(fields, 'request');
    else this.#repeated.info(this.#logger, `${kind} ${subject}`, fields, 'request not served', subject);
  }
}

/** Who asked for what. */
function whatOf({ caller, exchange, method, backend, tool }: WatchedRequest): object {
  return {
    ...idOf(exchange.request.requestId),
    subject: subjectHash(caller.subject),
    ...sessionOf(exchange.request.sessionId),
    virtualHost: caller.virtualHost.id,
    method: bounded(method),
    ...(backend !== '' && { backend }),
    ...(tool !== '' && { tool: bounded(tool) }),
  };
}

function howOf({ exchange, outcome, detail, backendMs, requestBytes }: WatchedRequest, end: RequestEnd): object {
  const { durationMs, status, bytes, ending } = end;
  const detailName = DETAIL_NAMES[outcome];
  return {
    outcome: ending === 'unheard' && outcome === 'ok' ? 'gone' : outcome,
    ...(detailName !== undefined && { [detailName]: detail }),
    // Where the answer was cut before it began, there is no status.
    ...(status !== 0 && { status }),
    requestBytes,
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

function sessionOf(id: string): object {
  return id === '' ? {} : { session: sessionHash(id) };
}

function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}

/** What a caller made up may be as long as a request. */
function bounded(words: string): string {
  return words.slice(0, limits.accessLogNameCharsMax);
}
