// Rewrites a backend's answer for its caller: with the caller's own id, and resource URIs and task ids in the caller's form. All other
// bytes stay, and are not copied. Hot path: most answers need no change.
import { insertion, isSameToken, partsOf, type Edit } from '../bytes/index.js';
import { NO_SPANS, NUMBERS_PER_PLACE, uris as uriPlaces, type PlaceSpans, type BackendMessage } from '../mcp/index.js';
import { callersTaskEdits, type TaskOwnership } from './task-ids.js';
import type { IdSpan } from '../upstream/index.js';
import { uriInsertion, uriPrefix } from './uris.js';

const NO_EDITS: readonly Edit[] = [];

/**
 * @param id the caller's id.
 * @param uriName the backend's name in URIs.
 * @param places the bits of `uriPlace` where URIs are the backend's.
 * @param taskPlaces the bits of `taskPlace` where task ids are the backend's.
 * @param tasks `undefined` for a backend without tasks.
 * @param more further edits.
 * @returns the parts of the caller's answer; `undefined` when nothing changes; `task-unreachable` when the caller's form of a task id would
 *   be taken for that of another backend's task.
 */
export function callersParts(
  bytes: Buffer,
  message: BackendMessage,
  id: IdSpan,
  uriName: string,
  places: number,
  taskPlaces = 0,
  tasks?: TaskOwnership,
  more: readonly Edit[] = NO_EDITS,
): readonly Buffer[] | 'task-unreachable' | undefined {
  const uris = message.uris ?? uriPlaces.find(bytes) ?? NO_SPANS;
  const idEdit = callersId(bytes, message, id);
  const taskEdits = tasks === undefined ? NO_EDITS : callersTaskEdits(bytes, message, taskPlaces, tasks);
  if (taskEdits === undefined) return 'task-unreachable';
  if (uris.length === 0 && taskEdits.length === 0 && more.length === 0) return idEdit && partsOf(bytes, [idEdit]);
  const edits = [...uriEdits(bytes, uris, uriName, places), ...taskEdits, ...more];
  if (idEdit !== undefined) edits.push(idEdit);
  return edits.length === 0 ? undefined : partsOf(bytes, edits);
}

/** Restores the bytes of the caller's id, which a backend may write with other digits or escapes (specification 2.4). */
function callersId(bytes: Buffer, message: BackendMessage, id: IdSpan): Edit | undefined {
  if (isSameToken(bytes, message.idStart, message.idEnd, id.bytes, id.start, id.end)) return undefined;
  // Copied, because the memory of the caller's body may be reused before a large answer is sent completely.
  return { start: message.idStart, end: message.idEnd, putIn: Buffer.from(id.bytes.subarray(id.start, id.end)) };
}

function uriEdits(bytes: Buffer, uris: PlaceSpans, uriName: string, places: number): Edit[] {
  const prefix = uriPrefix(uriName);
  const edits: Edit[] = [];
  for (let row = 0; row < uris.length; row += NUMBERS_PER_PLACE) {
    if ((places & uris[row + 2]!) === 0) continue;
    edits.push(insertion(uriInsertion(bytes, uris[row]!, uris[row + 1]!, prefix)));
  }
  return edits;
}
