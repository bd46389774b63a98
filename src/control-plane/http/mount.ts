// Mounts a route for an operation, which defines its config, schemas and status.
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { ChangeNote, type AuditedRequest } from '../common/audit.js';
import { answerTo, HttpRefusal } from './answered-error.js';
import { roleOf, routePath, type Operation } from './operation.js';
import { shapeOf, type JsonSchema } from './schema-parts.js';
import { schemas } from './schemas.js';
import { ChangeCondition } from '../common/change-condition.js';
import type { PublicationWait } from '../compositions/publication-wait.js';

// Parts common to all changes: the `If-Match` condition, and the response when the request stops waiting for the
// publication: 202, with the number of user configs that are left.

/** User configs that did not have the change yet when the response was sent. */
const UNPUBLISHED_HEADER = 'switchyard-unpublished';

export function tellUnpublished(reply: FastifyReply, { left }: PublicationWait): void {
  if (left > 0) reply.code(202).header(UNPUBLISHED_HEADER, String(left));
}

export function conditionOf({ headers }: FastifyRequest): ChangeCondition {
  return ChangeCondition.of(headers['if-match']);
}

/** Whether tools that their server does not have may be named. */
export function isForced({ query }: FastifyRequest): boolean {
  return (query as { readonly force?: boolean }).force === true;
}

// Reads members in snake_case as if they were written in camelCase (decisions 3). Only members of this interface:
// nested values, such as a server's own capabilities, are left as they are.

/** @returns anything but an object unchanged. Throws when a member is given in both spellings. */
export function withCamelCaseMembers(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const renamed = new Map<string, unknown>();
  for (const [name, member] of Object.entries(value)) {
    const camelCase = name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    if (renamed.has(camelCase))
      throw new HttpRefusal(422, `${camelCase} is given twice, also as ${name}: send only one of them`);
    renamed.set(camelCase, member);
  }
  return Object.fromEntries(renamed);
}

/**
 * Resolves with the response body. The status is that of the operation's first answer unless the handler sets another.
 * @param note where an audited operation records its change.
 */
type OperationHandler = (request: FastifyRequest, reply: FastifyReply, note: ChangeNote) => Promise<unknown>;

export function mount(app: FastifyInstance, operation: Operation, handler: OperationHandler): void {
  const status = operation.answers[0]?.status ?? 200;
  app.route({
    method: operation.method,
    url: routePath(operation),
    schema: requestSchema(operation),
    config: {
      isOpen: operation.isOpen === true,
      isUncounted: operation.isUncounted === true,
      role: roleOf(operation),
    },
    preValidation: async (request) => {
      request.body = withCamelCaseMembers(request.body);
    },
    handler: async (request, reply) => {
      const note = new ChangeNote();
      let fault = '';
      try {
        return await handler(request, reply.code(status), note);
      } catch (error) {
        fault = answerTo(error)?.code ?? 'internal-error';
        throw error;
      } finally {
        // A change that was made, or may have been, is audited whatever the outcome of the request.
        if (operation.isAudited === true) app.audit.write(auditedRequest(operation, request, reply, fault), note);
      }
    },
  });
}

function auditedRequest(
  operation: Operation,
  request: FastifyRequest,
  reply: FastifyReply,
  fault: string,
): AuditedRequest {
  const unpublished = Number(reply.getHeader(UNPUBLISHED_HEADER) ?? 0);
  return {
    operation: operation.id,
    kind: operation.tag,
    requestId: request.id,
    subject: request.subject,
    fault,
    unpublished,
  };
}

function requestSchema({ query, requiredQuery = [], body }: Operation): FastifySchema {
  return {
    ...(query === undefined ? {} : { querystring: { type: 'object', properties: query, required: requiredQuery } }),
    ...(body === undefined ? {} : { body: shapeOf(schemas[body]) }),
  };
}

/**
 * Validation stops at the first fault of a request: there may be a million. Strings of a query become numbers where its
 * schema requires them; a body is taken as it is. A schema is compiled when the first request needs it: compiling all
 * of them would take a fifth of the start.
 */
export function compileValidators(app: FastifyInstance): void {
  const bodies = new Ajv2020({ allowUnionTypes: true });
  const queries = new Ajv2020({ coerceTypes: true });
  app.setValidatorCompiler<JsonSchema>(({ schema, httpPart }) => {
    const ajv = httpPart === 'body' ? bodies : queries;
    let validate: ValidateFunction | undefined;
    return (value) => {
      validate ??= ajv.compile(schema);
      return validate(value) || { error: validate.errors ?? [] };
    };
  });
}
