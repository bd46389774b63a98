// Describes what violates a request's schema, in a sentence that names the member.
import type { FastifySchemaValidationError } from 'fastify';

/** The name of a member may come from the caller: no more of it is repeated than this. */
const MEMBER_CHARS_MAX = 128;

/** @param part of the request that is at fault, such as `body` or `querystring`. */
export function describeViolation(violation: FastifySchemaValidationError, part: string): string {
  const { keyword, instancePath, params, message = 'is not valid' } = violation;
  const path = instancePath
    .slice(1)
    .split('/')
    .filter((step) => step !== '')
    .map(unescape);
  const member = (name?: unknown): string =>
    [...path, ...(typeof name === 'string' ? [name] : [])].join('.').slice(0, MEMBER_CHARS_MAX);
  switch (keyword) {
    case 'required':
      return `${member(params['missingProperty'])} is missing`;
    case 'additionalProperties':
      return `${member(params['additionalProperty'])} is not a known member: remove it or correct its name`;
    case 'enum':
      return `${member()} must be one of ${listOf(params['allowedValues'])}`;
    case 'type':
      return `${member() || nameOf(part)} must be ${withArticle(params['type'])}`;
    default:
      return `${member() || nameOf(part)} ${message}`;
  }
}

function nameOf(part: string): string {
  return part === 'body' ? 'the body' : `the ${part}`;
}

function listOf(values: unknown): string {
  return Array.isArray(values) ? values.join(', ') : String(values);
}

function withArticle(type: unknown): string {
  const words: Readonly<Record<string, string>> = {
    string: 'a string',
    array: 'an array',
    object: 'an object',
    boolean: 'true or false',
    integer: 'a whole number',
  };
  return words[String(type)] ?? String(type);
}

/** RFC 6901 section 4. */
function unescape(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~');
}
