// A victim beside an attack, held against the same victim alone just before: nothing of it fails, and it hardly waits. The
// attack's end is part of it: whoever hangs up on a gateway leaves it work.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import { judgeBeside } from './beside-bounds.js';
import { startDeployment, type Deployment } from './deployment.js';
import { Scope } from '../attack/scope.js';
import { startVictim, type Victim, type VictimReport, type VictimSetup } from './victim.js';

const ALONE_MS = 1_500;
/** An attack that is over sooner is watched for as long, so that there are enough requests to tell. */
const BESIDE_MS_MIN = 2_500;
/** The victim's p99 beside an attack against that alone. */
const SLOWER_MAX = 3;
/** What an attack does to a victim it does each time, and what others do to the machine they do not. */
const TRIES_MAX = 3;
/** On a machine whose processes have less than such a part of a core before anything has begun, times say nothing of the gateway. */
const BUSY_SLOWNESS = 3;

export interface Scene {
  readonly deployment: Deployment;
  readonly victim: Victim;
}

/** What it opens and starts is ended with the scope, under the victim's eyes. It may be made several times. */
export type Attack = (scope: Scope) => Promise<void>;

/** One worker unless more are wanted, so that attacker and victim share it. */
export async function startScene(
  t: Test,
  options: readonly string[] = [],
  victimSetup: VictimSetup = {},
  workerCount = 1,
): Promise<Scene> {
  const deployment = await startDeployment(t, { workerCount, options });
  return { deployment, victim: await startVictim(t, deployment, victimSetup) };
}

/** @returns what the victim reports of the last try. */
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
