// Made-up results of a bench, for tests of the code that processes results.
import type { Measurement } from '../../bench/load-plan.js';
import type { BenchResults, Run } from '../../bench/results.js';
import type { TargetName } from '../../bench/targets.js';

/** A run of 1,000 calls in half a second. Its p99 is a tenth of a millisecond for each µs of CPU. */
export function run(round: number, target: TargetName, cpuUsPerRequest: number, more: Partial<Run> = {}): Run {
  const measurement: Measurement = {
    requests: 1_000,
    elapsedMs: 500,
    latency: { p50Us: 1_000, p90Us: 2_000, p99Us: cpuUsPerRequest * 100, p99_9Us: 9_000 },
    targetCpuUs: cpuUsPerRequest * 1_000,
    backendCpuUs: 10_000,
    loadCpuUs: 15_000,
    targetResidentBytes: 50 * 1024 * 1024,
    faults: { errors: 0, non2xx: 0, lost: 0, wrongBodies: 0, sample: undefined },
  };
  return { round, scenario: 'call', unit: 'call', connections: 16, target, requestsPerUnit: 1, measurement, ...more };
}

export function results(runs: readonly Run[], startedAt = '2026-01-02T03:04:05.000Z'): BenchResults {
  const machine = {
    processor: 'Some Processor',
    cores: 2,
    memoryBytes: 1,
    node: 'v20.0.0',
    nginx: '1.22.1',
    commit: 'abcdef0',
    isPinned: true,
    loadAverageBefore: 0.1,
  };
  return { startedAt, mode: 'full', rounds: 3, warmUpMs: 1, measureMs: 500, machine, runs };
}
