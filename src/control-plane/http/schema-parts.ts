// Building blocks of the schemas of the control plane's HTTP interface.
import { limits } from '../../shared/index.js';

// Derives other schemas from the schema of a record: its input, its patch, and its shape, which has no bounds.

/** The schema of an input: the members that people set. The record's other members are accepted and ignored. */
export function inputSchemaOf(
  record: ObjectSchema,
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[],
): ObjectSchema {
  const others = Object.keys(record.properties).filter((name) => !Object.hasOwn(properties, name));
  const ignored = Object.fromEntries(others.map((name) => [name, { readOnly: true }]));
  return { type: 'object', properties: { ...properties, ...ignored }, required, additionalProperties: false };
}

/** A merge patch of an input (RFC 7396): any of its members, or null; the contents of object members are checked after merging. */
export function patchOf(input: ObjectSchema): ObjectSchema {
  const properties = Object.entries(input.properties).map(([name, schema]): [string, JsonSchema] => {
    if (schema['readOnly'] === true) return [name, schema];
    const types = [schema['type']].flat().filter((type) => type !== 'null');
    if (types.includes('object')) return [name, { type: ['null', 'object'], additionalProperties: true }];
    const choices = schema['enum'] as readonly unknown[] | undefined;
    return [name, { ...schema, type: ['null', ...types], ...(choices && { enum: [null, ...choices] }) }];
  });
  return { type: 'object', properties: Object.fromEntries(properties), additionalProperties: false };
}

/** Keywords that bound a value beyond its type. */
const BOUNDS: ReadonlySet<string> = new Set(['minLength', 'maxLength', 'pattern', 'minItems', 'maxItems']);

/** The schema without its bounds. */
export function shapeOf(schema: JsonSchema): JsonSchema {
  return withoutBounds(schema) as JsonSchema;
}

/** @param areNames whether the keys of the value are member names, not keywords. */
function withoutBounds(value: unknown, areNames = false): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutBounds(item));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([name]) => areNames || !BOUNDS.has(name));
  return Object.fromEntries(
    kept.map(([name, member]) => [name, withoutBounds(member, !areNames && name === 'properties')]),
  );
}

export type JsonSchema = Readonly<Record<string, unknown>>;

interface ObjectSchema extends JsonSchema {
  readonly properties: Readonly<Record<string, JsonSchema>>;
}

export const text = { type: 'string' };
export const count = { type: 'integer', minimum: 0 };
export const time = { type: 'string', format: 'date-time' };
export const anyObject = { type: 'object', additionalProperties: true };
export const id = { type: 'string', pattern: '^[0-9a-f]{32}$' };
export const manyTexts = { type: 'array', items: text };

export function orNull(schema: JsonSchema & { readonly type: string }, description: string): JsonSchema {
  return { ...schema, type: [schema.type, 'null'], description };
}

/** An object with exactly these members, all required except those in `optional`. */
export function exactly(
  properties: Readonly<Record<string, JsonSchema>>,
  optional: readonly string[] = [],
  description?: string,
): ObjectSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  const described = description === undefined ? {} : { description };
  return { type: 'object', ...described, properties, required, additionalProperties: false };
}

// Schema parts that servers and compositions share: what people set on both.

export const name = { ...text, minLength: 1, maxLength: limits.serverNameCharsMax, pattern: '^[A-Za-z0-9_.\\- ]+$' };
export const description = { ...text, maxLength: limits.serverDescriptionCharsMax };

/** Its contents are checked by `curationFault`, whose messages say more. */
export const curation = {
  type: 'object',
  properties: { prefix: text, tools: anyObject, prompts: anyObject },
  additionalProperties: false,
};

export const team = {
  type: ['null', 'string'],
  description:
    'The team to which the record belongs: editors in that team and the owner may change it. If left out of a new record, the caller’s only team. Null for none.',
};
export const owner = {
  ...text,
  description: 'The subject that created the record. Present only with `--token-roles-claim`.',
};
