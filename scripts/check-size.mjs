// `npm run check:size`: the sizes in scripts/size.json may fall, and rise only on purpose. `npm run check:size -- --accept` writes today's sizes;
// the commit that raises one says in a line what for.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const RECORD = join(root, 'scripts/size.json');
/** Documents whose length is limited, for who reads them in one go. */
const DOCUMENTS = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'docs/overview.md',
  'docs/limits.md',
  'docs/errors.md',
];

function sourcesIn(folder) {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => readFileSync(join(root, folder, name), 'utf8'));
}

function lineCountOf(texts) {
  return texts.reduce((sum, text) => sum + text.split('\n').length - 1, 0);
}

/** Files and lines of each folder of src, the number of limits, bytes of documents. */
function sizes() {
  const folders = readdirSync(join(root, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const limits = readFileSync(join(root, 'src/shared/limits.ts'), 'utf8').match(/^ {2}\w+: /gm) ?? [];
  const texts = (folder) => sourcesIn(`src/${folder}`);
  return {
    files: { src: sourcesIn('src').length },
    lines: {
      src: lineCountOf(sourcesIn('src')),
      ...Object.fromEntries(folders.map(({ name }) => [name, lineCountOf(texts(name))])),
      ui: lineCountOf(sourcesIn('ui')),
    },
    limits: { all: limits.length },
    bytes: Object.fromEntries(DOCUMENTS.map((name) => [name, readFileSync(join(root, name)).length])),
  };
}

const now = sizes();
if (process.argv.includes('--accept')) {
  writeFileSync(RECORD, `${JSON.stringify(now, undefined, 2)}\n`);
} else {
  const recorded = JSON.parse(readFileSync(RECORD, 'utf8'));
  const raised = Object.entries(now).flatMap(([kind, counts]) =>
    Object.entries(counts).flatMap(([name, count]) => {
      const allowed = recorded[kind]?.[name] ?? 0;
      return count > allowed ? [`${name}: ${count} ${kind}, ${allowed} in scripts/size.json`] : [];
    }),
  );
  if (raised.length > 0) {
    process.stderr.write(`${raised.join('\n')}\n`);
    process.stderr.write(
      'Take something away, or run `npm run check:size -- --accept` and say in the commit what for.\n',
    );
    process.exitCode = 1;
  }
}
