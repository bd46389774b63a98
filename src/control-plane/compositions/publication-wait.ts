// How a change is made: by whom, on which condition, where it is noted, and how long it waits for its publication to the dataplane. A
// server may be in the user configs of 100,000 subjects, so the wait may be over before all have the change.
import type { ChangeNote } from '../common/audit.js';
import type { ChangeCondition } from '../common/change-condition.js';
import type { Principal } from '../common/principal.js';

/** Of a change of a server or a composition. */
export interface Change {
  /** Absent: until it is published. */
  readonly wait?: PublicationWait;
  readonly note?: ChangeNote;
  readonly condition?: ChangeCondition;
  /** Absent: roles are not in use. */
  readonly caller?: Principal | undefined;
}

/** How far the publication of one change has come, updated by the publisher. */
export interface PublicationProgress {
  /** User configs still to be updated; `undefined` before the subjects are known. */
  left: number | undefined;
}

export class PublicationWait {
  readonly #msMax: number;
  #left = 0;

  constructor(msMax: number) {
    this.#msMax = msMax;
  }

  /** User configs that did not have the change when the wait was over; 0: the dataplane has it everywhere. */
  get left(): number {
    return this.#left;
  }

  /** Resolves when the publication is done or the time is over; rejects if the publication fails before that. */
  async for(done: Promise<void>, progress: PublicationProgress): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        this.#left = progress.left ?? 1;
        resolve();
      }, this.#msMax);
    });
    await Promise.race([done, over]).finally(() => clearTimeout(timer));
  }
}
