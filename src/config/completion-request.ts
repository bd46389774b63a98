// The `completion` command: which shell it is for.
import type { CommandWords } from './command.js';
import { OptionFaults } from './faults.js';

const shells = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof shells)[number];

/** @throws {OptionFaults} with every fault. */
export function loadCompletionRequest({ operands, faults }: CommandWords): Shell {
  const shell = shells.find((each) => each === operands[0]);
  const unknown = shell === undefined && operands.length > 0 ? [`<shell>: expects one of ${shells.join(', ')}`] : [];
  const all = [...faults, ...unknown];
  if (all.length > 0 || shell === undefined) throw new OptionFaults(all, 'See `switchyard completion --help`.');
  return shell;
}
