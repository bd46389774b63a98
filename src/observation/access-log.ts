// With `--access-log`, one line per request (specification 1): a hash of its subject, its method and target, and its outcome; never
// arguments, tokens or whole session ids. Without it, only refusals and backend failures: the first of a kind; later ones are counted.
import type { ExchangeEnding, ExchangeRequest } from '../exchange/index.js';
import {
  FAILURE_LOG_INTERVAL_MS,
  limits,
  sessionHash,
  subjectHash,
  type Logger,
  type Refusal,
  RepeatedLog,
} from '../shared/index.js';
import { roundToTenths } from './recent-requests.js';
import type { WatchedRequest } from './request-watch.js';

// Bounds the lines about requests that were not served. One subject gets only a part of the lines that are left, so it cannot use up all.
// Cold path: only for failures.

/** The most lines per `FAILURE_LOG_INTERVAL_MS`. Further requests are only counted, in the next line. */
export const PROBLEM_LINES_MAX = 200;
/** The lines that are left, divided by this, are the most that one subject may take. */
const PROBLEM_LINES_SHARE_DIVISOR = 4;

class LineShares {
  readonly #nowMs: () => number;
  #intervalStartMs = -Infinity;
  #linesLeft = 0;
  /** Lines that each subject has taken in this interval. */
  readonly #takenBySubject = new Map<string, number>();
  #refusedLines = 0;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  tryTake(subject: string): boolean {
    const nowMs = this.#nowMs();
    if (nowMs - this.#intervalStartMs >= FAILURE_LOG_INTERVAL_MS) {
      this.#intervalStartMs = nowMs;
      this.#linesLeft = PROBLEM_LINES_MAX;
      this.#takenBySubject.clear();
    }
    const taken = this.#takenBySubject.get(subject) ?? 0;
    if (taken >= this.#linesLeft / PROBLEM_LINES_SHARE_DIVISOR) {
      this.#refusedLines += 1;
      return false;
    }
    this.#linesLeft -= 1;
    this.#takenBySubject.set(subject, taken + 1);
    return true;
  }

  /** How many lines were refused since the last call. */
  takeRefused(): number {
    const refused = this.#refusedLines;
    this.#refusedLines = 0;
    return refused;
  }
}

interface RequestEnd {
  readonly durationMs: number;
  /** The status; 0 if there was no answer. */
  readonly status: number;
  /** Bytes of the answer's body that were handed over for sending. */
  readonly bytes: number;
  readonly ending: ExchangeEnding;
}

/** Why a request was refused before the relay was reached. */
export interface RefusalDetails {
  readonly refusal: Pick<Refusal, 'code' | 'status'>;
  /** The subject; absent while it is unknown. */
  readonly subject?: string | undefined;
  /** The cause, such as what is wrong with the token. The caller is not told. */
  readonly cause?: string | undefined;
  /** The host, if the request was refused because of it. */
  readonly host?: string | undefined;
}

/** A request that was answered without a relay, such as one to the control plane. */
interface AnswerEntry {
  readonly requestId: string;
  readonly subject: string;
  readonly method: string;
  readonly route: string;
  readonly server: string | undefined;
  readonly composition: string | undefined;
  /** How the request ended. `error`: it was invalid; `refused`: it was not processed; `fault`: the program or the store failed. */
  readonly outcome: 'ok' | 'error' | 'refused' | 'fault';
  readonly code: string;
  readonly cause: string;
  readonly host?: string | undefined;
  readonly status: number;
  readonly durationMs: number;
  readonly requestBytes: number;
  readonly bytes: number;
}

export class AccessLog {
  readonly #logger: Logger;
  /** Whether all requests are logged, and not only refusals and faults. */
  readonly logsAll: boolean;
  readonly #repeated: RepeatedLog;

  constructor(logger: Logger, logsAll: boolean, nowMs: () => number = () => performance.now()) {
    this.#logger = logger;
    this.logsAll = logsAll;
    this.#repeated = new RepeatedLog(nowMs, new LineShares(nowMs));
  }

  logRequest(request: WatchedRequest, end: RequestEnd): void {
    const { outcome } = request;
    if (!this.#logger.isLevelEnabled('info')) return;
    const isProblem = outcome === 'refused' || outcome === 'fault';
    if (!this.logsAll && !isProblem) return;
    const { backend, detail, caller } = request;
    const fields = { ...requestFields(request), ...endFields(request, end) };
    this.#write(`${outcome} ${detail} ${backend}`, caller.subject, fields);
  }

  /** Logs a request that was refused before it reached the relay. */
  logRefusal(
    { requestId, method }: Pick<ExchangeRequest, 'requestId' | 'method'>,
    virtualHost: string,
    { refusal: { code, status }, subject = '', cause = '', host }: RefusalDetails,
  ): void {
    const fields = {
      ...requestIdMember(requestId),
      ...(subject !== '' && { subject: subjectHash(subject) }),
      virtualHost: cutText(virtualHost),
      method: cutText(method),
      outcome: 'refused',
      refusal: code,
      ...(cause !== '' && { cause }),
      ...hostMember(host),
      status,
    };
    this.#write(`refused ${code} ${cause}`, subject, fields);
  }

  logAnswered(answered: AnswerEntry): void {
    const { requestId, subject, method, route, server, composition, outcome, code, cause, host, durationMs } = answered;
    if (!this.logsAll && outcome !== 'refused' && outcome !== 'fault') return;
    const { status, requestBytes, bytes } = answered;
    const fields = {
      ...requestIdMember(requestId),
      subject: subject === '' ? '' : subjectHash(subject),
      method,
      route,
      ...(server !== undefined && { server: cutText(server) }),
      ...(composition !== undefined && { composition: cutText(composition) }),
      outcome,
      ...(code !== '' && { [outcome === 'refused' ? 'refusal' : outcome]: code }),
      ...(cause !== '' && { cause }),
      ...hostMember(host),
      ...{ status, requestBytes, bytes, durationMs: roundToTenths(durationMs) },
    };
    // A fault of the program or the store is logged only here.
    this.#write(`${outcome} ${code} ${cause}`, subject, fields, outcome === 'fault' ? 'warn' : 'info');
  }

  /** Writes a line. @param kind lines of one kind and subject are repetitions. */
  #write(kind: string, subject: string, fields: object, level: 'info' | 'warn' = 'info'): void {
    if (this.logsAll) this.#logger[level](fields, 'request');
    else this.#repeated.log(level, this.#logger, `${kind} ${subject}`, fields, 'request not served', subject);
  }
}

function requestFields({ caller, exchange, method, backend, tool }: WatchedRequest): object {
  return {
    ...requestIdMember(exchange.request.requestId),
    subject: subjectHash(caller.subject),
    ...sessionMember(exchange.request.sessionId),
    virtualHost: caller.virtualHost.id,
    method: cutText(method),
    ...(backend !== '' && { backend }),
    ...(tool !== '' && { tool: cutText(tool) }),
  };
}

function endFields({ exchange, outcome, detail, backendMs, requestBytes }: WatchedRequest, end: RequestEnd): object {
  const { durationMs, status, bytes, ending } = end;
  const detailName = DETAIL_NAMES[outcome];
  return {
    outcome: ending === 'unheard' && outcome === 'ok' ? 'gone' : outcome,
    ...(detailName !== undefined && { [detailName]: detail }),
    // The status is 0 if the answer was cut before it began.
    ...(status !== 0 && { status }),
    requestBytes,
    bytes,
    durationMs: roundToTenths(durationMs),
    ...(backendMs >= 0 && { backendMs: roundToTenths(backendMs) }),
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

function requestIdMember(requestId: string): object {
  return requestId === '' ? {} : { requestId };
}

function sessionMember(id: string): object {
  return id === '' ? {} : { session: sessionHash(id) };
}

/** The host without credentials before its name, and without characters that a terminal interprets. */
function hostMember(host: string | undefined): object {
  if (host === undefined) return {};
  return { host: cutText(host.slice(host.lastIndexOf('@') + 1)).replaceAll(/[^!-~]/g, '?') };
}

/** A text of bounded length: the caller may choose one as long as a request. */
export function cutText(words: string): string {
  return words.slice(0, limits.quotedCharsMax);
}
