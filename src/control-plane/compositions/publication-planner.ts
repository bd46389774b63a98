// Where publications are planned. Small ones run on the event loop, a millisecond per turn, however many there
// are; large ones, whose decoding would block it for up to a second, run in a thread. Cold path.
import { Turns } from '../../fair/index.js';
import { limits } from '../../shared/index.js';
import { TaskThread, CONFIG_INLINE_BYTES_MAX } from '../../user-config/index.js';
import type { PublicationTask } from './publication-thread.js';
import { ownedBuffer, planPublication, type PublicationPlan, type PublicationState } from './publication.js';

export class PublicationPlanner {
  readonly #thread = new TaskThread<PublicationTask, PublicationPlan>(
    new URL('./publication-thread.js', import.meta.url),
  );
  readonly #turns = new Turns({ untimedMax: 1, turnMs: limits.turnMs, waiting: [Infinity, Infinity] });

  /** @param wanted JSON of the control plane's virtual hosts that the subject should have, by id. */
  plan(state: PublicationState, wanted: ReadonlyMap<string, string>): Promise<PublicationPlan> {
    if (bytesOf(state, wanted) > CONFIG_INLINE_BYTES_MAX) return this.#planLarge(state, wanted);
    const plan = async (): Promise<PublicationPlan> => planPublication(state, wanted);
    return new Promise((resolve) => this.#turns.run(state.subject, () => resolve(plan())));
  }

  /** Ends the thread. */
  async close(): Promise<void> {
    await this.#thread.close();
  }

  async #planLarge(state: PublicationState, wanted: ReadonlyMap<string, string>): Promise<PublicationPlan> {
    const plan = await this.#thread.run({ state, wanted });
    if (plan.kind !== 'stale') return plan;
    return { ...plan, record: ownedBuffer(plan.record), config: ownedBuffer(plan.config) };
  }
}

function bytesOf({ config }: PublicationState, wanted: ReadonlyMap<string, string>): number {
  let bytes = config?.length ?? 0;
  for (const json of wanted.values()) bytes += json.length;
  return bytes;
}
