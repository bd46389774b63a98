// Whether a URI matches a template: RFC 6570, level 1, where `{name}` stands for unreserved characters and percent-escapes.
// Templates of higher levels match nothing. Neither is trusted: time is linear in the length of either.
import { limits } from '../../shared/limits.js';

const EXPRESSION = /\{([^{}]*)\}/;
/** The name of a variable of level 1 (2.3). */
const VARIABLE = /^(?:\w|%[0-9A-Fa-f]{2})(?:[\w.]|%[0-9A-Fa-f]{2})*$/;
const EXPANDED = /^(?:[A-Za-z0-9\-._~%]|[^\0-\x7f])*$/;

/** A server resolves such a segment to another path, which the template may not allow. */
const DOT_SEGMENT = /(?:^|[/\\])(?:\.|%2e){1,2}(?:[/\\?#]|$)/i;

/** The texts around the variables, one more than there are variables; `undefined` for a template of a higher level. */
function literalsOf(template: string): readonly string[] | undefined {
  // Because of the capturing group, every second part is a variable's name.
  const parts = template.split(EXPRESSION);
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

/**
 * Each text between variables is matched at its first occurrence. A later one is never needed: if it led to a match, the text between
 * the two would be part of a variable, and the next variable could take it just as well.
 */
export function matchesTemplate(uri: string, template: string): boolean {
  const literals = literalsOf(template);
  if (literals === undefined) return false;
  const [first = '', ...rest] = literals;
  const last = rest.pop();
  if (last === undefined) return uri === first;
  if (!uri.startsWith(first)) return false;
  if (DOT_SEGMENT.test(uri)) return false;
  let at = first.length;
  for (const literal of rest) {
    if (literal.length > limits.templateTextCharsMax) return false;
    const found = uri.indexOf(literal, at);
    if (found === -1 || !EXPANDED.test(uri.slice(at, found))) return false;
    at = found + literal.length;
  }
  const end = uri.length - last.length;
  return end >= at && uri.endsWith(last) && EXPANDED.test(uri.slice(at, end));
}

export function isTemplate(text: string): boolean {
  return text.includes('{');
}
