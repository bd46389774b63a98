// Mounts the routes: one for each operation, which defines its config, schemas and status, and those of MCP, which pass requests on.
import type { FastifyInstance, FastifySchema, FastifySchemaValidationError, RouteOptions } from 'fastify';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { AuditTrail } from '../common/audit.js';
import { ChangeOutcome } from '../common/change.js';
import { ControlPlaneFault } from '../common/control-plane-fault.js';
import { faultOf } from './answered-error.js';
import type { McpEndpoints } from '../mcp/mcp-endpoints.js';
import type { Exposure } from '../../user-config/index.js';
import {
  pathParameters,
  roleOf,
  routePath,
  type Handle,
  type Operation,
  type OperationParts,
  parameterOf,
} from './operation.js';
import { operations } from './operations.js';
import type { JsonSchema } from '../common/schema-parts.js';
import { shapes } from './schemas.js';

/** Has the number of user configs that did not have the change yet when the response was sent. */
const UNPUBLISHED_HEADER = 'switchyard-unpublished';

export interface MountParts extends OperationParts {
  readonly audit: AuditTrail;
  /** The longest that a request waits for the publication of its change. */
  readonly publicationWaitMs: number;
}

// Reads members in snake_case as if they were written in camelCase (specification 3). Only members of this interface:
// nested values, such as a server's own capabilities, are left as they are.

/** @returns anything but an object unchanged. Throws when a member is given in both spellings. */
export function withCamelCaseMembers(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const renamed = new Map<string, unknown>();
  for (const [name, member] of Object.entries(value)) {
    const camelCase = name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    if (renamed.has(camelCase))
      throw new ControlPlaneFault('invalid', `${camelCase} is given twice, also as ${name}: send only one of them`);
    renamed.set(camelCase, member);
  }
  return Object.fromEntries(renamed);
}

export function mountOperation(app: FastifyInstance, operation: Operation, handle: Handle, parts: MountParts): void {
  const status = operation.answers[0]?.status ?? 200;
  app.route({
    ...routeOf(operation),
    preValidation: async (request) => {
      request.body = withCamelCaseMembers(request.body);
    },
    handler: async (request, reply) => {
      const outcome = new ChangeOutcome(parts.publicationWaitMs);
      let fault = '';
      try {
        const change = { outcome, ifMatch: request.headers['if-match'], caller: request.caller };
        const body = await handle(parts, request, reply.code(status), change);
        // The request has stopped waiting for the publication.
        if (outcome.unpublished > 0) reply.code(202).header(UNPUBLISHED_HEADER, String(outcome.unpublished));
        return body;
      } catch (error) {
        fault = faultOf(error)?.code ?? 'internal-error';
        throw error;
      } finally {
        // A change that was made, or may have been, is audited even if the request failed.
        if (operation.isAudited === true)
          parts.audit.write(
            {
              ...{ operation: operation.id, kind: operation.tag, requestId: request.id, subject: request.subject },
              ...{ fault, unpublished: fault === '' ? outcome.unpublished : 0 },
            },
            outcome,
          );
      }
    },
  });
}

function routeOf(operation: Operation): Pick<RouteOptions, 'method' | 'url' | 'schema' | 'config'> {
  const { method, isOpen = false, isUncounted = false } = operation;
  const config = { isOpen, isUncounted, role: roleOf(operation) };
  return { method, url: routePath(operation), schema: requestSchema(operation), config };
}

function requestSchema({ query, requiredQuery = [], body }: Operation): FastifySchema {
  return {
    ...(query === undefined ? {} : { querystring: { type: 'object', properties: query, required: requiredQuery } }),
    ...(body === undefined ? {} : { body: shapes[body] }),
  };
}

/**
 * Validation stops at the first fault of a request, which may have a million. Strings of a query become numbers where its
 * schema requires them; values of a body are not converted. A schema is compiled when the first request needs it: compiling all
 * of them would take a fifth of the start.
 */
export function compileValidators(app: FastifyInstance): void {
  const bodies = new Ajv2020({ allowUnionTypes: true });
  const queries = new Ajv2020({ coerceTypes: true });
  app.setValidatorCompiler<JsonSchema>(({ schema, httpPart }) => {
    const ajv = httpPart === 'body' ? bodies : queries;
    let compiled: ValidateFunction | undefined;
    const validate = (value: unknown): boolean => {
      compiled ??= ajv.compile(schema);
      const isValid = compiled(value);
      validate.errors = compiled.errors ?? null;
      return isValid;
    };
    validate.errors = null as FastifySchemaValidationError[] | null;
    return validate;
  });
}

export type ServedMcp = Pick<McpEndpoints, 'handleAggregate' | 'handleComposition'>;

/** These routes pass Node's own request and response, with the body unread, to the relay once the caller is known. */
export async function mountMcpRoutes(app: FastifyInstance, mcp: ServedMcp): Promise<void> {
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _body, done) => done(null));
    for (const { body: _unread, ...operation } of operations.filter(({ tag }) => tag === 'mcp')) {
      const isComposition = pathParameters(operation).length > 0;
      scope.route({
        ...routeOf(operation),
        exposeHeadRoute: false,
        handler: async (request, reply) => {
          reply.hijack();
          request.isRelayed = true;
          const { subject, raw, id, query } = request;
          const { exposure } = query as { readonly exposure?: Exposure };
          if (!isComposition) mcp.handleAggregate(subject, raw, reply.raw, id, exposure);
          else mcp.handleComposition(parameterOf(request, 'composition'), subject, raw, reply.raw, id);
        },
      });
    }
  });
}
