// What the turns of this process's event loop cost, in CPU time of its own thread: a busy machine makes turns take longer,
// but not cost more, and the work of other threads for this one does not count.
import { readFileSync } from 'node:fs';

const WAIT_MS_MAX = 120_000;
const OWN_THREAD = `/proc/self/task/${process.pid}/schedstat`;

/** ms, up to a few too low: Linux updates a running thread's time with each tick of its clock. */
export const threadCpuMs: () => number =
  process.platform === 'linux'
    ? () => Number(readFileSync(OWN_THREAD, 'latin1').split(' ', 1)[0]) / 1e6
    : () => {
        const { user, system } = process.cpuUsage();
        return (user + system) / 1_000;
      };

/** Starts an action and lets the loop turn until it is over. @returns the cost of the most expensive turn, ms. */
export async function dearestTurnMs(start: () => void, isOver: () => boolean): Promise<number> {
  let dearestMs = 0;
  let beforeMs = threadCpuMs();
  start();
  const endMs = performance.now() + WAIT_MS_MAX;
  while (!isOver()) {
    if (performance.now() > endMs) throw new Error('nothing came of it');
    // Timers are checked once per turn: what lies between two is one turn, or a few short ones together.
    await new Promise((resolve) => setTimeout(resolve, 1));
    const nowMs = threadCpuMs();
    dearestMs = Math.max(dearestMs, nowMs - beforeMs);
    beforeMs = nowMs;
  }
  return dearestMs;
}

/** Cost of parsing this text twice on the machine for which the bounds were made, ms: 2.6 GHz AMD EPYC, Node 20. */
const REFERENCE_MS = 45;
const REFERENCE_TEXT = `[${'{"a":1},'.repeat(200_000)}0]`;

/** With V8's coverage on, the program's own code counts each of its blocks, while native work, such as the reference, does not. */
const COUNTING_FACTOR = process.env['NODE_V8_COVERAGE'] === undefined ? 1 : 5;

/**
 * How many times the reference cost work takes here and now, at least 1: where cores share their caches with busy ones, the same work
 * takes more CPU time.
 */
export function slownessNow(): number {
  let dearestMs = REFERENCE_MS;
  for (let tries = 0; tries < 3; tries += 1) {
    const beforeMs = threadCpuMs();
    JSON.parse(REFERENCE_TEXT);
    JSON.parse(REFERENCE_TEXT);
    dearestMs = Math.max(dearestMs, threadCpuMs() - beforeMs);
  }
  return (COUNTING_FACTOR * dearestMs) / REFERENCE_MS;
}
