// Two ways to collect a body that arrives in pieces: `addPiece` keeps copies of the pieces in a list, `BodyCollector` copies them into one
// growing buffer. Hot path: most bodies are one piece.
import { Buffer } from 'node:buffer';
import { largeMemory, LARGE_MEMORY_FROM_BYTES, shortMemory } from '../fair/index.js';
import { MIB } from '../shared/index.js';

/**
 * So many pieces are joined, if they are small. A `Buffer` takes some hundred bytes, and a sender may send single bytes, so a body could
 * otherwise take a hundred times its size.
 */
const PIECES_TO_JOIN = 1_024;
/** Pieces that have this size together are not joined, because they have little overhead. */
const JOIN_BELOW_BYTES = 64 * 1024;

export function addPiece(pieces: Buffer[], piece: Uint8Array): void {
  if (pieces.push(Buffer.from(piece)) % PIECES_TO_JOIN === 0) joinLastPieces(pieces);
}

function joinLastPieces(pieces: Buffer[]): void {
  const first = pieces.length - PIECES_TO_JOIN;
  let bytes = 0;
  for (let index = first; index < pieces.length; index += 1) bytes += pieces[index]!.length;
  if (bytes < JOIN_BELOW_BYTES) pieces.push(Buffer.concat(pieces.splice(first), bytes));
}

/** The most memory that is allocated for an announced length in advance. Once more has arrived, all of that length is allocated. */
export const BODY_AHEAD_BYTES_MAX = 4 * MIB;

/** Beyond this size, a body of unknown length gets memory for `bytesMax`: unwritten memory costs nothing, and another copy would. */
const ALLOCATED_WHOLE_FROM_BYTES = 4 * BODY_AHEAD_BYTES_MAX;

/** The next size of the memory for a body of unknown length. At most 16 MiB are copied into it, in some milliseconds. */
function grownBytes(presentBytes: number, neededBytes: number, bytesMax: number): number {
  if (neededBytes > ALLOCATED_WHOLE_FROM_BYTES) return Math.max(neededBytes, bytesMax);
  return Math.max(neededBytes, Math.min(presentBytes * 2, ALLOCATED_WHOLE_FROM_BYTES));
}

const NO_BYTES = Buffer.alloc(0);

/** Memory for bytes that are dropped soon. Not for a request's body, which may be kept for an hour. */
export function shortLivedMemory(bytes: number): Buffer {
  return bytes < LARGE_MEMORY_FROM_BYTES ? shortMemory(bytes) : largeMemory.take(bytes);
}

export class BodyCollector {
  readonly #bytesMax: number;
  readonly #allocate: (bytes: number) => Buffer;
  /** The bytes so far. Changed only here. */
  length = 0;
  #memory: Buffer = NO_BYTES;

  /** @param bytesMax the bound of the body, which the owner enforces. @param allocate may take from `largeMemory`, as `bodyMemory` does. */
  constructor(bytesMax: number, allocate: (bytes: number) => Buffer = (bytes) => Buffer.allocUnsafe(bytes)) {
    this.#bytesMax = bytesMax;
    this.#allocate = allocate;
  }

  /** The bytes so far, valid until more are added. */
  get bytes(): Buffer {
    return this.length === this.#memory.length ? this.#memory : this.#memory.subarray(0, this.length);
  }

  /**
   * Appends a copy. @param bodyBytes the size of the whole body, if known; otherwise any smaller number, or `NaN`.
   * @param isCounted whether the owner counts the whole body in a share already. If not, memory for the rest of a large body is allocated
   *   only when its second piece comes.
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

  /** Drops the bytes, and gives their memory back: nobody may use them any more. */
  discard(): void {
    largeMemory.giveBack(this.#memory);
    this.clear();
  }

  #grow(filledBytes: number, bodyBytes: number, isCounted: boolean): void {
    const before = this.#memory;
    this.#memory = this.#allocate(
      filledBytes === 0 ? this.#firstAllocationBytes(bodyBytes, isCounted) : this.#laterAllocationBytes(bodyBytes),
    );
    before.copy(this.#memory, 0, 0, filledBytes);
    largeMemory.giveBack(before);
  }

  /** How much to allocate for the first piece: not the rest of a large body, if it is not counted, since its sender may never send it. */
  #firstAllocationBytes(bodyBytes: number, isCounted: boolean): number {
    const isBelieved = isCounted || bodyBytes < LARGE_MEMORY_FROM_BYTES;
    return isBelieved ? Math.max(this.length, Math.min(bodyBytes, BODY_AHEAD_BYTES_MAX)) : this.length;
  }

  #laterAllocationBytes(bodyBytes: number): number {
    const announcedBytes = Math.min(bodyBytes, this.#bytesMax);
    if (announcedBytes <= this.length) return grownBytes(this.#memory.length, this.length, this.#bytesMax);
    return this.length > BODY_AHEAD_BYTES_MAX ? announcedBytes : Math.min(announcedBytes, BODY_AHEAD_BYTES_MAX);
  }
}
