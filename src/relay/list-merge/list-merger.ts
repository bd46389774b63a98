// Reads and merges lists of tools: at once on the event loop when that takes no longer than a call does, in the list
// thread otherwise, so that the loop keeps serving (limits.ts says from which size on, and why).
import { readToolAnswer, type ToolAnswer } from '../../protocol/tool-page.js';
import type { DeadlineWheel } from '../../shared/deadline-wheel.js';
import { limits } from '../../shared/limits.js';
import type { Logger } from '../../shared/logger.js';
import { ListPool, type ThreadFailure } from './list-pool.js';
import { encodeRules, type ListRules } from './list-rules.js';
import { mergeTools, type BackendTools, type MergedList, type MergeJob } from './merge.js';
import { joined, receiveAnswer, receiveList, sendAnswer, sendJob } from './thread-tasks.js';

export class ListMerger {
  readonly #pool: ListPool;
  /** Encoded once for each compiled virtual host: an allow-list may have thousands of names. */
  readonly #rulesTexts = new WeakMap<ListRules, string>();

  constructor(deadlines: DeadlineWheel, logger: Logger) {
    this.#pool = new ListPool(deadlines, logger);
  }

  /**
   * Reads an answer to `tools/list`.
   * @param pieces of the message; large ones are lost to their sender.
   * @param id of the request, as JSON.
   * @param done called once, from within when the answer is small.
   */
  read(
    pieces: readonly Buffer[],
    id: Buffer,
    withinMs: number,
    done: (answer: ToolAnswer | ThreadFailure) => void,
  ): void {
    const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
    if (bytes <= limits.listBytesInlineMax) {
      done(readToolAnswer(joined(pieces), id));
      return;
    }
    this.#pool.run('readAnswer', sendAnswer(pieces, id), withinMs, (outcome) =>
      done(typeof outcome === 'string' ? outcome : receiveAnswer(outcome)),
    );
  }

  /** @param done called once, from within when the list is small. */
  merge(job: MergeJob, done: (list: MergedList | ThreadFailure) => void): void {
    if (bytesOf(job.parts) <= limits.listBytesInlineMax) {
      done(mergeTools(job));
      return;
    }
    const handover = sendJob(job, this.#rulesText(job.rules));
    this.#pool.run('merge', handover, limits.listMergeMsMax, (outcome) =>
      done(typeof outcome === 'string' ? outcome : receiveList(outcome)),
    );
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  #rulesText(rules: ListRules): string {
    let text = this.#rulesTexts.get(rules);
    if (text === undefined) {
      text = encodeRules(rules);
      this.#rulesTexts.set(rules, text);
    }
    return text;
  }
}

function bytesOf(parts: readonly BackendTools[]): number {
  let sum = 0;
  for (const { pages } of parts) for (const { bytes } of pages) sum += bytes.length;
  return sum;
}
