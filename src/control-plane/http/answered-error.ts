// The one place that turns errors into answers: `{"detail": …}`, for people, naming the member at fault.
import type { FastifyError } from 'fastify';
import { RecordStoreFault } from '../../store/record-store.js';
import { CompositionFault } from '../compositions/composition-fault.js';
import { RegistryFault } from '../registry/registry-fault.js';
import { describeViolation } from './violation.js';

export interface AnsweredError {
  readonly status: number;
  readonly detail: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A refusal of the HTTP layer's own. */
export class Refused extends Error implements AnsweredError {
  override readonly name = 'Refused';
  readonly status: number;
  readonly detail: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, detail: string, headers: Readonly<Record<string, string>> = {}) {
    super(detail);
    this.status = status;
    this.detail = detail;
    this.headers = headers;
  }
}

const STORE_RETRY_S = '2';

const statusOfFault: Readonly<Record<RegistryFault['code'] | CompositionFault['code'], number>> = {
  'not-found': 404,
  'name-taken': 409,
  'refresh-running': 409,
  'registry-full': 409,
  'compositions-full': 409,
  invalid: 422,
};

/** What fastify says of requests in words for programmers. */
const wordsForPeople: Readonly<Record<string, string>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'Unsupported content type: send application/json',
  FST_ERR_CTP_BODY_TOO_LARGE: 'Request body too large',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'The body is not as long as content-length says',
  FST_ERR_CTP_INVALID_JSON_BODY: 'The body is not JSON',
  FST_ERR_BAD_URL: 'The path is not percent-encoded as it should be',
  FST_ERR_MAX_PARAM_LENGTH: 'The path is too long',
};

/** `undefined` for an error that nobody expected: it is our own fault, and for the log. */
export function answerTo(error: unknown): AnsweredError | undefined {
  if (error instanceof Refused) return error;
  if (error instanceof RegistryFault || error instanceof CompositionFault) {
    return { status: statusOfFault[error.code], detail: error.message };
  }
  if (error instanceof RecordStoreFault) {
    return { status: 503, detail: 'The store cannot be reached: try again', headers: { 'retry-after': STORE_RETRY_S } };
  }
  if (!isFastifyError(error)) return undefined;
  const [violation] = error.validation ?? [];
  if (violation !== undefined) {
    return { status: 422, detail: describeViolation(violation, error.validationContext ?? 'body') };
  }
  const { code, statusCode = 500, message } = error;
  if (statusCode < 400 || statusCode > 499) return undefined;
  return { status: statusCode, detail: wordsForPeople[code] ?? message };
}

function isFastifyError(error: unknown): error is FastifyError {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('FST_');
}
