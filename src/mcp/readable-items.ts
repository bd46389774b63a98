// Listed items as clients can read them. MCP has nothing but objects as arguments, and as results of servers with sessions, but many servers
// do not say so, and many write `null` for what is missing. Official clients refuse a whole list for it: that of all backends. Hot path: most
// schemas show their type at once, and few pages have a `null`; a page is written anew only for such an item.
import {
  MEMBER_ABSENT,
  cutsOf,
  edited,
  findMember,
  isStringEqual,
  insertion,
  JsonScanner,
  jsonKind,
  type Edit,
} from '../bytes/index.js';
import type { ListKind } from './list-kinds.js';

const schemaTape = new JsonScanner();

/**
 * @param tape that of the page, with the members of its items.
 * @param list its array of items.
 * @param isAny whether results may be of any type: neither the backend nor its client has sessions.
 * @returns the page as clients can read it; `undefined` where they can.
 */
export function withReadableItems(
  bytes: Buffer,
  tape: JsonScanner,
  list: number,
  kind: ListKind,
  isAny: boolean,
): Buffer | undefined {
  const mends: Edit[] = [];
  if (kind.name === 'tools') noteTools(mends, bytes, tape, list, isAny);
  else if (kind.name !== 'tasks') noteOthers(mends, bytes, tape, list, kind);
  return mends.length === 0 ? undefined : edited(bytes, mends);
}

function noteTools(mends: Edit[], bytes: Buffer, tape: JsonScanner, list: number, isAny: boolean): void {
  const isOdd = hasOddMembers(bytes);
  const past = tape.next(list);
  for (let tool = list + 1; tool < past; tool = tape.next(tool)) {
    if (tape.kind(tool) !== jsonKind.object) return;
    if (mayLeaveUnsaid(tape, tool)) noteUnsaid(mends, 0, bytes, tape, tool, UNSAID, nameOf(bytes, tape, tool));
    noteHints(mends, bytes, tape, tool);
    const input = findMember(tape, bytes, tool, 'inputSchema');
    if (input > 0) noteSchema(mends, bytes, tape, input, isOdd, tape.start(input), OBJECT_SCHEMA);
    else if (input === MEMBER_ABSENT) addMember(mends, tape, tool, ARGUMENTS_UNSAID);
    const output = findMember(tape, bytes, tool, 'outputSchema');
    if (output < 0 || (isAny && tape.kind(output) === jsonKind.object)) continue;
    // Without it the results are not checked. With any other one, a client would expect them to be of it.
    for (const { start, end } of cutsOf(tape, tool, (member) => member === output))
      noteSchema(mends, bytes, tape, output, isOdd, start, '', end);
  }
}

/** Behind the item's other members; an item without any has no key, and is refused. */
function addMember(mends: Edit[], tape: JsonScanner, item: number, putIn: Buffer): void {
  const isEmpty = tape.next(item) === item + 1;
  if (!isEmpty) mends.push(insertion({ at: tape.end(item) - 1, putIn }));
}

/** `null` for a member of prompts and resources, or of their arguments and annotations, is one that is missing; a name, the key. */
function noteOthers(mends: Edit[], bytes: Buffer, tape: JsonScanner, list: number, { key }: ListKind): void {
  const hasNull = bytes.includes(NULL);
  const past = tape.next(list);
  for (let item = list + 1; item < past; item = tape.next(item)) {
    if (tape.kind(item) !== jsonKind.object) return;
    const name = findMember(tape, bytes, item, 'name');
    const known = findMember(tape, bytes, item, key);
    if (known > 0 && (name === MEMBER_ABSENT || (name > 0 && tape.kind(name) === jsonKind.null)))
      addMember(mends, tape, item, Buffer.concat([NAME, bytes.subarray(tape.start(known), tape.end(known))]));
    if (!hasNull) continue;
    cutNulls(mends, 0, bytes, tape, item);
    for (const member of ['arguments', 'annotations']) {
      const found = findMember(tape, bytes, item, member);
      if (found < 0) continue;
      const from = tape.start(found);
      const text = bytes.subarray(from, tape.end(found));
      if (!text.includes(NULL) || !schemaTape.scan(text, 2)) continue;
      cutNulls(mends, from, text, schemaTape, 0);
      for (let inner = 1; inner < schemaTape.next(0); inner = schemaTape.next(inner))
        cutNulls(mends, from, text, schemaTape, inner);
    }
  }
}

/** @param offset of the text on the page. @param object what is not an object has no such members. */
function cutNulls(mends: Edit[], offset: number, text: Buffer, tape: JsonScanner, object: number): void {
  if (tape.kind(object) !== jsonKind.object) return;
  const unsaid = UNSAID_OF_OTHERS.map((name) => findMember(tape, text, object, name));
  const isUnsaid = (member: number): boolean => tape.kind(member) === jsonKind.null && unsaid.includes(member);
  for (const { start, end } of cutsOf(tape, object, isUnsaid))
    mends.push({ start: offset + start, end: offset + end, putIn: NOTHING });
}

/**
 * @param isOdd whether members of schemas on the page may be odd.
 * @param start,end what is put in place of a schema that cannot be one of an object.
 */
function noteSchema(
  mends: Edit[],
  bytes: Buffer,
  tape: JsonScanner,
  schema: number,
  isOdd: boolean,
  start: number,
  putIn: string,
  end = tape.end(schema),
): void {
  const from = tape.start(schema);
  const isObject = tape.kind(schema) === jsonKind.object;
  const text = bytes.subarray(from, tape.end(schema));
  const isOddItself = isOdd && isObject && hasOddMembers(text);
  if (isObject && !isOddItself && showsType(bytes, from, tape.end(schema))) return;
  // One of more members than are read is left to the client.
  if (isObject && !schemaTape.scan(text, 1)) return;
  const type = isObject ? findMember(schemaTape, text, 0, 'type') : NONE;
  if (type === MEMBER_ABSENT) {
    const more = schemaTape.count > 1 ? ',' : '';
    mends.push(insertion({ at: from + 1, putIn: Buffer.from(`"type":"object"${more}`) }));
  } else if (type === NONE || !isObjectType(text, type)) {
    const isOneOf = type !== NONE && putIn !== '' && hasObject(text, type);
    if (!isOneOf) return void mends.push({ start, end, putIn: Buffer.from(putIn) });
    mends.push({ start: from + schemaTape.start(type), end: from + schemaTape.end(type), putIn: OBJECT });
  }
  if (isOddItself) noteUnsaid(mends, from, text, schemaTape, 0, UNSAID_IN_SCHEMAS);
}

/** Arguments that may be something else than an object are one all the same. */
function hasObject(text: Buffer, type: number): boolean {
  const types: unknown = JSON.parse(text.toString('utf8', schemaTape.start(type), schemaTape.end(type)));
  return Array.isArray(types) && types.includes('object');
}

/**
 * Languages without a map of their own write an empty one as a list, or an empty list as a map, and others write what is missing as `null`.
 * @param offset of the text on the page.
 * @param name what a title says that is not there.
 */
function noteUnsaid(
  mends: Edit[],
  offset: number,
  text: Buffer,
  tape: JsonScanner,
  object: number,
  members: readonly Unsaid[],
  name = '""',
): void {
  for (const [member, putIn = name] of members) {
    const found = findMember(tape, text, object, member);
    if (found < 0) continue;
    const isOther = OTHER_FORM[tape.kind(found)] === putIn;
    if (isOther || tape.kind(found) === jsonKind.null)
      mends.push({ start: offset + tape.start(found), end: offset + tape.end(found), putIn: Buffer.from(putIn) });
  }
}

/** Whether members of a tool may be such: few are `null`, a list or an empty object. */
function mayLeaveUnsaid(tape: JsonScanner, tool: number): boolean {
  const past = tape.next(tool);
  for (let member = tool + 1; member < past; member = tape.next(member)) {
    const kind = tape.kind(member);
    if (kind === jsonKind.null || kind === jsonKind.array) return true;
    if (kind === jsonKind.object && tape.end(member) - tape.start(member) === EMPTY_BYTES) return true;
  }
  return false;
}

function nameOf(bytes: Buffer, tape: JsonScanner, tool: number): string {
  const name = findMember(tape, bytes, tool, 'name');
  return name > 0 ? bytes.toString('utf8', tape.start(name), tape.end(name)) : '""';
}

function noteHints(mends: Edit[], bytes: Buffer, tape: JsonScanner, tool: number): void {
  const annotations = findMember(tape, bytes, tool, 'annotations');
  if (annotations < 0 || tape.kind(annotations) !== jsonKind.object) return;
  const from = tape.start(annotations);
  const text = bytes.subarray(from, tape.end(annotations));
  if (text.includes(NULL) && schemaTape.scan(text, 1))
    noteUnsaid(mends, from, text, schemaTape, 0, UNSAID_HINTS, nameOf(bytes, tape, tool));
}

function isObjectType(text: Buffer, type: number): boolean {
  // Said twice, it is left to the client.
  if (type < 0) return true;
  const [start, end] = [schemaTape.start(type), schemaTape.end(type)];
  return schemaTape.kind(type) === jsonKind.string && isStringEqual(text, start, end, 'object');
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

/** Whether members of these names, at any depth, are none of what they have to be. */
function hasOddMembers(bytes: Buffer): boolean {
  return ODD_MEMBERS.some(({ name, first }) => {
    for (let at = bytes.indexOf(name); at !== -1; at = bytes.indexOf(name, at)) {
      at = pastSpace(bytes, at + name.length);
      if (bytes[at] === COLON && bytes[pastSpace(bytes, at + 1)] !== first) return true;
    }
    return false;
  });
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

const NULL = Buffer.from('null');
const NOTHING = Buffer.alloc(0);
const EMPTY_BYTES = 2;
const OTHER_FORM: Readonly<Record<number, string>> = { [jsonKind.array]: '{}', [jsonKind.object]: '[]' };
/** A member, and what it says where it is not there; a title, the name. */
type Unsaid = readonly [member: string, putIn?: string];
const UNSAID: readonly Unsaid[] = [
  ['title'],
  ['description', '""'],
  ['annotations', '{}'],
  ['icons', '[]'],
  ['execution', '{}'],
  ['_meta', '{}'],
];
/** Of prompts, resources and templates, their arguments and annotations. */
const UNSAID_OF_OTHERS = [
  ...['name', 'title', 'description', 'mimeType', 'size', 'icons', '_meta', 'annotations', 'arguments'],
  ...['required', 'audience', 'priority', 'lastModified'],
];
const UNSAID_HINTS: readonly Unsaid[] = [
  ['title'],
  ['readOnlyHint', 'false'],
  ['destructiveHint', 'true'],
  ['idempotentHint', 'false'],
  ['openWorldHint', 'true'],
];
const UNSAID_IN_SCHEMAS: readonly Unsaid[] = [
  ['properties', '{}'],
  ['required', '[]'],
];
/** With the first byte of what they have to be. */
const ODD_MEMBERS = [
  { name: Buffer.from('properties"'), first: 0x7b },
  { name: Buffer.from('required"'), first: 0x5b },
];
const OBJECT_SCHEMA = '{"type":"object"}';
const ARGUMENTS_UNSAID = Buffer.from(`,"inputSchema":${OBJECT_SCHEMA}`);
const NAME = Buffer.from(',"name":');
const NONE = -3;
const LEADING_MEMBERS_MAX = 3;
const TEXT_BYTES_MAX = 128;
const [SPACE, QUOTE, COMMA, COLON, BACKSLASH] = [0x20, 0x22, 0x2c, 0x3a, 0x5c];
const TYPE = Buffer.from('"type"');
const OBJECT = Buffer.from('"object"');
const LAST = Buffer.from('"type":"object"}');
