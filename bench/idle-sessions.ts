// What idle sessions weigh: a gateway of its own gets some sessions to warm up, then many, and nothing is asked in them.
// Its own, because memory that an earlier load left free would take the sessions in, and they would seem to weigh nothing.
import { setTimeout as sleep } from 'node:timers/promises';
import { openSession } from './bench-session.js';
import type { StartedGateway } from './gateway.js';
import type { ConnectionPlan, Measurement } from './load-plan.js';
import { MeasuredWindow } from './measured-window.js';
import { processTree, residentBytesOf } from './process-usage.js';

/** Opened before: they fill caches, compile code, and have the heap grow to its working size. */
const WARM_UP_SHARE = 0.5;
const OPENED_AT_ONCE = 32;
/** Memory has settled when it has not shrunk or grown by more than this between two looks. */
const SETTLED_BYTES = 256 * 1024;
const SETTLE_CHECK_MS = 500;
const SETTLE_CHECKS_MAX = 20;

export async function measureIdleSessions(
  gateway: StartedGateway,
  backendPids: readonly number[],
  plans: readonly ConnectionPlan[],
  sessions: number,
): Promise<Measurement> {
  const targetPids = processTree(gateway.rootPid);
  await openSessions(gateway.origin, plans, Math.ceil(sessions * WARM_UP_SHARE), () => {});
  const bytesBefore = await settledBytes(targetPids);
  const window = new MeasuredWindow({ targetPids, backendPids });
  window.open();
  await openSessions(gateway.origin, plans, sessions, (ms) => window.record(ms));
  window.close();
  const bytesAfter = await settledBytes(targetPids);
  // A session that could not be opened has thrown.
  const faults = { errors: 0, non2xx: 0, lost: 0, wrongBodies: 0, sample: undefined };
  return { ...window.figures(), targetResidentBytes: Math.max(0, bytesAfter - bytesBefore), faults };
}

async function openSessions(
  origin: string,
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
      if (plan !== undefined) await openSession(origin, plan);
      onOpened(performance.now() - startedMs);
    }
  };
  await Promise.all(Array.from({ length: OPENED_AT_ONCE }, openNext));
}

/** As collectors work when it is quiet: a reading right after the load would count its garbage. */
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
