// Selects the request headers that are forwarded to backends: those that the virtual host lists, except those
// that the request declares connection-specific. Hot path: does nothing for a virtual host that lists none.

const NO_HEADERS: readonly string[] = Object.freeze([]);
const ASCII = /^[\x20-\x7e]*$/;

/**
 * @param headers lower-case name, value, …
 * @returns the listed headers in the form that goes on the wire; or the name of one whose original bytes are lost.
 */
export function selectHeaders(headers: readonly string[], names: ReadonlySet<string>): readonly string[] | string {
  if (names.size === 0) return NO_HEADERS;
  const connectionNames = namesForConnection(headers);
  const selected: string[] = [];
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i];
    const value = headers[i + 1];
    if (name === undefined || value === undefined || !names.has(name) || connectionNames?.has(name) === true) continue;
    // Bytes that are not UTF-8 arrive as this replacement character, so the original bytes are lost.
    if (value.includes('\ufffd')) return name;
    selected.push(name, wireText(value));
  }
  return selected;
}

/** RFC 9110, 7.6.1: headers that `connection` names must not be forwarded. */
function namesForConnection(headers: readonly string[]): ReadonlySet<string> | undefined {
  let names: Set<string> | undefined;
  for (let i = 0; i + 1 < headers.length; i += 2) {
    if (headers[i] !== 'connection') continue;
    names ??= new Set();
    for (const name of (headers[i + 1] ?? '').split(',')) names.add(name.trim().toLowerCase());
  }
  return names;
}

/** uWebSockets.js reads a header's bytes as UTF-8; on the wire each character is one byte. */
function wireText(value: string): string {
  return ASCII.test(value) ? value : Buffer.from(value).toString('latin1');
}
