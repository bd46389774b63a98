// Interprets what a backend's HTTP error response says beyond its status. Cold path.
import {
  CLIENT_CAPABILITIES_KEY,
  PROTOCOL_VERSION_KEY,
  readBackendErrorText,
  type BackendErrorText,
  readBackendMessage,
  type BackendMessage,
  MODERN_PROTOCOL_VERSION,
  PROTOCOL_VERSIONS,
  type Era,
} from '../../mcp/index.js';
import { rpcCodes } from '../../shared/index.js';
import type { RequestHandler, RequestPlan } from './request-plan.js';
import {
  isTemporaryRefusal,
  httpStatusFault,
  upstreamFault,
  type BackendRefusal,
  type UpstreamFault,
} from '../../http-client/index.js';

/** Characters of a backend's words for 429 or 503 that reach the caller. Beyond that, the rest is left out. */
export const BACKEND_REFUSAL_CHARS_MAX = 512;

type ReadRefusal = { readonly answer: BackendMessage } | { readonly fault: UpstreamFault };

/** Whether a message in the response answers the request. */
type IsAnswer = (message: BackendMessage) => boolean;

/** Whether an HTTP error response has a certain meaning. @param error the JSON-RPC error in the body, if it is one. */
type IsRefused = (
  plan: RequestPlan,
  status: number,
  body: Buffer,
  error: BackendMessage | undefined,
  isAnswer: IsAnswer,
) => boolean;

/** The fault for the status alone: 404 to a session id means that the backend no longer has the session (C11). */
export function statusFault(status: number, carriesSession: boolean): UpstreamFault {
  return status === 404 && carriesSession ? upstreamFault('session-lost') : httpStatusFault(status);
}

/** Reads an HTTP error response. It may be the answer (R24): a message with the request's id counts, whatever the status. */
export function readRefusal(
  plan: RequestPlan,
  handler: RequestHandler,
  status: number,
  body: Buffer,
  hint: string,
  isAnswer: IsAnswer,
): ReadRefusal {
  const { carriesSession, era, isUnauthorizedFault = false } = plan;
  // An earlier redirect may no longer be valid: the next request goes to the configured target.
  (plan.stream ?? plan.redirection).moved = undefined;
  const message = readBackendMessage(body);
  const error = message?.isError === true ? message : undefined;
  if (carriesSession && isSessionRefused(plan, status, body, error, isAnswer))
    return { fault: upstreamFault('session-lost') };
  if (era !== undefined && isEraRefused[era](plan, status, body, error, isAnswer))
    return { fault: upstreamFault('era-refused') };
  const isUnauthorized = status === 401 && isUnauthorizedFault;
  if (!isUnauthorized && message !== undefined && isAnswer(message)) return { answer: message };
  const handlerFault = error && handler.faultOfError?.(body.subarray(error.bodyStart, error.bodyEnd));
  if (handlerFault !== undefined || !isTemporaryRefusal(status))
    return { fault: handlerFault ?? statusFault(status, carriesSession) };
  return { fault: { ...httpStatusFault(status), refusal: readRefusalText(body, error, hint) } };
}

/** @param retryAfter seconds or an HTTP date; `''` when absent. */
function readRefusalText(body: Buffer, error: BackendMessage | undefined, retryAfter: string): BackendRefusal {
  const text = error === undefined ? plainTextIn(body) : errorTextIn(body, error).message;
  const message = text.slice(0, BACKEND_REFUSAL_CHARS_MAX);
  const seconds = /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) : (Date.parse(retryAfter) - Date.now()) / 1_000;
  return {
    ...(message !== '' && { message }),
    ...(!Number.isNaN(seconds) && { retryAfterSeconds: Math.max(0, Math.ceil(seconds)) }),
  };
}

/** The body as text; `''` for HTML, as proxies send it, and for bytes that are no text. */
function plainTextIn(body: Buffer): string {
  const text = body.toString().trim();
  return /^<|[^\P{C}\s]/u.test(text) ? '' : text;
}

/**
 * What servers answer that do not know the session, as after a restart: `No valid session ID provided`, `Session not found`. Each
 * repetition is bounded, because up to 64 KiB of a backend's text are matched at once.
 */
const NO_SESSION =
  /\b(?:no|unknown|invalid|expired|stale)(?: (?:or|valid|active|such|open|existing|known|mcp|expired|invalid)){0,8} session\b|\bsession\b(?: id)?(?: [\w"':-]{1,64})? (?:(?:is|was|has|has been|does|could) )?(?:not|no longer|unknown|invalid|expired|terminated|closed|ended|lost)\b|\bnot initialized\b/i;
/** Whether a JSON-RPC error code is about a message, and not about the session in which it was sent. */
function isAboutMessage(code: unknown): boolean {
  if (code === rpcCodes.parseError || code === rpcCodes.methodNotFound) return true;
  return code === rpcCodes.invalidParams || code === rpcCodes.internalError;
}

/** The SDKs' code for an unknown session, which other servers use for other errors. */
const SESSION_NOT_FOUND = -32001;

/** Whether an error response says that the backend does not know the session, so that it did not carry out the request. */
export function saysNoSession(
  { carriesSession }: Pick<RequestPlan, 'carriesSession'>,
  body: Buffer,
  { bodyStart, bodyEnd }: BackendMessage,
): boolean {
  if (!carriesSession) return false;
  const { code, message } = readBackendErrorText(body.subarray(bodyStart, bodyEnd));
  return code === SESSION_NOT_FOUND && NO_SESSION.test(message);
}

/**
 * Servers refuse an unknown session with 404 (C11), or with 400 or 401 and words that say so, in an error that does not belong to the
 * request, or says that what came is no request.
 */
const isSessionRefused: IsRefused = (plan, status, body, error, isAnswer) => {
  if (error !== undefined && saysNoSession(plan, body, error)) return true;
  if (status !== 400 && status !== 404 && (status !== 401 || plan.isUnauthorizedFault === true)) return false;
  if (error === undefined) return NO_SESSION.test(body.toString());
  const { code, message } = errorTextIn(body, error);
  const isCarriedOut = code !== rpcCodes.invalidRequest && isAnswer(error);
  return !isCarriedOut && !isAboutMessage(code) && NO_SESSION.test(message);
};

/** Statuses of requests that were not carried out: nothing at that path accepts them, or they were not understood. */
const REFUSING_STATUSES: ReadonlySet<number> = new Set([400, 404, 405]);

/**
 * Whether a backend that has spoken the modern era refuses a request because it no longer does: it says so, or responds without the
 * request's id, as legacy servers do to a request without a session.
 */
const isModernRefused: IsRefused = (_plan, status, body, error, isAnswer) => {
  if (!REFUSING_STATUSES.has(status)) return false;
  if (error === undefined) return status !== 400 || /session|protocol.version/i.test(body.toString());
  const { code, versions } = errorTextIn(body, error);
  if (code === rpcCodes.versionUnsupported) return !versions.includes(MODERN_PROTOCOL_VERSION);
  const isModernError = code === rpcCodes.headerMismatch || code === rpcCodes.capabilityMissing;
  // A request that ended in an internal error may have been carried out.
  return !isModernError && code !== rpcCodes.internalError && !isAnswer(error);
};

/**
 * Whether a backend that has spoken a legacy version refuses a request as only servers of 2026-07-28 do, before looking at its content:
 * because of its version, or of missing headers or a missing envelope.
 */
const isLegacyRefused: IsRefused = (_plan, status, body, error) => {
  if (status !== 400 || error === undefined) return false;
  const { code, versions } = errorTextIn(body, error);
  if (code === rpcCodes.versionUnsupported) return !versions.some((version) => PROTOCOL_VERSIONS.has(version));
  if (code === rpcCodes.headerMismatch) return true;
  return code === rpcCodes.invalidParams && ENVELOPE_KEYS.some((key) => body.includes(key));
};

const isEraRefused: Readonly<Record<Era, IsRefused>> = { legacy: isLegacyRefused, modern: isModernRefused };

const ENVELOPE_KEYS: readonly string[] = [PROTOCOL_VERSION_KEY, CLIENT_CAPABILITIES_KEY];

function errorTextIn(body: Buffer, { bodyStart, bodyEnd }: BackendMessage): BackendErrorText {
  return readBackendErrorText(body.subarray(bodyStart, bodyEnd));
}
