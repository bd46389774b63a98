// Finds resource URIs in a backend's response, and task ids in its messages, only where MCP defines them. Most messages contain none, which
// one native search shows. The others are scanned once more, and only the values that lead to such a location are recorded.
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

/** The most JSON values that are recorded to find URIs in a large answer: content blocks and their members. With more, fault `answer-too-large`. */
export const URI_NODES_MAX = 32_768;

/** A text that is a URI: it begins with a scheme and has no spaces. */
const URI = /^[A-Za-z][A-Za-z0-9+.-]*:\S+$/;

/**
 * Where a URI is, as bits: in the content of a tool's result, in a prompt's messages, in the contents of a resource, in an error about a
 * resource, in the content of a task's result.
 */
export const uriLocation = { content: 1, messages: 2, contents: 4, error: 8, ofTask: 16 } as const;

/** Three numbers for each value, in document order: the start and end of its string token, and its location. */
export type LocatedSpans = readonly number[];
export const NUMBERS_PER_SPAN = 3;

export const NO_SPANS: LocatedSpans = [];

interface SearchStep {
  /** The location of the value, if it is a string. */
  readonly location?: number;
  /** Whether a string is a value to find; if absent, every string is. */
  readonly isWanted?: (bytes: Buffer, start: number, end: number) => boolean;
  /** What to search in the members of an object. Of several members with the same name, each is searched: clients differ in which one they read. */
  readonly members?: readonly (readonly [name: string, step: SearchStep])[];
  /** What to search in an object, by its member `type`. */
  readonly ofType?: readonly (readonly [type: string, step: SearchStep])[];
  /** What to search in each element of an array. */
  readonly each?: SearchStep;
}

const BACKSLASH = 0x5c;
const ESCAPE = Buffer.from('\\u00');

const scanner = new JsonScanner();

export class ValueFinder {
  readonly depth: number;
  /** How many bytes before a slice are searched with the slice, so that a key that is cut by the slice's start is found. */
  readonly overlap: number;
  /** The names of the members that lead to a location. */
  readonly containers: readonly string[];
  readonly #root: SearchStep;
  readonly #keys: readonly Buffer[];
  readonly #escapes: readonly Buffer[];

  /**
   * @param keys endings of keys: the last key on the way to each location has one of these. Rare beginnings make the search quick.
   * @param escapes beginnings of escapes: every escape of a letter of these keys has one of them.
   */
  constructor(keys: readonly string[], escapes: readonly string[], root: SearchStep) {
    this.#root = root;
    this.#keys = keys.map((key) => Buffer.from(key));
    this.#escapes = escapes.map((escape) => Buffer.from(escape));
    this.overlap = Math.max(...keys.map(({ length }) => length)) - 1;
    this.depth = depthOf(root);
    this.containers = [...new Set(containersOf(root))];
  }

  /** Whether one of the keys may occur in the bytes, with or without escapes. */
  mayBeIn(bytes: Buffer): boolean {
    for (const key of this.#keys) if (bytes.includes(key)) return true;
    if (!bytes.includes(BACKSLASH) || !bytes.includes(ESCAPE)) return false;
    return this.#escapes.some((escape) => bytes.includes(escape));
  }

  /** Finds the values. @param bytes known to be JSON. @returns `undefined` when there are more values than can be recorded. */
  find(bytes: Buffer): LocatedSpans | undefined {
    if (!this.mayBeIn(bytes)) return NO_SPANS;
    return scanner.scan(bytes, this.depth, filterOf(bytes, this.containers)) ? this.findOn(scanner, bytes) : undefined;
  }

  /** Finds the values on a tape. @param tape has recorded everything that leads to a location. */
  findOn(tape: JsonScanner, bytes: Buffer): LocatedSpans {
    const spans: number[] = [];
    collect(tape, bytes, 0, this.#root, spans);
    return spans;
  }
}

function childStepsOf({ members = [], ofType = [], each }: SearchStep): readonly SearchStep[] {
  return [...members, ...ofType].map(([, step]) => step).concat(each ?? []);
}

function depthOf(step: SearchStep): number {
  const { members = [], ofType = [], each } = step;
  const below = members.map(([, next]) => next).concat(each ?? []);
  return Math.max(0, ...below.map((next) => 1 + depthOf(next)), ...ofType.map(([, next]) => depthOf(next)));
}

function containersOf(step: SearchStep): readonly string[] {
  const own = (step.members ?? []).filter(([, { location }]) => location === undefined).map(([name]) => name);
  return [...own, ...childStepsOf(step).flatMap(containersOf)];
}

/** A filter by which only the contents of elements of arrays, and of members with these names, are recorded. */
export function filterOf(bytes: Buffer, names: readonly string[]): NodeFilter {
  return {
    recordsContentsOf: (keyStart, keyEnd) =>
      keyStart === -1 || names.some((name) => isKey(bytes, keyStart, keyEnd, name)),
    nodesMax: bytes.length > limits.readAtOnceBytesMax ? URI_NODES_MAX : limits.jsonNodesMax,
  };
}

function collect(tape: JsonScanner, bytes: Buffer, node: number, step: SearchStep, spans: number[]): void {
  const { location, isWanted, members, ofType, each } = step;
  const kind = tape.kind(node);
  if (kind === jsonKind.string && location !== undefined) {
    const [start, end] = [tape.start(node), tape.end(node)];
    if (isWanted?.(bytes, start, end) !== false) spans.push(start, end, location);
  }
  const subtreeEnd = tape.next(node);
  if (kind === jsonKind.array && each !== undefined)
    for (let child = node + 1; child < subtreeEnd; child = tape.next(child)) collect(tape, bytes, child, each, spans);
  if (kind !== jsonKind.object) return;
  const byType = ofType?.find(([type]) => isOfType(tape, bytes, node, type));
  if (byType !== undefined) return collect(tape, bytes, node, byType[1], spans);
  if (members === undefined) return;
  for (let child = node + 1; child < subtreeEnd; child = tape.next(child))
    for (const [name, next] of members)
      if (isKey(bytes, tape.keyStart(child), tape.keyEnd(child), name)) collect(tape, bytes, child, next, spans);
}

function isOfType(tape: JsonScanner, bytes: Buffer, object: number, type: string): boolean {
  const subtreeEnd = tape.next(object);
  for (let node = object + 1; node < subtreeEnd; node = tape.next(node)) {
    if (tape.kind(node) !== jsonKind.string || !isKey(bytes, tape.keyStart(node), tape.keyEnd(node), 'type')) continue;
    if (isStringEqual(bytes, tape.start(node), tape.end(node), type)) return true;
  }
  return false;
}

function contentBlockStep(location: number): SearchStep {
  return {
    ofType: [
      ['resource', { members: [['resource', { members: [['uri', { location }]] }]] }],
      // Clients may fetch web URIs directly, so these stay unchanged.
      ['resource_link', { members: [['uri', { location, isWanted: isNonWebUri }]] }],
    ],
  };
}

/** The URI of an app's page that shows the result of a tool. */
const PAGE_URI: SearchStep = { location: uriLocation.content };
const MESSAGE = contentBlockStep(uriLocation.messages);
const RESULT: SearchStep = {
  members: [
    ['content', { each: contentBlockStep(uriLocation.content) }],
    ['contents', { each: { members: [['uri', { location: uriLocation.contents }]] } }],
    [
      '_meta',
      {
        members: [
          ['ui', { members: [['resourceUri', PAGE_URI]] }],
          ['ui/resourceUri', PAGE_URI],
        ],
      },
    ],
    ['messages', { each: { members: [['content', { ...MESSAGE, each: MESSAGE }]] } }],
    ['result', { members: [['content', { each: contentBlockStep(uriLocation.ofTask) }]] }],
  ],
};

export const uriFinder = new ValueFinder(['"uri"', 'Uri"'], ['\\u0055', '\\u007', '\\u0069'], {
  members: [
    ['result', RESULT],
    ['error', { members: [['data', { members: [['uri', { location: uriLocation.error, isWanted: isUri }]] }]] }],
  ],
});

/** Whether a text is a URI. Some servers put a description instead of a URI into an error's `data.uri`. */
function isUri(bytes: Buffer, start: number, end: number): boolean {
  return end - start <= limits.uriBytesMax && URI.test(stringValue(bytes, start, end));
}

function isNonWebUri(bytes: Buffer, start: number, end: number): boolean {
  return (
    endOfPrefix(bytes, start, end, 'http:', 'caseless') === -1 &&
    endOfPrefix(bytes, start, end, 'https:', 'caseless') === -1
  );
}

/** The member of `_meta` with the task that a message belongs to. */
export const RELATED_TASK = 'io.modelcontextprotocol/related-task';

/** Where a task id is, as bits: `created`, the task that a call has become; `own`, that of the message; `related`, in `RELATED_TASK`. */
export const taskLocation = { created: 1, own: 2, related: 4 } as const;

function taskIdMember(location: number) {
  return ['taskId', { location }] as const;
}

const TASK_ID_MEMBERS = [
  taskIdMember(taskLocation.own),
  ['_meta', { members: [[RELATED_TASK, { members: [taskIdMember(taskLocation.related)] }]] }],
] as const;

/** Finds task ids. Few backends have tasks, and only their messages are searched. */
export const taskIdFinder = new ValueFinder(['"taskId"'], ['\\u006', '\\u007', '\\u0049'], {
  members: [
    ['result', { members: [...TASK_ID_MEMBERS, ['task', { members: [taskIdMember(taskLocation.created)] }]] }],
    ['params', { members: TASK_ID_MEMBERS }],
  ],
});
