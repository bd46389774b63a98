// A server's lists as they are stored and sent, with the digests by which two readings of a list are compared.
import { createHash } from 'node:crypto';
import type { ServerTool } from './server-record.js';

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

/** All of a server's lists. */
export const LISTS = ['tools', 'prompts', 'resources', 'templates'] as const;

export type ListName = (typeof LISTS)[number];

/** Digested by the probe thread that read it, because digesting a long list takes time. A list may be large, so it is not parsed elsewhere. */
export interface ServerList {
  /** Tools by name, items of the other lists by the digest of their name or URI. */
  readonly items: ItemDigests;
  /** Of the whole list, independent of the order of its items. */
  readonly digest: string;
  /** A JSON array of the items, with every member that the server gave them. */
  readonly json: Uint8Array;
}

/** `undefined`: the server did not give the list, so nothing is known of it. */
export type AllLists = Readonly<Record<ListName, ServerList | undefined>>;

export const NO_LISTS: AllLists = { tools: undefined, prompts: undefined, resources: undefined, templates: undefined };

/** A list has a digest once it was read. */
export type ListDigests = Readonly<Partial<Record<ListName, string>>>;

/** Of each list that was given. */
export function ofEachList<Value>(
  lists: AllLists,
  valueOf: (list: ServerList) => Value,
): Partial<Record<ListName, Value>> {
  const given = LISTS.flatMap((name) => {
    const list = lists[name];
    return list === undefined ? [] : [[name, valueOf(list)] as const];
  });
  return Object.fromEntries(given);
}

/** @param tools names are unique. */
export function toolListOf(tools: readonly ServerTool[]): ServerList {
  const items = new Map(tools.map((tool) => [tool.name, digestOfItem(tool)]));
  return { items, digest: digestOfList(items), json: Buffer.from(JSON.stringify(tools)) };
}
