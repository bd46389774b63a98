// What servers and compositions have in common: how they are stored and found, and the steps of every change. An entity is
// a record under its id; further records map its names, in lower case, to the id. All of them change in one swap, which
// keeps names unique and loses no concurrent change.
import { type RecordChange, type RecordKey, type RecordStore, retrySwap } from '../../store/index.js';
import { type Change, ChangeOutcome, refuseChanged } from '../common/change.js';
import { ControlPlaneFault, notFoundFault } from '../common/control-plane-fault.js';
import { refuseForeignTeam, refuseUnowned, type Ownership } from '../common/principal.js';
import { jobChangeToAdd, type PublicationJob } from '../compositions/publication.js';

interface Entity extends Ownership {
  readonly id: string;
  readonly name: string;
}

interface CollectionKind<Row, Shown extends Entity> {
  readonly noun: 'server' | 'composition';
  readonly prefix: string;
  /** Prefixes of the keys under which names are stored, in the order in which a reference is looked up. */
  readonly indices: readonly string[];
  readonly entityOf: (row: Row) => Shown;
  /** The names in the order of the indices. */
  readonly namesOf: (entity: Shown) => readonly string[];
  readonly tagOf: (entity: Shown) => string;
  /** The error message if another entity has the name. */
  readonly takenMessage: (name: string) => string;
}

/** A row as read, with its stored bytes, which a swap expects to find unchanged. */
export interface Snapshot<Row> {
  readonly row: Row;
  readonly bytes: Buffer;
}

export interface Decision<Row> {
  /** The row after the change; `undefined` if the entity is removed. */
  readonly after: Row | undefined;
  /** The publication that the change requires. */
  readonly job: PublicationJob | undefined;
  /** What is audited instead of the whole entity. */
  readonly audited?: readonly [before: object, after: object];
}

const ID_PATTERN = /^[0-9a-f]{32}$/;
/** Ids and names, in lower case. A text of another form refers to no entity, and may not even be a valid key. */
const REFERENCE_PATTERN = /^[a-z0-9_.\- ]{1,100}$/;

export class Collection<Row, Shown extends Entity> {
  protected readonly records: RecordStore;
  readonly #kind: CollectionKind<Row, Shown>;

  constructor(records: RecordStore, kind: CollectionKind<Row, Shown>) {
    this.records = records;
    this.#kind = kind;
  }

  /** Finds an entity. @param reference its id or one of its names, in any case. */
  async find(reference: string): Promise<Snapshot<Row> | undefined> {
    const folded = reference.toLowerCase();
    if (!REFERENCE_PATTERN.test(folded)) return undefined;
    const byId = ID_PATTERN.test(folded) ? await this.load(folded) : undefined;
    if (byId !== undefined) return byId;
    for (const index of this.#kind.indices) {
      const id = await this.idOfName(folded, index);
      if (id !== undefined) return this.load(id);
    }
    return undefined;
  }

  /** Finds the entity. Fault: `not-found`. */
  async require(reference: string): Promise<Snapshot<Row>> {
    const found = await this.find(reference);
    if (found === undefined) throw notFoundFault(this.#kind.noun, reference);
    return found;
  }

  async load(id: string): Promise<Snapshot<Row> | undefined> {
    const bytes = await this.records.read(recordKey(this.#kind.prefix, id));
    return bytes && { row: JSON.parse(bytes.toString()) as Row, bytes };
  }

  /** The id of the entity with this name. @param index one of `indices`; the first by default. */
  async idOfName(name: string, index = this.#kind.indices[0]!): Promise<string | undefined> {
    return (await this.records.read(recordKey(index, name.toLowerCase())))?.toString();
  }

  /** Throws `name-taken` if another entity has the name. @param id the entity that may have it. */
  async refuseTakenName(name: string, id?: string): Promise<void> {
    const owner = await this.idOfName(name);
    if (owner !== undefined && owner !== id) throw new ControlPlaneFault('name-taken', this.#kind.takenMessage(name));
  }

  /** Adds an entity. Fault: `name-taken`. @param decide is called again if a name was taken meanwhile. */
  insert<Decided extends Decision<Row>>(
    name: string,
    change: Change,
    decide: () => Promise<Decided>,
  ): Promise<Decided> {
    return retrySwap(async () => {
      await this.refuseTakenName(name);
      return this.commit(undefined, await decide(), change);
    });
  }

  /**
   * Changes an entity. Faults: `not-found`, `not-owned`, `changed-meanwhile`.
   * @param team the entity's new team, `null` for none; `undefined` if the team stays.
   * @param decide is called again if others have changed the entity meanwhile.
   */
  change<Decided extends Decision<Row>>(
    reference: string,
    change: Change,
    team: string | null | undefined,
    decide: (before: Snapshot<Row>) => Promise<Decided>,
  ): Promise<Decided> {
    const { noun, entityOf, tagOf } = this.#kind;
    let idOrName = reference;
    return retrySwap(async () => {
      const before = await this.require(idOrName);
      const entity = entityOf(before.row);
      idOrName = entity.id;
      refuseUnowned(noun, entity, change.caller);
      refuseForeignTeam(change.caller, team, entity.team);
      refuseChanged(change, noun, entity.name, tagOf(entity));
      return this.commit(before, await decide(before), change);
    });
  }

  /** Stores the decision. @returns `undefined` if the entity was changed or one of its names taken meanwhile. */
  async commit<Decided extends Decision<Row>>(
    before: Snapshot<Row> | undefined,
    decided: Decided,
    { outcome = new ChangeOutcome() }: Change,
  ): Promise<Decided | undefined> {
    const { entityOf } = this.#kind;
    const { after, job, audited } = decided;
    const [auditedBefore, auditedAfter] = audited ?? [before && entityOf(before.row), after && entityOf(after)];
    const changes = await this.changesOf(before, decided);
    if (job !== undefined) changes.push(jobChangeToAdd(job));
    const isMade = await outcome.record(auditedBefore, auditedAfter, async () => this.records.swap(changes));
    return isMade ? decided : undefined;
  }

  protected async changesOf(
    before: Snapshot<Row> | undefined,
    { after }: Decision<Row>,
    isLogged = true,
  ): Promise<RecordChange[]> {
    const { prefix, indices, entityOf, namesOf } = this.#kind;
    const [old, next] = [before && entityOf(before.row), after && entityOf(after)];
    const { id } = (next ?? old)!;
    const [oldNames, names] = [old && namesOf(old), next && namesOf(next)];
    const moves = indices.flatMap((index, at) => nameChanges(index, oldNames?.[at], names?.[at], id));
    const value = after && Buffer.from(JSON.stringify(after));
    return [...moves, { ...recordKey(prefix, id), expected: before?.bytes, value, isLogged }];
  }
}

export function recordKey(prefix: string, id: string): RecordKey {
  return { space: 'records', key: prefix + id };
}

function nameChanges(index: string, before: string | undefined, after: string | undefined, id: string): RecordChange[] {
  const [freed, taken] = [before?.toLowerCase(), after?.toLowerCase()];
  if (freed === taken) return [];
  const changes: RecordChange[] = [];
  if (freed !== undefined) changes.push({ ...recordKey(index, freed), expected: Buffer.from(id), value: undefined });
  if (taken !== undefined) changes.push({ ...recordKey(index, taken), expected: undefined, value: Buffer.from(id) });
  return changes;
}
