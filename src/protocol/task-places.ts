// Where ids of tasks stand in a message of a backend, at the places that MCP names and nowhere else. Few backends have tasks,
// and only their messages are looked through: one native search tells most of those that name none.
import { Buffer } from 'node:buffer';
import { isKey } from './json-member.js';
import { JsonScanner, jsonKind } from './json-scanner.js';
import { leadingFilter } from './uri-places.js';

/** The member of `_meta` that says which task a message belongs to. */
export const RELATED_TASK = 'io.modelcontextprotocol/related-task';

/** A place: a task that a call has become, the task that a message is about, the task that it belongs to. */
export const taskPlace = { created: 1, own: 2, related: 4 } as const;

/** Of each id where its string token begins and ends, and its place; in no order. */
export type TaskIdSpans = readonly number[];
export const TASK_ID_SPAN_LENGTH = 3;

export const NO_TASK_IDS: TaskIdSpans = [];

/** `{"params":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":…}}}}` is the deepest. */
const TASK_ID_DEPTH = 4;

/** What leads to a place. */
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
/** One of these is in every way to write a letter of `taskId` as an escape. */
const ESCAPED_LETTERS = [Buffer.from('\\u006'), Buffer.from('\\u007'), Buffer.from('\\u0049')] as const;

/** So many bytes before a slice of a text must be looked through with it, to miss nothing that is cut. */
export const TASK_KEY_OVERLAP = 7;

const scanner = new JsonScanner();

/** Whether a member of this name may be anywhere in the bytes. */
export function mayNameTask(bytes: Buffer): boolean {
  if (bytes.includes(KEY)) return true;
  return bytes.includes(BACKSLASH) && ESCAPED_LETTERS.some((letter) => bytes.includes(letter));
}

/** @param bytes of a message that was read at once, and is JSON. */
export function findTaskIds(bytes: Buffer): TaskIdSpans {
  if (!mayNameTask(bytes) || !scanner.scan(bytes, TASK_ID_DEPTH, leadingFilter(bytes, TASK_LEADING)))
    return NO_TASK_IDS;
  return taskIdsIn(scanner, bytes);
}

/** @param tape of a scan that has left out nothing that leads to a place. */
export function taskIdsIn(tape: JsonScanner, bytes: Buffer): TaskIdSpans {
  const spans: number[] = [];
  for (const { place, path } of PATHS) collect(tape, bytes, 0, path, 0, place, spans);
  return spans;
}

/** Of members that are there twice each is taken: clients differ in which they read. */
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
