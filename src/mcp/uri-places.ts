// Finds resource URIs in a backend's response, and task ids in its messages, only at the places that MCP defines. Most
// messages contain none, which one native search tells. The others are scanned once more, and only what leads to such a place is recorded.
import { Buffer } from 'node:buffer';
import { limits } from '../shared/index.js';
import {
  isKey,
  isStringEqual,
  endOfPrefix,
  stringValue,
  JsonScanner,
  jsonKind,
  type NodeFilter,
} from '../bytes/index.js';

/** Recorded values of a large answer on the way to resource URIs: content blocks and their members. Beyond that, fault `answer-invalid`. */
export const URI_NODES_MAX = 32_768;

/** A scheme, and something without spaces. */
const URI = /^[A-Za-z][A-Za-z0-9+.-]*:\S+$/;

/**
 * Places of a URI: in the content of a tool's result, in a prompt's messages, in the contents of a resource, in an error about a resource,
 * in the content of a task's result. In other errors MCP has no URI: their `data` is the backend's own.
 */
export const uriPlace = { content: 1, messages: 2, contents: 4, error: 8, ofTask: 16 } as const;

/** For each value the start and end of its string token, and its place; in document order. */
export type PlaceSpans = readonly number[];
export const NUMBERS_PER_PLACE = 3;

export const NO_SPANS: PlaceSpans = [];

/** What leads from a value to places. */
interface Step {
  /** The value itself is at this place, if it is a string. */
  readonly place?: number;
  readonly isWanted?: (bytes: Buffer, start: number, end: number) => boolean;
  /** Of an object. Of members with the same name, each is taken: clients differ in which one they read. */
  readonly members?: readonly (readonly [name: string, step: Step])[];
  /** By the object's `type`. */
  readonly ofType?: readonly (readonly [type: string, step: Step])[];
  /** Each element of an array. */
  readonly each?: Step;
}

const BACKSLASH = 0x5c;
const ESCAPE = Buffer.from('\\u00');

const scanner = new JsonScanner();

/** Places of one kind of value in a message, and how to find them. */
export class Places {
  /** Depth of the deepest place. */
  readonly depth: number;
  /** Bytes before a slice that must be searched with it, so that a key cut by the slice's start is not missed. */
  readonly overlap: number;
  /** Names of the members that lead to a place. */
  readonly leading: readonly string[];
  readonly #root: Step;
  readonly #keys: readonly Buffer[];
  readonly #letters: readonly Buffer[];

  /**
   * @param keys one of them ends the last key on the way to each place. A search is quick where their first bytes are rare in texts.
   * @param letters one of them is in every way to write a letter of those keys as an escape.
   */
  constructor(keys: readonly string[], letters: readonly string[], root: Step) {
    this.#root = root;
    this.#keys = keys.map((key) => Buffer.from(key));
    this.#letters = letters.map((letter) => Buffer.from(letter));
    this.overlap = Math.max(...keys.map(({ length }) => length)) - 1;
    this.depth = depthOf(root);
    this.leading = [...new Set(leadingOf(root))];
  }

  /** Whether any such key may be anywhere in the bytes. */
  mayBeIn(bytes: Buffer): boolean {
    if (this.#keys.some((key) => bytes.includes(key))) return true;
    if (!bytes.includes(BACKSLASH) || !bytes.includes(ESCAPE)) return false;
    return this.#letters.some((letter) => bytes.includes(letter));
  }

  /** @param bytes a message that is known to be JSON. @returns `undefined` when it has more values than can be recorded. */
  find(bytes: Buffer): PlaceSpans | undefined {
    if (!this.mayBeIn(bytes)) return NO_SPANS;
    return scanner.scan(bytes, this.depth, leadingFilter(bytes, this.leading)) ? this.in(scanner, bytes) : undefined;
  }

  /** @param tape the tape of a scan that has left out nothing that leads to a place. */
  in(tape: JsonScanner, bytes: Buffer): PlaceSpans {
    const spans: number[] = [];
    collect(tape, bytes, 0, this.#root, spans);
    return spans;
  }
}

function stepsOf({ members = [], ofType = [], each }: Step): readonly Step[] {
  return [...members, ...ofType].map(([, step]) => step).concat(each ?? []);
}

function depthOf(step: Step): number {
  const { members = [], ofType = [], each } = step;
  const below = members.map(([, next]) => next).concat(each ?? []);
  return Math.max(0, ...below.map((next) => 1 + depthOf(next)), ...ofType.map(([, next]) => depthOf(next)));
}

function leadingOf(step: Step): readonly string[] {
  const own = (step.members ?? []).filter(([, { place }]) => place === undefined).map(([name]) => name);
  return [...own, ...stepsOf(step).flatMap(leadingOf)];
}

/** Selects what leads to a place: array elements, and members with these names. */
export function leadingFilter(bytes: Buffer, names: readonly string[]): NodeFilter {
  return {
    wants: (keyStart, keyEnd) => keyStart === -1 || names.some((name) => isKey(bytes, keyStart, keyEnd, name)),
    nodesMax: bytes.length > limits.readAtOnceBytesMax ? URI_NODES_MAX : limits.jsonNodesMax,
  };
}

function collect(tape: JsonScanner, bytes: Buffer, node: number, step: Step, spans: number[]): void {
  const { place, isWanted, members, ofType, each } = step;
  const kind = tape.kind(node);
  if (kind === jsonKind.string && place !== undefined) {
    const [start, end] = [tape.start(node), tape.end(node)];
    if (isWanted?.(bytes, start, end) !== false) spans.push(start, end, place);
  }
  const past = tape.next(node);
  if (kind === jsonKind.array && each !== undefined)
    for (let child = node + 1; child < past; child = tape.next(child)) collect(tape, bytes, child, each, spans);
  if (kind !== jsonKind.object) return;
  const typed = ofType?.find(([type]) => isOfType(tape, bytes, node, type));
  if (typed !== undefined) return collect(tape, bytes, node, typed[1], spans);
  if (members === undefined) return;
  for (let child = node + 1; child < past; child = tape.next(child))
    for (const [name, next] of members)
      if (isKey(bytes, tape.keyStart(child), tape.keyEnd(child), name)) collect(tape, bytes, child, next, spans);
}

function isOfType(tape: JsonScanner, bytes: Buffer, object: number, type: string): boolean {
  const past = tape.next(object);
  for (let node = object + 1; node < past; node = tape.next(node)) {
    if (tape.kind(node) !== jsonKind.string || !isKey(bytes, tape.keyStart(node), tape.keyEnd(node), 'type')) continue;
    if (isStringEqual(bytes, tape.start(node), tape.end(node), type)) return true;
  }
  return false;
}

function block(place: number): Step {
  return {
    ofType: [
      ['resource', { members: [['resource', { members: [['uri', { place }]] }]] }],
      // Web URIs of links are left alone, because clients may fetch them directly.
      ['resource_link', { members: [['uri', { place, isWanted: isOffTheWeb }]] }],
    ],
  };
}

/** The page of an app that shows the result of a tool. */
const PAGE: Step = { place: uriPlace.content };
const MESSAGE = block(uriPlace.messages);
const RESULT: Step = {
  members: [
    ['content', { each: block(uriPlace.content) }],
    ['contents', { each: { members: [['uri', { place: uriPlace.contents }]] } }],
    [
      '_meta',
      {
        members: [
          ['ui', { members: [['resourceUri', PAGE]] }],
          ['ui/resourceUri', PAGE],
        ],
      },
    ],
    ['messages', { each: { members: [['content', { ...MESSAGE, each: MESSAGE }]] } }],
    ['result', { members: [['content', { each: block(uriPlace.ofTask) }]] }],
  ],
};

export const uris = new Places(['"uri"', 'Uri"'], ['\\u0055', '\\u007', '\\u0069'], {
  members: [
    ['result', RESULT],
    ['error', { members: [['data', { members: [['uri', { place: uriPlace.error, isWanted: isUri }]] }]] }],
  ],
});

/** Servers also say there in words what is missing. */
function isUri(bytes: Buffer, start: number, end: number): boolean {
  return end - start <= limits.uriBytesMax && URI.test(stringValue(bytes, start, end));
}

function isOffTheWeb(bytes: Buffer, start: number, end: number): boolean {
  return (
    endOfPrefix(bytes, start, end, 'http:', 'caseless') === -1 &&
    endOfPrefix(bytes, start, end, 'https:', 'caseless') === -1
  );
}

// The places of task ids in a backend's message. Few backends have tasks, and only their messages are searched.

/** The member of `_meta` that says which task a message belongs to. */
export const RELATED_TASK = 'io.modelcontextprotocol/related-task';

/** Places of a task id: the task that a call has become, the task that a message is about, the task that a message belongs to. */
export const taskPlace = { created: 1, own: 2, related: 4 } as const;

function idAt(place: number) {
  return ['taskId', { place }] as const;
}

const ABOUT = [
  idAt(taskPlace.own),
  ['_meta', { members: [[RELATED_TASK, { members: [idAt(taskPlace.related)] }]] }],
] as const;

export const taskIds = new Places(['"taskId"'], ['\\u006', '\\u007', '\\u0049'], {
  members: [
    ['result', { members: [...ABOUT, ['task', { members: [idAt(taskPlace.created)] }]] }],
    ['params', { members: ABOUT }],
  ],
});
