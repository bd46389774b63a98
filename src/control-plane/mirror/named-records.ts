// Rows of one kind in the record store. Each is a record by id; one more record for each of its names maps the name, in
// lower case, to the id. All change in one swap, which keeps names unique across all control planes.
import type { RecordChange, RecordKey, RecordStore } from '../../store/index.js';

/** A row as it was read: what a swap expects to find. */
export interface Snapshot<Row> {
  readonly row: Row;
  readonly bytes: Buffer;
}

/** The id of a row, and its names in the order of the indices. */
type Names = readonly [id: string, ...names: string[]];

const ID = /^[0-9a-f]{32}$/;
/** The form of ids and names, in lower case: anything else refers to nothing, and may not even be a valid key. */
const REFERENCE = /^[a-z0-9_.\- ]{1,100}$/;

export class NamedRecords<Row> {
  readonly #records: Pick<RecordStore, 'read'>;
  readonly #prefix: string;
  readonly #indices: readonly string[];
  readonly #namesOf: (row: Row) => Names;

  /** @param indices prefixes of the keys of names. A reference is looked up in each in turn. */
  constructor(
    records: Pick<RecordStore, 'read'>,
    prefix: string,
    indices: readonly string[],
    namesOf: (row: Row) => Names,
  ) {
    this.#records = records;
    this.#prefix = prefix;
    this.#indices = indices;
    this.#namesOf = namesOf;
  }

  /** By id, else by a name in any case. */
  async find(reference: string): Promise<Snapshot<Row> | undefined> {
    const folded = reference.toLowerCase();
    if (!REFERENCE.test(folded)) return undefined;
    const byId = ID.test(folded) ? await this.load(folded) : undefined;
    if (byId !== undefined) return byId;
    for (const index of this.#indices) {
      const id = await this.ownerOf(folded, index);
      if (id !== undefined) return this.load(id);
    }
    return undefined;
  }

  async load(id: string): Promise<Snapshot<Row> | undefined> {
    const bytes = await this.#records.read(keyOf(this.#prefix, id));
    return bytes && { row: JSON.parse(bytes.toString()) as Row, bytes };
  }

  /** The id of the row that has the name. @param index the first, unless given. */
  async ownerOf(name: string, index = this.#indices[0]!): Promise<string | undefined> {
    return (await this.#records.read(keyOf(index, name.toLowerCase())))?.toString();
  }

  /**
   * The changes that make one of the two the other. A swap with them fails when the row has changed since it was read, or one of its new
   * names is taken.
   */
  changes(before: Snapshot<Row> | undefined, after: Row | undefined, isTold = true): RecordChange[] {
    const left = before && this.#namesOf(before.row);
    const taken = after && this.#namesOf(after);
    const id = (taken ?? left)![0];
    const moved = this.#indices.flatMap((index, at) => moveName(index, left?.[at + 1], taken?.[at + 1], id));
    const value = after && Buffer.from(JSON.stringify(after));
    return [...moved, { ...keyOf(this.#prefix, id), expected: before?.bytes, value, isTold }];
  }
}

export function keyOf(prefix: string, id: string): RecordKey {
  return { space: 'records', key: prefix + id };
}

function moveName(index: string, before: string | undefined, after: string | undefined, id: string): RecordChange[] {
  const [left, taken] = [before?.toLowerCase(), after?.toLowerCase()];
  if (left === taken) return [];
  const changes: RecordChange[] = [];
  if (left !== undefined) changes.push({ ...keyOf(index, left), expected: Buffer.from(id), value: undefined });
  if (taken !== undefined) changes.push({ ...keyOf(index, taken), expected: undefined, value: Buffer.from(id) });
  return changes;
}
