// `GET …/admin/tokens/{subject}`: mints a token (decisions 2.8).
import { TokenMinter } from '../auth/token-minter.js';
import type { Endpoint } from '../shared/endpoint.js';
import { subjectHash } from '../shared/logger.js';
import type { BootstrapContext } from './bootstrap-context.js';
import { plainText, reasonOf } from './plain-text.js';
import { decodeSubject } from './subject-parameter.js';

const TOKEN_LIFETIME_MS = 3_600_000;

export function createTokenEndpoint({ token, logger }: Pick<BootstrapContext, 'token' | 'logger'>): Endpoint {
  const minter = TokenMinter.create(token);
  return {
    method: 'GET',
    path: '/admin/tokens',
    async handle({ parameter }) {
      const decoded = decodeSubject(parameter);
      if (!decoded.ok) return plainText(400, decoded.problem);
      if (minter === undefined) {
        return plainText(
          500,
          'No private key is configured for minting tokens: start the dataplane with --token-verification-private-key.',
        );
      }
      try {
        return plainText(200, await minter.mint(decoded.subject, TOKEN_LIFETIME_MS));
      } catch (error) {
        logger.error({ err: error, subject: subjectHash(decoded.subject) }, 'a token could not be minted');
        return plainText(500, `The token could not be minted: ${reasonOf(error)}`);
      }
    },
  };
}
