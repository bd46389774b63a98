// Which members a user config may have, and where, read off its schema: for the ones that nothing reads. Those are for others
// to use, but one that looks like a member that is known was meant to be that: an allow-list under another name would
// restrict nothing. Cold.
import { z } from 'zod';
import { nameLike } from '../shared/likeness.js';
import type { ConfigIssue } from './config-issue.js';

/** Different unknown names of one config that are looked at: it may have very many, and time is short. */
const NAMES_JUDGED_MAX = 100;

/** What may stand in one place. Where nothing named can stand there is no level. */
interface Level {
  /** By name, with what is in them. */
  readonly members: ReadonlyMap<string, Level | undefined>;
  /** Of what is keyed by names of the config, or of a list: each one's. */
  readonly each: Level | undefined;
  /** Others may have members of their own in it, which it lets pass. */
  readonly isOpen: boolean;
}

export class KnownMembers {
  readonly #root: Level | undefined;
  /** Of the open levels alone: an unknown member of another one is refused with it. */
  readonly #openNames = new Set<string>();
  readonly #allNames = new Set<string>();

  constructor(schema: z.ZodType) {
    this.#root = this.#levelOf(schema);
  }

  /** @param value need not fit the schema. */
  findOddities(value: unknown): ConfigIssue[] {
    const issues: ConfigIssue[] = [];
    const meanings = new Map<string, string | undefined>();
    const meaningOf = (name: string): string | undefined => {
      if (!meanings.has(name) && meanings.size < NAMES_JUDGED_MAX) meanings.set(name, nameLike(name, this.#openNames));
      return meanings.get(name);
    };
    const look = (level: Level, members: unknown, path: readonly string[]): void => {
      if (typeof members !== 'object' || members === null) return;
      for (const [name, member] of Object.entries(members)) {
        if (!level.isOpen || level.members.has(name)) {
          const inner = level.members.get(name) ?? level.each;
          if (inner !== undefined) look(inner, member, [...path, name]);
          continue;
        }
        const meant = meaningOf(name);
        if (meant === undefined) continue;
        if (meant === name) issues.push({ path: [...path, name], message: 'has no effect here' });
        else issues.push({ path: [...path, name], ...unknownMember(meant) });
      }
    };
    if (this.#root !== undefined) look(this.#root, value, []);
    return issues;
  }

  /** Of a member that is refused because it is not known. */
  describeUnknown(name: string): Omit<ConfigIssue, 'path'> {
    return unknownMember(nameLike(name, this.#allNames));
  }

  #levelOf(schema: unknown): Level | undefined {
    if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return this.#levelOf(schema.unwrap());
    if (schema instanceof z.ZodPipe) return this.#levelOf(schema.out);
    if (schema instanceof z.ZodMap || schema instanceof z.ZodRecord) return each(this.#levelOf(schema.valueType));
    if (schema instanceof z.ZodArray) return each(this.#levelOf(schema.element));
    if (schema instanceof z.ZodUnion) return anyOf(schema.options.map((option) => this.#levelOf(option)));
    if (!(schema instanceof z.ZodObject)) return undefined;
    const isOpen = !(schema.def.catchall instanceof z.ZodNever);
    const members = new Map<string, Level | undefined>();
    for (const [name, member] of Object.entries(schema.shape)) {
      members.set(name, this.#levelOf(member));
      this.#allNames.add(name);
      if (isOpen) this.#openNames.add(name);
    }
    return { members, each: undefined, isOpen };
  }
}

function each(level: Level | undefined): Level | undefined {
  return level === undefined ? undefined : { members: new Map(), each: level, isOpen: false };
}

/** What may stand where one of several shapes does. */
function anyOf(levels: readonly (Level | undefined)[]): Level | undefined {
  const known = levels.filter((level) => level !== undefined);
  const [first] = known;
  if (first === undefined) return undefined;
  return { ...first, members: new Map(known.flatMap(({ members }) => [...members])) };
}

function unknownMember(meant: string | undefined): Omit<ConfigIssue, 'path'> {
  return meant === undefined ? { message: 'is not known' } : { message: `is not known; did you mean ${meant}?`, meant };
}
