// Writes the items of a list, as its callers have them, into one piece of memory. What stands together where it comes from is copied
// together: of most tools all but the prefix is, from one name to the next. Hot.
import { largeMemory } from '../../shared/large-memory.js';
import { limits } from '../../shared/limits.js';
import type { Insertion } from '../message/uris.js';

const COMMA = Buffer.from(',');
/** Up to so many bytes are written sooner one by one than by a call. */
const SHORT_BYTES = 32;

export interface MergedItem {
  /** The caller's. */
  readonly key: string;
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  /** In the order in which they stand. */
  readonly insertions: Insertion | readonly Insertion[];
}

/** The items of a list with what goes around them. */
export function writeItems(head: string, items: readonly MergedItem[], tail: string): Buffer {
  let length = Buffer.byteLength(head) + Math.max(0, items.length - 1) + Buffer.byteLength(tail);
  for (const item of items) length += itemBytes(item);
  const message = memoryFor(length);
  const writer = new ItemWriter(message, message.write(head));
  for (const [index, item] of items.entries()) {
    if (index > 0) writer.separate(item);
    writer.write(item);
  }
  message.write(tail, writer.end());
  return message;
}

/** The exchange that answers with it gives it back. */
function memoryFor(bytes: number): Buffer {
  if (bytes < limits.largeMemoryFromBytes) return Buffer.allocUnsafe(bytes);
  return largeMemory.take(bytes).subarray(0, bytes);
}

/** As its callers have it. */
export function itemBytes({ start, end, insertions }: MergedItem): number {
  return end - start + bytesOf(insertions);
}

/** @returns where the item ends in the message. */
export function writeItem(message: Buffer, from: number, item: MergedItem): number {
  const writer = new ItemWriter(message, from);
  writer.write(item);
  return writer.end();
}

function bytesOf(insertions: Insertion | readonly Insertion[]): number {
  if ('putIn' in insertions) return insertions.putIn.length;
  return insertions.reduce((bytes, { putIn }) => bytes + putIn.length, 0);
}

class ItemWriter {
  readonly #message: Buffer;
  #at: number;
  /** What is to be copied next: `start` to `end` of the source. */
  #source: Buffer = COMMA;
  #start = 0;
  #end = 0;

  constructor(message: Buffer, from: number) {
    this.#message = message;
    this.#at = from;
  }

  write({ bytes, start, end, insertions }: MergedItem): void {
    let done = start;
    if ('putIn' in insertions) {
      done = this.#insert(bytes, done, insertions);
    } else {
      for (const insertion of insertions) done = this.#insert(bytes, done, insertion);
    }
    this.#add(bytes, done, end);
  }

  /** A comma before the item: its own, if it is all that stands between it and the item before. */
  separate({ bytes, start }: MergedItem): void {
    if (bytes === this.#source && start === this.#end + 1) this.#end = start;
    else this.#add(COMMA, 0, 1);
  }

  /** Everything is in the message. @returns where it ends. */
  end(): number {
    this.#copy();
    return this.#at;
  }

  #insert(bytes: Buffer, done: number, { at, putIn }: Insertion): number {
    this.#add(bytes, done, at);
    this.#add(putIn, 0, putIn.length);
    return at;
  }

  #add(source: Buffer, start: number, end: number): void {
    if (source === this.#source && start === this.#end) {
      this.#end = end;
      return;
    }
    this.#copy();
    this.#source = source;
    this.#start = start;
    this.#end = end;
  }

  #copy(): void {
    const source = this.#source;
    const end = this.#end;
    let at = this.#at;
    if (end - this.#start > SHORT_BYTES) {
      at += source.copy(this.#message, at, this.#start, end);
    } else {
      for (let from = this.#start; from < end; from += 1) this.#message[at++] = source[from]!;
    }
    this.#at = at;
  }
}
