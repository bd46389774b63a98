// Converts a request for a modern backend: adds the envelope to `_meta`, and the client's answers if the backend has asked for input. No
// other bytes change. Warm path: only for such backends.
import { Buffer } from 'node:buffer';
import { isEmptyObject, stringValue, JsonScanner, type Edit, partsOf } from '../bytes/index.js';
import {
  type ClientMessage,
  readClientMessage,
  CLIENT_CAPABILITIES_KEY,
  CLIENT_INFO_KEY,
  LOG_LEVEL_KEY,
  PROTOCOL_VERSION_KEY,
} from '../mcp/index.js';
import { limits } from '../shared/index.js';
import type { OutgoingMessage } from '../http-client/index.js';
import { withEdits } from './rewriting.js';

const NO_BYTES = Buffer.alloc(0);

/**
 * Makes further edits. If one lies within the span that is replaced already, the message is assembled and parsed again first.
 * @param editsOf finds the edits; `undefined` where they cannot be made.
 * @returns `undefined` also when the message is too large to be parsed again.
 */
export function withEditsFor(
  outgoing: OutgoingMessage,
  message: ClientMessage,
  editsOf: (body: Buffer, message: ClientMessage) => readonly Edit[] | undefined,
): OutgoingMessage | undefined {
  const { body, leftOut } = outgoing;
  const edits = editsOf(body, message);
  const isWithin = ({ start, end }: Edit): boolean =>
    leftOut !== undefined && start < leftOut.end && leftOut.start < end;
  if (edits === undefined || !edits.some(isWithin)) return edits && withEdits(outgoing, edits);
  if (body.length > limits.readAtOnceBytesMax) return undefined;
  const { putIn = NO_BYTES, requestId, trace, head } = outgoing;
  const whole = Buffer.concat(partsOf(body, [{ start: 0, end: 0, ...leftOut, putIn }]));
  const read = readClientMessage(whole);
  if (typeof read === 'string' || read.kind === 'batch') return undefined;
  const newEdits = editsOf(whole, read);
  return newEdits && withEdits({ body: whole, requestId, trace, head }, newEdits);
}

interface ModernAdditions {
  readonly envelope: Buffer;
  /** For a request that is sent again with the client's answers: its new id (N07), and the members to add to its params. */
  readonly round: { readonly id: Buffer; readonly members: Buffer } | undefined;
}

const COMMA = Buffer.from(',');
const OPEN = Buffer.from('{');
const CLOSE = Buffer.from('}');
const META = Buffer.from('"_meta":{');
const PARAMS = Buffer.from(',"params":{"_meta":{');
const CLOSE_BOTH = Buffer.from('}}');
const BRACE = 0x7b;

/**
 * Converts a request. @param outgoing the client's message as changed so far.
 * @returns `undefined` when a large message would have to be changed within the replaced span, or when the message has members that only
 * the gateway may add, and that cannot be removed.
 */
export function modernMessage(
  outgoing: OutgoingMessage,
  message: ClientMessage,
  additions: ModernAdditions,
): OutgoingMessage | undefined {
  return withEditsFor(outgoing, message, (body, read) => modernEdits(body, read, additions));
}

function modernEdits(body: Buffer, message: ClientMessage, { envelope, round }: ModernAdditions): Edit[] | undefined {
  const { idStart, idEnd, paramsStart, paramsEnd, metaStart, metaEnd } = message;
  const edits: Edit[] = round === undefined ? [] : [{ start: idStart, end: idEnd, putIn: round.id }];
  if (paramsStart === -1) return [...edits, insertAt(idEnd, PARAMS, envelope, CLOSE_BOTH)];
  if (hasRoundMembers(body.subarray(paramsStart, paramsEnd))) return undefined;
  const leadingMembers: Buffer[] = round === undefined ? [] : [round.members];
  if (metaStart === -1) leadingMembers.push(...(leadingMembers.length === 0 ? [] : [COMMA]), META, envelope, CLOSE);
  else if (body[metaStart] === BRACE) {
    const edit = metaEdit(body, metaStart, metaEnd, envelope);
    if (edit === undefined) return undefined;
    edits.push(edit);
  } else edits.push({ start: metaStart, end: metaEnd, putIn: Buffer.concat([OPEN, envelope, CLOSE]) });
  if (leadingMembers.length > 0) {
    if (!isEmptyObject(body, paramsStart)) leadingMembers.push(COMMA);
    edits.push(insertAt(paramsStart + 1, ...leadingMembers));
  }
  return edits;
}

/**
 * Adds the envelope to `_meta`, and removes the client's own members of the same names, with or without escapes.
 * @returns `undefined` when there may be such members and `_meta` is too large to be parsed at once.
 */
function metaEdit(body: Buffer, start: number, end: number, envelope: Buffer): Edit | undefined {
  const meta = body.subarray(start, end);
  if (!meta.includes(ENVELOPE_PREFIX) && !meta.includes(BACKSLASH))
    return insertAt(start + 1, envelope, ...(isEmptyObject(body, start) ? [] : [COMMA]));
  if (meta.length > limits.readAtOnceBytesMax || !scanner.scan(meta, 1)) return undefined;
  const members: Buffer[] = [OPEN, envelope];
  const subtreeEnd = scanner.next(0);
  for (let node = 1; node < subtreeEnd; node = scanner.next(node)) {
    const keyStart = scanner.keyStart(node) - 1;
    if (!ENVELOPE_KEYS.has(stringValue(meta, keyStart, scanner.keyEnd(node) + 1)))
      members.push(COMMA, meta.subarray(keyStart, scanner.end(node)));
  }
  return { start, end, putIn: Buffer.concat([...members, CLOSE]) };
}

const ENVELOPE_PREFIX = Buffer.from('io.modelcontextprotocol/');
/** Whether the client's params have `requestState` or `inputResponses`, which only the gateway may add to its messages. */
function hasRoundMembers(params: Buffer): boolean {
  const mayHave = params.includes(REQUEST_STATE) || params.includes(INPUT_RESPONSES);
  if (!mayHave && !params.includes(BACKSLASH)) return false;
  if (params.length > limits.readAtOnceBytesMax || !scanner.scan(params, 1)) return mayHave;
  const subtreeEnd = scanner.next(0);
  for (let node = 1; node < subtreeEnd; node = scanner.next(node))
    if (ROUND_KEYS.has(stringValue(params, scanner.keyStart(node) - 1, scanner.keyEnd(node) + 1))) return true;
  return false;
}

const BACKSLASH = 0x5c;
const REQUEST_STATE = Buffer.from('"requestState"');
const INPUT_RESPONSES = Buffer.from('"inputResponses"');
const ROUND_KEYS: ReadonlySet<string> = new Set(['requestState', 'inputResponses']);
const ENVELOPE_KEYS: ReadonlySet<string> = new Set([
  CLIENT_CAPABILITIES_KEY,
  CLIENT_INFO_KEY,
  LOG_LEVEL_KEY,
  PROTOCOL_VERSION_KEY,
]);
const scanner = new JsonScanner();

function insertAt(offset: number, ...parts: readonly Buffer[]): Edit {
  return { start: offset, end: offset, putIn: Buffer.concat(parts) };
}
