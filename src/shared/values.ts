// Byte units, and what is asked of any value.

export const KIB = 1024;
export const MIB = 1024 * KIB;

/** False for arrays and `null`. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value of a text in JSON; `undefined` if it is none. */
export function jsonIn(text: string | Buffer): unknown {
  try {
    return JSON.parse(text.toString());
  } catch {
    return undefined;
  }
}
