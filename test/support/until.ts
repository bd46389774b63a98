// How tests wait: for a condition, never for a fixed time.

/** Reached only by failures: on a busy machine even a healthy response may take long. */
const WAIT_MS_MAX = 60_000;
const LOOK_EVERY_MS = 2;

/** Resolves once the condition holds; rejects, naming what was awaited, when it does not hold in time. */
export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const endMs = performance.now() + WAIT_MS_MAX;
  while (!(await condition())) {
    if (performance.now() > endMs) throw new Error(`waited ${WAIT_MS_MAX} ms for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}
