// Parsers of options that name files. The files are read and checked before anything listens.
import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { limits } from '../shared/index.js';
import { InvalidValue } from './values.js';
import type { Option, OptionReader } from './option.js';
import { keyKind, keysOfJwks, keysOfPem, keysOfSecret, ACCEPTED_KEY_KINDS, orInvalid } from './verification-keys.js';

const PRIVATE_KEY_LABELS = /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----/g;
const PUBLIC_LABEL = /-----BEGIN (?:(?:[A-Z]+ )*PUBLIC KEY|(?:X509 |TRUSTED )?CERTIFICATE)-----/;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

export interface PemFile {
  readonly path: string;
  readonly pem: string;
}

/** A file or directory cannot be read. Unlike for invalid content, another attempt may succeed. */
export class UnreadableFile extends InvalidValue {}

/** Checks that a directory can be read. The files in it are read later, when they are needed. */
export function parseDirectory(path: string): string {
  try {
    readdirSync(path);
    return path;
  } catch (error) {
    throw new UnreadableFile(`the directory cannot be read (${codeOf(error)}); give the path of a readable directory`, {
      cause: error,
    });
  }
}

/** Reads and checks the public keys that verify tokens: one, or several during a key rotation. */
export function readTokenPublicKey(path: string): PemFile {
  const pem = readKeyFile(path).toString('utf8');
  keysOfPem(pem);
  return { path, pem };
}

export function readTokenJwks(path: string) {
  const text = readKeyFile(path).toString('utf8');
  keysOfJwks(text, 'operator');
  return { path, text };
}

export function readTokenPrivateKey(path: string): string {
  const { pem, key } = readPrivateKey(path);
  if (keyKind(key) === undefined)
    throw new InvalidValue(`holds a key that cannot be used for signing tokens; use ${ACCEPTED_KEY_KINDS}`);
  return pem;
}

export function readTokenSecret(path: string) {
  const bytes = readKeyFile(path);
  const secret = new Uint8Array(bytes.subarray(0, bytes.length - finalNewlineBytes(bytes)));
  keysOfSecret(secret);
  return { path, secret };
}

const SECRET_KEY_BYTES = 32;

/** Reads keys that encrypt secrets, one per line: 32 bytes in base64 or hexadecimal. @returns the keys in base64. */
export function readSecretKeys(path: string): readonly string[] {
  const lines = readFile(path).toString('latin1').split(/\r?\n/);
  const words = lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'));
  const keys = words.map((word) => {
    const bytes = Buffer.from(word, /^[0-9a-f]{64}$/i.test(word) ? 'hex' : 'base64');
    const isValidKey = bytes.length === SECRET_KEY_BYTES && /^[A-Za-z0-9+/]+=*$/.test(word);
    if (!isValidKey)
      throw new InvalidValue('has a line that is not a key of 32 bytes; write one with `openssl rand -base64 32`');
    return bytes.toString('base64');
  });
  if (keys.length === 0) throw new InvalidValue('holds no key; write one with `openssl rand -base64 32`');
  if (keys.length > limits.secretKeysMax)
    throw new InvalidValue(`holds more than ${limits.secretKeysMax} keys; remove those that are no longer used`);
  if (new Set(keys).size < keys.length) throw new InvalidValue('holds a key twice; remove one of the two');
  return keys;
}

export function readPassword(path: string): string {
  const bytes = readFile(path);
  const password = bytes.toString('utf8', 0, bytes.length - finalNewlineBytes(bytes));
  if (password === '') throw new InvalidValue('is empty; write the password into it');
  return password;
}

/** Reads and checks a file of certificates: a certificate with its chain, or a bundle of CAs. */
export function readCertificates(path: string): PemFile {
  const pem = readFile(path).toString('utf8');
  const certificates = pem.match(CERTIFICATE) ?? [];
  if (certificates.length === 0) throw new InvalidValue('holds no PEM certificate');
  certificates.forEach((text, index) =>
    orInvalid(() => new X509Certificate(text), `certificate ${index + 1} in the file cannot be parsed`),
  );
  return { path, pem };
}

export function readTlsPrivateKey(path: string): PemFile {
  return { path, pem: readPrivateKey(path).pem };
}

/** Adds a fault if the private key does not belong to the first certificate. */
export function checkKeyPair(
  reader: OptionReader,
  certificate: Option<PemFile | undefined>,
  privateKey: Option<PemFile | undefined>,
): void {
  const [pem, keyPem] = [reader.value(certificate)?.pem, reader.value(privateKey)?.pem];
  if (pem === undefined || keyPem === undefined) return;
  if (new X509Certificate(pem).checkPrivateKey(createPrivateKey(keyPem))) return;
  reader.addFault(privateKey, `is not the key of --${certificate.name}; give the two files of one certificate`);
}

function readPrivateKey(path: string): { pem: string; key: KeyObject } {
  const pem = readFile(path).toString('utf8');
  if (/ENCRYPTED/.test(pem))
    throw new InvalidValue('holds an encrypted key; remove its passphrase with `openssl pkey`');
  // Several keys are a fault: OpenSSL would silently use the first.
  const count = pem.match(PRIVATE_KEY_LABELS)?.length ?? 0;
  if (count > 1) throw new InvalidValue(`holds ${count} private keys; give a file with only the one to use`);
  if (count === 0 && PUBLIC_LABEL.test(pem))
    throw new InvalidValue('holds a public key or a certificate; give the file of its private key');
  const key = orInvalid(() => createPrivateKey(pem), 'is not a private key in PEM (PKCS#8, PKCS#1 or SEC1)');
  return { pem, key };
}

function readKeyFile(path: string): Buffer {
  const bytes = readFile(path);
  if (bytes.length <= limits.keySetBytesMax) return bytes;
  throw new InvalidValue(`holds more than ${limits.keySetBytesMax} bytes, more than any file of keys needs`);
}

function readFile(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new UnreadableFile(`the file cannot be read (${codeOf(error)}); give the path of a readable file`, {
      cause: error,
    });
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason';
}

/** How many bytes the newline at the end of a file has: editors and `echo` add one, which is not part of the secret. */
function finalNewlineBytes(bytes: Buffer): number {
  if (bytes.at(-1) !== 0x0a) return 0;
  return bytes.at(-2) === 0x0d ? 2 : 1;
}
