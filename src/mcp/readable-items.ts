// Repairs listed items that official clients could not read: they would refuse the whole list, with the items of all backends. Many
// servers do not declare arguments and results as objects, write `null` for a missing member or `true` for an argument of any kind, or
// describe results in a way that clients cannot compile. Hot path: most schemas show their type at once, and few pages have a `null`; a page
// is copied only if an item needs a repair.
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
import { KIB } from '../shared/index.js';
import type { ListKind } from './list-kinds.js';
import { isCompilable, isDoubtful, UNICODE_CLASSES_MAX } from './output-schema.js';

const schemaTape = new JsonScanner();

/** Schemas of results on one page that are parsed to see whether clients can compile them, in bytes. Beyond that, they are left unchanged. */
export const PARSED_SCHEMA_BYTES_MAX = 32 * KIB;

/**
 * @param tape the tape of the page, with the members of its items.
 * @param list the node of the array of items.
 * @param allowsAnyResult whether results may be of any type: neither the backend nor its client has sessions.
 * @returns the repaired page; `undefined` when no item needs a repair.
 */
export function withReadableItems(
  bytes: Buffer,
  tape: JsonScanner,
  list: number,
  kind: ListKind,
  allowsAnyResult: boolean,
): Buffer | undefined {
  const edits: Edit[] = [];
  if (kind.name === 'tools') repairTools(edits, bytes, tape, list, allowsAnyResult);
  else if (kind.name !== 'tasks') repairOthers(edits, bytes, tape, list, kind);
  return edits.length === 0 ? undefined : edited(bytes, edits);
}

function repairTools(edits: Edit[], bytes: Buffer, tape: JsonScanner, list: number, allowsAnyResult: boolean): void {
  const mayBeWrong = hasWrongMembers(bytes);
  let parsedBytesLeft = PARSED_SCHEMA_BYTES_MAX;
  const budget = { unicodeClasses: UNICODE_CLASSES_MAX };
  const subtreeEnd = tape.next(list);
  for (let tool = list + 1; tool < subtreeEnd; tool = tape.next(tool)) {
    if (tape.kind(tool) !== jsonKind.object) return;
    if (mayHaveUnreadable(tape, tool))
      replaceUnreadable(edits, 0, bytes, tape, tool, TOOL_DEFAULTS, nameOf(bytes, tape, tool));
    repairHints(edits, bytes, tape, tool);
    const input = findMember(tape, bytes, tool, 'inputSchema');
    if (input > 0) repairSchema(edits, bytes, tape, input, mayBeWrong, tape.start(input), OBJECT_SCHEMA);
    else if (input === MEMBER_ABSENT) addMember(edits, tape, tool, INPUT_SCHEMA_MEMBER);
    const output = findMember(tape, bytes, tool, 'outputSchema');
    if (output < 0 || (allowsAnyResult && tape.kind(output) === jsonKind.object)) continue;
    const schema = bytes.subarray(tape.start(output), tape.end(output));
    const isChecked = schema.length <= parsedBytesLeft && isDoubtful(schema);
    if (isChecked) parsedBytesLeft -= schema.length;
    const isReadable = !isChecked || isCompilable(schema, budget);
    // A wrong output schema is removed: then clients do not check results. With another schema, they would check results against that.
    for (const { start, end } of cutsOf(tape, tool, (member) => member === output))
      if (isReadable) repairSchema(edits, bytes, tape, output, mayBeWrong, start, '', end);
      else edits.push({ start, end, putIn: NO_BYTES });
  }
}

/** Adds a member behind the item's other members; an item without members has no key, and is refused later. */
function addMember(edits: Edit[], tape: JsonScanner, item: number, putIn: Buffer): void {
  const isEmpty = tape.next(item) === item + 1;
  if (!isEmpty) edits.push(insertion({ at: tape.end(item) - 1, putIn }));
}

/** Repairs prompts and resources, their arguments and annotations: removes members that are `null`, and adds a missing name: the key. */
function repairOthers(edits: Edit[], bytes: Buffer, tape: JsonScanner, list: number, { key }: ListKind): void {
  const hasNull = bytes.includes(NULL);
  const subtreeEnd = tape.next(list);
  for (let item = list + 1; item < subtreeEnd; item = tape.next(item)) {
    if (tape.kind(item) !== jsonKind.object) return;
    const name = findMember(tape, bytes, item, 'name');
    const known = findMember(tape, bytes, item, key);
    if (known > 0 && (name === MEMBER_ABSENT || (name > 0 && tape.kind(name) === jsonKind.null)))
      addMember(edits, tape, item, Buffer.concat([NAME_MEMBER, bytes.subarray(tape.start(known), tape.end(known))]));
    if (!hasNull) continue;
    cutNulls(edits, 0, bytes, tape, item);
    for (const member of ['arguments', 'annotations']) {
      const found = findMember(tape, bytes, item, member);
      if (found < 0) continue;
      const from = tape.start(found);
      const text = bytes.subarray(from, tape.end(found));
      if (!text.includes(NULL) || !schemaTape.scan(text, 2)) continue;
      cutNulls(edits, from, text, schemaTape, 0);
      for (let inner = 1; inner < schemaTape.next(0); inner = schemaTape.next(inner))
        cutNulls(edits, from, text, schemaTape, inner);
    }
  }
}

/**
 * Removes optional members that are `null`. @param offset where the text begins on the page. @param object a node; ignored if no object.
 */
function cutNulls(edits: Edit[], offset: number, text: Buffer, tape: JsonScanner, object: number): void {
  if (tape.kind(object) !== jsonKind.object) return;
  const optional = OPTIONAL_MEMBERS.map((name) => findMember(tape, text, object, name));
  const isNull = (member: number): boolean => tape.kind(member) === jsonKind.null && optional.includes(member);
  for (const { start, end } of cutsOf(tape, object, isNull))
    edits.push({ start: offset + start, end: offset + end, putIn: NO_BYTES });
}

/**
 * @param mayBeWrong whether schemas on the page may have wrong members (`hasWrongMembers`).
 * @param start,end the span that `putIn` replaces if the schema cannot be one of an object.
 */
function repairSchema(
  edits: Edit[],
  bytes: Buffer,
  tape: JsonScanner,
  schema: number,
  mayBeWrong: boolean,
  start: number,
  putIn: string,
  end = tape.end(schema),
): void {
  const from = tape.start(schema);
  const isObject = tape.kind(schema) === jsonKind.object;
  const text = bytes.subarray(from, tape.end(schema));
  const isWrongItself = mayBeWrong && isObject && hasWrongMembers(text);
  if (isObject && !isWrongItself && !hasOtherValues(text) && showsType(bytes, from, tape.end(schema))) return;
  // A schema with more members than are read is left unchanged.
  if (isObject && !schemaTape.scan(text, 2)) return;
  const type = isObject ? findMember(schemaTape, text, 0, 'type') : NOT_AN_OBJECT;
  if (type === MEMBER_ABSENT) {
    const more = schemaTape.count > 1 ? ',' : '';
    edits.push(insertion({ at: from + 1, putIn: Buffer.from(`"type":"object"${more}`) }));
  } else if (type === NOT_AN_OBJECT || !isObjectType(text, type)) {
    const isOneOf = type !== NOT_AN_OBJECT && putIn !== '' && hasObject(text, type);
    if (!isOneOf) return void edits.push({ start, end, putIn: Buffer.from(putIn) });
    edits.push({ start: from + schemaTape.start(type), end: from + schemaTape.end(type), putIn: OBJECT });
  }
  if (isWrongItself) replaceUnreadable(edits, from, text, schemaTape, 0, SCHEMA_DEFAULTS);
  repairProperties(edits, from, text);
}

/** Whether anything in a schema is `true` or `null`, as a property may be. */
function hasOtherValues(text: Buffer): boolean {
  const isSpaced = text[text.indexOf(COLON) + 1] === SPACE;
  return (isSpaced ? SPACED_VALUES : OTHER_VALUES).some((value) => text.includes(value));
}

/** Some clients refuse a property whose schema is `true`, which allows anything, as Go writes it, or `null`. */
function repairProperties(edits: Edit[], from: number, text: Buffer): void {
  const properties = findMember(schemaTape, text, 0, 'properties');
  if (properties < 0 || schemaTape.kind(properties) !== jsonKind.object) return;
  const subtreeEnd = schemaTape.next(properties);
  for (let property = properties + 1; property < subtreeEnd; property = schemaTape.next(property)) {
    const [start, end] = [schemaTape.start(property), schemaTape.end(property)];
    if (isAt(text, start, TRUE) || isAt(text, start, NULL))
      edits.push({ start: from + start, end: from + end, putIn: ANYTHING });
  }
}

/** Whether a `type` allows several types, of which one is `object`. */
function hasObject(text: Buffer, type: number): boolean {
  const types: unknown = JSON.parse(text.toString('utf8', schemaTape.start(type), schemaTape.end(type)));
  return Array.isArray(types) && types.includes('object');
}

/**
 * * Replaces members that are `null`, an empty list in place of an empty object, or the reverse, as some languages write them.
 * @param offset where the text begins on the page.
 * @param name what replaces a title, as JSON.
 */
function replaceUnreadable(
  edits: Edit[],
  offset: number,
  text: Buffer,
  tape: JsonScanner,
  object: number,
  members: readonly MemberDefault[],
  name = '""',
): void {
  for (const [member, putIn = name] of members) {
    const found = findMember(tape, text, object, member);
    if (found < 0) continue;
    const isOtherForm = OTHER_FORM[tape.kind(found)] === putIn;
    if (isOtherForm || tape.kind(found) === jsonKind.null)
      edits.push({ start: offset + tape.start(found), end: offset + tape.end(found), putIn: Buffer.from(putIn) });
  }
}

/** Whether a tool has a member that may have to be replaced: few are `null`, a list or an empty object. */
function mayHaveUnreadable(tape: JsonScanner, tool: number): boolean {
  const subtreeEnd = tape.next(tool);
  for (let member = tool + 1; member < subtreeEnd; member = tape.next(member)) {
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

function repairHints(edits: Edit[], bytes: Buffer, tape: JsonScanner, tool: number): void {
  const annotations = findMember(tape, bytes, tool, 'annotations');
  if (annotations < 0 || tape.kind(annotations) !== jsonKind.object) return;
  const from = tape.start(annotations);
  const text = bytes.subarray(from, tape.end(annotations));
  if (text.includes(NULL) && schemaTape.scan(text, 1))
    replaceUnreadable(edits, from, text, schemaTape, 0, HINT_DEFAULTS, nameOf(bytes, tape, tool));
}

function isObjectType(text: Buffer, type: number): boolean {
  // An ambiguous type is left unchanged.
  if (type < 0) return true;
  const [start, end] = [schemaTape.start(type), schemaTape.end(type)];
  return schemaTape.kind(type) === jsonKind.string && isStringEqual(text, start, end, 'object');
}

/** Whether the schema's bytes show `"type":"object"`: as the last member, or among the first, behind members that are short texts. */
function showsType(bytes: Buffer, start: number, end: number): boolean {
  if (bytes[end - TYPE_AT_END.length - 1] === COMMA && isAt(bytes, end - TYPE_AT_END.length, TYPE_AT_END)) return true;
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

/** Whether a member `properties` is not an object, or `required` not a list, at any depth. */
function hasWrongMembers(bytes: Buffer): boolean {
  return SCHEMA_MEMBERS.some(({ name, first }) => {
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
  let end = at;
  while (bytes[end]! <= SPACE) end++;
  return end;
}

/** @returns the offset behind a short string without escapes; `at` for anything else. */
function pastText(bytes: Buffer, at: number): number {
  if (bytes[at] !== QUOTE) return at;
  for (let end = at + 1; end < at + TEXT_BYTES_MAX; end++) {
    if (bytes[end] === QUOTE) return end + 1;
    if (bytes[end] === BACKSLASH) return at;
  }
  return at;
}

const NULL = Buffer.from('null');
const TRUE = Buffer.from('true');
/** What a property may have in place of a schema, as it mostly stands in JSON. Such words are found ten times as fast with their colon. */
const OTHER_VALUES = [':true', ':null'].map((value) => Buffer.from(value));
const SPACED_VALUES = [': true', ': null'].map((value) => Buffer.from(value));
const ANYTHING = Buffer.from('{}');
const NO_BYTES = Buffer.alloc(0);
const EMPTY_BYTES = 2;
const OTHER_FORM: Readonly<Record<number, string>> = { [jsonKind.array]: '{}', [jsonKind.object]: '[]' };
/** A member, and the JSON that replaces it; without one, the item's name. */
type MemberDefault = readonly [member: string, putIn?: string];
const TOOL_DEFAULTS: readonly MemberDefault[] = [
  ['title'],
  ['description', '""'],
  ['annotations', '{}'],
  ['icons', '[]'],
  ['execution', '{}'],
  ['_meta', '{}'],
];
/** Members of prompts, resources and templates, of their arguments and annotations, that are removed if they are `null`. */
const OPTIONAL_MEMBERS = [
  ...['name', 'title', 'description', 'mimeType', 'size', 'icons', '_meta', 'annotations', 'arguments'],
  ...['required', 'audience', 'priority', 'lastModified'],
];
const HINT_DEFAULTS: readonly MemberDefault[] = [
  ['title'],
  ['readOnlyHint', 'false'],
  ['destructiveHint', 'true'],
  ['idempotentHint', 'false'],
  ['openWorldHint', 'true'],
];
const SCHEMA_DEFAULTS: readonly MemberDefault[] = [
  ['properties', '{}'],
  ['required', '[]'],
];
/** Members of schemas, with the first byte that their values must have. */
const SCHEMA_MEMBERS = [
  { name: Buffer.from('properties"'), first: 0x7b },
  { name: Buffer.from('required"'), first: 0x5b },
];
const OBJECT_SCHEMA = '{"type":"object"}';
const INPUT_SCHEMA_MEMBER = Buffer.from(`,"inputSchema":${OBJECT_SCHEMA}`);
const NAME_MEMBER = Buffer.from(',"name":');
const NOT_AN_OBJECT = -3;
const LEADING_MEMBERS_MAX = 3;
const TEXT_BYTES_MAX = 128;
const [SPACE, QUOTE, COMMA, COLON, BACKSLASH] = [0x20, 0x22, 0x2c, 0x3a, 0x5c];
const TYPE = Buffer.from('"type"');
const OBJECT = Buffer.from('"object"');
const TYPE_AT_END = Buffer.from('"type":"object"}');
