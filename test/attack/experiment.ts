// One experiment of the attack: what it does to a gateway, and the expected outcome.
import type { VictimSetup } from '../support/victim.js';
import type { Scope } from './scope.js';
import type { Stage } from './stage.js';

/** Shows that an experiment can fail: it runs against a gateway without the protection under test. */
export interface Control {
  /** Replace the experiment's own options: they switch the share or the limit off, or set it far beyond what it protects. */
  readonly options: readonly string[];
  /** Who has to notice: the experiment itself, by its outcome; the victim; or the watch over the workers. */
  readonly noticedBy: 'experiment' | 'victim' | 'watch';
}

export interface Experiment {
  readonly name: string;
  /** The expected outcome, apart from the victim's being well, in one line. */
  readonly expected: string;
  /**
   * The reported attack that it repeats, such as `X4`. No turn of a worker's event loop may then be dear, and the victim's p99 may be three
   * times what it is alone, or beside {@link harmless}.
   */
  readonly report?: string;
  /** As many requests without what is hostile in them: they take as much of the machine's cores, or more. */
  readonly harmless?: (stage: Stage) => Promise<unknown>;
  /** How the victim works, if not as usual. */
  readonly victim?: VictimSetup;
  /** `shared`: any running gateway; `own`: one started for this experiment alone, with these options, because it affects the process. */
  readonly gateway?: {
    readonly kind: 'own';
    readonly options?: readonly string[] | ((scope: Scope) => readonly string[]);
  };
  /** The least number of workers that it needs. */
  readonly workersMin?: number;
  /** True: it ends workers or the whole gateway, so neither workers nor a victim are checked afterwards. */
  readonly endsProcesses?: boolean;
  /** Left out of the short form: it takes minutes, or gigabytes. */
  readonly isLong?: boolean;
  /** In the short form, run on one arrangement only: it takes long, and the number of workers makes no difference. */
  readonly isOnceInShort?: boolean;
  /** Absent where no option switches the protection off. */
  readonly control?: Control;
  /** Returns the outcome in words. Throws {@link Unexpected}, or any other error, when it is not the expected one. */
  run(stage: Stage): Promise<string>;
}

/** The outcome was not the expected one. */
export class Unexpected extends Error {}

/** @throws {Unexpected} with the outcome. */
export function expect(condition: boolean, seen: string): void {
  if (!condition) throw new Unexpected(seen);
}

/** Counts equal words, for example `405 ×40, 200 ×2`. */
export function tally(words: Iterable<string | number>): string {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(String(word), (counts.get(String(word)) ?? 0) + 1);
  return [...counts].map(([word, count]) => `${word} ×${count}`).join(', ') || 'nothing';
}
