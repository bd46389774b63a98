// The schemas of listed tools. MCP has nothing but objects as arguments, and as results of servers with sessions, but many servers do not
// say so. Official clients refuse a whole list for it: all tools of all backends. Hot path: most schemas show their type at once; a page is
// written anew only if one does not.
import { MEMBER_ABSENT, cutsOf, findMember, isStringEqual, JsonScanner, jsonKind } from '../bytes/index.js';

interface Mend {
  readonly start: number;
  readonly end: number;
  readonly putIn: string;
}

const schemaTape = new JsonScanner();

/**
 * @param tape that of the page, with the members of its items.
 * @param list its array of tools.
 * @param isAny whether results may be of any type: neither the backend nor its client has sessions.
 * @returns the page as clients can read it; `undefined` where they can.
 */
export function withReadableSchemas(
  bytes: Buffer,
  tape: JsonScanner,
  list: number,
  isAny: boolean,
): Buffer | undefined {
  const mends: Mend[] = [];
  const isOdd = ODD_MEMBERS.some((text) => bytes.includes(text));
  const hasNulls = bytes.includes(NULL_MEMBER);
  const past = tape.next(list);
  for (let tool = list + 1; tool < past; tool = tape.next(tool)) {
    if (tape.kind(tool) !== jsonKind.object) return undefined;
    const input = findMember(tape, bytes, tool, 'inputSchema');
    if (hasNulls) noteNulls(mends, bytes, tape, tool);
    if (input > 0) noteSchema(mends, bytes, tape, input, tape.start(input), OBJECT_SCHEMA);
    if (isOdd && input > 0 && tape.kind(input) === jsonKind.object) noteMembers(mends, bytes, tape, input);
    const output = findMember(tape, bytes, tool, 'outputSchema');
    if (output < 0 || (isAny && tape.kind(output) === jsonKind.object)) continue;
    // Without it the results are not checked. With any other one, a client would expect them to be of it.
    for (const { start, end } of cutsOf(tape, tool, (member) => member === output))
      noteSchema(mends, bytes, tape, output, start, '', end);
  }
  return mends.length === 0 ? undefined : mended(bytes, mends);
}

/** @param start,end what is put in place of a schema that cannot be one of an object. */
function noteSchema(
  mends: Mend[],
  bytes: Buffer,
  tape: JsonScanner,
  schema: number,
  start: number,
  putIn: string,
  end = tape.end(schema),
): void {
  const from = tape.start(schema);
  const isObject = tape.kind(schema) === jsonKind.object;
  if (isObject && showsType(bytes, from, tape.end(schema))) return;
  const text = bytes.subarray(from, tape.end(schema));
  // One of more members than are read is left to the client.
  if (isObject && !schemaTape.scan(text, 1)) return;
  const type = isObject ? findMember(schemaTape, text, 0, 'type') : NONE;
  if (type === MEMBER_ABSENT) {
    const more = schemaTape.count > 1 ? ',' : '';
    mends.push({ start: from + 1, end: from + 1, putIn: `"type":"object"${more}` });
  } else if (type === NONE || !isObjectType(text, type)) {
    const isOneOf = type !== NONE && putIn !== '' && hasObject(text, type);
    if (isOneOf)
      mends.push({ start: from + schemaTape.start(type), end: from + schemaTape.end(type), putIn: '"object"' });
    else mends.push({ start, end, putIn });
  }
}

/** Arguments that may be something else than an object are one all the same. */
function hasObject(text: Buffer, type: number): boolean {
  const types: unknown = JSON.parse(text.toString('utf8', schemaTape.start(type), schemaTape.end(type)));
  return Array.isArray(types) && types.includes('object');
}

/** Languages without a map of their own write an empty one as a list, and others write what is missing as `null`. */
function noteMembers(mends: Mend[], bytes: Buffer, tape: JsonScanner, schema: number): void {
  const from = tape.start(schema);
  const text = bytes.subarray(from, tape.end(schema));
  const isReplaced = mends.at(-1)?.start === from;
  if (isReplaced || !schemaTape.scan(text, 1)) return;
  const note = (name: string, kinds: readonly number[], putIn: string): void => {
    const member = findMember(schemaTape, text, 0, name);
    if (member > 0 && kinds.includes(schemaTape.kind(member)))
      mends.push({ start: from + schemaTape.start(member), end: from + schemaTape.end(member), putIn });
  };
  note('properties', [jsonKind.array, jsonKind.null], '{}');
  note('required', [jsonKind.null], '[]');
}

/** `null` says what a member says that is not there. */
function noteNulls(mends: Mend[], bytes: Buffer, tape: JsonScanner, tool: number): void {
  const name = findMember(tape, bytes, tool, 'name');
  const nameText = name > 0 ? bytes.toString('utf8', tape.start(name), tape.end(name)) : '""';
  for (const [member, unsaid = nameText] of UNSAID) {
    const found = findMember(tape, bytes, tool, member);
    if (found > 0 && tape.kind(found) === jsonKind.null)
      mends.push({ start: tape.start(found), end: tape.end(found), putIn: unsaid });
  }
  const annotations = findMember(tape, bytes, tool, 'annotations');
  if (annotations < 0 || tape.kind(annotations) !== jsonKind.object) return;
  const from = tape.start(annotations);
  const text = bytes.subarray(from, tape.end(annotations));
  if (!text.includes(NULL_MEMBER) || !schemaTape.scan(text, 1)) return;
  for (const [member, unsaid = nameText] of UNSAID_HINTS) {
    const found = findMember(schemaTape, text, 0, member);
    if (found > 0 && schemaTape.kind(found) === jsonKind.null)
      mends.push({ start: from + schemaTape.start(found), end: from + schemaTape.end(found), putIn: unsaid });
  }
}

function isObjectType(text: Buffer, type: number): boolean {
  // Said twice, it is left to the client.
  if (type < 0) return true;
  const [start, end] = [schemaTape.start(type), schemaTape.end(type)];
  return schemaTape.kind(type) === jsonKind.string && isStringEqual(text, start, end, 'object');
}

function mended(bytes: Buffer, mends: readonly Mend[]): Buffer {
  const parts: Buffer[] = [];
  let at = 0;
  for (const { start, end, putIn } of mends.toSorted((one, other) => one.start - other.start)) {
    parts.push(bytes.subarray(at, start), Buffer.from(putIn));
    at = end;
  }
  return Buffer.concat([...parts, bytes.subarray(at)]);
}

/** Whether the schema's bytes show its type: as the last member, or behind others at the beginning that are short texts. */
function showsType(bytes: Buffer, start: number, end: number): boolean {
  if (bytes[end - LAST.length - 1] === COMMA && isAt(bytes, end - LAST.length, LAST)) return true;
  let at = pastSpace(bytes, start + 1);
  for (let member = 0; member < LEADING_MEMBERS_MAX; member++) {
    const isType = isAt(bytes, at, TYPE);
    at = pastSpace(bytes, pastText(bytes, at));
    if (bytes[at] !== COLON) return false;
    at = pastSpace(bytes, at + 1);
    if (isType) return isAt(bytes, at, OBJECT);
    at = pastSpace(bytes, pastText(bytes, at));
    if (bytes[at] !== COMMA) return false;
    at = pastSpace(bytes, at + 1);
  }
  return false;
}

function isAt(bytes: Buffer, at: number, text: Uint8Array): boolean {
  for (let index = 0; index < text.length; index++) if (bytes[at + index] !== text[index]) return false;
  return true;
}

function pastSpace(bytes: Buffer, at: number): number {
  let past = at;
  while (bytes[past]! <= SPACE) past++;
  return past;
}

/** @returns where it was, for anything but a short text without escapes. */
function pastText(bytes: Buffer, at: number): number {
  if (bytes[at] !== QUOTE) return at;
  for (let past = at + 1; past < at + TEXT_BYTES_MAX; past++) {
    if (bytes[past] === QUOTE) return past + 1;
    if (bytes[past] === BACKSLASH) return at;
  }
  return at;
}

/** As they come from the languages that write them, without white space. */
const ODD_MEMBERS = ['"properties":[', '"properties":null', '"required":null'];
const NULL_MEMBER = ':null';
/** Members of tools, and what they say where they are not there; a title, the name. */
const UNSAID: readonly (readonly [string, string?])[] = [
  ['title'],
  ['description', '""'],
  ['annotations', '{}'],
  ['icons', '[]'],
  ['execution', '{}'],
  ['_meta', '{}'],
];
const UNSAID_HINTS: readonly (readonly [string, string?])[] = [
  ['title'],
  ['readOnlyHint', 'false'],
  ['destructiveHint', 'true'],
  ['idempotentHint', 'false'],
  ['openWorldHint', 'true'],
];
const OBJECT_SCHEMA = '{"type":"object"}';
const NONE = -3;
const LEADING_MEMBERS_MAX = 3;
const TEXT_BYTES_MAX = 128;
const [SPACE, QUOTE, COMMA, COLON, BACKSLASH] = [0x20, 0x22, 0x2c, 0x3a, 0x5c];
const [TYPE, OBJECT, LAST] = ['"type"', '"object"', '"type":"object"}'].map((text) => Buffer.from(text)) as [
  Buffer,
  Buffer,
  Buffer,
];
