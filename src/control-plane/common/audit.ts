// Writes a log line and an entry in the store's audit list (store/audit-records.ts) for each change: who, what, and how
// it was before and after. Secrets are left out: URLs are reduced to their origin, large values to their beginning,
// fixed arguments to their names, each with a hash that shows whether it changed. Cold path.
import { createHash } from 'node:crypto';
import { limits, subjectHash, type Logger } from '../../shared/index.js';
import type { AuditEntry, AuditRecords } from '../../store/index.js';
import type { ChangeNote } from './change.js';

/** A composition's subjects in the log line about a change. Of more, the first are logged, with their number and a hash of all. */
const AUDIT_SUBJECTS_MAX = 20;

interface AuditedRequest {
  readonly operation: string;
  /** As in the endpoint table. */
  readonly kind: string;
  readonly requestId: string;
  readonly subject: string;
  /** Why the request failed although the change was made, or may have been; `''` when it did not fail. */
  readonly fault: string;
  /** How many user configs do not have the change yet. */
  readonly unpublished: number;
}

type AuditSubjects = 'hash' | 'plain';

export class AuditTrail {
  readonly #logger: Logger;
  readonly #subjects: AuditSubjects;
  readonly #changes: Pick<AuditRecords, 'append'> | undefined;

  /** @param changes the stored list; `undefined` where none is kept. */
  constructor(logger: Logger, subjects: AuditSubjects, changes?: Pick<AuditRecords, 'append'>) {
    this.#changes = changes;
    // A log level above `info`, except `silent`, must not suppress audit lines.
    this.#logger = logger.level === 'silent' ? logger : logger.child({}, { level: 'info' });
    this.#subjects = subjects;
  }

  write(request: AuditedRequest, { change }: ChangeNote): void {
    if (change === undefined) return;
    const { operation, kind } = request;
    const who = this.#subjects === 'hash' ? subjectHash : beginningOf;
    const message = change.isCertain ? 'changed' : 'perhaps changed';
    this.#logger.info({ audit: operation, ...auditedFactsOf(request, change, who) }, message);
    // The stored list always has subjects in plain text: its readers may see who owns what.
    const stored = auditedFactsOf(request, change, beginningOf);
    const ownership = ownershipOf(change.after ?? change.before);
    this.#changes?.append({ at: new Date().toISOString(), operation, kind, ...stored, ...ownership });
  }
}

type WriteSubject = (subject: string) => string;

/** The audited facts of a change. */
function auditedFactsOf(
  { requestId, subject, fault, unpublished }: AuditedRequest,
  { before, after, isCertain }: NonNullable<ChangeNote['change']>,
  who: WriteSubject,
): Omit<AuditEntry, 'at' | 'operation' | 'kind'> {
  return {
    ...(requestId !== '' && { requestId }),
    subject: who(subject),
    ...identityOf(after ?? before),
    ...(before !== undefined && { before: toldMembers(before, after, who) }),
    ...(after !== undefined && { after: toldMembers(after, before, who) }),
    ...(!isCertain && { outcome: 'unknown' }),
    ...(unpublished > 0 && { unpublished }),
    ...(fault !== '' && { fault }),
  };
}

/** The members that people set; of a change, only those that differ. */
function toldMembers(thing: object, other: object | undefined, who: WriteSubject): Record<string, unknown> {
  const others = other as Readonly<Record<string, unknown>> | undefined;
  const members = Object.entries(thing).filter(([member, value]) => {
    if (FOUND_OUT.has(member) || value === undefined) return false;
    return others === undefined || JSON.stringify(others[member]) !== JSON.stringify(value);
  });
  return Object.fromEntries(members.map(([member, value]) => [member, toldValue(member, value, who)]));
}

function toldValue(member: string, value: unknown, who: WriteSubject): unknown {
  if (member === 'url') return placeOf(String(value));
  if (member === 'auth') return { hash: hashOf(value) };
  if (member === 'maker' || member === 'owner') return who(String(value));
  if (member === 'subjects' && Array.isArray(value)) {
    const some = value.slice(0, AUDIT_SUBJECTS_MAX).map((subject) => who(String(subject)));
    return value.length > some.length ? { count: value.length, hash: hashOf(value), first: some } : some;
  }
  const text = JSON.stringify(value, hashArguments);
  if (text.length <= limits.auditValueCharsMax) return JSON.parse(text);
  const chars = JSON.stringify(value).length;
  return { chars, hash: hashOf(value), beginning: text.slice(0, limits.auditValueCharsMax) };
}

function beginningOf(subject: string): string {
  return subject.slice(0, limits.auditValueCharsMax);
}

function ownershipOf(thing: object | undefined): Pick<AuditEntry, 'owner' | 'team'> {
  const { owner, team } = (thing ?? {}) as { readonly owner?: string; readonly team?: string };
  return { ...(owner !== undefined && { owner }), ...(team !== undefined && { team }) };
}

/** Members that nobody sets: the registry finds them out or computes them. */
const FOUND_OUT: ReadonlySet<string> = new Set([
  ...['id', 'slug', 'reachable', 'toolCount', 'promptCount', 'resourceCount', 'templateCount', 'era', 'eras'],
  ...['capabilities', 'serverInfo', 'createdAt', 'updatedAt', 'lastSeen', 'lastRefreshAt', 'lastError', 'hostBytes'],
]);

function identityOf(thing: object | undefined): object {
  const { id, name } = (thing ?? {}) as { readonly id?: string; readonly name?: string };
  return {
    ...(id !== undefined && { id }),
    ...(name !== undefined && { name: name.slice(0, limits.auditValueCharsMax) }),
  };
}

/** Reduces a URL to its origin: its path or query may be as sensitive as a password. */
function placeOf(url: string): object {
  return { origin: URL.canParse(url) ? new URL(url).origin : '', hash: hashOf(url) };
}

/** Hashes the fixed arguments of a curation, at any depth: their values may be a tenant or a key. */
function hashArguments(member: string, value: unknown): unknown {
  if (member !== 'fixed_arguments' || typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, fixed]) => [name, { hash: hashOf(fixed) }]));
}

function hashOf(value: unknown): string {
  return createHash('sha256')
    .update(typeof value === 'string' ? value : JSON.stringify(value))
    .digest('hex')
    .slice(0, 12);
}
