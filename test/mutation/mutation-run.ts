// Tries mutants one by one: applies each to a copy and runs its tests, the quickest first, until one notices. Before the
// first mutant, every test runs without any, since a test that fails anyway would notice everything. A test that measures,
// and the mutants it is to notice, run with nothing beside them.
import { MutatedCopy } from './mutated-copy.js';
import type { Mutant } from './mutant.js';
import { runTestFile, type TestOutcome } from './test-process.js';

export interface Verdict {
  readonly mutant: Mutant;
  /** The test file that noticed; `undefined` when none did. */
  readonly killedBy: string | undefined;
  /** The test noticed by hanging. */
  readonly hasHung: boolean;
  readonly tookMs: number;
}

export interface MutationRunOptions {
  readonly root: string;
  readonly jobs: number;
  /** Timeout of a test file without a mutant; also an upper limit with one. */
  readonly testMsMax: number;
  /** Whether others that run beside this test file would make it fail. */
  readonly isMeasuring?: (name: string) => boolean;
}

/** With a mutant, a test file has this many times its time without, but at least the time below: a hung one must not last. */
const PATIENCE_FACTOR = 4;
const PATIENCE_MS_MIN = 20_000;

export class MutationRun {
  readonly #options: MutationRunOptions;
  readonly #copies: readonly MutatedCopy[];
  readonly #isMeasuring: (name: string) => boolean;
  /** How long each test file took without a mutant. */
  readonly #tookMs = new Map<string, number>();

  constructor(options: MutationRunOptions) {
    this.#options = options;
    this.#isMeasuring = options.isMeasuring ?? (() => false);
    this.#copies = Array.from({ length: options.jobs }, () => new MutatedCopy(options.root));
  }

  /** The paths of the copies. */
  get paths(): readonly string[] {
    return this.#copies.map(({ path }) => path);
  }

  /** @throws naming each mutant that does not fit its file. */
  checkTexts(mutants: readonly Mutant[]): void {
    const faults = mutants.flatMap((mutant) => this.#faultOf(mutant) ?? []);
    if (faults.length > 0) throw new Error(faults.join('\n'));
  }

  /** @throws naming each mutant that does not fit its file, or each test file that fails without a mutant. */
  async check(mutants: readonly Mutant[]): Promise<void> {
    this.checkTexts(mutants);
    // Restores each file first, so that the build method itself cannot be what the tests notice.
    for (const copy of this.#copies) for (const { file } of mutants) copy.restore(file);
    const names = [...new Set(mutants.flatMap(({ noticedBy }) => noticedBy))];
    const failed: string[] = [];
    await this.#share(names, this.#isMeasuring, async (copy, name) => {
      const startedMs = performance.now();
      const outcome = await runTestFile(copy.path, name, this.#options.testMsMax);
      this.#tookMs.set(name, performance.now() - startedMs);
      if (outcome !== 'passed') failed.push(`${name} (${outcome})`);
    });
    if (failed.length > 0) throw new Error(`fails without a mutant: ${failed.join(', ')}`);
  }

  async try(mutants: readonly Mutant[], onVerdict: (verdict: Verdict) => void): Promise<readonly Verdict[]> {
    const verdicts: Verdict[] = [];
    const isMeasured = ({ noticedBy }: Mutant): boolean => noticedBy.some(this.#isMeasuring);
    await this.#share(mutants, isMeasured, async (copy, mutant) => {
      const verdict = await this.#judge(copy, mutant);
      verdicts.push(verdict);
      onVerdict(verdict);
    });
    return verdicts;
  }

  end(): void {
    for (const copy of this.#copies) copy.remove();
  }

  #faultOf(mutant: Mutant): string | undefined {
    const [copy] = this.#copies;
    try {
      copy?.apply(mutant);
      copy?.restore(mutant.file);
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  async #judge(copy: MutatedCopy, mutant: Mutant): Promise<Verdict> {
    const startedMs = performance.now();
    let outcome: TestOutcome = 'passed';
    let killedBy: string | undefined;
    copy.apply(mutant);
    try {
      for (const name of this.#quickestFirst(mutant.noticedBy)) {
        outcome = await runTestFile(copy.path, name, this.#patienceMs(name));
        if (outcome === 'passed') continue;
        killedBy = name;
        break;
      }
    } finally {
      copy.restore(mutant.file);
    }
    return { mutant, killedBy, hasHung: outcome === 'hung', tookMs: performance.now() - startedMs };
  }

  /** Most mutants are noticed by any of their tests, so a slow test runs only if the quicker ones have noticed nothing. */
  #quickestFirst(names: readonly string[]): string[] {
    return [...names].sort((one, other) => this.#aloneMs(one) - this.#aloneMs(other));
  }

  #patienceMs(name: string): number {
    return Math.min(Math.max(this.#aloneMs(name) * PATIENCE_FACTOR, PATIENCE_MS_MIN), this.#options.testMsMax);
  }

  #aloneMs(name: string): number {
    return this.#tookMs.get(name) ?? this.#options.testMsMax;
  }

  /** Every copy takes the next item as soon as it is free; items that are to be alone come last, one at a time. */
  async #share<Item>(
    items: readonly Item[],
    isAlone: (item: Item) => boolean,
    work: (copy: MutatedCopy, item: Item) => Promise<void>,
  ): Promise<void> {
    const takeAll = async (copy: MutatedCopy, left: Item[]): Promise<void> => {
      for (let item = left.shift(); item !== undefined; item = left.shift()) await work(copy, item);
    };
    const besideOthers = items.filter((item) => !isAlone(item));
    await Promise.all(this.#copies.map((copy) => takeAll(copy, besideOthers)));
    const [first] = this.#copies;
    if (first !== undefined) await takeAll(first, items.filter(isAlone));
  }
}
