// JSON Schemas (2020-12) of the control plane's HTTP interface, for validation and the OpenAPI document. Bounds of names, URLs
// and tags are only documented here: the registry checks them, with better messages.
import { LATEST_LEGACY_VERSION } from '../../mcp/index.js';
import { roles } from '../../config/index.js';
import {
  countSchema,
  exactObject,
  orNull,
  textSchema,
  timeSchema,
  type JsonSchema,
  anyObject,
} from '../common/schema-parts.js';
import { compositionSchemas } from '../compositions/composition.js';
import { serverSchemas } from '../records/server-record.js';
import * as z from 'zod';
import { explanationShape, requestShape, sessionsShape } from '../../shared/index.js';

/** Converts a zod schema into a JSON Schema in the style of this file. */
function schemaOf(shape: z.ZodType): JsonSchema {
  const { $schema: _, ...schema } = z.toJSONSchema(shape, {
    override: ({ jsonSchema }) => {
      delete jsonSchema.propertyNames;
      delete jsonSchema.default;
      // `type` already lists the possible types. `anyOf` is replaced by the members of its object, if it has one.
      if (!Array.isArray(jsonSchema.type)) return;
      const { properties, required } = (jsonSchema.anyOf?.[0] ?? {}) as JsonSchema;
      if (properties !== undefined) Object.assign(jsonSchema, { properties, required });
      delete jsonSchema.anyOf;
    },
  });
  return schema;
}

const jsonRpcMessage = {
  type: 'object',
  properties: { jsonrpc: { const: '2.0' } },
  required: ['jsonrpc'],
  additionalProperties: true,
};
const jsonRpcError = {
  type: 'object',
  properties: { jsonrpc: { const: '2.0' }, error: { type: 'object', required: ['code', 'message'] } },
  required: ['jsonrpc', 'error'],
};
const errorSchema = exactObject({
  detail: { ...textSchema, description: 'What was wrong, for people; names the member at fault.' },
});

export const schemas = {
  ...serverSchemas,
  ...compositionSchemas,
  ConnectionLinkInput: {
    type: 'object',
    properties: {
      probes: {
        type: 'boolean',
        description: 'True: the consent is for the control plane’s own probes of the server, not for the caller.',
      },
    },
    additionalProperties: false,
  },
  SignIn: exactObject({ issuer: orNull(textSchema, 'Its host; null where people sign in with a token alone.') }),
  SignInBeginning: exactObject({ url: { ...textSchema, description: 'To be opened in the same browser.' } }),
  SignInCallback: exactObject({
    query: { ...textSchema, description: 'Query string of the URL to which the issuer sent the browser back.' },
  }),
  SignedIn: exactObject({
    token: textSchema,
    sign_out_url: orNull(textSchema, 'URL that ends the session at the issuer; null if the issuer names none.'),
  }),
  ConnectionLink: exactObject({ url: { ...textSchema, description: 'To be opened in a browser.' } }),
  Disconnection: exactObject({
    revocation: {
      type: 'string',
      enum: ['revoked', 'unoffered', 'failed'],
      description:
        '`revoked`: the consent is withdrawn at the authorization server. `unoffered`: that server has no endpoint for this. `failed`: it could not be reached, or refused. Unless revoked, the user must withdraw it there.',
    },
  }),
  Connection: exactObject({
    server: { ...textSchema, description: 'As it was called when it was connected.' },
    url: textSchema,
    issuer: textSchema,
    scope: textSchema,
    connectedAt: timeSchema,
  }),
  Explanation: schemaOf(explanationShape.extend({ subject: z.string(), virtualHost: z.string(), tool: z.string() })),
  DataplaneSessions: schemaOf(sessionsShape.omit({ next: true })),
  ToldRequest: schemaOf(
    requestShape.extend({
      plane: z.enum(['control-plane', 'dataplane']),
      slot: requestShape.shape.slot
        .meta({ description: 'The slot of the worker that answered, if the dataplane did.' })
        .optional(),
    }),
  ),
  AuditEntry: exactObject(
    {
      at: timeSchema,
      operation: {
        ...textSchema,
        description: 'The `operationId` of the request, or the name of the operation if a command made the change.',
      },
      kind: { type: 'string', enum: ['servers', 'compositions', 'connections', 'user-configs', 'secrets'] },
      subject: { ...textSchema, description: 'Who has made the change.' },
      requestId: textSchema,
      id: { ...textSchema, description: 'Of what was changed.' },
      name: textSchema,
      owner: { ...textSchema, description: 'The owner at the time of the change.' },
      team: textSchema,
      before: {
        ...anyObject,
        description: 'The changed properties before the change; absent if something was created.',
      },
      after: { ...anyObject, description: 'The changed properties after the change; absent if something was removed.' },
      outcome: {
        type: 'string',
        enum: ['unknown'],
        description: 'Present if the store did not confirm whether the change was made.',
      },
      unpublished: {
        ...countSchema,
        description: 'Number of user configs that did not have the change yet when the request was answered.',
      },
      fault: {
        ...textSchema,
        description: 'Why the request failed although the change was made, or may have been made.',
      },
    },
    ['requestId', 'id', 'name', 'owner', 'team', 'before', 'after', 'outcome', 'unpublished', 'fault'],
  ),
  Caller: exactObject({
    subject: textSchema,
    role: { type: ['string', 'null'], enum: [...roles, null], description: 'Null: none.' },
    teams: {
      type: 'array',
      items: textSchema,
      description: 'The caller’s teams: editors may change the records of their teams.',
    },
  }),
  Health: exactObject({ status: { type: 'string', enum: ['healthy', 'unhealthy'] } }),
  Liveness: exactObject({ status: { type: 'string', enum: ['live'] } }),
  Version: exactObject({
    app: exactObject({
      name: textSchema,
      version: textSchema,
      mcpProtocolVersion: { ...textSchema, examples: [LATEST_LEGACY_VERSION] },
    }),
    status: { type: 'string', enum: ['healthy', 'unhealthy'] },
    timestamp: timeSchema,
    uptimeSeconds: { type: 'number', minimum: 0 },
    store: exactObject({ kind: { type: 'string', enum: ['embedded', 'redis'] }, reachable: { type: 'boolean' } }),
    servers: {
      ...exactObject({ total: countSchema, active: countSchema, inactive: countSchema }),
      type: ['object', 'null'],
      description: 'Null while the store cannot be reached.',
    },
    unpublishedChanges: orNull(
      countSchema,
      'Number of changes that are not yet published to everybody, as far as known; null while the store cannot be reached.',
    ),
  }),
  ResourceMetadata: exactObject({
    resource: textSchema,
    authorization_servers: { type: 'array', items: textSchema },
    bearer_methods_supported: { type: 'array', items: textSchema },
  }),
  Error: errorSchema,
  JsonRpcMessages: {
    description: 'One JSON-RPC 2.0 message of MCP; in sessions of 2025-03-26 and before also an array of them.',
    anyOf: [jsonRpcMessage, { type: 'array', items: jsonRpcMessage }],
  },
  McpError: {
    description: 'Errors of MCP itself are JSON-RPC errors; other errors have `detail`.',
    anyOf: [errorSchema, jsonRpcError],
  },
} as const satisfies Record<string, JsonSchema>;

export type SchemaName = keyof typeof schemas;
