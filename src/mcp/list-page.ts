// Reads a backend's response to a list request as spans: identifiers change on their way to callers, all other bytes of an item pass
// unchanged. Hot path where lists are long: one pass over the response, no decoding, no object per item.
import { Buffer, isUtf8 } from 'node:buffer';
import { limits } from '../shared/index.js';
import { MEMBER_ABSENT, findMember, isStringEqual, stringValue, JsonScanner, jsonKind } from '../bytes/index.js';
import { answersRequest, messageTape as tape, readBackendMessage, type BackendMessage } from './json-rpc.js';
import type { ListKind } from './list-kinds.js';
import type { Era } from './protocol-versions.js';
import {
  isVisibleTo,
  hasMirrors,
  readMirrors,
  type MirroredParam,
  type PageMirrors,
  type MirroredTool,
} from './tool-mirrors.js';
import { ITEM_DEPTH, withReadableItems } from './readable-items.js';

/**
 * Longest `ttlMs` of a backend's list that is passed on to clients of 2026-07-28; the user config may change sooner. A longer one is
 * reduced to this.
 */
const LIST_TTL_MS_MAX = 3_600_000;
/** Tools left out for invalid headers that a log line names, per page. Further ones are not named. */
export const INVALID_MIRRORS_LOGGED_MAX = 20;

export interface ListPage {
  /** The message, as received or repaired (readable-items.ts). */
  readonly bytes: Buffer;
  /** A row of `SPAN_LENGTH` offsets for each item, see `span`. */
  readonly spans: Int32Array;
  /** Whether other requests use the page, too: then its memory must not be transferred to a thread. */
  readonly isShared?: true;
}

/**
 * Indexes in an item's row of offsets. The item includes its braces, strings their quotes; ends are exclusive, and -1 is absent. The key
 * identifies the item in requests, and may be its name. From `pageUris` on are the spans of the URIs of a tool's pages for MCP Apps.
 */
export const span = {
  start: 0,
  keyStart: 1,
  keyEnd: 2,
  end: 3,
  nameStart: 4,
  nameEnd: 5,
  pageUris: 6,
} as const;
export const SPAN_LENGTH = 12;

/** A read answer. `nextCursor`: `''` is a cursor (N10), `undefined` means the last page. `code`: `undefined` when it is no number. */
export type ListAnswer =
  | {
      readonly kind: 'page';
      readonly page: ListPage;
      /** The request's id in the page's bytes. */
      readonly idStart: number;
      readonly idEnd: number;
      readonly nextCursor: string | undefined;
      /** Whether the result is complete: not if `resultType` says otherwise (N06). */
      readonly isComplete: boolean;
      /** How long the page may be cached (M19); 0 if the backend does not say. */
      readonly ttlMs: number;
      /** Present when a tool of the list page has `x-mcp-header`, or names a page for MCP Apps, or items were repaired. */
      readonly mirrors: PageMirrors | undefined;
    }
  | { readonly kind: 'error'; readonly code: number | undefined }
  | { readonly kind: 'invalid' };

/** The backend's era; `bridged` if the backend is modern and the client has a session. */
export type ListEra = Era | 'bridged';

/** The depth of an item: `{"result":{"tools":[…]}}`. */
const LISTED_DEPTH = 3;
const ANSWER_DEPTH = LISTED_DEPTH + ITEM_DEPTH;
/** For a page with too many values for the tape, or a repaired page: only an item's own members are recorded. */
const CROWDED_ANSWER_DEPTH = LISTED_DEPTH + 1;
/** The depth of a tool's `_meta`, which is scanned separately: `{"ui":{"resourceUri":…}}`. */
const META_DEPTH = 2;

/** The most bytes of an error code, or of a `ttlMs`: more than any real one has. */
const NUMBER_BYTES_MAX = 32;

const INVALID: ListAnswer = { kind: 'invalid' };

const metaTape = new JsonScanner();

/**
 * Reads an answer. @param id of the request, as JSON.
 * @param era the backend's. In the modern era, tools with an invalid `x-mcp-header` are left out (N03); to legacy servers it means nothing.
 * @returns `invalid` when the message does not answer the request, or its list has an element that is not an object with exactly one key.
 */
export function readListAnswer(bytes: Buffer, id: Buffer, kind: ListKind, era: ListEra = 'legacy'): ListAnswer {
  const whole = readBackendMessage(bytes, ANSWER_DEPTH);
  const message = whole ?? readBackendMessage(bytes, CROWDED_ANSWER_DEPTH);
  if (message === undefined && !isUtf8(bytes)) return readListAnswer(Buffer.from(bytes.toString()), id, kind, era);
  if (message === undefined || answersRequest(bytes, message, id, 0, id.length) === 'no') return INVALID;
  return message.isError ? readError(bytes) : readPage(bytes, message, kind, era, whole === undefined);
}

function readError(bytes: Buffer): ListAnswer {
  const code = findMember(tape, bytes, findMember(tape, bytes, 0, 'error'), 'code');
  const isNumber = code >= 0 && tape.kind(code) === jsonKind.number && nodeByteLength(code) <= NUMBER_BYTES_MAX;
  return {
    kind: 'error',
    code: isNumber ? Number(bytes.toString('latin1', tape.start(code), tape.end(code))) : undefined,
  };
}

function readPage(
  bytes: Buffer,
  { idStart, idEnd }: BackendMessage,
  kind: ListKind,
  era: ListEra,
  isCrowded: boolean,
  isRepaired = false,
): ListAnswer {
  const result = findMember(tape, bytes, 0, 'result');
  if (tape.kind(result) !== jsonKind.object) return INVALID;
  const list = findMember(tape, bytes, result, kind.member);
  const cursor = findMember(tape, bytes, result, 'nextCursor');
  if (list < 0 || tape.kind(list) !== jsonKind.array || !isCursor(cursor)) return INVALID;
  const repaired = isRepaired ? undefined : withReadableItems(bytes, tape, list, kind, era === 'modern', isCrowded);
  if (repaired !== undefined) {
    const again = readBackendMessage(repaired, CROWDED_ANSWER_DEPTH);
    // With the added members, the page may have too many values.
    return again === undefined ? INVALID : readPage(repaired, again, kind, era, false, true);
  }
  const isComplete = isCompleteType(bytes, findMember(tape, bytes, result, 'resultType'));
  const ttlMs = ttlMsIn(bytes, findMember(tape, bytes, result, 'ttlMs'));
  const spans = readSpans(bytes, list, kind);
  if (spans === undefined) return INVALID;
  const isLast = cursor === MEMBER_ABSENT || tape.kind(cursor) === jsonKind.null;
  const nextCursor = isLast ? undefined : stringValue(bytes, tape.start(cursor), tape.end(cursor));
  const appNames = appNamesOn(bytes, spans);
  const read = { kind: 'page', idStart, idEnd, nextCursor, isComplete, ttlMs } as const;
  if (kind.name !== 'tools' || !hasMirrors(bytes)) {
    const mirrors = appNames.length === 0 && !isRepaired ? undefined : { tools: [], invalid: [], appNames, isRepaired };
    return { ...read, page: { bytes, spans }, mirrors };
  }
  const { listedSpans, mirrors } = mirrorsOn(bytes, spans, era !== 'legacy');
  return { ...read, page: { bytes, spans: listedSpans }, mirrors: { ...mirrors, appNames, isRepaired } };
}

/** Reads the mirrored parameters on a page. @returns them, and the rows of the tools that stay listed. */
function mirrorsOn(bytes: Buffer, spans: Int32Array, isModern: boolean) {
  const listedSpans: number[] = [];
  const tools: MirroredTool[] = [];
  const invalid: string[] = [];
  for (let row = 0; row < spans.length; row += SPAN_LENGTH) {
    const item = bytes.subarray(spans[row + span.start], spans[row + span.end]);
    const params = hasMirrors(item) ? readMirrors(item) : NO_PARAMS;
    const isLeftOut = typeof params === 'string' && isModern;
    if (!isLeftOut) for (let at = row; at < row + SPAN_LENGTH; at++) listedSpans.push(spans[at]!);
    if (params?.length === 0) continue;
    const name = stringValue(bytes, spans[row + span.keyStart]!, spans[row + span.keyEnd]!);
    if (typeof params !== 'string') tools.push([name, params]);
    else if (isLeftOut && invalid.length < INVALID_MIRRORS_LOGGED_MAX) invalid.push(`${name}: ${params}`);
  }
  return { listedSpans: Int32Array.from(listedSpans), mirrors: { tools, invalid } };
}

const NO_PARAMS: readonly MirroredParam[] = [];

/**
 * The names that apps use: the URIs of the pages that tools name, and the bare names of the tools that apps may call. Empty where no tool
 * names a page: such a server has no apps. (Few servers declare the extension.)
 */
function appNamesOn(bytes: Buffer, spans: Int32Array): readonly string[] {
  const names: string[] = [];
  for (let row = 0; row < spans.length; row += SPAN_LENGTH) {
    for (let at = row + span.pageUris; at < row + SPAN_LENGTH; at += 2)
      if (spans[at] !== MEMBER_ABSENT) names.push(stringValue(bytes, spans[at]!, spans[at + 1]!));
  }
  if (names.length === 0) return names;
  for (let row = 0; row < spans.length; row += SPAN_LENGTH) {
    const item = bytes.subarray(spans[row + span.start], spans[row + span.end]);
    if (isVisibleTo('app', item))
      names.push(stringValue(bytes, spans[row + span.keyStart]!, spans[row + span.keyEnd]!));
  }
  return names;
}

function ttlMsIn(bytes: Buffer, node: number): number {
  if (node < 0 || tape.kind(node) !== jsonKind.number || nodeByteLength(node) > NUMBER_BYTES_MAX) return 0;
  const ttlMs = Math.floor(Number(bytes.toString('latin1', tape.start(node), tape.end(node))));
  return Math.min(Math.max(0, ttlMs), LIST_TTL_MS_MAX);
}

function isCompleteType(bytes: Buffer, type: number): boolean {
  return type === MEMBER_ABSENT || (isText(type) && isStringEqual(bytes, tape.start(type), tape.end(type), 'complete'));
}

function readSpans(bytes: Buffer, list: number, kind: ListKind): Int32Array | undefined {
  const spans: number[] = [];
  const subtreeEnd = tape.next(list);
  const keyBytesMax = kind.isNamed ? limits.toolNameBytesMax : limits.uriBytesMax;
  for (let node = list + 1; node < subtreeEnd; node = tape.next(node)) {
    const key = tape.kind(node) === jsonKind.object ? findMember(tape, bytes, node, kind.key) : MEMBER_ABSENT;
    if (!isText(key)) return undefined;
    if (nodeByteLength(key) - 2 > keyBytesMax) continue;
    spans.push(tape.start(node), tape.start(key), tape.end(key), tape.end(node));
    const name = kind.key === 'name' ? key : findMember(tape, bytes, node, 'name');
    if (isText(name)) spans.push(tape.start(name), tape.end(name));
    else spans.push(MEMBER_ABSENT, MEMBER_ABSENT);
    pushPageUriSpans(spans, bytes, kind.name === 'tools' ? findMember(tape, bytes, node, '_meta') : MEMBER_ABSENT);
  }
  return Int32Array.from(spans);
}

/** Adds the three spans of a tool's page URIs; nothing else of `_meta` is recorded. */
function pushPageUriSpans(spans: number[], bytes: Buffer, meta: number): void {
  if (meta < 0 || tape.kind(meta) !== jsonKind.object) {
    spans.push(MEMBER_ABSENT, MEMBER_ABSENT, MEMBER_ABSENT, MEMBER_ABSENT, MEMBER_ABSENT, MEMBER_ABSENT);
    return;
  }
  const offset = tape.start(meta);
  const metaBytes = bytes.subarray(offset, tape.end(meta));
  // The text was scanned before, so the scan fails only when there are too many values.
  const isRead = metaTape.scan(metaBytes, META_DEPTH);
  const ui = isRead ? findMember(metaTape, metaBytes, 0, 'ui') : MEMBER_ABSENT;
  const link =
    ui >= 0 && metaTape.kind(ui) === jsonKind.object ? findMember(metaTape, metaBytes, ui, PAGE_KEY) : MEMBER_ABSENT;
  pushPageUriSpan(spans, offset, link);
  for (const name of FLAT_PAGE_KEYS)
    pushPageUriSpan(spans, offset, isRead ? findMember(metaTape, metaBytes, 0, name) : MEMBER_ABSENT);
}

function pushPageUriSpan(spans: number[], offset: number, node: number): void {
  if (node >= 0 && metaTape.kind(node) === jsonKind.string)
    spans.push(offset + metaTape.start(node), offset + metaTape.end(node));
  else spans.push(MEMBER_ABSENT, MEMBER_ABSENT);
}

const PAGE_KEY = 'resourceUri';
/** The members with a page's URI in the first version of MCP Apps, and in its predecessor. */
const FLAT_PAGE_KEYS = ['ui/resourceUri', 'openai/outputTemplate'] as const;

function isText(node: number): boolean {
  return node >= 0 && tape.kind(node) === jsonKind.string;
}

function isCursor(node: number): boolean {
  if (node < 0) return node === MEMBER_ABSENT;
  const kind = tape.kind(node);
  return (kind === jsonKind.string && nodeByteLength(node) - 2 <= limits.cursorBytesMax) || kind === jsonKind.null;
}

function nodeByteLength(node: number): number {
  return tape.end(node) - tape.start(node);
}
