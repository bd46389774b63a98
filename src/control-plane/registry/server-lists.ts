// The lists of a server beside its tools: prompts, resources and templates of resources. Nobody asks the control plane for
// what is in them, so that no more is kept than it takes to tell what has changed: two digests for each item.
import { digestOfList, type ItemDigests } from './item-digest.js';

export const serverListNames = ['prompts', 'resources', 'templates'] as const;

export type ServerListName = (typeof serverListNames)[number];

/** By the digest of what an item is known by. `undefined`: the server did not give the list, and nothing is known of it. */
export type ServerLists = Readonly<Record<ServerListName, ItemDigests | undefined>>;

export const NO_LISTS: ServerLists = { prompts: undefined, resources: undefined, templates: undefined };

/** A digest of each list, in whatever order its items are; there once the list was read. */
export type ServerListDigests = Readonly<Partial<Record<ServerListName, string>>>;

export function listDigestsOf(lists: ServerLists): ServerListDigests {
  const told = serverListNames.flatMap((name) => {
    const items = lists[name];
    return items === undefined ? [] : [[name, digestOfList(items)] as const];
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
    ...(prompts === undefined ? {} : { promptCount: prompts.size }),
    ...(resources === undefined ? {} : { resourceCount: resources.size }),
    ...(templates === undefined ? {} : { templateCount: templates.size }),
  };
}

/** Names of the lists that are others. */
export function listsChanged(before: ServerListDigests = {}, after: ServerListDigests = {}): readonly ServerListName[] {
  return serverListNames.filter((name) => before[name] !== after[name]);
}
