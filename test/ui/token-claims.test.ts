import t from 'tap';
import { claimsOf, refusedWords, tokenIn } from '../../ui/model/token-claims.js';

function tokenOf(claims: object): string {
  return `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.y`;
}

t.test('subject and expiry are read from a token', async (t) => {
  t.same(claimsOf(tokenOf({ sub: 'zoë@example.com', exp: 12 })), { subject: 'zoë@example.com', expiresAtMs: 12_000 });
  t.same(claimsOf(tokenOf({ sub: 7 })), { subject: '', expiresAtMs: undefined });
});

t.test('a text that is no token has no claims', async (t) => {
  for (const text of ['', 'abc', 'a.%.c', `a.${Buffer.from('null').toString('base64url')}.c`]) {
    t.same(claimsOf(text), { subject: '', expiresAtMs: undefined }, text);
  }
});

t.test('a token is found in pasted text', async (t) => {
  for (const pasted of ['a.b.c', ' a.b.c\n', 'Bearer a.b.c', 'Authorization: Bearer a.b.c', '"a.b.c"', "'a.b.c'"]) {
    t.equal(tokenIn(pasted), 'a.b.c', pasted);
  }
});

t.test('a refusal says what is known of the token, and what to do', async (t) => {
  const whole = { sub: 'a', exp: 1, iss: 'me', aud: ['x', 'y'] };
  for (const [token, detail, words] of [
    ['x', 'Token expired', /has expired: get a new one/],
    ['password', 'Token invalid', /^This is not a token.*“eyJ”/],
    [tokenOf({ sub: 'a', iss: 'me' }), 'Token invalid', /does not have exp, aud\. Get another/],
    [tokenOf(whole), 'Token invalid', /issuer “me”, audience “x, y”.*Get a new one.*operator/s],
    [tokenOf(whole), 'Too many requests', /^Too many requests$/],
  ] as const) {
    t.match(refusedWords(token, detail), words);
  }
});
