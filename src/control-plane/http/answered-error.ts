// Turns the errors of routes into faults, which are answered as `{"detail": …}`. Requests that Node.js cannot parse are answered
// in http-app.ts.
import type { FastifyError, FastifySchemaValidationError } from 'fastify';
import { RecordStoreFault } from '../../store/index.js';
import { ControlPlaneFault, type FaultCode } from '../common/control-plane-fault.js';

/** The most characters of a member's name that an error message repeats: the name may come from the caller. */
const MEMBER_CHARS_MAX = 128;

const TYPES_IN_WORDS: Readonly<Record<string, string>> = {
  string: 'a string',
  array: 'an array',
  object: 'an object',
  boolean: 'true or false',
  integer: 'a whole number',
};

function typeInWords(type: unknown): string {
  return TYPES_IN_WORDS[String(type)] ?? String(type);
}

/** A sentence that names the member at fault. @param part `body` or `querystring`. */
export function describeViolation(violation: FastifySchemaValidationError, part: string): string {
  const { keyword, instancePath, params, message = 'is not valid' } = violation;
  const steps = instancePath.split('/').slice(1);
  // Unescapes the steps of a JSON pointer (RFC 6901 section 4).
  const path = steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  const member = (...names: unknown[]): string => [...path, ...names].join('.').slice(0, MEMBER_CHARS_MAX);
  const subject = member() || `the ${part}`;
  switch (keyword) {
    case 'required':
      return `${member(params['missingProperty'])} is missing`;
    case 'additionalProperties':
      return `${member(params['additionalProperty'])} is not a known member: remove it or correct its name`;
    case 'enum':
      return `${member()} must be one of ${(params['allowedValues'] as readonly unknown[]).join(', ')}`;
    case 'type':
      return `${subject} must be ${[params['type']].flat().map(typeInWords).join(' or ')}`;
    default:
      return `${subject} ${message}`;
  }
}

/** Texts in place of messages that fastify writes for programmers, by fastify's code. */
const MESSAGES: Readonly<Record<string, string>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'Unsupported content type: send application/json',
  FST_ERR_CTP_BODY_TOO_LARGE: 'Request body too large',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'The length of the body differs from content-length',
  FST_ERR_CTP_INVALID_JSON_BODY: 'The body is not JSON',
  FST_ERR_BAD_URL: 'The path is not correctly percent-encoded',
  FST_ERR_MAX_PARAM_LENGTH: 'The path is too long',
};

/** The fault to answer for a route's error; `undefined` for an unexpected error. */
export function faultOf(error: unknown): ControlPlaneFault | undefined {
  if (error instanceof ControlPlaneFault) return error;
  if (error instanceof RecordStoreFault)
    return new ControlPlaneFault('store-failed', 'The store cannot be reached: try again', { why: error.message });
  if (!isFastifyError(error)) return undefined;
  const [violation] = error.validation ?? [];
  if (violation !== undefined)
    return new ControlPlaneFault('invalid', describeViolation(violation, error.validationContext ?? 'body'));
  const { code, statusCode: status = 500, message } = error;
  if (status < 400 || status > 499) return undefined;
  return new ControlPlaneFault(CODES[status] ?? 'invalid', MESSAGES[code] ?? message, { status });
}

const CODES: Readonly<Record<number, FaultCode>> = { 404: 'not-found', 413: 'body-too-large', 414: 'path-too-long' };

function isFastifyError(error: unknown): error is FastifyError {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('FST_');
}
