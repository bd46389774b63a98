// Servers in the record store. A server has its own record, two records for each non-empty list (the items and their digests),
// a health history, and two records that map its name and slug to its id. All of these change in one swap.
import type { RecordChange, RecordStore } from '../../store/index.js';
import {
  type HealthEntry,
  type ServerRecord,
  type AllLists,
  type ItemDigests,
  LIST_NAMES,
  type ListName,
  NO_LISTS,
} from '../records/server-record.js';
import { Collection, type Decision, recordKey, type Snapshot } from './collection.js';
import { compareItems, type ItemChanges, type ServerChanges } from './list-changes.js';
import { isKnownServerChanged, SERVERS_PREFIX } from './server-directory.js';
import { digestsOf, isHealthChanged, serverETag, addHealthEntry, type StoredServer } from './server-state.js';

/** A name as a path segment: `My server!` becomes `my-server`. */
export function slugOf(name: string): string {
  const slug = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
  return slug === '' ? 'server' : slug;
}

const SLUGS_PREFIX = 'server-slugs/';

interface ServerDecision extends Decision<StoredServer> {
  readonly lists?: AllLists | undefined;
}

export class ServerStorage extends Collection<StoredServer, ServerRecord> {
  constructor(records: RecordStore) {
    super(records, {
      ...{ noun: 'server', prefix: SERVERS_PREFIX, indices: ['server-names/', SLUGS_PREFIX] },
      entityOf: ({ record }) => record,
      namesOf: ({ name, slug }) => [name, slug],
      tagOf: serverETag,
      takenMessage: (name) => `A server named ${name} is already registered`,
    });
  }

  /** Loads the servers, without those that do not exist. `bytes` is the size of their records together. */
  async loadMany(ids: readonly string[]): Promise<{ servers: StoredServer[]; bytes: number }> {
    const values = await this.records.readMany(ids.map((id) => SERVERS_PREFIX + id));
    const found = values.filter((value) => value !== undefined);
    const bytes = found.reduce((sum, { length }) => sum + length, 0);
    return { servers: found.map((value) => decodeJson(value) as StoredServer), bytes };
  }

  /** The digests of a list; empty if nothing is stored for it. */
  async loadDigests(id: string, name: ListName): Promise<ItemDigests> {
    const bytes = await this.records.read(digestsKey(id, name));
    return bytes === undefined ? new Map() : new Map(decodeJson(bytes) as [string, string][]);
  }

  /** What has changed in each list. Reads only the stored lists whose digest has changed. */
  async compareLists(before: StoredServer, after: StoredServer, lists: AllLists): Promise<ServerChanges> {
    const changes = new Map<ListName, ItemChanges>();
    for (const name of changedLists(before, after)) {
      const found = compareItems(await this.loadDigests(before.record.id, name), lists[name]?.items ?? new Map());
      if (found.added + found.updated + found.removed > 0) changes.set(name, found);
    }
    return changes;
  }

  async loadListJson(id: string, name: ListName): Promise<Buffer> {
    return (await this.records.read(itemsKey(id, name))) ?? Buffer.from('[]');
  }

  async loadHealth(id: string): Promise<readonly HealthEntry[]> {
    const bytes = await this.records.read(healthKey(id));
    return bytes === undefined ? [] : (decodeJson(bytes) as HealthEntry[]);
  }

  /** The first free one of `my-server`, `my-server-2`, `my-server-3`, … */
  async findFreeSlug(name: string): Promise<string> {
    const slug = slugOf(name);
    for (let number = 1; ; number++) {
      const numbered = number === 1 ? slug : `${slug}-${number}`;
      if ((await this.idOfName(numbered, SLUGS_PREFIX)) === undefined) return numbered;
    }
  }

  protected override async changesOf(
    before: Snapshot<StoredServer> | undefined,
    decided: ServerDecision,
  ): Promise<RecordChange[]> {
    const { after, lists = NO_LISTS } = decided;
    const { id } = (after ?? before!.row).record;
    return [
      ...(await super.changesOf(before, decided, isKnownServerChanged(before?.row, after))),
      ...(await this.#listChanges(id, before?.row, after, lists)),
      ...(await this.#healthChanges(id, before?.row, after)),
    ];
  }

  /** The changes of the lists whose digests change. The server's record has these digests, so the swap notices other writers. */
  async #listChanges(
    id: string,
    before: StoredServer | undefined,
    after: StoredServer | undefined,
    lists: AllLists,
  ): Promise<RecordChange[]> {
    const changes: RecordChange[] = [];
    for (const name of changedLists(before, after)) {
      const list = lists[name];
      const isEmpty = list === undefined || list.items.size === 0;
      for (const [key, value] of [
        [digestsKey(id, name), isEmpty ? undefined : encodeJson([...list.items])],
        [itemsKey(id, name), isEmpty ? undefined : Buffer.from(list.json)],
      ] as const) {
        const expected = await this.records.read(key);
        if (expected !== undefined || value !== undefined) changes.push({ ...key, expected, value });
      }
    }
    return changes;
  }

  /** The change of the health history. The history is not even read if the probe's result is the same as before. */
  async #healthChanges(
    id: string,
    before: StoredServer | undefined,
    after: StoredServer | undefined,
  ): Promise<RecordChange[]> {
    if (after !== undefined && !isHealthChanged(before?.record, after.record)) return [];
    const key = healthKey(id);
    const expected = await this.records.read(key);
    if (after === undefined) return expected === undefined ? [] : [{ ...key, expected, value: undefined }];
    const history = expected === undefined ? [] : (decodeJson(expected) as HealthEntry[]);
    return [{ ...key, expected, value: encodeJson(addHealthEntry(history, after.record, new Date().toISOString())) }];
  }
}

function changedLists(before: StoredServer | undefined, after: StoredServer | undefined): readonly ListName[] {
  const [old, next] = [before && digestsOf(before), after && digestsOf(after)];
  return LIST_NAMES.filter((name) => old?.[name] !== next?.[name]);
}

function digestsKey(id: string, name: ListName) {
  return recordKey(name === 'tools' ? 'server-tool-digests/' : `server-${name}/`, id);
}

function itemsKey(id: string, name: ListName) {
  return recordKey(name === 'tools' ? 'server-tools/' : `server-${name}-items/`, id);
}

function healthKey(id: string) {
  return recordKey('server-health/', id);
}

function encodeJson(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

function decodeJson(bytes: Buffer): unknown {
  return JSON.parse(bytes.toString());
}
