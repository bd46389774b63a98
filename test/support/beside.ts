// A victim beside an attack, held against the same victim alone before and after it: nothing of it fails, and it hardly
// waits.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import { judgeBeside } from './beside-bounds.js';
import { startDeployment, type Deployment } from './deployment.js';
import { startVictim, type Victim, type VictimReport, type VictimSetup } from './victim.js';

/** Before each attack, and again after it, which is before the next one: a machine that has become busier meanwhile is seen. */
const ALONE_MS = 1_500;
/** An attack that is over sooner is watched for as long, so that there are enough requests to tell. */
const BESIDE_MS_MIN = 2_500;
/** The victim's p99 beside an attack against that alone. */
const SLOWER_MAX = 3;

export interface Scene {
  readonly deployment: Deployment;
  readonly victim: Victim;
  /** After the latest attack, unless something of that was still to be cleared up. */
  alone: VictimReport | undefined;
}

/** One worker, so that attacker and victim share it. */
export async function startScene(
  t: Test,
  options: readonly string[] = [],
  victimSetup: VictimSetup = {},
): Promise<Scene> {
  const deployment = await startDeployment(t, { workerCount: 1, options });
  return { deployment, victim: await startVictim(t, deployment, victimSetup), alone: undefined };
}

/** The attack ends by itself; what it holds open then, it may let go of afterwards. */
export async function checkBeside(t: Test, scene: Scene, attack: () => Promise<void>): Promise<void> {
  const { gateway } = scene.deployment;
  const { victim } = scene;
  const pids = gateway.workerPids();
  const before = scene.alone ?? (await victim.during(() => sleep(ALONE_MS)));
  const beside = await victim.during(() => Promise.all([attack(), sleep(BESIDE_MS_MIN)]));
  const after = await victim.during(() => sleep(ALONE_MS));
  scene.alone = after;
  t.comment(`alone ${describe(before)}; beside the attack ${describe(beside)}; alone again ${describe(after)}`);
  t.ok(beside.requests.count > 0 && beside.openings.count > 0, 'the victim was at work');
  const { faults, seen } = judgeBeside([before, after], beside, SLOWER_MAX);
  t.comment(seen.join('; '));
  t.same(faults, [], 'every request of the victim is answered, and right, and as soon as it must be');
  t.same(gateway.workerPids(), pids, 'no worker was lost');
  t.equal(gateway.errorOutput, '', 'standard error is empty');
}

function describe({ requests, openings, slowness }: VictimReport): string {
  const times = `${requests.p99Ms.toFixed(0)} ms, sessions in ${openings.p99Ms.toFixed(0)} ms`;
  return `${requests.count} requests in ${times}, slowness ${slowness.toFixed(1)}`;
}
