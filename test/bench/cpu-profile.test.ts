import t from 'tap';
import { selfTimes, selfTimeTable, type CpuProfile } from '../../bench/cpu-profile.js';

function node(id: number, functionName: string, url = '', lineNumber = -1): CpuProfile['nodes'][number] {
  return { id, callFrame: { functionName, url, lineNumber } };
}

const profile: CpuProfile = {
  startTime: 10_000,
  nodes: [
    node(1, '(root)'),
    node(2, '(idle)'),
    node(3, 'relay', 'file:///app/relay.js', 9),
    node(4, 'scan', 'file:///app/scan.js', 0),
    node(5, 'relay', 'file:///app/relay.js', 9),
    node(6, '(garbage collector)'),
    node(7, 'never', 'file:///app/never.js', 0),
  ],
  samples: [1, 2, 3, 4, 5, 4, 6],
  timeDeltas: [50, 1_000, 100, 200, 150, 300, 10],
};

t.test('a function is one entry, wherever it was called from, and the longest is first', async (t) => {
  t.same(selfTimes(profile, 0), [
    { name: 'scan', place: '/app/scan.js:1', us: 500 },
    { name: 'relay', place: '/app/relay.js:10', us: 250 },
    { name: '(garbage collector)', place: '', us: 10 },
  ]);
});

t.test('shares are relative to the busy time', async (t) => {
  const lines = selfTimeTable(selfTimes(profile, 0), 2).split('\n');
  t.equal(lines.length, 4, 'a head, a rule and the lines that were asked for');
  t.match(lines[2], /65\.8 .* scan .* \/app\/scan\.js:1/);
});

t.test('samples from before the load are left out', async (t) => {
  // The first two samples end at 11,050, the third at 11,150.
  const names = selfTimes(profile, 11_151).map(({ name, us }) => `${name} ${us}`);
  t.same(names, ['scan 500', 'relay 150', '(garbage collector) 10']);
});
