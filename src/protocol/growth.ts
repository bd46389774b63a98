// The growth of the memory in which a message of unknown length is assembled. Hot path where messages are large.
import { limits } from '../shared/limits.js';

/** From this size on, the rest is reserved at once: unwritten memory is not backed by pages, and copying costs more. */
const RESERVED_FROM_BYTES = 4 * limits.bodyReservedBytesMax;

/**
 * How much memory to allocate when the present memory is too small. Never more than 16 MiB is copied over, which takes some milliseconds.
 * @param bytesMax of the whole message.
 */
export function grownBytes(presentBytes: number, neededBytes: number, bytesMax: number): number {
  if (neededBytes > RESERVED_FROM_BYTES) return Math.max(neededBytes, bytesMax);
  return Math.max(neededBytes, Math.min(presentBytes * 2, RESERVED_FROM_BYTES));
}
