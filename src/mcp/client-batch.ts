// The messages that one POST carries in an array, which only MCP 2025-03-26 and earlier allow. Cold path.
import { limits } from '../shared/index.js';
import type { JsonScanner } from '../bytes/index.js';

/** The offsets of each member in the bytes of the array, in order. */
export interface ClientBatch {
  readonly kind: 'batch';
  /** At most one more than the bound, which shows that there are too many. */
  readonly members: readonly { readonly start: number; readonly end: number }[];
}

/** @param tape the tape of a scanned array. */
export function clientBatchIn(tape: JsonScanner): ClientBatch {
  const members: { start: number; end: number }[] = [];
  const past = tape.next(0);
  for (let node = 1; node < past && members.length <= limits.batchMembersMax; node = tape.next(node)) {
    members.push({ start: tape.start(node), end: tape.end(node) });
  }
  return { kind: 'batch', members };
}
