// The way to change records that others change, too: read, decide, swap, and again when somebody was faster.
import { limits } from '../shared/limits.js';
import { RecordStoreFault } from './record-store.js';

/** Reads, decides and swaps again while others are faster; `undefined` of the attempt says that they were. */
export async function retrySwap<Result>(attempt: () => Promise<Result | undefined>): Promise<Result> {
  for (let tries = 0; tries < limits.recordSwapTriesMax; tries++) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw new RecordStoreFault('the records are being changed by others all the time');
}
