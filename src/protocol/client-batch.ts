// What one POST carries in an array, as MCP 2025-03-26 has it and no later version. Cold.
import { limits } from '../shared/limits.js';
import type { JsonScanner } from './json-scanner.js';

/** Spans are offsets into its bytes, in order: where each member begins and ends. */
export interface ClientBatch {
  readonly kind: 'batch';
  /** Of those up to the bound, and one more if there are more. */
  readonly members: readonly { readonly start: number; readonly end: number }[];
}

/** @param tape of a scanned array. */
export function clientBatchIn(tape: JsonScanner): ClientBatch {
  const members: { start: number; end: number }[] = [];
  const past = tape.next(0);
  for (let node = 1; node < past && members.length <= limits.batchMembersMax; node = tape.next(node)) {
    members.push({ start: tape.start(node), end: tape.end(node) });
  }
  return { kind: 'batch', members };
}
