// Task ids as callers see them: `<backend>-<task id>`, like names. The backend's name is added in answers and removed from requests; all
// other bytes stay. Tasks that the client runs for a backend have the client's own ids, which pass unchanged.
import { findStringMember, stringValue, type Edit } from '../bytes/index.js';
import {
  type BackendMessage,
  type ClientMessage,
  taskIdFinder,
  taskLocation,
  NO_SPANS,
  NUMBERS_PER_SPAN,
} from '../mcp/index.js';
import type { CompiledBackend } from '../user-config/index.js';

/** Tells the tasks of one backend from those that the client runs for it. */
export interface TaskOwnership {
  readonly backendName: string;
  isClientsTask(taskId: string): boolean;
  /** Whether requests with the id reach the backend: not if the caller's form of it begins with another backend's longer name. */
  isReachable(taskId: string): boolean;
}

/**
 * Brings a message's task ids into the caller's form.
 * @param locations the bits of `taskLocation` where ids are the backend's.
 * @returns `undefined` when an id, in the caller's form, would be taken for the id of another backend's task.
 */
export function callersTaskEdits(
  bytes: Buffer,
  message: BackendMessage,
  locations: number,
  ownership: TaskOwnership,
): Edit[] | undefined {
  const spans = message.taskIds ?? taskIdFinder.find(bytes) ?? NO_SPANS;
  const edits: Edit[] = [];
  for (let row = 0; row < spans.length; row += NUMBERS_PER_SPAN) {
    const [start = 0, end = 0, location = 0] = spans.slice(row, row + NUMBERS_PER_SPAN);
    if ((locations & location) === 0) continue;
    const taskId = stringValue(bytes, start, end);
    if (location === taskLocation.related && ownership.isClientsTask(taskId)) continue;
    if (!ownership.isReachable(taskId)) return undefined;
    edits.push({ start: start + 1, end: start + 1, putIn: prefixOf(ownership.backendName) });
  }
  return edits;
}

export function belongsToTask(bytes: Buffer, message: BackendMessage): boolean {
  const spans = message.taskIds ?? taskIdFinder.find(bytes) ?? NO_SPANS;
  for (let row = 2; row < spans.length; row += NUMBERS_PER_SPAN) if (spans[row] === taskLocation.related) return true;
  return false;
}

/**
 * Brings the id of the task that a caller's message belongs to into the backend's form; `undefined` when the task is not that backend's.
 * @param ownership `undefined` where the client cannot have given the backend any task id.
 */
export function bareTaskEdit(
  body: Buffer,
  { relatedTaskStart, relatedTaskEnd }: Pick<ClientMessage, 'relatedTaskStart' | 'relatedTaskEnd'>,
  { name }: CompiledBackend,
  ownership?: TaskOwnership,
): Edit | undefined {
  if (relatedTaskStart === -1) return undefined;
  const span = findStringMember(body.subarray(relatedTaskStart, relatedTaskEnd), 'taskId');
  if (span === undefined) return undefined;
  const [start, end] = [relatedTaskStart + span.start, relatedTaskStart + span.end];
  const id = stringValue(body, start, end);
  if (!id.startsWith(`${name}-`) || ownership?.isClientsTask(id) === true) return undefined;
  const prefix = prefixOf(name);
  const idStart = start + 1 + prefix.length;
  if (prefix.compare(body, start + 1, idStart) === 0) return { start: start + 1, end: idStart, putIn: NO_BYTES };
  // The rest of the id is written anew, because the caller has written part of the backend's name with escapes.
  return { start, end, putIn: Buffer.from(JSON.stringify(id.slice(name.length + 1))) };
}

/** The prefix as it is written in a JSON string. */
function prefixOf(backendName: string): Buffer {
  return Buffer.from(JSON.stringify(`${backendName}-`).slice(1, -1));
}

const NO_BYTES = Buffer.alloc(0);
