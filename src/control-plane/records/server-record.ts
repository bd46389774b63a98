// A registered server as plain data (specification 3), and its schemas: the input that people send, the record, the server's
// lists, its health history, and the report of a refresh.
import { limits } from '../../shared/index.js';
import type { BackendAuth } from '../../user-config/index.js';
import type { WrittenCuration } from '../common/curation.js';
import {
  anyObject,
  countSchema,
  curationJsonSchema,
  descriptionSchema,
  exactObject,
  type FromSchema,
  idSchema,
  inputSchemaOf,
  type JsonSchema,
  nameSchema,
  orNull,
  ownerSchema,
  patchSchemaOf,
  teamSchema,
  textSchema,
  timeSchema,
} from '../common/schema-parts.js';
import { createHash } from 'node:crypto';

const secretReferenceSchema = {
  oneOf: [
    exactObject({
      file: { ...textSchema, description: 'The name of a file in `--secrets-directory`; what is in it is the value.' },
    }),
    exactObject({
      secret: { ...textSchema, description: 'The name of a secret in the store, as `switchyard secrets` keeps them.' },
    }),
  ],
};

const resourceSchema = {
  type: ['string', 'boolean'],
  not: { const: true },
  description: 'The resource indicator (RFC 8707) to request. `false`: none, for authorization servers that refuse it.',
};

/** The schema of `auth` for one `type`. @param members its members besides `type`. */
function authSchemaOf(members: Readonly<Record<string, JsonSchema>>, required?: readonly string[]) {
  return { properties: { type: textSchema, ...members }, ...(required && { required }), additionalProperties: false };
}

const headersSchema = { type: 'object', additionalProperties: secretReferenceSchema };
const headersAuth = authSchemaOf({ headers: { ...headersSchema, description: 'Header name → where its value is.' } }, [
  'headers',
]);

const clientAuthenticationSchema = {
  ...{ ...textSchema, enum: ['basic', 'post'] },
  description: 'How the client shows its secret: `basic` unless said.',
};
const requestedProperties = { scope: textSchema, resource: resourceSchema };

const clientCredentialsAuth = authSchemaOf(
  {
    token_endpoint: { ...textSchema, description: 'Of the authorization server.' },
    client_id: textSchema,
    client_secret: secretReferenceSchema,
    client_authentication: clientAuthenticationSchema,
    ...requestedProperties,
    audience: textSchema,
  },
  ['token_endpoint', 'client_id', 'client_secret'],
);

const userAuth = authSchemaOf({
  issuer: { ...textSchema, description: 'The authorization server. If left out, the one that the server names.' },
  client_id: {
    ...textSchema,
    description: 'The gateway’s client id at `issuer`. If left out, the gateway registers itself.',
  },
  client_secret: secretReferenceSchema,
  client_authentication: clientAuthenticationSchema,
  ...requestedProperties,
});

const authSchema = {
  type: ['null', 'object'],
  required: ['type'],
  properties: { type: { type: 'string', enum: ['headers', 'oauth2-client-credentials', 'oauth2-user'] } },
  if: { properties: { type: { const: 'headers' } } },
  then: headersAuth,
  else: { if: { properties: { type: { const: 'oauth2-user' } } }, then: userAuth, else: clientCredentialsAuth },
  description:
    'The credentials that the server requires. Secrets are referred to by name, never given here. Null removes `auth`.',
};

const statusSchema = { type: 'string', enum: ['active', 'inactive'] } as const;
const era = { type: 'string', enum: ['legacy', 'modern'] } as const;

const settableProperties = {
  name: {
    ...nameSchema,
    description: 'Letters, digits, `_`, `.`, `-` and space, 64 at most. Unique without regard to case.',
  },
  url: {
    ...textSchema,
    minLength: 1,
    maxLength: limits.serverUrlCharsMax,
    description: 'The MCP endpoint, http or https, without credentials. Link-local and metadata addresses are refused.',
  },
  description: descriptionSchema,
  tags: {
    type: 'array',
    maxItems: limits.serverTagsMax,
    items: { ...textSchema, minLength: 1, maxLength: limits.serverNameCharsMax, pattern: '^[^,]+$' },
  },
  transport: {
    type: 'string',
    enum: ['STREAMABLEHTTP', 'SSE'],
    description: 'How the server is spoken to. SSE is the older transport, whose URL is that of its event stream.',
  },
  enabled: { type: 'boolean', description: 'False takes the server out of service, whatever its status.' },
  auth: authSchema,
  curation: {
    ...curationJsonSchema,
    type: ['null', 'object'],
    description:
      'Another prefix, and other names, descriptions and arguments of tools and prompts, for everybody who uses the server; the format is that of a backend in a user config. Null removes the curation.',
  },
  team: teamSchema,
} as const;

/** Members that a record may lack. It lacks counts if an earlier version of this program was the last to read the server. */
const OPTIONAL_SERVER_MEMBERS = [
  'era',
  'eras',
  'promptCount',
  'resourceCount',
  'templateCount',
  'auth',
  'curation',
  'owner',
  'team',
] as const;

const serverSchema = exactObject(
  {
    id: idSchema,
    ...settableProperties,
    owner: ownerSchema,
    slug: { ...textSchema, description: 'The name in the form of a path segment.' },
    status: statusSchema,
    reachable: { type: 'boolean', description: 'Whether the last probe reached it.' },
    toolCount: countSchema,
    promptCount: countSchema,
    resourceCount: countSchema,
    templateCount: { ...countSchema, description: 'Templates of resources.' },
    era: {
      ...era,
      description:
        'How it was spoken to when it was last reached: in a session of MCP 2025-11-25 or before (`legacy`), or without one, as of 2026-07-28 (`modern`). One that speaks both is spoken to in a session.',
    },
    eras: { type: 'array', items: era, description: 'All eras that the server supported when it was last reached.' },
    capabilities: { ...anyObject, description: 'What the server declared when it was last reached.' },
    serverInfo: orNull(anyObject, 'Who the server said it is; null when it was never reached.'),
    createdAt: timeSchema,
    updatedAt: timeSchema,
    lastSeen: orNull(timeSchema, 'When a probe last reached it.'),
    lastRefreshAt: orNull(timeSchema, 'When its lists were last read.'),
    lastError: orNull(textSchema, 'Why the last probe failed.'),
  },
  OPTIONAL_SERVER_MEMBERS,
);

const { id: _, ...unregisteredProperties } = serverSchema.properties;
const previewedServerSchema = exactObject(unregisteredProperties, OPTIONAL_SERVER_MEMBERS);
const toolSchema = {
  type: 'object',
  description: 'As the server told it, with every member.',
  properties: { name: textSchema, description: textSchema, inputSchema: {} },
  required: ['name'],
  additionalProperties: true,
};

/** @param key the member that identifies an item. */
function itemSchema(key: string): JsonSchema {
  const { description, type, additionalProperties } = toolSchema;
  return { type, description, properties: { [key]: textSchema }, required: [key], additionalProperties };
}

const serverInputSchema = inputSchemaOf(serverSchema, settableProperties, ['name', 'url']);

export const LIST_NAMES = ['tools', 'prompts', 'resources', 'templates'] as const;

export type ListName = (typeof LIST_NAMES)[number];

const COUNT_NAMES = LIST_NAMES.flatMap((list) => ['Added', 'Updated', 'Removed'].map((change) => list + change));

const healthEntrySchema = exactObject({
  at: { ...timeSchema, description: 'Since when.' },
  status: statusSchema,
  reachable: { type: 'boolean', description: 'Whether the probe reached it.' },
  error: orNull(textSchema, 'Why the probe failed.'),
});

const refreshReportSchema = exactObject(
  {
    status: statusSchema,
    ...(Object.fromEntries(COUNT_NAMES.map((name) => [name, countSchema])) as Record<
      keyof ReportedCounts,
      typeof countSchema
    >),
    durationMs: { type: 'number', minimum: 0 },
    refreshedAt: timeSchema,
    error: { ...textSchema, description: 'Why the server could not be read.' },
  },
  ['error'],
);

export const serverSchemas = {
  Server: serverSchema,
  ServerInput: serverInputSchema,
  ServerPatch: patchSchemaOf(serverInputSchema),
  ServerPreview: exactObject({ server: previewedServerSchema, tools: { type: 'array', items: toolSchema } }),
  HealthEntry: healthEntrySchema,
  Tool: toolSchema,
  Prompt: itemSchema('name'),
  Resource: itemSchema('uri'),
  ResourceTemplate: itemSchema('uriTemplate'),
  RefreshReport: refreshReportSchema,
} as const satisfies Record<string, JsonSchema>;

export type ServerStatus = FromSchema<typeof statusSchema>;
export type ServerTransport = FromSchema<typeof settableProperties.transport>;

/** What people set. Members that are left out have their default in a new server, and stay as they are in an existing one. */
export type ServerInput = Omit<FromSchema<typeof serverInputSchema>, 'auth'> & {
  readonly auth?: BackendAuth | null | undefined;
};

/** What identifies the server behind a record. A record whose endpoint changes is about another server from then on. */
export type ServerEndpoint = Pick<ServerInput, 'url' | 'transport' | 'auth'>;

/** Absent members were not set, or not found by a probe. */
export type ServerRecord = Omit<FromSchema<typeof serverSchema>, 'auth' | 'curation' | 'team'> & {
  readonly auth?: BackendAuth;
  readonly curation?: WrittenCuration;
  readonly team?: string | undefined;
};

export type HealthEntry = FromSchema<typeof healthEntrySchema>;
export type RefreshReport = FromSchema<typeof refreshReportSchema>;

export type ReportedCounts = Readonly<Record<`${ListName}${'Added' | 'Updated' | 'Removed'}`, number>>;

// A server's lists as stored and sent, and the digests by which two readings are compared.

/** Digests by the items' keys. */
export type ItemDigests = ReadonlyMap<string, string>;

/** The first 132 bits of the text's SHA-256 digest. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}

/** A form of the value that does not depend on the order of members, because some servers change that order each time. */
function canonicalForm(value: unknown): unknown {
  if (Array.isArray(value)) return ['list', ...value.map(canonicalForm)];
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  // An array, because an object would put numeric names first, and lose `__proto__`.
  return ['object', ...members.flatMap(([name, member]) => [name, canonicalForm(member)])];
}

/** A list as read by a probe. It may be large: only the probe thread parses it. */
export interface ServerList {
  /** Digests of the items: by the tool's name; in other lists, by the digest of the item's key. */
  readonly items: ItemDigests;
  readonly digest: string;
  /** A JSON array of the items, with all members. */
  readonly json: Uint8Array;
}

/** The lists by name; `undefined` for a list that the server did not give. */
export type AllLists = Readonly<Record<ListName, ServerList | undefined>>;

export const NO_LISTS: AllLists = { tools: undefined, prompts: undefined, resources: undefined, templates: undefined };

export type ListDigests = Readonly<Partial<Record<ListName, string>>>;

/** The list with its digests. The digest of the list does not depend on the order of its items. */
export function serverListOf(itemsByKey: ReadonlyMap<string, unknown>): ServerList {
  const items = new Map(Array.from(itemsByKey, ([key, item]) => [key, digestOf(JSON.stringify(canonicalForm(item)))]));
  const digest = digestOf(JSON.stringify([...items].sort(([a], [b]) => (a < b ? -1 : 1))));
  return { items, digest, json: Buffer.from(JSON.stringify([...itemsByKey.values()])) };
}
