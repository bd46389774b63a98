// The processes of a bench: started pinned to a core, with their output kept in files, and killed however the bench ends.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const LOG_TAIL_CHARS = 2_000;
/** The time for an orderly end; a child that takes longer is killed. */
const STOP_MS_MAX = 5_000;

/**
 * The target has a core of its own; load and backends share the other. Two workers have a core each, one of which they share with the
 * load when there is no third.
 */
export type Core = 'target' | 'load' | 'two-targets';

const coreNumbers: Readonly<Record<Core, string>> = {
  target: '0',
  load: '1',
  'two-targets': availableParallelism() > 2 ? '0,2' : '0,1',
};

export interface ChildSetup {
  readonly name: string;
  readonly core: Core;
  readonly command: string;
  readonly words: readonly string[];
  /** Additional environment variables. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly hasChannel?: boolean;
}

export class ChildProcesses {
  readonly #logDirectory: string;
  readonly #children = new Set<ChildProcess>();
  /** Children that are being stopped on purpose. */
  readonly #stopping = new Set<ChildProcess>();
  /** Whether each process can be pinned to a core: needs Linux with `taskset`, and two cores. */
  readonly isPinned = canPin();
  /** Rejects when a child ends by itself: any measurement after that would be void. */
  readonly failure: Promise<never>;
  #fail: (error: Error) => void = () => {};

  constructor(logDirectory: string) {
    this.#logDirectory = logDirectory;
    this.failure = new Promise((_, reject) => (this.#fail = reject));
    // Others race against this promise later; until then its rejection must not count as unhandled.
    this.failure.catch(() => {});
    // Before other listeners: if one of them throws, the next ones are not called.
    process.prependOnceListener('exit', () => this.#killAll());
  }

  /** Throws when the command does not exist. */
  async start(setup: ChildSetup): Promise<ChildProcess & { pid: number }> {
    const { name, core, command, words, environment, hasChannel = false } = setup;
    const logPath = join(this.#logDirectory, `${name}.log`);
    const log = openSync(logPath, 'a');
    const pinning = this.isPinned ? ['taskset', '-c', coreNumbers[core]] : [];
    const [file, ...rest] = [...pinning, command, ...words];
    const child = spawn(file ?? command, rest, {
      env: { ...process.env, ...environment },
      stdio: hasChannel ? ['ignore', log, log, 'ipc'] : ['ignore', log, log],
      // A process group of its own: killed as a whole, workers included, and not hit by the terminal's Ctrl-C.
      detached: true,
      // Plans hold bodies of megabytes, which would take seconds to transfer as JSON.
      serialization: 'advanced',
    });
    closeSync(log);
    // At once, because the bench may be ended before the child has reported that it runs.
    this.#children.add(child);
    try {
      await new Promise<void>((resolve, reject) => child.once('spawn', resolve).once('error', reject));
    } catch (error) {
      this.#children.delete(child);
      throw error;
    }
    child.once('exit', (code, signal) => {
      this.#children.delete(child);
      if (this.#stopping.delete(child)) return;
      const tail = readFileSync(logPath, 'utf8').slice(-LOG_TAIL_CHARS);
      this.#fail(new Error(`${name} ended by itself (${signal ?? `exit status ${code}`})\n${tail}`.trimEnd()));
    });
    const { pid } = child;
    if (pid === undefined) throw new Error(`${name} has no process id`);
    return Object.assign(child, { pid });
  }

  /** Stops the children, or all of them, gracefully, so that each waits for processes of its own. */
  async stop(children: readonly ChildProcess[] = [...this.#children]): Promise<void> {
    const ends = children.map(async (child) => {
      this.#stopping.add(child);
      child.kill('SIGTERM');
      await once(child, 'exit');
    });
    await Promise.race([Promise.all(ends), sleep(STOP_MS_MAX, undefined, { ref: false })]);
  }

  #killAll(): void {
    for (const { pid } of this.#children) {
      try {
        if (pid !== undefined) process.kill(-pid, 'SIGKILL');
      } catch {
        // It has just ended.
      }
    }
  }
}

function canPin(): boolean {
  return availableParallelism() >= 2 && spawnSync('taskset', ['--version']).status === 0;
}
