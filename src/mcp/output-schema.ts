// Whether clients can compile the schema of a tool's results. Clients on the TypeScript SDK compile each schema of a list of tools. If one
// schema has a reference to nowhere, a pattern of another language, or a keyword of OpenAPI or of an older draft, they refuse the whole
// list, with the tools of all backends. Only what such a client reads is checked: definitions only if they are referred to.
import { isObject, KIB } from '../shared/index.js';

/** Counts what the schemas of one page have cost so far. */
export interface SchemaBudget {
  /** The classes of Unicode characters that patterns have named so far, such as `\\p{L}`, and whether each exists: V8 compiles them slowly. */
  readonly unicodeClasses: Map<string, boolean>;
}

/** The most different classes of Unicode characters on one page that are compiled. Further ones count as wrong. */
export const UNICODE_CLASSES_MAX = 32;

/** The longest pattern that is compiled, in characters: V8's time for a character class grows with the square of its length. */
export const PATTERN_LENGTH_MAX = 4 * KIB;

/** The rules for some keywords of a schema, which are listed in `keywords`, separated by spaces. */
interface Keyword {
  readonly keywords: string;
  /** A regular expression for the beginning of an accepted value, by which most schemas need not be parsed; without it, they must be. */
  readonly valueStart?: string;
  /** Whether a value is accepted. @param holder the schema that has the keyword. */
  readonly accepts: (value: unknown, holder: Readonly<Record<string, unknown>>, budget: SchemaBudget) => boolean;
  /** The schemas in an accepted value. */
  readonly schemasIn?: (value: unknown) => readonly unknown[];
}

const TYPES = new Set('string number integer boolean object array null'.split(' '));
const isText = (value: unknown): value is string => typeof value === 'string';
const isType = (value: unknown): boolean => isText(value) && TYPES.has(value);
const isSchema = (value: unknown): boolean => typeof value === 'boolean' || isObject(value);
const isName = (value: unknown): boolean => !isText(value) || /^[a-z_][-\w.]*$/i.test(value);
const itself = (value: unknown): readonly unknown[] => [value];
const valuesOf = (value: unknown): readonly unknown[] => Object.values(value as object);

/** The keywords that a validator of draft 7 reads. */
const KEYWORDS: readonly Keyword[] = [
  {
    keywords: 'type',
    valueStart: `"(?:${[...TYPES].join('|')})"`,
    accepts: (value) => (Array.isArray(value) ? value.every(isType) : isType(value)),
  },
  {
    keywords:
      'multipleOf maximum minimum exclusiveMaximum exclusiveMinimum maxLength minLength maxItems minItems maxProperties minProperties',
    valueStart: '[-\\d]',
    accepts: (value) => typeof value === 'number',
  },
  { keywords: 'format', valueStart: '"', accepts: isText },
  { keywords: '$id', accepts: isText },
  { keywords: 'uniqueItems', valueStart: '[tf]', accepts: (value) => typeof value === 'boolean' },
  { keywords: 'required', valueStart: '\\[', accepts: Array.isArray },
  { keywords: 'enum', valueStart: '\\[\\s*[^\\]\\s]', accepts: (value) => Array.isArray(value) && value.length > 0 },
  {
    keywords: 'additionalProperties additionalItems contains propertyNames not if then else',
    valueStart: '[{tf]',
    accepts: isSchema,
    schemasIn: itself,
  },
  {
    keywords: 'items',
    valueStart: '[{[tf]',
    accepts: (value) => Array.isArray(value) || isSchema(value),
    schemasIn: (value) => (Array.isArray(value) ? valuesOf(value) : [value]),
  },
  { keywords: 'allOf anyOf oneOf', valueStart: '\\[\\s*[{tf]', accepts: Array.isArray, schemasIn: valuesOf },
  { keywords: 'properties', valueStart: '\\{', accepts: isObject, schemasIn: valuesOf },
  {
    keywords: 'patternProperties',
    accepts: (value, _, budget) => isObject(value) && Object.keys(value).every((pattern) => isPattern(pattern, budget)),
    schemasIn: valuesOf,
  },
  { keywords: 'pattern', accepts: (value, _, budget) => isText(value) && isPattern(value, budget) },
  // A property may depend on a schema, or on a list of names.
  {
    keywords: 'dependencies',
    accepts: isObject,
    schemasIn: (value) => valuesOf(value).filter((each) => !Array.isArray(each)),
  },
  { keywords: '$ref', accepts: isText },
  { keywords: '$anchor $dynamicAnchor', accepts: isName },
  { keywords: '$async', valueStart: 'f', accepts: (value) => value === false },
  // A keyword of OpenAPI, valid only beside a type.
  {
    keywords: 'nullable',
    accepts: (value, { type }) => typeof value === 'boolean' && type !== undefined && (value || !hasNull(type)),
  },
  // Keywords of draft 4, and of an extension that clients do not have in full.
  { keywords: 'id formatMinimum formatMaximum formatExclusiveMinimum formatExclusiveMaximum', accepts: () => false },
];

const keywordByName = new Map(KEYWORDS.flatMap((each) => each.keywords.split(' ').map((name) => [name, each])));

const DOUBTS = KEYWORDS.map(({ keywords, valueStart }) => {
  const names = keywords.replaceAll('$', '\\$').replaceAll(' ', '|');
  return `(?:${names})"\\s*:${valueStart === undefined ? '' : `(?!\\s*${valueStart})`}`;
});
/** Matches an escaped letter or `$`: these need no escape, and may be part of a keyword. */
const ESCAPED = '\\\\u00(?:24|[46][1-9a-fA-F]|[57][\\daA])';
/** Matches a keyword with a value that does not begin as accepted, an escape, or a `null`, which may stand where a schema belongs. */
const DOUBTFUL = new RegExp(`"(?:${DOUBTS.join('|')})|[:[,]\\s*null|${ESCAPED}`);

/** Matches the members that give a schema a name, so that references need not give its place. */
const HAS_NAMES = new RegExp(`"\\$(?:id|anchor|dynamicAnchor)"|${ESCAPED}`);

/** Whether a schema might not compile, judged by its text. Then it must be parsed; few must. @param text JSON. */
export function mayNotCompile(text: Buffer): boolean {
  return DOUBTFUL.test(text.toString('latin1'));
}

/** Whether a schema compiles. Never throws, whatever a hostile backend writes. */
export function isCompilable(text: Buffer, budget: SchemaBudget): boolean {
  const json = text.toString();
  const root: unknown = JSON.parse(json);
  const anchors = HAS_NAMES.test(json) ? anchorsIn(root) : NO_ANCHORS;
  if (anchors === undefined) return false;
  const seen = new Set<unknown>([true, false, root]);
  // The loop also visits the schemas that it adds.
  for (const schema of seen) {
    if (typeof schema === 'boolean') continue;
    if (!isObject(schema)) return false;
    for (const [name, value] of Object.entries(schema)) {
      const keyword = keywordByName.get(name);
      if (keyword === undefined) continue;
      if (schema === root && REPAIRED_KEYWORDS.has(name)) {
        for (const inner of valuesOf(value ?? NO_SCHEMAS)) if (isObject(inner)) seen.add(inner);
        continue;
      }
      if (!keyword.accepts(value, schema, budget)) return false;
      for (const inner of keyword.schemasIn?.(value) ?? NO_SCHEMAS) seen.add(inner);
      if (name === '$ref') seen.add(schemaReferredTo(root, anchors, value));
    }
  }
  return true;
}

const NO_SCHEMAS: readonly unknown[] = [];
/** The members of the root schema whose own faults are repaired elsewhere (readable-items.ts): only the schemas in them are checked. */
const REPAIRED_KEYWORDS = new Set(['properties', 'required']);

function hasNull(type: unknown): boolean {
  return type === 'null' || (Array.isArray(type) && type.includes('null'));
}

function isPattern(pattern: string, { unicodeClasses }: SchemaBudget): boolean {
  if (pattern.length > PATTERN_LENGTH_MAX) return false;
  let areKnown = true;
  // A class's name is read only up to a backslash: otherwise, each of many classes without an end would be read up to the pattern's end.
  const plain = pattern.replaceAll(/\\(?:p\{[^}\\]*\}|[^])/gi, (escape) => {
    if (!/^\\p\{/i.test(escape)) return escape;
    if (!unicodeClasses.has(escape)) {
      areKnown &&= unicodeClasses.size < UNICODE_CLASSES_MAX;
      if (areKnown) unicodeClasses.set(escape, isExpression(escape));
    }
    areKnown &&= unicodeClasses.get(escape) === true;
    // The class is replaced by a quick one that is allowed in the same places.
    return '\\d';
  });
  return areKnown && isExpression(plain);
}

function isExpression(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u') !== undefined;
  } catch {
    return false;
  }
}

type Anchors = ReadonlyMap<string, unknown>;
const NO_ANCHORS: Anchors = new Map();
const ID = /^(?:[a-z][-+.a-z\d]*:[-\w.~/?&=:@+,]*|[-\w.~/?&=]*)#?$/i;
const asKeys = (keywords: string): object => Object.fromEntries(keywords.split(' ').map((name) => [name, true]));
/** The keywords in which a validator looks for names. As in the validator, they are searched with `in`, which also finds `constructor`. */
const LIST_KEYWORDS = asKeys('items allOf anyOf oneOf');
const MAP_KEYWORDS = asKeys('$defs definitions properties patternProperties dependencies');
const DATA_KEYWORDS = asKeys(
  'default enum const required maximum minimum exclusiveMaximum exclusiveMinimum multipleOf maxLength minLength pattern format ' +
    'maxItems minItems uniqueItems maxProperties minProperties',
);

/**
 * Finds the names of schemas. A validator finds names also where it reads no schema. It keeps ids for all schemas of a list, so an id
 * within a schema could also be that of another backend's schema, and is not accepted.
 * @returns the schemas with anchors, by reference; `undefined` where names are not accepted.
 */
function anchorsIn(root: unknown): Anchors | undefined {
  const anchors = new Map<string, unknown>();
  const schemas = [root];
  for (const schema of schemas) {
    if (!isObject(schema)) continue;
    const { $id, $anchor, $dynamicAnchor } = schema;
    if (isText($id) && (schema !== root || !ID.test($id))) return undefined;
    for (const anchor of schema === root ? [] : [$anchor, $dynamicAnchor].filter(isText)) {
      if (!isName(anchor) || anchors.has(`#${anchor}`)) return undefined;
      anchors.set(`#${anchor}`, schema);
    }
    for (const [name, value] of Object.entries(schema))
      if (Array.isArray(value) ? name in LIST_KEYWORDS : name in MAP_KEYWORDS)
        for (const each of valuesOf(value ?? NO_SCHEMAS)) schemas.push(each);
      else if (!(name in DATA_KEYWORDS)) schemas.push(value);
  }
  return anchors;
}

/** References to the schema of schemas, which every validator has. */
const SCHEMA_OF_SCHEMAS = /^http:\/\/json-schema\.org\/draft-07\/schema#?$/;

/** The schema that a reference refers to; `undefined` for nothing. */
function schemaReferredTo(root: unknown, anchors: Anchors, reference: unknown): unknown {
  if (typeof reference !== 'string') return undefined;
  if (anchors.has(reference)) return anchors.get(reference);
  if (SCHEMA_OF_SCHEMAS.test(reference)) return true;
  if (reference === '') return root;
  const [document, ...path] = reference.split('/');
  if (document !== '#') return undefined;
  return path.reduce<unknown>((at, token) => {
    const name = percentDecoded(token).replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(at)) return at[Number(name)] as unknown;
    return isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  }, root);
}

function percentDecoded(token: string): string {
  try {
    return decodeURIComponent(token);
  } catch {
    return token;
  }
}
