// `switchyard store copy`: a backup of an embedded store.
import { exitStatus } from '../shared/index.js';
import { copyEmbedded } from '../store/index.js';
import { CliFault, type CommandResult, printable } from './command-result.js';

/** Both are directories. Throws a CliFault. */
export async function copyStore({
  from,
  directory: to,
}: {
  readonly from: string;
  readonly directory: string;
}): Promise<CommandResult> {
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
