// For tests of what happens when a time is over, where nothing else in the process waits for the same time meanwhile.
import { mock } from 'node:test';

type SetTimer = (run: () => void, ms?: number, ...rest: unknown[]) => NodeJS.Timeout;

/** Lets each timer that is set for this time, until the returned function is called, end after the other one. */
export function hasten(timeMs: number, insteadMs: number): () => void {
  const mocks = (['setTimeout', 'setInterval'] as const).map((name) => {
    const set: SetTimer = globalThis[name];
    const hastened: SetTimer = (run, ms, ...rest) => set(run, ms === timeMs ? insteadMs : ms, ...rest);
    return mock.method(globalThis, name, hastened as never).mock;
  });
  return () => mocks.forEach((each) => each.restore());
}
