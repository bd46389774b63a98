// Where publications are planned: small ones on the event loop, a few milliseconds a turn, however many there are; large ones,
// whose decoding would hold it up for up to a second, in a thread. Cold.
import { limits } from '../../shared/limits.js';
import { TaskThread } from '../../shared/task-thread.js';
import type { PublicationOutcome, PublicationTask } from './publication-thread.js';
import { changesOf, planPublication, type PublicationPlan, type PublicationState } from './publication.js';

export class PublicationPlanner {
  readonly #thread = new TaskThread<PublicationTask, PublicationOutcome>(
    new URL('./publication-thread.js', import.meta.url),
  );
  /** The one before is planned, or has failed. */
  #last: Promise<unknown> = Promise.resolve();
  /** When others have their turn of the event loop, ms. */
  #turnEndMs = 0;

  /** @param wanted JSON of the virtual hosts that the subject should have of ours, by id. */
  plan(state: PublicationState, wanted: ReadonlyMap<string, string>): Promise<PublicationPlan> {
    if (bytesOf(state, wanted) > limits.userConfigInlineBytesMax) return this.#planLarge(state, wanted);
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
    this.#turnEndMs = performance.now() + limits.readingTurnMs;
  }
}

function bytesOf({ config }: PublicationState, wanted: ReadonlyMap<string, string>): number {
  let bytes = config?.length ?? 0;
  for (const json of wanted.values()) bytes += json.length;
  return bytes;
}

/** What a thread sends is a plain array, with memory of its own. */
function ownedBuffer(bytes: Uint8Array | undefined): Buffer | undefined {
  return bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
