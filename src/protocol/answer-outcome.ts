// How a backend's answer came out, for logs and figures. A result is searched for one word, natively, and read only when it
// is there: that costs a small call a tenth of a microsecond. Hot where figures are kept.
import { limits } from '../shared/limits.js';

/** With its quotes: in a string of the result they would be escaped. */
const IS_ERROR = Buffer.from('"isError"');
const TRUE = /^"isError"[\t\n\r ]*:[\t\n\r ]*true/;
/** The word, `:` and `true`, and some room for white space. */
const LOOK_BYTES = 32;

/** Whether the result of a tool, JSON, says that the tool has failed. */
export function isToolError(bytes: Buffer, start: number, end: number): boolean {
  for (let at = bytes.indexOf(IS_ERROR, start); at !== -1 && at < end; at = bytes.indexOf(IS_ERROR, at + 1)) {
    if (!TRUE.test(bytes.toString('latin1', at, Math.min(at + LOOK_BYTES, end)))) continue;
    // It may be a member of something deeper. One that is too large to be read for this is believed.
    return end - start > limits.readAtOnceBytesMax || resultSaysError(bytes.toString('utf8', start, end));
  }
  return false;
}

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
