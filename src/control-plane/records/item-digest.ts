// Digests for comparing two readings of a list.
import { createHash } from 'node:crypto';

/** The digest of each item, by the item's key. */
export type ItemDigests = ReadonlyMap<string, string>;

/** Independent of the order of members, which some servers change each time. */
export function digestOfItem(item: unknown): string {
  return digestOf(JSON.stringify(inOrder(item)));
}

/** Independent of the order of the items. */
export function digestOfList(digests: ItemDigests): string {
  return digestOf(JSON.stringify([...digests].sort(([a], [b]) => (a < b ? -1 : 1))));
}

/** The digest of an item's key, in place of a text that may be long. */
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
  // Not an object: it would put numeric names first, and lose `__proto__`.
  return ['object', ...members.flatMap(([name, member]) => [name, inOrder(member)])];
}

/** 132 bits. */
const DIGEST_CHARS = 22;
