// Reads a backend's response to a list request as spans: the gateway changes identifiers, and passes every other byte of an item on as it
// came. Hot path where lists are long: one pass over the response, no decoding, no object per item. What is done for each item is done in
// steps, as a list may have a hundred thousand.
import type { Buffer } from 'node:buffer';
import { limits } from '../shared/limits.js';
import { KIB, MIB } from '../shared/limits/units.js';
import { ABSENT, findMember, isString, stringValue } from './json-member.js';
import { backendMessageIn, messageTape } from './json-rpc.js';
import { allSteps, type Steps } from './reading-queue.js';
import { sameId } from './request-id.js';
import { JsonScanner, jsonKind } from './json-scanner.js';
import type { ListKind } from './list-kinds.js';
import {
  isVisibleTo,
  hasMirrors,
  MIRRORS_OVERLAP,
  readMirrors,
  type MirroredParam,
  type PageMirrors,
  type ToolMirrors,
} from './tool-mirrors.js';

/**
 * Longest `ttlMs` of a backend's list that is passed on to clients of 2026-07-28; the user config may change sooner. A longer one is
 * reduced to this.
 */
const LIST_TTL_MS_MAX = 3_600_000;
/** Tools that a log line names as left out for invalid headers, per page. Beyond it, further ones are not named. */
export const INVALID_MIRRORS_LOGGED_MAX = 20;

/** One page of a list. */
export interface ListPage {
  /** The message, as it came. */
  readonly bytes: Buffer;
  /** The positions of its items: a row of `SPAN_LENGTH` offsets for each, see `span`. */
  readonly spans: Int32Array;
}

/**
 * The offsets in an item's row. The item includes its braces, strings their quotes; ends are exclusive, and -1 is absent. The key is what
 * requests identify the item by, and may be its name. From `links` on, there are the starts and ends of a tool's URIs of its user interface.
 */
export const span = {
  start: 0,
  keyStart: 1,
  keyEnd: 2,
  end: 3,
  nameStart: 4,
  nameEnd: 5,
  links: 6,
} as const;
export const SPAN_LENGTH = 12;

/**
 * `nextCursor`: `''` is a cursor (N10), `undefined` means the last page. `code`: that of the JSON-RPC error, `undefined` when it is not a
 * number.
 */
export type ListAnswer =
  | {
      readonly kind: 'page';
      readonly page: ListPage;
      readonly nextCursor: string | undefined;
      /** False when `resultType` says that the result is anything but complete (N06). */
      readonly isComplete: boolean;
      /** How long the page may be cached, according to the backend (M19); 0 when it does not say. */
      readonly ttlMs: number;
      /** Present when the page may have tools with parameters that are mirrored in headers. */
      readonly mirrors: PageMirrors | undefined;
    }
  | { readonly kind: 'error'; readonly code: number | undefined }
  | { readonly kind: 'invalid' };

/** The deepest values read are an item's own members: `{"result":{"tools":[{"name":…}]}}`. */
export const LIST_DEPTH = 4;
/** In a tool's `_meta`, which is scanned separately: `{"ui":{"resourceUri":…}}`. */
const META_DEPTH = 2;

/** Longer than any error code. */
const NUMBER_BYTES_MAX = 32;

const INVALID: ListAnswer = { kind: 'invalid' };

const metaTape = new JsonScanner();

/**
 * @param id the id of the request, as JSON.
 * @param isModern whether tools with invalid mirrored headers are left out (N03): to legacy servers the annotation means nothing.
 * @returns `invalid` when it does not answer the request, or contains anything but items that each have one key.
 */
export function readListAnswer(bytes: Buffer, id: Buffer, kind: ListKind, isModern = false): ListAnswer {
  const isJson = messageTape.scan(bytes, LIST_DEPTH);
  return isJson ? allSteps(listAnswerIn(messageTape, bytes, id, kind, isModern)) : INVALID;
}

/** The same for an answer that was scanned. @param tape must stay valid until the last step. */
export function* listAnswerIn(
  tape: JsonScanner,
  bytes: Buffer,
  id: Buffer,
  kind: ListKind,
  isModern: boolean,
): Steps<ListAnswer> {
  const message = backendMessageIn(tape, bytes);
  if (message?.kind !== 'response' || message.idStart === -1) return INVALID;
  if (!sameId(bytes, message.idStart, message.idEnd, id, 0, id.length)) return INVALID;
  return message.isError ? readError(tape, bytes) : yield* readPage(tape, bytes, kind, isModern);
}

function readError(tape: JsonScanner, bytes: Buffer): ListAnswer {
  const code = findMember(tape, bytes, findMember(tape, bytes, 0, 'error'), 'code');
  const isNumber = code >= 0 && tape.kind(code) === jsonKind.number && tokenBytes(tape, code) <= NUMBER_BYTES_MAX;
  return {
    kind: 'error',
    code: isNumber ? Number(bytes.toString('latin1', tape.start(code), tape.end(code))) : undefined,
  };
}

function* readPage(tape: JsonScanner, bytes: Buffer, kind: ListKind, isModern: boolean): Steps<ListAnswer> {
  const result = findMember(tape, bytes, 0, 'result');
  if (tape.kind(result) !== jsonKind.object) return INVALID;
  const list = findMember(tape, bytes, result, kind.member);
  const cursor = findMember(tape, bytes, result, 'nextCursor');
  if (list < 0 || tape.kind(list) !== jsonKind.array || !isCursor(tape, cursor)) return INVALID;
  const isComplete = isCompleteType(tape, bytes, findMember(tape, bytes, result, 'resultType'));
  const ttlMs = ttlIn(tape, bytes, findMember(tape, bytes, result, 'ttlMs'));
  const spans = yield* readSpans(tape, bytes, list, kind);
  if (spans === undefined) return INVALID;
  const isLast = cursor === ABSENT || tape.kind(cursor) === jsonKind.null;
  const nextCursor = isLast ? undefined : stringValue(bytes, tape.start(cursor), tape.end(cursor));
  const apps = kind.name === 'tools' ? yield* appNamesOn(bytes, spans) : [];
  if (kind.name !== 'tools' || !(yield* includesMirrors(bytes))) {
    const mirrors = apps.length === 0 ? undefined : { tools: [], invalid: [], apps };
    return { kind: 'page', page: { bytes, spans }, nextCursor, isComplete, ttlMs, mirrors };
  }
  const { left, mirrors } = yield* mirrorsOn(bytes, spans, isModern);
  return { kind: 'page', page: { bytes, spans: left }, nextCursor, isComplete, ttlMs, mirrors: { ...mirrors, apps } };
}

/** Searches natively, which takes a millisecond for some MiB. */
function* includesMirrors(bytes: Buffer): Steps<boolean> {
  for (let at = 0; at < bytes.length; at += SEARCHED_BYTES_EACH) {
    if (at > 0) yield;
    if (hasMirrors(bytes.subarray(at, at + SEARCHED_BYTES_EACH + MIRRORS_OVERLAP))) return true;
  }
  return false;
}

const SEARCHED_BYTES_EACH = MIB;

/** @returns the rows of the tools that stay listed, and their mirrored headers. */
function* mirrorsOn(
  bytes: Buffer,
  spans: Int32Array,
  isModern: boolean,
): Steps<{ readonly left: Int32Array; readonly mirrors: PageMirrors }> {
  const left: number[] = [];
  const tools: ToolMirrors[] = [];
  const invalid: string[] = [];
  for (let row = 0; row < spans.length; row += SPAN_LENGTH) {
    if (isStepOver(row)) yield;
    const item = bytes.subarray(spans[row + span.start], spans[row + span.end]);
    const hasSome = yield* includesMirrors(item);
    const params = hasSome ? readMirrors(item) : NO_PARAMS;
    const isLeftOut = typeof params === 'string' && isModern;
    if (!isLeftOut) for (let at = row; at < row + SPAN_LENGTH; at++) left.push(spans[at]!);
    if (!hasSome) continue;
    yield;
    if (params?.length === 0) continue;
    const name = stringValue(bytes, spans[row + span.keyStart]!, spans[row + span.keyEnd]!);
    if (typeof params !== 'string') tools.push([name, params]);
    else if (isLeftOut && invalid.length < INVALID_MIRRORS_LOGGED_MAX) invalid.push(`${name}: ${params}`);
  }
  return { left: Int32Array.from(left), mirrors: { tools, invalid } };
}

/** Whether so many items were looked at that other work should have its turn. @param row of the next item. */
export function isStepOver(row: number): boolean {
  return row % (ITEMS_A_STEP * SPAN_LENGTH) === 0 && row > 0;
}

/** Items looked at in one step: they take some tenths of a millisecond. */
export const ITEMS_A_STEP = 512;
/** What is parsed or searched in one step; and what an item counts for besides its bytes, if these are looked at. */
const STEP_BYTES = 64 * KIB;
const ITEM_EFFORT_BYTES = STEP_BYTES / ITEMS_A_STEP;

const NO_PARAMS: readonly MirroredParam[] = [];

/**
 * What the pages of apps call their server by: its own names of tools, and the URIs that these name. Nothing where no tool has a page:
 * servers with apps are known by their lists, as few declare the extension. @param spans of a list of tools.
 */
function* appNamesOn(bytes: Buffer, spans: Int32Array): Steps<readonly string[]> {
  const names: string[] = [];
  for (let row = 0; row < spans.length; row += SPAN_LENGTH) {
    if (isStepOver(row)) yield;
    for (let at = row + span.links; at < row + SPAN_LENGTH; at += 2)
      if (spans[at] !== ABSENT) names.push(stringValue(bytes, spans[at]!, spans[at + 1]!));
  }
  if (names.length === 0) return names;
  let effort = 0;
  for (let row = 0; row < spans.length; row += SPAN_LENGTH) {
    const item = bytes.subarray(spans[row + span.start], spans[row + span.end]);
    effort += ITEM_EFFORT_BYTES + item.length;
    if (effort >= STEP_BYTES) {
      yield;
      effort = 0;
    }
    if (isVisibleTo('app', item))
      names.push(stringValue(bytes, spans[row + span.keyStart]!, spans[row + span.keyEnd]!));
  }
  return names;
}

function ttlIn(tape: JsonScanner, bytes: Buffer, node: number): number {
  if (node < 0 || tape.kind(node) !== jsonKind.number || tokenBytes(tape, node) > NUMBER_BYTES_MAX) return 0;
  const ttlMs = Math.floor(Number(bytes.toString('latin1', tape.start(node), tape.end(node))));
  return Math.min(Math.max(0, ttlMs), LIST_TTL_MS_MAX);
}

function isCompleteType(tape: JsonScanner, bytes: Buffer, type: number): boolean {
  return type === ABSENT || (isText(tape, type) && isString(bytes, tape.start(type), tape.end(type), 'complete'));
}

function* readSpans(tape: JsonScanner, bytes: Buffer, list: number, kind: ListKind): Steps<Int32Array | undefined> {
  const spans: number[] = [];
  const past = tape.next(list);
  const keyBytesMax = kind.isNamed ? limits.toolNameBytesMax : limits.uriBytesMax;
  let effort = 0;
  for (let node = list + 1; node < past; node = tape.next(node)) {
    if (effort >= STEP_BYTES) {
      yield;
      effort = 0;
    }
    const key = tape.kind(node) === jsonKind.object ? findMember(tape, bytes, node, kind.key) : ABSENT;
    if (!isText(tape, key)) return undefined;
    if (tokenBytes(tape, key) - 2 > keyBytesMax) continue;
    spans.push(tape.start(node), tape.start(key), tape.end(key), tape.end(node));
    const name = kind.key === 'name' ? key : findMember(tape, bytes, node, 'name');
    if (isText(tape, name)) spans.push(tape.start(name), tape.end(name));
    else spans.push(ABSENT, ABSENT);
    const meta = kind.name === 'tools' ? findMember(tape, bytes, node, '_meta') : ABSENT;
    pushLinks(spans, tape, bytes, meta);
    effort += ITEM_EFFORT_BYTES + (meta < 0 ? 0 : tokenBytes(tape, meta));
  }
  return Int32Array.from(spans);
}

/** Few tools have links; the rest of a tool's `_meta` is not recorded. */
function pushLinks(spans: number[], tape: JsonScanner, bytes: Buffer, meta: number): void {
  if (meta < 0 || tape.kind(meta) !== jsonKind.object || tokenBytes(tape, meta) > limits.mirroredToolBytesMax) {
    spans.push(ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT);
    return;
  }
  const offset = tape.start(meta);
  const metaBytes = bytes.subarray(offset, tape.end(meta));
  // Already scanned as part of the response, so the scan fails only when there are too many values.
  const isRead = metaTape.scan(metaBytes, META_DEPTH);
  const ui = isRead ? findMember(metaTape, metaBytes, 0, 'ui') : ABSENT;
  const link = ui >= 0 && metaTape.kind(ui) === jsonKind.object ? findMember(metaTape, metaBytes, ui, LINK) : ABSENT;
  pushLink(spans, offset, link);
  for (const name of FLAT_LINKS) pushLink(spans, offset, isRead ? findMember(metaTape, metaBytes, 0, name) : ABSENT);
}

function pushLink(spans: number[], offset: number, node: number): void {
  if (node >= 0 && metaTape.kind(node) === jsonKind.string)
    spans.push(offset + metaTape.start(node), offset + metaTape.end(node));
  else spans.push(ABSENT, ABSENT);
}

const LINK = 'resourceUri';
/** The forms of the first version of MCP Apps, and of its forerunner. */
const FLAT_LINKS = ['ui/resourceUri', 'openai/outputTemplate'] as const;

function isText(tape: JsonScanner, node: number): boolean {
  return node >= 0 && tape.kind(node) === jsonKind.string;
}

function isCursor(tape: JsonScanner, node: number): boolean {
  if (node < 0) return node === ABSENT;
  const kind = tape.kind(node);
  return (kind === jsonKind.string && tokenBytes(tape, node) - 2 <= limits.cursorBytesMax) || kind === jsonKind.null;
}

function tokenBytes(tape: JsonScanner, node: number): number {
  return tape.end(node) - tape.start(node);
}
