// Host names of backends for which no name server answers, or whose addresses change a moment later.
import { setTimeout as sleep } from 'node:timers/promises';
import { inParallel } from '../../support/in-parallel.js';
import { expect, tally, type Experiment } from '../experiment.js';

export const silentNameServer: Experiment = {
  name: 'silent-name-server',
  control: { options: ['--name-look-ups', '2', '--name-look-ups-per-subject', '2'], noticedBy: 'victim' },
  isOnceInShort: true,
  expected: 'names that no server answers for, and then none for any name: backends with a name are reached as before',
  async run(stage) {
    const { nameServer } = stage;
    const names = Array.from({ length: stage.scaled(100, 40) }, (_, n) => `silent-${n}.test`);
    for (const name of names) nameServer.records[name] = 'silent';
    stage.scope.teardown(() => {
      nameServer.isSilent = false;
      for (const name of names) delete nameServer.records[name];
    });
    const backends = Object.fromEntries(names.map((name, n) => [`b${n}`, { url: `http://${name}:9/mcp` }]));
    const caller = await stage.caller(backends);
    const beganMs = performance.now();
    const statuses: number[] = [];
    await inParallel([...Array(stage.scaled(20, 6)).keys()], 4, async () => {
      statuses.push((await caller.initialize()).status);
    });
    // The victim's name is looked up every second; from now on the name server does not answer.
    nameServer.isSilent = true;
    await sleep(3_000);
    const seen = `${tally(statuses)}, ${nameServer.countOf(names[0] ?? '')} questions for one name in ${Math.round(performance.now() - beganMs)} ms`;
    expect(
      statuses.every((status) => status === 200),
      seen,
    );
    return seen;
  },
};

/** The time until a cached address is looked up again. */
const REBOUND_MS_MAX = 15_000;

export const rebind: Experiment = {
  name: 'rebind',
  isOnceInShort: true,
  expected: 'a name that turns into a link-local address is refused as soon as it is looked up again',
  async run(stage) {
    const { nameServer } = stage;
    const name = 'rebind.test';
    nameServer.records[name] = { addresses: ['127.0.0.1'], ttl: 0 };
    stage.scope.teardown(() => delete nameServer.records[name]);
    const backend = await stage.backend();
    const caller = await stage.caller({ moving: { url: backend.url.replace('127.0.0.1', name) } });
    const first = await caller.initialize();
    expect(first.status === 200 && !first.text.includes('unavailable'), `first: ${first.text.slice(0, 300)}`);
    nameServer.records[name] = { addresses: ['169.254.77.77'], ttl: 0 };
    backend.raw.closeConnections();
    const reasons: string[] = [];
    const deadlineMs = performance.now() + REBOUND_MS_MAX;
    while (!/addresses are refused/.test(reasons.at(-1) ?? '') && performance.now() < deadlineMs) {
      await sleep(500);
      const { text } = await caller.initialize();
      reasons.push(/"reason":"([^"]*)"/.exec(text)?.[1] ?? 'reached at its first address');
    }
    const seen = tally(reasons);
    expect(/addresses are refused/.test(reasons.at(-1) ?? ''), seen);
    return seen;
  },
};
