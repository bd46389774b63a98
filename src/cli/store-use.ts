// For commands that open the store themselves: opening and closing it, and adding their changes to the audit list.
import { operatorName, type StoreOptions } from '../config/index.js';
import { exitStatus, limits } from '../shared/index.js';
import {
  AuditRecords,
  noStoreInWords,
  openForCommand,
  RecordStoreFault,
  type RecordStore,
  copyEmbedded,
} from '../store/index.js';
import { CliFault, type CommandResult, printable } from './command-result.js';

/** Opens the store, calls `work`, and closes the store. Rejects with a CliFault. @param mayCreate whether to create a missing store. */
export async function withStore(
  options: StoreOptions,
  mayCreate: boolean,
  work: (store: RecordStore) => Promise<CommandResult>,
): Promise<CommandResult> {
  let store: RecordStore | undefined;
  try {
    store = await openForCommand(options, mayCreate);
    if (store !== undefined) return await work(store);
  } catch (error) {
    if (!(error instanceof RecordStoreFault)) throw error;
    throw new CliFault(exitStatus.unavailable, error.message, error);
  } finally {
    await store?.close();
  }
  throw new CliFault(exitStatus.notFound, noStoreInWords(options));
}

/** A change that a command has made, as the audit list gets it: without secrets. */
interface CommandChange {
  readonly operation: 'putUserConfig' | 'deleteUserConfig' | 'setSecret' | 'deleteSecret' | 'rotateSecrets';
  readonly kind: 'user-configs' | 'secrets';
  /** The subject of the config, or the name of the secret. */
  readonly name?: string;
  readonly before: object | undefined;
  readonly after: object | undefined;
}

/** Adds a change to the audit list, with the operator's name. Tries once. `words` is a text for the user if that fails; otherwise `''`. */
export async function addToAuditList(
  records: RecordStore,
  { operation, kind, name, before, after }: CommandChange,
): Promise<{ readonly isListed: boolean; readonly words: string }> {
  let isListed = true;
  const warn = (): void => void (isListed = false);
  const changes = new AuditRecords(records, { warn });
  changes.append({
    ...{ at: new Date().toISOString(), operation, kind, subject: cutForAudit(operatorName()) },
    ...{ name: name && cutForAudit(name), before, after },
  });
  await changes.stop();
  return { isListed, words: isListed ? '' : 'This change could not be added to the list of changes.\n' };
}

function cutForAudit(text: string): string {
  return text.slice(0, limits.auditValueCharsMax);
}

// `switchyard store copy`: a backup of an embedded store.

/** Copies the embedded store in `from` to `directory`. Rejects with a CliFault. */
export async function copyStore(action: { readonly from: string; readonly directory: string }): Promise<CommandResult> {
  const { from, directory: to } = action;
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
