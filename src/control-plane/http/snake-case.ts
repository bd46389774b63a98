// Reads members in snake_case as if they were written in camelCase (decisions 3). Only members of this interface:
// nested values, such as a server's own capabilities, are left as they are.
import { HttpRefusal } from './answered-error.js';

/** @returns anything but an object unchanged. Throws when a member is given in both spellings. */
export function withCamelCaseMembers(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const renamed = new Map<string, unknown>();
  for (const [name, member] of Object.entries(value)) {
    const camelCase = name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    if (renamed.has(camelCase))
      throw new HttpRefusal(422, `${camelCase} is given twice, also as ${name}: send only one of them`);
    renamed.set(camelCase, member);
  }
  return Object.fromEntries(renamed);
}
