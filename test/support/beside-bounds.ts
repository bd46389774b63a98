// How much of an attack a victim may notice. No bound is a fixed time: each is a multiple of what the same requests took
// alone just before, or of what a piece of work took on this machine at that time.
import type { VictimReport } from './victim.js';

/**
 * Below a few of these, a slowdown cannot be told from bad luck: it is a turn or two of a worker's event loop, and of the victim's and
 * its backend's, on a core that nothing else uses, with quick messages between sockets. A busy machine, or slower sockets, scale it up.
 */
const LUCK_MS = 20;

/** The outcome, in words. */
export interface Judgement {
  /** Requests that were refused, wrong or not answered. */
  readonly failures: readonly string[];
  /** What took too long. If a retry is fast, the machine was the cause. */
  readonly delays: readonly string[];
  readonly seen: readonly string[];
}

/**
 * @param slowerMax how many times its p99 alone the victim's p99 may be.
 * @param luckMsEach a delay that counts as mere luck, on a core that nothing else uses.
 */
export function judgeBeside(
  alone: Pick<VictimReport, 'requests' | 'openings' | 'slowness' | 'roundTripFactor'>,
  beside: VictimReport,
  slowerMax: number,
  luckMsEach = LUCK_MS,
): Judgement {
  const failures = beside.failures.map((failure) => `the victim: ${failure}`);
  const delays: string[] = [];
  const seen: string[] = [];
  const luckMs = luckMsEach * alone.roundTripFactor * Math.max(alone.slowness, beside.slowness);
  for (const what of ['requests', 'openings'] as const) {
    const aloneMs = Math.max(luckMs, alone[what].p99Ms);
    const { p99Ms } = beside[what];
    const times = `${what}: p99 ${p99Ms.toFixed(0)} ms, ${(p99Ms / aloneMs).toFixed(2)} times ${aloneMs.toFixed(0)} ms`;
    seen.push(times);
    if (p99Ms > slowerMax * aloneMs) delays.push(`the victim's ${times}, ${slowerMax} at most`);
  }
  return { failures, delays, seen };
}
