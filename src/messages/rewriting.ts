// Changes a caller's request for its backend, and the backend's answer for the caller. Hot path: most answers need no change.
import { addInOrder, insertion, isSameToken, partsOf, type Edit } from '../bytes/index.js';
import type { OutgoingMessage } from '../http-client/index.js';
import {
  NO_SPANS,
  NUMBERS_PER_SPAN,
  uriFinder,
  type BackendMessage,
  type ClientMessage,
  type LocatedSpans,
} from '../mcp/index.js';
import type { IdSpan } from '../upstream/index.js';
import type { NameRoute } from '../user-config/index.js';
import { callersTaskEdits, type TaskOwnership } from './task-ids.js';
import { uriInsertion, uriPrefix, type UriRoute } from './uris.js';

// Requests: `<prefix>-<name>` becomes `<name>`, and a resource's URI becomes the backend's own (decisions 2.6). In a few requests, a task
// id or curated arguments change, too.

const BACKSLASH = 0x5c;

export function bareNameBody(body: Buffer, message: ClientMessage, route: NameRoute): OutgoingMessage {
  const { nameStart, nameEnd } = message;
  const { prefix, bareName } = route;
  if (prefix === undefined || hasEscape(body, nameStart, nameEnd))
    return withStringReplaced(body, nameStart, nameEnd, bareName);
  if (prefix === '') return { body };
  // Unless it has escapes, the token's bytes are the name in UTF-8, with the prefix behind the opening quote.
  const start = nameStart + 1;
  return { body, leftOut: { start, end: start + Buffer.byteLength(prefix) } };
}

export function bareUriBody(body: Buffer, message: ClientMessage, route: UriRoute): OutgoingMessage {
  const { nameStart, nameEnd } = message;
  if (hasEscape(body, nameStart, nameEnd)) return withStringReplaced(body, nameStart, nameEnd, route.bareUri);
  // Everything before the end of the cut is ASCII, so character offsets are byte offsets.
  const start = nameStart + 1;
  return { body, leftOut: { start: start + route.cutStart, end: start + route.cutEnd } };
}

/** Makes one more edit, outside the bytes that are replaced already. The bytes between both are copied. */
export function withEdit(message: OutgoingMessage, edit: Edit | undefined): OutgoingMessage {
  return edit === undefined ? message : withEdits(message, [edit]);
}

/** Makes edits in any order. All edits become one replaced span, within which no later edit may lie. */
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

function withStringReplaced(body: Buffer, start: number, end: number, text: string): OutgoingMessage {
  return { body, leftOut: { start, end }, putIn: Buffer.from(JSON.stringify(text)) };
}

function hasEscape(body: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (body[at] === BACKSLASH) return true;
  return false;
}

// Answers get the caller's own id, and resource URIs and task ids in the caller's form. All other bytes stay, and are not copied.

const NO_EDITS: readonly Edit[] = [];

/**
 * The caller's form of an answer. @param uriName the backend's name in URIs.
 * @param locations the bits of `uriLocation` where URIs are the backend's.
 * @param taskLocations the bits of `taskLocation` where task ids are the backend's.
 * @param tasks `undefined` for a backend without tasks.
 * @param moreEdits further edits.
 * @returns the parts of the caller's answer; `undefined` when nothing changes; `task-unreachable` when the caller's form of a task id would
 * be taken for that of another backend's task.
 */
export function callersParts(
  bytes: Buffer,
  message: BackendMessage,
  id: IdSpan,
  uriName: string,
  locations: number,
  taskLocations = 0,
  tasks?: TaskOwnership,
  moreEdits: readonly Edit[] = NO_EDITS,
): readonly Buffer[] | 'task-unreachable' | undefined {
  const uris = message.uris ?? uriFinder.find(bytes) ?? NO_SPANS;
  const idEdit = callersIdEdit(bytes, message, id);
  const taskEdits = tasks === undefined ? NO_EDITS : callersTaskEdits(bytes, message, taskLocations, tasks);
  if (taskEdits === undefined) return 'task-unreachable';
  if (uris.length === 0 && taskEdits.length === 0 && moreEdits.length === 0) return idEdit && partsOf(bytes, [idEdit]);
  const edits = [...uriEdits(bytes, uris, uriName, locations), ...taskEdits, ...moreEdits];
  if (idEdit !== undefined) edits.push(idEdit);
  return edits.length === 0 ? undefined : partsOf(bytes, edits);
}

/** Restores the bytes of the caller's id, which a backend may write with other digits or escapes (specification 2.4). */
function callersIdEdit(bytes: Buffer, message: BackendMessage, id: IdSpan): Edit | undefined {
  if (isSameToken(bytes, message.idStart, message.idEnd, id.bytes, id.start, id.end)) return undefined;
  // The id is copied, because the memory of the caller's body may be reused before a large answer is sent completely.
  return { start: message.idStart, end: message.idEnd, putIn: Buffer.from(id.bytes.subarray(id.start, id.end)) };
}

function uriEdits(bytes: Buffer, uris: LocatedSpans, uriName: string, locations: number): Edit[] {
  const prefix = uriPrefix(uriName);
  const edits: Edit[] = [];
  for (let row = 0; row < uris.length; row += NUMBERS_PER_SPAN) {
    if ((locations & uris[row + 2]!) === 0) continue;
    edits.push(insertion(uriInsertion(bytes, uris[row]!, uris[row + 1]!, prefix)));
  }
  return edits;
}
