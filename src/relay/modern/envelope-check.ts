// Checks the envelope of a modern request (M09, M24): the required members are present, and all are of the right kind and size. Hot
// path: one byte per member.
import { severityOf } from '../../protocol/log-levels.js';
import { stringValue } from '../../protocol/json-member.js';
import {
  CLIENT_CAPABILITIES_KEY,
  CLIENT_INFO_KEY,
  LOG_LEVEL_KEY,
  PROTOCOL_VERSION_KEY,
  type ModernEnvelope,
} from '../../protocol/modern-envelope.js';
import { limits } from '../../shared/limits.js';

const QUOTE = 0x22;
const BRACE = 0x7b;
/** Longer than any version or log level, even with quotes and escapes. */
const WORD_BYTES_MAX = 128;

/** @returns what is wrong with it, in words. */
export function envelopeFault(body: Buffer, envelope: ModernEnvelope): string | undefined {
  const { capabilitiesStart, capabilitiesEnd, clientInfoStart, clientInfoEnd } = envelope;
  if (body[envelope.protocolVersionStart] !== QUOTE) return `${PROTOCOL_VERSION_KEY} must be a string`;
  if (capabilitiesStart === -1) return `${CLIENT_CAPABILITIES_KEY} is missing`;
  if (body[capabilitiesStart] !== BRACE) return `${CLIENT_CAPABILITIES_KEY} must be an object`;
  if (capabilitiesEnd - capabilitiesStart > limits.clientCapabilitiesBytesMax)
    return `${CLIENT_CAPABILITIES_KEY} must not be longer than ${limits.clientCapabilitiesBytesMax} bytes`;
  if (clientInfoStart !== -1 && body[clientInfoStart] !== BRACE) return `${CLIENT_INFO_KEY} must be an object`;
  if (clientInfoEnd - clientInfoStart > limits.clientInfoBytesMax)
    return `${CLIENT_INFO_KEY} must not be longer than ${limits.clientInfoBytesMax} bytes`;
  if (envelope.logLevelStart !== -1 && logSeverityIn(body, envelope) === -1)
    return `${LOG_LEVEL_KEY} must be one of the eight levels of MCP`;
  return undefined;
}

/** The severity from which on the request wants logs; -1 if it wants none, or names no valid level. */
export function logSeverityIn(body: Buffer, { logLevelStart, logLevelEnd }: ModernEnvelope): number {
  if (body[logLevelStart] !== QUOTE || logLevelEnd - logLevelStart > WORD_BYTES_MAX) return -1;
  return severityOf(stringValue(body, logLevelStart, logLevelEnd));
}

/** @returns `''` for a value longer than any version. */
export function versionIn(body: Buffer, { protocolVersionStart, protocolVersionEnd }: ModernEnvelope): string {
  if (protocolVersionEnd - protocolVersionStart > WORD_BYTES_MAX) return '';
  return stringValue(body, protocolVersionStart, protocolVersionEnd);
}
