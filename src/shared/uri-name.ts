// A backend's name in the URIs of its resources, before the `+`: together they begin the URI with a scheme (RFC 3986, 3.1).
// No two names come out the same.

const BYTE_AS_IS = /^[A-Za-z0-9-]$/;
const FIRST_AS_IS = /^[A-Za-z]/;
/** Before names that do not begin with a letter. In no other name a `.` is followed by anything but two digits. */
const NO_LETTER = 'x.-';

/** Letters, digits and `-` stay as they are; each other byte of the name in UTF-8 is a `.` and two hexadecimal digits. */
export function uriName(backendName: string): string {
  const bytes = Array.from(Buffer.from(backendName), (byte) => {
    const character = String.fromCharCode(byte);
    return BYTE_AS_IS.test(character) ? character : `.${byte.toString(16).padStart(2, '0')}`;
  });
  const escaped = bytes.join('');
  return FIRST_AS_IS.test(escaped) ? escaped : `${NO_LETTER}${escaped}`;
}
