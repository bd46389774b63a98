// A closed loop, driven by autocannon: each connection sends its next request after the response to its last. Latencies go
// into our own histogram, because autocannon's keeps whole milliseconds only.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import autocannon from 'autocannon';
import { ANSWER_SECONDS_MAX, headersOf, SESSION_HEADER, type OpenedConnection } from './bench-session.js';
import { FaultCounter } from './fault-counter.js';
import type { LoadPlan, Measurement, Step } from './load-plan.js';
import { MeasuredWindow } from './measured-window.js';
import type { PlacedSessions } from './placed-sessions.js';

/** How often autocannon checks whether it was stopped. */
const STOP_CHECK_MS = 50;
/** When autocannon ends by itself, after a plan's own time: only reached when something hangs. */
const SPARE_SECONDS = 30;

/** A connection whose session is known, or is chosen once it is known which worker the connection landed on. */
export interface LoopedConnection extends OpenedConnection {
  readonly placed: PlacedSessions | undefined;
}

export async function runClosedLoop(plan: LoadPlan, connections: readonly LoopedConnection[]): Promise<Measurement> {
  const window = new MeasuredWindow(plan);
  const faults = new FaultCounter();
  const waiting = connections.values();
  const instance = autocannon(
    {
      url: plan.origin,
      connections: connections.length,
      duration: Math.ceil((plan.warmUpMs + plan.measureMs) / 1_000) + SPARE_SECONDS,
      timeout: ANSWER_SECONDS_MAX,
      sampleInt: STOP_CHECK_MS,
      setupClient: (client) => {
        const next = waiting.next();
        if (next.done === true) throw new Error('autocannon asked for more connections than the plan has');
        client.setRequests(firstRequestsOf(client, next.value, faults));
      },
    },
    () => {}, // Makes autocannon return the emitter; the result comes with `done`.
  );
  instance.on('response', (_client, _status, _bytes, latencyMs) => {
    faults.onAnswer();
    window.record(latencyMs);
  });
  instance.on('reqError', (error: unknown) => faults.onError(error));
  const ended = once(instance, 'done') as Promise<[autocannon.Result]>;
  // A window that opens before the first response would see a target still busy with its first tokens and connections.
  const answered = once(instance, 'response');
  const late = sleep(ANSWER_SECONDS_MAX * 1_000, undefined, { ref: false });
  await Promise.all([sleep(plan.warmUpMs), Promise.race([answered, late])]);
  window.open();
  await sleep(plan.measureMs);
  window.close();
  instance.stop();
  const [result] = await ended;
  return { ...window.figures(), faults: faults.count(result) };
}

/** A placed connection first opens a session to see where it landed, and then loops with a session at the wanted place. */
function firstRequestsOf(
  client: autocannon.Client,
  connection: LoopedConnection,
  faults: FaultCounter,
): autocannon.Request[] {
  const { plan, placed } = connection;
  const probe = plan.script.opening[0];
  if (placed === undefined || probe === undefined) return requestsOf(connection, faults);
  return [
    {
      method: probe.method,
      path: probe.path,
      body: probe.body,
      headers: headersOf(plan, probe, undefined),
      onResponse: (status, body, _context, headers) => {
        faults.checkAnswer(probe, status, body);
        const sessionId = placed.sessionIdFor(singleHeader(headers, SESSION_HEADER));
        client.setRequests(requestsOf({ ...connection, sessionId }, faults));
      },
    },
  ];
}

/** The loop of a connection in autocannon's form. Steps whose session is known from the start are built only once. */
function requestsOf({ plan, sessionId }: OpenedConnection, faults: FaultCounter): autocannon.Request[] {
  let currentSessionId = sessionId;
  return plan.script.loop.map((step: Step) => ({
    method: step.method,
    path: step.path,
    body: step.body,
    headers: headersOf(plan, step, currentSessionId),
    ...(step.session === 'carries' && sessionId === undefined
      ? { setupRequest: (request) => ({ ...request, headers: headersOf(plan, step, currentSessionId) }) }
      : {}),
    onResponse: (status, body, _context, headers) => {
      if (step.session === 'opens') currentSessionId = singleHeader(headers, SESSION_HEADER);
      faults.checkAnswer(step, status, body);
    },
  }));
}

function singleHeader(headers: autocannon.Request['headers'], name: string): string | undefined {
  const value = headers?.[name];
  return typeof value === 'string' ? value : undefined;
}
