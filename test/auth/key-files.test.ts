import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import fs, { renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { KeyFiles } from '../../src/auth/key-files.js';
import { TokenKeys } from '../../src/auth/token-keys.js';
import { tokenBounds, TokenVerifier } from '../../src/auth/token-verifier.js';
import type { IssuerKeySource } from '../../src/config/table/token-options.js';
import { limits } from '../../src/shared/limits.js';
import type { Logger } from '../../src/shared/logger.js';
import { logInto } from '../support/log-lines.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { mint } from '../support/tokens.js';
import { until } from '../support/until.js';
import { tokenOptions } from './token-options.js';

const BOUNDS = { ...limits, keyFileCheckMs: 20 };
const [first, second] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed25519')];
const pem = (...keys: KeyObject[]): string =>
  keys.map((key) => key.export({ type: 'spki', format: 'pem' }).toString()).join('');
const tokenOf = async (key: KeyObject): Promise<string> =>
  `Bearer ${await mint({ sub: 'alice', algorithm: 'EdDSA', key })}`;

interface Stage {
  readonly path: string;
  readonly verifier: TokenVerifier;
  readonly logger: Logger;
  /** Lines of the log at this level or above. */
  readonly linesOf: (level: number) => readonly Record<string, unknown>[];
  readonly kindOf: (key: KeyObject) => Promise<string>;
}

/** A verifier whose options were read from a file; unless a test says otherwise, it holds the first key. */
function stage(t: Test, atStart = pem(first.publicKey), issuerKeys: readonly IssuerKeySource[] = []): Stage {
  const path = join(createScratchDirectory(t), 'keys.pem');
  writeFileSync(path, atStart);
  const keyPaths = { publicKey: path, secret: undefined, jwks: undefined };
  const options = tokenOptions({ publicKey: pem(first.publicKey), keyPaths, issuerKeys });
  const verifier = new TokenVerifier(options, Date.now, tokenBounds, new TokenKeys(options, BOUNDS));
  t.teardown(() => verifier.close());
  const kindOf = async (key: KeyObject): Promise<string> => (await verifier.verify(await tokenOf(key))).kind;
  const lines: string[] = [];
  const linesOf = (least: number): readonly Record<string, unknown>[] =>
    lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ level }) => Number(level) >= least);
  return { path, verifier, logger: logInto(lines), linesOf, kindOf };
}

t.test('a new key is accepted while the old one is still valid, and then replaces it', async (t) => {
  const { path, verifier, logger, linesOf, kindOf } = stage(t);
  await verifier.watchKeys(logger);
  const remembered = await tokenOf(first.privateKey);
  t.equal((await verifier.verify(remembered)).kind, 'subject');
  t.equal(await kindOf(second.privateKey), 'refused');

  writeFileSync(path, pem(first.publicKey, second.publicKey));
  await until(async () => (await kindOf(second.privateKey)) === 'subject', 'the second key');
  t.notOk(verifier.verify(remembered) instanceof Promise, 'a key more costs nobody a verification');

  // As careful operators do it: written to another file, which then replaces the first by a rename.
  writeFileSync(`${path}.new`, pem(second.publicKey));
  renameSync(`${path}.new`, path);
  await until(async () => (await kindOf(first.privateKey)) === 'refused', 'the end of the first key');
  t.equal((await verifier.verify(remembered)).kind, 'refused', 'what it had verified is forgotten');
  t.equal(await kindOf(second.privateKey), 'subject');
  t.match(linesOf(30), [
    { keys: 2, before: 1 },
    { keys: 1, before: 2 },
  ]);
});

t.test('a broken, missing or huge file leaves the former keys in use, and is reported once', async (t) => {
  const { path, verifier, logger, linesOf, kindOf } = stage(t);
  const obstacles: string[] = [];
  const inTheWay: boolean[] = [];
  await verifier.watchKeys(logger, (obstacle, isInTheWay) => {
    obstacles.push(obstacle);
    inTheWay.push(isInTheWay);
  });
  const complaints = (): readonly unknown[] => linesOf(50);
  const broken: readonly (() => void)[] = [
    () => writeFileSync(path, 'of wax'),
    () => writeFileSync(path, pem(second.publicKey).slice(0, 60)),
    () => writeFileSync(path, pem(second.publicKey) + ' '.repeat(limits.keySetBytesMax)),
    () => rmSync(path),
  ];
  for (const [index, breakIt] of broken.entries()) {
    breakIt();
    await until(() => complaints().length === index + 1, `complaint ${index + 1}`);
    t.equal(await kindOf(first.privateKey), 'subject');
  }
  t.match(
    complaints(),
    broken.map(() => ({ reason: /^--token-verification-public-key: / })),
  );
  writeFileSync(path, pem(second.publicKey));
  await until(async () => (await kindOf(second.privateKey)) === 'subject', 'the second key');
  t.equal(complaints().length, broken.length, 'once each');
  await until(() => obstacles.at(-1) === '', 'the end of the obstacle');
  t.notOk(inTheWay.includes(true), 'there was always a key');
  const told = obstacles.filter((obstacle) => obstacle !== '');
  t.match(
    told,
    broken.map(
      () => /^a changed key file cannot be used, the previous keys stay in use: --token-verification-public-key: /,
    ),
  );
});

t.test('a file that cannot be used is told beside keys that cannot be fetched', async (t) => {
  const nobody = 'http://127.0.0.1:1';
  const { path, verifier, logger } = stage(t, undefined, [{ issuer: nobody, url: `${nobody}/jwks` }]);
  const obstacles: string[] = [];
  await verifier.watchKeys(logger, (obstacle) => void obstacles.push(obstacle));
  writeFileSync(path, 'of wax');
  const both = /^the keys of the issuer in --token-jwks-url [^;]+; [^;]+; a changed key file cannot be used/;
  await until(() => both.test(obstacles.at(-1) ?? ''), 'word of both');
});

/** Makes so many reads of the file fail with EMFILE, as when too many files are open. @returns how many failures are left. */
function failReads(t: Test, path: string, times: number): () => number {
  const { readFileSync } = fs;
  const restore = (): void => {
    fs.readFileSync = readFileSync;
    syncBuiltinESMExports();
  };
  let left = times;
  fs.readFileSync = ((...words: Parameters<typeof readFileSync>) => {
    if (words[0] !== path || left === 0) return readFileSync(...words);
    left -= 1;
    throw Object.assign(new Error('EMFILE: too many open files, open'), { code: 'EMFILE' });
  }) as typeof readFileSync;
  syncBuiltinESMExports();
  t.teardown(restore);
  return () => left;
}

t.test('a file that cannot be read for a moment is read at a later check, and reported once', async (t) => {
  const { path, verifier, logger, linesOf, kindOf } = stage(t);
  await verifier.watchKeys(logger);
  const left = failReads(t, path, 2);
  writeFileSync(path, pem(second.publicKey));
  await until(() => left() === 0, 'the second try');
  t.equal(await kindOf(first.privateKey), 'subject', 'meanwhile the keys of before are good');
  await until(async () => (await kindOf(second.privateKey)) === 'subject', 'the second key');
  t.equal(await kindOf(first.privateKey), 'refused');
  t.match(linesOf(50), [{ reason: /EMFILE/ }]);
  t.equal(linesOf(50).length, 1);
});

t.test('a change since the options were read counts from the start on', async (t) => {
  const { verifier, logger, kindOf } = stage(t, pem(second.publicKey));
  await verifier.watchKeys(logger);
  t.equal(await kindOf(second.privateKey), 'subject');
  t.equal(await kindOf(first.privateKey), 'refused');
});

t.test('a file that is still being written is left until it looks the same twice, and is then read once', async (t) => {
  const { path, logger, linesOf } = stage(t);
  const keyPaths = { publicKey: path, secret: undefined, jwks: undefined };
  let [changes, readings] = [0, 0];
  const options = tokenOptions({ publicKey: pem(first.publicKey), keyPaths });
  const files = new KeyFiles(
    options,
    () => (changes += 1),
    () => (readings += 1),
    60_000,
  );
  t.teardown(() => files.close());
  await files.watch(logger);
  const before = readings;
  writeFileSync(path, pem(second.publicKey));
  await files.check(logger);
  t.equal(changes, 0);
  for (let check = 0; check < 3; check += 1) await files.check(logger);
  t.same([changes, readings], [1, before + 1]);
  rmSync(path);
  for (let check = 0; check < 3; check += 1) await files.check(logger);
  t.equal(linesOf(50).length, 1, 'that it is gone is told once');
  t.match(files.fault, /^--token-verification-public-key: /);
});

t.test('a symbolic link that is redirected counts as a change', async (t) => {
  const { path, verifier, logger, kindOf } = stage(t);
  const [one, two] = [`${path}.1`, `${path}.2`];
  writeFileSync(one, pem(first.publicKey));
  writeFileSync(two, pem(second.publicKey));
  rmSync(path);
  symlinkSync(one, path);
  await verifier.watchKeys(logger);
  symlinkSync(two, `${path}.next`);
  renameSync(`${path}.next`, path);
  await until(async () => (await kindOf(second.privateKey)) === 'subject', 'the second key');
  t.equal(await kindOf(first.privateKey), 'refused');
});
