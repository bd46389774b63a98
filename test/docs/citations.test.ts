// Every requirement, decision and section that a comment or a test cites exists in docs/specification.md.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
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

t.test('numbered sections', async (t) => {
  const cited = citations(/\bspecification (\d(?:\.\d)?)/g);
  t.ok(cited.length > 50, 'the sources were read');
  t.strictSame(unresolved(cited, sectionNumbers), []);
});

t.test('sections of the contract', async (t) => {
  const cited = citations(/\bspecification "([^"]+)"/g);
  t.ok(cited.length > 2, 'the sources were read');
  t.strictSame(unresolved(cited, headings), []);
});

t.test('topics of a decision', async (t) => {
  const cited = citations(/\bspecification 3, "(\w+)"/g);
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

/** For example `src/fair`. */
const packages = readdirSync(join(root, 'src'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => join('src', name));

t.test('files of the repository', async (t) => {
  const documents = ['.', 'docs', 'bench', 'test/attack', 'deploy', ...packages].flatMap((folder) =>
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
  // A package's page calls its own files as they are called from there, and all others by their folders.
  const isOwn = (file: string, words: string): boolean => files.includes(join(dirname(file), words));
  const isDead = ({ file, words }: Citation): boolean =>
    packages.includes(dirname(file)) && file.endsWith('.md')
      ? !isOwn(file, words) && !(words.includes('/') && isThere(words))
      : !isThere(words) && !EXAMPLES.has(words);
  const dead = cited.filter(isDead);
  t.strictSame(
    dead.map(({ file, words }) => `${file} cites ${words}`),
    [],
  );
});

t.test('types in tables stand in the files that are named beside them', async (t) => {
  const rows = ['docs/overview.md', ...packages.map((folder) => join(folder, 'README.md'))].flatMap((page) => {
    const text = readFileSync(join(root, page), 'utf8');
    return Array.from(
      text.matchAll(/^\| ((?:`\w+`(?:, )?)+) +\| `([\w/.-]+\.ts)` +\|/gm),
      ([, names = '', path = '']) => ({
        page,
        names: Array.from(names.matchAll(/\w+/g), ([name]) => name),
        file: path.startsWith('src/') ? path : join(dirname(page), path),
      }),
    );
  });
  t.ok(rows.length > 3 * packages.length, `${rows.length} rows`);
  for (const { page, names, file } of rows) {
    if (!files.includes(file)) t.fail(`${page} names ${file}, which is not there`);
    else {
      const text = readFileSync(join(root, file), 'utf8');
      for (const name of names) {
        const isExported = new RegExp(
          `^export (?:abstract |async )?(?:class|interface|function|const|type) ${name}\\b`,
          'm',
        );
        t.match(text, isExported, `${page}: ${name} in ${file}`);
      }
    }
  }
});

t.test('names in the pages of packages are names in the program', async (t) => {
  const sources = files.filter((file) => !file.startsWith('bench') && !file.startsWith('demo'));
  const words = new Set(sources.flatMap((file) => readFileSync(join(root, file), 'utf8').match(/\w+/g) ?? []));
  for (const folder of packages) {
    const page = readFileSync(join(root, folder, 'README.md'), 'utf8');
    // Names of two words, or of two parts; others are words of MCP or of the language as well.
    const names = Array.from(page.matchAll(/`(?:\w+\.)?(\w*[a-z][A-Z]\w*|[A-Z]+_[A-Z_]+)`/g), ([, name = '']) => name);
    const dead = names.filter((name) => !words.has(name));
    t.strictSame(dead, [], folder);
  }
});
