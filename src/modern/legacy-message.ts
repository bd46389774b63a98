// A modern client's request in the form for a legacy backend: with an id and a progress token of the gateway's, and without the envelope,
// `requestState` and `inputResponses`. A server of both eras would take any request with an envelope for a modern one, even in a session.
import { addInOrder, type Edit } from '../bytes/index.js';
import type { ClientMessage, ModernEnvelope } from '../mcp/index.js';
import type { OutgoingMessage } from '../http-client/index.js';
import { withEditsFor } from '../messages/index.js';

const NOTHING = Buffer.alloc(0);
const QUOTE = 0x22;
const COMMA = 0x2c;
const SPACE = 0x20;

/**
 * Converts a request. @param outgoing the client's message as changed so far. @param ownId the gateway's id as JSON, which replaces the
 * client's, and its progress token if there is one.
 * @returns `undefined` if a large message would have to be changed within a span that was changed already.
 */
export function legacyMessage(
  outgoing: OutgoingMessage,
  message: ClientMessage,
  ownId: Buffer,
): OutgoingMessage | undefined {
  return withEditsFor(outgoing, message, (body, read) => editsOf(body, read, ownId));
}

function editsOf(body: Buffer, message: ClientMessage, ownId: Buffer): Edit[] {
  const { idStart, idEnd, progressTokenStart, progressTokenEnd, envelope } = message;
  const edits: Edit[] = [{ start: idStart, end: idEnd, putIn: ownId }];
  if (progressTokenStart !== -1) edits.push({ start: progressTokenStart, end: progressTokenEnd, putIn: ownId });
  if (envelope !== undefined) cutEnvelope(body, envelope, edits);
  return edits;
}

interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** Cuts the members of the envelope. Adjacent members are cut as one, because each cut takes one comma with it. */
function cutEnvelope(body: Buffer, envelope: ModernEnvelope, edits: Edit[]): void {
  const values: ByteRange[] = [];
  addMember(values, envelope.protocolVersionStart, envelope.protocolVersionEnd);
  addMember(values, envelope.capabilitiesStart, envelope.capabilitiesEnd);
  addMember(values, envelope.clientInfoStart, envelope.clientInfoEnd);
  addMember(values, envelope.logLevelStart, envelope.logLevelEnd);
  addMember(values, envelope.requestStateStart, envelope.requestStateEnd);
  addMember(values, envelope.inputResponsesStart, envelope.inputResponsesEnd);
  let cut: ByteRange | undefined;
  for (const value of values) {
    const start = memberStart(body, value.start);
    const isAdjacent = cut !== undefined && nextMember(body, cut.end) === start;
    if (cut !== undefined && !isAdjacent) edits.push(cutWithComma(body, cut));
    cut = { start: isAdjacent && cut !== undefined ? cut.start : start, end: value.end };
  }
  if (cut !== undefined) edits.push(cutWithComma(body, cut));
}

function addMember(values: ByteRange[], start: number, end: number): void {
  if (start !== -1) addInOrder(values, { start, end });
}

/** Where the member with this value begins, with its key. None of the envelope's keys contains a quote. */
function memberStart(body: Buffer, valueStart: number): number {
  const keyEnd = body.lastIndexOf(QUOTE, valueStart - 1);
  return body.lastIndexOf(QUOTE, keyEnd - 1);
}

/** Where the next member begins; -1 after the last one. */
function nextMember(body: Buffer, end: number): number {
  const at = pastBlanks(body, end);
  return body[at] === COMMA ? pastBlanks(body, at + 1) : -1;
}

function cutWithComma(body: Buffer, { start, end }: ByteRange): Edit {
  const behind = pastBlanks(body, end);
  if (body[behind] === COMMA) return { start, end: behind + 1, putIn: NOTHING };
  let before = start - 1;
  while (isBlank(body[before])) before -= 1;
  return { start: body[before] === COMMA ? before : start, end, putIn: NOTHING };
}

function pastBlanks(body: Buffer, from: number): number {
  let at = from;
  while (isBlank(body[at])) at += 1;
  return at;
}

/** Whether a byte is blank: between the tokens of valid JSON, only white space has bytes this low. */
function isBlank(byte: number | undefined): boolean {
  return byte !== undefined && byte <= SPACE;
}
