// The schemas and types of a composition: a virtual server made of tools of several servers, for the subjects that it
// names (specification 3).
import { limits } from '../../shared/index.js';
import { tagOf } from '../common/change.js';
import {
  curationJsonSchema,
  descriptionSchema,
  exactObject,
  type FromSchema,
  idSchema,
  inputSchemaOf,
  type JsonSchema,
  nameSchema,
  ownerSchema,
  patchSchemaOf,
  teamSchema,
  textSchema,
  timeSchema,
} from '../common/schema-parts.js';

const serverSchema = exactObject(
  {
    name: { ...textSchema, description: 'Of a registered server.' },
    tools: {
      type: ['array', 'string'],
      items: { ...textSchema, minLength: 1 },
      description:
        'As the server names them, without a prefix. A `*` stands for any characters; `*` alone, in a list or not, for all tools. Patterns are resolved when the composition is published, and again when the server has other tools. At least one, unless there are prompts or resources.',
    },
    prompts: {
      type: 'array',
      items: { ...textSchema, minLength: 1, pattern: '^[^*]+$' },
      description: 'Prompts, as the server names them, without patterns. None if left out.',
    },
    resources: {
      type: 'array',
      items: { ...textSchema, minLength: 1 },
      description: 'Names or URIs of resources, names or texts of templates. Left out: none.',
    },
    curation: {
      ...curationJsonSchema,
      description:
        'Like `curation` of a server, but for this composition only; each member given here takes precedence over the server’s.',
    },
  },
  ['prompts', 'resources', 'curation'],
);

const settableProperties = {
  name: { ...nameSchema, description: 'Unique without regard to case.' },
  description: descriptionSchema,
  servers: { type: 'array', items: serverSchema },
  exposure: {
    type: 'string',
    enum: ['all', 'search'],
    description:
      'What its `tools/list` shows: all of its tools, or only find_tools and call_tool, with which clients find and call the others, and those with a page. Absent means all.',
  },
  subjects: {
    type: 'array',
    maxItems: limits.compositionSubjectsMax,
    items: { ...textSchema, minLength: 1, maxLength: limits.storeKeyBytesMax },
    description: 'Who may use it. Left out of a new composition: the caller.',
  },
  team: teamSchema,
} as const;

const compositionSchema = exactObject(
  {
    id: { ...idSchema, description: 'The id of the virtual host on the dataplane, too.' },
    ...settableProperties,
    owner: ownerSchema,
    createdAt: timeSchema,
    updatedAt: timeSchema,
    missingTools: {
      type: 'array',
      items: exactObject({ server: textSchema, tool: textSchema }),
      description: 'Tools that it names and cannot serve now.',
    },
  },
  ['exposure', 'owner', 'team'],
);

const compositionInputSchema = inputSchemaOf(compositionSchema, settableProperties, ['name', 'servers']);

export const compositionSchemas = {
  Composition: compositionSchema,
  CompositionInput: compositionInputSchema,
  CompositionPatch: patchSchemaOf(compositionInputSchema),
} as const satisfies Record<string, JsonSchema>;

export type ComposedServer = Omit<FromSchema<typeof serverSchema>, 'tools'> & { readonly tools: readonly string[] };

/** What people set. Members that are left out have their default in a new composition, and stay as they are in an existing one. */
export type CompositionInput = FromSchema<typeof compositionInputSchema> & {
  /** Whether to accept tools that their server does not have. */
  readonly isForced?: boolean | undefined;
};

export type Composition = Omit<FromSchema<typeof compositionSchema>, 'servers' | 'team'> & {
  readonly team?: string | undefined;
  /** The servers, each under its current name in the registry, or under its last known name if it is no longer registered. */
  readonly servers: readonly ComposedServer[];
};

/** A composed server as stored. It has the server's id, so that the server may be renamed; the name is the last known one. */
export type StoredComposedServer = ComposedServer & { readonly id: string };

/** A composition as stored under its id; another record maps its name to the id. */
export interface StoredComposition extends Omit<Composition, 'servers' | 'missingTools'> {
  readonly servers: readonly StoredComposedServer[];
  /** The subject that wrote the composition last. */
  readonly maker?: string;
  /** Size of the virtual host in a user config, measured when the composition was written. */
  readonly hostBytes?: number;
}

export const COMPOSITIONS_PREFIX = 'compositions/';

export function encodeComposition(composition: StoredComposition): Buffer {
  return Buffer.from(JSON.stringify(composition));
}

/** The tag of what people have set. Server names are left out: a renamed server is the same server. */
export function compositionTag(composition: Omit<Composition, 'missingTools'>): string {
  const { id, name, description, exposure = 'all', subjects, team, updatedAt, servers } = composition;
  const chosen = servers.map(({ tools, prompts = [], resources = [], curation = null }) => [
    tools,
    prompts,
    resources,
    curation,
  ]);
  return tagOf([id, name, description, exposure, subjects, team ?? null, updatedAt, chosen]);
}
