// A fair queue: items with the same key, such as a subject, form a line, and the lines are served round robin. A subject with a thousand
// items delays only itself, and the last room is reserved for keys that have few (share.ts). Every operation is O(1).
//
//   round ⇄ line of "a" ⇄ line of "b" ⇄ …       the lines that are served round robin; the one that was served goes to the end
//              │              └ entry ⇄ entry
//              └ entry                            a paused line is not in the round until it is resumed
import { limits, perSubject } from '../shared/index.js';
import { ListNode } from './list-node.js';
import { isWithinBounds, withReserve, type ShareBound, type ShareBounds } from './share.js';

export type QueueBounds = readonly [itemsMax?: number, itemsPerKeyMax?: number];

export class FairQueueEntry<Item> extends ListNode {
  readonly item: Item;
  readonly #leave: (entry: FairQueueEntry<Item>) => void;

  constructor(item: Item, leave: (entry: FairQueueEntry<Item>) => void) {
    super();
    this.item = item;
    this.#leave = leave;
  }

  leave(): void {
    if (this.isLinked) this.#leave(this);
  }
}

/** The items of one key. A line is in the round unless it is empty or paused. */
class Line extends ListNode {
  readonly key: string;
  readonly entries = new ListNode();
  count = 0;
  isPaused = false;

  constructor(key: string) {
    super();
    this.key = key;
  }
}

export class FairQueue<Item> {
  readonly #bounds: ShareBounds;
  readonly #lines = new Map<string, Line>();
  readonly #round = new ListNode();
  /** The number of items, also of paused keys. Changed only here. */
  count = 0;

  constructor(...[itemsMax = limits.waitingMax, itemsPerKeyMax = perSubject(itemsMax)]: QueueBounds) {
    this.#bounds = withReserve({ totalMax: itemsMax, subjectMax: itemsPerKeyMax });
  }

  get keyCount(): number {
    return this.#lines.size;
  }

  countOf(key: string): number {
    return this.#lines.get(key)?.count ?? 0;
  }

  /** Adds an item. @returns the bound of one key, or of all, if the queue is full. */
  add(key: string, item: Item): FairQueueEntry<Item> | ShareBound {
    const existingLine = this.#lines.get(key);
    const ownCount = (existingLine?.count ?? 0) + 1;
    if (ownCount > this.#bounds.subjectMax) return 'subjectMax';
    if (!isWithinBounds(this.#bounds, this.count + 1, ownCount, this.#lines.size)) return 'totalMax';
    const line = existingLine ?? this.#addLine(key);
    const entry = new FairQueueEntry(item, (leaving) => this.#remove(line, leaving));
    line.entries.append(entry);
    line.count += 1;
    this.count += 1;
    if (!line.isPaused && !line.isLinked) this.#round.append(line);
    return entry;
  }

  /** Whether an item of a key that is not paused waits. */
  get isReady(): boolean {
    return this.#round.isLinked;
  }

  get next(): Item | undefined {
    const line = this.#round.next;
    return line instanceof Line ? (line.entries.next as FairQueueEntry<Item>).item : undefined;
  }

  take(): Item | undefined {
    const line = this.#round.next;
    if (!(line instanceof Line)) return undefined;
    this.skip();
    return this.#takeFirst(line);
  }

  /** Moves the first line, whose item is next, to the end of the round. */
  skip(): void {
    const line = this.#round.next;
    line.unlink();
    this.#round.append(line);
  }

  /** Removes every item, also of paused keys, in no particular order. */
  takeAll(): Item[] {
    const items: Item[] = [];
    for (const line of [...this.#lines.values()]) {
      for (let item = this.#takeFirst(line); item !== undefined; item = this.#takeFirst(line)) items.push(item);
    }
    return items;
  }

  /** Pauses a key: `take` skips it from now on, whether or not it has items. */
  pause(key: string): void {
    const line = this.#lines.get(key) ?? this.#addLine(key);
    line.isPaused = true;
    line.unlink();
  }

  /** Resumes a key: it is served again, beginning at the end of the round. */
  resume(key: string): void {
    const line = this.#lines.get(key);
    if (line?.isPaused !== true) return;
    line.isPaused = false;
    if (line.count > 0) this.#round.append(line);
    else this.#lines.delete(key);
  }

  #addLine(key: string): Line {
    const line = new Line(key);
    this.#lines.set(key, line);
    return line;
  }

  #takeFirst(line: Line): Item | undefined {
    const entry = line.entries.next;
    if (!(entry instanceof FairQueueEntry)) return undefined;
    this.#remove(line, entry as FairQueueEntry<Item>);
    return (entry as FairQueueEntry<Item>).item;
  }

  #remove(line: Line, entry: FairQueueEntry<Item>): void {
    entry.unlink();
    line.count -= 1;
    this.count -= 1;
    if (line.count > 0) return;
    line.unlink();
    if (!line.isPaused) this.#lines.delete(line.key);
  }
}
