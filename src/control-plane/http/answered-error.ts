// Turns the errors of routes into responses: `{"detail": …}`, a message for people that names the faulty member. What never becomes a
// request of a route, such as a head that is no HTTP, is answered in http-app.ts.
import type { FastifyError } from 'fastify';
import { RecordStoreFault } from '../../store/record-store.js';
import { ControlPlaneFault } from '../common/control-plane-fault.js';
import { describeViolation } from './violation.js';

/** For the log. */
export interface Failure {
  /** `error`: the request is wrong; `refused`: it was not examined; `fault`: the control plane or the store failed. */
  readonly outcome: 'error' | 'refused' | 'fault';
  readonly code: string;
  /** Not shown to the caller. */
  readonly cause?: string | undefined;
  /** For the log: the `Host` header, where it is why the request was refused. */
  readonly host?: string | undefined;
}

export interface AnsweredError extends Failure {
  readonly status: number;
  readonly detail: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A refusal by the HTTP layer itself. */
export class HttpRefusal extends Error implements AnsweredError {
  override readonly name = 'HttpRefusal';
  readonly status: number;
  readonly detail: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly outcome: Failure['outcome'];
  readonly code: string;
  override readonly cause: string | undefined;
  readonly host: string | undefined;

  constructor(
    status: number,
    detail: string,
    headers: Readonly<Record<string, string>> = {},
    failure: Failure = failureOfStatus(status),
  ) {
    super(detail);
    this.outcome = failure.outcome;
    this.code = failure.code;
    this.cause = failure.cause;
    this.host = failure.host;
    this.status = status;
    this.detail = detail;
    this.headers = headers;
  }
}

function failureOfStatus(status: number): Failure {
  return { outcome: 'error', code: CODES[status] ?? 'invalid' };
}

const CODES: Readonly<Record<number, string>> = { 404: 'not-found', 413: 'body-too-large', 414: 'path-too-long' };

const STORE_RETRY_S = '2';

/** Replaces messages of fastify that are written for programmers. */
const wordsForPeople: Readonly<Record<string, string>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'Unsupported content type: send application/json',
  FST_ERR_CTP_BODY_TOO_LARGE: 'Request body too large',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'The length of the body differs from content-length',
  FST_ERR_CTP_INVALID_JSON_BODY: 'The body is not JSON',
  FST_ERR_BAD_URL: 'The path is not correctly percent-encoded',
  FST_ERR_MAX_PARAM_LENGTH: 'The path is too long',
};

/**
 * `undefined` for an unexpected error: an internal fault, for the log.
 * @param isAdmin whether the caller may see addresses, and text from other parties.
 */
export function answerTo(error: unknown, isAdmin = false): AnsweredError | undefined {
  if (error instanceof HttpRefusal) return error;
  if (error instanceof ControlPlaneFault) return answerToFault(error, isAdmin);
  if (error instanceof RecordStoreFault) {
    const headers = { 'retry-after': STORE_RETRY_S };
    return {
      ...{ outcome: 'fault', code: 'store-failed', status: 503 },
      ...{ detail: 'The store cannot be reached: try again', headers },
    };
  }
  if (!isFastifyError(error)) return undefined;
  const [violation] = error.validation ?? [];
  if (violation !== undefined) {
    return {
      ...failureOfStatus(422),
      status: 422,
      detail: describeViolation(violation, error.validationContext ?? 'body'),
    };
  }
  const { code, statusCode = 500, message } = error;
  if (statusCode < 400 || statusCode > 499) return undefined;
  return { ...failureOfStatus(statusCode), status: statusCode, detail: wordsForPeople[code] ?? message };
}

function answerToFault(
  { code, standing, message, wordsForAdmins }: ControlPlaneFault,
  isAdmin: boolean,
): AnsweredError {
  const { status, outcome, retryAfterS } = standing;
  return {
    ...{ outcome, code, status },
    detail: isAdmin ? wordsForAdmins : message,
    ...(outcome === 'fault' && { cause: wordsForAdmins }),
    ...(retryAfterS !== undefined && { headers: { 'retry-after': String(retryAfterS) } }),
  };
}

function isFastifyError(error: unknown): error is FastifyError {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('FST_');
}
