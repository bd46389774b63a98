// A call through `call_tool` becomes the call that it stands for, before anybody looks at it: what is around the tool's own name and
// arguments is made blank in the message's bytes. Nothing moves and nothing is copied, so that the arguments keep their bytes, and
// whatever serves calls sees one like any other. Warm: only where a virtual host has `"exposure": "search"`.
import { ABSENT, AMBIGUOUS, findMember, isString, stringValue } from '../../protocol/json-member.js';
import { readClientMessage, readLargeClientMessage, type ClientMessage } from '../../protocol/json-rpc.js';
import { jsonKind, type JsonScanner } from '../../protocol/json-scanner.js';
import { limits } from '../../shared/limits.js';
import { headText } from '../../upstream/session/modern-request.js';
import { tapeOf } from './curated-call.js';
import type { Exchange } from '../exchange/exchange.js';
import { CALL_TOOL, FIND_TOOLS } from './search-tool-names.js';

const SPACE = 0x20;
const COMMA = 0x2c;

/**
 * @param message a call of `call_tool`.
 * @param done called once, from within when the message is small: with the message as it is now, or what is wrong with it, in words.
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
  const fault = tape === undefined ? WRONG : unwrapIn(tape, body);
  if (fault !== undefined) return done(fault);
  const isLarge = body.length > limits.readAtOnceBytesMax;
  const finish = (reading: ReturnType<typeof readClientMessage>): void => {
    if (typeof reading === 'string' || reading.kind === 'batch') return done(WRONG);
    // Whoever goes by the headers elsewhere finds in them what the body says now.
    const { mirror } = request;
    if (mirror.name !== '') {
      const name = headText(stringValue(body, reading.nameStart, reading.nameEnd));
      request.mirror = { ...mirror, name };
    }
    done(reading);
  };
  if (isLarge) readLargeClientMessage(subject, body, finish);
  else finish(readClientMessage(body));
}

/** @returns what is wrong; then nothing has changed. */
function unwrapIn(tape: JsonScanner, body: Buffer): string | undefined {
  const params = findMember(tape, body, 0, 'params');
  const own = findMember(tape, body, params, 'name');
  const wrapped = findMember(tape, body, params, 'arguments');
  if (wrapped < 0 || tape.kind(wrapped) !== jsonKind.object) return WRONG;
  const name = findMember(tape, body, wrapped, 'name');
  const values = findMember(tape, body, wrapped, 'arguments');
  if (name < 0 || tape.kind(name) !== jsonKind.string || values === AMBIGUOUS) return WRONG;
  const isObject = values === ABSENT || tape.kind(values) === jsonKind.object || tape.kind(values) === jsonKind.null;
  if (!isObject || countMembers(tape, wrapped) > (values === ABSENT ? 1 : 2)) return WRONG;
  const nested = isString(body, tape.start(name), tape.end(name), CALL_TOOL);
  if (nested) return NESTED;
  blankMember(tape, body, params, own);
  body.fill(SPACE, tape.keyStart(wrapped) - 1, tape.start(wrapped) + 1);
  body.fill(SPACE, tape.end(wrapped) - 1, tape.end(wrapped));
  return undefined;
}

/** With the comma between it and another one. */
function blankMember(tape: JsonScanner, body: Buffer, object: number, member: number): void {
  let start = tape.keyStart(member) - 1;
  let end = tape.end(member);
  if (member === object + 1) end = body.indexOf(COMMA, end) + 1;
  else start = body.lastIndexOf(COMMA, start);
  body.fill(SPACE, start, end);
}

function countMembers(tape: JsonScanner, object: number): number {
  let count = 0;
  const past = tape.next(object);
  for (let node = object + 1; node < past; node = tape.next(node)) count += 1;
  return count;
}

const WRONG = `${CALL_TOOL} takes name, a string, and arguments, an object, once each, and nothing else`;
const NESTED = `${CALL_TOOL} cannot call itself: name one of the tools that ${FIND_TOOLS} finds`;
