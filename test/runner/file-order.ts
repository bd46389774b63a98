// Which test files a run takes, and in which order: files that measure whether subjects disturb each other come first, and not beside
// files that keep the machine busy. Files that start programs take longest, so they come next, and no core is idle at the end because a
// long one began last.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const TREE = join('build', 'test');
/** Prefixes of test files that start programs, the longest-running first: one file, then whole folders. */
const FIRST = ['spec/all-rows.', 'integration/', 'spec/', 'primary/'] as const;
/** These files would also measure any other files that run beside them. */
const MEASURING: ReadonlySet<string> = new Set(
  ['tenants', 'tenants-bytes', 'tenants-totals', 'tenants-connections', 'hostile-backends'].map((name) =>
    join(TREE, 'integration', `${name}.test.js`),
  ),
);

/** A failure in such a file, alone on the machine, is what it looks for: a second run would only hide it. */
export function isMeasuring(name: string): boolean {
  return MEASURING.has(name);
}

/**
 * The compiled tests below `build/test`, for example `build/test/main.test.js`.
 * @param words parts of names; selects the files that have any of them. All when empty.
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
