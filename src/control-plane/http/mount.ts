// Mounts a route for each operation. The routes of MCP pass requests on to the relay.
import type { FastifyInstance, FastifySchemaValidationError, RouteOptions } from 'fastify';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { AuditTrail } from '../common/audit.js';
import { ChangeOutcome } from '../common/change.js';
import { ControlPlaneFault } from '../common/control-plane-fault.js';
import { faultOf } from './answered-error.js';
import type { McpEndpoints } from '../mcp/mcp-endpoints.js';
import type { Exposure } from '../../user-config/index.js';
import { roleOf, routePath, type Handle, type Operation, type OperationParts } from './operation.js';
import { operations } from './operations.js';
import type { JsonSchema } from '../common/schema-parts.js';
import { schemas } from './schemas.js';

export interface MountParts extends OperationParts {
  readonly audit: AuditTrail;
  /** How long a request waits for the publication of its change, at most. */
  readonly publicationWaitMs: number;
}

/**
 * Reads members in snake_case as if they were in camelCase (specification 3). Nested values, such as a server's capabilities,
 * stay as they are. Throws if a member is given in both spellings.
 */
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
        // The answer does not wait for the rest of the publication.
        if (outcome.unpublished > 0) reply.code(202).header('switchyard-unpublished', String(outcome.unpublished));
        return body;
      } catch (error) {
        fault = faultOf(error)?.code ?? 'internal-error';
        throw error;
      } finally {
        // A change is audited even if the request failed.
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
  const { method, isOpen = false, isUncounted = false, query, requiredQuery = [], body } = operation;
  const schema = {
    ...(query && { querystring: { type: 'object', properties: query, required: requiredQuery } }),
    ...(body && { body: schemas[body] }),
  };
  return { method, url: routePath(operation), schema, config: { isOpen, isUncounted, role: roleOf(operation) } };
}

/** Keywords that bound a value beyond its type. In bodies, they are for documentation: handlers check bounds, with better messages. */
const BOUND_KEYWORDS = ['minLength', 'maxLength', 'pattern', 'minItems', 'maxItems'];

/**
 * Sets how fastify validates. Validation stops at the first fault: a request may have a million. Texts in a query are converted to
 * numbers where needed; values in a body are not. Schemas are compiled when first needed, and a test checks them in place of the library:
 * all would take a fifth of the start, and the library's check 50 to 200 ms of the event loop.
 */
export function setValidators(app: FastifyInstance): void {
  const bodies = new Ajv2020({ allowUnionTypes: true, validateSchema: false });
  for (const keyword of BOUND_KEYWORDS) bodies.removeKeyword(keyword);
  bodies.addVocabulary(BOUND_KEYWORDS);
  const queries = new Ajv2020({ coerceTypes: true, validateSchema: false });
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

export type ServedMcp = Pick<McpEndpoints, 'handle'>;

/** These routes pass Node.js's request and response to the relay once the caller is known, with the body unread. */
export async function mountMcpRoutes(app: FastifyInstance, mcp: ServedMcp): Promise<void> {
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _body, done) => done(null));
    for (const { body: _unread, ...operation } of operations.filter(({ tag }) => tag === 'mcp')) {
      scope.route({
        ...routeOf(operation),
        exposeHeadRoute: false,
        handler: async (request, reply) => {
          reply.hijack();
          request.isRelayed = true;
          const { subject, raw, id: requestId } = request;
          const { exposure } = request.query as { readonly exposure?: Exposure };
          const { composition } = request.params as { readonly composition?: string };
          mcp.handle({ subject, requestId, composition, exposure }, raw, reply.raw);
        },
      });
    }
  });
}
