// What the `resultType` of a backend's result says, since MCP 2026-07-28. A result is searched for the word natively, and read only where
// the word is followed by another than the usual one, which may be within something deeper. Warm: of such backends alone.
import { Buffer } from 'node:buffer';
import { limits } from '../shared/limits.js';
import { ABSENT, findMember, isString } from './json-member.js';
import { jsonKind, JsonScanner } from './json-scanner.js';
import { readings, type Reading } from './reading-queue.js';

/** `other`: one that nobody knows, and which makes the result invalid (N06). */
export type ResultType = 'complete' | 'input_required' | 'other';

/** With its quotes: in a string of the result they would be escaped. */
const KEY = Buffer.from('"resultType"');
const COMPLETE = '"complete"';

const scanner = new JsonScanner();

/**
 * @param result a JSON value of any size; it must stay as it is until `done` is called.
 * @param done called once, from within where there is time for it.
 * @returns a reading under way, if it takes longer.
 */
export function readResultType(subject: string, result: Buffer, done: (type: ResultType) => void): Reading | undefined {
  if (!mayBeOther(result)) done('complete');
  else if (result.length <= limits.readAtOnceBytesMax)
    done(typeIn(scanner.scan(result, 1) ? scanner : undefined, result));
  else return readings.readNow(subject, result, 1, (tape) => done(typeIn(tape, result)));
  return undefined;
}

/** Whether the word is there and `"complete"` does not follow it each time. A key that is written with escapes is nobody's. */
function mayBeOther(result: Buffer): boolean {
  let at = result.indexOf(KEY);
  for (let looks = 0; at !== -1; looks++) {
    if (looks >= LOOKS_MAX || !isCompleteBehind(result, at + KEY.length)) return true;
    at = result.indexOf(KEY, at + 1);
  }
  return false;
}

const LOOKS_MAX = 16;

/** Written without white space, as nearly all servers write, or with a blank. */
function isCompleteBehind(result: Buffer, at: number): boolean {
  const text = result.toString('latin1', at, at + COMPLETE.length + 2);
  return text.startsWith(`:${COMPLETE}`) || text === `: ${COMPLETE}`;
}

function typeIn(tape: JsonScanner | undefined, result: Buffer): ResultType {
  if (tape === undefined || tape.kind(0) !== jsonKind.object) return 'other';
  const node = findMember(tape, result, 0, 'resultType');
  if (node === ABSENT) return 'complete';
  if (node < 0 || tape.kind(node) !== jsonKind.string) return 'other';
  if (isString(result, tape.start(node), tape.end(node), 'complete')) return 'complete';
  return isString(result, tape.start(node), tape.end(node), 'input_required') ? 'input_required' : 'other';
}
