// The lists of a server beside its tools: prompts, resources and templates of resources. They are kept as tools are: the JSON of what
// the server told, which nobody here parses, and what it takes to tell what has changed: two digests for each item.
import type { ItemDigests } from './item-digest.js';

export const serverListNames = ['prompts', 'resources', 'templates'] as const;

export type ServerListName = (typeof serverListNames)[number];

/** As it comes from where it was read: to digest a long one takes its time. */
export interface ServerList {
  /** By the digest of what each item is known by. */
  readonly items: ItemDigests;
  /** Of all of them, in whatever order they are. */
  readonly digest: string;
  /** An array, with every member that the server gave them. */
  readonly json: Uint8Array;
}

/** `undefined`: the server did not give the list, and nothing is known of it. */
export type ServerLists = Readonly<Record<ServerListName, ServerList | undefined>>;

export const NO_LISTS: ServerLists = { prompts: undefined, resources: undefined, templates: undefined };

/** There once the list was read. */
export type ServerListDigests = Readonly<Partial<Record<ServerListName, string>>>;

export function listDigestsOf(lists: ServerLists): ServerListDigests {
  const told = serverListNames.flatMap((name) => {
    const list = lists[name];
    return list === undefined ? [] : [[name, list.digest] as const];
  });
  return Object.fromEntries(told);
}

/** What a server's record says of them. */
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

/** Names of the lists that are others. */
export function listsChanged(before: ServerListDigests = {}, after: ServerListDigests = {}): readonly ServerListName[] {
  return serverListNames.filter((name) => before[name] !== after[name]);
}
