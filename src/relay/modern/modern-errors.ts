// What a modern request is told that is not served: the errors that only the era without sessions has, and with which HTTP status
// errors of ours go there. Cold.
import { MODERN_PROTOCOL_VERSION } from '../../protocol/protocol-versions.js';
import { rpcCodes } from '../../shared/refusals.js';
import type { RpcError } from '../answers.js';

/** In `data.supported`: what to ask again in. The older ones are not asked for this way. */
export const MODERN_VERSIONS: readonly string[] = [MODERN_PROTOCOL_VERSION];

/** @param fault which header, and how, in words. */
export function headerMismatch(fault: string): RpcError {
  return { code: rpcCodes.headerMismatch, message: `Headers do not agree with the body: ${fault}` };
}

export function versionUnsupported(requested: string | undefined): RpcError {
  const data = requested === undefined ? { supported: MODERN_VERSIONS } : { supported: MODERN_VERSIONS, requested };
  return { code: rpcCodes.versionUnsupported, message: 'Unsupported protocol version', data };
}

/** @param fault which member of `_meta`, and how, in words. */
export function envelopeInvalid(fault: string): RpcError {
  return { code: rpcCodes.invalidParams, message: `Invalid params._meta: ${fault}` };
}

/**
 * The HTTP status of an error of ours: what no such request can ever come by is told to whoever looks at HTTP alone. Errors of
 * backends are answers like others.
 */
export function statusOf(code: number): number {
  switch (code) {
    case rpcCodes.methodNotFound:
      return 404;
    case rpcCodes.headerMismatch:
    case rpcCodes.versionUnsupported:
      return 400;
    default:
      return 200;
  }
}

/** The same error in the era's own code, where that is another one: -32002 is no more. */
export function modernError(error: RpcError): RpcError {
  return error.code === rpcCodes.resourceNotFound ? { ...error, ...NOT_FOUND } : error;
}

const NOT_FOUND: RpcError = { code: rpcCodes.invalidParams, message: 'Resource not found' };
