// Resource URIs as callers see them: `<backend>+<uri>`, and `ui://<backend>/<rest>` for `ui://<rest>`, because hosts of
// MCP Apps require that scheme. `user-config/uri-name.ts` defines how the backend's name is written.
import { prefixEnd } from '../../protocol/json-member.js';
import type { CompiledBackend, CompiledVirtualHost } from '../../user-config/compiled-config.js';

const UI = 'ui://';

/** Bytes to insert into a message. */
export interface Insertion {
  readonly at: number;
  readonly putIn: Buffer;
}

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
  const behindUi = prefixEnd(bytes, start, end, UI);
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
    const isLike = uriName.length === name.length && uriName.toLowerCase() === name.toLowerCase();
    if (isLike && !candidate.hasTwin) return candidate;
  }
  return undefined;
}
