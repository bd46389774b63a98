// The quick start's keys: created once, kept in the data folder.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface KeyPairPaths {
  readonly publicKey: string;
  readonly privateKey: string;
}

/** Creates an RSA key pair in the folder unless one exists. */
export function ensureKeyPair(folder: string): KeyPairPaths {
  const paths = { publicKey: join(folder, 'token-public.pem'), privateKey: join(folder, 'token-private.pem') };
  if (existsSync(paths.publicKey) && existsSync(paths.privateKey)) return paths;
  mkdirSync(folder, { recursive: true });
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(paths.publicKey, publicKey.export({ type: 'spki', format: 'pem' }));
  writeFileSync(paths.privateKey, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  return paths;
}

/** @returns the path of a key that encrypts the secrets in the store. */
export function ensureSecretsKey(folder: string): string {
  const path = join(folder, 'secret-keys');
  if (!existsSync(path)) writeFileSync(path, randomBytes(32).toString('base64'), { mode: 0o600 });
  return path;
}
