// The schemas of compositions: what people set, and what is shown.
import { limits } from '../../shared/limits.js';
import { curation, description, name, owner, team } from './record-parts.js';
import { inputSchemaOf, patchOf } from './schema-forms.js';
import { exactly, id, text, time, type JsonSchema } from './schema-parts.js';

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
      description: 'Prompts, as the server names them, without patterns. None if left out.',
    },
    resources: {
      type: 'array',
      items: { ...text, minLength: 1 },
      description: 'Names or URIs of resources, names or texts of templates. Left out: none.',
    },
    curation: {
      ...curation,
      description:
        'Like `curation` of a server, but for this composition only; each member given here takes precedence over the server’s.',
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
      'What its `tools/list` shows: all of its tools, or only find_tools and call_tool, with which clients find and call the others, and those with a page. Absent means all.',
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

const compositionInput = inputSchemaOf(composition, compositionSaid, ['name', 'servers']);

export const compositionSchemas = {
  Composition: composition,
  CompositionInput: compositionInput,
  CompositionPatch: patchOf(compositionInput),
} as const satisfies Record<string, JsonSchema>;
