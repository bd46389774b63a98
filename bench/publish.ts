// Publishes results: tables on the terminal, and the files that are kept with the code.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  comparisonTable,
  compareWithBaseline,
  createBaseline,
  isWithinBounds,
  RELATIVE_MAX,
  RELATIVE_MIN,
  type Baseline,
} from './baseline.js';
import { renderLatencyChart } from './chart.js';
import { faultCount } from './fault-counter.js';
import { readHistory } from './history.js';
import type { BenchOptions } from './options.js';
import { refuseBusyBaseline } from './machine.js';
import { faultsOf, figureTable, latencyTable, machineLine, renderReport } from './report.js';
import { peerTable } from './peer-table.js';
import { renderJson, type BenchResults } from './results.js';
import { isPeerName } from './targets.js';

const benchDirectory = fileURLToPath(new URL('../../bench/', import.meta.url));
const resultsDirectory = join(benchDirectory, 'results');
const baselinePath = join(benchDirectory, 'baseline.json');

/** Everything went well; a response was wrong; a figure left its bounds. */
export const exitStatus = { good: 0, void: 1, outOfBounds: 2 } as const;

/** Figures of a bench with faults are only shown. Returns the exit status. */
export function publish(results: BenchResults, { then, peers, programBefore, keptResultsPath }: BenchOptions): number {
  console.log(`${machineLine(results)}\n\n${figureTable(results)}\n\n${latencyTable(results)}\n`);
  if (peers.length > 0) console.log(`${peerTable(results)}\n`);
  tellFaults(results);
  if (faultsOf(results.runs.filter(({ target }) => !isPeerName(target))) > 0) {
    console.error('The figures are void: not everything was answered rightly. Nothing was written.');
    return exitStatus.void;
  }
  // Other gateways are not part of our history, and a comparison of two builds is only printed.
  if (peers.length === 0 && programBefore === undefined && keptResultsPath === undefined) keep(results);
  switch (then) {
    case 'report':
      return exitStatus.good;
    case 'report and save baseline':
      refuseBusyBaseline(results.machine);
      writeFileSync(baselinePath, `${JSON.stringify(createBaseline(results), undefined, 2)}\n`);
      console.log(`wrote ${shown(baselinePath)}`);
      return exitStatus.good;
    case 'report and check':
      return check(results);
  }
}

function keep(results: BenchResults): void {
  mkdirSync(resultsDirectory, { recursive: true });
  const path = join(resultsDirectory, `${results.startedAt.slice(0, 19).replaceAll(':', '-')}.json`);
  writeFileSync(path, renderJson(results));
  writeFileSync(join(benchDirectory, 'latency.svg'), renderLatencyChart(readHistory(resultsDirectory)));
  writeFileSync(join(benchDirectory, 'RESULTS.md'), renderReport(results));
  console.log(`wrote ${shown(path)}, bench/RESULTS.md and bench/latency.svg`);
}

function check(results: BenchResults): number {
  if (!existsSync(baselinePath)) throw new Error('there is no baseline: npm run bench -- --save-baseline makes one');
  const baseline = JSON.parse(readFileSync(baselinePath, 'utf8')) as Baseline;
  const comparisons = compareWithBaseline(results, baseline);
  const isGood = isWithinBounds(comparisons);
  console.log(`Against ${shown(baselinePath)}, ${baseline.startedAt.slice(0, 10)}, ${baseline.processor}:\n`);
  console.log(`${comparisonTable(comparisons)}\n`);
  console.log(
    isGood
      ? `Every figure is within ${RELATIVE_MIN} to ${RELATIVE_MAX} of the baseline.`
      : `Not every figure is within ${RELATIVE_MIN} to ${RELATIVE_MAX} of the baseline; bench/README.md says what that means.`,
  );
  return isGood ? exitStatus.good : exitStatus.outOfBounds;
}

function tellFaults({ runs }: BenchResults): void {
  for (const { round, scenario, connections, target, measurement } of runs) {
    if (faultCount(measurement.faults) === 0) continue;
    console.error(`round ${round}, ${scenario}, ${connections} connections, ${target}:`, measurement.faults);
  }
}

function shown(path: string): string {
  return join('bench', relative(benchDirectory, path));
}
