// What a victim may notice of an attack. No bound is a time: each is a multiple of what the same requests took alone just
// before, or of what a piece of work took on this machine then.
import type { VictimReport } from './victim.js';

/**
 * Who is slower by less than a few of these cannot be told from somebody unlucky: a turn of a worker's event loop or two, and of
 * those of the victim and its backend, on a core that nobody else uses, where messages between sockets are quick. On a busy machine, and
 * on one where they are not, it takes longer.
 */
const LUCK_MS = 20;

/** In words. */
export interface Judgement {
  /** What was refused, wrong or not answered. */
  readonly failures: readonly string[];
  /** What took too long. Where another try is fast, it was the machine. */
  readonly delays: readonly string[];
  readonly seen: readonly string[];
}

/**
 * @param slowerMax how many times as long as alone the victim's p99 may be.
 * @param luckMsEach what counts as no more than luck, on a core that nobody else uses.
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
