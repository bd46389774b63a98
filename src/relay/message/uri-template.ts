// Whether a URI matches templates: RFC 6570, level 1, where `{name}` stands for unreserved characters and percent-escapes. Templates of
// higher levels match nothing. Neither is trusted: time is linear in the length of either, and the URI is examined once for all templates.

/** Variables of a URI template, each of which is a search in a URI. Beyond it, the template matches nothing. */
export const TEMPLATE_VARIABLES_MAX = 32;
/**
 * Text between two variables of a URI template. Beyond it, the template matches nothing. Searching for a longer text may cost its length
 * for each character of the URI.
 */
export const TEMPLATE_TEXT_CHARS_MAX = 250;

const EXPRESSION = /\{([^{}]*)\}/;
/** The name of a variable of level 1 (2.3). */
const VARIABLE = /^(?:\w|%[0-9A-Fa-f]{2})(?:[\w.]|%[0-9A-Fa-f]{2})*$/;
const EXPANDED = /[A-Za-z0-9\-._~%]/;
const IS_EXPANDED = Array.from({ length: 128 }, (_, code) => EXPANDED.test(String.fromCharCode(code)));

/**
 * A server resolves such a segment to another path, which the template may not allow; also behind an escaped separator, as servers decode
 * what stands for a variable.
 */
const DOT_SEGMENT = /(?:^|[/\\]|%2f|%5c)(?:\.|%2e){1,2}(?:[/\\?#]|%2f|%5c|%3f|%23|$)/i;

/** The texts around the variables, one more than there are variables; `undefined` for a template of a higher level, or an endless one. */
function literalsOf(template: string): readonly string[] | undefined {
  // Because of the capturing group, every second part is a variable's name.
  const partsMax = 2 * TEMPLATE_VARIABLES_MAX + 1;
  const parts = template.split(EXPRESSION, partsMax + 1);
  if (parts.length > partsMax) return undefined;
  const literals: string[] = [];
  for (const [index, part] of parts.entries()) {
    if (index % 2 === 0) {
      if (/[{}]/.test(part)) return undefined;
      literals.push(part);
    } else if (!VARIABLE.test(part)) {
      return undefined;
    }
  }
  return literals;
}

/** A URI that is matched against many templates. */
export class MatchedUri {
  readonly #uri: string;
  #hasDotSegment: boolean | undefined;
  /** For each place in the URI, where a variable that begins there has to end. */
  #variableEnds: Uint32Array | undefined;

  constructor(uri: string) {
    this.#uri = uri;
  }

  /**
   * Each text between variables is matched at its first occurrence. A later one is never needed: if it led to a match, the text between
   * the two would be part of a variable, and the next variable could take it just as well.
   */
  matches(template: string): boolean {
    const uri = this.#uri;
    const firstEnd = template.indexOf('{');
    if (firstEnd === -1) return uri === template && !template.includes('}');
    if (!uri.startsWith(template.slice(0, firstEnd))) return false;
    if ((this.#hasDotSegment ??= DOT_SEGMENT.test(uri))) return false;
    const literals = literalsOf(template);
    const last = literals?.at(-1);
    if (literals === undefined || last === undefined) return false;
    const ends = (this.#variableEnds ??= variableEnds(uri));
    let at = firstEnd;
    for (const literal of literals.slice(1, -1)) {
      if (literal.length > TEMPLATE_TEXT_CHARS_MAX) return false;
      const found = uri.indexOf(literal, at);
      if (found === -1 || ends[at]! < found) return false;
      at = found + literal.length;
    }
    const end = uri.length - last.length;
    return end >= at && ends[at]! >= end && uri.endsWith(last);
  }
}

function variableEnds(uri: string): Uint32Array {
  const ends = new Uint32Array(uri.length + 1).fill(uri.length);
  for (let at = uri.length - 1; at >= 0; at -= 1) {
    // What is not ASCII may stand for itself.
    ends[at] = IS_EXPANDED[uri.charCodeAt(at)] === false ? at : ends[at + 1]!;
  }
  return ends;
}

export function isTemplate(text: string): boolean {
  return text.includes('{');
}
