// Every requirement, decision and section that a comment or a test cites exists in docs/specification.md.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const specification = readFileSync(join(root, 'docs/specification.md'), 'utf8');

const requirementIds = new Set(Array.from(specification.matchAll(/^\| ([SCRXEMN]\d\d) /gm), ([, id]) => id));
const sectionNumbers = new Set(Array.from(specification.matchAll(/^#+ (\d(?:\.\d)?) /gm), ([, number]) => number));
const headings = new Set(Array.from(specification.matchAll(/^#+ (?:\d\S* )?(.+)$/gm), ([, heading]) => heading));
const topics = new Set(Array.from(specification.matchAll(/^\*\*(\w+)\.\*\*/gm), ([, topic]) => topic));

const folders = ['src', 'ui', 'test', 'bench', 'demo'];
const files = folders.flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.includes('node_modules'))
    .map((file) => join(folder, file)),
);

/** File names used as mere examples. */
const EXAMPLES = new Set(['src/a/b.ts', 'test/a/b.test.ts']);

interface Citation {
  readonly file: string;
  readonly words: string;
}

function citations(pattern: RegExp): Citation[] {
  return files.flatMap((file) =>
    Array.from(readFileSync(join(root, file), 'utf8').matchAll(pattern), ([, words]) => ({ file, words: words ?? '' })),
  );
}

function unresolved(cited: readonly Citation[], known: ReadonlySet<string | undefined>): string[] {
  return cited.filter(({ words }) => !known.has(words)).map(({ file, words }) => `${file} cites ${words}`);
}

t.test('requirement ids', async (t) => {
  const cited = citations(/\b([SCRXEMN]\d\d)\b/g);
  t.ok(cited.length > 100, 'the sources were read');
  t.strictSame(unresolved(cited, requirementIds), []);
});

t.test('numbered decisions', async (t) => {
  const cited = citations(/\bdecisions? (\d(?:\.\d)?)/g);
  t.ok(cited.length > 50, 'the sources were read');
  t.strictSame(unresolved(cited, sectionNumbers), []);
});

t.test('sections of the contract', async (t) => {
  const cited = citations(/\bspecification "([^"]+)"/g);
  t.ok(cited.length > 2, 'the sources were read');
  t.strictSame(unresolved(cited, headings), []);
});

t.test('topics of a decision', async (t) => {
  const cited = citations(/\bdecisions 3, "(\w+)"/g);
  t.ok(cited.length > 2, 'the sources were read');
  t.strictSame(unresolved(cited, topics), []);
});

t.test('tests and experiments that show a defect', async (t) => {
  const rows = readFileSync(join(root, 'test/attack/README.md'), 'utf8').matchAll(
    /^\| [^|]+ \| `(test\/[^`]+)` *\| ([^|]+?) *\| (?:`([a-z-]+)`|none) *\|$/gm,
  );
  const named = Array.from(rows, ([, file = '', title = '', experiment]) => ({ file, title, experiment }));
  t.ok(named.length > 30, 'the table was read');
  const experiments = files
    .filter((file) => file.startsWith('test/attack/experiments/'))
    .map((file) => readFileSync(join(root, file), 'utf8'))
    .join('');
  for (const { file, title, experiment } of named) {
    t.ok(readFileSync(join(root, file), 'utf8').includes(title), `${file}: ${title}`);
    if (experiment !== undefined) t.ok(experiments.includes(`name: '${experiment}'`), experiment);
  }
});

t.test('files of the repository', async (t) => {
  const documents = ['.', 'docs', 'bench', 'test/attack', 'deploy'].flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((file) => file.endsWith('.md') && file !== 'CHANGELOG.md')
      .map((file) => join(folder, file)),
  );
  const isThere = (path: string): boolean => files.some((file) => file === path || file.endsWith(`/${path}`));
  const cited = [...documents, ...files].flatMap((file) => {
    const comments = file.endsWith('.md')
      ? /`((?:[\w-]+\/)*[\w.-]+\.ts)`/g
      : /^\s*(?:\/\/|\/?\*).*?`?\b((?:[\w-]+\/)+[\w.-]+\.ts)\b/gm;
    return Array.from(readFileSync(join(root, file), 'utf8').matchAll(comments), ([, words = '']) => ({ file, words }));
  });
  t.ok(cited.length > 100, `${cited.length} citations`);
  const dead = cited.filter(({ words }) => !isThere(words) && !EXAMPLES.has(words));
  t.strictSame(
    dead.map(({ file, words }) => `${file} cites ${words}`),
    [],
  );
});
