// The dataplane's own refusals (specification "Errors" and 2.2); the control plane's are in `control-plane/common/control-plane-fault.ts`.
// A refusal is a frozen value that is returned, never thrown. `npm run docs` writes them into docs/errors.md, which says when each occurs
// and what to do about it.
import { limits } from './limits.js';

/** The codes of errors that MCP 2026-07-28 adds. */
export const modernCodes = {
  headerMismatch: -32020,
  capabilityMissing: -32021,
  versionUnsupported: -32022,
} as const;

/** The codes that the gateway sends or interprets; all others of backends are relayed. */
export const rpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  /** The error of `resources/read` for an unknown URI. */
  resourceNotFound: -32002,
  /** The user has to do something in a browser (MCP 2025-11-25). */
  urlElicitationRequired: -32042,
  ...modernCodes,
  /** The request is refused by the rules of transport and sessions, before the message was processed. */
  refused: -32000,
} as const;

type RefusalCode = (typeof refusals)[keyof typeof refusals]['code'];

export interface Refusal<Code extends string = RefusalCode> {
  readonly code: Code;
  readonly status: number;
  /** The text in the body. */
  readonly message: string;
  readonly contentType: string;
  readonly body: string;
  /** The headers: name, value, … */
  readonly headers: readonly string[];
}

const JSON_TYPE = 'application/json';

function text<Code extends string>(code: Code, status: number, message: string): Refusal<Code> {
  return Object.freeze({ code, status, message, contentType: 'text/plain', body: message, headers: [] });
}

function detail<Code extends string>(
  code: Code,
  status: number,
  message: string,
  headers: readonly string[] = [],
): Refusal<Code> {
  const body = JSON.stringify({ detail: message });
  return Object.freeze({ code, status, message, contentType: JSON_TYPE, body, headers });
}

/** The answer to a health check. */
function health<Code extends string>(code: Code, message: string): Refusal<Code> {
  const body = JSON.stringify({ status: message.toLowerCase() });
  return Object.freeze({ code, status: 503, message, contentType: JSON_TYPE, body, headers: [] });
}

/** A refusal as a JSON-RPC error. It never has `"id":null`, but no `id` member at all (S33). */
function rpc<Code extends string>(
  code: Code,
  status: number,
  message: string,
  rpcCode: number = rpcCodes.refused,
): Refusal<Code> {
  const body = JSON.stringify({ jsonrpc: '2.0', error: { code: rpcCode, message } });
  return Object.freeze({ code, status, message, contentType: JSON_TYPE, body, headers: [] });
}

function unauthorized<Code extends string>(code: Code, words: string, challenge: string): Refusal<Code> {
  return detail(code, 401, words, ['www-authenticate', `Bearer realm="switchyard"${challenge}`]);
}

/** When to try again, in seconds: sessions last until their callers are done, requests only seconds. */
const SESSIONS_RETRY = ['retry-after', '30'];
const REQUESTS_RETRY = ['retry-after', '1'];
const OVERLOAD_RETRY = ['retry-after', '5'];

const CONFIG_PROBLEM = 'Problem occurred retrieving the configuration';

export const refusals = Object.freeze({
  pathUnknown: detail('path-unknown', 404, 'Not Found'),
  methodNotAllowed: detail('method-not-allowed', 405, 'Method Not Allowed', ['allow', 'GET, POST, DELETE, OPTIONS']),
  hostRefused: rpc('host-refused', 403, 'Host not allowed: it is not in --allowed-hosts'),
  originRefused: rpc('origin-refused', 403, 'Origin not allowed'),
  tokenMissing: unauthorized('token-missing', 'Token missing', ''),
  tokenInvalid: unauthorized('token-invalid', 'Token invalid', ', error="invalid_token"'),
  tokenExpired: unauthorized(
    'token-expired',
    'Token expired',
    ', error="invalid_token", error_description="The token expired"',
  ),
  keysUnavailable: detail('keys-unavailable', 503, "The keys of the token's issuer cannot be fetched: try again", [
    'retry-after',
    '5',
  ]),
  configMissing: text('config-missing', 400, CONFIG_PROBLEM),
  configFailed: text('config-failed', 500, CONFIG_PROBLEM),
  virtualHostUnknown: detail('virtual-host-unknown', 404, 'Server not found'),
  headAmbiguous: rpc(
    'head-ambiguous',
    400,
    'Send content-length, host, authorization and mcp-session-id at most once each, and no transfer-encoding other than chunked',
  ),
  headerUnreadable: rpc(
    'header-unreadable',
    400,
    'Header <name> is forwarded to backends but is not UTF-8: send it as UTF-8, or encode it',
  ),
  mirrorTooLarge: rpc(
    'mirror-too-large',
    431,
    `Headers too large: send ${limits.mirroredParamsMax} mcp-param headers with ${limits.mirroredParamBytesMax} bytes at most`,
    rpcCodes.invalidRequest,
  ),
  notAcceptable: rpc(
    'not-acceptable',
    406,
    'Not acceptable: accept application/json or text/event-stream, preferably both',
  ),
  streamNotAcceptable: rpc(
    'stream-not-acceptable',
    406,
    'Not acceptable: GET opens an event stream, accept text/event-stream',
  ),
  contentTypeUnsupported: rpc('content-type-unsupported', 415, 'Unsupported content type: send application/json'),
  protocolVersionUnsupported: rpc(
    'protocol-version-unsupported',
    400,
    'Unsupported mcp-protocol-version: 2025-11-25, 2025-06-18, 2025-03-26 and 2024-11-05 are supported',
  ),
  bodyTooLarge: rpc('body-too-large', 413, 'Request body too large'),
  sessionMissing: rpc('session-missing', 400, 'mcp-session-id missing: only initialize can be sent without a session'),
  sessionUnknown: rpc('session-unknown', 404, 'Session not found: initialize again'),
  askerLost: rpc(
    'asker-lost',
    400,
    'Response not forwarded: the request it answers is no longer pending; the session is still valid',
  ),
  alreadyInitialized: rpc(
    'already-initialized',
    400,
    'The session is already initialized: send initialize without mcp-session-id to start a new one',
    rpcCodes.invalidRequest,
  ),
  methodUnknown: rpc(
    'method-unknown',
    400,
    'Method not found: <method>. Without mcp-session-id, send initialize, or a request of MCP 2026-07-28 with its protocol version in params._meta',
    rpcCodes.methodNotFound,
  ),
  notJson: rpc('not-json', 400, 'Parse error: the body is not JSON', rpcCodes.parseError),
  notJsonRpc: rpc('not-json-rpc', 400, 'Invalid request: send one JSON-RPC 2.0 message', rpcCodes.invalidRequest),
  batchRefused: rpc(
    'batch-refused',
    400,
    'Invalid request: send one JSON-RPC 2.0 message. Batches are only supported in sessions of 2025-03-26 and earlier',
    rpcCodes.invalidRequest,
  ),
  batchTooLarge: rpc(
    'batch-too-large',
    413,
    `Batch too large: send ${limits.batchMembersMax} messages and ${limits.batchBytesMax} bytes at most`,
    rpcCodes.invalidRequest,
  ),
  subjectSessionsFull: detail(
    'subject-sessions-full',
    429,
    'Too many sessions of this subject: end unused ones with DELETE',
    SESSIONS_RETRY,
  ),
  subjectLeasesFull: detail(
    'subject-leases-full',
    429,
    'Requests of this subject in flight have too many different sets of capabilities and forwarded headers: wait for responses',
    REQUESTS_RETRY,
  ),
  sessionsFull: detail('sessions-full', 503, 'Too many sessions', SESSIONS_RETRY),
  subjectSessionBytesFull: detail(
    'subject-session-bytes-full',
    429,
    'The sessions of this subject use too much memory: end unused ones with DELETE',
    SESSIONS_RETRY,
  ),
  sessionBytesFull: detail('session-bytes-full', 503, 'The sessions use too much memory', SESSIONS_RETRY),
  subjectRequestsFull: detail(
    'subject-requests-full',
    429,
    'Too many requests of this subject in flight: wait for responses',
    REQUESTS_RETRY,
  ),
  leaseRequestsFull: detail(
    'lease-requests-full',
    429,
    'Too many requests of this subject in flight with these capabilities and forwarded headers: wait for responses',
    REQUESTS_RETRY,
  ),
  requestsFull: detail('requests-full', 503, 'Too many requests in flight', REQUESTS_RETRY),
  subjectBytesFull: detail(
    'subject-bytes-full',
    429,
    'Too many bytes of large requests of this subject in flight: wait for responses',
    REQUESTS_RETRY,
  ),
  bytesFull: detail('bytes-full', 503, 'Too many bytes of large requests in flight', REQUESTS_RETRY),
  answerBytesFull: detail(
    'answer-bytes-full',
    503,
    'The request was executed, but there is no memory for its response: too many bytes of large responses in flight',
    REQUESTS_RETRY,
  ),
  sessionsPaused: detail('sessions-paused', 503, 'Overloaded: no new sessions for now', OVERLOAD_RETRY),
  overloaded: detail('overloaded', 503, 'Overloaded: no new requests for now', OVERLOAD_RETRY),
  ownerLost: detail('owner-lost', 503, 'The process that held this session ended before it responded'),
  ownerStarting: detail(
    'owner-starting',
    503,
    'The process that holds this session is restarting: try again',
    REQUESTS_RETRY,
  ),
  hopFailed: detail('hop-failed', 500, 'The request could not be forwarded to the process that holds this session'),
  storeFailed: detail('store-failed', 503, 'The store cannot be read: try again', ['retry-after', '2']),
  notReady: health('not-ready', 'Not ready'),
  directoryFailed: detail('directory-failed', 503, 'The session cannot be looked up at the moment: try again', [
    ...['retry-after', '2'],
  ]),
  draining: health('draining', 'Draining'),
});

/** The refusals by the reason why the token was not accepted. */
export const tokenRefusals = Object.freeze({
  missing: refusals.tokenMissing,
  invalid: refusals.tokenInvalid,
  expired: refusals.tokenExpired,
  unavailable: refusals.keysUnavailable,
});

/** The refusal of a header that cannot be forwarded. @param name the header's, as in the user config. */
export function headerUnreadable(name: string): Refusal {
  return withWord(refusals.headerUnreadable, '<name>', name);
}

export function methodUnknown(method: string): Refusal {
  return withWord(refusals.methodUnknown, '<method>', method);
}

function withWord(refusal: Refusal, placeholder: string, word: string): Refusal {
  return {
    ...refusal,
    message: refusal.message.replace(placeholder, () => word),
    body: refusal.body.replace(placeholder, () => JSON.stringify(word).slice(1, -1)),
  };
}
