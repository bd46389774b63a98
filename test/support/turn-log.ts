// What the turns of the main threads of a program's processes cost, as recorded in them by `turn-watch.ts`.
//
//   const turns = new TurnLog(t);
//   ... startDeployment(t, { environment: turns.environment }) ...
//   await turns.check(t, 'a large call', () => gateway.workerPids(), async () => ...);
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { createScratchDirectory } from './scratch-directory.js';
import { slownessNow } from './turn-cost.js';

/** No turn may cost more, in ms of CPU time on a machine like the one that the limits are made for. */
const TURN_MS_MAX = 50;
const TRIES_MAX = 3;

export class TurnLog {
  readonly #directory: string;

  constructor(t: Pick<Test, 'teardown'>) {
    this.#directory = createScratchDirectory(t);
  }

  /** The environment of the processes to watch. */
  get environment(): Readonly<Record<string, string>> {
    const watch = new URL('./turn-watch.js', import.meta.url);
    return { NODE_OPTIONS: `--import ${watch.href}`, TURN_WATCH_DIRECTORY: this.#directory };
  }

  /**
   * Checks that no turn is too expensive while the action runs. It is retried: expensive work is expensive on every try, other load on
   * the machine is not. Throws when one of the processes is not watched.
   */
  async check(t: Test, what: string, pids: () => readonly number[], action: () => Promise<void>): Promise<void> {
    let words = '';
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const sinceMs = Date.now();
      await action();
      const dearestMs = this.dearestMs(pids(), sinceMs);
      const boundMs = dearestMs < TURN_MS_MAX ? TURN_MS_MAX : TURN_MS_MAX * slownessNow();
      words = `${what}: the dearest turn cost ${Math.round(dearestMs)} ms of ${Math.round(boundMs)} at most`;
      if (dearestMs >= boundMs) continue;
      t.pass(words);
      return;
    }
    t.fail(words);
  }

  /**
   * The average cost, in ms, of the turn that a request arriving at a random time meets: expensive turns are met more often. Turns that
   * cost little are not recorded, and do not count.
   */
  async meanMetMs(pids: () => readonly number[], action: () => Promise<void>): Promise<number> {
    const sinceMs = Date.now();
    await action();
    const costs = pids().flatMap((pid) => this.#costsSince(pid, sinceMs));
    const wholeMs = costs.reduce((sum, cost) => sum + cost, 0);
    return wholeMs === 0 ? 0 : costs.reduce((sum, cost) => sum + cost * cost, 0) / wholeMs;
  }

  /** The cost of the dearest turn since then, in ms; 0 if none was dear enough to be recorded. Throws when one of the processes is not watched. */
  dearestMs(pids: readonly number[], sinceMs: number): number {
    return Math.max(0, ...pids.flatMap((pid) => this.#costsSince(pid, sinceMs)));
  }

  #costsSince(pid: number, sinceMs: number): number[] {
    const lines = readFileSync(join(this.#directory, `${pid}.turns`), 'utf8')
      .trim()
      .split('\n');
    const costs = lines.map((line) => line.split(' ').map(Number)).filter(([atMs = 0]) => atMs >= sinceMs);
    return costs.map(([, costMs = 0]) => costMs);
  }
}
