// Resource URIs as callers see them: `<backend>+<uri>`, and `ui://<backend>/<rest>` for `ui://<rest>`, because hosts of
// MCP Apps require that scheme. `user-config/routing.ts` defines how the backend's name is written.
import { endOfPrefix, type Insertion } from '../bytes/index.js';
import type { CompiledBackend, CompiledVirtualHost } from '../user-config/index.js';

// Whether a URI matches templates: RFC 6570, level 1, where `{name}` stands for unreserved characters and percent-escapes. Templates of
// higher levels match nothing. Neither is trusted: time is linear in the length of either, and the URI is examined once for all templates.

/** Variables of a URI template, each of which is a search in a URI. Beyond that, the template matches nothing. */
export const TEMPLATE_VARIABLES_MAX = 32;
/**
 * Characters between two variables of a URI template. Beyond that, the template matches nothing: searching for a longer text may cost its
 * length for each character of the URI.
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

const UI = 'ui://';

/** Bytes to insert into a message. */
export interface UriRoute {
  readonly backend: CompiledBackend;
  /** The URI as the backend knows it. */
  readonly bareUri: string;
  /** The span, in characters, of the caller's URI that is not in the backend's. Everything before its end is ASCII. */
  readonly cutStart: number;
  readonly cutEnd: number;
}

/** What is inserted into the URIs of one backend. */
export interface UriPrefix {
  readonly plain: Buffer;
  readonly ui: Buffer;
}

export function uriPrefix(uriName: string): UriPrefix {
  if (uriName !== lastName) {
    lastPrefix = { plain: Buffer.from(`${uriName}+`), ui: Buffer.from(`${uriName}/`) };
    lastName = uriName;
  }
  return lastPrefix;
}

/** The last prefix, cached because the next answer often needs the same one. */
let lastName = '';
let lastPrefix: UriPrefix = { plain: Buffer.from('+'), ui: Buffer.from('/') };

/** The caller's form of a backend's URI. */
export function callersUri(uriName: string, uri: string): string {
  return uri.startsWith(UI) ? `${UI}${uriName}/${uri.slice(UI.length)}` : `${uriName}+${uri}`;
}

/** The insertion that brings the string token between the offsets, which include its quotes, into the caller's form. */
export function uriInsertion(bytes: Buffer, start: number, end: number, prefix: UriPrefix): Insertion {
  const behindUi = endOfPrefix(bytes, start, end, UI);
  return behindUi === -1 ? { at: start + 1, putIn: prefix.plain } : { at: behindUi, putIn: prefix.ui };
}

/** @returns `undefined` for a URI that belongs to no backend of the virtual host. */
export function routeUri(virtualHost: CompiledVirtualHost, uri: string): UriRoute | undefined {
  const cutStart = uri.startsWith(UI) ? UI.length : 0;
  const nameEnd = uri.indexOf(cutStart === 0 ? '+' : '/', cutStart);
  if (nameEnd === -1) return undefined;
  const cutEnd = nameEnd + 1;
  // A `ui:` URI after `<backend>+` is accepted too: a template may expand to one, and the client that expands it does not know our form.
  const bareUri = uri.slice(0, cutStart) + uri.slice(cutEnd);
  const backend = findBackend(virtualHost, uri.slice(cutStart, nameEnd));
  return backend && { backend, bareUri, cutStart, cutEnd };
}

/**
 * Schemes and hosts are case-insensitive, and many clients write them in lower case: a name that differs only in case is found
 * all the same, unless it could be another backend's.
 */
function findBackend({ backendsByUriName }: CompiledVirtualHost, name: string): CompiledBackend | undefined {
  // ASCII only: lower-casing turns some non-ASCII letters, which have more than one byte, into ASCII letters.
  if (Buffer.byteLength(name) !== name.length) return undefined;
  const backend = backendsByUriName.get(name);
  if (backend !== undefined) return backend;
  for (const [uriName, candidate] of backendsByUriName) {
    const isLike = uriName.toLowerCase() === name.toLowerCase();
    if (isLike && !candidate.hasTwin) return candidate;
  }
  return undefined;
}
