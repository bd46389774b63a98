// Servers in the record store. Each has its own record, two for each non-empty list (the items and their digests), and its
// health history. Its name and slug lead to it. All of these change in one swap.
import type { RecordChange, RecordStore } from '../../store/index.js';
import {
  type HealthEntry,
  type ServerRecord,
  type AllLists,
  type ItemDigests,
  LISTS,
  type ListName,
  NO_LISTS,
} from '../records/server-record.js';
import { Collection, type Decision, keyOf, type Snapshot } from './collection.js';
import { compareItems, type ItemChanges, type ServerChanges } from './list-changes.js';
import { isKnownPartChanged, SERVERS } from './server-directory.js';
import { digestsOf, isHealthChanged, serverETag, addHealthEntry, type StoredServer } from './server-state.js';

/** A name as a path segment: `My server!` becomes `my-server`. */
export function slugOf(name: string): string {
  const slug = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
  return slug === '' ? 'server' : slug;
}

const SLUGS = 'server-slugs/';

interface ServerDecision extends Decision<StoredServer> {
  readonly lists?: AllLists | undefined;
}

export class ServerStorage extends Collection<StoredServer, ServerRecord> {
  constructor(records: RecordStore) {
    super(records, {
      ...{ noun: 'server', prefix: SERVERS, indices: ['server-names/', SLUGS] },
      entityOf: ({ record }) => record,
      namesOf: ({ name, slug }) => [name, slug],
      tagOf: serverETag,
      takenMessage: (name) => `A server named ${name} is already registered`,
    });
  }

  /** Loads the servers; those that do not exist are left out. */
  async loadMany(ids: readonly string[]): Promise<{ servers: StoredServer[]; bytes: number }> {
    const values = await this.records.readMany(ids.map((id) => SERVERS + id));
    const found = values.filter((value) => value !== undefined);
    const bytes = found.reduce((sum, { length }) => sum + length, 0);
    return { servers: found.map((value) => decode(value) as StoredServer), bytes };
  }

  /** The digests of a list; empty if nothing is stored for it. */
  async loadList(id: string, name: ListName): Promise<ItemDigests> {
    const bytes = await this.records.read(digestsKey(id, name));
    return bytes === undefined ? new Map() : new Map(decode(bytes) as [string, string][]);
  }

  /** The changes of the lists. Reads only those whose digest has changed. */
  async compareLists(before: StoredServer, after: StoredServer, lists: AllLists): Promise<ServerChanges> {
    const changes = new Map<ListName, ItemChanges>();
    for (const name of changedLists(before, after)) {
      const found = compareItems(await this.loadList(before.record.id, name), lists[name]?.items ?? new Map());
      if (found.added + found.updated + found.removed > 0) changes.set(name, found);
    }
    return changes;
  }

  async loadListJson(id: string, name: ListName): Promise<Buffer> {
    return (await this.records.read(itemsKey(id, name))) ?? Buffer.from('[]');
  }

  /** The server's health history, the latest entry first. */
  async loadHealth(id: string): Promise<readonly HealthEntry[]> {
    const bytes = await this.records.read(healthKey(id));
    return bytes === undefined ? [] : (decode(bytes) as HealthEntry[]);
  }

  /** The first free one of `my-server`, `my-server-2`, `my-server-3`, … */
  async findFreeSlug(name: string): Promise<string> {
    const slug = slugOf(name);
    for (let number = 1; ; number++) {
      const numbered = number === 1 ? slug : `${slug}-${number}`;
      if ((await this.idOfName(numbered, SLUGS)) === undefined) return numbered;
    }
  }

  /** The changes of a server's records, including those of its lists and health history. */
  protected override async changesOf(
    before: Snapshot<StoredServer> | undefined,
    decided: ServerDecision,
  ): Promise<RecordChange[]> {
    const { after, lists = NO_LISTS } = decided;
    const { id } = (after ?? before!.row).record;
    return [
      ...(await super.changesOf(before, decided, isKnownPartChanged(before?.row, after))),
      ...(await this.#changeLists(id, before?.row, after, lists)),
      ...(await this.#changeHealth(id, before?.row, after)),
    ];
  }

  /** Writes the lists whose digests change. These digests are in the server's record, so the swap notices other writers. */
  async #changeLists(
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
        [digestsKey(id, name), isEmpty ? undefined : encode([...list.items])],
        [itemsKey(id, name), isEmpty ? undefined : Buffer.from(list.json)],
      ] as const) {
        const expected = await this.records.read(key);
        if (expected !== undefined || value !== undefined) changes.push({ ...key, expected, value });
      }
    }
    return changes;
  }

  /** The change of the health history. There is none if the probe's result is the same as before: then the history is not even read. */
  async #changeHealth(
    id: string,
    before: StoredServer | undefined,
    after: StoredServer | undefined,
  ): Promise<RecordChange[]> {
    if (after !== undefined && !isHealthChanged(before?.record, after.record)) return [];
    const key = healthKey(id);
    const expected = await this.records.read(key);
    if (after === undefined) return expected === undefined ? [] : [{ ...key, expected, value: undefined }];
    const history = expected === undefined ? [] : (decode(expected) as HealthEntry[]);
    return [{ ...key, expected, value: encode(addHealthEntry(history, after.record, new Date().toISOString())) }];
  }
}

function changedLists(before: StoredServer | undefined, after: StoredServer | undefined): readonly ListName[] {
  const [old, next] = [before && digestsOf(before), after && digestsOf(after)];
  return LISTS.filter((name) => old?.[name] !== next?.[name]);
}

function digestsKey(id: string, name: ListName) {
  return keyOf(name === 'tools' ? 'server-tool-digests/' : `server-${name}/`, id);
}

function itemsKey(id: string, name: ListName) {
  return keyOf(name === 'tools' ? 'server-tools/' : `server-${name}-items/`, id);
}

function healthKey(id: string) {
  return keyOf('server-health/', id);
}

function encode(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

function decode(bytes: Buffer): unknown {
  return JSON.parse(bytes.toString());
}
