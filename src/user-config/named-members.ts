// Reads objects whose member names are chosen by the config as maps, so that `__proto__` is a name like any other. Cold path.
import { z } from 'zod';

/** A `JSON.stringify` replacer that turns such maps back into objects. */
export function mapsAsObjects(_key: string, value: unknown): unknown {
  return value instanceof Map ? Object.fromEntries(value) : value;
}

/** A schema that reads an object's members as a map. */
export function namedMembers<Member extends z.ZodType>(name: z.ZodType<string, string>, member: Member) {
  return z.preprocess(
    (value) =>
      typeof value === 'object' && value !== null && !Array.isArray(value) ? new Map(Object.entries(value)) : value,
    z.map(name, member, 'must be an object'),
  );
}
