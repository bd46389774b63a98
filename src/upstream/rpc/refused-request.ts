// Interprets what a backend's HTTP error response says beyond its status. Cold path.
import { CLIENT_CAPABILITIES_KEY, PROTOCOL_VERSION_KEY } from '../../protocol/modern-envelope.js';
import { readSaidError, type SaidError } from '../../protocol/modern-error.js';
import { readBackendMessage, type BackendMessage } from '../../protocol/json-rpc.js';
import { MODERN_PROTOCOL_VERSION, PROTOCOL_VERSIONS, type Era } from '../../protocol/protocol-versions.js';
import { rpcCodes } from '../../shared/refusals.js';
import { isAnswerTo, type RequestHandler, type RequestPlan } from './request-plan.js';
import { httpStatusFault, upstreamFault, type UpstreamFault } from '../http/upstream-fault.js';

/** The answer, if the response contains one, or the fault. */
export type ReadRefusal = { readonly answer: BackendMessage } | { readonly fault: UpstreamFault };

/** The fault for the status alone. 404 to a session id means that the backend no longer has the session, whatever the body (C11). */
export function statusFault(status: number, carriesSession: boolean): UpstreamFault {
  return status === 404 && carriesSession ? upstreamFault('session-lost') : httpStatusFault(status);
}

interface RefusedRequest {
  readonly status: number;
  readonly carriesSession: boolean;
  readonly body: Buffer;
  /** The era of the request; `undefined` for a request that detects the era. */
  readonly era: Era | undefined;
  /** Whether a message is the answer to the request. */
  isAnswer(message: BackendMessage): boolean;
}

/** A backend may send a JSON-RPC error with an HTTP error status; then that error is the answer (R24). */
export function readRefusal(plan: RequestPlan, handler: RequestHandler, status: number, body: Buffer): ReadRefusal {
  const { id, carriesSession, era } = plan;
  const isAnswer = (message: BackendMessage): boolean => isAnswerTo(id, body, message);
  const { error, fault } = judge({ status, carriesSession, body, era, isAnswer });
  const isUnauthorized = status === 401 && plan.isUnauthorizedFault === true;
  if (!isUnauthorized && error !== undefined && isAnswer(error)) return { answer: error };
  return { fault: (error && handler.faultOfError?.(body.subarray(error.bodyStart, error.bodyEnd))) ?? fault };
}

/** @returns the JSON-RPC error in the body, which may be the answer to the request, and the fault if it is not. */
function judge(refused: RefusedRequest): { readonly fault: UpstreamFault; readonly error?: BackendMessage } {
  const { status, carriesSession, body, era } = refused;
  const message = readBackendMessage(body);
  const error = message?.isError === true ? message : undefined;
  if (isSessionRefused(refused, error)) return { fault: upstreamFault('session-lost') };
  if (era === 'modern' && isModernRefused(refused, error)) return { fault: upstreamFault('era-refused') };
  if (era === 'legacy' && isLegacyRefused(refused, error)) return { fault: upstreamFault('era-refused') };
  const fault = statusFault(status, carriesSession);
  return fault.kind !== 'session-lost' && error !== undefined ? { fault, error } : { fault };
}

/**
 * Backends modelled on the SDK's examples respond with 400 in place of 404, and an error that belongs to no request and mentions the
 * session: that refusal is equally definite.
 */
function isSessionRefused(
  { status, carriesSession, body }: RefusedRequest,
  error: BackendMessage | undefined,
): boolean {
  return status === 400 && carriesSession && error?.idStart === -1 && /session/i.test(body.toString());
}

/** Statuses of requests that were not carried out: nothing at that path accepts them, or they were not understood. */
const REFUSING_STATUSES: ReadonlySet<number> = new Set([400, 404, 405]);

/**
 * Whether a backend that has spoken the modern era refuses a request because it no longer does: it says so, or responds as legacy servers
 * do to a request without a session, without the request's id.
 */
function isModernRefused(refused: RefusedRequest, error: BackendMessage | undefined): boolean {
  const { status, body } = refused;
  if (!REFUSING_STATUSES.has(status)) return false;
  if (error === undefined) return status !== 400 || /session|protocol.version/i.test(body.toString());
  const { code, versions } = saidIn(body, error);
  if (code === rpcCodes.versionUnsupported) return !versions.includes(MODERN_PROTOCOL_VERSION);
  const isModernError = code === rpcCodes.headerMismatch || code === rpcCodes.capabilityMissing;
  // A request that ended in an internal error may have been carried out.
  return !isModernError && code !== rpcCodes.internalError && !refused.isAnswer(error);
}

/**
 * Whether a backend that has spoken a legacy version refuses a request as only servers of 2026-07-28 do, before looking at its content:
 * because of its version, or of missing headers or a missing envelope.
 */
function isLegacyRefused({ status, body }: RefusedRequest, error: BackendMessage | undefined): boolean {
  if (status !== 400 || error === undefined) return false;
  const { code, versions } = saidIn(body, error);
  if (code === rpcCodes.versionUnsupported) return !versions.some((version) => PROTOCOL_VERSIONS.has(version));
  if (code === rpcCodes.headerMismatch) return true;
  return code === rpcCodes.invalidParams && ENVELOPE_KEYS.some((key) => body.includes(key));
}

const ENVELOPE_KEYS: readonly string[] = [PROTOCOL_VERSION_KEY, CLIENT_CAPABILITIES_KEY];

function saidIn(body: Buffer, { bodyStart, bodyEnd }: BackendMessage): SaidError {
  return readSaidError(body.subarray(bodyStart, bodyEnd));
}
