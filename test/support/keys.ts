// Key material of a test file: pairs of each kind that the gateway accepts, as objects to sign with and as PEM files to
// name on its command line.
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { createScratchDirectory } from './scratch-directory.js';

export interface KeyPair {
  /** The JWS algorithm that tokens of this key are signed with by default. */
  readonly algorithm: string;
  readonly privateKey: KeyObject;
  /** SPKI. */
  readonly publicKeyPem: string;
  readonly publicKeyPath: string;
  /** PKCS#8. */
  readonly privateKeyPath: string;
}

export type KeyKind = 'rsa' | 'ec' | 'ed25519';

export function createKeyPair(t: Pick<Test, 'teardown'>, kind: KeyKind = 'rsa'): KeyPair {
  const { algorithm, publicKey, privateKey } = generate(kind);
  const directory = createScratchDirectory(t);
  const publicKeyPem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  const pair = {
    algorithm,
    privateKey,
    publicKeyPem,
    publicKeyPath: join(directory, 'public.pem'),
    privateKeyPath: join(directory, 'private.pem'),
  };
  writeFileSync(pair.publicKeyPath, publicKeyPem);
  writeFileSync(pair.privateKeyPath, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  return pair;
}

function generate(kind: KeyKind): { algorithm: string; publicKey: KeyObject; privateKey: KeyObject } {
  switch (kind) {
    case 'rsa':
      return { algorithm: 'RS256', ...rsaPair() };
    case 'ec':
      return { algorithm: 'ES256', ...generateKeyPairSync('ec', { namedCurve: 'P-256' }) };
    case 'ed25519':
      return { algorithm: 'EdDSA', ...generateKeyPairSync('ed25519') };
  }
}

/** The folder of RSA keys that all processes of one run share: creating one takes up to a second. */
const { TEST_KEYS: sharedKeys } = process.env;
let rsaCount = 0;

/** The nth key of one process is the nth key of every other, so that one process never gets the same key twice. */
function rsaPair(): { publicKey: KeyObject; privateKey: KeyObject } {
  if (sharedKeys === undefined) return generateKeyPairSync('rsa', { modulusLength: 2048 });
  rsaCount += 1;
  const path = join(sharedKeys, `rsa-${rsaCount}.pem`);
  if (!existsSync(path)) {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    mkdirSync(sharedKeys, { recursive: true });
    // Written under another name and renamed, because other processes may read it at any moment.
    writeFileSync(`${path}.${process.pid}`, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
    renameSync(`${path}.${process.pid}`, path);
  }
  const privateKey = createPrivateKey(readFileSync(path));
  return { publicKey: createPublicKey(privateKey), privateKey };
}
