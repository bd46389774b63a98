// Encodes a backend's name for the URIs of its resources, before the `+`: name and `+` begin the URI as part of its scheme (RFC 3986, 3.1).
// Different names have different encodings.

const BYTE_AS_IS = /^[A-Za-z0-9-]$/;
const SMALL_AS_IS = /^[a-z0-9-]$/;
const FIRST_AS_IS = /^[A-Za-z]/;
/** Precedes names that do not begin with a letter. Unambiguous, because otherwise a `.` is always followed by two hexadecimal digits. */
const NO_LETTER = 'x.-';

/** A name in URIs, and whether another name of the same virtual host differs from it only in case. */
export interface UriName {
  readonly uriName: string;
  readonly hasTwin: boolean;
}

/**
 * The encoded names of a virtual host's backends. Schemes and hosts are case-insensitive, and many clients convert them to lower case: so
 * where names differ only in case, their capitals are encoded as bytes.
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

/** Letters, digits and `-` stay as they are; each other UTF-8 byte of the name becomes a `.` and two hexadecimal digits. */
export function uriName(backendName: string, asIs = BYTE_AS_IS): string {
  const bytes = Array.from(Buffer.from(backendName), (byte) => {
    const character = String.fromCharCode(byte);
    return asIs.test(character) ? character : `.${byte.toString(16).padStart(2, '0')}`;
  });
  const escaped = bytes.join('');
  return FIRST_AS_IS.test(escaped) ? escaped : `${NO_LETTER}${escaped}`;
}
