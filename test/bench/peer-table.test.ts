import t from 'tap';
import { parsePeer } from '../../bench/peer.js';
import { peerTable } from '../../bench/peer-table.js';
import { pointsOf } from '../../bench/points.js';
import { results, run } from './results-fixture.js';

const FAULTY = { errors: 0, non2xx: 7, lost: 0, wrongBodies: 2, sample: undefined };

function rowOf(table: string, target: string): string[] {
  const row = table.split('\n').find((line) => line.includes(`| ${target} `));
  return (row ?? '').split('|').map((cell) => cell.trim());
}

t.test('a peer has its figure, its ratio to the gateway’s of the same round, and its latencies', async (t) => {
  const runs = [1, 2, 3].flatMap((round) => [
    run(round, 'gateway', 20 * round),
    run(round, 'nginx', 10 * round),
    run(round, 'peer other', 50 * round),
  ]);
  const table = peerTable(results(runs));
  t.match(rowOf(table, 'peer other'), [
    '',
    'call',
    '16',
    'peer other',
    '100.0 µs a call',
    '2.50',
    '1.00',
    '10.00',
    '0',
  ]);
  t.match(rowOf(table, 'gateway'), ['', 'call', '16', 'gateway', '40.0 µs a call', '1.00']);
  t.match(rowOf(table, 'nginx'), ['', 'call', '16', 'nginx', '20.0 µs a call', '0.50']);
});

t.test('a peer that answers wrongly has faults and no figure, however fast it was', async (t) => {
  const faulty = run(1, 'peer quick', 1);
  const runs = [run(1, 'gateway', 20), { ...faulty, measurement: { ...faulty.measurement, faults: FAULTY } }];
  t.match(rowOf(peerTable(results(runs)), 'peer quick').slice(4, 9), ['void', 'void', 'void', 'void', '9']);
});

t.test('a peer whose process is unknown has no CPU time', async (t) => {
  const table = peerTable(results([run(1, 'gateway', 20), run(1, 'peer hidden', 0)]));
  t.match(rowOf(table, 'peer hidden').slice(4, 7), ['–', '–', '1.00']);
});

t.test('peers run in every round of a scenario, with few enough connections to avoid a queue', async (t) => {
  const peers = [parsePeer('a=http://h:1'), parsePeer('b=http://h:2')];
  const points = pointsOf({ scenarios: ['call', 'session'], mode: 'full', programBefore: undefined, peers });
  t.same(
    points.map(({ scenario, connections }) => [scenario.name, connections]),
    [
      ['call', 1],
      ['call', 16],
      ['call', 64],
      ['session', 120],
    ],
  );
  for (const { scenario } of points) {
    t.same(
      scenario.measures.map(({ target }) => target),
      ['gateway', 'nginx', 'direct', 'peer a', 'peer b'],
    );
  }
});
