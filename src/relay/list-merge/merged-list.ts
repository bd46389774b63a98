// A merged list as a complete answer. A small one is written at once, in one piece. Of a large one a part is written whenever its caller
// has read the last, and the pages stay in memory until then; so it counts in the share of its subject until its caller has read it.
// Exactly one of `respondTo` and `drop` is called, once.
import { encodeEvent } from '../../protocol/event-stream.js';
import { LARGE_MEMORY_FROM_BYTES, largeMemory, noteReturned } from '../../shared/large-memory.js';
import { limits } from '../../shared/limits.js';
import { answerInForm, type AnswerFrame } from '../exchange/answers.js';
import type { Exchange } from '../exchange/exchange.js';
import { EventPieces, PartPieces, type PieceSource } from '../exchange/piece-source.js';
import { SENT_PER_TURN_BYTES, Sending } from '../exchange/sending.js';
import { itemBytes, partsOfItem, writeItems, type MergedItem } from './item-writer.js';

/** What a list consists of. */
interface ListParts {
  readonly form: AnswerFrame['form'];
  readonly head: Buffer;
  readonly items: readonly MergedItem[];
  readonly tail: Buffer;
  /** The length of all of it as a message. */
  readonly bytes: number;
  /** As in `MergedItems`. */
  readonly unreachable: readonly string[];
  /** Gives back the pages: called once, when nothing refers to them any more. */
  readonly release: () => void;
}

export class MergedList {
  readonly #parts: ListParts;
  readonly #partMemory: PartMemory;
  /** The whole list, if it is small. */
  readonly #whole: Buffer | undefined;
  #isReleased = false;

  constructor(parts: ListParts, partMemory: PartMemory) {
    this.#parts = parts;
    this.#partMemory = partMemory;
    // Line breaks in an event are found byte by byte.
    if (parts.bytes > (parts.form === 'event' ? limits.listBytesInlineMax : SENT_PER_TURN_BYTES)) return;
    this.#whole = written(parts);
    this.#release();
  }

  /** Merged names of items that no request could reach, because other items have these names (decisions 2.5). */
  get unreachable(): readonly string[] {
    return this.#parts.unreachable;
  }

  /**
   * Answers the exchange that the list was made for.
   * @param isStreaming whether its event stream is open already.
   */
  respondTo(exchange: Exchange, isStreaming = false): void {
    const { form, bytes } = this.#parts;
    if (this.#whole !== undefined) {
      answerInForm(exchange, form === 'event' ? encodeEvent(this.#whole) : this.#whole, undefined, isStreaming);
      return;
    }
    if (exchange.isAborted) {
      this.drop();
      exchange.reset();
      return;
    }
    if (form === 'event' && !isStreaming) exchange.openStream();
    else if (form === 'message') exchange.openBody('application/json', bytes);
    const onSent = (): void => {
      this.#release();
      exchange.end();
    };
    const sending = new Sending(exchange, onSent, limits.listPartBytes);
    exchange.onAbort = () => {
      sending.cancel();
      this.#release();
    };
    const pieces = new ListPieces(this.#parts, this.#partMemory);
    sending.add(form === 'event' ? new EventPieces(pieces) : pieces);
  }

  /** The list is not wanted any more. */
  drop(): void {
    this.#release();
  }

  #release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#parts.release();
  }
}

/** Large memory is reused: the exchange that sends it gives it back. */
function written({ head, items, tail, bytes }: ListParts): Buffer {
  const isLarge = bytes >= LARGE_MEMORY_FROM_BYTES;
  const message = isLarge ? largeMemory.take(bytes).subarray(0, bytes) : Buffer.allocUnsafe(bytes);
  tail.copy(message, writeItems(message, head.copy(message), items));
  return message;
}

// Memory for the parts of large lists, reused from list to list: throwing away memory of this size would cause a full garbage
// collection every few lists.

/** How many buffers are kept for reuse: more lists than this are seldom sent at once. */
const SPARES_MAX = 8;

export class PartMemory {
  readonly #spares: Buffer[] = [];

  take(): Buffer {
    return this.#spares.pop() ?? Buffer.allocUnsafeSlow(limits.listPartBytes);
  }

  /** @param memory to which nothing may refer any more. */
  giveBack(memory: Buffer): void {
    noteReturned(memory);
    if (this.#spares.length < SPARES_MAX) this.#spares.push(memory);
  }
}

const COMMA = Buffer.from(',');

/** Writes each piece into the same memory. Counts for nothing, since the list counts already. */
class ListPieces implements PieceSource {
  readonly bytes = 0;
  readonly #parts: ListParts;
  readonly #partMemory: PartMemory;
  readonly #memory: Buffer;
  #index = -1;
  /** The rest of an item that is too long for one piece. */
  #long: PartPieces | undefined;
  #isOver = false;

  constructor(parts: ListParts, partMemory: PartMemory) {
    this.#parts = parts;
    this.#partMemory = partMemory;
    this.#memory = partMemory.take();
  }

  next(): Buffer | undefined {
    const piece = this.#long?.next();
    if (piece !== undefined) return piece;
    this.#long = undefined;
    const { head, items, tail } = this.#parts;
    if (this.#index === -1) {
      this.#index = 0;
      return head;
    }
    if (this.#index < items.length) return this.#nextItems(items);
    if (this.#isOver) return undefined;
    this.#isOver = true;
    this.#partMemory.giveBack(this.#memory);
    return tail;
  }

  #nextItems(items: readonly MergedItem[]): Buffer | undefined {
    const from = this.#index;
    const memory = this.#memory;
    let start = 0;
    if (from > 0) start = COMMA.copy(memory);
    let bytes = start;
    for (let to = from; ; to += 1) {
      const item = items[to];
      bytes += item === undefined ? memory.length : itemBytes(item) + 1;
      if (bytes <= memory.length) continue;
      this.#index = to;
      if (to > from) return memory.subarray(0, writeItems(memory, start, items.slice(from, to)));
      this.#index = to + 1;
      this.#long = new PartPieces([from > 0 ? COMMA : NOTHING, ...partsOfItem(item!)]);
      return this.#long.next();
    }
  }
}

const NOTHING = Buffer.alloc(0);
