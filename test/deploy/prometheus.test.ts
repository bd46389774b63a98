// The dashboard and the alert rules use what the gateway exports: metrics and labels by their names, and the label values that the gateway
// defines. promtool checks the rules where it is installed.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { metricFamilies, type MetricFamily } from '../../src/metrics/catalogue.js';
import { COUNTED_METHODS, OUTCOMES } from '../../src/metrics/request-figures.js';
import { StoreCounts } from '../../src/store/store.js';
import { refusals } from '../../src/shared/refusals.js';

const deployed = fileURLToPath(new URL('../../../deploy/', import.meta.url));
const dashboard = readFileSync(`${deployed}grafana/switchyard.json`, 'utf8');
const rules = readFileSync(`${deployed}prometheus/alerts.yml`, 'utf8');

/** Labels that Prometheus adds to each series, and to the buckets of histograms. */
const TARGET_LABELS = ['job', 'instance', 'le'];

const families: Readonly<Record<string, MetricFamily>> = metricFamilies;
const labelValues: Readonly<Record<string, readonly string[]>> = {
  method: COUNTED_METHODS,
  outcome: OUTCOMES,
  code: [...Object.values(refusals).map(({ code }) => code), 'worker-absent'],
  state: ['listening', 'absent'],
  kind: ['resident', 'heap', 'external'],
  result: [...Object.keys(new StoreCounts().reads), 'exported'],
};

interface Panel {
  readonly title: string;
  readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
}

function expressions(): readonly (readonly [string, string])[] {
  const { panels } = JSON.parse(dashboard) as { panels: readonly Panel[] };
  const alerts = rules.split(/^ {6}- alert: /m).slice(1);
  return [
    ...panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const)),
    ...alerts.map(
      (text) =>
        [text.split('\n', 1)[0] ?? '', /expr: (?:>-\n)?([^]*?)\n {8}(?:for|labels):/.exec(text)?.[1] ?? ''] as const,
    ),
  ];
}

/** Unknown metric names, labels that their metrics do not have, and values that the gateway never exports. */
function strangers(expr: string): string[] {
  const found: string[] = [];
  for (const [, name = '', selector = ''] of expr.matchAll(/\b(switchyard_\w+)(?:\{([^}]*)\})?/g)) {
    const histogram = name.replace(/_(?:bucket|sum|count)$/, '');
    const family = families[name] ?? (families[histogram]?.type === 'histogram' ? families[histogram] : undefined);
    if (family === undefined) found.push(name);
    for (const [, label = '', operator = '', value = ''] of selector.matchAll(/(\w+)(=~|!=|=)"([^"]*)"/g)) {
      if (TARGET_LABELS.includes(label)) continue;
      if (family?.labels.includes(label) !== true) found.push(`${name}{${label}}`);
      const pattern = operator === '=~' ? new RegExp(`^(?:${value})$`) : undefined;
      const known = labelValues[label]?.some((candidate) => pattern?.test(candidate) ?? candidate === value);
      if (value !== '' && known === false) found.push(`${name}{${label}="${value}"}`);
    }
  }
  return found;
}

t.test('every expression uses existing metrics, labels and values', async (t) => {
  const all = expressions();
  t.ok(all.length > 30, 'the expressions were found');
  for (const [where, expr] of all) {
    t.match(expr, /switchyard_|up\{/, where);
    t.same(strangers(expr), [], where);
  }
  t.same(strangers('rate(switchyard_hops_total{colour="red"}[5m]) + switchyard_banana{code="x"}'), [
    'switchyard_hops_total{colour}',
    'switchyard_banana',
    'switchyard_banana{code}',
    'switchyard_banana{code="x"}',
  ]);
});

t.test('every label in a grouping or a legend belongs to the metric', async (t) => {
  for (const [where, expr] of expressions()) {
    const names = [...expr.matchAll(/\b(switchyard_\w+?)(?:_bucket)?(?=[{[ )])/g)].map(([, name = '']) => name);
    const labels = new Set([...TARGET_LABELS, ...names.flatMap((name) => families[name]?.labels ?? [])]);
    for (const [, group = ''] of expr.matchAll(/\bby \(([^)]*)\)/g))
      for (const label of group.split(',')) t.ok(labels.has(label.trim()), `${where}: ${label.trim()}`);
  }
});

t.test('every metric is on the dashboard or in a rule', async (t) => {
  const shown = dashboard + rules;
  t.same(
    Object.keys(families).filter((name) => !shown.includes(name)),
    [],
  );
});

t.test('promtool accepts the rules', async (t) => {
  const { error, status, stdout, stderr } = spawnSync(
    'promtool',
    ['check', 'rules', `${deployed}prometheus/alerts.yml`],
    {
      encoding: 'utf8',
    },
  );
  if (error === undefined) t.equal(status, 0, `${stdout}${stderr}`);
  else t.comment('promtool is not installed: Debian has it in the package prometheus');
});
