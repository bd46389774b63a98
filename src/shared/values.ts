// Byte units, and checks of values of unknown type.

export const KIB = 1024;
export const MIB = 1024 * KIB;

/** Whether the value is an object, but not an array or `null`. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Parses a JSON text; `undefined` if it is not JSON. */
export function tryParseJson(text: string | Buffer): unknown {
  try {
    return JSON.parse(text.toString());
  } catch {
    return undefined;
  }
}
