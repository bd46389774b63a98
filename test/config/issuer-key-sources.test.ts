import t from 'tap';
import { isKeyUrl, parseIssuerKeySources } from '../../src/config/table/token-options.js';

t.test('issuers are read with the addresses of their keys, or alone', async (t) => {
  t.strictSame(parseIssuerKeySources('us=https://a.example/jwks?x=1 , https://b.example/realms/c'), [
    { issuer: 'us', url: 'https://a.example/jwks?x=1' },
    { issuer: 'https://b.example/realms/c', url: undefined },
  ]);
  t.strictSame(parseIssuerKeySources('a=http://[::1]:1/,b=http://localhost/,c=http://127.0.0.9:1/').length, 3);
});

t.test('a text that is no such list is refused, and not repeated', async (t) => {
  const cases: Readonly<Record<string, RegExp>> = {
    '': /entry 1 names no issuer/,
    '=https://a.example': /entry 1 names no issuer/,
    'a=https://a.example,': /entry 2 names no issuer/,
    us: /entry 1 is not an issuer whose keys can be discovered/,
    'us=': /entry 1 is not the address of a JWK set/,
    'us=http://a.example/': /or an http one of a loopback address/,
    'us=http://127.0.0.1.example/': /or an http one of a loopback address/,
    'us=https://user:hunter2@a.example/': /without a user/,
    'us=file:///etc/passwd': /write an https URL/,
    'us=https://a.example,us=https://b.example': /entry 2 has the same issuer as an earlier entry/,
  };
  for (const [text, message] of Object.entries(cases)) {
    const error = t.throws(() => parseIssuerKeySources(text), { name: 'InvalidValue', message }, text);
    t.notMatch(String(error), 'hunter2');
  }
});

t.test('http is accepted for loopback addresses, where it is allowed', async (t) => {
  t.ok(isKeyUrl('https://a.example/', false));
  t.ok(isKeyUrl('http://127.0.0.1/', true));
  t.notOk(isKeyUrl('http://127.0.0.1/', false));
  for (const credentials of ['user@', 'user:password@', ':password@'])
    t.notOk(isKeyUrl(`https://${credentials}a.example/`, true), credentials);
});
