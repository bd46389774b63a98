// What somebody has changed, in words: the operation, and each member as it was and as it is.
import type { AuditEntry } from '../api/view-types.js';

const DONE: Readonly<Record<string, string>> = {
  registerServer: 'registered the server',
  replaceServer: 'changed the server',
  patchServer: 'changed the server',
  removeServer: 'removed the server',
  refreshServer: 'refreshed the server',
  createComposition: 'composed',
  replaceComposition: 'changed the composition',
  patchComposition: 'changed the composition',
  removeComposition: 'removed the composition',
  disconnect: 'withdrew the consent for',
  putUserConfig: 'stored the user config of',
  deleteUserConfig: 'deleted the user config of',
  setSecret: 'set the secret',
  deleteSecret: 'deleted the secret',
  rotateSecrets: 'encrypted the secrets again',
};

/** Of an operation that this page does not know its name. */
export function doneWords({ operation }: AuditEntry): string {
  return DONE[operation] ?? operation;
}

/** The page of what was changed; `''` where it has none, or has none any more. */
export function pageOfChanged({ kind, id, operation }: AuditEntry): string {
  if (id === undefined || operation.startsWith('remove')) return '';
  return kind === 'servers' ? `/servers/${id}` : kind === 'compositions' ? `/compose/${id}` : '';
}

export interface MemberChange {
  readonly member: string;
  /** `undefined`: it was not there. */
  readonly before: string | undefined;
  /** `undefined`: it is not there any more. */
  readonly after: string | undefined;
}

export function memberChanges({ before = {}, after = {} }: AuditEntry): readonly MemberChange[] {
  const members = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((member) => member !== 'name');
  return members.map((member) => ({ member, before: wordsOf(before[member]), after: wordsOf(after[member]) }));
}

/** How something came out that was not made as it was asked for; `''` when all is well. */
export function outcomeWords({ outcome, fault, unpublished }: AuditEntry): string {
  return [
    outcome === 'unknown' && 'unknown whether it was made because the store failed: please check',
    fault !== undefined && `the request failed (${fault})`,
    unpublished !== undefined && `not yet published to ${unpublished} at the time of the response`,
  ]
    .filter((words) => words !== false)
    .join('; ');
}

function wordsOf(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'string') return value === '' ? 'nothing' : value;
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join(', ') || 'none';
  return JSON.stringify(toldShortly(value));
}

/** Of what was too long to be told, or is a secret, the hash says whether it is another. */
function toldShortly(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const { origin, hash, beginning } = value as Readonly<Record<string, unknown>>;
  if (typeof origin === 'string' && typeof hash === 'string') return `${origin} (${hash})`;
  if (typeof beginning === 'string') return `${beginning}… (${String(hash)})`;
  return value;
}
