// The list thread's entry point, which piscina calls with one task at a time.
import { constants, getPriority, setPriority } from 'node:os';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import { ListKeeper } from './list-keeper.js';
import type { TaskName } from './list-pool.js';

// On Linux a thread has a priority of its own, and the event loop should go first. Elsewhere this would change the priority of the whole
// process.
if (process.platform === 'linux') {
  const { PRIORITY_BELOW_NORMAL, PRIORITY_LOW } = constants.priority;
  setPriority(Math.min(getPriority() + PRIORITY_BELOW_NORMAL, PRIORITY_LOW));
}

// `gc` exists in workers only (primary/slot.ts); elsewhere V8 alone decides when to collect.
const keeper = new ListKeeper(() => globalThis.gc?.());

/** Runs every task. With one function per task, piscina would load each when it is first called, and a later task could overtake it. */
export default function runTask({ name, task }: { readonly name: TaskName; readonly task: unknown }): unknown {
  const outcome: unknown = keeper[name](task as never);
  if (typeof outcome !== 'object' || outcome === null || !('buffer' in outcome)) return outcome;
  // The outcome's buffer is transferred, not copied.
  return move({ [transferableSymbol]: [(outcome.buffer as Uint8Array).buffer], [valueSymbol]: outcome });
}
