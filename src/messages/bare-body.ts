// Changes a caller's request for its backend: `<prefix>-<name>` becomes `<name>`, and a resource's URI becomes the backend's own (decisions
// 2.6). In a few requests, a task id or curated arguments are changed as well. Hot path.
import { addInOrder, type Edit } from '../bytes/index.js';
import type { ClientMessage } from '../mcp/index.js';
import type { NameRoute } from '../user-config/index.js';
import type { OutgoingMessage } from '../http-client/index.js';
import type { UriRoute } from './uris.js';

const BACKSLASH = 0x5c;

/** @returns the caller's message with the bare name; all other bytes stay. */
export function bareNameBody(body: Buffer, message: ClientMessage, route: NameRoute): OutgoingMessage {
  const { nameStart, nameEnd } = message;
  const { prefix, bareName } = route;
  if (prefix === undefined || hasEscape(body, nameStart, nameEnd))
    return withString(body, nameStart, nameEnd, bareName);
  if (prefix === '') return { body };
  // Without escapes, the token's bytes are the name in UTF-8, so the prefix follows the opening quote.
  const start = nameStart + 1;
  return { body, leftOut: { start, end: start + Buffer.byteLength(prefix) } };
}

/** Like `bareNameBody`, for the URI of a resource. */
export function bareUriBody(body: Buffer, message: ClientMessage, route: UriRoute): OutgoingMessage {
  const { nameStart, nameEnd } = message;
  if (hasEscape(body, nameStart, nameEnd)) return withString(body, nameStart, nameEnd, route.bareUri);
  // Everything before the cut's end is ASCII, so character offsets are byte offsets.
  const start = nameStart + 1;
  return { body, leftOut: { start: start + route.cutStart, end: start + route.cutEnd } };
}

/** The message with one more edit, outside the bytes that are already replaced. The bytes between both are copied. */
export function withEdit(message: OutgoingMessage, edit: Edit | undefined): OutgoingMessage {
  return edit === undefined ? message : withEdits(message, [edit]);
}

/** Like `withEdit`, for several edits in any order. All become one replaced span, within which no further edit may lie. */
export function withEdits(message: OutgoingMessage, edits: readonly Edit[]): OutgoingMessage {
  if (edits.length === 0) return message;
  const { body, leftOut, putIn = NO_BYTES, requestId, trace, head } = message;
  const ordered: Edit[] = [];
  if (leftOut !== undefined) ordered.push({ start: leftOut.start, end: leftOut.end, putIn });
  for (const edit of edits) addInOrder(ordered, edit);
  const { start } = ordered[0]!;
  const { end } = ordered[ordered.length - 1]!;
  return { body, leftOut: { start, end }, putIn: replacementOf(body, ordered), requestId, trace, head };
}

/** The bytes that replace everything from the first edit to the last. */
function replacementOf(body: Buffer, ordered: readonly Edit[]): Buffer {
  const from = ordered[0]!.start;
  let length = 0;
  let at = from;
  for (const { start, end, putIn } of ordered) {
    length += start - at + putIn.length;
    at = end;
  }
  const bytes = Buffer.allocUnsafe(length);
  let filled = 0;
  at = from;
  for (const { start, end, putIn } of ordered) {
    filled += body.copy(bytes, filled, at, start);
    bytes.set(putIn, filled);
    filled += putIn.length;
    at = end;
  }
  return bytes;
}

const NO_BYTES = Buffer.alloc(0);

function withString(body: Buffer, start: number, end: number, text: string): OutgoingMessage {
  return { body, leftOut: { start, end }, putIn: Buffer.from(JSON.stringify(text)) };
}

function hasEscape(body: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (body[at] === BACKSLASH) return true;
  return false;
}
