// Building blocks of the schemas of the control plane's HTTP interface.

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface ObjectSchema extends JsonSchema {
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
