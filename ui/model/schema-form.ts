// Builds a form from a JSON Schema (2020-12), as far as people fill in forms: the label, kind and bounds of each field. What a form cannot
// express is typed as JSON; nothing in a schema is ever executed, fetched or looked up outside of it.

export type JsonObject = Readonly<Record<string, unknown>>;

export type FieldKind = 'text' | 'long-text' | 'number' | 'integer' | 'boolean' | 'choice' | 'group' | 'list' | 'json';

export interface FormField {
  readonly name: string;
  readonly label: string;
  readonly description: unknown;
  readonly kind: FieldKind;
  readonly isRequired: boolean;
  /** For a choice: its values, as JSON texts. */
  readonly choices: readonly string[];
  /** For a group. */
  readonly fields: readonly FormField[];
  /** For a list: the field of each entry. */
  readonly entry: FormField | undefined;
  readonly fallback: unknown;
  /** Bounds and formats in words; `''` when there are none. */
  readonly hint: string;
}

/** Limits that keep a hostile schema from overloading the page. */
const FIELDS_MAX = 200;
const DEPTH_MAX = 6;
const CHOICES_MAX = 500;
const REFERENCES_MAX = 20;

/** @param schema of an object; any other schema yields no fields. */
export function formOf(schema: unknown): readonly FormField[] {
  const reader = new SchemaReader(schema);
  const root = reader.field('', schema, true, 0);
  return root.kind === 'group' ? root.fields : [];
}

/** Whether the form covers the whole schema, without JSON fields. */
export function isWhollyForm(fields: readonly FormField[]): boolean {
  return fields.every(
    ({ kind, fields: inner, entry }) => kind !== 'json' && isWhollyForm(inner) && (!entry || isWhollyForm([entry])),
  );
}

class SchemaReader {
  readonly #root: unknown;
  #fieldsLeft = FIELDS_MAX;

  constructor(root: unknown) {
    this.#root = root;
  }

  field(name: string, written: unknown, isRequired: boolean, depth: number): FormField {
    const schema = this.#resolved(written);
    this.#fieldsLeft -= 1;
    const { title, description, default: fallback } = schema;
    const base = {
      name,
      label: typeof title === 'string' && title !== '' ? title : name,
      ...{ description, isRequired, fallback, hint: hintOf(schema) },
      ...{ choices: [], fields: [], entry: undefined },
    };
    const choices = choicesOf(schema);
    if (choices !== undefined) return { ...base, kind: 'choice', choices };
    const type = typeOf(schema);
    if (depth >= DEPTH_MAX || this.#fieldsLeft <= 0) return { ...base, kind: 'json' };
    if (type === 'object') return this.#group(base, schema, depth);
    if (type === 'array' && isObject(schema['items'])) {
      return { ...base, kind: 'list', entry: this.field('', schema['items'], true, depth + 1) };
    }
    return { ...base, kind: simpleKind(type, schema) };
  }

  #group(base: Omit<FormField, 'kind'>, schema: JsonObject, depth: number): FormField {
    const { properties, required } = schema;
    if (!isObject(properties)) return { ...base, kind: depth === 0 ? 'group' : 'json' };
    const names = new Set(Array.isArray(required) ? required : []);
    const fields: FormField[] = [];
    for (const [name, property] of Object.entries(properties)) {
      if (this.#fieldsLeft <= 0) break;
      fields.push(this.field(name, property, names.has(name), depth + 1));
    }
    return { ...base, kind: 'group', fields };
  }

  /** Follows references within the schema; members beside a reference are merged over what it points to. */
  #resolved(written: unknown): JsonObject {
    let schema = isObject(written) ? written : {};
    for (let steps = 0; steps < REFERENCES_MAX; steps++) {
      const only = soleMeaning(schema);
      const { $ref: reference } = schema;
      if (typeof reference === 'string') {
        const { $ref: _, ...rest } = schema;
        schema = { ...this.#at(reference), ...rest };
      } else if (only !== undefined) {
        schema = only;
      } else {
        return schema;
      }
    }
    return {};
  }

  #at(reference: string): JsonObject {
    if (!reference.startsWith('#')) return {};
    let place: unknown = this.#root;
    for (const step of reference.slice(1).split('/').slice(1)) {
      const name = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~');
      place = isObject(place) && Object.hasOwn(place, name) ? place[name] : undefined;
    }
    return isObject(place) ? place : {};
  }
}

/** The one meaning of `anyOf: [X, null]`, a common way to write an optional value, or of a union with a single part: X. */
function soleMeaning(schema: JsonObject): JsonObject | undefined {
  for (const keyword of ['anyOf', 'oneOf', 'allOf']) {
    const parts = schema[keyword];
    if (!Array.isArray(parts)) continue;
    const meant = parts.filter((part): part is JsonObject => isObject(part) && part['type'] !== 'null');
    const [only] = meant;
    if (only === undefined || meant.length !== 1) continue;
    const { [keyword]: _, ...rest } = schema;
    return { ...only, ...rest };
  }
  return undefined;
}

function typeOf({ type, properties }: JsonObject): unknown {
  if (Array.isArray(type)) {
    const meant = type.filter((each) => each !== 'null');
    return meant.length === 1 ? meant[0] : undefined;
  }
  return type ?? (isObject(properties) ? 'object' : undefined);
}

function simpleKind(type: unknown, { maxLength, format }: JsonObject): FieldKind {
  if (type === 'boolean' || type === 'integer' || type === 'number') return type;
  if (type !== 'string') return 'json';
  return format === undefined && (typeof maxLength !== 'number' || maxLength > 200) ? 'long-text' : 'text';
}

/** `undefined` when any value is allowed. */
function choicesOf(schema: JsonObject): readonly string[] | undefined {
  if (Object.hasOwn(schema, 'const')) return [JSON.stringify(schema['const'])];
  const values = Array.isArray(schema['enum']) ? schema['enum'] : constsOf(schema);
  return values?.slice(0, CHOICES_MAX).map((value) => JSON.stringify(value));
}

/** The values of a `oneOf` or `anyOf` made of constants only. */
function constsOf(schema: JsonObject): readonly unknown[] | undefined {
  const parts = schema['oneOf'] ?? schema['anyOf'];
  if (!Array.isArray(parts) || parts.length === 0) return undefined;
  const areConsts = parts.every((part) => isObject(part) && Object.hasOwn(part, 'const'));
  return areConsts ? parts.map((part: JsonObject) => part['const']) : undefined;
}

const BOUNDS = [
  ['minimum', 'at least'],
  ['exclusiveMinimum', 'more than'],
  ['maximum', 'at most'],
  ['exclusiveMaximum', 'less than'],
  ['minLength', 'characters at least:'],
  ['maxLength', 'characters at most:'],
  ['minItems', 'entries at least:'],
  ['maxItems', 'entries at most:'],
  ['format', 'as'],
  ['pattern', 'matches'],
] as const;

function hintOf(schema: JsonObject): string {
  const told = BOUNDS.flatMap(([keyword, words]) => {
    const bound = schema[keyword];
    return typeof bound === 'number' || typeof bound === 'string' ? [`${words} ${String(bound).slice(0, 100)}`] : [];
  });
  return told.join(', ');
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}
