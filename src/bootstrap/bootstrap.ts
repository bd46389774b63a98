// The optional bootstrap feature: two endpoints without authentication, to try the gateway without a control plane. The production build
// leaves this folder out, so nothing imports it statically.
import { type Endpoint, type EndpointAnswer, type Logger, subjectHash } from '../shared/index.js';
import type { TokenOptions } from '../config/index.js';
import type { Store } from '../store/index.js';
import { TokenMinter } from '../auth/index.js';
import { decodeUserConfig } from '../user-config/index.js';

/** Decodes the subject in the path. @param parameter percent-encoded. @returns the subject, or the answer that refuses it. */
function decodeSubject(parameter: string): string | EndpointAnswer {
  try {
    const subject = decodeURIComponent(parameter);
    return subject === '' ? textAnswer(400, 'The subject is empty: name it as the last segment of the path.') : subject;
  } catch {
    return textAnswer(400, 'The subject in the path is not valid percent-encoded UTF-8: encode it as a URI component.');
  }
}

/** An answer with a line of text for a person at a terminal. */
function textAnswer(status: number, body: string): EndpointAnswer {
  return { status, contentType: 'text/plain', body };
}

export interface BootstrapDependencies {
  readonly token: TokenOptions;
  readonly store: Store;
  /** Tells the workers that a subject's user config was written. Resolves when each has dropped what it has cached for the subject. */
  announceWritten(subject: string): Promise<void>;
  readonly logger: Logger;
}

export function createEndpoints(context: BootstrapDependencies): readonly Endpoint[] {
  return [createTokenEndpoint(context), createUserConfigEndpoint(context)];
}

const TOKEN_LIFETIME_MS = 3_600_000;

/** `GET …/admin/tokens/{subject}`: mints a token (specification 2.8). */
function createTokenEndpoint({ token }: Pick<BootstrapDependencies, 'token'>): Endpoint {
  const minter = TokenMinter.create(token);
  return {
    method: 'GET',
    path: '/admin/tokens',
    async handle({ parameter }) {
      const subject = decodeSubject(parameter);
      if (typeof subject !== 'string') return subject;
      if (minter === undefined) {
        return textAnswer(
          500,
          'No private key is configured for minting tokens: start the dataplane with --token-verification-private-key.',
        );
      }
      return textAnswer(200, await minter.mint(subject, TOKEN_LIFETIME_MS));
    },
  };
}

/** `POST …/admin/userconfigs/{subject}`: stores the body as a user config, and answers when every worker serves it (specification 2.8). */
function createUserConfigEndpoint(context: BootstrapDependencies): Endpoint {
  return {
    method: 'POST',
    path: '/admin/userconfigs',
    async handle({ parameter, contentType, body }) {
      if (contentType.split(';', 1)[0]?.trim().toLowerCase() !== 'application/json') {
        return textAnswer(415, 'Unsupported content type: send the user config as application/json.');
      }
      const subject = decodeSubject(parameter);
      if (typeof subject !== 'string') return subject;
      if (!isJsonText(body)) return textAnswer(400, 'The body is not JSON: send the user config as one JSON object.');
      const config = decodeUserConfig(body);
      if (!config.ok) return textAnswer(422, `The body is not a user config: ${config.issues}`);
      return writeUserConfig(context, subject, body);
    },
  };
}

/** Writes and announces the config. The answer is 500 if either fails, also for a subject that cannot be a key of the store. */
async function writeUserConfig(context: BootstrapDependencies, subject: string, body: Buffer): Promise<EndpointAnswer> {
  const { store, logger } = context;
  try {
    await store.write(subject, body);
  } catch (error) {
    logger.error({ err: error, subject: subjectHash(subject) }, 'a user config could not be written');
    return textAnswer(500, 'The user config could not be stored. The log says why; try again.');
  }
  try {
    await context.announceWritten(subject);
  } catch (error) {
    logger.error({ err: error, subject: subjectHash(subject) }, 'a written user config could not be announced');
    return textAnswer(
      500,
      `The user config is stored, but not every worker uses it yet: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  return textAnswer(202, 'Added');
}

/** Whether a body is JSON in UTF-8 without a byte order mark (RFC 8259 section 8.1). */
function isJsonText(body: Buffer): boolean {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body));
    return true;
  } catch {
    return false;
  }
}
