// Where publications are planned. Small ones run on the event loop, a few milliseconds per turn, however many there
// are; large ones, whose decoding would block it for up to a second, run in a thread. Cold path.
import { limits, TaskThread } from '../../shared/index.js';
import { CONFIG_INLINE_BYTES_MAX } from '../../user-config/index.js';
import type { PublicationOutcome, PublicationTask } from './publication-thread.js';
import { changesOf, planPublication, type PublicationPlan, type PublicationState } from './publication.js';

export class PublicationPlanner {
  readonly #thread = new TaskThread<PublicationTask, PublicationOutcome>(
    new URL('./publication-thread.js', import.meta.url),
  );
  /** Settles when the previous plan is done or has failed. */
  #last: Promise<unknown> = Promise.resolve();
  /** When to yield the event loop, ms. */
  #turnEndMs = 0;

  /** @param wanted JSON of the control plane's virtual hosts that the subject should have, by id. */
  plan(state: PublicationState, wanted: ReadonlyMap<string, string>): Promise<PublicationPlan> {
    if (bytesOf(state, wanted) > CONFIG_INLINE_BYTES_MAX) return this.#planLarge(state, wanted);
    const planned = this.#last.then(async () => {
      await this.#whenItIsTime();
      return planPublication(state, wanted);
    });
    this.#last = planned.catch(() => undefined);
    return planned;
  }

  /** Ends the thread. */
  async close(): Promise<void> {
    await this.#thread.close();
  }

  async #planLarge(state: PublicationState, wanted: ReadonlyMap<string, string>): Promise<PublicationPlan> {
    const outcome = await this.#thread.run({ state, wanted });
    if (outcome.kind !== 'stale') return outcome;
    return { kind: 'stale', changes: changesOf(state, ownedBuffer(outcome.record), ownedBuffer(outcome.config)) };
  }

  async #whenItIsTime(): Promise<void> {
    if (performance.now() < this.#turnEndMs) return;
    await new Promise(setImmediate);
    this.#turnEndMs = performance.now() + limits.turnMs;
  }
}

function bytesOf({ config }: PublicationState, wanted: ReadonlyMap<string, string>): number {
  let bytes = config?.length ?? 0;
  for (const json of wanted.values()) bytes += json.length;
  return bytes;
}

/** A thread sends a plain array with its own memory. */
function ownedBuffer(bytes: Uint8Array | undefined): Buffer | undefined {
  return bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
