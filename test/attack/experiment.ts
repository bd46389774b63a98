// One experiment of the attack: what it does to a gateway, and what must be seen.
import type { Stage } from './stage.js';

/** What shows that an experiment can fail: it runs against a gateway that lacks what it is about. */
export interface Control {
  /** In place of the experiment's own: they switch the share or the bound off, or set it far beyond what it protects. */
  readonly options: readonly string[];
  /** Who has to notice: the experiment itself, by what it sees; the victim; or the watch over the workers. */
  readonly noticedBy: 'experiment' | 'victim' | 'watch';
}

export interface Experiment {
  readonly name: string;
  /** What must be seen beside the victim's being well, in a line. */
  readonly expected: string;
  /**
   * `shared`: any gateway that runs; `own`: one started for it alone, with these options, because it does something to
   * the process.
   */
  readonly gateway?: { readonly kind: 'own'; readonly options?: readonly string[] };
  /** How many workers it needs at least. */
  readonly workersMin?: number;
  /** True: it ends workers or the whole gateway, so that nobody looks for them or for a victim afterwards. */
  readonly endsProcesses?: boolean;
  /** Not in the short form: it takes minutes, or gigabytes. */
  readonly isLong?: boolean;
  /** In the short form on one arrangement alone: it goes the same way however many workers there are, and takes its time. */
  readonly isOnceInShort?: boolean;
  /** None where no option switches off what it is about. */
  readonly control?: Control;
  /** Answers what was seen. Throws {@link Unexpected}, or any other error, when it is not what must be. */
  run(stage: Stage): Promise<string>;
}

/** Something else was seen than what must be. */
export class Unexpected extends Error {}

/** @throws {Unexpected} with what was seen. */
export function expect(condition: boolean, seen: string): void {
  if (!condition) throw new Unexpected(seen);
}

/** How many of each, as in `405 ×40, 200 ×2`. */
export function tally(words: Iterable<string | number>): string {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(String(word), (counts.get(String(word)) ?? 0) + 1);
  return [...counts].map(([word, count]) => `${word} ×${count}`).join(', ') || 'nothing';
}
