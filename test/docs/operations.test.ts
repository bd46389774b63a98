// docs/operations.md and the program agree: every metric with its labels, every obstacle, every outcome.
import { readFileSync } from 'node:fs';
import { pino } from 'pino';
import t from 'tap';
import { metricFamilies, type MetricFamily } from '../../src/metrics/catalogue.js';
import { OUTCOMES } from '../../src/metrics/request-figures.js';

const page = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8');

t.test('exactly the existing metrics are documented, each as it is', async (t) => {
  const rows = [...page.matchAll(/^\| `(switchyard_\w+)` *\| (\w+) *\| (.*?) *\| (.*?) *\|$/gm)].map(
    ([, ...cells]) => cells,
  );
  const families: readonly (readonly [string, MetricFamily])[] = Object.entries(metricFamilies);
  const expected = families.map(([name, { type, labels, help }]) => [
    name,
    type,
    labels.map((label) => `\`${label}\``).join(', ') || 'none',
    help,
  ]);
  t.strictSame(rows, expected);
});

t.test('the number of every log level is explained', async (t) => {
  for (const [level, name] of Object.entries(pino.levels.labels))
    t.ok(page.includes(`| ${level}      | \`${name}\``), name);
});

t.test('every outcome is explained', async (t) => {
  for (const outcome of OUTCOMES) t.ok(page.includes(`\`${outcome}\``), outcome);
});
