// Changes records that others may change at the same time: read, decide, swap, and try again when another writer changed them first.
import { limits } from '../shared/limits.js';
import { RecordStoreFault } from './record-store.js';

/** Repeats an attempt (read, decide, swap) while it returns `undefined`, which says that another writer changed the records first. */
export async function retrySwap<Result>(attempt: () => Promise<Result | undefined>): Promise<Result> {
  for (let tries = 0; tries < limits.recordSwapTriesMax; tries++) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw new RecordStoreFault('other processes keep changing the same records: try again');
}
