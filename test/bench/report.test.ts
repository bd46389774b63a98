import t from 'tap';
import { faultsOf, figureTable, latencyTable, renderReport } from '../../bench/report.js';
import { renderJson } from '../../bench/results.js';
import { renderTable } from '../../bench/table.js';
import { results, run } from './results-fixture.js';

/** The cells of each row, without the table's head and rule. */
function cells(table: string): string[][] {
  const lines = table.split('\n').slice(2);
  return lines.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

const threeRounds = [
  ...[run(1, 'gateway', 40), run(1, 'nginx', 20), run(1, 'direct', 0)],
  ...[run(2, 'gateway', 90), run(2, 'nginx', 30), run(2, 'direct', 0)],
  ...[run(3, 'gateway', 30), run(3, 'nginx', 25), run(3, 'direct', 0)],
];

t.test('the figure is shown as a spread of rounds, its ratio round by round', async (t) => {
  t.same(cells(figureTable(results(threeRounds))), [
    [
      'call',
      '16',
      'CPU per call, µs',
      '30.0 / 40.0 / 90.0',
      'nginx',
      '20.0 / 25.0 / 30.0',
      '1.20 / 2.00 / 3.00',
      '**missed:** ≤ 1.80',
    ],
  ]);
});

t.test('only the median above its goal is a miss', async (t) => {
  const goal = (cpuUs: number) =>
    cells(figureTable(results([run(1, 'gateway', cpuUs), run(1, 'nginx', 10)])))[0]?.at(-1);
  t.equal(goal(18), '≤ 1.80');
  t.equal(goal(18.1), '**missed:** ≤ 1.80');
  const idle = (bytes: number) => {
    const { measurement, ...facts } = run(1, 'gateway', 1, { scenario: 'idle', unit: 'session', connections: 10_000 });
    const weighed = { ...facts, measurement: { ...measurement, requests: 1, targetResidentBytes: bytes } };
    return cells(figureTable(results([weighed])))[0]?.at(-1);
  };
  t.equal(idle(6_144), '≤ 6.0');
  t.equal(idle(6_145), '**missed:** ≤ 6.0');
});

t.test('runs of an earlier build are the yardstick', async (t) => {
  const runs = [run(1, 'gateway', 22), run(1, 'before', 20), run(2, 'gateway', 20), run(2, 'before', 20)];
  const [row] = cells(figureTable(results(runs)));
  t.same(row?.slice(4), ['before', '20.0 / 20.0 / 20.0', '1.00 / 1.05 / 1.10', '**missed:** ≤ 1.03']);
});

t.test('a session costs what all of its requests cost', async (t) => {
  const session = { scenario: 'session', unit: 'session' } as const;
  const runs = [
    run(1, 'gateway', 64, { ...session, requestsPerUnit: 13 }),
    run(1, 'nginx', 26, { ...session, requestsPerUnit: 16 }),
  ];
  const [row] = cells(figureTable(results(runs)));
  t.same(row?.slice(3, 7), ['832.0 / 832.0 / 832.0', 'nginx', '416.0 / 416.0 / 416.0', '2.00 / 2.00 / 2.00']);
});

t.test('a yardstick may be the sum of two figures of one round', async (t) => {
  const adopt = { scenario: 'adopt' } as const;
  const runs = [
    ...[run(1, 'gateway', 60, adopt), run(1, 'at home', 30, adopt), run(1, 'a read', 10, adopt)],
    ...[run(2, 'gateway', 52, adopt), run(2, 'at home', 30, adopt), run(2, 'a read', 10, adopt)],
    ...[run(3, 'gateway', 10, adopt), run(3, 'at home', 30, adopt)],
  ];
  const [row] = cells(figureTable(results(runs)));
  t.same(row?.slice(4), ['at home + a read', '40.0 / 40.0 / 40.0', '1.30 / 1.40 / 1.50', '**missed:** ≤ 1.30']);
});

t.test('a latency is compared with its yardstick, and memory stands by itself', async (t) => {
  const mixed = [run(1, 'gateway', 30, { scenario: 'mixed' }), run(1, 'alone', 20, { scenario: 'mixed' })];
  const idle = run(1, 'gateway', 1, { scenario: 'idle', unit: 'session', connections: 10_000 });
  const rows = cells(figureTable(results([...mixed, idle])));
  t.same(rows[0]?.slice(2), [
    'p99, ms',
    '3.00 / 3.00 / 3.00',
    'alone',
    '2.00 / 2.00 / 2.00',
    '1.50 / 1.50 / 1.50',
    '≤ 3.00',
  ]);
  t.same(rows[1]?.slice(2), ['memory per session, KiB', '51.2 / 51.2 / 51.2', 'none', '–', '–', '**missed:** ≤ 6.0']);
});

t.test('every target has its row of medians; targets that did not run have none', async (t) => {
  const rows = cells(latencyTable(results(threeRounds)));
  t.same(rows[0], ['call', '16', 'gateway', '2000', '1.00', '2.00', '4.00', '9.00', '8', '–', '5', '50.0', '0']);
  t.same(
    rows.map((row) => row[2]),
    ['gateway', 'nginx', 'direct'],
  );
  t.equal(cells(latencyTable(results([run(1, 'nginx', 20)]))).length, 1);
});

t.test('a target’s usage without load has a column', async (t) => {
  const { measurement, ...facts } = run(1, 'gateway', 1, { scenario: 'streams', unit: 'session', connections: 2_000 });
  const quiet = { elapsedMs: 10_000, targetCpuUs: 30_000 };
  const [row] = cells(latencyTable(results([{ ...facts, measurement: { ...measurement, quiet } }])));
  t.equal(row?.[9], '0.3');
});

t.test('faults of every kind are summed', async (t) => {
  const first = run(1, 'gateway', 1);
  const faults = { errors: 1, non2xx: 2, lost: 3, wrongBodies: 4, sample: 'x' };
  t.equal(faultsOf([first, { ...first, measurement: { ...first.measurement, faults } }]), 10);
});

t.test('the report says on what machine it was measured', async (t) => {
  const text = renderReport(results(threeRounds));
  for (const fact of ['2026-01-02', 'Some Processor', '2 cores', 'Node v20.0.0', 'nginx 1.22.1', 'commit abcdef0']) {
    t.ok(text.includes(fact), fact);
  }
});

t.test('stored results are read back unchanged', async (t) => {
  for (const runs of [threeRounds, []]) {
    const kept = JSON.parse(renderJson(results(runs))) as unknown;
    t.same(kept, JSON.parse(JSON.stringify(results(runs))));
  }
});

t.test('columns are as wide as their widest cell', async (t) => {
  const table = renderTable<[string, number]>(
    [
      { title: 'Name', align: 'left', cell: ([name]) => name },
      { title: 'N', align: 'right', cell: ([, number]) => String(number) },
    ],
    [
      ['a', 5],
      ['longer', 12_345],
    ],
  );
  t.equal(table, ['| Name   |     N |', '| ------ | ----: |', '| a      |     5 |', '| longer | 12345 |'].join('\n'));
});
