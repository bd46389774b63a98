// The outcome of a backend's response, for logs and metrics. A result is first searched natively for `isError`, and parsed only if that is
// found; for a small result the search takes a tenth of a microsecond. Hot path where metrics are kept.
import { limits, KIB } from '../shared/index.js';

/** The most occurrences of `isError` in a result that are examined, for logs and figures. With more, the result counts as no error. */
export const TOOL_ERROR_LOOKS_MAX = 16;
/** The bytes behind the word `isError` within which its `true` must begin. With more white space, the error is not noticed. */
const TOOL_ERROR_GAP_BYTES_MAX = 24;
/** How many bytes at each end of a result above `readAtOnceBytesMax` are searched for `isError`. An error in between is not noticed. */
const TOOL_ERROR_EDGE_BYTES = 4 * KIB;

/** The word with its quotes, which would be escaped inside a string of the result. */
const IS_ERROR = Buffer.from('"isError"');

/** Whether a result is that of a failed tool; false also where it would take too long to find out. */
export function isToolError(bytes: Buffer, start: number, end: number): boolean {
  // The result is parsed, because the member that was found may be nested.
  if (bytes.length <= limits.readAtOnceBytesMax)
    return hasTrueMember(bytes, start, end) && memberOf(bytes.toString('utf8', start, end), 'isError') === true;
  const result = bytes.subarray(start, end);
  if (result.length <= limits.readAtOnceBytesMax) return isToolError(result, 0, result.length);
  // Backends write `isError` before or after the content, so in a result that is too large to be parsed, only its two ends are searched.
  const edge = TOOL_ERROR_EDGE_BYTES;
  return [result.subarray(0, edge), result.subarray(-edge)].some((part) => hasTrueMember(part, 0, part.length));
}

function hasTrueMember(bytes: Buffer, start: number, end: number): boolean {
  let at = bytes.indexOf(IS_ERROR, start);
  for (let count = 0; count < TOOL_ERROR_LOOKS_MAX && at !== -1 && at < end; count++) {
    if (isTrueBehind(bytes, at + IS_ERROR.length, end)) return true;
    at = bytes.indexOf(IS_ERROR, at + 1);
  }
  return false;
}

/** Whether `: true` follows, with limited white space. */
function isTrueBehind(bytes: Buffer, from: number, end: number): boolean {
  const last = Math.min(end, from + TOOL_ERROR_GAP_BYTES_MAX);
  let isColonSeen = false;
  for (let at = from; at < last; at++) {
    const byte = bytes[at];
    if (byte === LETTER_T) return isColonSeen;
    if (byte === COLON && !isColonSeen) isColonSeen = true;
    else if (byte !== SPACE && byte !== TAB && byte !== LINE_FEED && byte !== RETURN) return false;
  }
  return false;
}

const LETTER_T = 0x74;
const COLON = 0x3a;
const SPACE = 0x20;
const TAB = 0x09;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;

/** The code in a JSON-RPC error; 0 when it is no whole number, or the error is too large to be parsed at once. */
export function errorCodeIn(bytes: Buffer, start: number, end: number): number {
  if (end - start > limits.readAtOnceBytesMax) return 0;
  const code = memberOf(bytes.toString('utf8', start, end), 'code');
  return Number.isSafeInteger(code) ? (code as number) : 0;
}

function memberOf(json: string, name: string): unknown {
  const value: unknown = JSON.parse(json);
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}
