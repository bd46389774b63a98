import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto';
import t from 'tap';
import { KeySet } from '../../src/auth/key-set.js';
import { TokenKeys, type KeySource } from '../../src/auth/token-keys.js';
import { tokenBounds, TokenVerifier } from '../../src/auth/token-verifier.js';
import { keysOfJwks } from '../../src/config/verification-keys.js';
import { mint, mintUnsigned, type TokenRequest } from '../support/tokens.js';
import { tokenOptions } from './token-options.js';

const MISSING = { kind: 'refused', reason: 'missing' };
const INVALID = { kind: 'refused', reason: 'invalid' };
const EXPIRED = { kind: 'refused', reason: 'expired' };

const spki = (key: KeyObject): string => key.export({ type: 'spki', format: 'pem' }).toString();

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' });
const p521 = generateKeyPairSync('ec', { namedCurve: 'P-521' });
const ed25519 = generateKeyPairSync('ed25519');
const p256Options = tokenOptions({ publicKey: spki(p256.publicKey) });

/** An authorization header with a token that is valid for `p256Options`, except for what a test changes. */
async function bearer(request: Partial<TokenRequest> = {}): Promise<string> {
  return `Bearer ${await mint({ sub: 'alice', algorithm: 'ES256', key: p256.privateKey, ...request })}`;
}

t.test('each algorithm of the configured key verifies, and no other', async (t) => {
  const secret = Buffer.alloc(64, 7);
  const signers = [
    ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'].map((algorithm) => ({ algorithm, ...rsa })),
    { algorithm: 'ES256', ...p256 },
    { algorithm: 'ES384', ...p384 },
    { algorithm: 'ES512', ...p521 },
    { algorithm: 'EdDSA', ...ed25519 },
    { algorithm: 'Ed25519', ...ed25519 },
  ];
  const verifiers = [rsa, p256, p384, p521, ed25519].map(({ publicKey }) => ({
    publicKey,
    verifier: new TokenVerifier(tokenOptions({ publicKey: spki(publicKey) })),
  }));
  const ofSecret = new TokenVerifier(tokenOptions({ secret }));
  for (const { algorithm, privateKey, publicKey } of signers) {
    const header = await bearer({ algorithm, key: privateKey });
    for (const candidate of verifiers) {
      const expected = candidate.publicKey === publicKey ? { kind: 'subject', subject: 'alice' } : INVALID;
      const type = candidate.publicKey.asymmetricKeyType;
      t.match(await candidate.verifier.verify(header), expected, `${algorithm} against ${type}`);
    }
    t.match(await ofSecret.verify(header), INVALID, `${algorithm} against a secret`);
  }
  for (const algorithm of ['HS256', 'HS384', 'HS512']) {
    const header = await bearer({ algorithm, key: secret });
    t.strictSame(await ofSecret.verify(header), { kind: 'subject', subject: 'alice' }, algorithm);
    for (const { verifier } of verifiers) t.match(await verifier.verify(header), INVALID, algorithm);
  }
});

t.test('a public key in PKCS#1 verifies too', async (t) => {
  const publicKey = rsa.publicKey.export({ type: 'pkcs1', format: 'pem' }).toString();
  const verifier = new TokenVerifier(tokenOptions({ publicKey }));
  t.match(await verifier.verify(await bearer({ algorithm: 'RS256', key: rsa.privateKey })), { subject: 'alice' });
});

t.test('a secret serves the algorithms for which it is long enough', async (t) => {
  for (const [length, accepted] of [
    [32, ['HS256']],
    [47, ['HS256']],
    [48, ['HS256', 'HS384']],
    [63, ['HS256', 'HS384']],
    [64, ['HS256', 'HS384', 'HS512']],
  ] as const) {
    const secret = Buffer.alloc(length, 7);
    const verifier = new TokenVerifier(tokenOptions({ secret }));
    for (const algorithm of ['HS256', 'HS384', 'HS512'] as const) {
      const { kind } = await verifier.verify(await bearer({ algorithm, key: secret }));
      const isAccepted = (accepted as readonly string[]).includes(algorithm);
      t.equal(kind, isAccepted ? 'subject' : 'refused', `${algorithm} with ${length} bytes`);
    }
  }
});

t.test('a secret that is too short for all of them is refused', async (t) => {
  t.throws(() => new TokenVerifier(tokenOptions({ secret: Buffer.alloc(31, 7) })), { message: /too short/ });
});

t.test('any of several issuers is accepted, each spelled exactly', async (t) => {
  const verifier = new TokenVerifier({ ...p256Options, issuers: ['one', 'two'] });
  for (const iss of ['one', 'two']) t.match(await verifier.verify(await bearer({ iss })), { subject: 'alice' }, iss);
  for (const iss of ['mcpgateway', 'one,two', 'ONE', '', null]) {
    t.match(await verifier.verify(await bearer({ iss })), INVALID, String(iss));
  }
  t.match(await verifier.verify(await bearer({ claims: { iss: ['one'] } })), INVALID, 'a list');
});

t.test('each of several keys of one kind verifies', async (t) => {
  const next = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = spki(p256.publicKey) + spki(rsa.publicKey) + spki(next.publicKey);
  const verifier = new TokenVerifier(tokenOptions({ publicKey: pem }));
  for (const { privateKey } of [p256, next])
    t.match(await verifier.verify(await bearer({ key: privateKey })), { subject: 'alice' });
  t.match(await verifier.verify(await bearer({ algorithm: 'PS384', key: rsa.privateKey })), { subject: 'alice' });
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  t.match(await verifier.verify(await bearer({ key: other.privateKey })), INVALID);
  t.strictSame(await verifier.verify(await bearer({ expiresInSeconds: -1, key: next.privateKey })), EXPIRED);
});

t.test('a token that names its key is verified with that one, or with an unnamed one', async (t) => {
  const [one, two] = [p256, generateKeyPairSync('ec', { namedCurve: 'P-256' })];
  const jwk = ({ publicKey }: typeof one, kid: string): object => ({ ...publicKey.export({ format: 'jwk' }), kid });
  const jwks = JSON.stringify({ keys: [jwk(one, 'one'), jwk(two, 'two')] });
  const unnamed = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const verifier = new TokenVerifier(tokenOptions({ jwks, publicKey: spki(unnamed.publicKey) }));
  const kindOf = async (pair: typeof one, kid?: string): Promise<string> => {
    const { SignJWT } = await import('jose');
    const token = await new SignJWT(claims())
      .setProtectedHeader({ alg: 'ES256', ...(kid !== undefined && { kid }) })
      .sign(pair.privateKey);
    return (await verifier.verify(`Bearer ${token}`)).kind;
  };
  t.equal(await kindOf(one, 'one'), 'subject');
  t.equal(await kindOf(two, 'two'), 'subject');
  t.equal(await kindOf(one, 'two'), 'refused', 'by the name of another');
  t.equal(await kindOf(two, 'three'), 'refused', 'by a name that nobody has');
  t.equal(await kindOf(two), 'subject', 'without a name each is tried');
  t.equal(await kindOf(unnamed, 'three'), 'subject');
});

t.test('with a key and a secret, the algorithm decides between them', async (t) => {
  const secret = Buffer.alloc(32, 7);
  const verifier = new TokenVerifier({ ...p256Options, secret });
  t.match(await verifier.verify(await bearer()), { subject: 'alice' });
  t.match(await verifier.verify(await bearer({ algorithm: 'HS256', key: secret })), { subject: 'alice' });
  t.match(await verifier.verify(await bearer({ algorithm: 'HS256', key: Buffer.alloc(32, 8) })), INVALID);
});

t.test('a public key is never taken for a secret', async (t) => {
  for (const { publicKey } of [rsa, p256, ed25519]) {
    const pem = spki(publicKey);
    for (const secret of [undefined, Buffer.alloc(32, 7)]) {
      const verifier = new TokenVerifier(tokenOptions({ publicKey: pem, secret }));
      for (const forgedWith of [pem, pem.trimEnd(), publicKey.export({ type: 'spki', format: 'der' })]) {
        const unsigned = mintUnsigned(claims()).split('.')[1];
        const head = Buffer.from('{"alg":"HS256","typ":"JWT"}').toString('base64url');
        const signature = createHmac('sha256', forgedWith).update(`${head}.${unsigned}`).digest('base64url');
        t.match(await verifier.verify(`Bearer ${head}.${unsigned}.${signature}`), INVALID);
      }
    }
  }
});

t.test('an unsigned token is refused, whatever its algorithm is called', async (t) => {
  const verifier = new TokenVerifier({ ...p256Options, secret: Buffer.alloc(64, 7) });
  const payload = mintUnsigned(claims()).split('.')[1];
  for (const algorithm of ['none', 'None', 'NONE', '', null, 0, 'ES256', 'HS256', 'constructor', '__proto__']) {
    const head = Buffer.from(JSON.stringify({ alg: algorithm, typ: 'JWT' })).toString('base64url');
    t.match(await verifier.verify(`Bearer ${head}.${payload}.`), INVALID, String(algorithm));
  }
});

t.test('a key inside the token itself is not used', async (t) => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { SignJWT } = await import('jose');
  const token = await new SignJWT(claims())
    .setProtectedHeader({ alg: 'ES256', jwk: publicKey.export({ format: 'jwk' }) })
    .sign(privateKey);
  t.match(await new TokenVerifier(p256Options).verify(`Bearer ${token}`), INVALID);
});

t.test('missing: no header, another scheme, no token', async (t) => {
  const verifier = new TokenVerifier(p256Options);
  const token = (await bearer()).slice('Bearer '.length);
  for (const header of ['', 'Bearer', 'Bearer ', 'Bearer    ', `Basic ${token}`, `Bearer${token}`, token, ' ']) {
    t.strictSame(await verifier.verify(header), MISSING, JSON.stringify(header.slice(0, 12)));
  }
});

t.test('the scheme is read in any case, with one space or more', async (t) => {
  const verifier = new TokenVerifier(p256Options);
  const token = (await bearer()).slice('Bearer '.length);
  for (const scheme of ['Bearer ', 'bearer ', 'BEARER   ']) {
    t.strictSame(await verifier.verify(`${scheme}${token}`), { kind: 'subject', subject: 'alice' }, scheme);
  }
});

t.test('invalid: each check by itself', async (t) => {
  const nowSeconds = Math.floor(Date.now() / 1_000);
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const cases: Readonly<Record<string, Partial<TokenRequest>>> = {
    'another key of the same kind': { key: other.privateKey },
    'wrong issuer': { iss: 'someone' },
    'no issuer': { iss: null },
    'wrong audience': { aud: 'something' },
    'audiences without ours': { aud: ['a', 'b'] },
    'no audience': { aud: null },
    'no expiry': { expiresInSeconds: null },
    'expiry that is no number': { claims: { exp: String(nowSeconds + 60) } },
    'not valid yet': { claims: { nbf: nowSeconds + 60 } },
    'no subject': { sub: null },
    'empty subject': { sub: '' },
    'subject that is no string': { claims: { sub: 7 } },
    'subject null': { claims: { sub: null } },
  };
  const verifier = new TokenVerifier(p256Options);
  for (const [name, request] of Object.entries(cases)) {
    t.match(await verifier.verify(await bearer(request)), INVALID, name);
  }
  t.match(await verifier.verify(await bearer({ aud: ['a', 'mcpgateway-api'] })), { subject: 'alice' });
  for (const nbf of [nowSeconds - 1, nowSeconds + 20])
    t.match(await verifier.verify(await bearer({ claims: { nbf } })), { subject: 'alice' }, 'clocks differ');
});

t.test('the log is told what is wrong with an invalid token', async (t) => {
  const nowSeconds = Math.floor(Date.now() / 1_000);
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const verifier = new TokenVerifier(p256Options);
  const cases: readonly (readonly [cause: string, request: Partial<TokenRequest>])[] = [
    ['signature', { key: other.privateKey }],
    ['algorithm', { algorithm: 'HS256', key: Buffer.alloc(32, 7) }],
    ['issuer', { iss: 'someone' }],
    ['audience', { aud: 'something' }],
    ['not-yet', { claims: { nbf: nowSeconds + 60 } }],
    ['claims', { sub: null }],
    ['claims', { sub: '' }],
    ['claims', { expiresInSeconds: null }],
  ];
  for (const [cause, request] of cases) t.match(await verifier.verify(await bearer(request)), { ...INVALID, cause });
  t.match(await verifier.verify('Bearer a.b'), { ...INVALID, cause: 'not-a-jwt' });
  t.match(new TokenVerifier(tokenOptions()).verify(await bearer()), { ...INVALID, cause: 'key' });
});

t.test('expired: and nothing else is wrong', async (t) => {
  const verifier = new TokenVerifier(p256Options);
  t.strictSame(await verifier.verify(await bearer({ expiresInSeconds: -1 })), EXPIRED);
  t.strictSame(await verifier.verify(await bearer({ expiresInSeconds: 0 })), EXPIRED, 'there is no tolerance');
  t.strictSame(await verifier.verify(await bearer({ expiresInSeconds: -3_600 })), EXPIRED, 'long ago');
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  t.match(await verifier.verify(await bearer({ expiresInSeconds: -1, key: other.privateKey })), INVALID);
  t.match(await verifier.verify(await bearer({ expiresInSeconds: -1, iss: 'x' })), INVALID);
});

t.test('damaged tokens are invalid and never throw', async (t) => {
  const verifier = new TokenVerifier({ ...p256Options, secret: Buffer.alloc(64, 7) });
  const token = (await bearer()).slice('Bearer '.length);
  const [head, payload, signature] = token.split('.') as [string, string, string];
  const damaged = [
    ...['.', '..', '...', 'a.b.c', 'a', `${head}.${payload}`, `${token}.`, `${head}..${signature}`, `.${payload}.`],
    ...[`${token} x`, `${token},${token}`, `\u0000${token}`, `${head}.${payload}.${signature}é`, '{"alg":"ES256"}'],
    `${Buffer.from('null').toString('base64url')}.${payload}.${signature}`,
    `${Buffer.from('[]').toString('base64url')}.${payload}.${signature}`,
    `${Buffer.from('{"alg":"ES256","crit":["x"],"x":1}').toString('base64url')}.${payload}.${signature}`,
    `${Buffer.from('{"alg":"ES256","b64":false,"crit":["b64"]}').toString('base64url')}.${payload}.${signature}`,
    `${Buffer.from('{"alg":'.repeat(2_000)).toString('base64url')}.${payload}.${signature}`,
    `${head}.${Buffer.from('{"sub":"mallory"}').toString('base64url')}.${signature}`,
    `${head}.${payload}.${Buffer.alloc(64).toString('base64url')}`,
  ];
  for (let length = 1; length < token.length; length += 7) damaged.push(token.slice(0, length));
  for (const text of damaged) t.match(await verifier.verify(`Bearer ${text}`), INVALID, text.slice(0, 40));
});

t.test('without key and secret every token is invalid, and an absent one is still missing', async (t) => {
  const verifier = new TokenVerifier(tokenOptions());
  t.match(verifier.verify(await bearer()), INVALID);
  t.strictSame(verifier.verify(''), MISSING);
});

t.test('subjects are taken exactly as they are', async (t) => {
  const verifier = new TokenVerifier(p256Options);
  for (const subject of [' alice ', 'a/b?c#d', 'Ünïcödé', '\u0000', '__proto__', '\ud800', 'x'.repeat(3_000)]) {
    t.strictSame(await verifier.verify(await bearer({ sub: subject })), { kind: 'subject', subject });
  }
});

t.test('every checked token is counted once, by its result', async (t) => {
  const verifier = new TokenVerifier(p256Options);
  const good = await bearer();
  await verifier.verify(good);
  for (let time = 0; time < 3; time += 1) void verifier.verify(good);
  await verifier.verify(await bearer({ iss: 'someone' }));
  await verifier.verify('Bearer a');
  await verifier.verify(await bearer({ expiresInSeconds: -1 }));
  await verifier.verify('');
  t.strictSame(verifier.counts, { remembered: 3, verified: 1, missing: 1, invalid: 2, expired: 1, unavailable: 0 });
});

t.test('a remembered token is answered without a promise, with the same frozen object', async (t) => {
  const verifier = new TokenVerifier(p256Options);
  const header = await bearer();
  const first = verifier.verify(header);
  t.ok(first instanceof Promise);
  const verified = await first;
  t.ok(Object.isFrozen(verified));
  t.equal(verifier.verify(header), verified);
  t.equal(verifier.verify(header), verified);
});

t.test('another payload with a remembered signature is refused, and the remembered token stays', async (t) => {
  const verifier = new TokenVerifier(p256Options);
  const alice = await bearer({ sub: 'alice' });
  const remembered = await verifier.verify(alice);
  const [, , signature] = alice.split('.');
  const [head, payload] = (await bearer({ sub: 'mallory' })).split('.');
  t.match(await verifier.verify(`${head}.${payload}.${signature}`), INVALID);
  t.equal(verifier.verify(alice), remembered);
});

t.test('concurrent first requests share one verification', async (t) => {
  const verifier = new TokenVerifier(p256Options);
  for (const header of [await bearer(), await bearer({ iss: 'wrong' })]) {
    const first = verifier.verify(header);
    t.equal(verifier.verify(header), first);
    await first;
  }
  t.ok(verifier.verify(await bearer({ iss: 'wrong' })) instanceof Promise, 'a refusal is not remembered');
});

/** One key, which can be withdrawn at any moment. */
class WithdrawnKeys extends TokenKeys {
  readonly #source: { keys: KeySet };

  constructor() {
    super(p256Options);
    const jwk = p256.publicKey.export({ format: 'jwk' });
    this.#source = { keys: new KeySet(keysOfJwks(JSON.stringify({ keys: [jwk] }), 'issuer')) };
  }

  override keysOfIssuer(): KeySource {
    return this.#source;
  }

  withdraw(): void {
    this.#source.keys = KeySet.none;
    this.onKeyLost();
  }
}

t.test('a token whose key is withdrawn while it is being verified is valid for no request after that', async (t) => {
  const keys = new WithdrawnKeys();
  const verifier = new TokenVerifier(p256Options, Date.now, tokenBounds, keys);
  const header = await bearer();
  const before = verifier.verify(header);
  keys.withdraw();
  const after = verifier.verify(header);
  t.not(after, before, 'a request that comes meanwhile does not share the verification');
  t.match(await after, INVALID);
  await before;
  t.match(await verifier.verify(header), INVALID, 'nor is its result remembered');
});

t.test('a remembered token ends when it expires, and is dropped then', async (t) => {
  let nowMs = 1_800_000_000_000;
  const verifier = new TokenVerifier(p256Options, () => nowMs);
  const header = await bearer({ claims: { exp: 1_800_000_060 } });
  const verified = await verifier.verify(header);
  t.strictSame(verified, { kind: 'subject', subject: 'alice' });
  nowMs += 59_999;
  t.equal(verifier.verify(header), verified);
  nowMs += 1;
  t.strictSame(verifier.verify(header), EXPIRED, 'at the very second, without a promise');
  const again = verifier.verify(header);
  t.ok(again instanceof Promise, 'it was dropped');
  t.strictSame(await again, EXPIRED, 'and jose agrees about the second');
});

t.test('an expiry between two seconds ends at the same moment, remembered or not', async (t) => {
  let nowMs = 1_800_000_000_000;
  const header = await bearer({ claims: { exp: 1_800_000_010.5 } });
  const verifier = new TokenVerifier(p256Options, () => nowMs);
  await verifier.verify(header);
  for (const [offsetMs, kind] of [
    [10_400, 'subject'],
    [10_999, 'subject'],
    [11_000, 'refused'],
  ] as const) {
    nowMs = 1_800_000_000_000 + offsetMs;
    t.equal((await verifier.verify(header)).kind, kind, `remembered, ${offsetMs} ms`);
    t.equal((await new TokenVerifier(p256Options, () => nowMs).verify(header)).kind, kind, `anew, ${offsetMs} ms`);
  }
});

t.test('a header that is too long to remember is verified each time', async (t) => {
  const verifier = new TokenVerifier(p256Options);
  const header = await bearer({ claims: { filler: 'x'.repeat(tokenBounds.headerCharsMax) } });
  t.ok(header.length > tokenBounds.headerCharsMax);
  const verified = await verifier.verify(header);
  t.match(verified, { subject: 'alice' });
  t.ok(verifier.verify(header) instanceof Promise);
});

t.test('when too many verifications are in flight, each is done by itself', async (t) => {
  const verifier = new TokenVerifier(p256Options, Date.now, { ...tokenBounds, joinableMax: 1 });
  const [shared, alone] = [await bearer(), await bearer({ sub: 'bob' })];
  const first = verifier.verify(shared);
  t.equal(verifier.verify(shared), first);
  const [second, third] = [verifier.verify(alone), verifier.verify(alone)];
  t.not(second, third);
  t.match(await Promise.all([first, second, third]), [{ subject: 'alice' }, { subject: 'bob' }, { subject: 'bob' }]);
});

t.test('the number of remembered tokens is bounded: the one unused for longest is dropped', async (t) => {
  const secret = Buffer.alloc(32, 7);
  const bounds = { ...tokenBounds, entriesMax: 4 };
  const verifier = new TokenVerifier(tokenOptions({ secret }), Date.now, bounds);
  const names = ['used', 'unused', ...Array.from({ length: 12 }, (_, n) => `other-${n}`)];
  const headers = await Promise.all(names.map((sub) => bearer({ sub, algorithm: 'HS256', key: secret })));
  const [used = '', unused = '', ...others] = headers;
  await verifier.verify(used);
  await verifier.verify(unused);
  for (const header of others) {
    await verifier.verify(header);
    t.notOk(verifier.verify(used) instanceof Promise, 'what is used stays');
  }
  const again = verifier.verify(unused);
  t.ok(again instanceof Promise, 'what is not goes');
  t.match(await again, { subject: 'unused' });
});

t.test('the bytes of remembered tokens are bounded', async (t) => {
  const secret = Buffer.alloc(32, 7);
  const verifier = new TokenVerifier(tokenOptions({ secret }), Date.now, { ...tokenBounds, bytesMax: 20_000 });
  const filler = 'x'.repeat(3_000);
  const headers = await Promise.all(
    ['a', 'b', 'c', 'd'].map((sub) => bearer({ sub, algorithm: 'HS256', key: secret, claims: { filler } })),
  );
  for (const header of headers) await verifier.verify(header);
  t.notOk(verifier.verify(headers[3] ?? '') instanceof Promise);
  t.ok(verifier.verify(headers[0] ?? '') instanceof Promise);
});

t.test('a token has one spelling: another is invalid, and not remembered', async (t) => {
  const verifier = new TokenVerifier(p256Options);
  const header = await bearer();
  await verifier.verify(header);
  const signatureAt = header.lastIndexOf('.') + 1;
  const last = header.at(-1) ?? '';
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  // The signature has 86 characters, and the last one has four bits without meaning.
  const sameBits = alphabet[alphabet.indexOf(last) ^ 1] ?? '';
  const spellings = {
    'a space in the signature': `${header.slice(0, signatureAt + 5)} ${header.slice(signatureAt + 5)}`,
    'a tab in the signature': `${header.slice(0, signatureAt + 5)}\t${header.slice(signatureAt + 5)}`,
    'a space before the signature': `${header.slice(0, signatureAt)} ${header.slice(signatureAt)}`,
    padding: `${header}==`,
    'bits that fill up': `${header.slice(0, -1)}${sameBits}`,
    'a fourth part': `${header}.x`,
  };
  for (const [what, spelling] of Object.entries(spellings)) t.match(await verifier.verify(spelling), INVALID, what);
  for (const spelling of [header.replace('Bearer ', 'bearer '), header.replace(' ', '     '), `${header} `]) {
    t.notOk(verifier.verify(spelling) instanceof Promise, 'another spelling of the scheme is the token that is known');
    t.match(verifier.verify(spelling), { subject: 'alice' });
  }
});

function claims(): Record<string, unknown> {
  const nowSeconds = Math.floor(Date.now() / 1_000);
  return { sub: 'mallory', iss: 'mcpgateway', aud: 'mcpgateway-api', iat: nowSeconds, exp: nowSeconds + 3_600 };
}
