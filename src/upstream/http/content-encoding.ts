// What a response's `content-encoding` says. None is ever requested; some servers and networks in front of them encode all the same.

/** @param value the header, `''` when absent. @returns the encoding, in words that can be told to people; `''` when the body is plain. */
export function encodingIn(value: string): string {
  if (value === '' || value.toLowerCase() === 'identity') return '';
  return /^[\w-]{1,32}$/.test(value) ? value : 'unknown';
}
