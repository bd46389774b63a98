// The growth of the memory in which a message of unknown length is assembled. Hot path where messages are large.
import { MIB } from '../shared/limits/units.js';

/** Memory reserved in advance for a body whose head announces its length. Beyond it, the rest is reserved once that much has arrived. */
export const BODY_RESERVED_BYTES_MAX = 4 * MIB;

/** From this size on, the rest is reserved at once: unwritten memory is not backed by pages, and copying costs more. */
const RESERVED_FROM_BYTES = 4 * BODY_RESERVED_BYTES_MAX;

/**
 * How much memory to allocate when the present memory is too small. Never more than 16 MiB is copied over, which takes some milliseconds.
 * @param bytesMax of the whole message.
 */
export function grownBytes(presentBytes: number, neededBytes: number, bytesMax: number): number {
  if (neededBytes > RESERVED_FROM_BYTES) return Math.max(neededBytes, bytesMax);
  return Math.max(neededBytes, Math.min(presentBytes * 2, RESERVED_FROM_BYTES));
}
