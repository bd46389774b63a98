// The search thread's entry point, which piscina calls with one task at a time.
import { constants, getPriority, setPriority } from 'node:os';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import type { SearchTask } from './search-thread.js';
import { prepareCatalogues, ToolCatalogue } from './tool-catalogue.js';

// On Linux a thread has a priority of its own: if both want one core, the event loop goes first. Elsewhere this would change the
// priority of the whole process.
if (process.platform === 'linux') {
  const { PRIORITY_BELOW_NORMAL, PRIORITY_LOW } = constants.priority;
  setPriority(Math.min(getPriority() + PRIORITY_BELOW_NORMAL, PRIORITY_LOW));
}

/** A thread that replaces another knows none of its keys. */
const catalogues = new Map<number, ToolCatalogue>();

export default function runTask(task: SearchTask): unknown {
  if (task.name === 'prepare') return prepareCatalogues();
  if (task.name === 'drop') return void catalogues.delete(task.key);
  if (task.name === 'keep') {
    const made = new ToolCatalogue(task.tools);
    catalogues.set(task.key, made);
    return made.size;
  }
  const catalogue = catalogues.get(task.key);
  if (catalogue === undefined) throw new Error('a catalogue was lost');
  // In memory of its own, which is transferred instead of copied.
  const answer = Uint8Array.from(catalogue.answer(task.query, task.count, task.frame));
  return move({ [transferableSymbol]: [answer.buffer], [valueSymbol]: answer });
}
