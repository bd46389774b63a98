// URIs of resources as callers see them: `<backend>+<uri>`, and `ui://<backend>/<rest>` for `ui://<rest>`, because hosts of
// MCP Apps insist on that scheme. The backend's name is written as `user-config/uri-name.ts` has it.
import { prefixEnd } from '../../protocol/json-member.js';
import type { CompiledBackend, CompiledVirtualHost } from '../../user-config/compiled-config.js';

const UI = 'ui://';

/** Something that is put into bytes. */
export interface Insertion {
  readonly at: number;
  readonly putIn: Buffer;
}

export interface UriRoute {
  readonly backend: CompiledBackend;
  /** The URI as the backend knows it. */
  readonly bareUri: string;
  /** Where in the caller's URI, counted in characters, what is not in the backend's begins and ends. All before it is ASCII. */
  readonly cutStart: number;
  readonly cutEnd: number;
}

/** What goes into the URIs of one backend. */
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

/** The one that was asked for last: of the next answer it is often the same. */
let lastName = '';
let lastPrefix: UriPrefix = { plain: Buffer.from('+'), ui: Buffer.from('/') };

/** The caller's form of a backend's URI. */
export function callersUri(uriName: string, uri: string): string {
  return uri.startsWith(UI) ? `${UI}${uriName}/${uri.slice(UI.length)}` : `${uriName}+${uri}`;
}

/** What makes the string token between the offsets, which take in its quotes, the caller's form; all its bytes stay. */
export function uriInsertion(bytes: Buffer, start: number, end: number, prefix: UriPrefix): Insertion {
  const behindUi = prefixEnd(bytes, start, end, UI);
  return behindUi === -1 ? { at: start + 1, putIn: prefix.plain } : { at: behindUi, putIn: prefix.ui };
}

/** @returns `undefined` for what is no URI of a backend of the virtual host. */
export function routeUri(virtualHost: CompiledVirtualHost, uri: string): UriRoute | undefined {
  const cutStart = uri.startsWith(UI) ? UI.length : 0;
  const nameEnd = uri.indexOf(cutStart === 0 ? '+' : '/', cutStart);
  if (nameEnd === -1) return undefined;
  const cutEnd = nameEnd + 1;
  // A template may make `ui:` URIs that begin as others do, and whoever expands it does not know the form of those.
  const bareUri = uri.slice(0, cutStart) + uri.slice(cutEnd);
  const backend = findBackend(virtualHost, uri.slice(cutStart, nameEnd));
  return backend && { backend, bareUri, cutStart, cutEnd };
}

/**
 * Schemes and hosts may be written in capitals or not, and many clients make them small: a name with capitals is found all
 * the same, unless it could be another's.
 */
function findBackend({ backendsByUriName }: CompiledVirtualHost, name: string): CompiledBackend | undefined {
  // There are letters beyond ASCII that become one of ASCII when they are made small; their bytes are more than one.
  if (Buffer.byteLength(name) !== name.length) return undefined;
  const backend = backendsByUriName.get(name);
  if (backend !== undefined) return backend;
  for (const [uriName, candidate] of backendsByUriName) {
    const isLike = uriName.length === name.length && uriName.toLowerCase() === name.toLowerCase();
    if (isLike && !candidate.hasTwin) return candidate;
  }
  return undefined;
}
