// Changes in words: the operation, and each member before and after.
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

/** An operation unknown to this page is shown by its name. */
export function doneWords({ operation, before, after }: AuditEntry): string {
  const members = Object.keys({ ...before, ...after }).filter((member) => member !== 'name');
  if (before !== undefined && members.join() === 'enabled')
    return `${after?.['enabled'] === true ? 'enabled' : 'disabled'} the server`;
  return DONE[operation] ?? operation;
}

/** The page of the changed record; `''` where there is none, or the record was removed. */
export function pageOfChanged({ kind, id, operation }: AuditEntry): string {
  if (id === undefined || operation.startsWith('remove')) return '';
  return kind === 'servers' ? `/servers/${id}` : kind === 'compositions' ? `/compose/${id}` : '';
}

export interface MemberChange {
  readonly member: string;
  /** `undefined`: the member did not exist. */
  readonly before: string | undefined;
  /** `undefined`: the member no longer exists. */
  readonly after: string | undefined;
}

export function memberChanges({ before = {}, after = {} }: AuditEntry): readonly MemberChange[] {
  const members = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((member) => member !== 'name');
  return members.map((member) => {
    const [was, is] = [before[member], after[member]];
    // Of two lists, what they differ in.
    if (isTexts(was) && isTexts(is)) {
      const [gone, added] = [was.filter((each) => !is.includes(each)), is.filter((each) => !was.includes(each))];
      if (gone.length + added.length > 0) return { member, before: listed(gone), after: listed(added) };
    }
    return { member, before: wordsOf(was), after: wordsOf(is) };
  });
}

function listed(texts: readonly string[]): string | undefined {
  return texts.length === 0 ? undefined : texts.join(', ');
}

/** The request that gives a record back what a change has taken from it. */
export interface Undoing {
  readonly path: string;
  /** A merge patch. */
  readonly body: Readonly<Record<string, unknown>>;
}

const UNDOABLE = /^(?:replace|patch)(?:Server|Composition)$/;
/** Are told, but nobody sets them. */
const SET_BY_NOBODY = ['maker', 'owner'];

/** @returns `undefined` where the record of the change does not hold all that was there before. */
export function undoingOf({ kind, id, operation, before, after }: AuditEntry): Undoing | undefined {
  if (id === undefined || before === undefined || after === undefined || !UNDOABLE.test(operation)) return undefined;
  const members = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const undone = members
    .filter((member) => !SET_BY_NOBODY.includes(member))
    .map((member) => [member, before[member]] as const);
  // What is secret or too long to record is kept by its hash.
  if (undone.length === 0 || undone.some(([, value]) => JSON.stringify(value ?? null).includes('"hash":')))
    return undefined;
  const body = Object.fromEntries(
    undone.map(([member, value]) => [member, value === undefined ? null : withoutIds(value)]),
  );
  return { path: `/${kind}/${id}`, body };
}

/** The parts of a composition are recorded with the ids of their servers, and set by names. */
function withoutIds(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  return value.map((part: unknown) => {
    if (typeof part !== 'object' || part === null) return part;
    const { id: _, ...others } = part as Readonly<Record<string, unknown>>;
    return others;
  });
}

/** The outcome of a change that did not go as requested; `''` when all went well. */
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
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (isTexts(value)) return value.join(', ') || 'none';
  if (Array.isArray(value)) return value.map(partWords).join('; ');
  return told(value);
}

/** A part of a list: a text, or a server of a composition with what is taken from it. */
function partWords(part: unknown): string {
  if (typeof part === 'string') return part;
  const { id: _, name, tools, ...others } = (part ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof name !== 'string' || !isTexts(tools)) return told(part);
  const more = Object.entries(others).map(
    ([member, value]) => `${member} ${isTexts(value) ? value.join(', ') : told(value)}`,
  );
  return `${name}: ${[tools.join(', ') || 'no tools', ...more].join(', ')}`;
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function told(value: unknown): string {
  const short = toldShortly(value);
  return typeof short === 'string' ? short : JSON.stringify(short);
}

/** Secrets and values too long to record are shown by their hash, which tells whether the value has changed. */
function toldShortly(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const { origin, hash, beginning } = value as Readonly<Record<string, unknown>>;
  if (typeof origin === 'string' && typeof hash === 'string') return `${origin} (${hash})`;
  if (typeof beginning === 'string') return `${beginning}… (${String(hash)})`;
  return value;
}
