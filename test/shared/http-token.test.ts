// Which characters a header name may have: each is tried against the table of RFC 9110.
import t from 'tap';
import { bearerToken, headerIn, HTTP_TOKEN, isHttpToken } from '../../src/shared/http-token.js';

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

t.test('a bearer token is found whatever the case and the spaces, and no other scheme has one', async (t) => {
  for (const header of ['Bearer a.b-c', 'bearer   a.b-c', 'BEARER a.b-c  ']) t.equal(bearerToken(header), 'a.b-c');
  for (const header of ['', 'Bearer', 'Basic a.b-c', 'xBearer a.b-c', 'Bearera.b-c']) t.equal(bearerToken(header), '');
});

t.test('the first header of a name is found, and no value is taken for a name', async (t) => {
  const headers = ['x-a', 'x-b', 'x-b', '1', 'x-b', '2'];
  t.equal(headerIn(headers, 'x-a'), 'x-b');
  t.equal(headerIn(headers, 'x-b'), '1');
  t.equal(headerIn(headers, 'x-c'), undefined);
  t.equal(headerIn(headers, '2'), undefined);
});
