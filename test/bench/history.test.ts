import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import t from 'tap';
import { readHistory, readResults } from '../../bench/history.js';
import { renderJson } from '../../bench/results.js';
import { results, run } from './results-fixture.js';

const first = results([run(1, 'gateway', 40)], '2026-01-01T00:00:00.000Z');
const second = results([run(1, 'gateway', 40)], '2026-01-02T00:00:00.000Z');
const { measurement, ...faulty } = run(1, 'gateway', 40);
const withFaults = results([
  { ...faulty, measurement: { ...measurement, faults: { ...measurement.faults, lost: 1 } } },
]);

t.test('the history has the results without faults, oldest first', async (t) => {
  const directory = t.testdir({
    'b.json': renderJson(first),
    'a.json': renderJson(second),
    'c.json': renderJson(withFaults),
    'notes.txt': 'not a result',
  });
  t.same(
    readHistory(directory).map(({ startedAt }) => startedAt),
    [first.startedAt, second.startedAt],
  );
});

t.test('a file with other content is refused', async (t) => {
  const directory = t.testdir({});
  for (const text of ['{}', 'null', '{"startedAt":"x"}', '[]']) {
    const path = join(directory, 'x.json');
    writeFileSync(path, text);
    t.throws(() => readResults(path), /holds no results of a bench/, text);
  }
});
