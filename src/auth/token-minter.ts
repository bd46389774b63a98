// Mints access tokens for the `token` command and the bootstrap build. Cold path.
import { randomUUID, createPrivateKey } from 'node:crypto';
import { SignJWT } from 'jose/jwt/sign';
import { type TokenOptions, ALGORITHMS, keyKind } from '../config/index.js';

type MintingOptions = Pick<TokenOptions, 'privateKey' | 'issuers' | 'audience'>;

function mintingKeyOf(pem: string) {
  const key = createPrivateKey(pem);
  const kind = keyKind(key);
  if (kind === undefined) throw new Error('no JWS algorithm fits the key; the options let it pass unchecked');
  return { algorithm: ALGORITHMS[kind][0], key };
}

export class TokenMinter {
  readonly #mintingKey: ReturnType<typeof mintingKeyOf>;
  readonly #issuer: string;
  readonly #audience: string;

  private constructor(key: ReturnType<typeof mintingKeyOf>, options: MintingOptions) {
    this.#mintingKey = key;
    this.#issuer = options.issuers[0]!;
    this.#audience = options.audience;
  }

  /** The minter; `undefined` if no private key is configured. */
  static create(options: MintingOptions): TokenMinter | undefined {
    return options.privateKey === undefined ? undefined : new TokenMinter(mintingKeyOf(options.privateKey), options);
  }

  /** Mints a token. @param expiresInMs rounded down to whole seconds. */
  async mint(subject: string, expiresInMs: number): Promise<string> {
    const nowSeconds = Math.floor(Date.now() / 1_000);
    return new SignJWT()
      .setProtectedHeader({ alg: this.#mintingKey.algorithm, typ: 'JWT' })
      .setSubject(subject)
      .setIssuer(this.#issuer)
      .setAudience(this.#audience)
      .setIssuedAt(nowSeconds)
      .setExpirationTime(nowSeconds + Math.floor(expiresInMs / 1_000))
      .setJti(randomUUID())
      .sign(this.#mintingKey.key);
  }
}
