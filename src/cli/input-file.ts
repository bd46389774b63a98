// Reads a command's input: a file, or standard input.
import { createReadStream } from 'node:fs';
import { exitStatus } from '../shared/index.js';
import { CliFault } from './command-result.js';
import { parse, printParseErrorCode, visit, type ParseError, type ParseOptions } from 'jsonc-parser';

// JSON written by people: a fault is reported by line and column, and never with a piece of the text, as it may contain secrets.

/** @property fault what is wrong with the text, for example "at line 3, column 7 a comma is missing". */
export type ParsedJson = { readonly value: unknown; readonly fault?: undefined } | { readonly fault: string };

/** JSON as in editors' settings: with comments, and with a comma after the last member. */
export function readJsonWithComments(text: string): ParsedJson {
  const options = { disallowComments: false, allowTrailingComma: true };
  const reading = read(text, options);
  let fault: string | undefined;
  // The package would set the prototype, from which other members would then seem to be there.
  const onObjectProperty = (name: string, _at: number, _length: number, line: number, column: number): void => {
    if (name === '__proto__') fault ??= `at line ${line + 1}, column ${column + 1} is a name that nothing can have`;
  };
  if (reading.fault === undefined) visit(text, { onObjectProperty }, options);
  return fault === undefined ? reading : { fault };
}

/** What is wrong with a text that Node.js's parser rejects; `undefined` when this parser finds nothing. */
export function faultOfJson(text: string): string | undefined {
  return read(text, { disallowComments: true, allowTrailingComma: false }).fault;
}

function read(text: string, options: ParseOptions): ParsedJson {
  const errors: ParseError[] = [];
  try {
    const value: unknown = parse(text, errors, options);
    const [first] = errors;
    return first === undefined ? { value } : { fault: placeOf(text, first) };
  } catch (error) {
    if (error instanceof RangeError) return { fault: 'nested too deeply' };
    throw error;
  }
}

function placeOf(text: string, { error, offset }: ParseError): string {
  const lines = text.slice(0, offset).split(/\r\n|\r|\n/);
  const column = (lines.at(-1) ?? '').length + 1;
  return `at line ${lines.length}, column ${column} ${FAULTS[printParseErrorCode(error)] ?? 'is not valid in JSON'}`;
}

const FAULTS: Readonly<Record<string, string>> = {
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

export const STANDARD_INPUT = '-';

/** Throws a CliFault. @param bytesMax reading stops soon after this many bytes; the caller refuses longer input. */
export async function readInput(file: string, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of file === STANDARD_INPUT ? process.stdin : createReadStream(file)) {
      chunks.push(Buffer.from(chunk as Buffer));
      bytes += chunks.at(-1)!.length;
      if (bytes > bytesMax) break;
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason';
    throw new CliFault(exitStatus.notFound, `${inputName(file)} cannot be read (${code})`, error);
  }
  return Buffer.concat(chunks);
}

/** For messages to people. */
export function inputName(file: string): string {
  return file === STANDARD_INPUT ? 'standard input' : file;
}
