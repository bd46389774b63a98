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

export const serverListNames = ['prompts', 'resources', 'templates'] as const;

export type ServerListName = (typeof serverListNames)[number];

/** Digested by the probe thread that read it, because digesting a long list takes time. */
export interface ServerList {
  /** By the digest of each item's key. */
  readonly items: ItemDigests;
  /** Of the whole list, independent of the order of its items. */
  readonly digest: string;
  /** A JSON array of the items, with every member that the server gave them. */
  readonly json: Uint8Array;
}

/** `undefined`: the server did not give the list, so nothing is known of it. */
export type ServerLists = Readonly<Record<ServerListName, ServerList | undefined>>;

export const NO_LISTS: ServerLists = { prompts: undefined, resources: undefined, templates: undefined };

/** A list has a digest once it was read. */
export type ServerListDigests = Readonly<Partial<Record<ServerListName, string>>>;

export function listDigestsOf(lists: ServerLists): ServerListDigests {
  const told = serverListNames.flatMap((name) => {
    const list = lists[name];
    return list === undefined ? [] : [[name, list.digest] as const];
  });
  return Object.fromEntries(told);
}

/** The counts in a server's record. */
export function listCountsOf({ prompts, resources, templates }: ServerLists): {
  promptCount?: number;
  resourceCount?: number;
  templateCount?: number;
} {
  return {
    ...(prompts === undefined ? {} : { promptCount: prompts.items.size }),
    ...(resources === undefined ? {} : { resourceCount: resources.items.size }),
    ...(templates === undefined ? {} : { templateCount: templates.items.size }),
  };
}

/** Names of the lists that have changed. */
export function listsChanged(before: ServerListDigests = {}, after: ServerListDigests = {}): readonly ServerListName[] {
  return serverListNames.filter((name) => before[name] !== after[name]);
}

/**
 * Tools: their JSON, parsed and written only where they are probed, and a digest of each by its name, which is all that other parts
 * need. A list may be large, so it is not parsed elsewhere.
 */
export interface ToolList {
  /** A JSON array, with every member that the server gave its tools. */
  readonly json: Uint8Array;
  /** By name; tools with the same name and digest are the same. */
  readonly digests: ItemDigests;
}

export const NO_TOOLS: ToolList = Object.freeze({ json: Buffer.from('[]'), digests: new Map() });

/** @param tools names are unique. */
export function toolListOf(tools: readonly ServerTool[]): ToolList {
  return {
    json: Buffer.from(JSON.stringify(tools)),
    digests: new Map(tools.map((tool) => [tool.name, digestOfItem(tool)])),
  };
}
