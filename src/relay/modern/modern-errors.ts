// Errors for modern requests that are not served: those that only the modern era has, and the HTTP status of the gateway's errors.
// Cold path.
import { MODERN_PROTOCOL_VERSION } from '../../protocol/protocol-versions.js';
import { rpcCodes } from '../../shared/refusals.js';
import type { RpcError } from '../exchange/answers.js';

/** For `data.supported`: the versions to retry with. Legacy versions are not listed, because they cannot be requested this way. */
export const MODERN_VERSIONS: readonly string[] = [MODERN_PROTOCOL_VERSION];

/** @param fault which header is wrong and how, in words. */
export function headerMismatch(fault: string): RpcError {
  return { code: rpcCodes.headerMismatch, message: `Headers do not match the body: ${fault}` };
}

/** @param supported the versions that are served, newest first. */
export function versionUnsupported(
  requested: string | undefined,
  supported: readonly string[] = MODERN_VERSIONS,
): RpcError {
  const data = requested === undefined ? { supported } : { supported, requested };
  return { code: rpcCodes.versionUnsupported, message: 'Unsupported protocol version', data };
}

/** @param required capabilities, in the form in which a client declares them. */
export function capabilityMissing(required: Readonly<Record<string, unknown>>): RpcError {
  const data = { requiredCapabilities: required };
  return { code: rpcCodes.capabilityMissing, message: 'Missing required client capability', data };
}

/** @param fault which member of `_meta` is wrong and how, in words. */
export function envelopeInvalid(fault: string): RpcError {
  return { code: rpcCodes.invalidParams, message: `Invalid params._meta: ${fault}` };
}

/**
 * The HTTP status for an error of the gateway's. An error that the same request would always get has a status of its own, for those who
 * see only HTTP.
 */
export function httpStatusOf(code: number): number {
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
 * The HTTP status for a backend's error. Errors about the request's form or the client's capabilities have a status of their own,
 * whether the gateway or the backend detects them (M13, M15). The caller can do nothing about a version that the backend does not
 * speak; this and all other errors are ordinary answers.
 */
export function statusOfBackends(code: number): number {
  return code === rpcCodes.headerMismatch || code === rpcCodes.capabilityMissing ? 400 : 200;
}

/** The same error with the modern era's code where that differs: -32002 no longer exists. */
export function modernError(error: RpcError): RpcError {
  return error.code === rpcCodes.resourceNotFound ? { ...error, ...NOT_FOUND } : error;
}

const NOT_FOUND: RpcError = { code: rpcCodes.invalidParams, message: 'Resource not found' };
