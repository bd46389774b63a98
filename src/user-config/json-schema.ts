// The JSON Schema of user configs, for editors: generated from the schema that checks configs, with additions that zod cannot
// express. Cold path.
import * as z from 'zod';
import { userConfigSchema } from './user-config-schema.js';

type JsonSchema = Record<string, unknown>;

/** By the path of a member: what it means, and the pattern of its values. `*` stands for any name. */
export const memberDescriptions: Readonly<Record<string, JsonSchema>> = {
  '': {
    title: 'User config of Switchyard',
    description: 'What one user may reach: stored under the subject of its token.',
  },
  virtual_hosts: { description: 'By the id that stands in the URL: {path prefix}/servers/{virtual host}/mcp.' },
  'virtual_hosts.*.backends': {
    description: 'By the name that is the prefix of what the backend offers: <name>-<tool>.',
  },
  'virtual_hosts.*.exposure': {
    description:
      'search: tools/list has find_tools and call_tool, with which all others are found and called, and tools with a page.',
  },
  'virtual_hosts.*.backends.*.name': { description: 'Ignored: the key of the backend in `backends` is its name.' },
  'virtual_hosts.*.backends.*.url': {
    description: 'The MCP endpoint. http: needs --upstream-connection-mode plain-text-or-tls.',
    pattern: '^[Hh][Tt][Tt][Pp][Ss]?://[^/?#@]+([/?#]|$)',
  },
  'virtual_hosts.*.backends.*.transport': {
    description: 'SSE is the older transport of two endpoints; STDIO is read but cannot be reached.',
  },
  'virtual_hosts.*.backends.*.passthrough_headers': {
    description: "Names of the caller's headers that the backend gets; nothing else is passed on.",
  },
  'virtual_hosts.*.backends.*.auth': {
    description:
      'The credentials that the backend requires; secrets are referred to by name, as {"file": …} in --secrets-directory or {"secret": …} of the store.',
  },
  'virtual_hosts.*.backends.*.allowed_tool_names': {
    description: 'Bare names of tools; anything else is neither listed nor callable. An empty list allows all.',
  },
  'virtual_hosts.*.backends.*.allowed_prompt_names': { description: 'The same for prompts.' },
  'virtual_hosts.*.backends.*.allowed_resource_names': {
    description: 'Names or URIs of resources, names or texts of templates. An empty list allows all.',
  },
  'virtual_hosts.*.backends.*.prefix': {
    description: 'Stands before the - in the names of its tools and prompts, in place of its name; "" for none.',
  },
  'virtual_hosts.*.backends.*.tools': {
    description: 'By the bare name of a tool: how it is shown, and which of its arguments. docs/curation.md',
  },
  'virtual_hosts.*.backends.*.tools.*.name': { description: 'Its name behind the prefix.' },
  'virtual_hosts.*.backends.*.tools.*.hidden': { description: 'Neither listed nor callable.' },
  'virtual_hosts.*.backends.*.tools.*.hidden_arguments': { description: 'Not shown, and not to be given.' },
  'virtual_hosts.*.backends.*.tools.*.fixed_arguments': {
    description: 'Not shown, not accepted from clients, and sent with every call with these values.',
  },
  'virtual_hosts.*.backends.*.prompts': { description: 'The same of prompts.' },
  'virtual_hosts.*.backends.*.exposes': { description: 'Which kinds pass at all, whatever the lists say.' },
};

export function userConfigJsonSchema(): JsonSchema {
  const schema = toJsonSchema(userConfigSchema);
  addDescriptions(schema, []);
  return schema;
}

function toJsonSchema(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      // A map is an object in JSON. Here it is the output of a preprocessing pipe (known-members.ts).
      const map = zodSchema instanceof z.ZodPipe ? zodSchema.out : undefined;
      if (map instanceof z.ZodMap) Object.assign(jsonSchema, mapToJsonSchema(map));
    },
  });
}

function mapToJsonSchema(map: z.ZodMap): JsonSchema {
  const { $schema: _, ...name } = toJsonSchema(map.keyType as z.ZodType);
  const { $schema: __, ...value } = toJsonSchema(map.valueType as z.ZodType);
  return { type: 'object', propertyNames: name, additionalProperties: value };
}

function addDescriptions(schema: JsonSchema, path: readonly string[]): void {
  Object.assign(schema, memberDescriptions[path.join('.')]);
  for (const [name, member] of Object.entries(schema['properties'] ?? {}))
    addDescriptions(member as JsonSchema, [...path, name]);
  const { additionalProperties: each } = schema;
  if (typeof each === 'object' && each !== null) addDescriptions(each as JsonSchema, [...path, '*']);
}
