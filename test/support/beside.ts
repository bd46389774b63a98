// A victim beside an attack, held against the same victim alone in the same run: nothing of it fails, and it hardly waits.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import { startDeployment, type Deployment } from './deployment.js';
import { startVictim, type Victim, type VictimReport, type VictimSetup } from './victim.js';

const ALONE_MS = 2_500;
/** An attack that is over sooner is watched for as long, so that there are enough requests to tell. */
const BESIDE_MS_MIN = 2_500;
/** The victim's p99 beside an attack against that alone. */
const SLOWER_MAX = 3;
/**
 * Below this a slower answer tells nothing: attackers, gateway and victim share a few cores with other tests. What these
 * tests look for takes seconds, or ends in a refusal.
 */
const TELLING_MS = 1_500;

export interface Scene {
  readonly deployment: Deployment;
  readonly victim: Victim;
  /** What the victim met before anybody attacked. */
  readonly alone: VictimReport;
}

/** One worker, so that attacker and victim share it. */
export async function startScene(
  t: Test,
  options: readonly string[] = [],
  victimSetup: VictimSetup = {},
): Promise<Scene> {
  const deployment = await startDeployment(t, { workerCount: 1, options });
  const victim = await startVictim(t, deployment, victimSetup);
  return { deployment, victim, alone: await victim.during(() => sleep(ALONE_MS)) };
}

/** The attack ends by itself; what it holds open then, it may let go of afterwards. */
export async function checkBeside(
  t: Test,
  { deployment: { gateway }, victim, alone }: Scene,
  attack: () => Promise<void>,
): Promise<void> {
  const pids = gateway.workerPids();
  const beside = await victim.during(() => Promise.all([attack(), sleep(BESIDE_MS_MIN)]));
  t.comment(`alone ${describe(alone)}; beside the attack ${describe(beside)}`);
  t.ok(beside.requests.count > 0 && beside.openings.count > 0, 'the victim was at work');
  t.same(beside.failures, [], 'every request of the victim is answered, and right');
  for (const what of ['requests', 'openings'] as const) {
    const boundMs = Math.max(SLOWER_MAX * alone[what].p99Ms, TELLING_MS);
    t.ok(
      beside[what].p99Ms <= boundMs,
      `${what}: p99 ${beside[what].p99Ms.toFixed(0)} ms of ${boundMs.toFixed(0)} at most`,
    );
  }
  t.same(gateway.workerPids(), pids, 'no worker was lost');
  t.equal(gateway.errorOutput, '', 'standard error is empty');
}

function describe({ requests, openings }: VictimReport): string {
  return `${requests.count} requests in ${requests.p99Ms.toFixed(0)} ms, sessions in ${openings.p99Ms.toFixed(0)} ms`;
}
