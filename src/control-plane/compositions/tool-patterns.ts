// `*` in what a composition names of a server's tools: any number of characters, none too. What it comes to is decided when the
// composition is published, by the tools that were last read, and again when these are others. Cold.
import { limits } from '../../shared/limits.js';

/** Of tools no name has one. */
export function isPattern(tool: string): boolean {
  return tool.includes('*');
}

/**
 * Names as they are, and for each pattern what it matches, in the server's order, each once. What a server lists decides what is
 * written into the configs of others: beyond a bound nothing more is matched.
 */
export function matchedTools(tools: readonly string[], names: Iterable<string>): readonly string[] {
  const matched = new Set(tools.filter((tool) => !isPattern(tool)));
  const patterns = tools.filter(isPattern).map((pattern) => pattern.split('*'));
  if (patterns.length === 0) return [...matched];
  let [countLeft, charsLeft]: [number, number] = [limits.matchedToolsMax, limits.matchedToolCharsMax];
  for (const name of names) {
    if (name.length > limits.toolPatternCharsMax || matched.has(name)) continue;
    if (!patterns.some((pieces) => isMatch(pieces, name))) continue;
    charsLeft -= name.length;
    if (countLeft-- === 0 || charsLeft < 0) break;
    matched.add(name);
  }
  return [...matched];
}

/** Whether the pattern matches any of them. */
export function matchesAny(pattern: string, names: Iterable<string>): boolean {
  const pieces = pattern.split('*');
  for (const name of names) if (name.length <= limits.toolPatternCharsMax && isMatch(pieces, name)) return true;
  return false;
}

/** @param pieces between the stars, two at least. Each is looked for where the one before ends: that is as good as any other place. */
function isMatch(pieces: readonly string[], name: string): boolean {
  const [first = '', last = ''] = [pieces[0], pieces.at(-1)];
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last)) return false;
  const end = name.length - last.length;
  let place = first.length;
  for (const piece of pieces.slice(1, -1)) {
    const found = name.indexOf(piece, place);
    if (found === -1) return false;
    place = found + piece.length;
  }
  return place <= end;
}
