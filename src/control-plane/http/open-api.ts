// Generates the OpenAPI 3.1 document from the operations and schemas.
import { PROGRAM_VERSION } from '../../shared/index.js';
import {
  pathParameters,
  roleOf,
  type AnswerDescription,
  type ContentDescription,
  type Operation,
  type RefusalStatus,
} from './operation.js';
import { operations } from './operations.js';
import type { JsonSchema } from '../common/schema-parts.js';
import { schemas } from './schemas.js';

export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components: Readonly<Record<string, unknown>>;
}

const tags = [
  { name: 'servers', description: 'The registry of MCP servers. `{server}` is the name, the id or the slug.' },
  { name: 'connections', description: 'What users have granted the gateway at servers that want their consent.' },
  { name: 'compositions', description: 'Virtual servers of chosen tools. `{composition}` is the id or the name.' },
  { name: 'views', description: 'What happens in the gateway and why, and who has changed what.' },
  {
    name: 'mcp',
    description: 'MCP over streamable HTTP, protocol versions 2025-11-25, 2025-06-18, 2025-03-26 and 2024-11-05.',
  },
  { name: 'status', description: 'For monitors, without a token; and who one is, with it.' },
  { name: 'documentation', description: 'This interface, without a token.' },
] as const satisfies readonly { name: Operation['tag']; description: string }[];

const refusalTexts: Readonly<Record<RefusalStatus | 400 | 401 | 403 | 406 | 413 | 415 | 429 | 500, string>> = {
  400: 'The request is malformed.',
  401: 'The token is missing, invalid or expired.',
  403: 'The host or origin is not allowed; or the role of the token does not suffice, or the record belongs to another team.',
  404: 'There is no such thing.',
  406: 'The caller accepts neither JSON nor event streams.',
  409: 'The name or prefix is taken, a refresh of the same server is running, or the maximum number is reached.',
  412: 'It has been changed since it was read.',
  413: 'The body is too large.',
  415: 'The body is not JSON.',
  422: 'A member is invalid; `detail` names it.',
  429: 'Too many requests of this subject or address.',
  500: 'An error of the control plane; its log tells more.',
  503: 'The store cannot be reached, or there is too much to do.',
};

const refusalHeaders: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  401: { 'www-authenticate': '`Bearer`.' },
  403: { 'www-authenticate': '`Bearer` with `insufficient_scope`, where another role is wanted.' },
  429: { 'retry-after': 'Seconds.' },
  503: { 'retry-after': 'Seconds.' },
};

export function createOpenApiDocument(): OpenApiDocument {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of operations) {
    const item = (paths[operation.path] ??= {});
    item[operation.method.toLowerCase()] = describeOperation(operation);
  }
  const document: OpenApiDocument = {
    openapi: '3.1.0',
    info: {
      title: 'Switchyard control plane',
      version: PROGRAM_VERSION,
      description:
        'Registers MCP servers, watches over them, and composes virtual servers of their tools. Members may also be sent in snake_case.',
    },
    tags,
    paths,
    components: {
      schemas,
      securitySchemes: { token: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
    },
  };
  return JSON.parse(JSON.stringify(document)) as OpenApiDocument;
}

function describeOperation(operation: Operation): Record<string, unknown> {
  const { id, tag, summary, description, isOpen, body, bodyType = 'application/json' } = operation;
  const parameters = describeParameters(operation);
  return {
    ...{ operationId: id, tags: [tag], summary, description },
    parameters: parameters.length === 0 ? undefined : parameters,
    requestBody: body && { required: true, content: describeContents([{ mediaType: bodyType, schema: body }]) },
    responses: describeResponses(operation),
    // In OpenAPI 3.1, the list beside a security scheme names roles, unless the scheme is OAuth's.
    security: isOpen === true ? [] : [{ token: roleOf(operation) === 'any' ? [] : [roleOf(operation)] }],
  };
}

function describeParameters(operation: Operation): unknown[] {
  const { query = {}, requiredQuery = [], headers = {} } = operation;
  const schema = { type: 'string' };
  return [
    ...pathParameters(operation).map((name) => ({ name, in: 'path', required: true, schema })),
    ...Object.entries(query).map(([name, schema]) => {
      return { name, in: 'query', schema, required: requiredQuery.includes(name) || undefined };
    }),
    ...Object.entries(headers).map(([name, { isRequired = false, description }]) => {
      return { name, in: 'header', required: isRequired, description, schema };
    }),
  ];
}

function describeResponses(operation: Operation): Record<string, unknown> {
  const errorSchema = operation.tag === 'mcp' ? 'McpError' : 'Error';
  const refused = refusalsOf(operation).map((status) => {
    const contents: readonly ContentDescription[] = [{ mediaType: 'application/json', schema: errorSchema }];
    return describeResponse({ status, description: refusalTexts[status], contents, headers: refusalHeaders[status] });
  });
  return Object.fromEntries([...refused, ...operation.answers.map(describeResponse)]);
}

/** The statuses of the operation's own refusals, and of the refusals that follow from its other members. */
function refusalsOf(operation: Operation): (keyof typeof refusalTexts)[] {
  const { isOpen, isUncounted, body, query, tag, refusals = [] } = operation;
  const statuses = new Set<keyof typeof refusalTexts>([400, 403, 500, ...refusals]);
  if (isOpen !== true) statuses.add(401).add(503);
  if (isUncounted !== true) statuses.add(429);
  if (body !== undefined) statuses.add(413).add(415);
  if (query !== undefined) statuses.add(422);
  if (tag === 'mcp') statuses.add(406).add(413).add(415);
  return [...statuses];
}

interface DescribedResponse extends Omit<AnswerDescription, 'status' | 'headers'> {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

function describeResponse({ status, description, contents, headers }: DescribedResponse): [string, unknown] {
  const content = contents.length === 0 ? undefined : describeContents(contents);
  return [String(status), { description, headers: headers && describeHeaders(headers), content }];
}

function describeHeaders(headers: Readonly<Record<string, string>>): Record<string, unknown> {
  const schema = { type: 'string' };
  return Object.fromEntries(Object.entries(headers).map(([name, description]) => [name, { description, schema }]));
}

function describeContents(contents: readonly ContentDescription[]): Record<string, unknown> {
  return Object.fromEntries(contents.map((content) => [content.mediaType, { schema: schemaOf(content) }]));
}

function schemaOf({ mediaType, schema, isList }: ContentDescription): JsonSchema {
  if (schema === undefined) return mediaType === 'application/json' ? {} : { type: 'string' };
  const reference = { $ref: `#/components/schemas/${schema}` };
  return isList === true ? { type: 'array', items: reference } : reference;
}
