// Computes the cuts that remove some members of a JSON object or array, each together with a comma. Cold path.
import type { JsonScanner } from './json-scanner.js';

/** From `start` up to `end`. */
export interface Cut {
  readonly start: number;
  readonly end: number;
}

/**
 * @param node an object or array whose children are on the tape.
 * @param isUnwanted called once for each child, in order.
 * @returns the cuts, in order; the remainder is valid JSON with its bytes unchanged.
 */
export function cutsOf(tape: JsonScanner, node: number, isUnwanted: (child: number) => boolean): Cut[] {
  const cuts: Cut[] = [];
  /** The end of the last child kept, and the start of the latest run of unwanted children while no kept child follows it. */
  let keptEnd = -1;
  let unwantedStart = -1;
  let end = -1;
  const past = tape.next(node);
  for (let child = node + 1; child < past; child = tape.next(child)) {
    const start = beginningOf(tape, child);
    if (isUnwanted(child)) {
      if (unwantedStart === -1) unwantedStart = start;
    } else {
      if (unwantedStart !== -1) cuts.push({ start: unwantedStart, end: start });
      unwantedStart = -1;
      keptEnd = tape.end(child);
    }
    end = tape.end(child);
  }
  if (unwantedStart !== -1) cuts.push({ start: keptEnd === -1 ? unwantedStart : keptEnd, end });
  return cuts;
}

/** A member begins with the quote of its key. */
function beginningOf(tape: JsonScanner, child: number): number {
  const keyStart = tape.keyStart(child);
  return keyStart === -1 ? tape.start(child) : keyStart - 1;
}
