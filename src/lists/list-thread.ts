// The list thread's entry point, which piscina calls with one task at a time.
import { constants, getPriority, setPriority } from 'node:os';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import { ListKeeper } from './list-keeper.js';
import type { TaskName } from './list-pool.js';

// On Linux a thread has a priority of its own: if both want one core, the event loop goes first. Elsewhere this would change the
// priority of the whole process.
if (process.platform === 'linux') {
  const { PRIORITY_BELOW_NORMAL, PRIORITY_LOW } = constants.priority;
  setPriority(Math.min(getPriority() + PRIORITY_BELOW_NORMAL, PRIORITY_LOW));
}

// `gc` is there in workers only (primary/slot.ts); elsewhere V8 alone decides when to collect.
const keeper = new ListKeeper(() => globalThis.gc?.());

/**
 * Runs every task: piscina loads this one function before the first task. It would load functions of other names when each is first
 * called, so that a task whose function is already loaded could overtake one whose function is not.
 */
export default function runTask({ name, task }: { readonly name: TaskName; readonly task: unknown }): unknown {
  const outcome: unknown = keeper[name](task as never);
  if (typeof outcome !== 'object' || outcome === null || !('memory' in outcome)) return outcome;
  // Its memory is transferred, not copied.
  return move({ [transferableSymbol]: [(outcome.memory as Uint8Array).buffer], [valueSymbol]: outcome });
}
