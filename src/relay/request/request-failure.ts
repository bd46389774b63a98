// The error that a caller gets when the backend of its request has failed. Cold path.
import { randomUUID } from 'node:crypto';
import { rpcErrors, type RpcError } from '../../shared/rpc-errors.js';
import { faultReason, type UpstreamFault } from '../../upstream/http/upstream-fault.js';
import type { RelayedRequestPlan } from './relayed-request-plan.js';

/** A missing consent is an elicitation error (-32042) for legacy clients only: modern ones do not know it (M27). */
export function failureOf(fault: UpstreamFault, { session, upstream, form }: RelayedRequestPlan): RpcError {
  const { name } = upstream.backend;
  if (fault.connect === undefined) {
    const error = rpcErrors.backendFailed(name, faultReason(fault));
    return fault.said === undefined ? error : { ...error, data: { ...fault.said } };
  }
  const isElicited = form.asking === undefined && session.backendRequests.offersUrls;
  return consentMissing(name, fault.connect(), isElicited);
}

/**
 * The backend needs its user's consent first. Where a URL to give it is known, a client that supports it gets an elicitation in URL
 * mode (2025-11-25), any other client the URL in the error message.
 */
function consentMissing(backendName: string, url: string | undefined, isElicited: boolean): RpcError {
  if (url === undefined) return rpcErrors.consentWithoutUrl(backendName);
  if (!isElicited) return rpcErrors.consentAtUrl(backendName, url);
  const error = rpcErrors.consentElicited(backendName);
  const elicitation = { mode: 'url', elicitationId: randomUUID(), url, message: error.message };
  return { ...error, data: { elicitations: [elicitation] } };
}
