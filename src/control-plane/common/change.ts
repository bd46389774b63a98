// A change of a server or a composition, while it is made: who makes it, on which condition, its outcome, and how long the request waits
// for its publication. Cold path.
//
// No update is lost: each view of a thing has a tag, and a change that names a tag is made only while the thing still has it. A tag
// covers what people set; what a probe finds out does not change it.
import { createHash } from 'node:crypto';
import { ControlPlaneFault } from './control-plane-fault.js';
import type { Principal } from './principal.js';

export interface Change {
  /** Absent: roles are not in use. */
  readonly caller?: Principal | undefined;
  /** `If-Match`, as in RFC 9110: tags, or `*`, which anything that exists meets. Absent: any state. */
  readonly ifMatch?: string | undefined;
  /** Takes the outcome. Absent: nobody wants it, and the change waits until it is published. */
  readonly outcome?: ChangeOutcome;
}

interface RecordedChange {
  readonly before: object | undefined;
  readonly after: object | undefined;
  /** False while the change is being made, and forever if that failed: the store may have made it although its answer was lost. */
  readonly isCertain: boolean;
}

/** The outcome of a change. The code that makes the change records it here, so that no change goes without an audit line. */
export class ChangeOutcome {
  readonly #waitMsMax: number;
  #change: RecordedChange | undefined;
  #unpublished = 0;
  /** User configs still to be updated, as the publisher knows it; `undefined` before the subjects are known. */
  configsLeft: number | undefined;

  /** @param waitMsMax how long the change waits for its publication, e.g. into the user configs of 100,000 subjects. */
  constructor(waitMsMax = Infinity) {
    this.#waitMsMax = waitMsMax;
  }

  /**
   * Makes a change and records it: as uncertain while it is made, or if `make` rejects.
   * @param before `undefined` for a new thing; `after` is `undefined` for a removed one.
   * @param make resolves with whether it made the change.
   */
  async record(before: object | undefined, after: object | undefined, make: () => Promise<boolean>): Promise<boolean> {
    this.#change = { before, after, isCertain: false };
    const isMade = await make();
    this.#change = isMade ? { before, after, isCertain: true } : undefined;
    return isMade;
  }

  recordMade(before: object | undefined, after: object | undefined): void {
    this.#change = { before, after, isCertain: true };
  }

  /** `undefined` while nothing has changed. */
  get change(): RecordedChange | undefined {
    return this.#change;
  }

  /** Resolves when the publication is done or the time is over; rejects if the publication fails before that. */
  async waitFor(published: Promise<void>): Promise<void> {
    if (this.#waitMsMax === Infinity) return published;
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        this.#unpublished = this.configsLeft ?? 1;
        resolve();
      }, this.#waitMsMax);
    });
    await Promise.race([published, over]).finally(() => clearTimeout(timer));
  }

  /** User configs that did not have the change when the wait was over; 0: the dataplane has it everywhere. */
  get unpublished(): number {
    return this.#unpublished;
  }
}

/**
 * Throws a `ControlPlaneFault` if the thing has changed since it was read.
 * @param tag of the thing as it is now.
 */
export function refuseChanged({ ifMatch }: Change, noun: string, name: string, tag: string): void {
  const tags = ifMatch?.split(',').map((each) => each.trim()) ?? [];
  if (ifMatch === undefined || ifMatch.trim() === '*' || tags.includes(tag)) return;
  const words = 'has changed since it was read: read it again and check the differences';
  throw new ControlPlaneFault('changed-meanwhile', `The ${noun} ${name} ${words}`);
}

const TAG_BYTES = 16;

/** @param values what people have set on a thing. */
export function tagOf(values: readonly unknown[]): string {
  const digest = createHash('sha256').update(JSON.stringify(values)).digest();
  return `"${digest.subarray(0, TAG_BYTES).toString('base64url')}"`;
}
