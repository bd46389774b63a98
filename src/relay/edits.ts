// Some bytes in place of others, in a message whose other bytes stay where they are, and are not copied.
import type { Insertion } from './uris.js';

export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly putIn: Buffer;
}

export function insertion({ at, putIn }: Insertion): Edit {
  return { start: at, end: at, putIn };
}

/** @param edits in any order; no two of them overlap. @returns the parts of the message that comes of them. */
export function partsOf(bytes: Buffer, edits: readonly Edit[]): Buffer[] {
  const parts: Buffer[] = [];
  let at = 0;
  for (const { start, end, putIn } of [...edits].sort((one, other) => one.start - other.start)) {
    parts.push(bytes.subarray(at, start), putIn);
    at = end;
  }
  parts.push(bytes.subarray(at));
  return parts;
}
