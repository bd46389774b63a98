// Whether clients can compile the schema of a tool's results. Those on the TypeScript SDK of sessions compile each schema of a list, and
// refuse the whole list, with the tools of all backends, for one with a reference to nowhere, a pattern of another language, or an unknown
// type. Only what such a client reads is checked: definitions where something refers to them.
import { isObject } from '../shared/index.js';

const TYPES = 'string|number|integer|boolean|object|array|null';
const MAY_FAIL = ['"$ref"', '"pattern'].map((word) => Buffer.from(word));
const MAY_BE_UNKNOWN = new RegExp(`"type"\\s*:\\s*(?:\\[|"(?!(?:${TYPES})"))`);
const IS_TYPE = new RegExp(`^(?:${TYPES})$`);
/** A class such as `\\p{L}` takes V8 as long as a kilobyte of other patterns. */
const UNICODE_CLASS = /\\p/i;
/** Such classes on one page whose patterns are compiled. Beyond that, patterns are left unchecked. */
export const UNICODE_CLASSES_MAX = 16;

/** What may still be spent on the schemas of one page. */
export interface SchemaBudget {
  unicodeClasses: number;
}

/** With names of its own, a schema may be referred to in other ways than by its place. */
const HAS_NAMES = /"\$(?:id|anchor)"/;

/** Words that have one schema, or a list of them, and words that have a map of them. */
const HOLDERS = new Set(
  'additionalProperties additionalItems contains not propertyNames if then else items allOf anyOf oneOf'.split(' '),
);
const MAPS = new Set(['properties', 'patternProperties']);

/** Whether a schema may not compile, by its words; few may not. @param text as JSON. */
export function isDoubtful(text: Buffer): boolean {
  return MAY_FAIL.some((word) => text.includes(word)) || MAY_BE_UNKNOWN.test(text.toString('latin1'));
}

/** Never throws: what a hostile backend writes is looked at only as what it is. */
export function isCompilable(text: Buffer, budget: SchemaBudget): boolean {
  const json = text.toString();
  const root: unknown = JSON.parse(json);
  const hasNames = HAS_NAMES.test(json);
  const seen = new Set<unknown>([true, false, root]);
  // What is added while the set is gone through is gone through, too.
  for (const schema of seen) {
    if (typeof schema === 'boolean') continue;
    if (!isObject(schema)) return false;
    for (const [word, value] of Object.entries(schema)) {
      if (word === '$ref' && !hasNames) seen.add(referredTo(root, value));
      else if (HOLDERS.has(word) && !Array.isArray(value)) seen.add(value);
      else if (word === 'dependencies') for (const each of schemasAmong(value)) seen.add(each);
      else if (HOLDERS.has(word) || MAPS.has(word)) for (const each of Object.values(value ?? {})) seen.add(each);
      if (!isReadable(word, value, budget)) return false;
    }
  }
  return true;
}

function isReadable(word: string, value: unknown, budget: SchemaBudget): boolean {
  if (word === 'type') return (Array.isArray(value) ? value : [value]).every(isType);
  if (word === 'patternProperties') return Object.keys(value ?? {}).every((pattern) => isPattern(pattern, budget));
  return word !== 'pattern' || (typeof value === 'string' && isPattern(value, budget));
}

function isType(type: unknown): boolean {
  return typeof type === 'string' && IS_TYPE.test(type);
}

function isPattern(pattern: string, budget: SchemaBudget): boolean {
  budget.unicodeClasses -= pattern.split(UNICODE_CLASS).length - 1;
  if (budget.unicodeClasses < 0) return true;
  try {
    return new RegExp(pattern, 'u') !== undefined;
  } catch {
    return false;
  }
}

/** A property may depend on a schema, or on a list of names. */
function schemasAmong(dependencies: unknown): readonly unknown[] {
  return Object.values(dependencies ?? {}).filter((each) => !Array.isArray(each));
}

/** Every validator has the schema of schemas, which allows anything here. */
const SCHEMA_OF_SCHEMAS = /^http:\/\/json-schema\.org\/draft-07\/schema#?$/;

/** @returns `undefined` for nothing. */
function referredTo(root: unknown, reference: unknown): unknown {
  if (typeof reference !== 'string') return undefined;
  if (SCHEMA_OF_SCHEMAS.test(reference)) return true;
  const [document, ...path] = reference.split('/');
  if (document !== '#') return undefined;
  return path.reduce<unknown>((at, token) => {
    const name = decoded(token).replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(at)) return at[Number(name)] as unknown;
    return isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  }, root);
}

function decoded(token: string): string {
  try {
    return decodeURIComponent(token);
  } catch {
    return token;
  }
}
