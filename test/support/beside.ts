// A victim beside an attack, held against the same victim alone before and after it: nothing of it fails, and it hardly
// waits. No bound is a time: each is a multiple of what the same requests, or a piece of work, took on this machine then.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import { startDeployment, type Deployment } from './deployment.js';
import { startVictim, type Victim, type VictimReport, type VictimSetup } from './victim.js';

/** Before each attack, and again after it: a machine that has become busier meanwhile is seen. */
const ALONE_MS = 1_500;
/** An attack that is over sooner is watched for as long, so that there are enough requests to tell. */
const BESIDE_MS_MIN = 2_500;
/** The victim's p99 beside an attack against that alone. */
const SLOWER_MAX = 3;
/**
 * What one turn of the event loop may take of a core, ms (docs/limits.md). Who is slower by less than a few of those cannot
 * be told from somebody unlucky. On a busy machine it is longer, by what was measured beside the attack.
 */
const TURN_MS = 50;

export interface Scene {
  readonly deployment: Deployment;
  readonly victim: Victim;
}

/** One worker, so that attacker and victim share it. */
export async function startScene(
  t: Test,
  options: readonly string[] = [],
  victimSetup: VictimSetup = {},
): Promise<Scene> {
  const deployment = await startDeployment(t, { workerCount: 1, options });
  return { deployment, victim: await startVictim(t, deployment, victimSetup) };
}

/** The attack ends by itself; what it holds open then, it may let go of afterwards. */
export async function checkBeside(t: Test, scene: Scene, attack: () => Promise<void>): Promise<void> {
  const { gateway } = scene.deployment;
  const { victim } = scene;
  const pids = gateway.workerPids();
  const before = await victim.during(() => sleep(ALONE_MS));
  const beside = await victim.during(() => Promise.all([attack(), sleep(BESIDE_MS_MIN)]));
  const after = await victim.during(() => sleep(ALONE_MS));
  t.comment(`alone ${describe(before)}; beside the attack ${describe(beside)}; alone again ${describe(after)}`);
  t.ok(beside.requests.count > 0 && beside.openings.count > 0, 'the victim was at work');
  t.same(beside.failures, [], 'every request of the victim is answered, and right');
  for (const what of ['requests', 'openings'] as const) {
    const aloneMs = Math.max(before[what].p99Ms, after[what].p99Ms, TURN_MS * beside.slowness);
    const { p99Ms } = beside[what];
    const seen = `${what}: p99 ${p99Ms.toFixed(0)} ms, ${(p99Ms / aloneMs).toFixed(2)} times ${aloneMs.toFixed(0)} ms`;
    t.ok(p99Ms <= SLOWER_MAX * aloneMs, seen);
    t.comment(seen);
  }
  t.same(gateway.workerPids(), pids, 'no worker was lost');
  t.equal(gateway.errorOutput, '', 'standard error is empty');
}

function describe({ requests, openings, slowness }: VictimReport): string {
  const times = `${requests.p99Ms.toFixed(0)} ms, sessions in ${openings.p99Ms.toFixed(0)} ms`;
  return `${requests.count} requests in ${times}, slowness ${slowness.toFixed(1)}`;
}
