// Compositions in the record store. Each is a record by id, with a second record that maps its case-folded name to the
// id. Both change in one swap, which keeps names unique across all control planes.
import type { RecordChange, RecordKey, RecordStore } from '../../store/index.js';
import type { Exposure } from '../../user-config/index.js';
import type { WrittenCuration } from '../common/curation.js';
import { jobAdded, type PublicationJob } from './publication-job.js';

/** A server of a composition, referenced by id so that it may be renamed; the name is the last one known. */
export interface StoredComposedServer {
  readonly id: string;
  readonly name: string;
  readonly tools: readonly string[];
  /** `prompts` and `resources` are present only when not empty. */
  readonly prompts?: readonly string[] | undefined;
  readonly resources?: readonly string[] | undefined;
  readonly curation?: WrittenCuration | undefined;
}

export interface StoredComposition {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly servers: readonly StoredComposedServer[];
  /** Absent: all tools are shown. */
  readonly exposure?: Exposure | undefined;
  readonly subjects: readonly string[];
  /** Subject that wrote it last; absent in records of earlier versions. */
  readonly maker?: string;
  /** Subject that created it, and the team that it also belongs to, where roles are taken from tokens. */
  readonly owner?: string;
  readonly team?: string;
  /** Size of its virtual host in one user config, measured when it was written. */
  readonly hostBytes?: number;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** A composition as it was read: what a swap expects to find. */
export interface CompositionSnapshot {
  readonly composition: StoredComposition;
  readonly bytes: Buffer;
}

export const COMPOSITIONS = 'compositions/';
const ID = /^[0-9a-f]{32}$/;
/** The form of ids and names, in lower case: anything else refers to nothing, and may not even be a valid key. */
const REFERENCE = /^[a-z0-9_.\- ]{1,64}$/;

export class CompositionStorage {
  readonly #records: RecordStore;

  constructor(records: RecordStore) {
    this.#records = records;
  }

  /** By id, else by name in any case. */
  async find(reference: string): Promise<CompositionSnapshot | undefined> {
    const folded = reference.toLowerCase();
    if (!REFERENCE.test(folded)) return undefined;
    const id = ID.test(folded) ? folded : await this.ownerOfName(folded);
    return id === undefined ? undefined : this.#load(id);
  }

  /** The id of the composition that has this name. */
  async ownerOfName(name: string): Promise<string | undefined> {
    return (await this.#records.read(nameKey(name)))?.toString();
  }

  /** Returns false when its name is taken. @param job the publication that the change requires. */
  async tryInsert(composition: StoredComposition, job: PublicationJob): Promise<boolean> {
    const { id, name } = composition;
    return this.#records.swap([
      ...moveName(undefined, name, id),
      { ...compositionKey(id), expected: undefined, value: encodeComposition(composition), isTold: true },
      jobAdded(job),
    ]);
  }

  /** Returns false when the composition has changed since it was read, or the new name is taken. */
  async tryUpdate(before: CompositionSnapshot, after: StoredComposition, job: PublicationJob): Promise<boolean> {
    const { id, name } = before.composition;
    return this.#records.swap([
      ...moveName(name, after.name, id),
      { ...compositionKey(id), expected: before.bytes, value: encodeComposition(after), isTold: true },
      jobAdded(job),
    ]);
  }

  /** Returns false when the composition has changed since it was read. */
  async tryDelete(before: CompositionSnapshot, job: PublicationJob): Promise<boolean> {
    const { id, name } = before.composition;
    return this.#records.swap([
      ...moveName(name, undefined, id),
      { ...compositionKey(id), expected: before.bytes, value: undefined, isTold: true },
      jobAdded(job),
    ]);
  }

  async #load(id: string): Promise<CompositionSnapshot | undefined> {
    const bytes = await this.#records.read(compositionKey(id));
    return bytes === undefined ? undefined : decode(bytes);
  }
}

export function encodeComposition(composition: StoredComposition): Buffer {
  return Buffer.from(JSON.stringify(composition));
}

function decode(bytes: Buffer): CompositionSnapshot {
  return { composition: JSON.parse(bytes.toString()) as StoredComposition, bytes };
}

function compositionKey(id: string): RecordKey {
  return { space: 'records', key: COMPOSITIONS + id };
}

/** Names are ASCII. */
function nameKey(name: string): RecordKey {
  return { space: 'records', key: `composition-names/${name.toLowerCase()}` };
}

function moveName(before: string | undefined, after: string | undefined, id: string): RecordChange[] {
  if (before?.toLowerCase() === after?.toLowerCase()) return [];
  const changes: RecordChange[] = [];
  if (before !== undefined) changes.push({ ...nameKey(before), expected: Buffer.from(id), value: undefined });
  if (after !== undefined) changes.push({ ...nameKey(after), expected: undefined, value: Buffer.from(id) });
  return changes;
}
