// Servers in the record store. A server has three records: its own, its tools (large, and seldom read), and the tools'
// digests; two more for each other list that is not empty; and its health history. Two index records lead to it: its
// case-folded name and its slug. All change in one swap, which keeps names unique across all control planes.
import type { RecordChange, RecordKey, RecordStore } from '../../store/index.js';
import { jobAdded, type PublicationJob } from '../compositions/publication-job.js';
import { isWorthTelling, SERVERS } from './server-directory.js';
import { isHealthChanged, withHealth, type HealthEntry, type StoredServer } from './server-state.js';
import type { ServerTool } from '../records/server-record.js';
import {
  type ItemDigests,
  listsChanged,
  NO_LISTS,
  type ServerListName,
  type ServerLists,
  toolListOf,
  type ToolList,
} from '../records/server-lists.js';

/** A server's name as a path segment, as in `my-server`; `server` when nothing of the name is left. */
export function slugOf(name: string): string {
  const slug = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
  return slug === '' ? 'server' : slug;
}

/** The slugs to try in turn while the ones before are taken: `my-server`, `my-server-2`, `my-server-3`, … */
export function* slugsFor(name: string): Generator<string, never> {
  const slug = slugOf(name);
  yield slug;
  for (let number = 2; ; number++) yield `${slug}-${number}`;
}

/** A server as it was read: what a swap expects to find. */
export interface ServerSnapshot extends StoredServer {
  readonly bytes: Buffer;
}

/** The digests of the tools as they were read. */
interface ToolsSnapshot {
  readonly digests: ReadonlyMap<string, string>;
  readonly bytes: Buffer | undefined;
}

/** What was read again of a server, and the stored tools before that. */
export interface ReadContents {
  readonly toolsBefore: ToolsSnapshot;
  readonly tools: ToolList;
  readonly lists: ServerLists;
}

const ID = /^[0-9a-f]{32}$/;
/** The form of ids, names and slugs, in lower case: anything else refers to nothing, and may not even be a valid key. */
const REFERENCE = /^[a-z0-9_.\- ]{1,100}$/;

export class ServerStorage {
  readonly #records: RecordStore;

  constructor(records: RecordStore) {
    this.#records = records;
  }

  /** Servers that do not exist are left out. */
  async loadMany(ids: readonly string[]): Promise<{ servers: StoredServer[]; bytes: number }> {
    const values = await this.#records.readMany(ids.map((id) => SERVERS + id));
    const found = values.filter((value) => value !== undefined);
    const bytes = found.reduce((sum, { length }) => sum + length, 0);
    return { servers: found.map((value) => decode(value) as StoredServer), bytes };
  }

  /** By id, by name in any case, or by slug, in this order. */
  async find(reference: string): Promise<ServerSnapshot | undefined> {
    const folded = foldCase(reference);
    if (!REFERENCE.test(folded)) return undefined;
    const byId = ID.test(folded) ? await this.load(folded) : undefined;
    if (byId !== undefined) return byId;
    const id = (await this.#text(nameKey(folded))) ?? (await this.#text(slugKey(folded)));
    return id === undefined ? undefined : this.load(id);
  }

  async load(id: string): Promise<ServerSnapshot | undefined> {
    const bytes = await this.#records.read(serverKey(id));
    return bytes === undefined ? undefined : { ...(decode(bytes) as StoredServer), bytes };
  }

  async loadTools(id: string): Promise<ToolsSnapshot> {
    const bytes = await this.#records.read(digestsKey(id));
    if (bytes !== undefined) return { digests: new Map(decode(bytes) as [string, string][]), bytes };
    // An earlier version stored no digests.
    const tools = await this.#records.read(toolsKey(id));
    return { digests: tools === undefined ? new Map() : toolListOf(decode(tools) as ServerTool[]).digests, bytes };
  }

  /** Empty when nothing is stored for the list. */
  async loadList(id: string, name: ServerListName): Promise<ItemDigests> {
    const bytes = await this.#records.read(listKey(id, name));
    return new Map(bytes === undefined ? [] : (decode(bytes) as [string, string][]));
  }

  /** JSON of all items. */
  async loadListJson(id: string, name: 'tools' | ServerListName): Promise<Buffer> {
    const key = name === 'tools' ? toolsKey(id) : itemsKey(id, name);
    return (await this.#records.read(key)) ?? Buffer.from('[]');
  }

  /** The latest first; empty where an earlier version stored nothing. */
  async loadHealth(id: string): Promise<readonly HealthEntry[]> {
    const bytes = await this.#records.read(healthKey(id));
    return bytes === undefined ? [] : (decode(bytes) as HealthEntry[]);
  }

  /** The id of the server that has this name. */
  async ownerOfName(name: string): Promise<string | undefined> {
    return this.#text(nameKey(foldCase(name)));
  }

  /** The first of a name's slugs that is free. */
  async findFreeSlug(name: string): Promise<string> {
    const slugs = slugsFor(name);
    let slug = slugs.next().value;
    while (!(await this.#isSlugFree(slug))) slug = slugs.next().value;
    return slug;
  }

  async #isSlugFree(slug: string): Promise<boolean> {
    return (await this.#text(slugKey(slug))) === undefined;
  }

  /** Returns false when its name or its slug is taken. */
  async tryInsert(
    server: StoredServer,
    { tools, lists }: Omit<ReadContents, 'toolsBefore'>,
    job: PublicationJob,
  ): Promise<boolean> {
    const { id, name, slug } = server.record;
    return this.#records.swap([
      ...moveIndex(nameKey, undefined, foldCase(name), id),
      ...moveIndex(slugKey, undefined, slug, id),
      { ...serverKey(id), expected: undefined, value: encode(server), isTold: true },
      { ...digestsKey(id), expected: undefined, value: encode([...tools.digests]) },
      { ...toolsKey(id), expected: undefined, value: Buffer.from(tools.json) },
      ...(await this.#changeLists(id, undefined, server, lists)),
      ...(await this.#changeHealth(id, undefined, server)),
      jobAdded(job),
    ]);
  }

  /**
   * Returns false when the server or its tools have changed since they were read, or the new name or slug is taken.
   * @param contents absent when unchanged.
   * @param job the publication that the change requires.
   */
  async tryUpdate(
    before: ServerSnapshot,
    after: StoredServer,
    contents?: ReadContents,
    job?: PublicationJob,
  ): Promise<boolean> {
    const { id } = before.record;
    const { bytes, ...known } = before;
    return this.#records.swap([
      ...moveIndex(nameKey, foldCase(before.record.name), foldCase(after.record.name), id),
      ...moveIndex(slugKey, before.record.slug, after.record.slug, id),
      { ...serverKey(id), expected: bytes, value: encode(after), isTold: isWorthTelling(known, after) },
      ...(contents === undefined ? [] : await this.#changeTools(id, contents.toolsBefore, contents.tools)),
      ...(contents === undefined ? [] : await this.#changeLists(id, known, after, contents.lists)),
      ...(await this.#changeHealth(id, known, after)),
      ...(job === undefined ? [] : [jobAdded(job)]),
    ]);
  }

  /** Returns false when the server or its tools have changed since they were read. */
  async tryDelete(server: ServerSnapshot, tools: ToolsSnapshot, job: PublicationJob): Promise<boolean> {
    const { id, name, slug } = server.record;
    return this.#records.swap([
      ...moveIndex(nameKey, foldCase(name), undefined, id),
      ...moveIndex(slugKey, slug, undefined, id),
      { ...serverKey(id), expected: server.bytes, value: undefined, isTold: true },
      ...(await this.#changeTools(id, tools, undefined)),
      ...(await this.#changeLists(id, server, undefined, NO_LISTS)),
      ...(await this.#changeHealth(id, server, undefined)),
      jobAdded(job),
    ]);
  }

  /** Empty when the digests are the same. Else the stored tools are read for the swap: an earlier version may have written them. */
  async #changeTools(id: string, before: ToolsSnapshot, after: ToolList | undefined): Promise<RecordChange[]> {
    const digests = after && encode([...after.digests]);
    if (digests !== undefined && before.bytes?.equals(digests) === true) return [];
    const expected = await this.#records.read(toolsKey(id));
    return [
      { ...digestsKey(id), expected: before.bytes, value: digests },
      { ...toolsKey(id), expected, value: after && Buffer.from(after.json) },
    ];
  }

  /** Lists whose digest in the server's record changes. Every writer of a list changes that record too, so the swap finds conflicts. */
  async #changeLists(
    id: string,
    before: StoredServer | undefined,
    after: StoredServer | undefined,
    lists: ServerLists,
  ): Promise<RecordChange[]> {
    const changes: RecordChange[] = [];
    for (const name of listsChanged(before?.listDigests, after?.listDigests)) {
      const list = lists[name];
      const isEmpty = list === undefined || list.items.size === 0;
      for (const [key, value] of [
        [listKey(id, name), isEmpty ? undefined : encode([...list.items])],
        [itemsKey(id, name), isEmpty ? undefined : Buffer.from(list.json)],
      ] as const) {
        const expected = await this.#records.read(key);
        if (expected !== undefined || value !== undefined) changes.push({ ...key, expected, value });
      }
    }
    return changes;
  }

  /** Empty when nothing has changed: a check that finds nothing new reads and writes nothing here. */
  async #changeHealth(
    id: string,
    before: StoredServer | undefined,
    after: StoredServer | undefined,
  ): Promise<RecordChange[]> {
    if (after !== undefined && !isHealthChanged(before?.record, after.record)) return [];
    const key = healthKey(id);
    const expected = await this.#records.read(key);
    if (after === undefined) return expected === undefined ? [] : [{ ...key, expected, value: undefined }];
    const history = expected === undefined ? [] : (decode(expected) as HealthEntry[]);
    return [{ ...key, expected, value: encode(withHealth(history, after.record, new Date().toISOString())) }];
  }

  async #text(key: RecordKey): Promise<string | undefined> {
    return (await this.#records.read(key))?.toString();
  }
}

/** Names are ASCII. */
function foldCase(name: string): string {
  return name.toLowerCase();
}

function serverKey(id: string): RecordKey {
  return { space: 'records', key: SERVERS + id };
}

function toolsKey(id: string): RecordKey {
  return { space: 'records', key: `server-tools/${id}` };
}

function digestsKey(id: string): RecordKey {
  return { space: 'records', key: `server-tool-digests/${id}` };
}

function listKey(id: string, name: ServerListName): RecordKey {
  return { space: 'records', key: `server-${name}/${id}` };
}

function itemsKey(id: string, name: ServerListName): RecordKey {
  return { space: 'records', key: `server-${name}-items/${id}` };
}

function healthKey(id: string): RecordKey {
  return { space: 'records', key: `server-health/${id}` };
}

function nameKey(foldedName: string): RecordKey {
  return { space: 'records', key: `server-names/${foldedName}` };
}

function slugKey(slug: string): RecordKey {
  return { space: 'records', key: `server-slugs/${slug}` };
}

/** The changes that make an index find the server under `after` and no longer under `before`. */
function moveIndex(
  keyOf: (term: string) => RecordKey,
  before: string | undefined,
  after: string | undefined,
  id: string,
): RecordChange[] {
  if (before === after) return [];
  const changes: RecordChange[] = [];
  if (before !== undefined) changes.push({ ...keyOf(before), expected: Buffer.from(id), value: undefined });
  if (after !== undefined) changes.push({ ...keyOf(after), expected: undefined, value: Buffer.from(id) });
  return changes;
}

function encode(value: StoredServer | readonly (readonly [string, string])[] | readonly HealthEntry[]): Buffer {
  return Buffer.from(JSON.stringify(value));
}

function decode(bytes: Buffer): unknown {
  return JSON.parse(bytes.toString());
}
