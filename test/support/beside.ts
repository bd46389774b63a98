// A victim beside an attack, compared with the same victim alone just before: none of its requests fails, and it hardly
// waits. The end of the attack is included, because clients that hang up leave the gateway work.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import { judgeBeside } from './beside-bounds.js';
import { startDeployment, type Deployment } from './deployment.js';
import { Scope } from '../attack/scope.js';
import { startVictim, type Victim, type VictimReport, type VictimSetup } from './victim.js';

const ALONE_MS = 1_500;
/** A shorter attack is still watched for this long, so that there are enough requests to judge. */
const BESIDE_MS_MIN = 2_500;
/** The victim's p99 beside an attack, as a multiple of its p99 alone. */
const SLOWER_MAX = 3;
/** An attack disturbs its victim on every try; other load on the machine does not. */
const TRIES_MAX = 3;
/** When processes get less than this fraction of a core before anything has begun, times say nothing about the gateway. */
const BUSY_SLOWNESS = 3;

export interface Scene {
  readonly deployment: Deployment;
  readonly victim: Victim;
}

/** Everything it opens and starts ends with the scope, while the victim still runs. It may be run several times. */
export type Attack = (scope: Scope) => Promise<void>;

/** Starts one worker unless more are requested, so that attacker and victim share it. */
export async function startScene(
  t: Test,
  options: readonly string[] = [],
  victimSetup: VictimSetup = {},
  workerCount = 1,
): Promise<Scene> {
  const deployment = await startDeployment(t, { workerCount, options });
  return { deployment, victim: await startVictim(t, deployment, victimSetup) };
}

/** @returns the victim's report of the last try. */
export async function checkBeside(t: Test, { deployment, victim }: Scene, attack: Attack): Promise<VictimReport> {
  const { gateway } = deployment;
  const pids = gateway.workerPids();
  for (let tries = 1; ; tries += 1) {
    const alone = await victim.during(() => sleep(ALONE_MS));
    const beside = await victim.during(async () => {
      const scope = new Scope();
      try {
        await Promise.all([attack(scope), sleep(BESIDE_MS_MIN)]);
      } finally {
        t.same(await scope.end(), [], 'the attack ends in order');
      }
    });
    t.comment(`alone ${describe(alone)}; beside the attack ${describe(beside)}`);
    const { failures, delays, seen } = judgeBeside(alone, beside, SLOWER_MAX);
    t.comment(seen.join('; '));
    if (failures.length === 0 && delays.length > 0 && tries < TRIES_MAX) continue;
    t.ok(beside.requests.count > 0 && beside.openings.count > 0, 'the victim was at work');
    t.same(failures, [], 'every request of the victim is answered, and right');
    if (delays.length > 0 && alone.slowness >= BUSY_SLOWNESS) t.comment('not judged, the machine is busy', delays);
    else t.same(delays, [], 'and as soon as it must be');
    t.same(gateway.workerPids(), pids, 'no worker was lost');
    t.equal(gateway.errorOutput, '', 'standard error is empty');
    return beside;
  }
}

function describe({ requests, openings, slowness }: VictimReport): string {
  const times = `${requests.p99Ms.toFixed(0)} ms, sessions in ${openings.p99Ms.toFixed(0)} ms`;
  return `${requests.count} requests in ${times}, slowness ${slowness.toFixed(1)}`;
}
