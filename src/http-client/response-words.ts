// What words in the head of a response mean, wherever it is read.

/** Whether a status refuses for now only: its response may say when to try again. */
export function isForNow(status: number): boolean {
  return status === 429 || status === 503;
}

/**
 * No encoding is ever requested; some servers, and networks in front of them, encode all the same.
 * @param value of `content-encoding`; `''` when absent.
 * @returns the encoding, in words that can be told to people; `''` when the body is plain.
 */
export function encodingIn(value: string): string {
  if (value === '' || value.toLowerCase() === 'identity') return '';
  return /^[\w-]{1,32}$/.test(value) ? value : 'unknown';
}
