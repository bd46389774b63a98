// Writes a log line and an entry in the store's audit list for each change: who, what, before and after. Secrets are left
// out: URLs are reduced to their origin, fixed arguments to their names, large values to their beginning, each with a hash
// that shows whether it changed. Cold path.
import { createHash } from 'node:crypto';
import { limits, subjectHash, type Logger } from '../../shared/index.js';
import type { AuditEntry, AuditRecords } from '../../store/index.js';
import type { ChangeOutcome } from './change.js';
import type { Ownership } from './principal.js';

/** The most subjects of a composition that one log line names. Beyond that, the line also has their count and a hash of them all. */
const AUDIT_SUBJECTS_MAX = 20;

interface AuditedRequest {
  readonly operation: string;
  /** The operation's tag in the endpoint table. */
  readonly kind: string;
  readonly requestId: string;
  readonly subject: string;
  /** Why the request failed, whether or not the change was made; `''` if it did not fail. */
  readonly fault: string;
  /** Number of user configs that do not have the change yet. */
  readonly unpublished: number;
}

export class AuditTrail {
  readonly #logger: Logger;
  readonly #subjectForm: 'hash' | 'plain';
  readonly #auditList: Pick<AuditRecords, 'append'> | undefined;

  /** @param subjects how log lines show subjects. @param stored the audit list, which always shows them in plain text. */
  constructor(logger: Logger, subjects: 'hash' | 'plain', stored?: Pick<AuditRecords, 'append'>) {
    this.#auditList = stored;
    // Audit lines are written at every log level except `silent`.
    this.#logger = logger.level === 'silent' ? logger : logger.child({}, { level: 'info' });
    this.#subjectForm = subjects;
  }

  write(request: AuditedRequest, { change }: ChangeOutcome): void {
    if (change === undefined) return;
    const { operation, kind } = request;
    const formatSubject = this.#subjectForm === 'hash' ? subjectHash : cutForAudit;
    const message = change.isCertain ? 'changed' : 'perhaps changed';
    this.#logger.info({ audit: operation, ...auditedFactsOf(request, change, formatSubject) }, message);
    // The audit list has subjects in plain text, because only people who may see them can read it.
    const facts = auditedFactsOf(request, change, cutForAudit);
    const { owner, team } = (change.after ?? change.before ?? {}) as Ownership;
    this.#auditList?.append({ at: new Date().toISOString(), operation, kind, ...facts, owner, team });
  }
}

type FormatSubject = (subject: string) => string;

function auditedFactsOf(
  { requestId, subject, fault, unpublished }: AuditedRequest,
  { before, after, isCertain }: NonNullable<ChangeOutcome['change']>,
  formatSubject: FormatSubject,
): Omit<AuditEntry, 'at' | 'operation' | 'kind'> {
  const { id, name } = (after ?? before ?? {}) as { readonly id?: string; readonly name?: string };
  return {
    requestId: requestId || undefined,
    subject: formatSubject(subject),
    id,
    name: name && cutForAudit(name),
    before: before && auditedMembers(before, after, formatSubject),
    after: after && auditedMembers(after, before, formatSubject),
    outcome: isCertain ? undefined : 'unknown',
    unpublished: unpublished || undefined,
    fault: fault || undefined,
  };
}

/** The entity's members that people can set; if `other` is given, only those that differ from the members of `other`. */
function auditedMembers(
  entity: object,
  other: object | undefined,
  formatSubject: FormatSubject,
): Record<string, unknown> {
  const otherMembers = other as Readonly<Record<string, unknown>> | undefined;
  const members = Object.entries(entity).filter(([member, value]) => {
    if (COMPUTED_MEMBERS.has(member) || value === undefined) return false;
    return otherMembers === undefined || JSON.stringify(otherMembers[member]) !== JSON.stringify(value);
  });
  return Object.fromEntries(members.map(([member, value]) => [member, auditedValue(member, value, formatSubject)]));
}

function auditedValue(member: string, value: unknown, formatSubject: FormatSubject): unknown {
  // Of a URL, only the origin is shown: a path or query may be as sensitive as a password.
  if (member === 'url') return { origin: originOf(String(value)), hash: hashOf(value) };
  if (member === 'auth') return { hash: hashOf(value) };
  if (member === 'maker' || member === 'owner') return formatSubject(String(value));
  if (member === 'subjects' && Array.isArray(value)) {
    const first = value.slice(0, AUDIT_SUBJECTS_MAX).map((subject) => formatSubject(String(subject)));
    return value.length > first.length ? { count: value.length, hash: hashOf(value), first } : first;
  }
  const text = JSON.stringify(value, hashFixedArguments);
  if (text.length <= limits.auditValueCharsMax) return JSON.parse(text);
  const chars = JSON.stringify(value).length;
  return { chars, hash: hashOf(value), beginning: text.slice(0, limits.auditValueCharsMax) };
}

function cutForAudit(text: string): string {
  return text.slice(0, limits.auditValueCharsMax);
}

/** Members that the program computes: people cannot set them. */
const COMPUTED_MEMBERS: ReadonlySet<string> = new Set([
  ...['id', 'slug', 'reachable', 'toolCount', 'promptCount', 'resourceCount', 'templateCount', 'era', 'eras'],
  ...['capabilities', 'serverInfo', 'createdAt', 'updatedAt', 'lastSeen', 'lastRefreshAt', 'lastError', 'hostBytes'],
]);

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : '';
}

/** A replacer for `JSON.stringify` that hashes fixed arguments: their values may identify a tenant or be a key. */
function hashFixedArguments(member: string, value: unknown): unknown {
  if (member !== 'fixed_arguments' || typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, fixed]) => [name, { hash: hashOf(fixed) }]));
}

function hashOf(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}
