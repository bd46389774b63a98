// JSON Schemas (2020-12) of the control plane's HTTP interface: requests are validated against them, and the OpenAPI
// document shows them. The bounds of names, URLs and tags are documented here but checked only by the registry, whose
// error messages say more: see `shapeOf`.
import { LATEST_PROTOCOL_VERSION } from '../../protocol/protocol-versions.js';
import { roles } from '../../shared/roles.js';
import { compositionSchemas } from './composition-schemas.js';
import { count, exactly, orNull, text, time, type JsonSchema } from './schema-parts.js';
import { serverSchemas } from './server-schemas.js';
import { viewSchemas } from './view-schemas.js';

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
const error = exactly({ detail: { ...text, description: 'What was wrong, for people; names the member at fault.' } });

export const schemas = {
  ...serverSchemas,
  ...compositionSchemas,
  ConnectionLinkInput: {
    type: 'object',
    properties: {
      probes: {
        type: 'boolean',
        description:
          'In the name of the control plane itself, which probes the server and shows its tools, and not of the caller.',
      },
    },
    additionalProperties: false,
  },
  SignIn: exactly({ issuer: orNull(text, 'Its host; null where people sign in with a token alone.') }),
  SignInBeginning: exactly({ url: { ...text, description: 'To be opened in the same browser.' } }),
  SignInAnswer: exactly({ query: { ...text, description: 'Of the address that the issuer has sent the browser to.' } }),
  SignedIn: exactly({
    token: text,
    sign_out_url: orNull(text, 'Where the session at the issuer is ended; null where it does not say so.'),
  }),
  ConnectionLink: exactly({ url: { ...text, description: 'To be opened in a browser.' } }),
  Disconnection: exactly({
    revocation: {
      type: 'string',
      enum: ['revoked', 'unoffered', 'failed'],
      description:
        'What the authorization server made of it: it is withdrawn there; it names no place for that; or it could not be asked, or refused. Then the user withdraws it there.',
    },
  }),
  Connection: exactly({
    server: { ...text, description: 'As it was called when it was connected.' },
    url: text,
    issuer: text,
    scope: text,
    connectedAt: time,
  }),
  ...viewSchemas,
  Caller: exactly({
    subject: text,
    role: { type: ['string', 'null'], enum: [...roles, null], description: 'Null: none.' },
    teams: { type: 'array', items: text, description: 'Their editors may change what is theirs.' },
  }),
  Health: exactly({ status: { type: 'string', enum: ['healthy', 'unhealthy'] } }),
  Version: exactly({
    app: exactly({ name: text, version: text, mcpProtocolVersion: { ...text, examples: [LATEST_PROTOCOL_VERSION] } }),
    status: { type: 'string', enum: ['healthy', 'unhealthy'] },
    timestamp: time,
    uptimeSeconds: { type: 'number', minimum: 0 },
    store: exactly({ kind: { type: 'string', enum: ['embedded', 'redis'] }, reachable: { type: 'boolean' } }),
    servers: {
      ...exactly({ total: count, active: count, inactive: count }),
      type: ['object', 'null'],
      description: 'Null while the store cannot be reached.',
    },
    unpublishedChanges: orNull(
      count,
      'Changes that the dataplane does not obey for everybody yet, as far as they are counted; null while the store cannot be reached.',
    ),
  }),
  ResourceMetadata: exactly({
    resource: text,
    authorization_servers: { type: 'array', items: text },
    bearer_methods_supported: { type: 'array', items: text },
  }),
  Error: error,
  JsonRpcMessages: {
    description: 'One JSON-RPC 2.0 message of MCP; in sessions of 2025-03-26 and before also an array of them.',
    anyOf: [jsonRpcMessage, { type: 'array', items: jsonRpcMessage }],
  },
  McpError: { description: 'What MCP itself refuses is a JSON-RPC error.', anyOf: [error, jsonRpcError] },
} as const satisfies Record<string, JsonSchema>;

export type SchemaName = keyof typeof schemas;
