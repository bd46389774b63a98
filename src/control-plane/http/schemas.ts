// The shapes of what goes over the control plane's HTTP interface, as JSON Schema (2020-12): requests are checked with
// them, and the OpenAPI document shows them. How long a name, a URL or a tag may be is told here, and judged by the
// registry alone, so that a fault is told in its words: see `shapeOf`.
import { limits } from '../../shared/limits.js';
import {
  anyObject,
  count,
  exactly,
  id,
  orNull,
  text,
  time,
  type JsonSchema,
  type ObjectSchema,
} from './schema-parts.js';
import { viewSchemas } from './view-schemas.js';
import { roles } from '../../shared/roles.js';
import { LATEST_PROTOCOL_VERSION } from '../../protocol/protocol-versions.js';

export type { JsonSchema } from './schema-parts.js';

/** What people say, and for the rest of a record's members that they may come back and count for nothing. */
function inputOf(
  record: ObjectSchema,
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[],
): ObjectSchema {
  const others = Object.keys(record.properties).filter((name) => !Object.hasOwn(properties, name));
  const ignored = Object.fromEntries(others.map((name) => [name, { readOnly: true }]));
  return { type: 'object', properties: { ...properties, ...ignored }, required, additionalProperties: false };
}

/** A merge patch of it (RFC 7396): any of its members, or null; what an object of them has is judged when it is put together. */
function patchOf(input: ObjectSchema): ObjectSchema {
  const properties = Object.entries(input.properties).map(([name, schema]): [string, JsonSchema] => {
    if (schema['readOnly'] === true) return [name, schema];
    const types = [schema['type']].flat().filter((type) => type !== 'null');
    if (types.includes('object')) return [name, { type: ['null', 'object'], additionalProperties: true }];
    const choices = schema['enum'] as readonly unknown[] | undefined;
    return [name, { ...schema, type: ['null', ...types], ...(choices && { enum: [null, ...choices] }) }];
  });
  return { type: 'object', properties: Object.fromEntries(properties), additionalProperties: false };
}

/** Keywords that say more than what kind of thing a value is. */
const BOUNDS: ReadonlySet<string> = new Set(['minLength', 'maxLength', 'pattern', 'minItems', 'maxItems']);

/** The schema without its bounds. */
export function shapeOf(schema: JsonSchema): JsonSchema {
  return withoutBounds(schema) as JsonSchema;
}

/** @param areNames whether the members' names are of a record's making, not keywords. */
function withoutBounds(value: unknown, areNames = false): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutBounds(item));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([name]) => areNames || !BOUNDS.has(name));
  return Object.fromEntries(
    kept.map(([name, member]) => [name, withoutBounds(member, !areNames && name === 'properties')]),
  );
}

const status = { type: 'string', enum: ['active', 'inactive'] };
const name = { ...text, minLength: 1, maxLength: limits.serverNameCharsMax, pattern: '^[A-Za-z0-9_.\\- ]+$' };
const description = { ...text, maxLength: limits.serverDescriptionCharsMax };

/** Judged by those who read it, in words that say more. */
const curation = {
  type: 'object',
  properties: { prefix: text, tools: anyObject, prompts: anyObject },
  additionalProperties: false,
};

const secretReference = {
  oneOf: [
    exactly({
      file: { ...text, description: 'The name of a file in `--secrets-directory`; what is in it is the value.' },
    }),
    exactly({
      secret: { ...text, description: 'The name of a secret in the store, as `switchyard secrets` keeps them.' },
    }),
  ],
};

/** Whose members are there is decided by `type`: see `serverSaid.auth`. */
const headersAuth = {
  properties: {
    type: text,
    headers: {
      type: 'object',
      additionalProperties: secretReference,
      description: 'Header name → where its value is.',
    },
  },
  required: ['headers'],
  additionalProperties: false,
};

const clientCredentialsAuth = {
  properties: {
    type: text,
    token_endpoint: { ...text, description: 'Of the authorization server.' },
    client_id: text,
    client_secret: secretReference,
    client_authentication: {
      ...text,
      enum: ['basic', 'post'],
      description: 'How the client shows its secret: `basic` unless said.',
    },
    scope: text,
    resource: text,
    audience: text,
  },
  required: ['token_endpoint', 'client_id', 'client_secret'],
  additionalProperties: false,
};

const userAuth = {
  properties: {
    type: text,
    issuer: { ...text, description: 'The authorization server; the one that the server names, unless said.' },
    client_id: { ...text, description: 'With that issuer; the gateway registers itself there, unless said.' },
    client_secret: secretReference,
    client_authentication: { ...text, enum: ['basic', 'post'] },
    scope: text,
    resource: text,
  },
  additionalProperties: false,
};

const team = {
  type: ['null', 'string'],
  description:
    'The team that it belongs to: its editors may change it, and so may its owner. Left out of a new one: the only team of the caller. Null: none.',
};
const owner = { ...text, description: 'The subject that made it. There where roles are taken from tokens.' };

const serverSaid = {
  name: {
    ...name,
    description: 'Letters, digits, `_`, `.`, `-` and space, 64 at most. Unique without regard to case.',
  },
  url: {
    ...text,
    minLength: 1,
    maxLength: limits.serverUrlCharsMax,
    description: 'The MCP endpoint, http or https, without credentials. Link-local and metadata addresses are refused.',
  },
  description,
  tags: {
    type: 'array',
    maxItems: limits.serverTagsMax,
    items: { ...text, minLength: 1, maxLength: limits.serverTagCharsMax, pattern: '^[^,]+$' },
  },
  transport: {
    type: 'string',
    enum: ['STREAMABLEHTTP', 'SSE'],
    description: 'How the server is spoken to. SSE is the older transport, whose URL is that of its event stream.',
  },
  enabled: { type: 'boolean', description: 'False takes the server out of service, whatever its status.' },
  auth: {
    type: ['null', 'object'],
    required: ['type'],
    properties: { type: { type: 'string', enum: ['headers', 'oauth2-client-credentials', 'oauth2-user'] } },
    if: { properties: { type: { const: 'headers' } } },
    then: headersAuth,
    else: {
      if: { properties: { type: { const: 'oauth2-user' } } },
      then: userAuth,
      else: clientCredentialsAuth,
    },
    description: 'What the server wants to see before it answers. Secrets are named, never given. Null takes it away.',
  },
  curation: {
    ...curation,
    type: ['null', 'object'],
    description:
      'Another prefix, and other names, descriptions and arguments of tools and prompts, for everybody who uses the server: as a backend in a user config has them. Null takes it away.',
  },
  team,
};

/** Of a server that an earlier version has read last the counts are not known. */
const OPTIONAL_OF_SERVER = [
  'era',
  'eras',
  'promptCount',
  'resourceCount',
  'templateCount',
  'auth',
  'curation',
  'owner',
  'team',
];

const server = exactly(
  {
    id,
    ...serverSaid,
    owner,
    slug: { ...text, description: 'The name in the form of a path segment.' },
    status,
    reachable: { type: 'boolean', description: 'Whether the last probe reached it.' },
    toolCount: count,
    promptCount: count,
    resourceCount: count,
    templateCount: { ...count, description: 'Templates of resources.' },
    era: {
      type: 'string',
      enum: ['legacy', 'modern'],
      description:
        'How it was spoken to when it was last reached: in a session of MCP 2025-11-25 or before (`legacy`), or without one, as of 2026-07-28 (`modern`). One that speaks both is spoken to in a session.',
    },
    eras: {
      type: 'array',
      items: { type: 'string', enum: ['legacy', 'modern'] },
      description: 'All that it was found to speak then.',
    },
    capabilities: { ...anyObject, description: 'What the server declared when it was last reached.' },
    serverInfo: orNull(anyObject, 'Who the server said it is; null when it was never reached.'),
    createdAt: time,
    updatedAt: time,
    lastSeen: orNull(time, 'When a probe last reached it.'),
    lastRefreshAt: orNull(time, 'When its lists were last read.'),
    lastError: orNull(text, 'Why the last probe failed.'),
  },
  OPTIONAL_OF_SERVER,
);

const composedServer = exactly(
  {
    name: { ...text, description: 'Of a registered server.' },
    tools: {
      type: ['array', 'string'],
      items: { ...text, minLength: 1 },
      description:
        'As the server names them, without a prefix. A `*` stands for any characters; `*` alone, in a list or not, for all tools. Patterns are resolved when the composition is published, and again when the server has other tools. At least one, unless there are prompts or resources.',
    },
    prompts: {
      type: 'array',
      items: { ...text, minLength: 1, pattern: '^[^*]+$' },
      description: 'The same of prompts. Left out: none.',
    },
    resources: {
      type: 'array',
      items: { ...text, minLength: 1 },
      description: 'Names or URIs of resources, names or texts of templates. Left out: none.',
    },
    curation: {
      ...curation,
      description: 'The same as of a server, for this composition: in its place, member by member.',
    },
  },
  ['prompts', 'resources', 'curation'],
);

const compositionSaid = {
  name: { ...name, description: 'Unique without regard to case.' },
  description,
  servers: { type: 'array', items: composedServer },
  exposure: {
    type: 'string',
    enum: ['all', 'search'],
    description:
      'What its `tools/list` shows: all of its tools, or find_tools and call_tool alone, with which programs find and call the others. Left out of a new composition, or of what is read: all.',
  },
  subjects: {
    type: 'array',
    maxItems: limits.compositionSubjectsMax,
    items: { ...text, minLength: 1, maxLength: limits.storeKeyBytesMax },
    description: 'Who may use it. Left out of a new composition: the caller.',
  },
  team,
};

const composition = exactly(
  {
    id: { ...id, description: 'The id of the virtual host on the dataplane, too.' },
    ...compositionSaid,
    owner,
    createdAt: time,
    updatedAt: time,
    missingTools: {
      type: 'array',
      items: exactly({ server: text, tool: text }),
      description: 'Tools that it names and cannot serve now.',
    },
  },
  ['exposure', 'owner', 'team'],
);

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

const { id: _, ...unregistered } = server.properties;
const previewed = exactly(unregistered, OPTIONAL_OF_SERVER);
const tool = {
  type: 'object',
  description: 'As the server told it, with every member.',
  properties: { name: text, description: text, inputSchema: {} },
  required: ['name'],
  additionalProperties: true,
};

/** The same of what else servers list. @param key what it is known by. */
function listed(key: string): JsonSchema {
  const { description, type, additionalProperties } = tool;
  return { type, description, properties: { [key]: text }, required: [key], additionalProperties };
}

const serverInput = inputOf(server, serverSaid, ['name', 'url']);
const compositionInput = inputOf(composition, compositionSaid, ['name', 'servers']);

export const schemas = {
  Server: server,
  ServerInput: serverInput,
  ServerPatch: patchOf(serverInput),
  ServerPreview: exactly({ server: previewed, tools: { type: 'array', items: tool } }),
  Tool: tool,
  Prompt: listed('name'),
  Resource: listed('uri'),
  ResourceTemplate: listed('uriTemplate'),
  RefreshReport: exactly(
    {
      status,
      toolsAdded: count,
      toolsUpdated: count,
      toolsRemoved: count,
      promptsAdded: count,
      promptsUpdated: count,
      promptsRemoved: count,
      resourcesAdded: count,
      resourcesUpdated: count,
      resourcesRemoved: count,
      templatesAdded: count,
      templatesUpdated: count,
      templatesRemoved: count,
      durationMs: { type: 'number', minimum: 0 },
      refreshedAt: time,
      error: { ...text, description: 'Why the server could not be read.' },
    },
    ['error'],
  ),
  Composition: composition,
  CompositionInput: compositionInput,
  CompositionPatch: patchOf(compositionInput),
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
  ConnectionLink: exactly({ url: { ...text, description: 'To be opened in a browser.' } }),
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
