// A line in the log for each change that somebody makes, and an entry in the store's list of them (store/audit-records.ts): who, what, and how it was before and after. No secrets: of a URL its
// origin, of what may be large its beginning, of fixed arguments their names, and of each a hash, so that it is seen whether
// they are others. Cold.
import { createHash } from 'node:crypto';
import { limits } from '../../shared/limits.js';
import { subjectHash, type Logger } from '../../shared/logger.js';
import type { AuditEntry, AuditRecords } from '../../store/audit-records.js';

export interface NotedChange {
  readonly before: object | undefined;
  readonly after: object | undefined;
  /** False while it is being made, and for ever when that failed: the store may have made it, and its answer was lost. */
  readonly isCertain: boolean;
}

/** A change that is under way: whoever makes it writes down what it is, so that none is made without a line. */
export class ChangeNote {
  #change: NotedChange | undefined;

  /**
   * @param before `undefined` for what is new; `after` for what is gone.
   * @param make says whether it has made the change.
   */
  async making(before: object | undefined, after: object | undefined, make: () => Promise<boolean>): Promise<boolean> {
    this.#change = { before, after, isCertain: false };
    const isMade = await make();
    this.#change = isMade ? { before, after, isCertain: true } : undefined;
    return isMade;
  }

  made(before: object | undefined, after: object | undefined): void {
    this.#change = { before, after, isCertain: true };
  }

  /** `undefined` while nothing is changed. */
  get change(): NotedChange | undefined {
    return this.#change;
  }
}

export interface AuditedRequest {
  readonly operation: string;
  /** Of the endpoint table. */
  readonly kind: string;
  readonly requestId: string;
  readonly subject: string;
  /** Why the request failed, though the change is made, or may be; `''` when it did not. */
  readonly fault: string;
  /** User configs that do not have the change yet. */
  readonly unpublished: number;
}

export type AuditSubjects = 'hash' | 'plain';

export class AuditTrail {
  readonly #logger: Logger;
  readonly #subjects: AuditSubjects;
  readonly #changes: Pick<AuditRecords, 'append'> | undefined;

  /** @param changes the list; `undefined` where none is kept. */
  constructor(logger: Logger, subjects: AuditSubjects, changes?: Pick<AuditRecords, 'append'>) {
    this.#changes = changes;
    // Whoever wants to hear of warnings alone has not meant these.
    this.#logger = logger.level === 'silent' ? logger : logger.child({}, { level: 'info' });
    this.#subjects = subjects;
  }

  write(request: AuditedRequest, { change }: ChangeNote): void {
    if (change === undefined) return;
    const { operation, kind } = request;
    const who = this.#subjects === 'hash' ? subjectHash : beginningOf;
    const message = change.isCertain ? 'changed' : 'perhaps changed';
    this.#logger.info({ audit: operation, ...new Telling(who).tell(request, change) }, message);
    // Whoever reads the list may see whose the things are.
    const told = new Telling(beginningOf).tell(request, change);
    const ownership = ownershipOf(change.after ?? change.before);
    this.#changes?.append({ at: new Date().toISOString(), operation, kind, ...told, ...ownership });
  }
}

/** What is told of a change, with subjects as it names them. */
class Telling {
  readonly #who: (subject: string) => string;

  constructor(who: (subject: string) => string) {
    this.#who = who;
  }

  tell(
    { requestId, subject, fault, unpublished }: AuditedRequest,
    { before, after, isCertain }: NotedChange,
  ): Omit<AuditEntry, 'at' | 'operation' | 'kind'> {
    return {
      ...(requestId !== '' && { requestId }),
      subject: this.#who(subject),
      ...identityOf(after ?? before),
      ...(before !== undefined && { before: this.#told(before, after) }),
      ...(after !== undefined && { after: this.#told(after, before) }),
      ...(!isCertain && { outcome: 'unknown' }),
      ...(unpublished > 0 && { unpublished }),
      ...(fault !== '' && { fault }),
    };
  }

  /** What people say of the thing; of a change only what is another. */
  #told(thing: object, other: object | undefined): Record<string, unknown> {
    const others = other as Readonly<Record<string, unknown>> | undefined;
    const told: Record<string, unknown> = {};
    for (const [member, value] of Object.entries(thing)) {
      if (FOUND_OUT.has(member) || value === undefined) continue;
      if (others !== undefined && JSON.stringify(others[member]) === JSON.stringify(value)) continue;
      told[member] = this.#value(member, value);
    }
    return told;
  }

  #value(member: string, value: unknown): unknown {
    if (member === 'url') return placeOf(String(value));
    if (member === 'auth') return { hash: hashOf(value) };
    if (member === 'maker' || member === 'owner') return this.#who(String(value));
    if (member === 'subjects' && Array.isArray(value)) {
      const some = value.slice(0, limits.auditSubjectsMax).map((subject) => this.#who(String(subject)));
      return value.length > some.length ? { count: value.length, hash: hashOf(value), first: some } : some;
    }
    const text = JSON.stringify(value, hashArguments);
    if (text.length <= limits.auditValueCharsMax) return JSON.parse(text);
    const chars = JSON.stringify(value).length;
    return { chars, hash: hashOf(value), beginning: text.slice(0, limits.auditValueCharsMax) };
  }
}

function beginningOf(subject: string): string {
  return subject.slice(0, limits.auditValueCharsMax);
}

function ownershipOf(thing: object | undefined): Pick<AuditEntry, 'owner' | 'team'> {
  const { owner, team } = (thing ?? {}) as { readonly owner?: string; readonly team?: string };
  return { ...(owner !== undefined && { owner }), ...(team !== undefined && { team }) };
}

/** What nobody says of it: the registry finds it out, or reckons it. */
const FOUND_OUT: ReadonlySet<string> = new Set([
  ...['id', 'slug', 'reachable', 'toolCount', 'promptCount', 'resourceCount', 'templateCount'],
  ...[
    'era',
    'eras',
    'capabilities',
    'serverInfo',
    'createdAt',
    'updatedAt',
    'lastSeen',
    'lastRefreshAt',
    'lastError',
    'hostBytes',
  ],
]);

function identityOf(thing: object | undefined): object {
  const { id, name } = (thing ?? {}) as { readonly id?: string; readonly name?: string };
  return {
    ...(id !== undefined && { id }),
    ...(name !== undefined && { name: name.slice(0, limits.auditValueCharsMax) }),
  };
}

/** A path or a query may be as good as a password. */
function placeOf(url: string): object {
  return { origin: URL.canParse(url) ? new URL(url).origin : '', hash: hashOf(url) };
}

/** Of a curation, wherever it stands: a fixed argument may be a tenant or a key. */
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
