// Memory for answers of a few KiB that are passed on at once: slices of shared blocks, as Node.js has for smaller buffers. To allocate each
// piece by itself would cost ten times as much as filling it. Hot path.
import { Buffer } from 'node:buffer';
import { KIB } from '../shared/index.js';

/** The most bytes of one slice of a block. A larger body has memory of its own. */
export const SHORT_MEMORY_BYTES_MAX = 16 * KIB;
export const SHORT_MEMORY_BLOCK_BYTES = 64 * KIB;

const NODE_POOL_BYTES_MAX = Buffer.poolSize >>> 1;

const ALIGNMENT = 8;

export const REUSED_BUFFER_BYTES = 14 * 1024;

const reusedBuffer = Buffer.alloc(REUSED_BUFFER_BYTES);

let block = Buffer.alloc(0);
let usedBytes = 0;

/** Memory for bytes that are passed on at once, with arbitrary content. Keeping them keeps a whole block in memory. */
export function shortMemory(bytes: number): Buffer {
  if (bytes < NODE_POOL_BYTES_MAX || bytes > SHORT_MEMORY_BYTES_MAX) return Buffer.allocUnsafe(bytes);
  if (usedBytes + bytes > block.length) {
    block = Buffer.allocUnsafeSlow(SHORT_MEMORY_BLOCK_BYTES);
    usedBytes = 0;
  }
  const start = usedBytes;
  usedBytes = (start + bytes + ALIGNMENT - 1) & -ALIGNMENT;
  return block.subarray(start, start + bytes);
}

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

/** The parts as one message, in a buffer that the next call overwrites; `undefined` if longer than `REUSED_BUFFER_BYTES`. */
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
