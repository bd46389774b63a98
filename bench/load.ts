// The load process: drives one plan after the other with autocannon and answers each with a measurement. A histogram
// of its own stands in for autocannon's, which keeps whole milliseconds only.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import autocannon from 'autocannon';
import { FaultCounter } from './fault-counter.js';
import type { ConnectionPlan, LoadPlan, LoadReply, Measurement, Step } from './load-plan.js';
import { MeasuredWindow } from './measured-window.js';

const SESSION_HEADER = 'mcp-session-id';
/** An answer that takes longer is counted as an error. */
const ANSWER_SECONDS_MAX = 10;
/** How often autocannon looks whether it was stopped. */
const STOP_CHECK_MS = 50;
/** After a plan's own time autocannon would end by itself: only reached when something is stuck. */
const SPARE_SECONDS = 30;

/** A connection of the plan, and the session that its opening steps made, if they made one. */
interface OpenedConnection {
  readonly plan: ConnectionPlan;
  readonly sessionId: string | undefined;
}

async function run(plan: LoadPlan): Promise<Measurement> {
  const connections = await Promise.all(plan.connections.map((connection) => open(plan.origin, connection)));
  const measurement = await fire(plan, connections);
  await Promise.all(connections.map((connection) => close(plan.origin, connection)));
  return measurement;
}

async function open(origin: string, plan: ConnectionPlan): Promise<OpenedConnection> {
  let sessionId: string | undefined;
  for (const step of plan.script.opening) sessionId = (await send(origin, plan, step, sessionId)) ?? sessionId;
  return { plan, sessionId };
}

async function close(origin: string, { plan, sessionId }: OpenedConnection): Promise<void> {
  for (const step of plan.script.closing) await send(origin, plan, step, sessionId);
}

/** One unmeasured request. Answers the session id that its answer brought. */
async function send(
  origin: string,
  plan: ConnectionPlan,
  step: Step,
  sessionId: string | undefined,
): Promise<string | undefined> {
  const response = await fetch(origin + step.path, {
    method: step.method,
    headers: headersOf(plan, step, sessionId),
    ...(step.body === undefined ? {} : { body: step.body }),
    signal: AbortSignal.timeout(ANSWER_SECONDS_MAX * 1_000),
  });
  const body = await response.text();
  if (!response.ok) throw new Error(`${step.method} ${step.path} was answered ${response.status}: ${body}`);
  return response.headers.get(SESSION_HEADER) ?? undefined;
}

async function fire(plan: LoadPlan, connections: readonly OpenedConnection[]): Promise<Measurement> {
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
        client.setRequests(requestsOf(next.value, faults));
      },
    },
    () => {}, // Makes it answer the emitter; the result comes with `done`.
  );
  instance.on('response', (_client, _status, _bytes, latencyMs) => {
    faults.onAnswer();
    window.record(latencyMs);
  });
  instance.on('reqError', (error: unknown) => faults.onError(error));
  const ended = once(instance, 'done') as Promise<[autocannon.Result]>;
  await sleep(plan.warmUpMs);
  window.open();
  await sleep(plan.measureMs);
  const figures = window.close();
  instance.stop();
  const [result] = await ended;
  return { ...figures, faults: faults.count(result) };
}

/** The loop of a connection as autocannon takes it. Steps whose session is known from the start are built only once. */
function requestsOf({ plan, sessionId }: OpenedConnection, faults: FaultCounter): autocannon.Request[] {
  let currentSessionId = sessionId;
  return plan.script.loop.map((step) => ({
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

function headersOf(plan: ConnectionPlan, step: Step, sessionId: string | undefined): Record<string, string> {
  return {
    ...plan.headers,
    ...(step.body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(step.session === 'carries' && sessionId !== undefined
      ? { [SESSION_HEADER]: sessionId, 'mcp-protocol-version': '2025-11-25' }
      : {}),
  };
}

function singleHeader(headers: autocannon.Request['headers'], name: string): string | undefined {
  const value = headers?.[name];
  return typeof value === 'string' ? value : undefined;
}

function reply(message: LoadReply): void {
  process.send?.(message);
}

process.on('message', (plan: LoadPlan) => {
  run(plan).then(
    (measurement) => reply({ kind: 'measured', measurement }),
    (error: unknown) => reply({ kind: 'failed', reason: error instanceof Error ? describe(error) : String(error) }),
  );
});
// Without its parent it has nothing to do.
process.on('disconnect', () => process.exit());
reply({ kind: 'ready' });

/** `fetch` hides what went wrong in the cause. */
function describe(error: Error): string {
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
