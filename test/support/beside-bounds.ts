// What a victim may notice of an attack. No bound is a time: each is a multiple of what the same requests took alone, or of
// what a piece of work took on this machine then.
import type { VictimReport } from './victim.js';

/**
 * What one turn of a worker's event loop may take of a core, ms. Who is slower by less than a few of those cannot be told from
 * somebody unlucky. On a busy machine it takes longer.
 */
const TURN_MS = 50;
/** What took too long or failed, in words; and what was seen of the times. */
export interface Judgement {
  readonly faults: readonly string[];
  readonly seen: readonly string[];
}

/** @param slowerMax how many times as long as alone the victim's p99 may be. */
export function judgeBeside(alone: readonly VictimReport[], beside: VictimReport, slowerMax: number): Judgement {
  const faults = beside.failures.map((failure) => `the victim: ${failure}`);
  const seen: string[] = [];
  const turnMs = TURN_MS * Math.max(beside.slowness, ...alone.map((report) => report.slowness));
  for (const what of ['requests', 'openings'] as const) {
    const aloneMs = Math.max(turnMs, ...alone.map((report) => report[what].p99Ms));
    const { p99Ms } = beside[what];
    const times = `${what}: p99 ${p99Ms.toFixed(0)} ms, ${(p99Ms / aloneMs).toFixed(2)} times ${aloneMs.toFixed(0)} ms`;
    seen.push(times);
    if (p99Ms > slowerMax * aloneMs) faults.push(`the victim's ${times}, ${slowerMax} at most`);
  }
  return { faults, seen };
}
