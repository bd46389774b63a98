// Writes the items of a list, as callers get them, into one buffer. Adjacent source bytes are copied in one step: for most tools, all bytes
// from one name to the next. Hot path.
import type { Insertion } from '../bytes/index.js';
import { bodyMemory } from '../fair/index.js';

const COMMA = Buffer.from(',');
/** The length up to which copying byte by byte is faster than a call of `Buffer.copy`. */
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

/** Writes `head`, the items with commas between them, and `tail`. */
export function writeItems(head: string, items: readonly MergedItem[], tail: string): Buffer {
  let length = Buffer.byteLength(head) + Math.max(0, items.length - 1) + Buffer.byteLength(tail);
  for (const item of items) length += writtenBytesOf(item);
  // The exchange that sends the message gives this memory back, to be used again.
  const message = bodyMemory(length).subarray(0, length);
  const writer = new ItemWriter(message, message.write(head));
  for (const [index, item] of items.entries()) {
    if (index > 0) writer.writeComma(item);
    writer.write(item);
  }
  message.write(tail, writer.finish());
  return message;
}

export function writtenBytesOf({ start, end, insertions }: MergedItem): number {
  return end - start + insertedBytesOf(insertions);
}

/** Writes an item. @returns where it ends in the message. */
export function writeItem(message: Buffer, from: number, item: MergedItem): number {
  const writer = new ItemWriter(message, from);
  writer.write(item);
  return writer.finish();
}

function insertedBytesOf(insertions: Insertion | readonly Insertion[]): number {
  if ('putIn' in insertions) return insertions.putIn.length;
  return insertions.reduce((bytes, { putIn }) => bytes + putIn.length, 0);
}

class ItemWriter {
  readonly #message: Buffer;
  #writtenEnd: number;
  /** The bytes to copy next: from `#start` to `#end` of `#source`. */
  #source: Buffer = COMMA;
  #start = 0;
  #end = 0;

  constructor(message: Buffer, from: number) {
    this.#message = message;
    this.#writtenEnd = from;
  }

  write({ bytes, start, end, insertions }: MergedItem): void {
    let from = start;
    if ('putIn' in insertions) {
      from = this.#insert(bytes, from, insertions);
    } else {
      for (const insertion of insertions) from = this.#insert(bytes, from, insertion);
    }
    this.#appendRange(bytes, from, end);
  }

  /** Writes the comma before an item. If the item follows the previous item in the same source, the comma between them is copied. */
  writeComma({ bytes, start }: MergedItem): void {
    if (bytes === this.#source && start === this.#end + 1) this.#end = start;
    else this.#appendRange(COMMA, 0, 1);
  }

  /** Copies the last range of source bytes. @returns where the written bytes end. */
  finish(): number {
    this.#copyRange();
    return this.#writtenEnd;
  }

  #insert(bytes: Buffer, from: number, { at, putIn }: Insertion): number {
    this.#appendRange(bytes, from, at);
    this.#appendRange(putIn, 0, putIn.length);
    return at;
  }

  #appendRange(source: Buffer, start: number, end: number): void {
    if (source === this.#source && start === this.#end) {
      this.#end = end;
      return;
    }
    this.#copyRange();
    this.#source = source;
    this.#start = start;
    this.#end = end;
  }

  #copyRange(): void {
    const source = this.#source;
    const end = this.#end;
    let at = this.#writtenEnd;
    if (end - this.#start > SHORT_BYTES) {
      at += source.copy(this.#message, at, this.#start, end);
    } else {
      for (let from = this.#start; from < end; from += 1) this.#message[at++] = source[from]!;
    }
    this.#writtenEnd = at;
  }
}
