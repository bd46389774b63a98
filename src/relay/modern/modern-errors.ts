// What a modern request is told that is not served: the errors that only the era without sessions has, and with which HTTP status
// errors of ours go there. Cold.
import { MODERN_PROTOCOL_VERSION } from '../../protocol/protocol-versions.js';
import { rpcCodes } from '../../shared/refusals.js';
import type { RpcError } from '../exchange/answers.js';

/** In `data.supported`: what to ask again in. The older ones are not asked for this way. */
export const MODERN_VERSIONS: readonly string[] = [MODERN_PROTOCOL_VERSION];

/** @param fault which header, and how, in words. */
export function headerMismatch(fault: string): RpcError {
  return { code: rpcCodes.headerMismatch, message: `Headers do not match the body: ${fault}` };
}

/** @param supported what is spoken here, newest first. */
export function versionUnsupported(
  requested: string | undefined,
  supported: readonly string[] = MODERN_VERSIONS,
): RpcError {
  const data = requested === undefined ? { supported } : { supported, requested };
  return { code: rpcCodes.versionUnsupported, message: 'Unsupported protocol version', data };
}

/** @param required as a client declares them. */
export function capabilityMissing(required: Readonly<Record<string, unknown>>): RpcError {
  const data = { requiredCapabilities: required };
  return { code: rpcCodes.capabilityMissing, message: 'Missing required client capability', data };
}

/** @param fault which member of `_meta`, and how, in words. */
export function envelopeInvalid(fault: string): RpcError {
  return { code: rpcCodes.invalidParams, message: `Invalid params._meta: ${fault}` };
}

/**
 * The HTTP status of an error of ours: what no such request can ever come by is told to whoever looks at HTTP alone.
 */
export function statusOf(code: number): number {
  switch (code) {
    case rpcCodes.methodNotFound:
      return 404;
    case rpcCodes.headerMismatch:
    case rpcCodes.capabilityMissing:
    case rpcCodes.versionUnsupported:
      return 400;
    default:
      return 200;
  }
}

/**
 * The HTTP status of an error of a backend's. What an error says of the request's form, and of what its client can be asked for, is
 * said by the status as well, by whoever finds it out (M13, M15); that the backend has another version is nothing that the gateway's
 * caller could do anything about. All others are answers.
 */
export function statusOfBackends(code: number): number {
  return code === rpcCodes.headerMismatch || code === rpcCodes.capabilityMissing ? 400 : 200;
}

/** The same error in the era's own code, where that is another one: -32002 is no more. */
export function modernError(error: RpcError): RpcError {
  return error.code === rpcCodes.resourceNotFound ? { ...error, ...NOT_FOUND } : error;
}

const NOT_FOUND: RpcError = { code: rpcCodes.invalidParams, message: 'Resource not found' };
