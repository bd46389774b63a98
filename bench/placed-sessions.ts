// Sessions with a known owner: for a connection that landed on one worker, a session that this worker owns, or one that
// another does. Which worker a connection landed on shows only in the id of a session that is opened on it.
import { ownerOf } from '../src/worker/session-id.js';
import { closeSession, openSessionAnywhere, type OpenedConnection } from './bench-session.js';
import type { ConnectionPlan, Placement } from './load-plan.js';

/** The kernel spreads new connections evenly, so the chance to miss one of two workers is 2^-59. */
const TRIES_MAX = 60;

export class PlacedSessions {
  readonly #origin: string;
  readonly #plan: ConnectionPlan;
  readonly #placement: Placement;
  readonly #bySlot: ReadonlyMap<number, OpenedConnection>;
  readonly #probes: OpenedConnection[] = [];

  private constructor(
    origin: string,
    plan: ConnectionPlan,
    placement: Placement,
    bySlot: ReadonlyMap<number, OpenedConnection>,
  ) {
    this.#origin = origin;
    this.#plan = plan;
    this.#placement = placement;
    this.#bySlot = bySlot;
  }

  /** Opens a session on each worker. */
  static async open(origin: string, plan: ConnectionPlan, placement: Placement): Promise<PlacedSessions> {
    const bySlot = new Map<number, OpenedConnection>();
    for (let tries = 0; bySlot.size < placement.workers; tries += 1) {
      if (tries === TRIES_MAX) throw new Error(`all of ${TRIES_MAX} sessions were opened on the same worker`);
      const { sessionId } = await openSessionAnywhere(origin, plan);
      const opened = { plan, sessionId };
      const slot = slotOf(opened.sessionId, placement.workers);
      if (bySlot.has(slot)) await closeSession(origin, opened);
      else bySlot.set(slot, opened);
    }
    return new PlacedSessions(origin, plan, placement, bySlot);
  }

  /** @param probeId of a session that was just opened on the connection: its owner is the worker that serves the connection. */
  sessionIdFor(probeId: string | undefined): string | undefined {
    this.#probes.push({ plan: this.#plan, sessionId: probeId });
    const { owner, workers } = this.#placement;
    const home = slotOf(probeId, workers);
    return this.#bySlot.get(owner === 'home' ? home : (home + 1) % workers)?.sessionId;
  }

  async close(): Promise<void> {
    for (const opened of [...this.#bySlot.values(), ...this.#probes]) await closeSession(this.#origin, opened);
  }
}

function slotOf(sessionId: string | undefined, workers: number): number {
  if (sessionId === undefined) throw new Error('the answer to initialize brought no session');
  return ownerOf(sessionId, workers);
}
