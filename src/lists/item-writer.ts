// Writes the items of a list, as callers get them, into one buffer. Adjacent source bytes are copied together: for most tools, everything
// between one name and the next. Hot path.
import type { Insertion } from '../bytes/index.js';
import { bodyMemory } from '../fair/index.js';

const COMMA = Buffer.from(',');
/** The length up to which copying byte by byte is faster than a call. */
const SHORT_BYTES = 32;

export interface MergedItem {
  /** The name or URI that callers see. */
  readonly key: string;
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  /** The insertions, in order of their offsets. */
  readonly insertions: Insertion | readonly Insertion[];
}

/** Writes a list: its head, its items with commas between them, its tail. */
export function writeItems(head: string, items: readonly MergedItem[], tail: string): Buffer {
  let length = Buffer.byteLength(head) + Math.max(0, items.length - 1) + Buffer.byteLength(tail);
  for (const item of items) length += itemBytes(item);
  // The memory is reused: the exchange that sends it returns it.
  const message = bodyMemory(length).subarray(0, length);
  const writer = new ItemWriter(message, message.write(head));
  for (const [index, item] of items.entries()) {
    if (index > 0) writer.separate(item);
    writer.write(item);
  }
  message.write(tail, writer.end());
  return message;
}

export function itemBytes({ start, end, insertions }: MergedItem): number {
  return end - start + bytesOf(insertions);
}

/** Writes an item. @returns where it ends in the message. */
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
  /** The bytes to copy next: from `#start` to `#end` of `#source`. */
  #source: Buffer = COMMA;
  #start = 0;
  #end = 0;

  constructor(message: Buffer, from: number) {
    this.#message = message;
    this.#at = from;
  }

  write({ bytes, start, end, insertions }: MergedItem): void {
    let from = start;
    if ('putIn' in insertions) {
      from = this.#insert(bytes, from, insertions);
    } else {
      for (const insertion of insertions) from = this.#insert(bytes, from, insertion);
    }
    this.#add(bytes, from, end);
  }

  /** Writes a comma, or uses the source's own if the two items are adjacent there. */
  separate({ bytes, start }: MergedItem): void {
    if (bytes === this.#source && start === this.#end + 1) this.#end = start;
    else this.#add(COMMA, 0, 1);
  }

  /** Ends the writing. @returns where the written bytes end. */
  end(): number {
    this.#copy();
    return this.#at;
  }

  #insert(bytes: Buffer, from: number, { at, putIn }: Insertion): number {
    this.#add(bytes, from, at);
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
