// `--token-verification-public-key` and `--token-verification-secret-file` (decisions section 1): every kind of key
// verifies the algorithms of its kind, and no other.
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { writeConfig } from '../support/config-writer.js';
import { startGateway } from '../support/gateway.js';
import { McpCaller } from '../support/mcp-caller.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { mint, mintUnsigned } from '../support/tokens.js';

const directory = createScratchDirectory(t);
const storeOptions = { kind: 'embedded', path: join(directory, 'store') } as const;
await writeConfig(storeOptions, 'subject', { virtual_hosts: { v: { backends: {} } } });

interface Pair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

const pairs = {
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  p256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  p384: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  p521: generateKeyPairSync('ec', { namedCurve: 'P-521' }),
  ed25519: generateKeyPairSync('ed25519'),
} satisfies Record<string, Pair>;
const secret = Buffer.from('a secret of sixty-four characters, as HS512 wants one of 64 bytes');

/** The key that signs with each algorithm. */
const signers: Record<string, KeyObject | Uint8Array> = {
  RS256: pairs.rsa.privateKey,
  RS384: pairs.rsa.privateKey,
  RS512: pairs.rsa.privateKey,
  ES256: pairs.p256.privateKey,
  ES384: pairs.p384.privateKey,
  ES512: pairs.p521.privateKey,
  EdDSA: pairs.ed25519.privateKey,
  HS256: secret,
  HS384: secret,
  HS512: secret,
};

function writePem(name: string, key: KeyObject, type: 'spki' | 'pkcs1' = 'spki'): string {
  const path = join(directory, `${name}.pem`);
  writeFileSync(path, key.export({ type, format: 'pem' }));
  return path;
}

const publicKeyOption = '--token-verification-public-key';
const secretPath = join(directory, 'secret');
writeFileSync(secretPath, secret);
const secretOptions = ['--token-verification-secret-file', secretPath];

const cases: readonly {
  readonly key: string;
  readonly options: readonly string[];
  readonly accepts: readonly string[];
}[] = [
  {
    key: 'RSA, SPKI',
    options: [publicKeyOption, writePem('rsa', pairs.rsa.publicKey)],
    accepts: ['RS256', 'RS384', 'RS512'],
  },
  {
    key: 'RSA, PKCS#1',
    options: [publicKeyOption, writePem('rsa-pkcs1', pairs.rsa.publicKey, 'pkcs1')],
    accepts: ['RS256', 'RS384', 'RS512'],
  },
  { key: 'EC on P-256', options: [publicKeyOption, writePem('p256', pairs.p256.publicKey)], accepts: ['ES256'] },
  { key: 'EC on P-384', options: [publicKeyOption, writePem('p384', pairs.p384.publicKey)], accepts: ['ES384'] },
  { key: 'EC on P-521', options: [publicKeyOption, writePem('p521', pairs.p521.publicKey)], accepts: ['ES512'] },
  { key: 'Ed25519', options: [publicKeyOption, writePem('ed25519', pairs.ed25519.publicKey)], accepts: ['EdDSA'] },
  { key: 'an HMAC secret', options: secretOptions, accepts: ['HS256', 'HS384', 'HS512'] },
];

t.jobs = 2;

for (const { key, options, accepts } of cases) {
  void t.test(`${key} verifies ${accepts.join(', ')} and nothing else`, async (t) => {
    const gateway = await startGateway(t, { storeOptions, keyOptions: options });
    const statusOf = async (token: string): Promise<number> =>
      (await new McpCaller(gateway.origin, gateway.path('v'), token).initialize()).status;
    for (const [algorithm, signer] of Object.entries(signers)) {
      const expected = accepts.includes(algorithm) ? 200 : 401;
      t.equal(await statusOf(await mint({ sub: 'subject', key: signer, algorithm })), expected, algorithm);
    }
    const claims = { sub: 'subject', iss: 'mcpgateway', aud: 'mcpgateway-api', exp: 4_000_000_000 };
    t.equal(await statusOf(mintUnsigned(claims)), 401, 'none');
    for (const pair of Object.values(pairs)) {
      const pem = createPublicKey(pair.privateKey).export({ type: 'spki', format: 'pem' });
      const forged = await mint({ sub: 'subject', key: Buffer.from(pem), algorithm: 'HS256' });
      t.equal(await statusOf(forged), 401, 'HMAC with a public key as its secret');
    }
  });
}

void t.test('a secret of another file does not verify', async (t) => {
  const gateway = await startGateway(t, { storeOptions, keyOptions: secretOptions });
  const token = await mint({ sub: 'subject', key: Buffer.concat([secret, Buffer.from('x')]), algorithm: 'HS256' });
  t.equal((await new McpCaller(gateway.origin, gateway.path('v'), token).initialize()).status, 401);
});
