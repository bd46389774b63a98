// Members in snake_case are read as if they were written in camelCase (decisions 3). Only members of ours: what stands
// inside of them, such as a server's own capabilities, is left as it is.
import { Refused } from './answered-error.js';

/** @returns the same value when it is no object. Throws when a member is there in both ways. */
export function withCamelCaseMembers(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const renamed = new Map<string, unknown>();
  for (const [name, member] of Object.entries(value)) {
    const camelCase = name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    if (renamed.has(camelCase))
      throw new Refused(422, `${camelCase} is given twice, also as ${name}: send only one of them`);
    renamed.set(camelCase, member);
  }
  return Object.fromEntries(renamed);
}
