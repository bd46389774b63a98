// The load process: plays one plan after the other and responds to each with a measurement.
import { closeSession, openSession } from './bench-session.js';
import { runClosedLoop, type LoopedConnection } from './closed-loop.js';
import type { ConnectionPlan, LoadPlan, LoadReply, Measurement } from './load-plan.js';
import { runDialogues } from './dialogue-loop.js';
import { runFirstCalls } from './first-calls.js';
import { runOpenLoop } from './open-loop.js';
import { PlacedSessions } from './placed-sessions.js';

async function run(plan: LoadPlan): Promise<Measurement> {
  if (plan.firstCalls !== undefined) return runFirstCalls(plan, plan.firstCalls);
  const connections = await Promise.all(plan.connections.map((connection) => open(plan, connection)));
  const measurement = await runLoop(plan, connections);
  await Promise.all(
    connections.map((connection) => connection.placed?.close() ?? closeSession(plan.origin, connection)),
  );
  return measurement;
}

function runLoop(plan: LoadPlan, connections: readonly LoopedConnection[]): Promise<Measurement> {
  if (plan.requestsPerSecond !== undefined) return runOpenLoop(plan, plan.requestsPerSecond, connections);
  const isDialogue = plan.connections[0]?.script.loop[0]?.reply !== undefined;
  return isDialogue ? runDialogues(plan, connections) : runClosedLoop(plan, connections);
}

async function open({ origin, placement }: LoadPlan, plan: ConnectionPlan): Promise<LoopedConnection> {
  if (placement === undefined) return { ...(await openSession(origin, plan)), placed: undefined };
  return { plan, sessionId: undefined, placed: await PlacedSessions.open(origin, plan, placement) };
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
// Without its parent it has no purpose.
process.on('disconnect', () => process.exit());
reply({ kind: 'ready' });

/** `fetch` hides the reason of a failure in `cause`. */
function describe(error: Error): string {
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
