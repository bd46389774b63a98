// Reads the parts that only messages of MCP 2026-07-28 have: the versions that an error names, and the envelope in `params._meta`, with the
// client's identity and capabilities, and a retry's state and answers.
import type { Buffer } from 'node:buffer';
import { MEMBER_ABSENT, findMembers, MemberNames, type JsonScanner } from '../bytes/index.js';
import { isObject, tryParseJson, limits } from '../shared/index.js';

const VERSION = /^\d{4}-\d{2}-\d{2}$/;

/** A JSON-RPC error of a backend: modern servers are recognized by theirs. Cold path. */
export interface BackendError {
  /** The code as received, of any type. */
  readonly code: unknown;
  /** The message; `''` when it is not a string. */
  readonly message: string;
  /** The texts in `data.supported`. */
  readonly versions: readonly string[];
}

/** Reads an error. @param error JSON. One too large to be read at once counts as empty. */
export function readBackendError(error: Buffer): BackendError {
  const value = error.length <= limits.upstreamRefusalBytesMax ? tryParseJson(error) : undefined;
  if (!isObject(value)) return { code: undefined, message: '', versions: [] };
  const { code, message, data } = value;
  return { code, message: typeof message === 'string' ? message : '', versions: versionsIn(data) };
}

/** The versions that an error names. @param data of the error. */
export function versionsIn(data: unknown): string[] {
  const supported = isObject(data) ? data['supported'] : undefined;
  if (!Array.isArray(supported)) return [];
  return supported.filter((version): version is string => typeof version === 'string' && VERSION.test(version));
}

/** The key that marks a message as one of a revision without sessions. */
export const PROTOCOL_VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
export const CLIENT_CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities';
export const CLIENT_INFO_KEY = 'io.modelcontextprotocol/clientInfo';
export const LOG_LEVEL_KEY = 'io.modelcontextprotocol/logLevel';

/** Spans as in `ClientMessage`, of values of any type: only their presence is checked. */
export interface ModernEnvelope {
  readonly protocolVersionStart: number;
  readonly protocolVersionEnd: number;
  readonly capabilitiesStart: number;
  readonly capabilitiesEnd: number;
  readonly clientInfoStart: number;
  readonly clientInfoEnd: number;
  readonly logLevelStart: number;
  readonly logLevelEnd: number;
  /** The span of `params.requestState`. */
  readonly requestStateStart: number;
  readonly requestStateEnd: number;
  /** The span of `params.inputResponses`. */
  readonly inputResponsesStart: number;
  readonly inputResponsesEnd: number;
}

const metaNames = new MemberNames(CLIENT_CAPABILITIES_KEY, CLIENT_INFO_KEY, LOG_LEVEL_KEY);
const paramsNames = new MemberNames('requestState', 'inputResponses');
const inMeta = new Int32Array(metaNames.all.length);
const inParams = new Int32Array(paramsNames.all.length);

/** Reads the envelope. @param params,meta nodes of objects. @param version the node of the value under `PROTOCOL_VERSION_KEY`. */
export function readModernEnvelope(
  tape: JsonScanner,
  bytes: Buffer,
  params: number,
  meta: number,
  version: number,
): ModernEnvelope | 'ambiguous' {
  if (!findMembers(tape, bytes, meta, metaNames, inMeta)) return 'ambiguous';
  if (!findMembers(tape, bytes, params, paramsNames, inParams)) return 'ambiguous';
  const [capabilities = MEMBER_ABSENT, clientInfo = MEMBER_ABSENT, logLevel = MEMBER_ABSENT] = inMeta;
  const [requestState = MEMBER_ABSENT, inputResponses = MEMBER_ABSENT] = inParams;
  return {
    protocolVersionStart: tape.start(version),
    protocolVersionEnd: tape.end(version),
    capabilitiesStart: tape.start(capabilities),
    capabilitiesEnd: tape.end(capabilities),
    clientInfoStart: tape.start(clientInfo),
    clientInfoEnd: tape.end(clientInfo),
    logLevelStart: tape.start(logLevel),
    logLevelEnd: tape.end(logLevel),
    requestStateStart: tape.start(requestState),
    requestStateEnd: tape.end(requestState),
    inputResponsesStart: tape.start(inputResponses),
    inputResponsesEnd: tape.end(inputResponses),
  };
}
