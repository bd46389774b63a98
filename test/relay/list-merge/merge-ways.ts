// The two ways in which lists are read and merged, for tests that hold both to one table.
import type { Test } from 'tap';
import { readToolAnswer, type ToolAnswer } from '../../../src/protocol/tool-page.js';
import { ListPool } from '../../../src/relay/list-merge/list-pool.js';
import { encodeRules } from '../../../src/relay/list-merge/list-rules.js';
import { mergeTools, type MergedList, type MergeJob } from '../../../src/relay/list-merge/merge.js';
import { receiveAnswer, receiveList, sendAnswer, sendJob } from '../../../src/relay/list-merge/thread-tasks.js';
import { DeadlineWheel } from '../../../src/shared/deadline-wheel.js';
import { logInto } from '../../support/log-lines.js';

export interface MergeWay {
  read(pieces: readonly Buffer[], id: Buffer): Promise<ToolAnswer>;
  merge(job: MergeJob): Promise<MergedList>;
}

const WITHIN_MS = 60_000;

/** Runs the tests in `body` once for each way. */
export function inBothWays(t: Test, name: string, body: (t: Test, way: MergeWay) => Promise<void>): void {
  t.test(`${name}: on the event loop`, (t) => body(t, onLoop));
  t.test(`${name}: in the list thread`, (t) => body(t, inThread(startPool(t))));
}

/** A pool that ends with the test. */
export function startPool(t: Test, lines: string[] = []): ListPool {
  const deadlines = new DeadlineWheel();
  const pool = new ListPool(deadlines, logInto(lines));
  t.teardown(async () => {
    deadlines.stop();
    await pool.close();
  });
  return pool;
}

export const onLoop: MergeWay = {
  read: async (pieces, id) => readToolAnswer(Buffer.concat(pieces), id),
  merge: async (job) => mergeTools(job),
};

export function inThread(pool: ListPool): MergeWay {
  return {
    read: (pieces, id) =>
      new Promise((resolve, reject) => {
        pool.run('readAnswer', sendAnswer(pieces, id), WITHIN_MS, (outcome) => {
          if (typeof outcome === 'string') reject(new Error(outcome));
          else resolve(receiveAnswer(outcome));
        });
      }),
    merge: (job) =>
      new Promise((resolve, reject) => {
        pool.run('merge', sendJob(job, encodeRules(job.rules)), WITHIN_MS, (outcome) => {
          if (typeof outcome === 'string') reject(new Error(outcome));
          else resolve(receiveList(outcome));
        });
      }),
  };
}
