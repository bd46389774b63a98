// Slips in authenticating callers.
import { mutantsOf, type Mutant } from '../mutant.js';

export const authMutants: readonly Mutant[] = [
  ...mutantsOf(
    'src/shared/bearer-token.ts',
    ['auth/token-verifier'],
    [
      {
        slip: 'the scheme Bearer is compared case-sensitively',
        text: '/^bearer +(.*)$/i',
        becomes: '/^Bearer +(.*)$/',
      },
    ],
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
        slip: 'a token that only ends like a remembered one passes for it',
        text: 'if (known?.authorization !== authorization) return undefined;',
        becomes: 'if (known === undefined) return undefined;',
      },
      {
        slip: 'refusals are remembered',
        text: "if (verification.verified.kind === 'subject' && isCurrent) this.#remember(authorization, verification);",
        becomes: 'this.#remember(authorization, verification);',
      },
      {
        slip: 'a finished verification stays listed as under way',
        text: 'if (isCurrent) this.#underWay.delete(authorization);',
        becomes: '',
      },
      {
        slip: 'any number of verifications under way is kept for sharing',
        text: 'if (this.#underWay.size < this.#bounds.tokenVerificationsSharedMax) this.#underWay.set(authorization, verifying);',
        becomes: 'this.#underWay.set(authorization, verifying);',
      },
      {
        slip: 'concurrent requests with the same token do not share its verification',
        text: 'return this.#underWay.get(spelling) ?? this.#verifyAnew(spelling, token);',
        becomes: 'return this.#verifyAnew(spelling, token);',
      },
      { slip: 'a token with an empty subject is accepted', text: " || sub === '' ||", becomes: ' ||' },
      {
        slip: 'an expiry with a fraction of a second is rounded down',
        text: 'expiresAtMs: Math.ceil(exp) * 1_000',
        becomes: 'expiresAtMs: Math.floor(exp) * 1_000',
      },
      { slip: 'the audience is not checked', text: '      audience: this.#audience,', becomes: '' },
      {
        slip: 'token times are checked against the system clock instead of the given one',
        text: 'currentDate: new Date(this.#nowMs()),',
        becomes: '',
      },
      {
        slip: 'a token of any length is remembered',
        text: 'if (authorization.length > this.#bounds.tokenCacheKeyCharsMax) return;',
        becomes: '',
      },
      {
        slip: 'a token that is not written canonically is accepted',
        text: "if (!isCanonical(token)) return this.#counted(invalid('form'));",
        becomes: '',
      },
      {
        slip: 'a token is remembered once for each spelling of its scheme',
        text: 'const spelling = `Bearer ${token}`;',
        becomes: 'const spelling = authorization;',
      },
      {
        slip: 'an expired token counts as invalid',
        text: 'if (error instanceof errors.JWTExpired) return EXPIRED;',
        becomes: '',
      },
      {
        slip: 'the memory of a remembered token is underestimated',
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
        slip: 'the strings of a list count although some of its values are not valid',
        text: 'return areRight && texts.length === values.length ? texts : [];',
        becomes: 'return areRight ? texts : [];',
      },
      {
        slip: 'a claim with any number of values counts',
        text: 'if (values.length > limits.claimValuesMax) return [];',
        becomes: '',
      },
      {
        slip: 'inherited properties count as claims',
        text: ' || !Object.hasOwn(value, step)',
        becomes: '',
      },
      {
        slip: 'the lowest of several roles counts instead of the highest',
        text: 'roles.findLast(',
        becomes: 'roles.find(',
      },
    ],
  ),
  ...mutantsOf(
    'src/config/key-kind.ts',
    ['auth/token-verifier'],
    [
      { slip: 'a secret of 32 bytes verifies HS384', text: 'HS384: 48', becomes: 'HS384: 32' },
      { slip: 'a secret of 63 bytes verifies HS512', text: 'HS512: 64', becomes: 'HS512: 63' },
      {
        slip: 'a secret of exactly the minimum length counts as too short',
        text: 'secret.length >= bytesMin',
        becomes: 'secret.length > bytesMin',
      },
      {
        slip: 'keys of P-384 verify the algorithm of P-256',
        text: "'P-384': ['ES384'],",
        becomes: "'P-384': ['ES256'],",
      },
      { slip: 'PS256 is not accepted', text: "'RS512', 'PS256', 'PS384'", becomes: "'RS512', 'PS384'" },
    ],
  ),
  ...mutantsOf(
    'src/auth/token-keys.ts',
    ['auth/token-verifier', 'auth/key-files'],
    [
      {
        slip: 'tokens of an unknown issuer are verified with the keys from files',
        text: 'return this.#sources.get(issuer);',
        becomes: 'return this.#sources.get(issuer) ?? this.#files;',
      },
      {
        slip: 'tokens that a withdrawn key has verified stay valid',
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
        slip: 'a key is tried for tokens that name another key',
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
        slip: 'keys are fetched again although the last try is too recent',
        text: 'if (this.#fetching === undefined && isTooSoon) return;',
        becomes: '',
      },
      {
        slip: 'any number of requests may wait for a fetch of keys',
        text: 'if (this.#isClosed || this.#waiterCount >= bounds.keyFetchWaitersMax) return;',
        becomes: 'if (this.#isClosed) return;',
      },
      {
        slip: 'the keys of an issuer that publishes an empty set count as unknown',
        text: 'this.#areUnknown = false;',
        becomes: 'this.#areUnknown = keys.isEmpty;',
      },
      {
        slip: 'keys stay in use forever when they can no longer be fetched',
        text: 'if (!isOver) return;',
        becomes: 'return;',
      },
      { slip: 'keys are dropped as soon as a fetch fails', text: 'if (!isOver) return;', becomes: '' },
    ],
  ),
  ...mutantsOf(
    'src/auth/key-fetch.ts',
    ['auth/issuer-keys'],
    [
      {
        slip: 'a response of an issuer may have any size',
        text: 'if (bytes > limits.keySetBytesMax)',
        becomes: 'if (bytes < 0)',
      },
      {
        slip: 'metadata that names another issuer is accepted',
        text: 'if (named !== issuer)',
        becomes: 'if (named === undefined)',
      },
      { slip: 'a redirect is followed', text: "redirect: 'error', ", becomes: '' },
    ],
  ),
  ...mutantsOf(
    'src/auth/key-files.ts',
    ['auth/key-files'],
    [
      {
        slip: 'the same error of a key file is logged at each look',
        text: 'if (complaint === this.#complaint) return;',
        becomes: '',
      },
      {
        slip: 'a key file that could not be read is not tried again until it changes',
        text: 'if (error instanceof Error && error.cause instanceof UnreadableFile) return;',
        becomes: '',
      },
      {
        slip: 'the first look at the key files does not read them',
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
        slip: 'a token lives longer than requested',
        text: 'Math.floor(expiresInMs / 1_000)',
        becomes: 'Math.ceil(expiresInMs / 1_000)',
      },
      { slip: 'two tokens minted in the same second are identical', text: '.setJti(randomUUID())', becomes: '' },
      { slip: 'a token has no time of issue', text: '.setIssuedAt(nowSeconds)', becomes: '' },
      { slip: 'a token names no audience', text: '.setAudience(this.#audience)', becomes: '' },
    ],
  ),
];
