// What a modern result says beside what it is about: in ours all of it, in a backend's what a legacy one does not know to say.
import { findMember, isKey, isString } from '../../protocol/json-member.js';
import type { BackendMessage } from '../../protocol/json-rpc.js';
import { JsonScanner, jsonKind } from '../../protocol/json-scanner.js';
import { limits } from '../../shared/limits.js';
import { PROGRAM_VERSION } from '../../shared/program-version.js';
import { rpcCodes } from '../../shared/refusals.js';
import type { Edit } from '../message/edits.js';
import type { ListDress } from '../exchange/answer-frame.js';
import { NO_EDITS } from '../request/request-form.js';

/** `_meta` of every result that is ours (M18). */
export const RESULT_META: Readonly<Record<string, unknown>> = Object.freeze({
  'io.modelcontextprotocol/serverInfo': { name: 'switchyard', version: PROGRAM_VERSION },
});

/**
 * A merged list may be kept for as long as each backend's part of it, and by its own user only, whose allow-lists it went by
 * (M19, M30).
 */
export function listDress(ttlMs: number): ListDress {
  return { members: `"resultType":"complete","ttlMs":${ttlMs},"cacheScope":"private",`, meta: RESULT_META };
}

/** Of a tool that is ours. */
export function resultDress(): ListDress {
  return { members: `${RESULT_TYPE},`, meta: RESULT_META };
}

/** @param inputRequests JSON. */
export function inputRequiredResult(inputRequests: string, requestState: string): string {
  return `{"resultType":"input_required","inputRequests":${inputRequests},"requestState":"${requestState}","_meta":${JSON.stringify(RESULT_META)}}`;
}

const RESULT_TYPE = '"resultType":"complete"';
const TYPE_ALONE = Buffer.from(RESULT_TYPE);
const TYPE_AND_MORE = Buffer.from(`${RESULT_TYPE},`);
const FIRST_TYPE = Buffer.from('{"resultType":');
/** With `_meta` behind it, in which servers say who they are. */
const TAIL_BYTES = 512;
const OPEN = Buffer.from('{');
const COMMA = 0x2c;
/** Of the methods whose results may be kept, and of which a legacy backend says nothing: that they may not (M19). */
const UNCACHED: ReadonlyMap<string, string> = new Map([
  ['ttlMs', '"ttlMs":0'],
  ['cacheScope', '"cacheScope":"private"'],
]);
const ALWAYS_THERE: ReadonlyMap<string, string> = new Map([['resultType', RESULT_TYPE]]);
/** Lists, which may be kept as well, are ours. */
const MEMBERS_OF_READ: ReadonlyMap<string, string> = new Map([...ALWAYS_THERE, ...UNCACHED]);
const BRACE = 0x7b;
const END_BRACE = 0x7d;

const scanner = new JsonScanner();

/**
 * What a legacy backend's result lacks (M18, M19), before all that it has. And what it says under a name that means nothing in its
 * revision: its results are complete, whatever else it calls them there, because nobody there waits for a retry.
 */
export function resultEdits(bytes: Buffer, { bodyStart, bodyEnd }: BackendMessage, method: string): Edit[] {
  if (bytes[bodyStart] !== BRACE) return [];
  const result = bytes.subarray(bodyStart, bodyEnd);
  if (method !== 'resources/read' && !mayName(result, RESULT_TYPE_KEY)) return [typeBefore(result, bodyStart + 1)];
  const missing: string[] = [];
  for (const [name, member] of method === 'resources/read' ? MEMBERS_OF_READ : ALWAYS_THERE)
    if (!mayHaveMember(result, name)) missing.push(member);
  const edits = otherTypes(result, bodyStart);
  if (method === 'resources/read') edits.push(...otherScopes(result, bodyStart));
  if (missing.length === 0) return edits;
  const start = bodyStart + 1;
  return [{ start, end: start, putIn: Buffer.from(missing.join() + (isEmpty(result) ? '' : ',')) }, ...edits];
}

/**
 * What a modern backend's result lacks: the type, which clients of this revision must find (M18, N06). One that is there stands as it
 * is, also where nobody knows it. And no memory that others share may keep what was read: allow-lists are each user's (M30).
 */
export function passedEdits(bytes: Buffer, { bodyStart, bodyEnd }: BackendMessage, method: string): readonly Edit[] {
  if (bytes[bodyStart] !== BRACE) return NO_EDITS;
  const result = bytes.subarray(bodyStart, bodyEnd);
  const hasType = hasTypeAtAnEnd(result) || mayHaveMember(result, 'resultType');
  const scopes = method === 'resources/read' ? otherScopes(result, bodyStart) : NO_EDITS;
  return hasType ? scopes : [typeBefore(result, bodyStart + 1), ...scopes];
}

function typeBefore(result: Buffer, start: number): Edit {
  return { start, end: start, putIn: isEmpty(result) ? TYPE_ALONE : TYPE_AND_MORE };
}

/**
 * Where nearly all servers write it, so that no more has to be read: as the first member, or near the end. What follows there is an object
 * with the brace before it alone when it is this one's own.
 */
function hasTypeAtAnEnd(result: Buffer): boolean {
  if (result.subarray(0, FIRST_TYPE.length).equals(FIRST_TYPE)) return true;
  const tail = result.subarray(Math.max(0, result.length - TAIL_BYTES));
  const at = tail.lastIndexOf(RESULT_TYPE_KEY);
  if (at < 1 || (tail[at - 1] !== COMMA && tail[at - 1] !== BRACE)) return false;
  return scanner.scan(Buffer.concat([OPEN, tail.subarray(at)]), 1);
}

/**
 * The scope `private` in place of any other. In what is too large to be read at once one that says `"public"` is found by its bytes, which
 * no string can have in it; of those the first ones, and one that stands deeper as well, where it means nothing.
 */
function otherScopes(result: Buffer, bodyStart: number): readonly Edit[] {
  if (!mayName(result, SCOPE_KEY)) return NO_EDITS;
  const edits: Edit[] = [];
  const put = (start: number, end: number): void => {
    edits.push({ start: bodyStart + start, end: bodyStart + end, putIn: PRIVATE });
  };
  if (result.length > limits.readAtOnceBytesMax) {
    for (let at = result.indexOf(SCOPE_KEY); at !== -1; at = result.indexOf(SCOPE_KEY, at + 1)) {
      if (edits.length >= limits.scopesChangedMax) break;
      const start = at + SCOPE_KEY.length;
      const [written] = PUBLIC_BEHIND.exec(result.toString('latin1', start, start + SCOPE_LOOK_BYTES)) ?? [];
      if (written !== undefined) put(start + written.length - PUBLIC_BYTES, start + written.length);
    }
  } else if (scanner.scan(result, 1)) {
    const past = scanner.next(0);
    for (let node = 1; node < past; node = scanner.next(node)) {
      const [start, end] = [scanner.start(node), scanner.end(node)];
      const isScope = isKey(result, scanner.keyStart(node), scanner.keyEnd(node), 'cacheScope');
      if (isScope && !result.subarray(start, end).equals(PRIVATE)) put(start, end);
    }
  }
  return edits;
}

const SCOPE_KEY = '"cacheScope"';
const PRIVATE = Buffer.from('"private"');
const PUBLIC_BEHIND = /^\s*:\s*"public"/;
const PUBLIC_BYTES = '"public"'.length;
/** White space is written by no server here, and by some people a little. */
const SCOPE_LOOK_BYTES = 64;

/** In place of each type that is not the usual one, and is a word. What is too large to be read is left as it is. */
function otherTypes(result: Buffer, bodyStart: number): Edit[] {
  if (result.length > limits.readAtOnceBytesMax || !mayName(result, RESULT_TYPE_KEY) || !scanner.scan(result, 1))
    return [];
  const edits: Edit[] = [];
  const past = scanner.next(0);
  for (let node = 1; node < past; node = scanner.next(node)) {
    const [start, end] = [scanner.start(node), scanner.end(node)];
    if (!isKey(result, scanner.keyStart(node), scanner.keyEnd(node), 'resultType')) continue;
    if (scanner.kind(node) === jsonKind.string && !result.subarray(start, end).equals(COMPLETE))
      edits.push({ start: bodyStart + start, end: bodyStart + end, putIn: COMPLETE });
  }
  return edits;
}

const RESULT_TYPE_KEY = Buffer.from('"resultType"');
const COMPLETE = Buffer.from('"complete"');

/** Whether a call has become a task: its result says so. One that is too large to be read at once is none. */
export function isTaskHandle(bytes: Buffer, { bodyStart, bodyEnd, isError }: BackendMessage): boolean {
  const result = bytes.subarray(bodyStart, bodyEnd);
  if (isError || result.length > limits.readAtOnceBytesMax || !result.includes(RESULT_TYPE_KEY)) return false;
  if (!scanner.scan(result, 1) || scanner.kind(0) !== jsonKind.object) return false;
  const node = findMember(scanner, result, 0, 'resultType');
  return (
    node >= 0 &&
    scanner.kind(node) === jsonKind.string &&
    isString(result, scanner.start(node), scanner.end(node), 'task')
  );
}

/** What is said in a code of before, in that of now (M27). */
export function modernErrorEdit(bytes: Buffer, { bodyStart, bodyEnd }: BackendMessage): Edit | undefined {
  const error = bytes.subarray(bodyStart, bodyEnd);
  if (error.length > limits.readAtOnceBytesMax || !scanner.scan(error, 1)) return undefined;
  const node = findMember(scanner, error, 0, 'code');
  const code = node < 0 ? '' : error.toString('latin1', scanner.start(node), scanner.end(node));
  const putIn = CODES_NOW.get(code);
  return putIn && { start: bodyStart + scanner.start(node), end: bodyStart + scanner.end(node), putIn };
}

const CODES_NOW: ReadonlyMap<string, Buffer> = new Map([
  [String(rpcCodes.resourceNotFound), Buffer.from(String(rpcCodes.invalidParams))],
  // Of which nobody could make questions.
  [String(rpcCodes.urlElicitationRequired), Buffer.from(String(rpcCodes.internalError))],
]);

/** What is too large to be read may have what it names: without it a result is complete, and is not kept. */
function mayHaveMember(result: Buffer, name: string): boolean {
  const isNamed = result.includes(`"${name}"`);
  if (result.length > limits.readAtOnceBytesMax) return isNamed;
  return (isNamed || result.includes(ESCAPED)) && hasMember(result, name);
}

/** Whether a small result could have a member with this key, written with escapes or without: clients read both alike. */
function mayName(result: Buffer, key: Buffer | string): boolean {
  return result.includes(key) || result.includes(ESCAPED);
}

/** How an escape of a letter begins. */
const ESCAPED = Buffer.from('\\u00');

/** One that is there twice is there. */
function hasMember(result: Buffer, name: string): boolean {
  if (!scanner.scan(result, 1) || scanner.kind(0) !== jsonKind.object) return false;
  const past = scanner.next(0);
  for (let node = 1; node < past; node = scanner.next(node))
    if (isKey(result, scanner.keyStart(node), scanner.keyEnd(node), name)) return true;
  return false;
}

function isEmpty(object: Buffer): boolean {
  let at = 1;
  while (object[at]! <= 0x20) at += 1;
  return object[at] === END_BRACE;
}
