// The tests' way to wait: for a condition, never for a time.

/** On a busy machine a healthy answer may take long; nothing waits so long where all is well. */
const WAIT_MS_MAX = 60_000;
const LOOK_EVERY_MS = 2;

/** Resolved once the condition holds; rejects, naming what was awaited, when it never does. */
export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const endMs = performance.now() + WAIT_MS_MAX;
  while (!(await condition())) {
    if (performance.now() > endMs) throw new Error(`waited ${WAIT_MS_MAX} ms for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}
