// Which characters a header name may have: each is tried against the table of RFC 9110.
import t from 'tap';
import { HTTP_TOKEN, isHttpToken } from '../../src/shared/http-token.js';

/** RFC 9110, 5.6.2: the `tchar` besides letters and digits. */
const MARKS = "!#$%&'*+-.^_`|~";

t.test('a token has letters, digits and fifteen marks, and nothing else', async (t) => {
  const part = new RegExp(`^x: ${HTTP_TOKEN}: y$`);
  for (let code = 0; code < 0x180; code++) {
    const character = String.fromCharCode(code);
    const isAllowed = MARKS.includes(character) || /^[0-9A-Za-z]$/.test(character);
    t.equal(isHttpToken(character), isAllowed, `alone: ${code}`);
    t.equal(isHttpToken(`a${character}b`), isAllowed, `within: ${code}`);
    t.equal(part.test(`x: a${character}b: y`), isAllowed, `as a part of a pattern: ${code}`);
  }
});

t.test('an empty text is no token, nor is one that ends in a line break', async (t) => {
  t.equal(isHttpToken(''), false);
  t.equal(isHttpToken('a\n'), false);
});
