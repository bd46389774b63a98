// What is different about errors in answers to modern requests: their HTTP statuses, and the code for a resource that is not found.
// Cold path.
import { MODERN_PROTOCOL_VERSION } from '../mcp/index.js';
import { rpcCodes, rpcErrors, type RpcError } from '../shared/index.js';

/** For `data.supported`: the versions to retry with. Legacy versions are not listed, because they cannot be requested this way. */
export const MODERN_VERSIONS: readonly string[] = [MODERN_PROTOCOL_VERSION];

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
  return error.code === rpcCodes.resourceNotFound ? { ...error, ...rpcErrors.modernResourceNotFound } : error;
}
