// What a bench ran on and what it measured: figures are meaningless without it.
import { execFileSync } from 'node:child_process';
import { cpus, loadavg, totalmem } from 'node:os';

/** Up to this load average, no other process disturbs the bench. */
const LOAD_AVERAGE_QUIET = 0.5;

export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly node: string;
  readonly nginx: string;
  /** Short hash, with `+` when tracked files differ from it; `unknown` outside a git checkout. */
  readonly commit: string;
  /** Target on one core, load and backends on another. */
  readonly isPinned: boolean;
  /** Of one minute, before the bench began: above 0.5, other processes were busy. */
  readonly loadAverageBefore: number;
}

export function describeMachine(nginx: string, isPinned: boolean): Machine {
  const processors = cpus();
  return {
    processor: processors[0]?.model.trim() ?? 'unknown',
    cores: processors.length,
    memoryBytes: totalmem(),
    node: process.version,
    nginx,
    commit: commit(),
    isPinned,
    loadAverageBefore: Math.round((loadavg()[0] ?? 0) * 100) / 100,
  };
}

/** The line printed before anything is measured. */
export function loadAverageLine({ loadAverageBefore }: Machine): string {
  const warning = loadAverageBefore >= LOAD_AVERAGE_QUIET ? ': somebody else is busy, the figures will be rough' : '';
  return `load average ${loadAverageBefore}${warning}`;
}

/** Figures from a busy machine are no standard for later ones. @throws when the bench began on one. */
export function refuseBusyBaseline({ loadAverageBefore }: Pick<Machine, 'loadAverageBefore'>): void {
  if (loadAverageBefore < LOAD_AVERAGE_QUIET) return;
  throw new Error(
    `no baseline is taken at a load average of ${loadAverageBefore}: wait until it is below ${LOAD_AVERAGE_QUIET}`,
  );
}

function commit(): string {
  try {
    const hash = git('rev-parse', '--short', 'HEAD');
    return git('status', '--porcelain', '--untracked-files=no') === '' ? hash : `${hash}+`;
  } catch {
    return 'unknown';
  }
}

function git(...words: readonly string[]): string {
  return execFileSync('git', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}
