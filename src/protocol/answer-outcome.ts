// How a backend's answer came out, for logs and figures. A result is searched for one word, natively, and read only when it
// is there: that costs a small call a tenth of a microsecond. However large a result is and whatever is in it, no more is
// looked at than takes no time. Hot where figures are kept.
import { limits } from '../shared/limits.js';

/** With its quotes: in a string of the result they would be escaped. */
const IS_ERROR = Buffer.from('"isError"');

/** Whether the result of a tool, JSON, says that the tool has failed. Where that takes too long to find out, it does not. */
export function isToolError(bytes: Buffer, start: number, end: number): boolean {
  // It may be a member of something deeper, so what says it is read.
  if (bytes.length <= limits.readAtOnceBytesMax)
    return hasTrueMember(bytes, start, end) && resultSaysError(bytes.toString('utf8', start, end));
  const result = bytes.subarray(start, end);
  if (result.length <= limits.readAtOnceBytesMax) return isToolError(result, 0, result.length);
  // Backends write it before the content or after it. One that is too large to be read for this is believed.
  const edge = limits.toolErrorEdgeBytes;
  return [result.subarray(0, edge), result.subarray(-edge)].some((part) => hasTrueMember(part, 0, part.length));
}

function hasTrueMember(bytes: Buffer, start: number, end: number): boolean {
  let at = bytes.indexOf(IS_ERROR, start);
  for (let looks = 0; looks < limits.toolErrorLooksMax && at !== -1 && at < end; looks++) {
    if (isTrueBehind(bytes, at + IS_ERROR.length, end)) return true;
    at = bytes.indexOf(IS_ERROR, at + 1);
  }
  return false;
}

/** Whether `: true` follows, and no more white space than a person would write. */
function isTrueBehind(bytes: Buffer, from: number, end: number): boolean {
  const last = Math.min(end, from + limits.toolErrorGapBytesMax);
  let isColonSeen = false;
  for (let at = from; at < last; at++) {
    const byte = bytes[at];
    if (byte === T) return isColonSeen;
    if (byte === COLON && !isColonSeen) isColonSeen = true;
    else if (byte !== SPACE && byte !== TAB && byte !== LINE_FEED && byte !== RETURN) return false;
  }
  return false;
}

const T = 0x74;
const COLON = 0x3a;
const SPACE = 0x20;
const TAB = 0x09;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;

/** The code of a JSON-RPC error; 0 when it has none that can be read. */
export function errorCodeIn(bytes: Buffer, start: number, end: number): number {
  if (end - start > limits.readAtOnceBytesMax) return 0;
  const code = memberOf(bytes.toString('utf8', start, end), 'code');
  return typeof code === 'number' && Number.isSafeInteger(code) ? code : 0;
}

function resultSaysError(json: string): boolean {
  return memberOf(json, 'isError') === true;
}

function memberOf(json: string, name: string): unknown {
  const value: unknown = JSON.parse(json);
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}
