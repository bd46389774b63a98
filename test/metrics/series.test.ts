import t from 'tap';
import { LabelCounter, isSeries, SeriesSum, type Series } from '../../src/metrics/series.js';

const counted: Series = { name: 'switchyard_refusals_total', labels: ['rate'], value: 2 };
const timed: Series = { name: 'switchyard_backend_seconds', labels: ['b'], value: 0.5, counts: [1, 0, 2] };

t.test('an event is counted under the labels that it has, each combination for itself', async (t) => {
  const faults = new LabelCounter('switchyard_backend_faults_total');
  t.same(faults.series(), [], 'what never happened has no series');
  faults.count('b', 'timeout', 'request');
  faults.count('b', 'timeout', 'opening');
  faults.count('b', 'timeout', 'request');
  faults.count('b', 'timeout', 'request');
  faults.count('btimeout', '', 'request');
  t.same(faults.series(), [
    { name: 'switchyard_backend_faults_total', labels: ['b', 'timeout', 'request'], value: 3 },
    { name: 'switchyard_backend_faults_total', labels: ['b', 'timeout', 'opening'], value: 1 },
    { name: 'switchyard_backend_faults_total', labels: ['btimeout', '', 'request'], value: 1 },
  ]);
});

t.test('the figures of several workers are added up by name and labels, histograms bucket by bucket', async (t) => {
  const sum = new SeriesSum();
  sum.add(counted);
  sum.add(timed);
  sum.add({ ...counted, value: 3 });
  sum.add({ ...timed, value: 0.25, counts: [0, 4, 1] });
  sum.add({ ...counted, labels: ['size'] });
  sum.add({ ...timed, labels: [] });
  sum.add({ name: 'switchyard_requests_total', labels: ['ping', 'a', '200', 'ok'], value: 1 });
  sum.add({ name: 'switchyard_requests_total', labels: ['pinga', '', '200', 'ok'], value: 1 });
  t.same(
    [...sum.all],
    [
      { ...counted, value: 5 },
      { ...timed, value: 0.75, counts: [1, 4, 3] },
      { ...counted, labels: ['size'] },
      { ...timed, labels: [] },
      { name: 'switchyard_requests_total', labels: ['ping', 'a', '200', 'ok'], value: 1 },
      { name: 'switchyard_requests_total', labels: ['pinga', '', '200', 'ok'], value: 1 },
    ],
  );
  t.same([counted.value, timed.counts], [2, [1, 0, 2]], 'what the workers gave stays as it was');
});

t.test('a worker of another version, with other buckets or none, adds what fits', async (t) => {
  const sum = new SeriesSum();
  sum.add(timed);
  sum.add({ ...timed, counts: [1] });
  sum.add({ name: timed.name, labels: timed.labels, value: 1 });
  t.same([...sum.all], [{ ...timed, value: 2, counts: [2, 0, 2] }]);
});

t.test('what is no series of a metric that is known is not taken from a worker', async (t) => {
  for (const series of [counted, timed, { ...counted, labels: [], value: 0 }]) t.equal(isSeries(series), true);
  for (const other of [
    ...[undefined, null, 'a', 1, [], {}],
    ...[
      { ...counted, name: 'unknown' },
      { ...counted, name: 'toString' },
      { ...counted, name: [counted.name] },
    ],
    ...[
      { ...counted, labels: 'rate' },
      { ...counted, labels: undefined },
    ],
    ...[
      { ...counted, value: '2' },
      { ...counted, value: undefined },
    ],
    ...[
      { ...timed, counts: 1 },
      { ...timed, counts: null },
      { ...timed, counts: 'abc' },
    ],
  ]) {
    t.equal(isSeries(other), false, JSON.stringify(other));
  }
});
