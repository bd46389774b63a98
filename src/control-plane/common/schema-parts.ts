// Building blocks of the schemas of the control plane's HTTP interface. A schema checks and documents values, and
// `FromSchema` is their type.
import { limits } from '../../shared/index.js';

/** The schema of an input: the members that people set. Other members of the record are accepted, and ignored. */
export function inputSchemaOf<Properties extends object, Required extends keyof Properties>(
  record: ObjectSchema,
  properties: Properties,
  required: readonly Required[],
): ObjectSchema<Properties, Required> {
  const others = Object.keys(record.properties).filter((name) => !Object.hasOwn(properties, name));
  const ignored = Object.fromEntries(others.map((name) => [name, { readOnly: true }]));
  return { type: 'object', properties: { ...properties, ...ignored }, required, additionalProperties: false };
}

/** The schema of a merge patch (RFC 7396): every member of the input may be missing or null. Objects in it are checked after merging. */
export function patchSchemaOf(input: ObjectSchema): JsonSchema {
  const properties = Object.entries(input.properties).map(([name, schema]): [string, JsonSchema] => {
    if (schema['readOnly'] === true) return [name, schema];
    const types = [schema['type']].flat().filter((type) => type !== 'null');
    if (types.includes('object')) return [name, { type: ['null', 'object'], additionalProperties: true }];
    const choices = schema['enum'] as readonly unknown[] | undefined;
    return [name, { ...schema, type: ['null', ...types], ...(choices && { enum: [null, ...choices] }) }];
  });
  return { type: 'object', properties: Object.fromEntries(properties), additionalProperties: false };
}

export type JsonSchema = Readonly<Record<string, unknown>>;

interface ObjectSchema<Properties = Readonly<Record<string, JsonSchema>>, Required = PropertyKey> extends JsonSchema {
  readonly type: 'object';
  readonly properties: Properties;
  readonly required: readonly Required[];
}

export type FromSchema<Schema> = Schema extends { readonly enum: readonly (infer Choice)[] }
  ? Choice
  : Schema extends { readonly type: infer Type }
    ? OfType<Type extends readonly (infer One)[] ? One : Type, Schema>
    : unknown;

type OfType<Type, Schema> = Type extends 'array'
  ? readonly (Schema extends { readonly items: infer Item } ? FromSchema<Item> : unknown)[]
  : Type extends 'object'
    ? Schema extends ObjectSchema<infer Properties, infer Required>
      ? Members<Properties, Required>
      : Readonly<Record<string, unknown>>
    : Type extends keyof PlainTypes
      ? PlainTypes[Type]
      : never;

interface PlainTypes {
  readonly string: string;
  readonly integer: number;
  readonly number: number;
  readonly boolean: boolean;
  readonly null: null;
}

/** Members that are not required may also be `undefined`. */
type Members<Properties, Required> = {
  readonly [Name in keyof Properties & Required]: FromSchema<Properties[Name]>;
} & { readonly [Name in Exclude<keyof Properties, Required>]?: FromSchema<Properties[Name]> | undefined };

export const textSchema = { type: 'string' } as const;
export const countSchema = { type: 'integer', minimum: 0 } as const;
export const timeSchema = { type: 'string', format: 'date-time' } as const;
export const anyObject = { type: 'object', additionalProperties: true } as const;
export const idSchema = { type: 'string', pattern: '^[0-9a-f]{32}$' } as const;

export function orNull<const Schema extends JsonSchema & { readonly type: string }>(
  schema: Schema,
  description: string,
): Omit<Schema, 'type'> & { readonly type: readonly [Schema['type'], 'null'] } {
  return { ...schema, type: [schema.type, 'null'], description };
}

/** The schema of an object that has only these members, all required except those in `optional`. */
export function exactObject<
  const Properties extends Readonly<Record<string, JsonSchema>>,
  Optional extends keyof Properties = never,
>(
  properties: Properties,
  optional: readonly Optional[] = [],
): ObjectSchema<Properties, Exclude<keyof Properties, Optional>> {
  const isRequired = (name: keyof Properties) => !optional.some((each) => each === name);
  const required = Object.keys(properties).filter(isRequired) as Exclude<keyof Properties, Optional>[];
  return { type: 'object', properties, required, additionalProperties: false };
}

// Members that servers and compositions have in common.

export const nameSchema = {
  ...textSchema,
  minLength: 1,
  maxLength: limits.serverNameCharsMax,
  pattern: '^[A-Za-z0-9_.\\- ]+$',
} as const;
export const descriptionSchema = { ...textSchema, maxLength: limits.serverDescriptionCharsMax } as const;

/** The schema of a curation. Its contents are checked by `curationFault`, whose messages explain more. */
export const curationJsonSchema = {
  type: 'object',
  properties: { prefix: textSchema, tools: anyObject, prompts: anyObject },
  additionalProperties: false,
} as const;

export const teamSchema = {
  type: ['null', 'string'],
  description:
    'The team to which the record belongs: editors in that team and the owner may change it. If left out of a new record, the caller’s only team. Null for none.',
} as const;
export const ownerSchema = {
  ...textSchema,
  description: 'The subject that created the record. Present only with `--token-roles-claim`.',
} as const;

// Checks that are made by functions instead of schemas, because their messages explain more.

const NAME_CHARS = /^[A-Za-z0-9_.\- ]+$/;

/** What is wrong with a name, as a text that follows the member's name: `must be …`; `undefined` if it is valid. */
export function nameFault(name: string): string | undefined {
  if (name.length > limits.serverNameCharsMax || !NAME_CHARS.test(name))
    return `must be 1 to ${limits.serverNameCharsMax} of A-Z, a-z, 0-9, '_', '.', '-' and space`;
  return name === name.trim() ? undefined : 'must not begin or end with a space';
}

/** What is wrong with a description, as a text that follows the member's name: `must be …`; `undefined` if it is valid. */
export function descriptionFault(description: string | undefined): string | undefined {
  if (description === undefined) return undefined;
  if (description.length > limits.serverDescriptionCharsMax)
    return `must have at most ${limits.serverDescriptionCharsMax} characters`;
  return description.isWellFormed() ? undefined : NOT_UNICODE;
}

export const NOT_UNICODE = 'must be Unicode text';
