// Finds members of a user config that are probably misspelt. Most objects allow unknown members, for other programs; but a
// misspelt allow-list would restrict nothing. Cold path.
import * as z from 'zod';
import { closestName } from '../config/index.js';
import { limits } from '../shared/index.js';

/** A replacer for `JSON.stringify`, for values with maps. */
export function mapsAsObjects(_key: string, value: unknown): unknown {
  return value instanceof Map ? Object.fromEntries(value) : value;
}

/** The schema of an object with freely chosen member names. It becomes a map, in which `__proto__` is a name like any other. */
export function namedMembers<Member extends z.ZodType>(name: z.ZodType<string, string>, member: Member) {
  return z.preprocess(
    (value) =>
      typeof value === 'object' && value !== null && !Array.isArray(value) ? new Map(Object.entries(value)) : value,
    z.map(name, member, 'must be an object'),
  );
}

/** The most issues of one config that a message lists. */
const USER_CONFIG_ISSUES_MAX = 10;

export interface ConfigIssue {
  readonly path: readonly PropertyKey[];
  /** What is wrong, as a text that follows the member's name: `must be a string`. It never quotes a value. */
  readonly message: string;
  /** The known member that an unknown one was probably meant to be. */
  readonly meant?: string;
}

/** The first few issues in one line; `''` for none. */
export function describeIssues(issues: readonly ConfigIssue[]): string {
  const shown = issues.slice(0, USER_CONFIG_ISSUES_MAX).map(describeIssue);
  const omitted = issues.length - shown.length;
  return omitted > 0 ? `${shown.join('; ')}; and ${omitted} more` : shown.join('; ');
}

export function describeIssue({ path, message }: ConfigIssue): string {
  const member = path.map(String).join('.').slice(0, limits.quotedCharsMax);
  return member === '' ? message : `${member}: ${message}`;
}

/** The most unknown names of one config that are compared with known names, because comparing takes time. */
const NAMES_COMPARED_MAX = 100;

/** What a config may contain at one level: in an object, a map or a list. */
interface SchemaLevel {
  /** The known members, each with the level of its value. */
  readonly members: ReadonlyMap<string, SchemaLevel | undefined>;
  /** The level of each element of a list, or of each value of a map. */
  readonly each: SchemaLevel | undefined;
  /** Whether unknown members are allowed. */
  readonly isOpen: boolean;
}

const NOTHING_KNOWN: SchemaLevel['members'] = new Map();

export class KnownMembers {
  readonly #root: SchemaLevel | undefined;
  /** Known members of objects that allow unknown ones: only there can a misspelt member pass unnoticed. */
  readonly #openNames = new Set<string>();
  readonly #allNames = new Set<string>();

  constructor(schema: z.ZodType) {
    this.#root = this.#levelOf(schema);
  }

  /** Finds unknown members that look misspelt, or misplaced. @param value need not match the schema. */
  findOddities(value: unknown): ConfigIssue[] {
    const issues: ConfigIssue[] = [];
    const closestNames = new Map<string, string | undefined>();
    const closestNameTo = (name: string): string | undefined => {
      if (!closestNames.has(name) && closestNames.size < NAMES_COMPARED_MAX)
        closestNames.set(name, closestName(name, this.#openNames));
      return closestNames.get(name);
    };
    const visit = (level: SchemaLevel, members: unknown, path: readonly string[]): void => {
      if (typeof members !== 'object' || members === null) return;
      for (const [name, member] of Object.entries(members)) {
        if (!level.isOpen || level.members.has(name)) {
          const inner = levelIn(level, name);
          if (inner !== undefined) visit(inner, member, [...path, name]);
          continue;
        }
        const meant = closestNameTo(name);
        if (meant === undefined) continue;
        if (meant === name) issues.push({ path: [...path, name], message: 'has no effect here' });
        else issues.push({ path: [...path, name], ...unknownMemberIssue(meant) });
      }
    };
    if (this.#root !== undefined) visit(this.#root, value, []);
    return issues;
  }

  describeUnknown(name: string): Omit<ConfigIssue, 'path'> {
    return unknownMemberIssue(closestName(name, this.#allNames));
  }

  /** Finds, for each missing member, an unknown one beside it that probably is its misspelling. @param issues zod's, of missing members. */
  explainMissing(value: unknown, issues: readonly ConfigIssue[]): ConfigIssue[] {
    let comparedCount = 0;
    return issues.map(({ path, message }) => {
      const [parent, missing] = [path.slice(0, -1).map(String), String(path.at(-1))];
      const known = parent.reduce((level, name) => level && levelIn(level, name), this.#root)?.members ?? NOTHING_KNOWN;
      for (const name of Object.keys(valueAt(value, parent) ?? {})) {
        if (known.has(name) || comparedCount++ >= NAMES_COMPARED_MAX) continue;
        if (closestName(name, known.keys(), 1) !== missing) continue;
        const words = `is not known; did you mean ${missing}, which is missing?`;
        return { path: [...parent, name], message: words, meant: missing };
      }
      return { path, message: `is missing (${message})` };
    });
  }

  #levelOf(schema: unknown): SchemaLevel | undefined {
    if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return this.#levelOf(schema.unwrap());
    if (schema instanceof z.ZodPipe) return this.#levelOf(schema.out);
    if (schema instanceof z.ZodMap || schema instanceof z.ZodRecord) return levelOfMap(this.#levelOf(schema.valueType));
    if (schema instanceof z.ZodArray) return levelOfMap(this.#levelOf(schema.element));
    if (schema instanceof z.ZodUnion) return mergeLevels(schema.options.map((option) => this.#levelOf(option)));
    if (!(schema instanceof z.ZodObject)) return undefined;
    const isOpen = !(schema.def.catchall instanceof z.ZodNever);
    const members = new Map<string, SchemaLevel | undefined>();
    for (const [name, member] of Object.entries(schema.shape)) {
      members.set(name, this.#levelOf(member));
      this.#allNames.add(name);
      if (isOpen) this.#openNames.add(name);
    }
    return { members, each: undefined, isOpen };
  }
}

function levelIn(level: SchemaLevel, name: string): SchemaLevel | undefined {
  return level.members.get(name) ?? level.each;
}

export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let inner = value;
  for (const name of path) {
    if (typeof inner !== 'object' || inner === null || !Object.hasOwn(inner, name)) return undefined;
    inner = (inner as Readonly<Record<PropertyKey, unknown>>)[name];
  }
  return inner;
}

function levelOfMap(level: SchemaLevel | undefined): SchemaLevel | undefined {
  return level === undefined ? undefined : { members: new Map(), each: level, isOpen: false };
}

/** The level of a value that may have one of several shapes. */
function mergeLevels(levels: readonly (SchemaLevel | undefined)[]): SchemaLevel | undefined {
  const known = levels.filter((level) => level !== undefined);
  const [first] = known;
  if (first === undefined) return undefined;
  return { ...first, members: new Map(known.flatMap(({ members }) => [...members])) };
}

function unknownMemberIssue(meant: string | undefined): Omit<ConfigIssue, 'path'> {
  return meant === undefined ? { message: 'is not known' } : { message: `is not known; did you mean ${meant}?`, meant };
}
