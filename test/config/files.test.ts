import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { InvalidValue } from '../../src/config/values.js';
import * as files from '../../src/config/files.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

/** Returns a function that writes a file into the test's scratch directory and returns its path. */
function fileWriter(t: Test): (name: string, content: string | Buffer) => string {
  const directory = createScratchDirectory(t);
  return (name, content) => {
    const path = join(directory, name);
    writeFileSync(path, content);
    return path;
  };
}

const publicPem = (key: KeyObject, type: 'spki' | 'pkcs1' = 'spki') => key.export({ type, format: 'pem' }).toString();
const privatePem = (key: KeyObject, type: 'pkcs8' | 'pkcs1' | 'sec1' = 'pkcs8') =>
  key.export({ type, format: 'pem' }).toString();

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const accepted = {
  RSA: rsa,
  'P-256': p256,
  'P-384': generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  'P-521': generateKeyPairSync('ec', { namedCurve: 'P-521' }),
  Ed25519: generateKeyPairSync('ed25519'),
};
const refused = {
  'RSA of 1024 bits': generateKeyPairSync('rsa', { modulusLength: 1024 }),
  secp256k1: generateKeyPairSync('ec', { namedCurve: 'secp256k1' }),
  Ed448: generateKeyPairSync('ed448'),
  X25519: generateKeyPairSync('x25519'),
  'RSA-PSS': generateKeyPairSync('rsa-pss', { modulusLength: 2048 }),
};

t.test('token keys of every kind that JOSE signs with are read', async (t) => {
  const write = fileWriter(t);
  for (const [kind, { publicKey, privateKey }] of Object.entries(accepted)) {
    t.equal(
      files.readTokenPublicKey(write('public', publicPem(publicKey))).pem,
      publicPem(publicKey),
      `public ${kind}`,
    );
    t.equal(files.readTokenPrivateKey(write('private', privatePem(privateKey))), privatePem(privateKey), kind);
  }
  t.ok(files.readTokenPublicKey(write('pkcs1', publicPem(rsa.publicKey, 'pkcs1'))), 'public PKCS#1');
  t.ok(files.readTokenPrivateKey(write('pkcs1', privatePem(rsa.privateKey, 'pkcs1'))), 'private PKCS#1');
  t.ok(files.readTokenPrivateKey(write('sec1', privatePem(p256.privateKey, 'sec1'))), 'private SEC1');
});

t.test('token keys of other kinds are refused', async (t) => {
  const write = fileWriter(t);
  const problem = { name: 'InvalidValue', message: /cannot be used for signing tokens; use RSA of 2048 bits/ };
  for (const [kind, { publicKey, privateKey }] of Object.entries(refused)) {
    t.throws(() => files.readTokenPublicKey(write('public', publicPem(publicKey))), problem, `public ${kind}`);
    t.throws(() => files.readTokenPrivateKey(write('private', privatePem(privateKey))), problem, `private ${kind}`);
  }
});

t.test('a key of the wrong half, or an encrypted, damaged or absent one, is refused', async (t) => {
  const write = fileWriter(t);
  const publicPath = write('public', publicPem(rsa.publicKey));
  const privatePath = write('private', privatePem(rsa.privateKey));
  t.throws(() => files.readTokenPublicKey(privatePath), { message: /holds a private key/ });
  t.throws(() => files.readTokenPrivateKey(publicPath), { message: /holds a public key or a certificate/ });
  const encrypted = p256.privateKey.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-128-cbc', passphrase: 'x' });
  t.throws(() => files.readTokenPrivateKey(write('encrypted', encrypted.toString())), { message: /encrypted/ });
  t.throws(() => files.readTokenPublicKey(write('damaged', publicPem(rsa.publicKey).slice(0, 200))), InvalidValue);
  t.throws(() => files.readTokenPrivateKey(write('damaged', privatePem(rsa.privateKey).slice(0, 200))), InvalidValue);
  t.throws(() => files.readTokenPublicKey(write('empty', '')), InvalidValue);
  t.throws(() => files.readTokenPublicKey(`${publicPath}.absent`), { message: /cannot be read \(ENOENT\)/ });
  t.throws(() => files.readTokenPublicKey(createScratchDirectory(t)), { message: /cannot be read \(EISDIR\)/ });
});

t.test('a file with several keys is refused, because OpenSSL would silently take the first one', async (t) => {
  const write = fileWriter(t);
  const [one, other] = [privatePem(rsa.privateKey), privatePem(p256.privateKey, 'sec1')];
  for (const read of [files.readTokenPrivateKey, files.readTlsPrivateKey]) {
    t.throws(() => read(write('two', one + other)), { name: 'InvalidValue', message: /holds 2 private keys/ });
    t.throws(() => read(write('three', one + one + other)), { message: /holds 3 private keys; give a file/ });
    t.ok(read(write('one', `-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n${other}`)));
  }
});

t.test('a secret is bytes; one final newline is not part of it', async (t) => {
  const write = fileWriter(t);
  const bytes = Buffer.alloc(32, 0xfe);
  for (const end of ['', '\n', '\r\n']) {
    const { secret } = files.readTokenSecret(write('secret', Buffer.concat([bytes, Buffer.from(end)])));
    t.strictSame(Buffer.from(secret), bytes, JSON.stringify(end));
  }
  const { secret } = files.readTokenSecret(write('secret', Buffer.concat([bytes, Buffer.from('\n\n')])));
  t.equal(secret.length, 33, 'only one newline is trimmed');
  t.throws(() => files.readTokenSecret(write('short', `${'x'.repeat(31)}\n`)), { message: /too short/ });
  t.ok(files.readTokenSecret(write('long-enough', 'x'.repeat(32))));
});

t.test('keys that seal secrets have 32 bytes each, in base64 or hexadecimal, one per line', async (t) => {
  const write = fileWriter(t);
  const [one, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  const path = write('keys', `# newest first\n\n ${one.toString('base64')}\r\n${other.toString('hex')}\n`);
  t.strictSame(files.readSecretKeys(path), [one.toString('base64'), other.toString('base64')]);
  const faulty: Readonly<Record<string, RegExp>> = {
    '': /holds no key/,
    '# nothing\n': /holds no key/,
    [Buffer.alloc(31, 1).toString('base64')]: /not a key of 32 bytes/,
    [Buffer.alloc(33, 1).toString('base64')]: /not a key of 32 bytes/,
    [`${one.toString('hex')}00`]: /not a key of 32 bytes/,
    // Decoders skip what is not base64: the rest would be a key that nobody wrote.
    [`${one.toString('base64')}!`]: /not a key of 32 bytes/,
    [`${one.toString('base64')}\n${one.toString('hex')}`]: /holds a key twice/,
  };
  for (const [text, message] of Object.entries(faulty))
    t.throws(() => files.readSecretKeys(write('faulty', text)), { name: 'InvalidValue', message }, text);
});

t.test('a password is text; one final newline is not part of it', async (t) => {
  const write = fileWriter(t);
  t.equal(files.readPassword(write('password', 'pässword \n')), 'pässword ');
  t.equal(files.readPassword(write('password', 'password\r\n')), 'password');
  t.equal(files.readPassword(write('password', 'password')), 'password');
  t.throws(() => files.readPassword(write('empty', '\n')), { message: /is empty/ });
});

t.test('certificates', async (t) => {
  const write = fileWriter(t);
  const keyPath = write('key', privatePem(p256.privateKey));
  const pem = execFileSync('openssl', ['req', '-x509', '-new', '-key', keyPath, '-subj', '/CN=localhost'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const path = write('certificate', pem);
  t.strictSame(files.readCertificates(path), { path, pem });
  t.ok(files.readCertificates(write('chain', `a comment\n${pem}\n${pem}`)), 'a chain with words around it');
  const damaged = pem.replace(/\n.{20}/, '\n');
  t.throws(() => files.readCertificates(write('damaged', `${pem}${damaged}`)), { message: /certificate 2 .* parsed/ });
  t.throws(() => files.readCertificates(keyPath), { message: /no PEM certificate/ });
});

t.test('no message repeats a file’s contents, or its path', async (t) => {
  const write = fileWriter(t);
  const secret = 'correct-horse-battery';
  const path = write('secret-path-name', secret);
  for (const read of [
    files.readTokenPublicKey,
    files.readTokenPrivateKey,
    files.readTokenSecret,
    files.readCertificates,
    files.readTlsPrivateKey,
  ]) {
    try {
      read(path);
      t.fail(`${read.name} must refuse the file`);
    } catch (error) {
      t.notMatch(String(error), /correct|secret-path-name/, read.name);
    }
  }
  t.equal(readFileSync(path, 'utf8'), secret);
});
