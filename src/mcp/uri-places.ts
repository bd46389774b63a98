// Finds resource URIs in a backend's response, only at the places that MCP defines. Most responses contain none, which one native search
// tells. The others are scanned once more, and only what leads to such a place is recorded.
import { Buffer } from 'node:buffer';
import { limits } from '../shared/index.js';
import { isKey, isString, prefixEnd, stringValue, JsonScanner, jsonKind, type NodeFilter } from '../bytes/index.js';

/** Recorded values of a large answer on the way to resource URIs: content blocks and their members. Beyond it, fault `answer-invalid`. */
export const URI_NODES_MAX = 32_768;

/**
 * Places of a URI: in the content of a tool's result, in a prompt's messages, in the contents of a resource, in an error about a resource,
 * in the content of a task's result. In other errors MCP has no URI: their `data` is the backend's own.
 */
export const uriPlace = { content: 1, messages: 2, contents: 4, error: 8, ofTask: 16 } as const;

/** For each URI the start and end of its string token, and its place; in document order. */
export type UriSpans = readonly number[];
export const URI_SPAN_LENGTH = 3;

export const NO_URIS: UriSpans = [];

/** The deepest is `{"result":{"messages":[{"content":[{"resource":{"uri":…}}]}]}}`. */
export const URI_DEPTH = 7;

/** How both `uri` and `resourceUri` end. */
const URI_KEY = Buffer.from('ri"');
/** A scheme, and something without spaces. */
const URI = /^[A-Za-z][A-Za-z0-9+.-]*:\S+$/;
const BACKSLASH = 0x5c;
const ESCAPE = Buffer.from('\\u00');
/** Every way to write a letter of `uri` as an escape contains one of these. */
const ESCAPED_LETTERS = [Buffer.from('\\u007'), Buffer.from('\\u0069')] as const;

const scanner = new JsonScanner();

/** How many bytes before a slice must be searched with it, so that a key cut by the slice's start is not missed. */
export const URI_KEY_OVERLAP = 3;

/** Whether a member named `uri`, or with the URI of an app's page, may be anywhere in the bytes. */
export function mayNameUri(bytes: Buffer): boolean {
  if (bytes.includes(URI_KEY)) return true;
  if (!bytes.includes(BACKSLASH) || !bytes.includes(ESCAPE)) return false;
  return ESCAPED_LETTERS.some((letter) => bytes.includes(letter));
}

/** @param bytes a response that is known to be JSON. @returns `undefined` when it has more values than can be recorded. */
export function findUris(bytes: Buffer): UriSpans | undefined {
  if (!mayNameUri(bytes)) return NO_URIS;
  return scanner.scan(bytes, URI_DEPTH, leadingFilter(bytes, URI_LEADING)) ? urisIn(scanner, bytes) : undefined;
}

/** Selects what leads to a place: array elements, and members with these names. */
export function leadingFilter(bytes: Buffer, names: readonly string[]): NodeFilter {
  return {
    wants: (keyStart, keyEnd) => keyStart === -1 || names.some((name) => isKey(bytes, keyStart, keyEnd, name)),
    nodesMax: bytes.length > limits.readAtOnceBytesMax ? URI_NODES_MAX : limits.jsonNodesMax,
  };
}

export const URI_LEADING = [
  'result',
  'content',
  'contents',
  'messages',
  'resource',
  'error',
  'data',
  '_meta',
  'ui',
] as const;

/** @param tape the tape of a scan with that filter. */
export function urisIn(tape: JsonScanner, bytes: Buffer): UriSpans {
  const spans: number[] = [];
  new Walk(tape, bytes, spans).visitMessage();
  return spans;
}

/** Of members with the same name, each is taken: clients differ in which one they read. */
class Walk {
  readonly #tape: JsonScanner;
  readonly #bytes: Buffer;
  readonly #spans: number[];

  constructor(tape: JsonScanner, bytes: Buffer, spans: number[]) {
    this.#tape = tape;
    this.#bytes = bytes;
    this.#spans = spans;
  }

  visitMessage(): void {
    this.#each(0, (node) => {
      if (this.#isNamed(node, 'result')) this.#visitResult(node);
      else if (this.#isNamed(node, 'error'))
        this.#eachNamed(node, 'data', (data) => this.#eachNamed(data, 'uri', (uri) => this.#pushIfUri(uri)));
    });
  }

  #visitResult(result: number): void {
    this.#each(result, (node) => {
      if (this.#isNamed(node, 'content')) this.#eachElement(node, (block) => this.#visitBlock(block, uriPlace.content));
      else if (this.#isNamed(node, 'contents'))
        this.#eachElement(node, (item) => this.#visitOwner(item, uriPlace.contents));
      else if (this.#isNamed(node, '_meta')) this.#visitMeta(node);
      else if (this.#isNamed(node, 'messages')) this.#eachElement(node, (message) => this.#visitPromptMessage(message));
      else if (this.#isNamed(node, 'result'))
        this.#eachNamed(node, 'content', (content) =>
          this.#eachElement(content, (block) => this.#visitBlock(block, uriPlace.ofTask)),
        );
    });
  }

  /** The page of an app that shows the result of a tool. */
  #visitMeta(meta: number): void {
    this.#eachNamed(meta, 'ui', (ui) => this.#eachNamed(ui, 'resourceUri', (uri) => this.#push(uri, uriPlace.content)));
    this.#eachNamed(meta, 'ui/resourceUri', (uri) => this.#push(uri, uriPlace.content));
  }

  #visitPromptMessage(message: number): void {
    this.#eachNamed(message, 'content', (content) => {
      if (this.#tape.kind(content) === jsonKind.array)
        this.#eachElement(content, (block) => this.#visitBlock(block, uriPlace.messages));
      else this.#visitBlock(content, uriPlace.messages);
    });
  }

  #visitBlock(block: number, place: number): void {
    if (this.#isOfType(block, 'resource'))
      this.#eachNamed(block, 'resource', (resource) => this.#visitOwner(resource, place));
    else if (this.#isOfType(block, 'resource_link')) this.#visitOwner(block, place, true);
  }

  /** @param isLink whether it is a resource link, whose web URIs are left alone because clients may fetch them directly. */
  #visitOwner(owner: number, place: number, isLink = false): void {
    this.#eachNamed(owner, 'uri', (uri) => this.#push(uri, place, isLink));
  }

  /** Servers also say there in words what is missing. */
  #pushIfUri(uri: number): void {
    const [start, end] = [this.#tape.start(uri), this.#tape.end(uri)];
    if (end - start > limits.uriBytesMax || this.#tape.kind(uri) !== jsonKind.string) return;
    if (URI.test(stringValue(this.#bytes, start, end))) this.#push(uri, uriPlace.error);
  }

  #push(uri: number, place: number, isLink = false): void {
    const [start, end] = [this.#tape.start(uri), this.#tape.end(uri)];
    if (this.#tape.kind(uri) !== jsonKind.string || (isLink && isOnTheWeb(this.#bytes, start, end))) return;
    this.#spans.push(start, end, place);
  }

  #isOfType(block: number, type: string): boolean {
    let isOfType = false;
    this.#eachNamed(block, 'type', (node) => {
      isOfType ||=
        this.#tape.kind(node) === jsonKind.string &&
        isString(this.#bytes, this.#tape.start(node), this.#tape.end(node), type);
    });
    return isOfType;
  }

  #eachElement(array: number, visit: (element: number) => void): void {
    if (this.#tape.kind(array) === jsonKind.array) this.#children(array, visit);
  }

  #eachNamed(object: number, name: string, visit: (member: number) => void): void {
    this.#each(object, (node) => {
      if (this.#isNamed(node, name)) visit(node);
    });
  }

  #each(object: number, visit: (member: number) => void): void {
    if (this.#tape.kind(object) === jsonKind.object) this.#children(object, visit);
  }

  #children(node: number, visit: (child: number) => void): void {
    const past = this.#tape.next(node);
    for (let child = node + 1; child < past; child = this.#tape.next(child)) visit(child);
  }

  #isNamed(node: number, name: string): boolean {
    return isKey(this.#bytes, this.#tape.keyStart(node), this.#tape.keyEnd(node), name);
  }
}

function isOnTheWeb(bytes: Buffer, start: number, end: number): boolean {
  return (
    prefixEnd(bytes, start, end, 'http:', 'caseless') !== -1 ||
    prefixEnd(bytes, start, end, 'https:', 'caseless') !== -1
  );
}
