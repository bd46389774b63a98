// A backend's name in the URIs of its resources, before the `+`: together they begin the URI with a scheme (RFC 3986, 3.1).
// No two names come out the same.

const BYTE_AS_IS = /^[A-Za-z0-9-]$/;
const SMALL_AS_IS = /^[a-z0-9-]$/;
const FIRST_AS_IS = /^[A-Za-z]/;
/** Before names that do not begin with a letter. In no other name a `.` is followed by anything but two digits. */
const NO_LETTER = 'x.-';

/** A name in URIs, and whether another name of the same virtual host differs from it in capitals alone. */
export interface UriName {
  readonly uriName: string;
  readonly hasTwin: boolean;
}

/**
 * The names of a virtual host's backends in its URIs. Schemes and hosts may be written in capitals or not, and many clients
 * make them small: so of names that differ in nothing else the capitals are written as bytes.
 */
export function uriNames(backendNames: Iterable<string>): ReadonlyMap<string, UriName> {
  const countBySmall = new Map<string, number>();
  const names = [...backendNames];
  for (const name of names) {
    const small = uriName(name).toLowerCase();
    countBySmall.set(small, (countBySmall.get(small) ?? 0) + 1);
  }
  const hasTwin = (name: string): boolean => (countBySmall.get(uriName(name).toLowerCase()) ?? 0) > 1;
  return new Map(
    names.map((name) => [
      name,
      { uriName: uriName(name, hasTwin(name) ? SMALL_AS_IS : BYTE_AS_IS), hasTwin: hasTwin(name) },
    ]),
  );
}

/** Letters, digits and `-` stay as they are; each other byte of the name in UTF-8 is a `.` and two hexadecimal digits. */
export function uriName(backendName: string, asIs = BYTE_AS_IS): string {
  const bytes = Array.from(Buffer.from(backendName), (byte) => {
    const character = String.fromCharCode(byte);
    return asIs.test(character) ? character : `.${byte.toString(16).padStart(2, '0')}`;
  });
  const escaped = bytes.join('');
  return FIRST_AS_IS.test(escaped) ? escaped : `${NO_LETTER}${escaped}`;
}
