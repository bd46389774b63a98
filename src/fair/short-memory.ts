// Memory for answers of a few KiB that are passed on at once: slices of a block that many share, as Node.js does for smaller buffers. An
// allocation for each answer would cost ten times as much as filling it. Hot path.
import { Buffer } from 'node:buffer';
import { KIB } from '../shared/index.js';

/** Bytes of a short-lived body that shares a block of memory with others. A larger body has its own memory. */
export const SHORT_MEMORY_BYTES_MAX = 16 * KIB;
/** Bytes of such a shared block. A body that does not fit starts another block. */
export const SHORT_MEMORY_BLOCK_BYTES = 64 * KIB;

/** Buffers smaller than this share memory in Node.js's own pool. */
const SHARED_BY_NODE_BYTES = Buffer.poolSize >>> 1;

/** The same alignment as in Node.js's pool. */
const ALIGNMENT = 8;

/** The size of the buffer that `joinedForNow` lends. */
export const REUSED_BUFFER_BYTES = 14 * 1024;

const reusedBuffer = Buffer.alloc(REUSED_BUFFER_BYTES);

let block = Buffer.alloc(0);
let usedBytes = 0;

/** @returns this many bytes, with arbitrary content. To keep them for long would keep a whole block in memory. */
export function shortMemory(bytes: number): Buffer {
  if (bytes < SHARED_BY_NODE_BYTES || bytes > SHORT_MEMORY_BYTES_MAX) return Buffer.allocUnsafe(bytes);
  if (usedBytes + bytes > block.length) {
    block = Buffer.allocUnsafeSlow(SHORT_MEMORY_BLOCK_BYTES);
    usedBytes = 0;
  }
  const start = usedBytes;
  usedBytes = (start + bytes + ALIGNMENT - 1) & -ALIGNMENT;
  return block.subarray(start, start + bytes);
}

/** @param parts of one message. A single part is returned as it is, without a copy. */
export function joined(parts: readonly Buffer[]): Buffer {
  const [first] = parts;
  if (first !== undefined && parts.length === 1) return first;
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
 * Joins the parts in one buffer that is used again by the next call.
 * @returns a message that is valid until then; `undefined` when it is longer than `REUSED_BUFFER_BYTES`.
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
