// What `switchyard top` computes from two readings of a dataplane's figures.
import t from 'tap';
import { watchDataplane } from '../../src/cli/top.js';
import type { DataplaneLoad } from '../../src/metrics/dataplane-load.js';
import { Figures, Interval } from '../../src/metrics/figures.js';

type Value = { metricName?: string; labels: Record<string, string>; value: number };

const HOSTILE = 'evil\u001b[2J\u202e';
const bucket = (le: string, value: number): Value => {
  return { metricName: 'switchyard_backend_seconds_bucket', labels: { backend: 'b', le }, value };
};

t.test('a quantile is interpolated linearly within its bucket', async (t) => {
  const reading = (atMs: number, ...counts: number[]): Figures => {
    const values = ['0.1', '0.2', '+Inf'].map((le, place) => bucket(le, counts[place] ?? 0));
    return new Figures([{ name: 'switchyard_backend_seconds', values }], atMs);
  };
  const before = reading(0, 10, 10, 10);
  const quantile = (share: number, ...counts: number[]): number | undefined =>
    new Interval(before, reading(1_000, ...counts)).quantile('switchyard_backend_seconds', share, { backend: 'b' });
  t.equal(quantile(0.5, 10, 10, 10), undefined, 'nothing was counted in the interval');
  t.equal(quantile(0.5, 20, 20, 20), 0.05);
  t.equal(quantile(0.5, 10, 20, 20)?.toFixed(6), '0.150000');
  t.equal(quantile(0.99, 10, 10, 20), 0.2, 'above the last bound');
  t.equal(
    new Interval(before, reading(1_000, 20, 20, 20)).quantile('switchyard_backend_seconds', 0.5, { backend: 'c' }),
    undefined,
  );
});

/** An admin listener that returns the next figures at each reading. */
function adminOf(readings: readonly (readonly { name: string; values: Value[] }[] | undefined)[]) {
  let at = 0;
  const workers = [
    {
      slot: 0,
      pid: 7,
      state: 'listening',
      health: 'ok',
      version: '1.2.3',
      sessions: 3,
      requestsInFlight: 1,
      memory: { rssBytes: 2 ** 27 },
    },
    { slot: 1, pid: null, state: 'starting', health: 'absent' },
  ];
  return { find: async () => readings[Math.min(at++, readings.length - 1)], get: async () => ({ workers }) };
}

const requests = (ok: number, failed: number): { name: string; values: Value[] } => {
  const labels = { method: 'tools/call', backend: HOSTILE, status: '200' };
  return {
    name: 'switchyard_requests_total',
    values: [
      { labels: { ...labels, outcome: 'ok' }, value: ok },
      { labels: { ...labels, outcome: 'tool-error' }, value: failed },
      { labels: { method: 'ping', backend: '', status: '200', outcome: 'ok' }, value: 5 },
    ],
  };
};
const gauges = [
  { name: 'switchyard_ready', values: [{ labels: {}, value: 1 }] },
  { name: 'switchyard_sessions', values: [{ labels: {}, value: 3 }] },
];
const one = [gauges[0]!, { name: 'switchyard_sessions', values: [{ labels: {}, value: 1 }] }];

t.test('one of a thing is not called several', async (t) => {
  const watch = watchDataplane(adminOf([one, one]), 5, undefined);
  t.match(String((await watch.next()).value.text), /^ready, 1 of 2 workers, 1 session, 0 streams, /);
});

t.test('rates are those of the interval, and idle backends have no row', async (t) => {
  const admin = adminOf([
    [...gauges, requests(10, 0)],
    [...gauges, requests(110, 50)],
    [...gauges, requests(110, 50)],
  ]);
  const watch = watchDataplane(admin, 5, undefined);
  const first = await watch.next();
  const answer = first.value.answer as DataplaneLoad;
  const { intervalS } = answer;
  t.ok(intervalS > 0);
  const about = (perSecond: number | undefined): number => Math.round((perSecond ?? -1) * intervalS);
  t.equal(about(answer.requestsPerSecond), 150);
  t.equal(answer.methods.length, 1);
  t.equal(about(answer.backends[0]?.requestsPerSecond), 150);
  t.equal(about(answer.backends[0]?.failuresPerSecond), 50);
  t.match(answer, {
    isReady: true,
    sessions: 3,
    workers: [
      { slot: 0, health: 'ok' },
      { slot: 1, pid: null },
    ],
  });
  const text = String(first.value.text);
  t.match(text, /^ready, 1 of 2 workers, 3 sessions, 0 streams, 0 requests in flight/);
  t.match(text, /\nSLOT .*\n0 +listening +ok +7 +1\.2\.3 +3 +1 +0% +128 MiB +-\n1 +starting +absent /);
  t.match(text, /\nMETHOD .*\ntools\/call +\d/);
  t.notMatch(text, /[\u001b\u202e]/, 'nothing that a terminal obeys');
  const second = await watch.next();
  t.match(second.value.answer, { requestsPerSecond: 0, backends: { length: 0 } }, 'and each is of its own interval');
});

t.test('a dataplane that was restarted has no rates below zero', async (t) => {
  const watch = watchDataplane(
    adminOf([
      [...gauges, requests(1_000, 0)],
      [...gauges, requests(1, 0)],
    ]),
    1,
    undefined,
  );
  t.match((await watch.next()).value.answer, { requestsPerSecond: 0, methods: { length: 0 } });
});

t.test('a dataplane without figures, and one of another version, are reported', async (t) => {
  await t.rejects(watchDataplane(adminOf([undefined]), 1, undefined).next(), {
    exitStatus: 66,
    message: /collects no metrics/,
  });
  const other = adminOf([[{ name: 'x' } as never]]);
  await t.rejects(watchDataplane(other, 1, undefined).next(), { exitStatus: 69, message: /another version/ });
});
