// A tool or prompt in a list as a config shows it: with another name, title or description, and without the arguments that callers may
// not give. All other bytes of the item stay. Warm path: only items that a curation entry names come here.
import { cutsOf } from '../../protocol/json-cuts.js';
import { isKey, stringValue } from '../../protocol/json-member.js';
import { JsonScanner, jsonKind } from '../../protocol/json-scanner.js';
import { folded, type CuratedItem } from '../../user-config/curation.js';
import type { Edit } from '../message/edits.js';

/** Reaches property names in a tool's schema and argument names of a prompt: `{"inputSchema":{"properties":{"v":…}}}`. */
const ITEM_DEPTH = 3;

const tape = new JsonScanner();

/**
 * The edits that turn the item into what callers see, except for its name.
 * @param item the backend's whole item.
 * @returns `undefined` for an item that has too many JSON values to be scanned.
 */
export function curatedEdits(item: Buffer, { entry, closedArguments }: CuratedItem): Edit[] | undefined {
  if (!tape.scan(item, ITEM_DEPTH)) return undefined;
  const edits: Edit[] = [];
  setText(edits, item, 'title', entry.title);
  setText(edits, item, 'description', entry.description);
  if (closedArguments.size === 0) return edits;
  const isClosed = (start: number, end: number): boolean => closedArguments.has(folded(stringValue(item, start, end)));
  const cut = (node: number, isUnwanted: (child: number) => boolean): void => {
    for (const { start, end } of cutsOf(tape, node, isUnwanted)) edits.push({ start, end, putIn: NOTHING });
  };
  // Of a tool. Parsers differ in which of two duplicate members they take, so each of them is cut.
  for (const schema of membersNamed(item, 0, 'inputSchema', jsonKind.object)) {
    for (const properties of membersNamed(item, schema, 'properties', jsonKind.object))
      cut(properties, (child) => isClosed(tape.keyStart(child) - 1, tape.keyEnd(child) + 1));
    for (const required of membersNamed(item, schema, 'required', jsonKind.array))
      cut(required, (child) => isText(child) && isClosed(tape.start(child), tape.end(child)));
  }
  // Of a prompt.
  for (const list of membersNamed(item, 0, 'arguments', jsonKind.array))
    cut(list, (child) =>
      membersNamed(item, child, 'name', jsonKind.string).some((name) => isClosed(tape.start(name), tape.end(name))),
    );
  return edits;
}

/** Replaces the item's text of this name, or adds it before the other members. */
function setText(edits: Edit[], item: Buffer, name: string, text: string | undefined): void {
  if (text === undefined) return;
  const value = JSON.stringify(text);
  const members = membersNamed(item, 0, name);
  for (const node of members) edits.push({ start: tape.start(node), end: tape.end(node), putIn: Buffer.from(value) });
  if (members.length > 0) return;
  // An item has a name, so another member follows the comma.
  const at = tape.start(0) + 1;
  const putIn = Buffer.from(`${JSON.stringify(name)}:${value},`);
  const before = edits.findIndex(({ start, end }) => start === at && end === at);
  // Two insertions in one place become one edit.
  if (before === -1) edits.push({ start: at, end: at, putIn });
  else edits[before] = { start: at, end: at, putIn: Buffer.concat([edits[before]!.putIn, putIn]) };
}

/** The nodes of an object's members of this name, of one kind if one is given. @param name ASCII. */
function membersNamed(item: Buffer, object: number, name: string, kind?: number): number[] {
  const nodes: number[] = [];
  if (tape.kind(object) !== jsonKind.object) return nodes;
  const past = tape.next(object);
  for (let node = object + 1; node < past; node = tape.next(node)) {
    if (!isKey(item, tape.keyStart(node), tape.keyEnd(node), name)) continue;
    if (kind === undefined || tape.kind(node) === kind) nodes.push(node);
  }
  return nodes;
}

function isText(node: number): boolean {
  return tape.kind(node) === jsonKind.string;
}

const NOTHING = Buffer.alloc(0);
