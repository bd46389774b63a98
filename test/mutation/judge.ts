// Asks the tests of a package about its mutants: which of them make a test fail?
import { groupFiles } from '../runner/shared-processes.js';
import type { Drawn, Mutant } from './draw.js';
import type { MutatedTree } from './mutated-tree.js';

/** `timeout`: the tests hung, as they do without end in a loop; this is noticed as well. */
export type Outcome = 'killed' | 'timeout' | 'survived';

export interface Verdict {
  readonly mutant: Mutant;
  readonly outcome: Outcome;
  /** How many tests came by it. */
  readonly tests: number;
}

export interface Judgement {
  readonly verdicts: readonly Verdict[];
  /** Tests that fail without a mutant, in the instrumented package: they are not asked. */
  readonly failing: readonly string[];
}

interface AskedTest {
  readonly name: string;
  readonly tookMs: number;
  readonly ids: ReadonlySet<string>;
}

/** A mutant may take this many times as long as the tests do without it, and this much more, before it counts as hanging. */
const SLOWER_MAX = 4;
const LATER_MS_MAX = 20_000;
/** After a test fails in a process, the rest of it does not run. */
const GROUP_FILES_MAX = 8;

export async function judge(
  tree: MutatedTree,
  drawn: Drawn,
  tests: readonly string[],
  jobs: number,
): Promise<Judgement> {
  tree.instrument(drawn.instrumented);
  const failing: string[] = [];
  const asked: AskedTest[] = [];
  await eachOf(tests, jobs, async (name) => {
    const { run, ids } = await tree.reachedBy(name);
    if (run.exitStatus === 0) asked.push({ name, tookMs: run.tookMs, ids });
    else failing.push(name);
  });
  asked.sort((one, other) => one.tookMs - other.tookMs);
  const verdicts = new Map<Mutant, Verdict>();
  await eachOf(drawn.mutants, jobs, async (mutant) => {
    const reaching = asked.filter(({ ids }) => ids.has(mutant.id));
    verdicts.set(mutant, { mutant, outcome: await outcomeOf(tree, mutant, reaching), tests: reaching.length });
  });
  return { verdicts: drawn.mutants.flatMap((mutant) => verdicts.get(mutant) ?? []), failing };
}

/** The quickest test alone; then the others, several in a process. */
async function outcomeOf(tree: MutatedTree, { id }: Mutant, tests: readonly AskedTest[]): Promise<Outcome> {
  for (const group of groupsOf(tree.root, tests)) {
    const msMax = SLOWER_MAX * group.reduce((sum, { tookMs }) => sum + tookMs, 0) + LATER_MS_MAX;
    const { exitStatus, hasHung } = await tree.runMutant(
      id,
      group.map(({ name }) => name),
      msMax,
    );
    if (hasHung) return 'timeout';
    if (exitStatus !== 0) return 'killed';
  }
  return 'survived';
}

function groupsOf(root: string, [first, ...others]: readonly AskedTest[]): AskedTest[][] {
  if (first === undefined) return [];
  const byName = new Map(others.map((test) => [test.name, test]));
  const groups = groupFiles(root, [...byName.keys()]).flatMap((names) => {
    const tests = names.flatMap((name) => byName.get(name) ?? []);
    const parts = Math.ceil(tests.length / GROUP_FILES_MAX);
    return Array.from({ length: parts }, (_, at) => tests.slice(at * GROUP_FILES_MAX, (at + 1) * GROUP_FILES_MAX));
  });
  return [[first], ...groups];
}

async function eachOf<Item>(items: readonly Item[], jobs: number, act: (item: Item) => Promise<void>): Promise<void> {
  const rest = items.values();
  await Promise.all(
    Array.from({ length: jobs }, async () => {
      for (const item of rest) await act(item);
    }),
  );
}
