import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { keysOfJwks, keysOfPem, keysOfSecret } from '../../src/config/verification-keys.js';
import { limits } from '../../src/shared/limits.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const ed = generateKeyPairSync('ed25519');
const pem = (key: KeyObject): string => key.export({ type: 'spki', format: 'pem' }).toString();
const jwk = (key: KeyObject, more: object = {}): object => ({ ...key.export({ format: 'jwk' }), ...more });
const setOf = (...keys: unknown[]): string => JSON.stringify({ keys });
const secret = { kty: 'oct', k: Buffer.alloc(48, 7).toString('base64url') };

function refuses(t: Test, text: string, message: RegExp, read = (set: string) => keysOfJwks(set, 'operator')): void {
  t.throws(() => read(text), { name: 'InvalidValue', message }, text.slice(0, 60));
}

t.test('every block of a PEM file is a key', async (t) => {
  const keys = keysOfPem(`one\n${pem(rsa.publicKey)}\ntwo\n${pem(ec.publicKey)}${pem(ed.publicKey)}`);
  t.strictSame(
    keys.map(({ algorithms }) => algorithms[0]),
    ['RS256', 'ES256', 'EdDSA'],
  );
  t.ok(keys.every(({ id }) => id === undefined));
});

t.test('a PEM file is refused for any invalid key, by its number', async (t) => {
  const short = generateKeyPairSync('rsa', { modulusLength: 1024 });
  const garbled = '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n';
  refuses(
    t,
    pem(ec.publicKey) + pem(short.publicKey),
    /key 2 in the file cannot be used for signing tokens/,
    keysOfPem,
  );
  refuses(t, pem(ec.publicKey) + garbled, /key 2 in the file cannot be parsed/, keysOfPem);
  refuses(t, pem(ec.publicKey) + pem(rsa.publicKey).slice(0, 200), /end is missing/, keysOfPem);
  refuses(t, pem(ec.publicKey) + pem(rsa.publicKey) + pem(ec.publicKey), /same key as keys 1 and 3/, keysOfPem);
  const privatePem = ec.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  refuses(t, pem(rsa.publicKey) + privatePem, /holds a private key/, keysOfPem);
  refuses(t, 'of wax', /is not a public key in PEM/, keysOfPem);
});

t.test('a certificate counts as its key; with its chain it is refused', async (t) => {
  const directory = createScratchDirectory(t);
  const openssl = (...args: string[]): void => void execFileSync('openssl', args, { cwd: directory, stdio: 'pipe' });
  const request = ['req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  openssl(...request, '-x509', '-subj', '/CN=authority', '-keyout', 'ca.key', '-out', 'ca.pem');
  openssl(...request, '-subj', '/CN=signer', '-keyout', 'signer.key', '-out', 'signer.csr');
  openssl(
    'x509',
    '-req',
    '-in',
    'signer.csr',
    '-CA',
    'ca.pem',
    '-CAkey',
    'ca.key',
    '-CAcreateserial',
    '-out',
    'signer.pem',
  );
  openssl(...request, '-x509', '-subj', '/CN=another', '-keyout', 'other.key', '-out', 'other.pem');
  const read = (name: string): string => readFileSync(join(directory, name), 'utf8');
  t.strictSame(keysOfPem(read('signer.pem')).length, 1);
  t.strictSame(keysOfPem(read('signer.pem') + read('other.pem')).length, 2, 'of two authorities');
  writeFileSync(join(directory, 'chain.pem'), read('signer.pem') + read('ca.pem'));
  refuses(t, read('chain.pem'), /with its chain/, keysOfPem);
});

t.test('a JWK set is read by kind, kid, use, key_ops and alg', async (t) => {
  const keys = keysOfJwks(
    setOf(
      jwk(rsa.publicKey, { kid: 'r', use: 'sig', alg: 'RS256' }),
      jwk(rsa.publicKey, { kid: 'r', alg: 'PS256' }),
      jwk(ec.publicKey, { kid: 'e', key_ops: ['verify'] }),
      jwk(ed.publicKey, { alg: 'EdDSA' }),
      { ...secret, kid: 's' },
      jwk(generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey, { use: 'enc', alg: 'RSA-OAEP', kid: 'enc' }),
      jwk(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey, { key_ops: ['deriveKey'] }),
    ),
    'operator',
  );
  t.strictSame(
    keys.map(({ id, algorithms }) => [id, algorithms.join()]),
    [
      ['r', 'RS256'],
      ['r', 'PS256'],
      ['e', 'ES256'],
      [undefined, 'EdDSA,Ed25519'],
      ['s', 'HS256,HS384'],
    ],
  );
});

t.test('an operator is told what is wrong with a JWK set', async (t) => {
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const short = generateKeyPairSync('rsa', { modulusLength: 1024 });
  refuses(t, 'of wax', /it is not JSON/);
  for (const text of ['null', '[]', '{}', '{"keys":{}}']) refuses(t, text, /is not a JWK set; write/);
  refuses(t, setOf(), /holds no key that verifies/);
  refuses(t, setOf(jwk(ec.publicKey, { use: 'enc' })), /holds no key that verifies/);
  refuses(t, setOf(secret, 7), /key 2 in the set is no object/);
  refuses(t, setOf(jwk(ec.privateKey)), /key 1 in the set is a private key/);
  refuses(t, setOf(jwk(short.publicKey)), /key 1 in the set cannot be used for signing tokens/);
  refuses(t, setOf({ kty: 'RSA', n: 'AQAB' }), /key 1 in the set cannot be read/);
  refuses(t, setOf({ kty: 'AKP', pub: 'AQAB' }), /key 1 in the set cannot be read/);
  refuses(t, setOf({ kty: 'oct', k: Buffer.alloc(31).toString('base64url') }), /secret that is too short/);
  refuses(t, setOf({ ...secret, alg: 'HS512' }), /alg that does not fit its key type/);
  refuses(t, setOf(jwk(ec.publicKey, { alg: 'RS256' })), /alg that does not fit its key type/);
  refuses(t, setOf(jwk(ec.publicKey, { kid: 7 })), /has a kid that is not a string/);
  refuses(t, setOf(jwk(ec.publicKey, { kid: 'x'.repeat(limits.keyIdCharsMax + 1) })), /has a kid that is not a string/);
  const ambiguous = setOf(jwk(ec.publicKey, { kid: 'a' }), jwk(other.publicKey, { kid: 'a' }));
  refuses(t, ambiguous, /keys 1 and 2 have the same kid and algorithm/);
  refuses(t, setOf(jwk(ec.publicKey), jwk(ec.publicKey)), /same key as keys 1 and 2/);
  const many = Array.from({ length: limits.verificationKeysMax + 1 }, () => secret);
  refuses(t, setOf(...many), /64 is the maximum/);
});

t.test("useless keys in an issuer's set are left out, and so are secrets, which everybody can fetch", async (t) => {
  const set = setOf(
    7,
    secret,
    { kty: 'AKP' },
    jwk(ec.privateKey),
    jwk(ed.publicKey, { alg: 'X' }),
    jwk(ec.publicKey, { kid: 'k' }),
  );
  t.strictSame(
    keysOfJwks(set, 'issuer').map(({ id }) => id),
    ['k'],
  );
  for (const none of [setOf(), setOf(secret), setOf(jwk(ec.publicKey, { use: 'enc' }))]) {
    t.strictSame(keysOfJwks(none, 'issuer'), [], 'an issuer may take back its last key');
  }
});

t.test('a secret of 31 bytes is too short', async (t) => {
  t.throws(() => keysOfSecret(Buffer.alloc(31)), { name: 'InvalidValue', message: /too short/ });
  t.strictSame(keysOfSecret(Buffer.alloc(32))[0]?.algorithms, ['HS256']);
});
