// Reads keys that verify tokens from PEM, a JWK set or a secret. A key gets only the algorithms of its type (RFC 8725 section 3.1). Cold
// path.
import { createHash, createPublicKey, X509Certificate, type KeyObject } from 'node:crypto';
import { limits } from '../shared/index.js';
import { InvalidValue } from './values.js';

/** The types of public keys that may verify tokens. */

type KeyKind = 'RSA' | 'P-256' | 'P-384' | 'P-521' | 'Ed25519';

/** The least length of an RSA key: JOSE allows no shorter one. */
const RSA_KEY_BITS_MIN = 2048;

const CURVES: Readonly<Record<string, KeyKind>> = { prime256v1: 'P-256', secp384r1: 'P-384', secp521r1: 'P-521' };

/** The algorithms of each type of key. Tokens are minted with the first one. */
export const ALGORITHMS: Readonly<Record<KeyKind, readonly [string, ...string[]]>> = {
  RSA: ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  'P-256': ['ES256'],
  'P-384': ['ES384'],
  'P-521': ['ES512'],
  Ed25519: ['EdDSA', 'Ed25519'],
};

/** The least length of a secret for each algorithm: the length of its hash (RFC 7518 section 3.2). */
const HMAC_SECRET_BYTES_MIN = { HS256: 32, HS384: 48, HS512: 64 };

function hmacAlgorithms(secret: Uint8Array): readonly string[] {
  return Object.entries(HMAC_SECRET_BYTES_MIN)
    .filter(([, bytesMin]) => secret.length >= bytesMin)
    .map(([algorithm]) => algorithm);
}

/** The type of a key; `undefined` if the key may not verify tokens. */
export function keyKind(key: KeyObject): KeyKind | undefined {
  const { modulusLength = 0, namedCurve = '' } = key.asymmetricKeyDetails ?? {};
  switch (key.asymmetricKeyType) {
    case 'rsa':
      return modulusLength >= RSA_KEY_BITS_MIN ? 'RSA' : undefined;
    case 'ec':
      return CURVES[namedCurve];
    case 'ed25519':
      return 'Ed25519';
    default:
      return undefined;
  }
}

export interface VerificationKey {
  readonly key: KeyObject | Uint8Array;
  readonly algorithms: readonly string[];
  /** The `kid` by which tokens name the key; `undefined` if it has none. */
  readonly id: string | undefined;
  /** A digest, equal for equal keys with the same algorithms and id. */
  readonly digest: string;
}

/** Whose a JWK set is: an unusable key is a fault in the operator's own set, and is skipped in an issuer's set. */
type JwksOwner = 'operator' | 'issuer';

const PRIVATE_KEY_LABEL = /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----/;
/** The first line of a public key, or of a certificate, which contains a public key. */
const KEY_LABEL = /-----BEGIN (?:(?:[A-Z]+ )*PUBLIC KEY|(?:X509 |TRUSTED )?CERTIFICATE)-----/g;
const KEY_BLOCK = /-----BEGIN ((?:[A-Z]+ )*PUBLIC KEY|(?:X509 |TRUSTED )?CERTIFICATE)-----[^-]*-----END \1-----/g;
const CERTIFICATE = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/;
export const ACCEPTED_KEY_KINDS = 'RSA of 2048 bits or more, EC on P-256, P-384 or P-521, or Ed25519';

/** Parses public keys and certificates in PEM. @throws {InvalidValue} */
export function keysOfPem(pem: string): readonly VerificationKey[] {
  // A private key is refused: Node.js would derive the public key, and every worker would have the private one.
  if (PRIVATE_KEY_LABEL.test(pem)) throw new InvalidValue('holds a private key; give the file of its public key');
  const blocks = pem.match(KEY_BLOCK) ?? [];
  const count = pem.match(KEY_LABEL)?.length ?? 0;
  if (count === 0) throw new InvalidValue('is not a public key in PEM; write one with `openssl pkey -pubout`');
  if (blocks.length !== count) {
    throw new InvalidValue('holds a key whose end is missing or damaged; write the file again');
  }
  refuseChain(blocks);
  const keys = blocks.map((block, index) =>
    parseKeyBlock(block, count === 1 ? 'holds a key that ' : `key ${index + 1} in the file `),
  );
  return checkedKeys(keys);
}

/** The key for a secret, with the algorithms that the secret is long enough for. @throws {InvalidValue} */
export function keysOfSecret(secret: Uint8Array): readonly VerificationKey[] {
  const algorithms = hmacAlgorithms(secret);
  if (algorithms.length > 0) return [verificationKey(secret, algorithms, undefined)];
  throw new InvalidValue('holds a secret that is too short; use 32 random bytes or more');
}

/** The usable keys of a JWK set (RFC 7517). Only an issuer's set may have none, for it may withdraw its last key. @throws {InvalidValue} */
export function keysOfJwks(text: string, origin: JwksOwner): readonly VerificationKey[] {
  const members = jwkListIn(text);
  if (members.length > limits.verificationKeysMax) {
    throw new InvalidValue(`holds ${members.length} keys; ${limits.verificationKeysMax} is the maximum`);
  }
  const keys: VerificationKey[] = [];
  members.forEach((jwk, index) => {
    const read = parseJwk(jwk);
    if (typeof read !== 'string') keys.push(read);
    // A key for another use, such as encryption, is no mistake.
    else if (origin === 'operator' && read !== OTHER_USE) throw new InvalidValue(`key ${index + 1} in the set ${read}`);
  });
  // A secret in an issuer's set is left out, because the set is public.
  const usable = origin === 'operator' ? keys : keys.filter(({ key }) => !(key instanceof Uint8Array));
  if (origin === 'issuer') return usable;
  if (usable.length === 0) throw new InvalidValue('holds no key that verifies tokens');
  return checkedKeys(usable);
}

/** Returns the keys unchanged. @throws {InvalidValue} for too many, for equal keys, and for keys with the same `kid` and algorithm. */
export function checkedKeys(keys: readonly VerificationKey[]): readonly VerificationKey[] {
  if (keys.length > limits.verificationKeysMax) {
    throw new InvalidValue(`holds ${keys.length} keys; ${limits.verificationKeysMax} is the maximum`);
  }
  const [digests, names] = [new Map<string, number>(), new Map<string, number>()];
  keys.forEach(({ id, algorithms, digest }, index) => {
    const equal = digests.get(digest);
    if (equal !== undefined) throw new InvalidValue(`holds the same key as keys ${equal} and ${index + 1}; remove one`);
    digests.set(digest, index + 1);
    if (id === undefined) return;
    for (const algorithm of algorithms) {
      const name = JSON.stringify([id, algorithm]);
      const other = names.get(name);
      if (other !== undefined) {
        throw new InvalidValue(`keys ${other} and ${index + 1} have the same kid and algorithm; give each its own kid`);
      }
      names.set(name, index + 1);
    }
  });
  return keys;
}

const REPAIR_ADVICE = 'write it again with `openssl pkey -pubout`, or remove it';

function parseKeyBlock(block: string, which: string): VerificationKey {
  const key = orInvalid(() => createPublicKey(block), `${which}cannot be parsed; ${REPAIR_ADVICE}`);
  const kind = keyKind(key);
  if (kind !== undefined) return verificationKey(key, ALGORITHMS[kind], undefined);
  throw new InvalidValue(`${which}cannot be used for signing tokens; use ${ACCEPTED_KEY_KINDS}`);
}

/** Refuses a certificate together with that of the CA which issued it: the CA's key would verify tokens, too. */
function refuseChain(blocks: readonly string[]): void {
  if (blocks.length < 2) return;
  const certificates = blocks
    .filter((block) => CERTIFICATE.test(block))
    .map((block) => orInvalid(() => new X509Certificate(block), 'holds a certificate that cannot be parsed'));
  for (const one of certificates) {
    if (certificates.some((other) => other !== one && one.checkIssued(other) && one.raw.compare(other.raw) !== 0)) {
      throw new InvalidValue('holds a certificate with its chain; leave only the one whose key signs tokens');
    }
  }
}

function jwkListIn(text: string): readonly unknown[] {
  const set = orInvalid(() => JSON.parse(text) as unknown, 'is not a JWK set: it is not JSON');
  const keys = typeof set === 'object' && set !== null && 'keys' in set ? set.keys : undefined;
  if (Array.isArray(keys)) return keys;
  throw new InvalidValue('is not a JWK set; write {"keys":[…]}');
}

const OTHER_USE = 'is not for signatures';

/** The key in a member of a JWK set. @returns the key, or a text that says why it cannot be used. */
function parseJwk(jwk: unknown): VerificationKey | string {
  if (typeof jwk !== 'object' || jwk === null) return 'is no object';
  const { kty, kid, use, alg, key_ops: operations, k, d } = jwk as Readonly<Record<string, unknown>>;
  if (use !== undefined && use !== 'sig') return OTHER_USE;
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify'))) return OTHER_USE;
  if (d !== undefined) return 'is a private key; keep only its public part';
  if (kid !== undefined && (typeof kid !== 'string' || kid.length > limits.keyIdCharsMax)) {
    return `has a kid that is not a string of at most ${limits.keyIdCharsMax} characters`;
  }
  const read = kty === 'oct' ? parseJwkSecret(k) : parseJwkPublicKey(jwk as Readonly<Record<string, unknown>>);
  if (typeof read === 'string') return read;
  if (alg === undefined) return verificationKey(read.key, read.algorithms, kid);
  const named = read.algorithms.find((algorithm) => algorithm === alg);
  if (named === undefined) return 'has an alg that does not fit its key type';
  // `EdDSA` and `Ed25519` name one algorithm (RFC 9864).
  const algorithms = named === 'EdDSA' || named === 'Ed25519' ? read.algorithms : [named];
  return verificationKey(read.key, algorithms, kid);
}

type KeyAndAlgorithms = Pick<VerificationKey, 'key' | 'algorithms'>;

function parseJwkSecret(k: unknown): KeyAndAlgorithms | string {
  const secret = typeof k === 'string' ? new Uint8Array(Buffer.from(k, 'base64url')) : new Uint8Array();
  const algorithms = hmacAlgorithms(secret);
  return algorithms.length === 0
    ? 'is a secret that is too short; use 32 random bytes or more'
    : { key: secret, algorithms };
}

function parseJwkPublicKey(jwk: Readonly<Record<string, unknown>>): KeyAndAlgorithms | string {
  let key: KeyObject;
  try {
    key = createPublicKey({ key: jwk, format: 'jwk' });
  } catch {
    return `cannot be read; use ${ACCEPTED_KEY_KINDS}, or a secret`;
  }
  const kind = keyKind(key);
  return kind === undefined
    ? `cannot be used for signing tokens; use ${ACCEPTED_KEY_KINDS}`
    : { key, algorithms: ALGORITHMS[kind] };
}

function verificationKey(
  key: KeyObject | Uint8Array,
  algorithms: readonly string[],
  id: string | undefined,
): VerificationKey {
  const bytes = key instanceof Uint8Array ? key : key.export({ type: 'spki', format: 'der' });
  const digest = createHash('sha256')
    .update(JSON.stringify([algorithms, id ?? null]))
    .update(bytes)
    .digest('base64');
  return { key, algorithms, id, digest };
}

/** Calls `read`. @throws {InvalidValue} with this problem if `read` throws. */
export function orInvalid<Value>(read: () => Value, problem: string): Value {
  try {
    return read();
  } catch (error) {
    throw new InvalidValue(problem, { cause: error });
  }
}
