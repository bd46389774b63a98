// Changes records that others may change at the same time: read, decide, swap, and try again when another writer changed them first.
import { RecordStoreFault } from './record-store.js';

/**
 * Attempts to change a record that other writers keep changing; each failed attempt is another writer's success. Beyond it, the change
 * fails.
 */
export const RECORD_SWAP_TRIES_MAX = 64;

/** Repeats an attempt (read, decide, swap) while it returns `undefined`, which says that another writer changed the records first. */
export async function retrySwap<Result>(attempt: () => Promise<Result | undefined>): Promise<Result> {
  for (let tries = 0; tries < RECORD_SWAP_TRIES_MAX; tries++) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw new RecordStoreFault('other processes keep changing the same records: try again');
}
