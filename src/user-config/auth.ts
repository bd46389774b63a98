// What a backend wants to see before it answers, as configs and registered servers name it: headers whose values are secrets
// kept elsewhere. No secret is ever in it. Plain data, JSON-ready.
import { limits } from '../shared/limits.js';

/** A secret, by the name of its file in `--secrets-directory`. */
export interface SecretReference {
  readonly file: string;
}

export interface BackendAuth {
  readonly type: 'headers';
  /** Header name → its value. */
  readonly headers: Readonly<Record<string, SecretReference>>;
}

/** A field name as RFC 9110, section 5.6.2 has it; none of those that come from no letter is any server's. */
const HEADER_NAME = /^[A-Za-z][!#$%&'*+\-.^_`|~0-9A-Za-z]*$/;
/** No way out of the directory, and no hidden file. */
const FILE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
/** Beside a secret: to which hosts it may go. */
export const HOSTS_FILE_SUFFIX = '.hosts';

/**
 * Belong to one connection or to one message of the gateway's own, so they are never copied from a caller or set by a config
 * (decisions 2.6). `expect` is among them because the gateway has the whole body when it asks.
 */
const OWN_HEADERS =
  /^(?:host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|http2-settings|expect|last-event-id)$|^(?:proxy-|content-|accept|mcp-)/;

export function isOwnHeader(lowerCaseName: string): boolean {
  return OWN_HEADERS.test(lowerCaseName);
}

/** What is wrong with it, in words behind the name of the member: as in `.headers must …`; `undefined` when nothing is. */
export function authFault({ headers }: BackendAuth): string | undefined {
  const names = Object.keys(headers);
  if (names.length === 0 || names.length > limits.authHeadersMax) {
    return `.headers must have 1 to ${limits.authHeadersMax} headers`;
  }
  if (new Set(names.map((name) => name.toLowerCase())).size < names.length)
    return '.headers must have each header once';
  for (const [name, { file }] of Object.entries(headers)) {
    if (!HEADER_NAME.test(name) || isOwnHeader(name.toLowerCase())) {
      return '.headers must have names of headers, and none that is the gateway’s own';
    }
    if (!isSecretName(file)) {
      return `.headers: a file must be the name of a file in --secrets-directory: up to ${limits.secretNameCharsMax} letters, digits, '.', '_' and '-'`;
    }
  }
  return undefined;
}

function isSecretName(file: string): boolean {
  return file.length <= limits.secretNameCharsMax && FILE_NAME.test(file) && !file.endsWith(HOSTS_FILE_SUFFIX);
}
