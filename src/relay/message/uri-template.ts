// Whether a URI is one that a template makes: RFC 6570, level 1, where `{name}` stands for unreserved characters and
// percent-escapes. Templates of higher levels match nothing. Both come from strangers: time is linear in either.
import { limits } from '../../shared/limits.js';

const EXPRESSION = /\{([^{}]*)\}/;
/** What a variable of level 1 is called (2.3). */
const VARIABLE = /^(?:\w|%[0-9A-Fa-f]{2})(?:[\w.]|%[0-9A-Fa-f]{2})*$/;
const EXPANDED = /^(?:[A-Za-z0-9\-._~%]|[^\0-\x7f])*$/;

/** Servers take such a segment for a step to another place, which the template need not make. */
const DOT_SEGMENT = /(?:^|[/\\])(?:\.|%2e){1,2}(?:[/\\?#]|$)/i;

/** What stands between the variables: one text more than there are variables. */
function literalsOf(template: string): readonly string[] | undefined {
  // With a capturing group the variables are every other part.
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
 * Each text between variables is taken where it comes first: were a later place right, what lies between would have to be a
 * variable's as well, and the rest could have it.
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
