// What values are that somebody else has written as JSON. Cold.

/** Neither an array nor `null`, which JavaScript takes for objects. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const LONE_SURROGATE = /\p{Surrogate}/u;

/** Whether it can be written in UTF-8: JSON can escape halves of characters, which nothing else could keep. */
export function isUnicodeText(text: string): boolean {
  return !LONE_SURROGATE.test(text);
}
