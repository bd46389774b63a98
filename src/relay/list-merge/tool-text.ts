// The searchable text of a tool: its title and description. Most tools begin with them, as strings without escapes, and end with long
// schemas, which are then not scanned at all.
import { ESCAPE_BYTES_MAX, isKey, stringValue } from '../../protocol/json-member.js';
import { JsonScanner, jsonKind } from '../../protocol/json-scanner.js';

/** Characters of a tool's title, and of its description, that `find_tools` searches. Beyond it, the rest is not searched. */
export const TOOL_TEXT_CHARS_MAX = 2_000;

/** Reaches the members of a tool, and nothing nested in them. */
const ITEM_DEPTH = 1;
/** How much of a tool is looked at first. */
const BEGINNING_BYTES = 512;

const tape = new JsonScanner();

/** The text in lower case. @param start where the tool, which is valid JSON, begins in the bytes. */
export function textOf(bytes: Buffer, start: number, end: number): string {
  const beginningEnd = Math.min(end, start + BEGINNING_BYTES);
  const text = plainTextOf(bytes, start, beginningEnd) ?? scannedTextOf(bytes, start, beginningEnd, end);
  return text.toLowerCase();
}

/** `undefined` if only a scanner can be sure. A title after the first nested value is ignored. */
function plainTextOf(bytes: Buffer, start: number, end: number): string | undefined {
  // One character per byte.
  const beginning = bytes.toString('latin1', start, end);
  const description = plainMember(beginning, '"description":"', nestedAt(beginning, 1));
  if (typeof description === 'string') return undefined;
  const title = plainMember(beginning, '"title":"', nestedAt(beginning, description.end));
  if (title === 'unsure') return undefined;
  const textAt = ({ start: from, end: to }: PlainString): string =>
    ASCII.test(beginning.slice(from, to))
      ? beginning.slice(from, to)
      : bytes.toString('utf8', start + from, start + to);
  return `${title === 'none' ? '' : textAt(title)} ${textAt(description)}`;
}

interface PlainString {
  readonly start: number;
  readonly end: number;
}

/** The first member that begins so, if it is not after `before`. @returns where its value is, without quotes. */
function plainMember(tool: string, beginning: string, before: number): PlainString | 'none' | 'unsure' {
  const at = tool.indexOf(beginning);
  if (at === -1 || at > before) return 'none';
  // After a backslash, the quote is part of a longer name.
  if (tool.charCodeAt(at - 1) === BACKSLASH) return 'unsure';
  const start = at + beginning.length;
  const end = tool.indexOf('"', start);
  const escape = tool.indexOf('\\', start);
  return end === -1 || (escape !== -1 && escape < end) ? 'unsure' : { start, end };
}

/** Where the first nested object or array could begin. */
function nestedAt(tool: string, from: number): number {
  const object = tool.indexOf('{', from);
  const list = tool.indexOf('[', from);
  return Math.min(object === -1 ? tool.length : object, list === -1 ? tool.length : list);
}

const BACKSLASH = 0x5c;
const ASCII = /^[ -~]*$/;

function scannedTextOf(bytes: Buffer, start: number, beginningEnd: number, end: number): string {
  const tool = bytes.subarray(start, end);
  tape.begin(ITEM_DEPTH);
  tape.push(bytes.subarray(start, beginningEnd));
  if (beginningEnd < end) {
    // The last value may be incomplete.
    const begun = memberText(tool, 'description', tape.count - 1);
    if (begun !== undefined) return `${memberText(tool, 'title', tape.count - 1) ?? ''} ${begun}`;
    tape.push(bytes.subarray(beginningEnd, end));
  }
  return `${memberText(tool, 'title') ?? ''} ${memberText(tool, 'description') ?? ''}`;
}

/** The text of the first member with this name, the only one that is searched. */
function memberText(tool: Buffer, name: string, past = tape.count): string | undefined {
  for (let node = 1; node < past; node += 1) {
    if (tape.kind(node) !== jsonKind.string || !isKey(tool, tape.keyStart(node), tape.keyEnd(node), name)) continue;
    const [start, end] = [tape.start(node), tape.end(node)];
    const charsMax = TOOL_TEXT_CHARS_MAX;
    // A very long text is cut first, with its escapes as they are: decoding all of it is not worth it.
    const text =
      end - start > ESCAPE_BYTES_MAX * charsMax
        ? tool.toString('utf8', start + 1, start + 1 + charsMax)
        : stringValue(tool, start, end);
    return text.slice(0, charsMax);
  }
  return undefined;
}
