// The audit list: changes that the log reports, kept in the store for browsing, with subjects in clear text. It holds a bounded number of
// bounded entries and drops the oldest. No request waits for a write: while the store fails, a bounded number of entries waits in memory.
// Cold path.
import { randomBytes } from 'node:crypto';
import { limits, type Logger, KIB, MIB } from '../shared/index.js';
import {
  RECORDS_PER_READ_MAX,
  type RecordChange,
  type RecordKey,
  type RecordStore,
  retrySwap,
} from './record-store.js';

/** The most bytes of an entry. A larger one names the changed members without their values. */
export const AUDIT_ENTRY_BYTES_MAX = 16 * KIB;
/** The most entries added in one write. */
const AUDIT_WRITTEN_AT_ONCE_MAX = 32;
/** The most bytes added in one write. */
const AUDIT_WRITTEN_BYTES_MAX = 32 * KIB;
/** The most old entries removed in one write: enough to make space for the entries that the write adds. */
const AUDIT_REMOVED_AT_ONCE_MAX = 512;

/** A change made by a person or a command. */
export interface AuditEntry {
  readonly at: string;
  /** The operation's name in the endpoint table; for a command, its own name. */
  readonly operation: string;
  /** What was changed: servers, compositions or connections by an operation; user-configs or secrets by a command. */
  readonly kind: string;
  readonly subject: string;
  readonly requestId?: string | undefined;
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  /** The owner when the change was made. */
  readonly owner?: string | undefined;
  readonly team?: string | undefined;
  readonly before?: object | undefined;
  readonly after?: object | undefined;
  readonly outcome?: 'unknown' | undefined;
  readonly unpublished?: number | undefined;
  readonly fault?: string | undefined;
}

interface AuditQuery {
  /** The id or name that entries must have; `''` matches any. */
  readonly record: string;
  readonly limit: number;
  readonly cursor: string | undefined;
}

interface AuditPage {
  readonly items: readonly AuditEntry[];
  /** A cursor that leads to the next page; `undefined` on the last page. */
  readonly cursor: string | undefined;
}

export interface AuditBounds {
  /** The most entries that are kept. Beyond this count, or beyond `bytesKept`, the oldest are removed. */
  readonly entriesKept: number;
  readonly bytesKept: number;
  /** The most entries that wait for the store. Beyond this count, the oldest waiting ones are lost, and the log says how many. */
  readonly waitingMax: number;
  readonly retryMs: number;
}

const DEFAULT_BOUNDS: AuditBounds = { entriesKept: 5_000, bytesKept: 8 * MIB, waitingMax: 500, retryMs: 1_000 };

/** The record that every writer swaps: the positions of the oldest entry and of the next one to write, and the bytes of all entries. */
interface ListHead {
  readonly first: number;
  readonly next: number;
  readonly bytes: number;
  /** The token of the last batch, by which a writer that got no answer sees whether its batch was written. */
  readonly batch: string;
}

const EMPTY_HEAD: ListHead = { first: 0, next: 0, bytes: 0, batch: '' };
const KEY_PREFIX = 'audit/';
const HEAD_KEY: RecordKey = { space: 'records', key: `${KEY_PREFIX}head` };

interface AuditBatch {
  readonly token: string;
  readonly values: readonly Buffer[];
}

export class AuditRecords {
  readonly #records: RecordStore;
  readonly #logger: Pick<Logger, 'warn'>;
  readonly #bounds: AuditBounds;
  readonly #waitingEntries: Buffer[] = [];
  #lostCount = 0;
  #writeInProgress: Promise<void> | undefined;
  #isStopping = false;

  constructor(records: RecordStore, logger: Pick<Logger, 'warn'>, bounds: AuditBounds = DEFAULT_BOUNDS) {
    this.#records = records;
    this.#logger = logger;
    this.#bounds = bounds;
  }

  append(entry: AuditEntry): void {
    this.#waitingEntries.push(encodeEntry(entry));
    if (this.#waitingEntries.length > this.#bounds.waitingMax) {
      this.#waitingEntries.shift();
      this.#lostCount += 1;
    }
    this.#writeInProgress ??= this.#writeAll().finally(() => (this.#writeInProgress = undefined));
  }

  /** A page of the entries that the caller may see, newest first. Rejects with a `RecordStoreFault`. */
  async list({ record, limit, cursor }: AuditQuery, maySee: (entry: AuditEntry) => boolean): Promise<AuditPage> {
    const { first, next } = parseHead(await this.#records.read(HEAD_KEY));
    let at = Math.min(cursor === undefined ? Infinity : Number(cursor), next - 1);
    const items: AuditEntry[] = [];
    for (let readCount = 0; at >= first && items.length < limit && readCount < limits.listPageMax;) {
      const keys = keysFrom(at, Math.max(first, at - RECORDS_PER_READ_MAX + 1));
      for (const value of await this.#records.readMany(keys)) {
        if (items.length >= limit) break;
        at -= 1;
        readCount += 1;
        const entry = value && (JSON.parse(value.toString()) as AuditEntry);
        if (entry === undefined || !(record === '' || entry.id === record || entry.name === record)) continue;
        if (maySee(entry)) items.push(entry);
      }
    }
    return { items, cursor: at >= first ? String(at) : undefined };
  }

  /** Tries once more to write the waiting entries, and logs how many are lost. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#writeInProgress;
    if (this.#waitingEntries.length > 0) this.#logLost(this.#waitingEntries.length);
  }

  async #writeAll(): Promise<void> {
    let batch = this.#nextBatch();
    while (batch.values.length > 0) {
      try {
        await this.#write(batch);
        batch = this.#nextBatch();
      } catch {
        // Only lost entries are logged here: other users of the store log that it is unavailable.
        if (this.#isStopping) return this.#logLost(batch.values.length);
        await new Promise((resolve) => setTimeout(resolve, this.#bounds.retryMs));
      }
    }
    if (this.#lostCount > 0) this.#logLost(0);
  }

  #logLost(moreCount: number): void {
    const lost = this.#lostCount + moreCount;
    this.#lostCount = 0;
    this.#logger.warn(
      { lost },
      'changes are missing from the list of changes because the store was unavailable; the log has them',
    );
  }

  #nextBatch(): AuditBatch {
    const values: Buffer[] = [];
    for (let bytes = 0; values.length < AUDIT_WRITTEN_AT_ONCE_MAX;) {
      const [value] = this.#waitingEntries;
      bytes += value?.length ?? 0;
      if (value === undefined || (values.length > 0 && bytes > AUDIT_WRITTEN_BYTES_MAX)) break;
      values.push(value);
      this.#waitingEntries.shift();
    }
    return { token: randomBytes(12).toString('hex'), values };
  }

  async #write({ token, values }: AuditBatch): Promise<void> {
    await retrySwap(async () => {
      const expected = await this.#records.read(HEAD_KEY);
      const head = parseHead(expected);
      // An earlier attempt was committed, but its answer was lost.
      if (head.batch === token) return true;
      const added = values.map((value, index) => entryChange(head.next + index, undefined, value));
      const bytes = head.bytes + values.reduce((sum, { length }) => sum + length, 0);
      const grown = { ...head, next: head.next + values.length, bytes, batch: token };
      const [kept, removals] = await this.#withoutOldest(grown, head.next);
      const changes = [...added, ...removals, { ...HEAD_KEY, expected, value: Buffer.from(JSON.stringify(kept)) }];
      return (await this.#records.swap(changes)) || undefined;
    });
  }

  /** Finds the oldest entries beyond the bounds. @param end the position after the last stored one. @returns the new head, and the removals. */
  async #withoutOldest(head: ListHead, end: number): Promise<[ListHead, RecordChange[]]> {
    const { entriesKept, bytesKept } = this.#bounds;
    const isTooMuch = (first: number, bytes: number): boolean => head.next - first > entriesKept || bytes > bytesKept;
    let { first, bytes } = head;
    const removals: RecordChange[] = [];
    if (!isTooMuch(first, bytes)) return [head, removals];
    const last = Math.min(end, first + AUDIT_REMOVED_AT_ONCE_MAX) - 1;
    const values = last < first ? [] : (await this.#records.readMany(keysFrom(last, first))).reverse();
    for (const value of values) {
      if (!isTooMuch(first, bytes)) break;
      if (value !== undefined) removals.push(entryChange(first, value, undefined));
      bytes -= value?.length ?? 0;
      first += 1;
    }
    return [{ ...head, first, bytes }, removals];
  }
}

function parseHead(bytes: Buffer | undefined): ListHead {
  return bytes === undefined ? EMPTY_HEAD : (JSON.parse(bytes.toString()) as ListHead);
}

function keyOf(position: number): string {
  return KEY_PREFIX + String(position).padStart(15, '0');
}

/** The keys from the position `last` down to `first`. */
function keysFrom(last: number, first: number): string[] {
  return Array.from({ length: last - first + 1 }, (_, index) => keyOf(last - index));
}

function entryChange(position: number, expected: Buffer | undefined, value: Buffer | undefined): RecordChange {
  return { space: 'records', key: keyOf(position), expected, value };
}

/** The entry as JSON. If it is too long, `before` and `after` have only the names of their members. */
function encodeEntry(entry: AuditEntry): Buffer {
  const whole = Buffer.from(JSON.stringify(entry));
  if (whole.length <= AUDIT_ENTRY_BYTES_MAX) return whole;
  const { before, after, ...rest } = entry;
  const names = (thing: object | undefined): object | undefined =>
    thing && { leftOut: Object.keys(thing).join(', ').slice(0, limits.auditValueCharsMax) };
  return Buffer.from(JSON.stringify({ ...rest, before: names(before), after: names(after) }));
}
