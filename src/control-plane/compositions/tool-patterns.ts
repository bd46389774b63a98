// `*` in the tool names of a composition: any number of characters, including none. Patterns are resolved when the
// composition is published, against the tools that were last read, and again when these change. Cold path.
import { limits, KIB } from '../../shared/index.js';

/** Tools of one server that a composition's patterns match; the server decides how many exist. Beyond that, the rest is not served. */
export const MATCHED_TOOLS_MAX = 1_000;
/** Characters of the names of these tools. Beyond that, the rest is not served. */
export const MATCHED_TOOL_CHARS_MAX = 32 * KIB;

/** `*` stands for every tool, also those that the server did not show the control plane: the dataplane then checks no tool names. */
export function includesAllTools(tools: readonly string[]): boolean {
  return tools.includes('*');
}

/** No tool name contains a `*`. */
export function isPattern(tool: string): boolean {
  return tool.includes('*');
}

/**
 * Plain names unchanged, and the tools that each pattern matches, in the server's order, without duplicates. Because a
 * server's list determines what is written into other people's configs, matching stops at a bound.
 */
export function matchedTools(tools: readonly string[], names: Iterable<string>): readonly string[] {
  const matched = new Set(tools.filter((tool) => !isPattern(tool)));
  const patterns = tools.filter(isPattern).map((pattern) => pattern.split('*'));
  if (patterns.length === 0) return [...matched];
  let [countLeft, charsLeft]: [number, number] = [MATCHED_TOOLS_MAX, MATCHED_TOOL_CHARS_MAX];
  for (const name of names) {
    if (name.length > limits.toolPatternCharsMax || matched.has(name)) continue;
    if (!patterns.some((pieces) => isMatch(pieces, name))) continue;
    charsLeft -= name.length;
    if (countLeft-- === 0 || charsLeft < 0) break;
    matched.add(name);
  }
  return [...matched];
}

export function matchesAny(pattern: string, names: Iterable<string>): boolean {
  const pieces = pattern.split('*');
  for (const name of names) if (name.length <= limits.toolPatternCharsMax && isMatch(pieces, name)) return true;
  return false;
}

/** @param pieces the texts between the stars, two at least. If the pattern matches, it matches with the leftmost position of each piece. */
function isMatch(pieces: readonly string[], name: string): boolean {
  const [first = '', last = ''] = [pieces[0], pieces.at(-1)];
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last)) return false;
  const end = name.length - last.length;
  let position = first.length;
  for (const piece of pieces.slice(1, -1)) {
    const found = name.indexOf(piece, position);
    if (found === -1) return false;
    position = found + piece.length;
  }
  return position <= end;
}
