// Assembles a body from copies of its pieces, in a single buffer if its length is known. Hot path: most bodies are one piece.
import { Buffer } from 'node:buffer';
import { largeMemory, LARGE_MEMORY_FROM_BYTES, shortMemory } from '../fair/index.js';
import { MIB } from '../shared/index.js';

// Pieces are joined from time to time if they are small: each is an object of some hundred bytes, a sender may send single bytes, and a
// body must not take a hundred times its size.

/** The number of pieces after which small ones are joined. */
const PIECES_TO_JOIN = 1_024;
/** Pieces that have this size together are not joined: the overhead no longer matters. */
const JOIN_BELOW_BYTES = 64 * 1024;

export function addPiece(pieces: Buffer[], piece: Uint8Array): void {
  if (pieces.push(Buffer.from(piece)) % PIECES_TO_JOIN === 0) joinLast(pieces);
}

function joinLast(pieces: Buffer[]): void {
  const first = pieces.length - PIECES_TO_JOIN;
  let bytes = 0;
  for (let index = first; index < pieces.length; index += 1) bytes += pieces[index]!.length;
  if (bytes < JOIN_BELOW_BYTES) pieces.push(Buffer.concat(pieces.splice(first), bytes));
}

/** Bytes that are reserved for an announced length once its sender is believed, and the rest once so much has arrived. */
export const BODY_RESERVED_BYTES_MAX = 4 * MIB;

/** From this size on, the rest is reserved at once: unwritten memory is not backed by pages, and copying costs more. */
const RESERVED_FROM_BYTES = 4 * BODY_RESERVED_BYTES_MAX;

/** The size to which memory grows: at most 16 MiB are copied for it, in some milliseconds. @param bytesMax of the whole message. */
function grownBytes(presentBytes: number, neededBytes: number, bytesMax: number): number {
  if (neededBytes > RESERVED_FROM_BYTES) return Math.max(neededBytes, bytesMax);
  return Math.max(neededBytes, Math.min(presentBytes * 2, RESERVED_FROM_BYTES));
}

const NO_BYTES = Buffer.alloc(0);

/** Memory for bytes that are soon forgotten, so not for a request's body, which may be kept for an hour. */
export function shortLivedMemory(bytes: number): Buffer {
  return bytes < LARGE_MEMORY_FROM_BYTES ? shortMemory(bytes) : largeMemory.take(bytes);
}

export class BodyCollector {
  readonly #bytesMax: number;
  readonly #allocate: (bytes: number) => Buffer;
  /** The bytes so far. Changed only here. */
  length = 0;
  #memory: Buffer = NO_BYTES;

  /** @param bytesMax enforced by the owner. @param allocate `shortLivedMemory` or `bodyMemory`; else nobody gives it back. */
  constructor(bytesMax: number, allocate: (bytes: number) => Buffer = (bytes) => Buffer.allocUnsafe(bytes)) {
    this.#bytesMax = bytesMax;
    this.#allocate = allocate;
  }

  /** The bytes, valid until more are added. Large memory may be given back by its last owner (large-memory.ts). */
  get bytes(): Buffer {
    return this.length === this.#memory.length ? this.#memory : this.#memory.subarray(0, this.length);
  }

  /**
   * Appends a copy. @param bodyBytes the size of the whole body, if known; otherwise any smaller number, or `NaN`.
   * @param isCounted whether the owner counts all of them already. Otherwise, a large body gets its memory with the second piece.
   */
  add(piece: Uint8Array, bodyBytes: number, isCounted = false): void {
    const at = this.length;
    this.length += piece.length;
    if (this.length > this.#memory.length) this.#grow(at, bodyBytes || 0, isCounted);
    this.#memory.set(piece, at);
  }

  /** Gives the bytes to the caller, who owns them. The collector starts again. */
  take(): Buffer {
    const { bytes } = this;
    this.clear();
    return bytes;
  }

  clear(): void {
    this.length = 0;
    this.#memory = NO_BYTES;
  }

  /** Drops the bytes, which nobody reads any more. */
  discard(): void {
    largeMemory.giveBack(this.#memory);
    this.clear();
  }

  #grow(filledBytes: number, bodyBytes: number, isCounted: boolean): void {
    const before = this.#memory;
    this.#memory = this.#allocate(
      filledBytes === 0 ? this.#firstBytes(bodyBytes, isCounted) : this.#laterBytes(bodyBytes),
    );
    before.copy(this.#memory, 0, 0, filledBytes);
    largeMemory.giveBack(before);
  }

  /** The bytes to reserve at first: the sender may never send what it has announced, and who owns the body may have no room for it. */
  #firstBytes(bodyBytes: number, isCounted: boolean): number {
    const isBelieved = isCounted || bodyBytes < LARGE_MEMORY_FROM_BYTES;
    return isBelieved ? Math.max(this.length, Math.min(bodyBytes, BODY_RESERVED_BYTES_MAX)) : this.length;
  }

  #laterBytes(bodyBytes: number): number {
    const announcedBytes = Math.min(bodyBytes, this.#bytesMax);
    if (announcedBytes <= this.length) return grownBytes(this.#memory.length, this.length, this.#bytesMax);
    return this.length > BODY_RESERVED_BYTES_MAX ? announcedBytes : Math.min(announcedBytes, BODY_RESERVED_BYTES_MAX);
  }
}
