// Objects of a config whose members have names of its own, read as maps: `__proto__` is a name like any other. Cold.
import { z } from 'zod';

/** For `JSON.stringify`: such maps as the objects that they were. */
export function mapsAsObjects(_key: string, value: unknown): unknown {
  return value instanceof Map ? Object.fromEntries(value) : value;
}

/** An object's members as a map. */
export function namedMembers<Member extends z.ZodType>(name: z.ZodType<string, string>, member: Member) {
  return z.preprocess(
    (value) =>
      typeof value === 'object' && value !== null && !Array.isArray(value) ? new Map(Object.entries(value)) : value,
    z.map(name, member, 'must be an object'),
  );
}
