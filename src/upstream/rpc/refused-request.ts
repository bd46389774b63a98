// Reads what a backend's HTTP error response means. Cold path.
import { EventStreamParser } from '../../bytes/index.js';
import {
  CLIENT_CAPABILITIES_KEY,
  PROTOCOL_VERSION_KEY,
  readBackendError,
  type BackendError,
  readBackendMessage,
  URI_NODES_MAX,
  type BackendMessage,
  MODERN_PROTOCOL_VERSION,
  LEGACY_VERSIONS,
  type Era,
} from '../../mcp/index.js';
import type { Credentials } from '../../credentials/index.js';
import { challengeParameter, limits, rpcCodes } from '../../shared/index.js';
import type { RequestHandler, RequestPlan } from './request-plan.js';
import {
  isTemporaryRefusal,
  httpStatusFault,
  upstreamFault,
  type BackendRefusal,
  type UpstreamFault,
} from '../../http-client/index.js';

/** The most characters of a backend's text with 429 or 503 that the caller gets. */
export const BACKEND_REFUSAL_CHARS_MAX = 512;

type RefusalOutcome = { readonly answer: BackendMessage } | { readonly fault: UpstreamFault };

type IsAnswer = (message: BackendMessage) => boolean;

/** Whether a response is a refusal of one kind. @param error the JSON-RPC error in the body, if any. */
type IsRefused = (
  plan: RequestPlan,
  status: number,
  body: Buffer,
  error: BackendMessage | undefined,
  isAnswer: IsAnswer,
) => boolean;

/** The data of a body's last event; the body, if it is no event stream. */
export function withoutEvents(body: Buffer): Buffer {
  let last = body;
  new EventStreamParser((data) => (last = Buffer.from(data)), body.length + 1).push(body);
  return last;
}

/** The fault for the status alone. 404 to a session id means that the session is lost (C11). */
export function statusFault(status: number, carriesSession: boolean): UpstreamFault {
  return status === 404 && carriesSession ? upstreamFault('session-lost') : httpStatusFault(status);
}

/** Reads a refusal. A message with the request's id is the answer (R24), whatever the status. @param isAnswer compares the ids. */
export function readRefusal(
  plan: RequestPlan,
  handler: RequestHandler,
  status: number,
  body: Buffer,
  statusHeader: string,
  isAnswer: IsAnswer,
): RefusalOutcome {
  const { carriesSession, era, credentials } = plan;
  // An earlier redirect is forgotten, because it may no longer be valid.
  (plan.stream ?? plan.redirection).movedTo = undefined;
  const message = readBackendMessage(body);
  const isAnswered = message !== undefined && isAnswer(message);
  if (isAnswered && !message.isError) return { answer: message };
  const error = message?.isError === true ? message : undefined;
  if (carriesSession && isSessionRefused(plan, status, body, error, isAnswer))
    return { fault: upstreamFault('session-lost') };
  if (era !== undefined && isEraRefused[era](plan, status, body, error, isAnswer))
    return { fault: upstreamFault('era-refused') };
  const isUnauthorized = status === 401 && credentials !== undefined;
  const scopeFault = missingScopeFault(status, credentials, statusHeader);
  if (scopeFault !== undefined) return { fault: scopeFault };
  if (!isUnauthorized && isAnswered) return { answer: message };
  const handlerFault = error && handler.faultOfError?.(body.subarray(error.bodyStart, error.bodyEnd));
  if (handlerFault !== undefined || !isTemporaryRefusal(status))
    return { fault: handlerFault ?? statusFault(status, carriesSession) };
  return { fault: { ...httpStatusFault(status), refusal: readRefusalText(body, error, statusHeader) } };
}

/** The fault of an access token that misses a scope, if the backend says which (RFC 6750, 3.1), with a link to consent to it. */
function missingScopeFault(
  status: number,
  credentials: Credentials | undefined,
  challenge: string,
): UpstreamFault | undefined {
  if (credentials === undefined || status !== 403) return undefined;
  const isMissing = challengeParameter(challenge, 'error') === 'insufficient_scope';
  const scope = isMissing ? challengeParameter(challenge, 'scope') : undefined;
  const { connect } = credentials;
  return scope === undefined
    ? undefined
    : { ...httpStatusFault(status), ...(connect && { makeConnectUrl: () => connect(scope) }) };
}

/** The backend's text and delay for the caller. @param retryAfter seconds or an HTTP date; `''` if absent. */
function readRefusalText(body: Buffer, error: BackendMessage | undefined, retryAfter: string): BackendRefusal {
  const text = error === undefined ? plainTextIn(body) : backendErrorIn(body, error).message;
  const message = text.slice(0, BACKEND_REFUSAL_CHARS_MAX);
  const seconds = /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) : (Date.parse(retryAfter) - Date.now()) / 1_000;
  return {
    ...(message !== '' && { message }),
    ...(!Number.isNaN(seconds) && { retryAfterSeconds: Math.max(0, Math.ceil(seconds)) }),
  };
}

/** The text of a body; `''` for HTML, which proxies send, and for bytes that are no text. */
function plainTextIn(body: Buffer): string {
  const text = body.toString().trim();
  return /^<|[^\P{C}\s]/u.test(text) ? '' : text;
}

/** Matches the errors of servers that do not know the session. Its repetitions are bounded, since a text may have 64 KiB. */
const NO_SESSION_TEXT =
  /\b(?:no|unknown|invalid|expired|stale|missing|not find)(?:[ -](?:or|valid|active|such|open|existing|known|mcp|expired|invalid|missing|transport|found|for|the)){0,8}[ -]session(?:[ -]?id)?\b|\bsession(?:[ -]?id)?\b(?: [\w"'\\:-]{1,64})? (?:(?:is|was|has|has been|does|could) )?(?:not|no longer|unknown|invalid|expired|terminated|closed|ended|lost|timed out)\b|\bnot initialized\b/i;
/** Whether an error with this code is about a message, and not about its session. */
function isAboutMessage(code: unknown): boolean {
  if (code === rpcCodes.parseError || code === rpcCodes.methodNotFound) return true;
  return code === rpcCodes.invalidParams || code === rpcCodes.internalError;
}

/** The SDKs' code for an unknown session. Other servers use it for other errors. */
const SESSION_NOT_FOUND_CODE = -32001;

/** Whether an error says that the backend does not know the session, so that the request was not carried out. */
function saysNoSession(
  { carriesSession }: Pick<RequestPlan, 'carriesSession'>,
  body: Buffer,
  { bodyStart, bodyEnd }: BackendMessage,
): boolean {
  if (!carriesSession) return false;
  const { code, message } = readBackendError(body.subarray(bodyStart, bodyEnd));
  return (code === SESSION_NOT_FOUND_CODE || code === rpcCodes.invalidRequest) && NO_SESSION_TEXT.test(message);
}

/** The fault of an answer that is none to the caller: the session is unknown, or its links, which have to be rewritten, are too many. */
export function answerFault(
  plan: RequestPlan,
  bytes: Buffer,
  message: BackendMessage,
  isCarriedOut = false,
): UpstreamFault | undefined {
  if (message.isError && !isCarriedOut && saysNoSession(plan, bytes, message)) return upstreamFault('session-lost');
  if (message.uris !== undefined || bytes.length <= limits.readAtOnceBytesMax) return undefined;
  const detail = `(at most ${URI_NODES_MAX} JSON values are read to find its links)`;
  return { ...upstreamFault('answer-too-large'), detail };
}

/**
 * Whether the session is refused: by an error's code and text, or by the text of a 4xx but 429, of 503, or of a 500 that names the session.
 * `statusFault` judges any other 404.
 */
const isSessionRefused: IsRefused = (plan, status, body, error, isAnswer) => {
  if (error !== undefined && saysNoSession(plan, body, error)) return true;
  const namesSession = status === 500 && plan.sessionId ? body.includes(plan.sessionId) : false;
  const isReadable = namesSession || status === 503 || (status < 500 && status !== 429);
  if (!isReadable || (status === 401 && plan.credentials !== undefined)) return false;
  if (error === undefined) return NO_SESSION_TEXT.test(body.toString());
  const { code, message } = backendErrorIn(body, error);
  return !isAnswer(error) && !isAboutMessage(code) && NO_SESSION_TEXT.test(message);
};

const REFUSING_STATUSES: ReadonlySet<number> = new Set([400, 404, 405]);

/** Whether a backend no longer speaks the modern era: it says so, or responds without the request's id. */
const isModernRefused: IsRefused = (_plan, status, body, error, isAnswer) => {
  if (!REFUSING_STATUSES.has(status)) return false;
  if (error === undefined) return status !== 400 || /session|protocol.version/i.test(body.toString());
  const { code, versions } = backendErrorIn(body, error);
  if (code === rpcCodes.versionUnsupported) return !versions.includes(MODERN_PROTOCOL_VERSION);
  const isModernError = code === rpcCodes.headerMismatch || code === rpcCodes.capabilityMissing;
  // After an internal error, the request may have been carried out.
  return !isModernError && code !== rpcCodes.internalError && !isAnswer(error);
};

/** Whether a backend refuses a legacy request as only servers of 2026-07-28 do: for its version, or for missing headers or envelope. */
const isLegacyRefused: IsRefused = (_plan, status, body, error) => {
  if (status !== 400 || error === undefined) return false;
  const { code, versions } = backendErrorIn(body, error);
  if (code === rpcCodes.versionUnsupported) return !versions.some((version) => LEGACY_VERSIONS.has(version));
  if (code === rpcCodes.headerMismatch) return true;
  return code === rpcCodes.invalidParams && ENVELOPE_KEYS.some((key) => body.includes(key));
};

const isEraRefused: Readonly<Record<Era, IsRefused>> = { legacy: isLegacyRefused, modern: isModernRefused };

const ENVELOPE_KEYS: readonly string[] = [PROTOCOL_VERSION_KEY, CLIENT_CAPABILITIES_KEY];

function backendErrorIn(body: Buffer, { bodyStart, bodyEnd }: BackendMessage): BackendError {
  return readBackendError(body.subarray(bodyStart, bodyEnd));
}
