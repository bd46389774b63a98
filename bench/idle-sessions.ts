// How much memory idle sessions take: a separate gateway gets some sessions to warm up, then many, and no requests in them.
// It is separate because memory left free by an earlier load would be reused, and sessions would seem to take none. Sessions
// may listen, each on a GET stream of its own: the kernel's memory for their connections counts for no process, but that of
// uWebSockets.js counts for the gateway.
import { setTimeout as sleep } from 'node:timers/promises';
import { openSession } from './bench-session.js';
import type { StartedGateway } from './gateway.js';
import { ListeningSession } from './listening-session.js';
import type { ConnectionPlan, Measurement, Quiet } from './load-plan.js';
import { MeasuredWindow } from './measured-window.js';
import { cpuUsOf, processTree, residentBytesOf } from './process-usage.js';

/** Sessions opened first, as a share: they fill caches, compile code, and make the heap grow to its working size. */
const WARM_UP_SHARE = 0.5;
const OPENED_AT_ONCE = 32;
/** Memory has settled when it has changed by no more than this between two checks. */
const SETTLED_BYTES = 256 * 1024;
const SETTLE_CHECK_MS = 500;
const SETTLE_CHECKS_MAX = 20;

export interface IdleSetup {
  readonly gateway: StartedGateway;
  readonly backendPids: readonly number[];
  readonly plans: readonly ConnectionPlan[];
  readonly sessions: number;
}

export async function measureIdleSessions(setup: IdleSetup): Promise<Measurement> {
  const { figures, faults } = await weigh(setup, async ({ origin }, plan) => void (await openSession(origin, plan)));
  return { ...figures, faults };
}

/** @param quietMs how long their cost is measured while nothing is sent. */
export async function measureListeningSessions(setup: IdleSetup, quietMs: number): Promise<Measurement> {
  const listening: ListeningSession[] = [];
  try {
    const { figures, faults, targetPids } = await weigh(setup, async ({ origin }, plan) => {
      listening.push(await ListeningSession.open(origin, plan));
    });
    const quiet = await watchQuiet(targetPids, quietMs);
    const lost = listening.filter(({ isOpen }) => !isOpen).length;
    return { ...figures, quiet, faults: { ...faults, lost } };
  } finally {
    for (const session of listening) session.close();
  }
}

async function weigh(
  { gateway, backendPids, plans, sessions }: IdleSetup,
  open: (gateway: StartedGateway, plan: ConnectionPlan) => Promise<void>,
): Promise<{
  figures: Omit<Measurement, 'faults'>;
  faults: Measurement['faults'];
  targetPids: readonly number[];
}> {
  const targetPids = processTree(gateway.rootPid);
  const openNext = (plan: ConnectionPlan): Promise<void> => open(gateway, plan);
  await openSessions(openNext, plans, Math.ceil(sessions * WARM_UP_SHARE), () => {});
  const bytesBefore = await settledBytes(targetPids);
  const window = new MeasuredWindow({ targetPids, backendPids });
  window.open();
  await openSessions(openNext, plans, sessions, (ms) => window.record(ms));
  window.close();
  const bytesAfter = await settledBytes(targetPids);
  const figures = { ...window.figures(), targetResidentBytes: Math.max(0, bytesAfter - bytesBefore) };
  // Any session that could not be opened has thrown.
  return { figures, faults: { errors: 0, non2xx: 0, lost: 0, wrongBodies: 0, sample: undefined }, targetPids };
}

async function watchQuiet(pids: readonly number[], quietMs: number): Promise<Quiet> {
  const startedMs = performance.now();
  const cpuUsBefore = cpuUsOf(pids);
  await sleep(quietMs);
  return { targetCpuUs: cpuUsOf(pids) - cpuUsBefore, elapsedMs: performance.now() - startedMs };
}

async function openSessions(
  open: (plan: ConnectionPlan) => Promise<void>,
  plans: readonly ConnectionPlan[],
  count: number,
  onOpened: (ms: number) => void,
): Promise<void> {
  let started = 0;
  const openNext = async (): Promise<void> => {
    while (started < count) {
      const plan = plans[started % plans.length];
      started += 1;
      const startedMs = performance.now();
      if (plan !== undefined) await open(plan);
      onOpened(performance.now() - startedMs);
    }
  };
  await Promise.all(Array.from({ length: OPENED_AT_ONCE }, openNext));
}

/** Garbage collectors work when it is quiet: a reading right after the load would include garbage. */
async function settledBytes(pids: readonly number[]): Promise<number> {
  let bytes = residentBytesOf(pids);
  for (let check = 0; check < SETTLE_CHECKS_MAX; check += 1) {
    await sleep(SETTLE_CHECK_MS);
    const before = bytes;
    bytes = residentBytesOf(pids);
    if (Math.abs(bytes - before) <= SETTLED_BYTES) break;
  }
  return bytes;
}
