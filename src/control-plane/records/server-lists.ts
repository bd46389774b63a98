// A server's lists other than tools: prompts, resources and resource templates. They are stored like tools: the
// server's JSON, which is not parsed here, and two digests for each item, by which changes are found.
import type { ItemDigests } from './item-digest.js';

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
