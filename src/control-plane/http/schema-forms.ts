// Derives other schemas from the schema of a record: its input, its patch, and its shape, which has no bounds.
import type { JsonSchema, ObjectSchema } from './schema-parts.js';

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
