// The first call of a session, many times: sessions are opened, then each is called once, possibly at another gateway than the one
// it was opened at, then all are ended. Only the calls are measured.
import { setTimeout as sleep } from 'node:timers/promises';
import { closeSession, openSession, sendStep, type OpenedConnection } from './bench-session.js';
import { FaultCounter } from './fault-counter.js';
import type { FirstCalls, LoadPlan, Measurement } from './load-plan.js';
import { MeasuredWindow } from './measured-window.js';

/** How many sessions are opened or ended at once, which is not measured. */
const UNMEASURED_AT_ONCE = 32;
/** By then all records and notifications about the opened sessions have been written. */
const SETTLE_MS = 100;

export async function runFirstCalls(plan: LoadPlan, { opensAt, sessions, atOnce }: FirstCalls): Promise<Measurement> {
  const opened: OpenedConnection[] = [];
  await inLanes(UNMEASURED_AT_ONCE, sessions, async (n) => {
    const connection = plan.connections[n % plan.connections.length];
    if (connection !== undefined) opened.push(await openSession(opensAt, connection));
  });
  await sleep(SETTLE_MS);
  const window = new MeasuredWindow(plan);
  const faults = new FaultCounter();
  const totals = { errors: 0, non2xx: 0, connections: 0, requests: { sent: 0 } };
  window.open();
  await inLanes(atOnce, opened.length, async (n) => {
    const { plan: connection, sessionId } = opened[n] ?? {};
    const step = connection?.script.loop[0];
    if (connection === undefined || step === undefined) return;
    const startedMs = performance.now();
    totals.requests.sent += 1;
    try {
      const { response, body } = await sendStep(plan.origin, connection, step, sessionId);
      faults.onAnswer();
      faults.checkAnswer(step, response.status, body);
      if (!response.ok) totals.non2xx += 1;
    } catch (error) {
      faults.onAnswer();
      faults.onError(error);
      totals.errors += 1;
    }
    window.record(performance.now() - startedMs);
  });
  window.close();
  await inLanes(UNMEASURED_AT_ONCE, opened.length, async (n) => {
    const session = opened[n];
    if (session !== undefined) await closeSession(plan.origin, session);
  });
  return { ...window.figures(), faults: faults.count(totals) };
}

async function inLanes(lanes: number, count: number, act: (n: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let n = next++; n < count; n = next++) await act(n);
  };
  await Promise.all(Array.from({ length: Math.min(lanes, count) }, lane));
}
