// JSON as text, for tests that compare bytes: numbers beyond 2^53, `1.0`, key order and escapes stay as they were.

/** JSON text that is written out verbatim where a value is expected. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A value as JSON text; a `JsonText` verbatim. */
export function encodeJson(value: unknown): string {
  return value instanceof JsonText ? value.text : JSON.stringify(value);
}

/**
 * The text of one member of a JSON object, without the white space around it; `undefined` when it is absent. `path` leads through nested
 * objects. Of duplicate members the last one counts, as in `JSON.parse`.
 */
export function memberText(text: string, ...path: readonly string[]): string | undefined {
  return path.reduce<string | undefined>(
    (object, name) => (object === undefined ? undefined : members(object).get(name)),
    text,
  );
}

function members(object: string): Map<string, string> {
  const found = new Map<string, string>();
  // Splits what is between the braces at commas and colons that are outside of strings and brackets.
  let depth = 0;
  let start = object.indexOf('{') + 1;
  let key: string | undefined;
  const tokens = /"(?:[^"\\]|\\.)*"|[{}[\],:]/gs;
  for (const { 0: token, index } of object.matchAll(tokens)) {
    if (token === '{' || token === '[') depth += 1;
    if (token === '}' || token === ']') depth -= 1;
    if (token === ':' && depth === 1 && key === undefined) {
      key = JSON.parse(object.slice(start, index)) as string;
      start = index + 1;
    } else if ((token === ',' && depth === 1) || depth === 0) {
      if (key !== undefined) found.set(key, object.slice(start, index).trim());
      key = undefined;
      start = index + 1;
    }
  }
  return found;
}
