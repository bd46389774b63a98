// JSON as editors have it in their settings: with comments, and with a comma after the last member.

/** The same text with blanks in their place; what stands in strings stays. */
export function withoutComments(text: string): string {
  return text
    .replace(/^\uFEFF/, '')
    .replaceAll(TOKENS, (token) => (token.startsWith('/') ? ' ' : token))
    .replaceAll(TRAILING, (token) => (token.startsWith(',') ? token.slice(1) : token));
}

const STRING = String.raw`"(?:[^"\\]|\\.)*"`;
const TOKENS = new RegExp(String.raw`${STRING}|\/\/[^\n\r]*|\/\*[\s\S]*?\*\/`, 'g');
const TRAILING = new RegExp(String.raw`${STRING}|,\s*(?=[\]}])`, 'g');
