// A backend's answer to `tools/list`, read as spans: the gateway changes names, and passes every other byte of a tool on
// as it came. Hot where lists are long: one pass over the answer, nothing decoded, no object for a tool.
import type { Buffer } from 'node:buffer';
import { limits } from '../shared/limits.js';
import { ABSENT, findMember, stringValue } from './json-member.js';
import { messageTape as tape, readBackendMessage, sameId } from './json-rpc.js';
import { jsonKind } from './json-scanner.js';

/** One page of a list. */
export interface ToolPage {
  /** The message, as it came. */
  readonly bytes: Buffer;
  /** Where its tools stand in it: a row of `SPAN_LENGTH` offsets for each, see `span`. */
  readonly spans: Int32Array;
}

/** The places in a tool's row. The tool has its braces, the name its quotes; ends are exclusive. */
export const span = { start: 0, nameStart: 1, nameEnd: 2, end: 3 } as const;
export const SPAN_LENGTH = 4;

/**
 * `nextCursor`: `''` is a cursor (N10), `undefined` the last page. `code`: that of the JSON-RPC error, `undefined` when it
 * is no number.
 */
export type ToolAnswer =
  | { readonly kind: 'page'; readonly page: ToolPage; readonly nextCursor: string | undefined }
  | { readonly kind: 'error'; readonly code: number | undefined }
  | { readonly kind: 'invalid' };

/** A tool's own members are the deepest values that are looked at: `{"result":{"tools":[{"name":…}]}}`. */
const ANSWER_DEPTH = 4;

/** No error code is written longer. */
const NUMBER_BYTES_MAX = 32;

const INVALID: ToolAnswer = { kind: 'invalid' };

/**
 * @param id of the request, as JSON.
 * @returns `invalid` for what does not answer the request, or answers with anything but tools that each have one name.
 */
export function readToolAnswer(bytes: Buffer, id: Buffer): ToolAnswer {
  const message = readBackendMessage(bytes, ANSWER_DEPTH);
  if (message?.kind !== 'response' || message.idStart === -1) return INVALID;
  if (!sameId(bytes, message.idStart, message.idEnd, id, 0, id.length)) return INVALID;
  return message.isError ? readError(bytes) : readPage(bytes);
}

function readError(bytes: Buffer): ToolAnswer {
  const code = findMember(tape, bytes, findMember(tape, bytes, 0, 'error'), 'code');
  const isNumber = code >= 0 && tape.kind(code) === jsonKind.number && tokenBytes(code) <= NUMBER_BYTES_MAX;
  return {
    kind: 'error',
    code: isNumber ? Number(bytes.toString('latin1', tape.start(code), tape.end(code))) : undefined,
  };
}

function readPage(bytes: Buffer): ToolAnswer {
  const result = findMember(tape, bytes, 0, 'result');
  if (tape.kind(result) !== jsonKind.object) return INVALID;
  const list = findMember(tape, bytes, result, 'tools');
  const cursor = findMember(tape, bytes, result, 'nextCursor');
  if (list < 0 || tape.kind(list) !== jsonKind.array || !isCursor(cursor)) return INVALID;
  const spans = readSpans(bytes, list);
  if (spans === undefined) return INVALID;
  const isLast = cursor === ABSENT || tape.kind(cursor) === jsonKind.null;
  const nextCursor = isLast ? undefined : stringValue(bytes, tape.start(cursor), tape.end(cursor));
  return { kind: 'page', page: { bytes, spans }, nextCursor };
}

function readSpans(bytes: Buffer, list: number): Int32Array | undefined {
  const spans: number[] = [];
  const past = tape.next(list);
  for (let node = list + 1; node < past; node = tape.next(node)) {
    const name = tape.kind(node) === jsonKind.object ? findMember(tape, bytes, node, 'name') : ABSENT;
    if (name < 0 || tape.kind(name) !== jsonKind.string) return undefined;
    if (tokenBytes(name) - 2 > limits.toolNameBytesMax) continue;
    spans.push(tape.start(node), tape.start(name), tape.end(name), tape.end(node));
  }
  return Int32Array.from(spans);
}

function isCursor(node: number): boolean {
  if (node < 0) return node === ABSENT;
  const kind = tape.kind(node);
  return (kind === jsonKind.string && tokenBytes(node) - 2 <= limits.cursorBytesMax) || kind === jsonKind.null;
}

function tokenBytes(node: number): number {
  return tape.end(node) - tape.start(node);
}
