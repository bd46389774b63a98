// `*` in the tool names of a composition stands for any number of characters. Patterns are resolved against the server's
// tools when the composition is published, and again when these change. Cold path.
import { limits, KIB } from '../../shared/index.js';

/** The most tools that the patterns for one server may match. Further ones are not served. */
export const MATCHED_TOOLS_MAX = 1_000;
/** The most characters of the names of the tools that these patterns match. Further tools are not served. */
export const MATCHED_TOOL_CHARS_MAX = 32 * KIB;

/** Whether `*` is among the tools. Then no allow-list is published, which allows even tools that no probe has found. */
export function includesAllTools(tools: readonly string[]): boolean {
  return tools.includes('*');
}

/** Whether the text is a pattern: names of tools contain no `*`. */
export function isPattern(tool: string): boolean {
  return tool.includes('*');
}

/**
 * The plain names, and the tools that the patterns match, in the server's order. Matching is bounded, because the server's
 * list determines what is written into other people's configs.
 */
export function matchedTools(tools: readonly string[], names: Iterable<string>): readonly string[] {
  const matched = new Set(tools.filter((tool) => !isPattern(tool)));
  const patterns = tools.filter(isPattern).map((pattern) => pattern.split('*'));
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

/** @param pieces the texts between the stars. Each is sought at its leftmost position: any other match implies this one. */
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
