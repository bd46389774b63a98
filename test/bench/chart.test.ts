import t from 'tap';
import { renderLatencyChart } from '../../bench/chart.js';
import { results, run } from './results-fixture.js';

function bench(day: string, gateway: number, nginx: number): ReturnType<typeof results> {
  return results([run(1, 'gateway', gateway), run(1, 'nginx', nginx)], `2026-01-${day}T00:00:00.000Z`);
}

/** The vertical positions of a line's points, from left to right. */
function heights(svg: string, className: string): number[] {
  const points = new RegExp(`<polyline points="([^"]*)" class="${className}"/>`).exec(svg)?.[1] ?? '';
  return points.split(' ').map((point) => Number(point.split(',')[1]));
}

t.test('every series is a line with a point for each bench, higher where it is slower', async (t) => {
  const svg = renderLatencyChart([bench('01', 40, 20), bench('02', 80, 20), bench('03', 20, 20)]);
  const [first = 0, second = 0, third = 0] = heights(svg, 'gateway');
  t.ok(second < first && first < third, 'y grows downwards');
  const nginx = heights(svg, 'nginx');
  t.equal(nginx.length, 3);
  t.equal(new Set(nginx).size, 1);
  t.equal(nginx[0], third, 'the same latency is at the same height');
  t.equal(heights(svg, 'gateway dashed').length, 3);
});

t.test('axes and lines are labelled, and both kinds of page can show it', async (t) => {
  const svg = renderLatencyChart([bench('01', 40, 20)]);
  for (const label of [
    'whole answer, ms (log)',
    'date and commit',
    'gateway, p99',
    'nginx, p50',
    '2026-01-01 abcdef0',
  ]) {
    t.ok(svg.includes(label), label);
  }
  t.ok(svg.includes('prefers-color-scheme: dark'));
});

t.test('all points are inside of the plot, whatever the values', async (t) => {
  const svg = renderLatencyChart([bench('01', 0.02, 1), bench('02', 30_000, 1)]);
  for (const y of [...heights(svg, 'gateway'), ...heights(svg, 'nginx')]) t.ok(y >= 50 && y <= 320, String(y));
});

t.test('dates are left out before they overlap', async (t) => {
  const days = Array.from({ length: 28 }, (_, day) => bench(String(day + 1).padStart(2, '0'), 40, 20));
  const dates = renderLatencyChart(days).match(/2026-01-\d\d abcdef0/g) ?? [];
  t.ok(dates.length > 3 && dates.length <= 8, `${dates.length} dates`);
});

t.test('results of other scenarios are left out; without any there are axes only', async (t) => {
  const others = results([run(1, 'gateway', 40, { connections: 64 }), run(1, 'gateway', 40, { scenario: 'list' })]);
  const svg = renderLatencyChart([others]);
  t.notOk(svg.includes('<polyline'));
  t.ok(svg.includes('class="axis"'));
});

t.test('text of a result cannot become markup', async (t) => {
  const { machine, ...facts } = bench('01', 40, 20);
  const svg = renderLatencyChart([{ ...facts, machine: { ...machine, commit: '<script>' } }]);
  t.notOk(svg.includes('<script>'));
});
