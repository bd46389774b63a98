// `POST …/admin/userconfigs/{subject}`: stores the body's bytes as a user config, and answers only when every worker
// serves it (decisions 2.8).
import type { Endpoint, EndpointAnswer } from '../shared/endpoint.js';
import { subjectHash } from '../shared/logger.js';
import { decodeUserConfig } from '../user-config/user-config-schema.js';
import type { BootstrapContext } from './bootstrap-context.js';
import { plainText, reasonOf } from './plain-text.js';
import { decodeSubject } from './subject-parameter.js';

export function createUserConfigEndpoint(context: BootstrapContext): Endpoint {
  return {
    method: 'POST',
    path: '/admin/userconfigs',
    async handle({ parameter, contentType, body }) {
      if (!isJsonType(contentType)) {
        return plainText(415, 'Unsupported content type: send the user config as application/json.');
      }
      const decoded = decodeSubject(parameter);
      if (!decoded.ok) return plainText(400, decoded.problem);
      if (!isJson(body)) return plainText(400, 'The body is not JSON: send the user config as one JSON object.');
      const config = decodeUserConfig(body);
      if (!config.ok) return plainText(422, `The body is not a user config: ${config.issues}`);
      return writeUserConfig(context, decoded.subject, body);
    },
  };
}

/**
 * A subject that the store cannot encode as a key fails like any other store failure (500): reading under that subject
 * gives the same answer.
 */
async function writeUserConfig(context: BootstrapContext, subject: string, body: Buffer): Promise<EndpointAnswer> {
  const { store, logger } = context;
  try {
    await store.write(subject, body);
  } catch (error) {
    logger.error({ err: error, subject: subjectHash(subject) }, 'a user config could not be written');
    return plainText(500, `The user config could not be stored: ${reasonOf(error)}`);
  }
  try {
    await context.announceWritten(subject);
  } catch (error) {
    logger.error({ err: error, subject: subjectHash(subject) }, 'a written user config could not be announced');
    return plainText(500, `The user config is stored, but not every worker uses it yet: ${reasonOf(error)}`);
  }
  return plainText(202, 'Added');
}

function isJsonType(contentType: string): boolean {
  return contentType.split(';', 1)[0]?.trim().toLowerCase() === 'application/json';
}

/** RFC 8259 section 8.1: UTF-8, without a byte order mark. */
function isJson(body: Buffer): boolean {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body));
    return true;
  } catch {
    return false;
  }
}
