// What has changed in each list of a server since it was last read, and how that is reported.
import { compareItems, NO_CHANGES, type ItemChanges } from './item-changes.js';
import type { RefreshReport } from '../records/server-record.js';
import { listsChanged, serverListNames, type ServerListName, type ServerLists } from '../records/server-lists.js';
import type { StoredServer } from './server-state.js';
import type { ServerStorage } from './server-storage.js';

/** Tools by name; items of the other lists by the digest of their name or URI. */
export type ServerChanges = Readonly<Record<'tools' | ServerListName, ItemChanges>>;

export const NO_SERVER_CHANGES: ServerChanges = {
  tools: NO_CHANGES,
  prompts: NO_CHANGES,
  resources: NO_CHANGES,
  templates: NO_CHANGES,
};

/** Only lists whose digest has changed are read from the store. */
export async function compareLists(
  storage: Pick<ServerStorage, 'loadList'>,
  before: StoredServer,
  after: StoredServer,
  lists: ServerLists,
): Promise<Omit<ServerChanges, 'tools'>> {
  const changes = { prompts: NO_CHANGES, resources: NO_CHANGES, templates: NO_CHANGES };
  for (const name of listsChanged(before.listDigests, after.listDigests)) {
    changes[name] = compareItems(await storage.loadList(before.record.id, name), lists[name]?.items ?? new Map());
  }
  return changes;
}

type ReportedCounts = Omit<RefreshReport, 'status' | 'durationMs' | 'refreshedAt' | 'error'>;

export function reportedCounts({ tools, prompts, resources, templates }: ServerChanges): ReportedCounts {
  return {
    toolsAdded: tools.added.length,
    toolsUpdated: tools.updated.length,
    toolsRemoved: tools.removed.length,
    promptsAdded: prompts.added.length,
    promptsUpdated: prompts.updated.length,
    promptsRemoved: prompts.removed.length,
    resourcesAdded: resources.added.length,
    resourcesUpdated: resources.updated.length,
    resourcesRemoved: resources.removed.length,
    templatesAdded: templates.added.length,
    templatesUpdated: templates.updated.length,
    templatesRemoved: templates.removed.length,
  };
}

/** For the log: one entry for each list that has changed. */
export function changesInNumbers(
  changes: ServerChanges,
): readonly { readonly list: string; readonly added: number; readonly updated: number; readonly removed: number }[] {
  return (['tools', ...serverListNames] as const).flatMap((list) => {
    const { added, updated, removed } = changes[list];
    if (added.length + updated.length + removed.length === 0) return [];
    return [{ list, added: added.length, updated: updated.length, removed: removed.length }];
  });
}
