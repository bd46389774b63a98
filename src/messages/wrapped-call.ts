// Turns a call of `call_tool` into the call that it wraps, before other code handles the message: all bytes around the inner name and
// arguments are overwritten with spaces, so all other code sees an ordinary call. Warm path: only where a virtual host has `"exposure":
// "search"`.
import {
  MEMBER_ABSENT,
  MEMBER_AMBIGUOUS,
  findMember,
  isStringEqual,
  stringValue,
  jsonKind,
  JsonScanner,
} from '../bytes/index.js';
import { readClientMessage, readLargeClientMessage, type ClientMessage } from '../mcp/index.js';
import { limits } from '../shared/index.js';
import { headerValueOf } from '../upstream/index.js';
import { tapeOf } from './curated-call.js';
import type { Exchange } from '../exchange/index.js';

const NO_ARGUMENTS = Buffer.alloc(0);

const scanner = new JsonScanner();

/**
 * The arguments of a call. A retry is recognized by them. Cold path.
 * @param message its tape, if it has one, must still be valid (`ClientMessage.tape`).
 * @returns `params.arguments` as received; empty if absent; all of `params` if the member is ambiguous.
 */
export function argumentsIn(body: Buffer, { paramsStart, paramsEnd, tape }: ClientMessage): Buffer {
  if (paramsStart === -1) return NO_ARGUMENTS;
  const params = body.subarray(paramsStart, paramsEnd);
  // A small message has no tape, so its params are scanned.
  if (tape === undefined) scanner.scan(params, 1);
  const [read, bytes] = tape === undefined ? [scanner, params] : [tape, body];
  const node = findMember(read, bytes, tape === undefined ? 0 : findMember(tape, body, 0, 'params'), 'arguments');
  if (node === MEMBER_ABSENT) return NO_ARGUMENTS;
  return node < 0 ? params : bytes.subarray(read.start(node), read.end(node));
}

/** The two tools that replace all others on a virtual host with `"exposure": "search"`. */
export const FIND_TOOLS = 'find_tools';
export const CALL_TOOL = 'call_tool';

export function isSearchTool(name: string): boolean {
  return name === FIND_TOOLS || name === CALL_TOOL;
}

const SPACE = 0x20;
const COMMA = 0x2c;

/**
 * Unwraps a call. @param message a call of `call_tool`.
 * @param done called once, synchronously if the message is small: with the unwrapped message, or what is wrong with it, as a text.
 */
export function unwrapCall(
  subject: string,
  exchange: Exchange,
  message: ClientMessage,
  done: (message: ClientMessage | string) => void,
): void {
  const { request } = exchange;
  const { body } = request;
  const tape = tapeOf(body, message);
  const fault = tape === undefined ? WRONG_CALL_TEXT : unwrapIn(tape, body);
  if (fault !== undefined) return done(fault);
  const isLarge = body.length > limits.readAtOnceBytesMax;
  const finish = (call: ReturnType<typeof readClientMessage>): void => {
    if (typeof call === 'string' || call.kind === 'batch') return done(WRONG_CALL_TEXT);
    request.isWrapped = true;
    // The headers must repeat the name that the body has now: other code and other processes rely on that.
    const { mirror } = request;
    if (mirror.name !== '') {
      const name = headerValueOf(stringValue(body, call.nameStart, call.nameEnd));
      request.mirror = { ...mirror, name };
    }
    done(call);
  };
  if (isLarge) readLargeClientMessage(subject, body, finish);
  else finish(readClientMessage(body));
}

/** Unwraps the call in the bytes. @returns what is wrong; then nothing was changed. */
function unwrapIn(tape: JsonScanner, body: Buffer): string | undefined {
  const params = findMember(tape, body, 0, 'params');
  const outerName = findMember(tape, body, params, 'name');
  const wrapped = findMember(tape, body, params, 'arguments');
  if (wrapped < 0 || tape.kind(wrapped) !== jsonKind.object) return WRONG_CALL_TEXT;
  const name = findMember(tape, body, wrapped, 'name');
  const values = findMember(tape, body, wrapped, 'arguments');
  if (name < 0 || tape.kind(name) !== jsonKind.string || values === MEMBER_AMBIGUOUS) return WRONG_CALL_TEXT;
  const isObject =
    values === MEMBER_ABSENT || tape.kind(values) === jsonKind.object || tape.kind(values) === jsonKind.null;
  if (!isObject || countMembers(tape, wrapped) > (values === MEMBER_ABSENT ? 1 : 2)) return WRONG_CALL_TEXT;
  if (isStringEqual(body, tape.start(name), tape.end(name), CALL_TOOL)) return NESTED_CALL_TEXT;
  blankMember(tape, body, params, outerName);
  body.fill(SPACE, tape.keyStart(wrapped) - 1, tape.start(wrapped) + 1);
  body.fill(SPACE, tape.end(wrapped) - 1, tape.end(wrapped));
  return undefined;
}

/** Blanks a member, together with the comma between it and its neighbour. */
function blankMember(tape: JsonScanner, body: Buffer, object: number, member: number): void {
  let start = tape.keyStart(member) - 1;
  let end = tape.end(member);
  if (member === object + 1) end = body.indexOf(COMMA, end) + 1;
  else start = body.lastIndexOf(COMMA, start);
  body.fill(SPACE, start, end);
}

function countMembers(tape: JsonScanner, object: number): number {
  let count = 0;
  const subtreeEnd = tape.next(object);
  for (let node = object + 1; node < subtreeEnd; node = tape.next(node)) count += 1;
  return count;
}

const WRONG_CALL_TEXT = `${CALL_TOOL} takes name, a string, and arguments, an object, once each, and nothing else`;
const NESTED_CALL_TEXT = `${CALL_TOOL} cannot call itself: name one of the tools that ${FIND_TOOLS} finds`;
