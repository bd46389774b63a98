// Settings written by people, in JSON, TOML or YAML. As in json-text.ts, a fault names its line and column, and never a piece of the text.
import { readJsonWithComments, type ParsedJson } from './input-file.js';

type Language = 'JSON' | 'TOML' | 'YAML';

/** The packages for TOML and YAML are loaded only for such a text. */
export async function readSettings(text: string): Promise<ParsedJson & { readonly language: Language }> {
  const language = languageOf(text);
  const read = { JSON: readJsonWithComments, TOML: readToml, YAML: readYaml }[language];
  return { ...(await read(text.replace(/^\uFEFF/, ''))), language };
}

/**
 * By how the first line begins that is neither empty nor a comment with `#`: standard input has no name, and that of a file can be wrong.
 */
function languageOf(text: string): Language {
  const line = /^[^\S\r\n\u2028\u2029]*[^\s#].{0,1000}/m.exec(text)?.[0] ?? '{';
  if (/^\s*(?:\[\[?[^[\]{},]+\]\]?\s*(?:#.*)?$|(?:[\w.-]|"[^"]*"|'[^']*')+\s*=)/.test(line)) return 'TOML';
  return /^\s*(?:[{[]|\/[/*])/.test(line) ? 'JSON' : 'YAML';
}

async function readToml(text: string): Promise<ParsedJson> {
  const { parse, TomlError } = await import('smol-toml');
  try {
    return { value: parse(text) };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    return { fault: faultAt(error.line, error.column, error.message.replace('Invalid TOML document: ', '')) };
  }
}

async function readYaml(text: string): Promise<ParsedJson> {
  const { LineCounter, isScalar, parseDocument, visit } = await import('yaml');
  const lines = new LineCounter();
  // YAML 1.2 left `<<` out, but clients read it. To find repeated names, the package compares each name with all before it.
  const file = parseDocument(text, { merge: true, logLevel: 'error', uniqueKeys: false, lineCounter: lines });
  const [error] = file.errors;
  if (error !== undefined) {
    const { line, col } = error.linePos?.[0] ?? { line: 1, col: 1 };
    return { fault: faultAt(line, col, error.message) };
  }
  try {
    let repeated: number | undefined;
    visit(file, {
      Map: (_key, { items }) => {
        const names = items.flatMap(({ key }) => (isScalar(key) ? [key] : []));
        const known = new Set<unknown>();
        repeated = names.find(({ value }) => known.size === known.add(value).size)?.range?.[0];
        return repeated === undefined ? undefined : visit.BREAK;
      },
    });
    if (repeated === undefined) return { value: file.toJS() };
    const { line, col } = lines.linePos(repeated);
    return { fault: faultAt(line, col, 'names must be unique') };
  } catch (error) {
    if (error instanceof RangeError) return { fault: 'nested too deeply' };
    if (!(error instanceof ReferenceError)) throw error;
    return { fault: 'an alias has no anchor, or there are too many aliases' };
  }
}

/** Both packages may quote the text, after a colon or on further lines. */
function faultAt(line: number, column: number, message: string): string {
  return `at line ${line}, column ${column}: ${message.split(/:| at line | \d|\n/)[0]}`;
}
