// Adds a change that a command makes directly in the store to the store's list of changes, beside those that people make through the
// control plane: who ran the command, what was changed, and the state before and after, without secrets. Cold path.
import { limits } from '../shared/index.js';
import { AuditRecords } from './audit-records.js';
import type { RecordStore } from './record-store.js';

export interface CommandChange {
  /** Who runs the command. */
  readonly operator: string;
  readonly operation: 'putUserConfig' | 'deleteUserConfig' | 'setSecret' | 'deleteSecret' | 'rotateSecrets';
  readonly kind: 'user-configs' | 'secrets';
  /** The subject of the config, or the name of the secret. */
  readonly name?: string;
  readonly before: object | undefined;
  readonly after: object | undefined;
}

/** Shown to a person; the change itself has been made. */
export const CHANGE_NOT_LISTED = 'This change could not be added to the list of changes.';

/** Tries once. @returns false when the change could not be added to the list. */
export async function listChange(
  records: RecordStore,
  { operator, operation, kind, name, before, after }: CommandChange,
): Promise<boolean> {
  let isListed = true;
  const warn = (): void => void (isListed = false);
  const changes = new AuditRecords(records, { warn });
  changes.append({
    ...{ at: new Date().toISOString(), operation, kind, subject: beginningOf(operator) },
    ...(name !== undefined && { name: beginningOf(name) }),
    ...(before !== undefined && { before }),
    ...(after !== undefined && { after }),
  });
  await changes.stop();
  return isListed;
}

function beginningOf(text: string): string {
  return text.slice(0, limits.auditValueCharsMax);
}
