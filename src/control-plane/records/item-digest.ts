// Digests by which two readings of a list are told apart.
import { createHash } from 'node:crypto';

/** Digest of each item, by what it is known by. */
export type ItemDigests = ReadonlyMap<string, string>;

/** Some servers write an item's members in another order each time. */
export function digestOfItem(item: unknown): string {
  return digestOf(JSON.stringify(inOrder(item)));
}

/** In whatever order its items are. */
export function digestOfList(digests: ItemDigests): string {
  return digestOf(JSON.stringify([...digests].sort(([a], [b]) => (a < b ? -1 : 1))));
}

/** Of what items are known by, in place of texts that may be long. */
export function digestOfKey(key: string): string {
  return digestOf(key);
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, DIGEST_CHARS);
}

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return ['list', ...value.map(inOrder)];
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  // Not an object: its members of digits would come first, and `__proto__` would not come.
  return ['object', ...members.flatMap(([name, member]) => [name, inOrder(member)])];
}

/** 132 bits. */
const DIGEST_CHARS = 22;
