// One page of a backend's `tools/list`, read as spans: the gateway changes names, and passes every other byte of a tool
// on as it came. Hot where lists are long: one pass over the page, nothing decoded but names.
import type { Buffer } from 'node:buffer';
import { ABSENT, findMember, stringValue } from './json-member.js';
import { JsonScanner, jsonKind } from './json-scanner.js';

/** Offsets are into the message's bytes, ends exclusive. */
export interface ListedTool {
  /** The tool object, braces included. */
  readonly start: number;
  readonly end: number;
  /** The string token of its name, quotes included. */
  readonly nameStart: number;
  readonly nameEnd: number;
  readonly name: string;
}

export interface ToolPage {
  readonly tools: readonly ListedTool[];
  /** `''` is a cursor (N10); `undefined` is the last page. */
  readonly nextCursor: string | undefined;
}

/** A tool's own members are the deepest values that are looked at: `{"tools":[{"name":…}]}`. */
const PAGE_DEPTH = 3;

const scanner = new JsonScanner();

/**
 * @param resultStart where the answer's `result` stands in `bytes`.
 * @returns `undefined` when it is not a list of tools that each have one name.
 */
export function readToolPage(bytes: Buffer, resultStart: number, resultEnd: number): ToolPage | undefined {
  const result = bytes.subarray(resultStart, resultEnd);
  if (!scanner.scan(result, PAGE_DEPTH) || scanner.kind(0) !== jsonKind.object) return undefined;
  const list = findMember(scanner, result, 0, 'tools');
  const cursor = findMember(scanner, result, 0, 'nextCursor');
  if (list < 0 || scanner.kind(list) !== jsonKind.array || !isCursor(cursor)) return undefined;
  const tools: ListedTool[] = [];
  const past = scanner.next(list);
  for (let node = list + 1; node < past; node = scanner.next(node)) {
    const name = scanner.kind(node) === jsonKind.object ? findMember(scanner, result, node, 'name') : ABSENT;
    if (name < 0 || scanner.kind(name) !== jsonKind.string) return undefined;
    tools.push({
      start: resultStart + scanner.start(node),
      end: resultStart + scanner.end(node),
      nameStart: resultStart + scanner.start(name),
      nameEnd: resultStart + scanner.end(name),
      name: stringValue(result, scanner.start(name), scanner.end(name)),
    });
  }
  const isLast = cursor === ABSENT || scanner.kind(cursor) === jsonKind.null;
  return { tools, nextCursor: isLast ? undefined : stringValue(result, scanner.start(cursor), scanner.end(cursor)) };
}

function isCursor(node: number): boolean {
  if (node < 0) return node === ABSENT;
  const kind = scanner.kind(node);
  return kind === jsonKind.string || kind === jsonKind.null;
}
