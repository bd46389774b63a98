// Sessions of the load, outside of the measured window: opening them, closing them, and the headers of their requests.
import type { ConnectionPlan, Step } from './load-plan.js';

export const SESSION_HEADER = 'mcp-session-id';
/** A slower response is a fault. */
export const ANSWER_SECONDS_MAX = 10;

/** A connection of the plan, and the session that its opening steps created, if any. */
export interface OpenedConnection {
  readonly plan: ConnectionPlan;
  readonly sessionId: string | undefined;
}

export async function openSession(origin: string, plan: ConnectionPlan): Promise<OpenedConnection> {
  let sessionId: string | undefined;
  for (const step of plan.script.opening) sessionId = (await send(origin, plan, step, sessionId)) ?? sessionId;
  return { plan, sessionId };
}

/** Opens a session with each request on a connection of its own. */
export function openSessionAnywhere(origin: string, plan: ConnectionPlan): Promise<OpenedConnection> {
  return openSession(origin, { ...plan, headers: { ...plan.headers, connection: 'close' } });
}

export async function closeSession(origin: string, { plan, sessionId }: OpenedConnection): Promise<void> {
  for (const step of plan.script.closing) await send(origin, plan, step, sessionId);
}

export function headersOf(plan: ConnectionPlan, step: Step, sessionId: string | undefined): Record<string, string> {
  return {
    ...plan.headers,
    ...step.headers,
    ...(step.body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(step.session === 'carries' && sessionId !== undefined
      ? { [SESSION_HEADER]: sessionId, 'mcp-protocol-version': '2025-11-25' }
      : {}),
  };
}

/** Returns the session id that the response carries. */
async function send(
  origin: string,
  plan: ConnectionPlan,
  step: Step,
  sessionId: string | undefined,
): Promise<string | undefined> {
  const { response, body } = await sendStep(origin, plan, step, sessionId);
  if (!response.ok) throw new Error(`${step.method} ${step.path} was answered ${response.status}: ${body}`);
  return response.headers.get(SESSION_HEADER) ?? undefined;
}

export async function sendStep(
  origin: string,
  plan: ConnectionPlan,
  step: Step,
  sessionId: string | undefined,
): Promise<{ readonly response: Response; readonly body: string }> {
  const response = await fetch(origin + step.path, {
    method: step.method,
    headers: headersOf(plan, step, sessionId),
    ...(step.body === undefined ? {} : { body: step.body }),
    signal: AbortSignal.timeout(ANSWER_SECONDS_MAX * 1_000),
  });
  return { response, body: await response.text() };
}
