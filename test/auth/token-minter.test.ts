import { decodeProtectedHeader, jwtVerify } from 'jose';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import t from 'tap';
import { TokenMinter } from '../../src/auth/token-minter.js';
import { TokenVerifier } from '../../src/auth/token-verifier.js';
import { tokenOptions } from './token-options.js';

const keys = {
  RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ES384: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  ES512: generateKeyPairSync('ec', { namedCurve: 'P-521' }),
  EdDSA: generateKeyPairSync('ed25519'),
};

for (const [algorithm, pair] of Object.entries(keys)) {
  const publicKey = pair.publicKey.export({ type: 'spki', format: 'pem' }).toString();
  const privateKey = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

  t.test(`${algorithm}: the key decides, and all claims are there`, async (t) => {
    const options = tokenOptions({ publicKey, privateKey, issuers: ['an issuer', 'another'], audience: 'an audience' });
    const token = await TokenMinter.create(options)?.mint('Älice/ b', 90_500);
    if (token === undefined) throw new Error('no minter');
    t.strictSame(decodeProtectedHeader(token), { alg: algorithm, typ: 'JWT' });
    const { payload } = await jwtVerify(token, createPublicKey(publicKey));
    t.match(payload, { sub: 'Älice/ b', iss: 'an issuer', aud: 'an audience', jti: /^[0-9a-f-]{36}$/ });
    t.equal((payload.exp ?? 0) - (payload.iat ?? 0), 90);
    t.ok(Math.abs((payload.iat ?? 0) - Date.now() / 1_000) < 30, 'issued now');
    t.strictSame(await new TokenVerifier(options).verify(`Bearer ${token}`), { kind: 'subject', subject: 'Älice/ b' });
  });
}

t.test('two tokens for one subject differ', async (t) => {
  const privateKey = keys.EdDSA.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const minter = TokenMinter.create(tokenOptions({ privateKey }));
  t.not(await minter?.mint('alice', 60_000), await minter?.mint('alice', 60_000));
});

t.test('without a private key there is no minter', async (t) => {
  t.equal(TokenMinter.create(tokenOptions()), undefined);
});
