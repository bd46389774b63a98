// Reads the `resultType` of a backend's result of MCP 2026-07-28. A result is searched natively for the key, and parsed only if the key,
// which may be nested deeper, has another value than `complete`. Warm path: only for backends of that version.
import { Buffer } from 'node:buffer';
import { limits } from '../shared/index.js';
import {
  MEMBER_ABSENT,
  findMember,
  isStringEqual,
  jsonKind,
  JsonScanner,
  readings,
  type Scan,
} from '../bytes/index.js';

/** `other`: an unknown type, which makes the result invalid (N06). */
type ResultType = 'complete' | 'input_required' | 'other';

/** With quotes, which would be escaped inside a string of the result. */
const KEY = Buffer.from('"resultType"');
const COMPLETE = '"complete"';

const scanner = new JsonScanner();

/**
 * @param result a JSON value of any size; it must not change until `done` is called.
 * @param done called once, synchronously if there is time.
 * @returns the reading in progress of a large result.
 */
export function readResultType(subject: string, result: Buffer, done: (type: ResultType) => void): Scan | undefined {
  if (!mayBeOther(result)) done('complete');
  else if (result.length <= limits.readAtOnceBytesMax)
    done(typeIn(scanner.scan(result, 1) ? scanner : undefined, result));
  else return readings.readNow(subject, result, 1, (tape) => done(typeIn(tape, result)));
  return undefined;
}

/** Whether the key occurs anywhere without `"complete"` after it. A key written with escapes is not found: no server writes one. */
function mayBeOther(result: Buffer): boolean {
  let at = result.indexOf(KEY);
  for (let count = 0; at !== -1; count++) {
    if (count >= KEYS_CHECKED_MAX || !isCompleteBehind(result, at + KEY.length)) return true;
    at = result.indexOf(KEY, at + 1);
  }
  return false;
}

const KEYS_CHECKED_MAX = 16;

/** Whether `"complete"` follows a key, with no white space or one space before it, as nearly all servers write it. */
function isCompleteBehind(result: Buffer, at: number): boolean {
  const text = result.toString('latin1', at, at + COMPLETE.length + 2);
  return text.startsWith(`:${COMPLETE}`) || text === `: ${COMPLETE}`;
}

function typeIn(tape: JsonScanner | undefined, result: Buffer): ResultType {
  if (tape === undefined || tape.kind(0) !== jsonKind.object) return 'other';
  const node = findMember(tape, result, 0, 'resultType');
  if (node === MEMBER_ABSENT) return 'complete';
  if (node < 0 || tape.kind(node) !== jsonKind.string) return 'other';
  if (isStringEqual(result, tape.start(node), tape.end(node), 'complete')) return 'complete';
  return isStringEqual(result, tape.start(node), tape.end(node), 'input_required') ? 'input_required' : 'other';
}
