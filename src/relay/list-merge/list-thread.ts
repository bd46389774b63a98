// The list thread's entry: what piscina calls by name, one task at a time.
import { constants, getPriority, setPriority } from 'node:os';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import { ListKeeper } from './list-keeper.js';
import type { AppendTask, DropTask, MergeOutcome, MergeTask, NextTask, ReadOutcome, ReadTask } from './thread-tasks.js';

// On Linux a thread has a priority of its own: where both want one core, the event loop goes first. Elsewhere this would
// be the whole process's.
if (process.platform === 'linux') {
  const { PRIORITY_BELOW_NORMAL, PRIORITY_LOW } = constants.priority;
  setPriority(Math.min(getPriority() + PRIORITY_BELOW_NORMAL, PRIORITY_LOW));
}

const keeper = new ListKeeper();

export function append(task: AppendTask): void {
  keeper.append(task);
}

export function read(task: ReadTask): ReadOutcome {
  return keeper.read(task);
}

export function merge(task: MergeTask): MergeOutcome {
  return keeper.merge(task);
}

/** Piscina hands the memory back. */
export function next(task: NextTask): unknown {
  const outcome = keeper.next(task);
  return move({ [transferableSymbol]: [outcome.memory.buffer], [valueSymbol]: outcome });
}

export function drop(task: DropTask): void {
  keeper.drop(task);
}
