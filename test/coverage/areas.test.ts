import t from 'tap';
import { areasOf, areaTable, isEnough, leastCovered, type CoverageSummary } from './areas.js';

const FLOORED = [
  'relay/relay.ts',
  'upstream/a.ts',
  'bytes/b.ts',
  'mcp/b.ts',
  'auth/c.ts',
  'store/d.ts',
  'worker/hop/e.ts',
];

function summary(covered: Readonly<Record<string, number>> = {}): CoverageSummary {
  const files = [...FLOORED, 'main.ts', 'worker/worker.ts'].map((name) => [
    `/house/src/${name}`,
    { lines: { total: 100, covered: covered[name] ?? 100 } },
  ]);
  const foreign = { '/house/test/x.ts': { lines: { total: 9, covered: 0 } } };
  return { total: { lines: { total: 1, covered: 0 } }, ...foreign, ...Object.fromEntries(files) } as CoverageSummary;
}

t.test('a file counts in the innermost area that contains it, and only sources count', async (t) => {
  const names = areasOf(summary(), '/house/src').map(({ name, files }) => [name, files.map((file) => file.name)]);
  t.same(Object.fromEntries(names), {
    upstream: ['upstream/a.ts'],
    relay: ['relay/relay.ts'],
    bytes: ['bytes/b.ts'],
    mcp: ['mcp/b.ts'],
    auth: ['auth/c.ts'],
    store: ['store/d.ts'],
    hop: ['worker/hop/e.ts'],
    worker: ['worker/worker.ts'],
    'control-plane': [],
    primary: [],
    others: ['main.ts'],
  });
});

t.test('each area with a floor must reach it, and an area without covered files does not', async (t) => {
  t.equal(isEnough(areasOf(summary({ 'main.ts': 0, 'worker/worker.ts': 0 }), '/house/src')), true);
  for (const name of FLOORED) {
    t.equal(isEnough(areasOf(summary({ [name]: 95 }), '/house/src')), true);
    t.equal(isEnough(areasOf(summary({ [name]: 94 }), '/house/src')), false, name);
  }
  t.equal(isEnough(areasOf({}, '/house/src')), false);
});

t.test('areas below their floor are named, and so are the files with the most unexecuted lines', async (t) => {
  const areas = areasOf(summary({ 'auth/c.ts': 40, 'store/d.ts': 97, 'main.ts': 0 }), '/house/src');
  t.match(areaTable(areas), /^\| auth +\| +1 \| +100 \| +40\.0 \| missed +\|$/m);
  t.match(areaTable(areas), /^\| store +\| +1 \| +100 \| +97\.0 \| reached +\|$/m);
  t.match(areaTable(areas), /^\| others +\| +1 \| +100 \| +0\.0 \| none +\|$/m);
  t.same(
    leastCovered(areas, 5).map(({ name, uncovered }) => [name, uncovered]),
    [
      ['auth/c.ts', 60],
      ['store/d.ts', 3],
    ],
  );
});
