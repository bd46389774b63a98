// A fair queue: items with the same key (a subject, say) form a line of their own, and the lines take turns. A subject that sends a
// thousand requests delays only itself, and the last room is reserved for keys that have few items (share.ts). The cost of an operation
// does not depend on how many items wait.
//
//   round ⇄ line of "a" ⇄ line of "b" ⇄ …       the lines that take turns; the one that was served goes to the end
//              │              └ entry ⇄ entry
//              └ entry                            a line that is held is not in the round until it is released
import { limits, perSubject } from '../shared/index.js';
import { ListNode } from './list-node.js';
import { isWithinBounds, withReserve, type ShareBounds } from './share.js';

/** The most waiting items: of all keys together, and of one key, by default a quarter of all. */
export type QueueBounds = readonly [itemsMax?: number, itemsPerKeyMax?: number];

/** Why an item is not accepted: too many of its own key wait, or too many in total. */
export type QueueFullness = 'key-full' | 'full';

/** An item in the queue. */
export class FairQueueEntry<Item> extends ListNode {
  readonly item: Item;
  readonly #leave: (entry: FairQueueEntry<Item>) => void;

  constructor(item: Item, leave: (entry: FairQueueEntry<Item>) => void) {
    super();
    this.item = item;
    this.#leave = leave;
  }

  /** Takes the item out of the queue; does nothing when the item is no longer there. */
  leave(): void {
    if (this.isLinked) this.#leave(this);
  }
}

/** The waiting items of one key. Linked into the round while the key gets turns. */
class Line extends ListNode {
  readonly key: string;
  readonly entries = new ListNode();
  count = 0;
  isHeld = false;

  constructor(key: string) {
    super();
    this.key = key;
  }
}

export class FairQueue<Item> {
  readonly #bounds: ShareBounds;
  readonly #lines = new Map<string, Line>();
  readonly #round = new ListNode();
  /** The number of waiting items, including those of held keys. Changed only here. */
  count = 0;

  constructor(...[itemsMax = limits.waitingMax, itemsPerKeyMax = perSubject(itemsMax)]: QueueBounds) {
    this.#bounds = withReserve({ totalMax: itemsMax, subjectMax: itemsPerKeyMax });
  }

  /** The number of keys, including held ones. */
  get keyCount(): number {
    return this.#lines.size;
  }

  /** The number of waiting items of this key. */
  countOf(key: string): number {
    return this.#lines.get(key)?.count ?? 0;
  }

  /** Puts an item at the end of its key's line. */
  add(key: string, item: Item): FairQueueEntry<Item> | QueueFullness {
    const known = this.#lines.get(key);
    const ownCount = (known?.count ?? 0) + 1;
    if (ownCount > this.#bounds.subjectMax) return 'key-full';
    if (!isWithinBounds(this.#bounds, this.count + 1, ownCount, this.#lines.size)) return 'full';
    const line = known ?? this.#openLine(key);
    const entry = new FairQueueEntry(item, (leaving) => this.#remove(line, leaving));
    line.entries.append(entry);
    line.count += 1;
    this.count += 1;
    if (!line.isHeld && !line.isLinked) this.#round.append(line);
    return entry;
  }

  /** Whether `take` has something to return, that is, whether some item waits under a key that is not held. */
  get hasTurn(): boolean {
    return this.#round.isLinked;
  }

  /** The item that `take` would return. */
  get next(): Item | undefined {
    const line = this.#round.next;
    return line instanceof Line ? (line.entries.next as FairQueueEntry<Item>).item : undefined;
  }

  /** The first item of the line whose turn it is; `undefined` when nothing waits, except under held keys. */
  take(): Item | undefined {
    const line = this.#round.next;
    if (!(line instanceof Line)) return undefined;
    // Before `#takeFirst`, which removes a line that becomes empty.
    this.pass();
    return this.#takeFirst(line);
  }

  /** Moves the line whose turn it is to the end of the round. */
  pass(): void {
    const line = this.#round.next;
    line.unlink();
    this.#round.append(line);
  }

  /** Takes every item out, including those of held keys, in no particular order. */
  takeAll(): Item[] {
    const items: Item[] = [];
    for (const line of [...this.#lines.values()]) {
      for (let item = this.#takeFirst(line); item !== undefined; item = this.#takeFirst(line)) items.push(item);
    }
    return items;
  }

  /** From now on `take` skips this key, whether or not anything waits under it. */
  hold(key: string): void {
    const line = this.#lines.get(key) ?? this.#openLine(key);
    line.isHeld = true;
    line.unlink();
  }

  /** Gives a held key its turns again, starting at the end of the round. */
  release(key: string): void {
    const line = this.#lines.get(key);
    if (line?.isHeld !== true) return;
    line.isHeld = false;
    if (line.count > 0) this.#round.append(line);
    else this.#lines.delete(key);
  }

  #openLine(key: string): Line {
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
    if (!line.isHeld) this.#lines.delete(line.key);
  }
}
