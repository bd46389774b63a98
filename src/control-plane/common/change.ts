// A change of a server or composition while it is made: who makes it, on which condition, what came of it, and how long the
// request waits for its publication. So that no update is lost, an entity has a tag, a hash of what people have set: a change
// with `If-Match` is made only while the entity still has that tag. Cold path.
import { createHash } from 'node:crypto';
import { settledWithin } from '../../shared/index.js';
import { ControlPlaneFault } from './control-plane-fault.js';
import type { Principal } from './principal.js';

export interface Change {
  /** Absent if roles are not in use. */
  readonly caller?: Principal | undefined;
  /** The header `If-Match` (RFC 9110): tags, or `*` for anything that exists. If absent, the change is made in any state. */
  readonly ifMatch?: string | undefined;
  /** Receives the outcome. If absent, the change waits until it is published. */
  readonly outcome?: ChangeOutcome;
}

interface RecordedChange {
  readonly before: object | undefined;
  readonly after: object | undefined;
  /** False until the store confirms the change. A lost answer leaves it false, though the change may have been made. */
  readonly isCertain: boolean;
}

/** What came of a request's change. The code that makes the change records it here, so that no change lacks an audit line. */
export class ChangeOutcome {
  readonly #waitMsMax: number;
  /** The change that was made, or may have been made; `undefined` for none. */
  change: RecordedChange | undefined;
  /** How many user configs are still to be updated; `undefined` before the subjects are known. */
  configsLeft: number | undefined;
  /** How many user configs lacked the change when the request stopped waiting. */
  unpublished = 0;

  /** @param waitMsMax how long the request waits for the publication, which may be for 100,000 subjects. */
  constructor(waitMsMax = Infinity) {
    this.#waitMsMax = waitMsMax;
  }

  /**
   * Records the change as uncertain until `make` resolves with true, which means that the change was made.
   * @param before `undefined` for a new entity. @param after `undefined` for a removed one.
   */
  async record(before: object | undefined, after: object | undefined, make: () => Promise<boolean>): Promise<boolean> {
    this.change = { before, after, isCertain: false };
    const isMade = await make();
    this.change = isMade ? { before, after, isCertain: true } : undefined;
    return isMade;
  }

  /** Resolves when the publication is done, or after `waitMsMax`. */
  async waitFor(published: Promise<void>): Promise<void> {
    if (this.#waitMsMax === Infinity) return published;
    await settledWithin(published, this.#waitMsMax, () => {
      this.unpublished = this.configsLeft ?? 1;
    });
  }
}

/** Throws a `ControlPlaneFault` if the entity no longer has the tag that the change requires. @param tag the entity's current tag. */
export function refuseChanged({ ifMatch }: Change, noun: string, name: string, tag: string): void {
  const tags = ifMatch?.split(',').map((each) => each.trim()) ?? [];
  if (ifMatch === undefined || ifMatch.trim() === '*' || tags.includes(tag)) return;
  const words = 'has changed since it was read: read it again and check the differences';
  throw new ControlPlaneFault('changed-meanwhile', `The ${noun} ${name} ${words}`);
}

const TAG_BYTES = 16;

export function tagOf(values: readonly unknown[]): string {
  const digest = createHash('sha256').update(JSON.stringify(values)).digest();
  return `"${digest.subarray(0, TAG_BYTES).toString('base64url')}"`;
}
