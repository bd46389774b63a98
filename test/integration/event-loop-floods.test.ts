// A thousand connections of one subject, each sending the next request as soon as the last was answered: no share is full, and the
// worker has more work than it can do. A request that arrives meanwhile waits for a few turns of the event loop, so no turn may
// take long. The limit is CPU time, because the flood is a separate process that uses a core itself.
import t, { type Test } from 'tap';
import { Scope } from '../attack/scope.js';
import { backendFor, startDeployment, type Deployment } from '../support/deployment.js';
import { runFlood, type FloodSetup } from '../support/flood.js';
import type { McpCaller } from '../support/mcp-caller.js';
import { slownessNow } from '../support/turn-cost.js';
import { TurnLog } from '../support/turn-log.js';

const LANES = 1_000;
const FLOOD_MS = 1_500;
/** The first requests cost more, because the compiler is still at work. */
const WARM_MS = 500;
/** The most that the turn which a request meets may cost on average, on a machine like the one the limits were set on. */
const TURN_MS_MAX = 35;
const TRIES_MAX = 3;

interface Flood {
  readonly caller: McpCaller;
  readonly sessionIds: readonly string[];
}

const floods: Readonly<Record<string, (deployment: Deployment, scope: Scope) => Promise<Flood>>> = {
  'open sessions and end them': async (deployment, scope) => {
    const backend = await backendFor(scope);
    return { caller: await deployment.caller({ one: { url: backend.url } }), sessionIds: [] };
  },
  'list 16 backends': async (deployment, scope) => {
    const backends = await Promise.all(Array.from({ length: 16 }, () => backendFor(scope)));
    const caller = await deployment.caller(Object.fromEntries(backends.map(({ url }, n) => [`b${n}`, { url }])));
    const sessions = await Promise.all(Array.from({ length: 8 }, () => caller.openSession()));
    scope.teardown(() => Promise.all(sessions.map((session) => session.delete())));
    return { caller, sessionIds: sessions.map(({ id }) => id) };
  },
};

async function checkFlood(t: Test, scope: Scope, caller: McpCaller, setup: FloodSetup): Promise<void> {
  const seen = await runFlood(scope, caller, setup);
  t.comment(JSON.stringify(seen));
  t.ok((seen['200'] ?? 0) > 0, 'some were carried out');
  t.same(
    Object.keys(seen).filter((word) => !['200', '429', '503'].includes(word)),
    [],
    'the others were told when to try again',
  );
}

t.test(`${LANES} connections of one subject`, async (t) => {
  const turns = new TurnLog(t);
  const deployment = await startDeployment(t, { workerCount: 1, environment: turns.environment });
  const { gateway } = deployment;
  for (const [what, start] of Object.entries(floods)) {
    await t.test(what, async (t) => {
      const scope = new Scope();
      const { caller, sessionIds } = await start(deployment, scope);
      await checkFlood(t, scope, caller, { laneCount: LANES, forMs: WARM_MS, sessionIds });
      for (let tries = 1; ; tries += 1) {
        const flood = (): Promise<void> =>
          checkFlood(t, scope, caller, { laneCount: LANES, forMs: FLOOD_MS, sessionIds });
        const metMs = await turns.meanMetMs(() => gateway.workerPids(), flood);
        const boundMs = metMs < TURN_MS_MAX ? TURN_MS_MAX : TURN_MS_MAX * slownessNow();
        const words = `the turn that somebody meets cost ${metMs.toFixed(0)} ms of ${boundMs.toFixed(0)} at most`;
        t.comment(words);
        if (metMs > boundMs && tries < TRIES_MAX) continue;
        t.ok(metMs <= boundMs, words);
        break;
      }
      t.same(await scope.end(), []);
    });
  }
  t.equal(gateway.errorOutput, '', 'standard error is empty');
});
