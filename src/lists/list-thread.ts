// The list thread's entry point, which piscina calls with one task at a time.
import { constants, getPriority, setPriority } from 'node:os';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import { ListKeeper } from './list-keeper.js';
import type { FindOutcome, NextOutcome, ThreadTask } from './thread-tasks.js';

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
export default function runTask(task: ThreadTask): unknown {
  switch (task.name) {
    case 'append':
      return keeper.append(task.task);
    case 'read':
      return keeper.read(task.task);
    case 'merge':
      return keeper.merge(task.task);
    case 'grant':
      return keeper.grant(task.task);
    case 'catalogue':
      return keeper.catalogue(task.task);
    case 'prepare':
      return keeper.prepare();
    case 'find':
      return withMemory(keeper.find(task.task));
    case 'next':
      return withMemory(keeper.next(task.task));
    case 'drop':
      return keeper.drop(task.task);
  }
}

/** Transfers the memory instead of copying it. */
function withMemory(outcome: NextOutcome | FindOutcome): unknown {
  return move({ [transferableSymbol]: [outcome.memory.buffer], [valueSymbol]: outcome });
}
