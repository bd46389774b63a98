// Type checks for JSON values of foreign origin. Cold path.

/** False for arrays and `null`, although JavaScript calls them objects. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const LONE_SURROGATE = /\p{Surrogate}/u;

/** Whether the text can be encoded as UTF-8: JSON can escape single surrogates, which nothing else could store. */
export function isUnicodeText(text: string): boolean {
  return !LONE_SURROGATE.test(text);
}
