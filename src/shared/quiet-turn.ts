// Finds a turn of the event loop with an almost empty accept queue: right after a poll that found little. A listener is closed then, because
// Linux resets the connections that still wait in its queue. Cold.
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
