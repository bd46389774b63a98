// Finds a turn of the event loop in which the accept queue is almost empty: right after a poll that found little. A listener is closed in
// such a turn, because Linux resets the connections that still wait in its queue. Cold path.
import { limits } from './limits.js';

/** Resolves in such a turn, or after `quietTurnsTriedMax` turns on a busy worker. */
export async function untilQuietTurn(): Promise<void> {
  // The current turn has already polled.
  await endOfTurn();
  for (let turns = 0; turns < limits.quietTurnsTriedMax; turns++) {
    const beganAtMs = performance.now();
    await endOfTurn();
    if (1_000 * (performance.now() - beganAtMs) < limits.quietTurnMicrosecondsMax) return;
  }
}

/** Resolves right after the next poll and the callbacks for what it found. */
function endOfTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
