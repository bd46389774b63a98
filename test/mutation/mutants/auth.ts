// Slips in authenticating callers.
import { mutantsOf, type Mutant } from '../mutant.js';

export const authMutants: readonly Mutant[] = [
  ...mutantsOf(
    'src/shared/bearer-token.ts',
    ['auth/token-verifier'],
    [{ slip: 'the scheme is a matter of capitals', text: '/^bearer +(.*)$/i', becomes: '/^Bearer +(.*)$/' }],
  ),
  ...mutantsOf(
    'src/auth/token-verifier.ts',
    ['auth/token-verifier'],
    [
      {
        slip: 'a remembered token is good for a millisecond too long',
        text: 'if (this.#nowMs() < known.expiresAtMs) return known.verified;',
        becomes: 'if (this.#nowMs() <= known.expiresAtMs) return known.verified;',
      },
      {
        slip: 'a remembered token never expires',
        text: 'if (this.#nowMs() < known.expiresAtMs) return known.verified;',
        becomes: 'return known.verified;',
      },
      {
        slip: 'a token with the end of another is taken for it',
        text: 'if (known?.authorization !== authorization) return undefined;',
        becomes: 'if (known === undefined) return undefined;',
      },
      {
        slip: 'refusals are remembered',
        text: "if (verification.verified.kind === 'subject' && isCurrent) this.#remember(authorization, verification);",
        becomes: 'this.#remember(authorization, verification);',
      },
      {
        slip: 'a verification that is over stays under way',
        text: 'if (isCurrent) this.#underWay.delete(authorization);',
        becomes: '',
      },
      {
        slip: 'verifications are shared without bound',
        text: 'if (this.#underWay.size < this.#bounds.tokenVerificationsSharedMax) this.#underWay.set(authorization, verifying);',
        becomes: 'this.#underWay.set(authorization, verifying);',
      },
      {
        slip: 'one token is verified by each who brings it',
        text: 'return this.#underWay.get(spelling) ?? this.#verifyAnew(spelling, token);',
        becomes: 'return this.#verifyAnew(spelling, token);',
      },
      { slip: 'an empty subject is somebody', text: " || sub === '' ||", becomes: ' ||' },
      {
        slip: 'a fraction of a second is cut off the expiry',
        text: 'expiresAtMs: Math.ceil(exp) * 1_000',
        becomes: 'expiresAtMs: Math.floor(exp) * 1_000',
      },
      { slip: 'the audience is not looked at', text: '      audience: this.#audience,', becomes: '' },
      { slip: 'another clock counts', text: 'currentDate: new Date(this.#nowMs()),', becomes: '' },
      {
        slip: 'a token of any length is remembered',
        text: 'if (authorization.length > this.#bounds.tokenCacheKeyCharsMax) return;',
        becomes: '',
      },
      {
        slip: 'one token has any number of spellings',
        text: "if (!isCanonical(token)) return this.#counted(invalid('form'));",
        becomes: '',
      },
      {
        slip: 'each spelling of the scheme is remembered',
        text: 'const spelling = `Bearer ${token}`;',
        becomes: 'const spelling = authorization;',
      },
      {
        slip: 'a token expired counts as invalid',
        text: 'if (error instanceof errors.JWTExpired) return EXPIRED;',
        becomes: '',
      },
      {
        slip: 'what is remembered counts half',
        text: 'return 2 * chars + REMEMBERED_BYTES;',
        becomes: 'return chars;',
      },
    ],
  ),
  ...mutantsOf(
    'src/auth/standing.ts',
    ['auth/standing'],
    [
      {
        slip: 'texts count though others stand beside them',
        text: 'return areRight && texts.length === values.length ? texts : [];',
        becomes: 'return areRight ? texts : [];',
      },
      {
        slip: 'a claim of any length is looked at',
        text: 'if (values.length > limits.claimValuesMax) return [];',
        becomes: '',
      },
      {
        slip: 'what every object has is a claim',
        text: ' || !Object.hasOwn(value, step)',
        becomes: '',
      },
      { slip: 'the lowest role counts', text: 'roles.findLast(', becomes: 'roles.find(' },
    ],
  ),
  ...mutantsOf(
    'src/config/key-kind.ts',
    ['auth/token-verifier'],
    [
      { slip: 'a secret of 32 bytes verifies HS384', text: 'HS384: 48', becomes: 'HS384: 32' },
      { slip: 'a secret of 63 bytes verifies HS512', text: 'HS512: 64', becomes: 'HS512: 63' },
      {
        slip: 'a secret just long enough is too short',
        text: 'secret.length >= bytesMin',
        becomes: 'secret.length > bytesMin',
      },
      {
        slip: 'a curve verifies with the hash of another',
        text: "'P-384': ['ES384'],",
        becomes: "'P-384': ['ES256'],",
      },
      { slip: 'PS256 is not taken', text: "'RS512', 'PS256', 'PS384'", becomes: "'RS512', 'PS384'" },
    ],
  ),
  ...mutantsOf(
    'src/auth/token-keys.ts',
    ['auth/token-verifier', 'auth/key-files'],
    [
      {
        slip: 'any issuer is taken',
        text: 'return this.#sources.get(issuer);',
        becomes: 'return this.#sources.get(issuer) ?? this.#files;',
      },
      {
        slip: 'what a lost key has verified stays good',
        text: 'if (keys.lacksSomeOf(before)) this.onLoss();',
        becomes: '',
      },
    ],
  ),
  ...mutantsOf(
    'src/auth/key-set.ts',
    ['auth/token-verifier'],
    [
      {
        slip: 'a key is used by the name of another',
        text: 'named.length > 0 ? named : fitting.filter((key) => key.id === undefined)',
        becomes: 'fitting',
      },
    ],
  ),
  ...mutantsOf(
    'src/auth/issuer-keys.ts',
    ['auth/issuer-keys'],
    [
      {
        slip: 'whoever comes has the keys fetched',
        text: 'if (this.#fetching === undefined && isTooSoon) return;',
        becomes: '',
      },
      {
        slip: 'any number waits for a fetch',
        text: 'if (this.#isClosed || this.#waiterCount >= bounds.keyFetchWaitersMax) return;',
        becomes: 'if (this.#isClosed) return;',
      },
      {
        slip: 'tokens of an issuer that has no key any more are neither good nor bad',
        text: 'this.#areUnknown = false;',
        becomes: 'this.#areUnknown = keys.isEmpty;',
      },
      { slip: 'keys are used for ever', text: 'if (!isOver) return;', becomes: 'return;' },
      { slip: 'keys go with their issuer', text: 'if (!isOver) return;', becomes: '' },
    ],
  ),
  ...mutantsOf(
    'src/auth/key-fetch.ts',
    ['auth/issuer-keys'],
    [
      {
        slip: 'an answer has any number of bytes',
        text: 'if (bytes > limits.keySetBytesMax)',
        becomes: 'if (bytes < 0)',
      },
      { slip: 'any issuer speaks for another', text: 'if (named !== issuer)', becomes: 'if (named === undefined)' },
      { slip: 'a redirect is followed', text: "redirect: 'error', ", becomes: '' },
    ],
  ),
  ...mutantsOf(
    'src/auth/key-files.ts',
    ['auth/key-files'],
    [
      {
        slip: 'a file that cannot be read is complained of at each look',
        text: 'if (complaint === this.#complaint) return;',
        becomes: '',
      },
      {
        slip: 'a file that could not be read once is never read again',
        text: 'if (error instanceof Error && error.cause instanceof UnreadableFile) return;',
        becomes: '',
      },
      {
        slip: 'the files are not read before the first look',
        text: 'this.#seenVersion = await this.#versionNow();',
        becomes: '',
      },
    ],
  ),
  ...mutantsOf(
    'src/auth/token-minter.ts',
    ['auth/token-minter'],
    [
      {
        slip: 'a token lives longer than was asked for',
        text: 'Math.floor(expiresInMs / 1_000)',
        becomes: 'Math.ceil(expiresInMs / 1_000)',
      },
      { slip: 'two tokens of one second are the same', text: '.setJti(randomUUID())', becomes: '' },
      { slip: 'a token has no time of issue', text: '.setIssuedAt(nowSeconds)', becomes: '' },
      { slip: 'a token names no audience', text: '.setAudience(this.#audience)', becomes: '' },
    ],
  ),
];
