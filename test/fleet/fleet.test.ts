// What docs/clusters.md says of a large fleet follows from the measures, and the arithmetic is correct.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { projectRoot } from '../support/gateway.js';
import { figuresOf, fleet } from './arithmetic.js';
import { simulateFailure } from './failure.js';
import { commandsOf, eventNames, readMeasures, type EventCost, type FleetMeasures } from './measures.js';
import { fleetText, withFleet } from './page.js';

const measures = readMeasures();

t.test('the page states what follows from the stored measures', async (t) => {
  const page = readFileSync(join(projectRoot, 'docs', 'clusters.md'), 'utf8');
  t.equal(withFleet(page, measures), page, 'npm run fleet -- --kept writes it');
  t.not(withFleet(page, { ...measures, sessionBytes: measures.sessionBytes * 2 }), page);
});

t.test('a page without a place for the figures is refused', async (t) => {
  t.throws(() => withFleet('# Several machines', measures), /no place/);
});

t.test('a call where the session is costs Redis no command; every other event costs some', async (t) => {
  t.equal(commandsOf(measures.events['called where it is']), 0);
  for (const name of eventNames.filter((each) => each !== 'called where it is'))
    t.ok(commandsOf(measures.events[name]) > 0, name);
});

t.test('commands, memory and nodes follow from rates and costs', async (t) => {
  const cost = (calls: number, cpuUs: number): EventCost => ({ commands: { get: calls }, cpuUs });
  const events: FleetMeasures['events'] = {
    opened: cost(4, 100),
    'called where it is': cost(0, 0),
    adopted: cost(3, 40),
    'called where it was before': cost(1, 10),
    renewed: cost(2, 50),
    ended: cost(3, 60),
    'ended where others had it': cost(3, 60),
    'config read': cost(1, 20),
  };
  const made = {
    ...measures,
    ...{ events, sessionBytes: 2 ** 20, markBytes: 2 ** 10, connectionBytes: 2 ** 20, connectionsPerWorker: 4 },
    ...{ pingsPerSecond: 1, pingCpuUs: 1_000 },
  };
  const use = { ...fleet, machines: 10, workersPerMachine: 2, sessions: 36_000, subjects: 3_600, nodeGib: 20 };
  const { loads, nodes, recordsGib, connectionsPerNode, trackedKeysPerNode, commands } = figuresOf(made, use);
  const perSecond = Object.fromEntries(loads.map((load) => [load.what, load.perSecond]));
  t.match(perSecond, {
    'sessions opened': 10,
    'sessions ended': 10,
    'records renewed': 40,
    'signs of life': 20 * nodes,
  });
  t.equal(loads.find(({ what }) => what === 'records renewed')?.cores, 0.002);
  t.equal(recordsGib, 36_000 / 1_024);
  t.equal(nodes, 2, 'by what they hold');
  t.equal(connectionsPerNode, 80);
  t.equal(trackedKeysPerNode, 18_000);
  t.equal(
    commands,
    loads.reduce((sum, load) => sum + load.commands, 0),
  );
  t.equal(figuresOf(made, { ...use, nodeBusyMax: 0.0213 }).nodes, 3, 'by what they do');
  t.throws(() => figuresOf(made, { ...use, nodeGib: 0.01 }), /no number of nodes/);
});

t.test("all sessions of a dead machine go to others, evenly, with the clients' next requests", async (t) => {
  const use = { ...fleet, machines: 50, sessions: 500_000 };
  const failure = simulateFailure(use);
  t.strictSame(simulateFailure(use), failure, 'the same each time');
  t.ok(failure.sessions > 10_000 && failure.sessions < 15_000, `${failure.sessions} of the fullest`);
  t.ok(failure.heirs <= 49 && failure.heirs > 40, `${failure.heirs} heirs`);
  t.ok(failure.sessionsOfOneMax >= failure.sessions / failure.heirs);
  const expected = failure.sessions / use.secondsBetweenRequests;
  t.ok(Math.abs(failure.adoptedInFirstSecond / expected - 1) < 0.2, 'an even rate of requests');
  t.ok(Math.abs(failure.secondsUntilHalf - 42) <= 2, 'the half-life of one a minute');
});

t.test('the text contains no NaN, Infinity or undefined', async (t) => {
  t.notMatch(fleetText(measures), /NaN|Infinity|undefined/);
});
