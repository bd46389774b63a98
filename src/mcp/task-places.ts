// Finds task ids in a backend's message, only at the places that MCP defines. Few backends have tasks, and only their messages are
// searched: one native search rules out most of those that contain no task id.
import { Buffer } from 'node:buffer';
import { isKey, JsonScanner, jsonKind } from '../bytes/index.js';
import { leadingFilter } from './uri-places.js';

/** The member of `_meta` that says which task a message belongs to. */
export const RELATED_TASK = 'io.modelcontextprotocol/related-task';

/** Places of a task id: the task that a call has become, the task that a message is about, the task that a message belongs to. */
export const taskPlace = { created: 1, own: 2, related: 4 } as const;

/** For each id the start and end of its string token, and its place; in no order. */
export type TaskIdSpans = readonly number[];
export const TASK_ID_SPAN_LENGTH = 3;

export const NO_TASK_IDS: TaskIdSpans = [];

/** The deepest is `{"params":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":…}}}}`. */
const TASK_ID_DEPTH = 4;

/** Names of the members that lead to a place. */
export const TASK_LEADING = ['result', 'params', 'task', '_meta', RELATED_TASK] as const;

const PATHS: readonly { readonly place: number; readonly path: readonly string[] }[] = [
  { place: taskPlace.created, path: ['result', 'task', 'taskId'] },
  { place: taskPlace.own, path: ['result', 'taskId'] },
  { place: taskPlace.related, path: ['result', '_meta', RELATED_TASK, 'taskId'] },
  { place: taskPlace.own, path: ['params', 'taskId'] },
  { place: taskPlace.related, path: ['params', '_meta', RELATED_TASK, 'taskId'] },
];

const KEY = Buffer.from('"taskId"');
const BACKSLASH = 0x5c;
/** Every way to write a letter of `taskId` as an escape contains one of these. */
const ESCAPED_LETTERS = [Buffer.from('\\u006'), Buffer.from('\\u007'), Buffer.from('\\u0049')] as const;

/** How many bytes before a slice must be searched with it, so that a key cut by the slice's start is not missed. */
export const TASK_KEY_OVERLAP = 7;

const scanner = new JsonScanner();

/** Whether a member named `taskId` may be anywhere in the bytes. */
export function mayNameTask(bytes: Buffer): boolean {
  if (bytes.includes(KEY)) return true;
  return bytes.includes(BACKSLASH) && ESCAPED_LETTERS.some((letter) => bytes.includes(letter));
}

/** @param bytes a message that is small enough to be read at once, and known to be JSON. */
export function findTaskIds(bytes: Buffer): TaskIdSpans {
  if (!mayNameTask(bytes) || !scanner.scan(bytes, TASK_ID_DEPTH, leadingFilter(bytes, TASK_LEADING)))
    return NO_TASK_IDS;
  return taskIdsIn(scanner, bytes);
}

/** @param tape the tape of a scan that has left out nothing that leads to a place. */
export function taskIdsIn(tape: JsonScanner, bytes: Buffer): TaskIdSpans {
  const spans: number[] = [];
  for (const { place, path } of PATHS) collect(tape, bytes, 0, path, 0, place, spans);
  return spans;
}

/** Of members with the same name, each is taken: clients differ in which one they read. */
function collect(
  tape: JsonScanner,
  bytes: Buffer,
  node: number,
  path: readonly string[],
  at: number,
  place: number,
  spans: number[],
): void {
  const name = path[at];
  if (name === undefined) {
    if (tape.kind(node) === jsonKind.string) spans.push(tape.start(node), tape.end(node), place);
    return;
  }
  if (tape.kind(node) !== jsonKind.object) return;
  const past = tape.next(node);
  for (let child = node + 1; child < past; child = tape.next(child)) {
    if (isKey(bytes, tape.keyStart(child), tape.keyEnd(child), name))
      collect(tape, bytes, child, path, at + 1, place, spans);
  }
}
