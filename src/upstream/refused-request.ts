// What an HTTP error answer of a backend says beyond its status. Cold.
import { modernCodes, readSaidError } from '../protocol/modern-error.js';
import { readBackendMessage, type BackendMessage } from '../protocol/json-rpc.js';
import { rpcCodes } from '../shared/refusals.js';
import { httpStatusFault, upstreamFault, type UpstreamFault } from './upstream-fault.js';

export interface Refusal {
  readonly fault: UpstreamFault;
  readonly error?: BackendMessage;
}

/** What the status alone says. 404 to a session id means the backend no longer has it, whatever the body (C11). */
export function statusFault(status: number, carriesSession: boolean): UpstreamFault {
  return status === 404 && carriesSession ? upstreamFault('session-lost') : httpStatusFault(status);
}

/**
 * @param body of the error answer.
 * @param isModern whether the request was one without a session: a backend that spoke so and does not know it any more has lost
 * what was opened, too.
 * @returns the JSON-RPC error in it, which may be the answer to the request (R24), and the fault if it is not.
 */
export function readRefusal(status: number, carriesSession: boolean, body: Buffer, isModern = false): Refusal {
  const message = readBackendMessage(body);
  if (isModern && isEraRefused(status, body, message)) return { fault: upstreamFault('session-lost') };
  if (isSessionRefused(status, carriesSession, body, message)) return { fault: upstreamFault('session-lost') };
  const fault = statusFault(status, carriesSession);
  return fault.kind !== 'session-lost' && message?.isError === true ? { fault, error: message } : { fault };
}

/**
 * Backends made after the SDK's examples answer 400 in place of 404, with an error that belongs to no request and
 * speaks of the session: a refusal just as definite.
 */
function isSessionRefused(
  status: number,
  carriesSession: boolean,
  body: Buffer,
  message: BackendMessage | undefined,
): boolean {
  if (status !== 400 || !carriesSession) return false;
  const isUnattributed = message?.isError === true && message.idStart === -1;
  return isUnattributed && /session/i.test(body.toString());
}

/**
 * Whether a backend that has spoken the modern era refuses a request because it does not speak it: it says so, or answers as
 * servers of before do to whom has no session, without the request's id. Nothing was executed in either case.
 */
function isEraRefused(status: number, body: Buffer, message: BackendMessage | undefined): boolean {
  if (message?.isError !== true) return false;
  const { code } = readSaidError(body.subarray(message.bodyStart, message.bodyEnd));
  if (code === modernCodes.versionUnsupported) return true;
  const isModernError = code === modernCodes.headerMismatch || code === modernCodes.capabilityMissing;
  // What has failed within may have been carried out.
  return (
    message.idStart === -1 && !isModernError && code !== rpcCodes.internalError && (status === 400 || status === 404)
  );
}
