// `switchyard store copy`: a backup of an embedded store.
import type { StoreCopyRequest } from '../config/cli-request.js';
import { exitStatus } from '../shared/exit-status.js';
import { copyEmbedded } from '../store/embedded-databases.js';
import { CliFault, printResult, type CommandResult, printable } from './command-result.js';

/** Resolves with the program's exit status once everything is printed. */
export async function runStoreCopy({ isJson, from, to }: StoreCopyRequest): Promise<number> {
  return printResult(isJson, () => copy(from, to));
}

/** Throws a CliFault. */
export async function copy(from: string, to: string): Promise<CommandResult> {
  const outcome = await copyEmbedded(from, to).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CliFault(exitStatus.unavailable, `the store cannot be copied to ${to}: ${reason}`, error);
  });
  if (outcome === 'no-store') {
    throw new CliFault(exitStatus.notFound, `there is no embedded store in ${from}; name another with --store-path`);
  }
  if (outcome === 'not-empty') {
    throw new CliFault(exitStatus.refused, `${to} is not empty; give an empty directory, or one that does not exist`);
  }
  if (typeof outcome === 'object') {
    throw new CliFault(exitStatus.unavailable, `the embedded store in ${from} is damaged: ${outcome.damage}`);
  }
  return { answer: { from, to }, text: `Copied the embedded store in ${printable(from)} to ${printable(to)}.\n` };
}
