// The judgement that all scenes with a victim use: what counts as a disturbance, and what as a busy machine.
import t from 'tap';
import { judgeBeside } from './beside-bounds.js';
import type { VictimReport } from './victim.js';

function report(
  requestsMs: number,
  openingsMs: number,
  slowness = 1,
  failures: readonly string[] = [],
  roundTripFactor = 1,
): VictimReport {
  const latencies = (p99Ms: number) => ({ count: 100, p50Ms: p99Ms / 2, p99Ms, maxMs: p99Ms });
  return {
    requests: latencies(requestsMs),
    openings: latencies(openingsMs),
    slowness,
    roundTripFactor,
    failures,
    hangingMost: 0,
  };
}

t.test('a victim that is fast alone may not be arbitrarily slow beside an attack', async (t) => {
  t.same(judgeBeside(report(5, 5), report(59, 59), 3).delays, []);
  t.match(judgeBeside(report(5, 5), report(61, 10), 3).delays, [/^the victim's requests: p99 61 ms, 3.05 times 20 ms/]);
  t.match(judgeBeside(report(5, 5), report(10, 61), 3).delays, [/^the victim's openings: /]);
});

t.test('a victim that is slow alone may be slower in proportion', async (t) => {
  t.same(judgeBeside(report(100, 5), report(299, 5), 3).delays, []);
  t.equal(judgeBeside(report(100, 5), report(301, 5), 3).delays.length, 1);
});

t.test('a busy machine does not count as a disturbance, whether it was busy before or is so now', async (t) => {
  t.same(judgeBeside(report(5, 5), report(119, 5, 2), 3).delays, []);
  t.same(judgeBeside(report(5, 5, 2), report(119, 5), 3).delays, []);
  t.equal(judgeBeside(report(5, 5, 2), report(121, 5), 3).delays.length, 1);
});

t.test('on a machine with slow sockets, the allowance for luck grows with the round trip', async (t) => {
  t.same(judgeBeside(report(5, 5, 1, [], 4), report(239, 5), 3).delays, []);
  t.equal(judgeBeside(report(5, 5, 1, [], 4), report(241, 5), 3).delays.length, 1);
});

t.test('a failure counts however fast it came', async (t) => {
  const { failures, delays } = judgeBeside(report(5, 5), report(1, 1, 9, ['ping: 503']), 3);
  t.same(failures, ['the victim: ping: 503']);
  t.same(delays, []);
});
