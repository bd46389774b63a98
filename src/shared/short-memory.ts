// Memory for answers of a few KiB, which are passed on as they come: pieces of a stretch that many share, as Node.js has it
// for what is smaller. A stretch of its own for each costs ten times as much as what is written into it. Hot.
import { Buffer } from 'node:buffer';
import { limits } from './limits.js';

/** Node.js shares by itself what is smaller. */
const SHARED_BY_NODE_BYTES = Buffer.poolSize >>> 1;

/** Offsets as those of what Node.js shares. */
const ALIGNMENT = 8;

/** What fits into the memory that is lent. */
export const LENT_BYTES_MAX = 14 * 1024;

const lent = Buffer.alloc(LENT_BYTES_MAX);

let stretch = Buffer.alloc(0);
let usedBytes = 0;

/** @returns so many bytes, with anything in them. To keep them for long would keep the memory of many. */
export function shortMemory(bytes: number): Buffer {
  if (bytes < SHARED_BY_NODE_BYTES || bytes > limits.shortMemoryBytesMax) return Buffer.allocUnsafe(bytes);
  if (usedBytes + bytes > stretch.length) {
    stretch = Buffer.allocUnsafeSlow(limits.shortMemoryStretchBytes);
    usedBytes = 0;
  }
  const start = usedBytes;
  usedBytes = (start + bytes + ALIGNMENT - 1) & -ALIGNMENT;
  return stretch.subarray(start, start + bytes);
}

/** @param parts of one message, none of which is copied when it is the only one. */
export function joined(parts: readonly Buffer[]): Buffer {
  const [only] = parts;
  if (only !== undefined && parts.length === 1) return only;
  let length = 0;
  for (const part of parts) length += part.length;
  const whole = shortMemory(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/**
 * For whoever is done with the message when its function returns.
 * @returns valid until the next call; `undefined` when it is more than `LENT_BYTES_MAX`.
 */
export function joinedForNow(parts: readonly Buffer[]): Buffer | undefined {
  let at = 0;
  for (const part of parts) {
    if (at + part.length > LENT_BYTES_MAX) return undefined;
    lent.set(part, at);
    at += part.length;
  }
  return lent.subarray(0, at);
}

export function copied(bytes: Buffer): Buffer {
  const copy = shortMemory(bytes.length);
  copy.set(bytes);
  return copy;
}
