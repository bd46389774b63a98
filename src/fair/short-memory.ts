// Memory for answers of a few KiB that are passed on at once: slices of a block that many share, as Node.js does for smaller buffers. A
// separate allocation for each would cost ten times as much as filling it. Hot path.
import { Buffer } from 'node:buffer';
import { KIB } from '../shared/index.js';

/** A short-lived body that shares a block of memory with others. Beyond that, a larger body has its own memory. */
export const SHORT_MEMORY_BYTES_MAX = 16 * KIB;
/** Size of such a shared block. Beyond that, the next body starts another block. */
export const SHORT_MEMORY_STRETCH_BYTES = 64 * KIB;

/** Node.js itself pools smaller buffers. */
const SHARED_BY_NODE_BYTES = Buffer.poolSize >>> 1;

/** The same alignment as in Node.js's pool. */
const ALIGNMENT = 8;

/** The size of the buffer that `joinedForNow` lends. */
export const REUSED_BUFFER_BYTES = 14 * 1024;

const reusedBuffer = Buffer.alloc(REUSED_BUFFER_BYTES);

let stretch = Buffer.alloc(0);
let usedBytes = 0;

/** @returns this many bytes, with arbitrary content. Keeping them for long would keep the memory of many other messages. */
export function shortMemory(bytes: number): Buffer {
  if (bytes < SHARED_BY_NODE_BYTES || bytes > SHORT_MEMORY_BYTES_MAX) return Buffer.allocUnsafe(bytes);
  if (usedBytes + bytes > stretch.length) {
    stretch = Buffer.allocUnsafeSlow(SHORT_MEMORY_STRETCH_BYTES);
    usedBytes = 0;
  }
  const start = usedBytes;
  usedBytes = (start + bytes + ALIGNMENT - 1) & -ALIGNMENT;
  return stretch.subarray(start, start + bytes);
}

/** @param parts of one message. A single part is returned as it is, without a copy. */
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
 * For a caller that is done with the message when its function returns.
 * @returns valid until the next call; `undefined` when it is longer than `REUSED_BUFFER_BYTES`.
 */
export function joinedForNow(parts: readonly Buffer[]): Buffer | undefined {
  let at = 0;
  for (const part of parts) {
    if (at + part.length > REUSED_BUFFER_BYTES) return undefined;
    reusedBuffer.set(part, at);
    at += part.length;
  }
  return reusedBuffer.subarray(0, at);
}

export function copied(bytes: Buffer): Buffer {
  const copy = shortMemory(bytes.length);
  copy.set(bytes);
  return copy;
}
