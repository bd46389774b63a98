// Spreads work on many items over turns of the event loop. Opening a backend, or asking it for its tools, takes tens of microseconds,
// and a virtual host may have hundreds of backends; a session that ends may have a thousand requests in flight. The first few items
// are visited at once, which is all that most sessions need; the others get `turnMs` of each turn of the event loop, shared
// by all sessions, with subjects taking turns. Cold path.
import { limits } from '../../shared/index.js';
import { FairQueueEntry, TurnScheduler } from '../../fair/index.js';
import type { CompiledBackend } from '../../user-config/index.js';

/** Requests that end at once with their session, at a tenth of a millisecond each. Beyond that, the others wait for turns. */
export const REQUESTS_ENDED_AT_ONCE_MAX = 64;
/**
 * Backends of a virtual host that are opened or sent a request at once, in about a millisecond together. Beyond that, the others wait for
 * turns.
 */
export const BACKENDS_AT_ONCE_MAX = 16;

/** Backends of one session that are served in a row; subjects and sessions take turns. */
export const BACKENDS_PER_STEP = 4;
/** Requests of one ended session that are ended in a row; subjects and sessions take turns. */
const REQUESTS_ENDED_PER_STEP = 8;

interface Visits<Item> {
  /** Called once for each item, in order. Must not throw. */
  readonly visit: (item: Item) => void;
  /** Called instead of `visit` for items that cannot wait, because too many sessions are waiting. */
  readonly onNoRoom: (item: Item) => void;
}

interface Pace {
  readonly turns: TurnScheduler;
  /** How many items of one session are visited at once, before `visitAll` returns. */
  readonly atOnceMax: number;
  /** How many items of one session are visited in a row. */
  readonly perStep: number;
}

/** Visits the first items at once, and the others soon. @param items may lose items that were not visited yet. */
export function visitAll<Item>(
  { turns, atOnceMax, perStep }: Pace,
  subject: string,
  items: IterableIterator<Item>,
  { visit, onNoRoom }: Visits<Item>,
): void {
  const waitForTurn = (): void => {
    if (!(turns.wait(subject, step) instanceof FairQueueEntry)) for (const item of items) onNoRoom(item);
  };
  const step = (): void => {
    if (visitSome(items, visit, perStep)) waitForTurn();
  };
  if (visitSome(items, visit, atOnceMax)) waitForTurn();
}

/** @returns whether there may be more. */
function visitSome<Item>(left: Iterator<Item>, visit: (item: Item) => void, countMax: number): boolean {
  for (let count = 0; count < countMax; count++) {
    const next = left.next();
    if (next.done === true) return false;
    visit(next.value);
  }
  return true;
}

/** The turns of this process, shared by all sessions. */
export const backendPace: Pace = {
  turns: new TurnScheduler({ untimedMax: 0, turnMs: limits.turnMs }),
  atOnceMax: BACKENDS_AT_ONCE_MAX,
  perStep: BACKENDS_PER_STEP,
};

/** Visits a virtual host's backends. */
export function visitBackends(
  subject: string,
  backends: ReadonlyMap<string, CompiledBackend>,
  visits: Visits<CompiledBackend>,
): void {
  visitAll(backendPace, subject, backends.values(), visits);
}

/** Requests of ended sessions, in turns that all sessions share. */
export const endingPace: Pace = {
  turns: new TurnScheduler({ untimedMax: 0, turnMs: limits.turnMs }),
  atOnceMax: REQUESTS_ENDED_AT_ONCE_MAX,
  perStep: REQUESTS_ENDED_PER_STEP,
};
