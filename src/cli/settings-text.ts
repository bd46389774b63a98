// Parses settings in JSON, TOML or YAML. A fault gives line and column if they are known, and quotes nothing of the text, which may
// contain secrets. The console uses this file, too, so it imports nothing of Node.js.
import { parse, printParseErrorCode, visit, type ParseError, type ParseOptions } from 'jsonc-parser';

type SettingsLanguage = 'JSON' | 'TOML' | 'YAML';

/** Parses settings in JSON, TOML or YAML. The packages for TOML and YAML are loaded only when needed. */
export async function readSettings(text: string): Promise<ParsedSettings & { readonly language: SettingsLanguage }> {
  const language = guessLanguage(text);
  const read = { JSON: readJsonWithComments, TOML: readToml, YAML: readYaml }[language];
  return { ...(await read(text.replace(/^\uFEFF/, ''))), language };
}

/** The language, guessed from the first line that is neither empty nor a comment: standard input has no file name with a suffix. */
function guessLanguage(text: string): SettingsLanguage {
  const line = /^[^\S\r\n\u2028\u2029]*[^\s#].{0,1000}/m.exec(text)?.[0] ?? '{';
  if (/^\s*(?:\[\[?[^[\]{},]+\]\]?\s*(?:#.*)?$|(?:[\w.-]|"[^"]*"|'[^']*')+\s*=)/.test(line)) return 'TOML';
  return /^\s*(?:[{[]|\/[/*])/.test(line) ? 'JSON' : 'YAML';
}

async function readToml(text: string): Promise<ParsedSettings> {
  const { parse, TomlError } = await import('smol-toml');
  try {
    return { value: parse(text) };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    return { fault: faultAt(error.line, error.column, error.message.replace('Invalid TOML document: ', '')) };
  }
}

async function readYaml(text: string): Promise<ParsedSettings> {
  const { LineCounter, isScalar, parseDocument, visit } = await import('yaml');
  const lines = new LineCounter();
  // `merge`: YAML 1.2 has no `<<`, but clients read it. `uniqueKeys`: the package's own check compares each name with all before it.
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

/** A fault with its place. The parser's message is cut before a colon, digit or line break: what follows may quote the text. */
function faultAt(line: number, column: number, message: string): string {
  return `at line ${line}, column ${column}: ${message.split(/:| at line | \d|\n/)[0]}`;
}

/** A parsed value, or what is wrong with the text, for example "at line 3, column 7 a comma is missing". */
export type ParsedSettings = { readonly value: unknown; readonly fault?: undefined } | { readonly fault: string };

/** Parses JSON that may have comments, and a comma after the last member. */
export function readJsonWithComments(text: string): ParsedSettings {
  const options = { disallowComments: false, allowTrailingComma: true };
  const outcome = parseJson(text, options);
  let fault: string | undefined;
  // For a member `__proto__`, the package would set the object's prototype: the prototype's members would then seem to be the object's.
  const onObjectProperty = (name: string, _at: number, _length: number, line: number, column: number): void => {
    if (name === '__proto__') fault ??= `at line ${line + 1}, column ${column + 1} is a name that nothing can have`;
  };
  if (outcome.fault === undefined) visit(text, { onObjectProperty }, options);
  return fault === undefined ? outcome : { fault };
}

/** What is wrong with the text as JSON; `undefined` if the parser finds no fault. */
export function faultOfJson(text: string): string | undefined {
  return parseJson(text, { disallowComments: true, allowTrailingComma: false }).fault;
}

function parseJson(text: string, options: ParseOptions): ParsedSettings {
  const errors: ParseError[] = [];
  try {
    const value: unknown = parse(text, errors, options);
    const [first] = errors;
    return first === undefined ? { value } : { fault: faultAtOffset(text, first) };
  } catch (error) {
    if (error instanceof RangeError) return { fault: 'nested too deeply' };
    throw error;
  }
}

function faultAtOffset(text: string, { error, offset }: ParseError): string {
  const lines = text.slice(0, offset).split(/\r\n|\r|\n/);
  const column = (lines.at(-1) ?? '').length + 1;
  return `at line ${lines.length}, column ${column} ${FAULT_TEXTS[printParseErrorCode(error)] ?? 'is not valid in JSON'}`;
}

const FAULT_TEXTS: Readonly<Record<string, string>> = {
  InvalidSymbol: 'is not a value: names and strings must be in double quotes',
  PropertyNameExpected: 'a name in double quotes is missing',
  ValueExpected: 'a value is missing',
  ColonExpected: 'a colon is missing',
  CommaExpected: 'a comma is missing',
  CloseBraceExpected: 'a closing brace is missing',
  CloseBracketExpected: 'a closing bracket is missing',
  EndOfFileExpected: 'there is text after the end',
  InvalidCommentToken: 'is a comment, which JSON does not allow',
  UnexpectedEndOfComment: 'is a comment without an end',
  UnexpectedEndOfString: 'is a string without a closing quote on its line',
  InvalidUnicode: 'is a \\u without its four hexadecimal digits',
  InvalidEscapeCharacter: 'is an invalid escape after \\',
  InvalidCharacter: 'is a control character: write it as \\u and four hexadecimal digits',
};
