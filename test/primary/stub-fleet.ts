// Shared by the tests of the primary: options, a journal of the stub workers, and the primary as a real process.
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import type { DataplaneOptions } from '../../src/config/dataplane-options.js';
import type { ProgramPlan } from './primary-program.js';
import type { JournalEntry, StubPlan } from './stub-worker.js';
import { killWithProcess } from '../support/leftovers.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

/** A busy machine takes seconds to start a process. */
const patienceMs = 60_000;

/** Waits until `condition` returns a value; throws an error that says what was awaited if it never does. */
export async function until<Value>(
  what: string,
  condition: () => Value | undefined | false | Promise<Value | undefined | false>,
): Promise<Value> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const value = await condition();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > deadline) throw new Error(`waited in vain until ${what}`);
    await sleep(5);
  }
}

export class Journal {
  readonly path: string;

  constructor(t: Test) {
    // A test may start several primaries, each with its own journal.
    this.path = join(createScratchDirectory(t), 'journal');
  }

  entries(event?: JournalEntry['event'], slot?: number): JournalEntry[] {
    if (!existsSync(this.path)) return [];
    const lines = readFileSync(this.path, 'utf8').split('\n').slice(0, -1);
    return lines
      .map((line) => JSON.parse(line) as JournalEntry)
      .filter((entry) => (event ?? entry.event) === entry.event && (slot ?? entry.slot) === entry.slot);
  }

  /** Waits for the `nth` (from 1) entry of that kind. */
  async entry(event: JournalEntry['event'], slot: number, nth = 1): Promise<JournalEntry> {
    return until(`slot ${slot} notes "${event}" (${nth})`, () => this.entries(event, slot)[nth - 1]);
  }
}

export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

export interface Primary {
  readonly process: ChildProcess;
  readonly journal: Journal;
  readonly log: readonly LogLine[];
  /** Waits for the first log line with this message. */
  logged(msg: string): Promise<LogLine>;
  /** The line that says why the program ended. It may come before the last but one: pino writes it synchronously. */
  fatal(): LogLine | undefined;
  /** Resolves to the exit status, or to the signal that killed the primary, once its workers are gone too. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
}

export function startPrimary(
  t: Test,
  options: DataplaneOptions,
  stubs: readonly StubPlan[] = [],
  extras: Partial<ProgramPlan> & { readonly environment?: NodeJS.ProcessEnv } = {},
): Primary {
  const journal = new Journal(t);
  const { environment, ...rest } = extras;
  const plan: ProgramPlan = { options, journal: journal.path, stubs, ...rest };
  const program = fileURLToPath(new URL('primary-program.js', import.meta.url));
  const child = spawn(process.execPath, [program, JSON.stringify(plan)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '', ...environment }, // without the test runner's hooks, which slow every start down
  });
  killWithProcess(child);
  // The workers hold the log's pipe too, so the primary's `close` event comes only after the last of them has ended.
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) =>
    child.once('close', (status, signal) => resolve(status ?? signal)),
  );
  t.teardown(() => {
    child.kill('SIGKILL');
    return ended;
  });
  const log: LogLine[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => log.push(JSON.parse(line) as LogLine));
  return {
    process: child,
    journal,
    log,
    logged: (msg) => until(`the log says "${msg}"`, () => log.find((line) => line.msg === msg)),
    fatal: () => log.find(({ level }) => level === 60),
    ended,
  };
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
