// What has to be cut out of a JSON object or array so that some of its members are gone, and a comma with each. Cold.
import type { JsonScanner } from './json-scanner.js';

/** From `start` up to `end`. */
export interface Cut {
  readonly start: number;
  readonly end: number;
}

/**
 * @param node of an object or an array whose children are on the tape.
 * @param isUnwanted asked once for each child, in order.
 * @returns in order; what is left is JSON, and all of its bytes are as they were.
 */
export function cutsOf(tape: JsonScanner, node: number, isUnwanted: (child: number) => boolean): Cut[] {
  const cuts: Cut[] = [];
  /** The end of the last child that stays, and where those begin that go, of which no other is known to follow. */
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
