// Servers in the record store. A server is two records, its own and its tools (large, and seldom asked for), and is
// found by two more: its name, case folded, and its slug. They change together or not at all, which is what makes names
// unique for all control planes.
import type { RecordChange, RecordKey, RecordStore } from '../../store/record-store.js';
import type { ServerTool } from './server-record.js';
import type { StoredServer } from './server-state.js';

/** A server as it was read: what a change of it expects to find. */
export interface ServerSnapshot extends StoredServer {
  readonly bytes: Buffer;
}

export interface ToolsSnapshot {
  readonly tools: readonly ServerTool[];
  readonly bytes: Buffer | undefined;
}

const SERVERS = 'servers/';
const ID = /^[0-9a-f]{32}$/;
/** What an id, a name or a slug may look like, in lower case: anything else is nobody's, and may be no key at all. */
const REFERENCE = /^[a-z0-9_.\- ]{1,100}$/;

export class ServerStorage {
  readonly #records: RecordStore;

  constructor(records: RecordStore) {
    this.#records = records;
  }

  async list(): Promise<StoredServer[]> {
    return (await this.#records.list(SERVERS)).map(({ value }) => decode(value) as StoredServer);
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
    const bytes = await this.#records.read(toolsKey(id));
    return { tools: bytes === undefined ? [] : (decode(bytes) as ServerTool[]), bytes };
  }

  /** The id of the server that has this name. */
  async ownerOfName(name: string): Promise<string | undefined> {
    return this.#text(nameKey(foldCase(name)));
  }

  async isSlugFree(slug: string): Promise<boolean> {
    return (await this.#text(slugKey(slug))) === undefined;
  }

  /** False when its name or its slug is taken. */
  async tryInsert(server: StoredServer, tools: readonly ServerTool[]): Promise<boolean> {
    const { id, name, slug } = server.record;
    return this.#records.swap([
      ...moveIndex(nameKey, undefined, foldCase(name), id),
      ...moveIndex(slugKey, undefined, slug, id),
      { ...serverKey(id), expected: undefined, value: encode(server) },
      { ...toolsKey(id), expected: undefined, value: encode(tools) },
    ]);
  }

  /**
   * False when the server or its tools are not as they were read, or a new name or slug is taken.
   * @param tools before and after; absent when they stay
   */
  async tryUpdate(
    before: ServerSnapshot,
    after: StoredServer,
    tools?: { readonly before: ToolsSnapshot; readonly after: readonly ServerTool[] },
  ): Promise<boolean> {
    const { id } = before.record;
    const toolChanges: RecordChange[] = [];
    if (tools !== undefined) {
      const value = encode(tools.after);
      if (tools.before.bytes?.equals(value) !== true) {
        toolChanges.push({ ...toolsKey(id), expected: tools.before.bytes, value });
      }
    }
    return this.#records.swap([
      ...moveIndex(nameKey, foldCase(before.record.name), foldCase(after.record.name), id),
      ...moveIndex(slugKey, before.record.slug, after.record.slug, id),
      { ...serverKey(id), expected: before.bytes, value: encode(after) },
      ...toolChanges,
    ]);
  }

  /** False when the server or its tools are not as they were read. */
  async tryDelete(server: ServerSnapshot, tools: ToolsSnapshot): Promise<boolean> {
    const { id, name, slug } = server.record;
    return this.#records.swap([
      ...moveIndex(nameKey, foldCase(name), undefined, id),
      ...moveIndex(slugKey, slug, undefined, id),
      { ...serverKey(id), expected: server.bytes, value: undefined },
      { ...toolsKey(id), expected: tools.bytes, value: undefined },
    ]);
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

function encode(value: StoredServer | readonly ServerTool[]): Buffer {
  return Buffer.from(JSON.stringify(value));
}

function decode(bytes: Buffer): unknown {
  return JSON.parse(bytes.toString());
}
