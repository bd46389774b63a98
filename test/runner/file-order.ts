// Which test files a run takes, and in which order: what measures whether one disturbs another comes before everything, and not beside
// what keeps the machine busy. Those that start programs take longest, so they come next, and no core is left idle at the end by a long
// one that began last.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const TREE = join('build', 'test');
/** How the names of tests begin that start programs: the one that takes longest by far, then whole folders. Longest first. */
const FIRST = ['spec/all-rows.', 'integration/', 'spec/', 'primary/'] as const;
/** Beside other files they would measure these as well. */
const MEASURING: ReadonlySet<string> = new Set(
  ['tenants', 'tenants-bytes', 'tenants-totals', 'tenants-connections', 'hostile-backends'].map((name) =>
    join(TREE, 'integration', `${name}.test.js`),
  ),
);

/** What fails in such a file, with the machine to itself, is what it looks for: another run would only hide it. */
export function isMeasuring(name: string): boolean {
  return MEASURING.has(name);
}

/**
 * The compiled tests below `build/test`, as `build/test/main.test.js`.
 * @param words parts of their names: those that have any of them. All when there is none.
 */
export function testFiles(root: string, words: readonly string[]): string[] {
  const files = readdirSync(join(root, TREE), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.js'))
    .filter((file) => words.length === 0 || words.some((word) => join(TREE, file).includes(word)));
  const rank = (file: string): number => {
    if (isMeasuring(join(TREE, file))) return -1;
    const at = FIRST.findIndex((beginning) => file.startsWith(beginning));
    return at === -1 ? FIRST.length : at;
  };
  return files.sort((one, other) => rank(one) - rank(other) || (one < other ? -1 : 1)).map((file) => join(TREE, file));
}
