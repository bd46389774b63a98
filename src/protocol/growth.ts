// How memory grows in which a message of an unknown length is put together. Hot where messages are large.
import { limits } from '../shared/limits.js';

/** From so many bytes on the rest is reserved at once: it is not there before it is written to, and copying costs more. */
const RESERVED_FROM_BYTES = 4 * limits.bodyReservedBytesMax;

/**
 * How much memory to take when what there is has become too small. What is copied over is never more than 16 MiB, which
 * takes some milliseconds.
 * @param bytesMax of the whole message.
 */
export function grownBytes(presentBytes: number, neededBytes: number, bytesMax: number): number {
  if (neededBytes > RESERVED_FROM_BYTES) return Math.max(neededBytes, bytesMax);
  return Math.max(neededBytes, Math.min(presentBytes * 2, RESERVED_FROM_BYTES));
}
