// Finds a turn of the event loop in which the accept queue is almost empty: right after a poll that found little. A listener is closed in
// such a turn, because Linux resets the connections that still wait in its queue. Cold path.

/**
 * Longest turn of the event loop, in microseconds, that counts as quiet, so that a listener can be closed in it. Beyond it, the next turn
 * is tried.
 */
const QUIET_TURN_MICROSECONDS_MAX = 100;
/** Turns of a busy worker in which a quiet moment is sought. Beyond it, the listener closes in the last of them. */
const QUIET_TURNS_TRIED_MAX = 200;

/** Resolves in such a turn, or after `quietTurnsTriedMax` turns on a busy worker. */
export async function untilQuietTurn(): Promise<void> {
  // The current turn has already polled.
  await endOfTurn();
  for (let turns = 0; turns < QUIET_TURNS_TRIED_MAX; turns++) {
    const beganAtMs = performance.now();
    await endOfTurn();
    if (1_000 * (performance.now() - beganAtMs) < QUIET_TURN_MICROSECONDS_MAX) return;
  }
}

/** Resolves right after the next poll and the callbacks for what it found. */
function endOfTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
