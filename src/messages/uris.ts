// Resource URIs as callers see them: `<backend>+<uri>`, as in `docs+https://example.com/a`; but `ui://<backend>/<rest>` for `ui://<rest>`,
// because hosts of MCP Apps require that scheme. `user-config/routing.ts` defines how the backend's name is written.
import { endOfPrefix, type Insertion } from '../bytes/index.js';
import type { CompiledBackend, CompiledVirtualHost } from '../user-config/index.js';

/** The most variables of a URI template, each of which costs a search in a URI. A template with more matches nothing. */
export const TEMPLATE_VARIABLES_MAX = 32;
/**
 * The most characters between two variables of a URI template. With more, the template matches nothing: a search for a long text may cost
 * its length for each character of the URI.
 */
export const TEMPLATE_TEXT_CHARS_MAX = 250;

const EXPRESSION = /\{([^{}]*)\}/;
/** The name of a variable in a template of level 1 (RFC 6570, 2.3). */
const VARIABLE = /^(?:\w|%[0-9A-Fa-f]{2})(?:[\w.]|%[0-9A-Fa-f]{2})*$/;
const VALUE_CHARACTER = /[A-Za-z0-9\-._~%]/;
const IS_VALUE_CHARACTER = Array.from({ length: 128 }, (_, code) => VALUE_CHARACTER.test(String.fromCharCode(code)));

/**
 * A path segment `.` or `..`, which may lead to a path that the template does not allow. Also behind an escaped separator, since servers
 * decode variables.
 */
const DOT_SEGMENT = /(?:^|[/\\]|%2f|%5c)(?:\.|%2e){1,2}(?:[/\\?#]|%2f|%5c|%3f|%23|$)/i;

/** A template that is matched against many URIs; it is read once a URI begins like it. */
export class UriTemplate {
  readonly text: string;
  /** The text before the first variable; all of it if there is none. */
  readonly beginning: string;
  #literals: readonly string[] | undefined | null = null;

  constructor(text: string) {
    const end = text.indexOf('{');
    this.text = text;
    this.beginning = end === -1 ? text : text.slice(0, end);
  }

  get literals(): readonly string[] | undefined {
    return this.#literals === null ? (this.#literals = literalsOf(this.text)) : this.#literals;
  }
}

/** The texts around the variables; `undefined` for a template of a higher level, or with too many variables. */
function literalsOf(template: string): readonly string[] | undefined {
  // The capturing group makes every second part a variable's name.
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

/**
 * Matches one URI against many templates of RFC 6570, level 1, where `{name}` stands for unreserved characters and percent-escapes;
 * templates of higher levels match nothing. Neither the URI nor a template is trusted, so the time is linear in the length of each.
 */
export class UriMatcher {
  readonly #uri: string;
  #hasDotSegment: boolean | undefined;
  /** For each offset, the last offset at which a variable that begins there can end. */
  #variableEnds: Uint32Array | undefined;

  constructor(uri: string) {
    this.#uri = uri;
  }

  /**
   * Each text between variables is matched at its first occurrence. A later occurrence is never needed: the characters between the two
   * occurrences could as well be part of the next variable.
   */
  matches(template: UriTemplate): boolean {
    const uri = this.#uri;
    const { text, beginning } = template;
    if (beginning === text) return uri === text && !text.includes('}');
    if (!uri.startsWith(beginning)) return false;
    if ((this.#hasDotSegment ??= DOT_SEGMENT.test(uri))) return false;
    const { literals } = template;
    const last = literals?.at(-1);
    if (literals === undefined || last === undefined || !uri.endsWith(last)) return false;
    const ends = (this.#variableEnds ??= variableEnds(uri));
    let at = beginning.length;
    for (let index = 1; index < literals.length - 1; index += 1) {
      const literal = literals[index]!;
      if (literal.length > TEMPLATE_TEXT_CHARS_MAX) return false;
      const found = uri.indexOf(literal, at);
      if (found === -1 || ends[at]! < found) return false;
      at = found + literal.length;
    }
    const end = uri.length - last.length;
    return end >= at && ends[at]! >= end;
  }
}

function variableEnds(uri: string): Uint32Array {
  const ends = new Uint32Array(uri.length + 1).fill(uri.length);
  for (let at = uri.length - 1; at >= 0; at -= 1) {
    // A character that is not ASCII may be part of a variable's value.
    ends[at] = IS_VALUE_CHARACTER[uri.charCodeAt(at)] === false ? at : ends[at + 1]!;
  }
  return ends;
}

export function isTemplate(text: string): boolean {
  return text.includes('{');
}

const UI_SCHEME = 'ui://';

/** The backend that a caller's URI belongs to. */
export interface UriRoute {
  readonly backend: CompiledBackend;
  /** The URI as the backend writes it. */
  readonly bareUri: string;
  /** The span of the backend's name and its separator in the caller's URI. Everything before `cutEnd` is ASCII. */
  readonly cutStart: number;
  readonly cutEnd: number;
}

/** The bytes to insert into the URIs of one backend: into those of the scheme `ui:`, and into all others. */
export interface UriPrefix {
  readonly plain: Buffer;
  readonly ui: Buffer;
}

export function uriPrefix(uriName: string): UriPrefix {
  if (uriName !== lastUriName) {
    lastPrefix = { plain: Buffer.from(`${uriName}+`), ui: Buffer.from(`${uriName}/`) };
    lastUriName = uriName;
  }
  return lastPrefix;
}

/** The name for which `lastPrefix` was made: the next answer often needs the same prefix. */
let lastUriName = '';
let lastPrefix: UriPrefix = { plain: Buffer.from('+'), ui: Buffer.from('/') };

export function callersUri(uriName: string, uri: string): string {
  return uri.startsWith(UI_SCHEME) ? `${UI_SCHEME}${uriName}/${uri.slice(UI_SCHEME.length)}` : `${uriName}+${uri}`;
}

/** What to insert into a URI for the caller's form. @param start,end the span of the string token, with its quotes. */
export function uriInsertion(bytes: Buffer, start: number, end: number, prefix: UriPrefix): Insertion {
  const uiPrefixEnd = endOfPrefix(bytes, start, end, UI_SCHEME);
  return uiPrefixEnd === -1 ? { at: start + 1, putIn: prefix.plain } : { at: uiPrefixEnd, putIn: prefix.ui };
}

/** The backend of a URI. @returns `undefined` for a URI that belongs to no backend of the virtual host. */
export function routeUri(virtualHost: CompiledVirtualHost, uri: string): UriRoute | undefined {
  const cutStart = uri.startsWith(UI_SCHEME) ? UI_SCHEME.length : 0;
  const nameEnd = uri.indexOf(cutStart === 0 ? '+' : '/', cutStart);
  if (nameEnd === -1) return undefined;
  const cutEnd = nameEnd + 1;
  // `<backend>+ui://…` is accepted, too: a client may get it by expanding a template.
  const bareUri = uri.slice(0, cutStart) + uri.slice(cutEnd);
  const backend = findBackend(virtualHost, uri.slice(cutStart, nameEnd));
  return backend && { backend, bareUri, cutStart, cutEnd };
}

/**
 * Many clients write schemes and hosts in lower case, so a name that differs only in case is also found, unless it could be another
 * backend's.
 */
function findBackend({ backendsByUriName }: CompiledVirtualHost, name: string): CompiledBackend | undefined {
  // Only ASCII is searched: some other letters become ASCII in lower case, and have more than one byte.
  if (Buffer.byteLength(name) !== name.length) return undefined;
  const backend = backendsByUriName.get(name);
  if (backend !== undefined) return backend;
  for (const [uriName, candidate] of backendsByUriName) {
    const isLike = uriName.toLowerCase() === name.toLowerCase();
    if (isLike && !candidate.hasCaseVariant) return candidate;
  }
  return undefined;
}
