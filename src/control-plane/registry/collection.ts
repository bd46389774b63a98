// What the servers and the compositions have in common: how a thing is found, and what every change of one goes through.
// Each is a swap of what was read: a concurrent change is never lost, but is read and built upon.
import { type RecordChange, type RecordStore, retrySwap } from '../../store/index.js';
import { ChangeNote } from '../common/audit.js';
import { ChangeCondition } from '../common/change-condition.js';
import { ControlPlaneFault, notFound } from '../common/control-plane-fault.js';
import { refuseUnowned, type Ownership } from '../common/principal.js';
import { jobAdded, type PublicationJob } from '../compositions/publication-job.js';
import type { Change } from '../compositions/publication-wait.js';
import type { NamedRecords, Snapshot } from '../mirror/named-records.js';

interface Thing extends Ownership {
  readonly id: string;
  readonly name: string;
}

interface CollectionOptions<Row, Shown extends Thing> {
  readonly noun: 'server' | 'composition';
  readonly records: RecordStore;
  readonly rows: NamedRecords<Row>;
  readonly thingOf: (row: Row) => Shown;
  /** Of what people have set. */
  readonly tagOf: (thing: Shown) => string;
  readonly taken: (name: string) => string;
}

/** What is to become of a thing. */
interface Decision<Row> {
  /** `undefined`: it is to be removed. */
  readonly after: Row | undefined;
  readonly changes: readonly RecordChange[];
  /** The publication that the change requires. */
  readonly job: PublicationJob;
}

export class Collection<Row, Shown extends Thing> {
  readonly #options: CollectionOptions<Row, Shown>;

  constructor(options: CollectionOptions<Row, Shown>) {
    this.#options = options;
  }

  /** Fault: `not-found`. */
  async require(reference: string): Promise<Snapshot<Row>> {
    const found = await this.#options.rows.find(reference);
    if (found === undefined) throw notFound(this.#options.noun, reference);
    return found;
  }

  /** Fault: `name-taken`. @param id of the thing that may have the name. */
  async refuseTakenName(name: string, id?: string): Promise<void> {
    const owner = await this.#options.rows.ownerOf(name);
    if (owner !== undefined && owner !== id) {
      throw new ControlPlaneFault('name-taken', this.#options.taken(name));
    }
  }

  /** Fault: `name-taken`. @param decide is called again while others make the same names. */
  insert<Decided extends Decision<Row>>(
    name: string,
    change: Change,
    decide: () => Promise<Decided>,
  ): Promise<Decided> {
    return retrySwap(async () => {
      await this.refuseTakenName(name);
      return this.#make(undefined, await decide(), change);
    });
  }

  /** Faults: `not-found`, `not-owned`, `changed-meanwhile`. @param decide is called again while others change the thing. */
  change<Decided extends Decision<Row>>(
    reference: string,
    change: Change,
    decide: (before: Snapshot<Row>) => Promise<Decided>,
  ): Promise<Decided> {
    const { noun, thingOf, tagOf } = this.#options;
    const { condition = ChangeCondition.none, caller } = change;
    let known = reference;
    return retrySwap(async () => {
      const before = await this.require(known);
      const thing = thingOf(before.row);
      known = thing.id;
      refuseUnowned(noun, thing, caller);
      condition.refuseUnlessMet(noun, thing.name, tagOf(thing));
      return this.#make(thing, await decide(before), change);
    });
  }

  async #make<Decided extends Decision<Row>>(
    before: Shown | undefined,
    decided: Decided,
    { note = new ChangeNote() }: Change,
  ): Promise<Decided | undefined> {
    const { records, thingOf } = this.#options;
    const { after, changes, job } = decided;
    const swap = (): Promise<boolean> => records.swap([...changes, jobAdded(job)]);
    return (await note.making(before, after && thingOf(after), swap)) ? decided : undefined;
  }
}
