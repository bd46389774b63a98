// What servers and compositions have in common: how a thing is stored and found, and the steps of every change. A thing is a record under
// its id; another record for each of its names maps the name, in lower case, to the id. All of them change in one swap of what was read,
// which keeps names unique across all control planes: a concurrent change is never lost, but is read and built upon.
import { type RecordChange, type RecordKey, type RecordStore, retrySwap } from '../../store/index.js';
import { type Change, ChangeOutcome, refuseChanged } from '../common/change.js';
import { ControlPlaneFault, notFound } from '../common/control-plane-fault.js';
import { refuseForeignTeam, refuseUnowned, type Ownership } from '../common/principal.js';
import { jobChangeToAdd, type PublicationJob } from '../compositions/publication.js';

interface Thing extends Ownership {
  readonly id: string;
  readonly name: string;
}

interface CollectionKind<Row, Shown extends Thing> {
  readonly noun: 'server' | 'composition';
  /** The prefix of the records' keys. */
  readonly prefix: string;
  /** Prefixes of the keys of names. A reference is looked up in each in turn. */
  readonly indices: readonly string[];
  readonly thingOf: (row: Row) => Shown;
  /** The names in the order of the indices. */
  readonly namesOf: (thing: Shown) => readonly string[];
  /** The tag of what people have set. */
  readonly tagOf: (thing: Shown) => string;
  /** The message when another thing has the name. */
  readonly takenMessage: (name: string) => string;
}

/** A row as it was read: what a swap expects to find. */
export interface Snapshot<Row> {
  readonly row: Row;
  readonly bytes: Buffer;
}

/** What a change makes of a thing. */
export interface Decision<Row> {
  /** `undefined`: the thing is removed. */
  readonly after: Row | undefined;
  /** The publication that the change requires, if any. */
  readonly job: PublicationJob | undefined;
  /** Audited in place of the whole thing before and after. */
  readonly audited?: readonly [before: object, after: object];
}

const ID = /^[0-9a-f]{32}$/;
/** The form of ids and names, in lower case: anything else refers to nothing, and may not even be a valid key. */
const REFERENCE = /^[a-z0-9_.\- ]{1,100}$/;

export class Collection<Row, Shown extends Thing> {
  protected readonly records: RecordStore;
  readonly #kind: CollectionKind<Row, Shown>;

  constructor(records: RecordStore, kind: CollectionKind<Row, Shown>) {
    this.records = records;
    this.#kind = kind;
  }

  /** By id, else by a name in any case. */
  async find(reference: string): Promise<Snapshot<Row> | undefined> {
    const folded = reference.toLowerCase();
    if (!REFERENCE.test(folded)) return undefined;
    const byId = ID.test(folded) ? await this.load(folded) : undefined;
    if (byId !== undefined) return byId;
    for (const index of this.#kind.indices) {
      const id = await this.ownerOf(folded, index);
      if (id !== undefined) return this.load(id);
    }
    return undefined;
  }

  /** Fault: `not-found`. */
  async require(reference: string): Promise<Snapshot<Row>> {
    const found = await this.find(reference);
    if (found === undefined) throw notFound(this.#kind.noun, reference);
    return found;
  }

  async load(id: string): Promise<Snapshot<Row> | undefined> {
    const bytes = await this.records.read(keyOf(this.#kind.prefix, id));
    return bytes && { row: JSON.parse(bytes.toString()) as Row, bytes };
  }

  /** The id of the thing that has the name. @param index the first of the kind's indices by default. */
  async ownerOf(name: string, index = this.#kind.indices[0]!): Promise<string | undefined> {
    return (await this.records.read(keyOf(index, name.toLowerCase())))?.toString();
  }

  /** Fault: `name-taken`, unless the thing with this id has the name. */
  async refuseTakenName(name: string, id?: string): Promise<void> {
    const owner = await this.ownerOf(name);
    if (owner !== undefined && owner !== id) throw new ControlPlaneFault('name-taken', this.#kind.takenMessage(name));
  }

  /** Fault: `name-taken`. @param decide is called again if others have taken one of the names meanwhile. */
  insert<Decided extends Decision<Row>>(
    name: string,
    change: Change,
    decide: () => Promise<Decided>,
  ): Promise<Decided> {
    return retrySwap(async () => {
      await this.refuseTakenName(name);
      return this.make(undefined, await decide(), change);
    });
  }

  /**
   * Faults: `not-found`, `not-owned`, `changed-meanwhile`.
   * @param team to which the change gives the thing, `null` for none; `undefined` if it keeps its team.
   * @param decide is called again if others have changed the thing meanwhile.
   */
  change<Decided extends Decision<Row>>(
    reference: string,
    change: Change,
    team: string | null | undefined,
    decide: (before: Snapshot<Row>) => Promise<Decided>,
  ): Promise<Decided> {
    const { noun, thingOf, tagOf } = this.#kind;
    let known = reference;
    return retrySwap(async () => {
      const before = await this.require(known);
      const thing = thingOf(before.row);
      known = thing.id;
      refuseUnowned(noun, thing, change.caller);
      refuseForeignTeam(change.caller, team, thing.team);
      refuseChanged(change, noun, thing.name, tagOf(thing));
      return this.make(before, await decide(before), change);
    });
  }

  /** Stores the decision. @returns `undefined` if others have changed the thing since it was read, or taken one of its names. */
  async make<Decided extends Decision<Row>>(
    before: Snapshot<Row> | undefined,
    decided: Decided,
    { outcome = new ChangeOutcome() }: Change,
  ): Promise<Decided | undefined> {
    const { thingOf } = this.#kind;
    const { after, job, audited } = decided;
    const [auditedBefore, auditedAfter] = audited ?? [before && thingOf(before.row), after && thingOf(after)];
    const changes = await this.changesOf(before, decided);
    if (job !== undefined) changes.push(jobChangeToAdd(job));
    const isMade = await outcome.record(auditedBefore, auditedAfter, async () => this.records.swap(changes));
    return isMade ? decided : undefined;
  }

  /** The changes of records that turn `before` into `after`. */
  protected async changesOf(
    before: Snapshot<Row> | undefined,
    { after }: Decision<Row>,
    isLogged = true,
  ): Promise<RecordChange[]> {
    const { prefix, indices, thingOf, namesOf } = this.#kind;
    const [old, next] = [before && thingOf(before.row), after && thingOf(after)];
    const { id } = (next ?? old)!;
    const [oldNames, names] = [old && namesOf(old), next && namesOf(next)];
    const moves = indices.flatMap((index, at) => moveName(index, oldNames?.[at], names?.[at], id));
    const value = after && Buffer.from(JSON.stringify(after));
    return [...moves, { ...keyOf(prefix, id), expected: before?.bytes, value, isLogged }];
  }
}

export function keyOf(prefix: string, id: string): RecordKey {
  return { space: 'records', key: prefix + id };
}

function moveName(index: string, before: string | undefined, after: string | undefined, id: string): RecordChange[] {
  const [freed, taken] = [before?.toLowerCase(), after?.toLowerCase()];
  if (freed === taken) return [];
  const changes: RecordChange[] = [];
  if (freed !== undefined) changes.push({ ...keyOf(index, freed), expected: Buffer.from(id), value: undefined });
  if (taken !== undefined) changes.push({ ...keyOf(index, taken), expected: undefined, value: Buffer.from(id) });
  return changes;
}
