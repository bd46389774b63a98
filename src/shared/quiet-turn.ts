// The moment in which next to nothing can wait to be taken by this process: right after a look of the event loop for what is new
// that has found little. Linux resets what still waits in the queue of a listener that closes. Cold.
import { limits } from './limits.js';

/** Resolves then, or when none came in so many turns: on a worker that is busy. */
export async function untilQuietTurn(): Promise<void> {
  // The rest of the turn that this was called in has had its look already.
  await endOfTurn();
  for (let turns = 0; turns < limits.quietTurnsTriedMax; turns++) {
    const beganAtMs = performance.now();
    await endOfTurn();
    if (1_000 * (performance.now() - beganAtMs) < limits.quietTurnMicrosecondsMax) return;
  }
}

/** Right after the look, and what it has found. */
function endOfTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
