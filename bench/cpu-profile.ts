// Reads a CPU profile as Node writes it, and sums up where the time went. Pure.
import { renderTable } from './table.js';

/** The part of a `.cpuprofile` file that is used. */
export interface CpuProfile {
  /** µs of the monotonic clock, which all processes of a machine share. */
  readonly startTime: number;
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  /** Ids of the sampled nodes. */
  readonly samples: readonly number[];
  /** µs since the previous sample. */
  readonly timeDeltas: readonly number[];
}

export interface SelfTime {
  readonly name: string;
  /** `file:line`; empty where there is none. */
  readonly place: string;
  readonly us: number;
}

/** Waiting, and the profiler's own time, count for no function. */
const NOT_WORK: ReadonlySet<string> = new Set(['(idle)', '(root)']);
/** A long place is cut at its beginning, since the end is more telling. */
const PLACE_CHARS_MAX = 60;

/**
 * The time of each function, without the functions that it called; longest first.
 * @param fromUs samples before this time of the profile's clock are left out, so that startup does not count.
 */
export function selfTimes({ startTime, nodes, samples, timeDeltas }: CpuProfile, fromUs: number): SelfTime[] {
  const byFunction = new Map<string, { name: string; place: string; us: number }>();
  const byNode = new Map(
    nodes.map(({ id, callFrame: { functionName, url, lineNumber } }) => {
      const name = functionName === '' ? '(anonymous)' : functionName;
      const place = url === '' ? '' : `${url.replace(/^file:\/\//, '')}:${lineNumber + 1}`;
      const key = `${name} ${place}`;
      const entry = byFunction.get(key) ?? { name, place, us: 0 };
      byFunction.set(key, entry);
      return [id, entry];
    }),
  );
  let atUs = startTime;
  for (const [index, id] of samples.entries()) {
    const us = timeDeltas[index] ?? 0;
    atUs += us;
    const entry = byNode.get(id);
    if (entry !== undefined && atUs >= fromUs) entry.us += us;
  }
  return [...byFunction.values()].filter(({ name, us }) => us > 0 && !NOT_WORK.has(name)).sort((a, b) => b.us - a.us);
}

/** Shares are relative to the total working time. */
export function selfTimeTable(times: readonly SelfTime[], lines: number): string {
  const workedUs = times.reduce((sum, { us }) => sum + us, 0);
  return renderTable<SelfTime>(
    [
      { title: 'Self, %', align: 'right', cell: ({ us }) => ((us / workedUs) * 100).toFixed(1) },
      { title: 'ms', align: 'right', cell: ({ us }) => (us / 1_000).toFixed(0) },
      { title: 'Function', align: 'left', cell: ({ name }) => name },
      { title: 'Place', align: 'left', cell: ({ place }) => place.slice(-PLACE_CHARS_MAX) },
    ],
    times.slice(0, lines),
  );
}
