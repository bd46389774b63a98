// The error that a caller gets when the backend of its request has failed. Cold path.
import type { UpstreamFault } from '../../upstream/http/upstream-fault.js';
import { backendFailed, consentMissing, type RpcError } from '../exchange/answers.js';
import type { RelayedRequestPlan } from './relayed-request-plan.js';

/** A missing consent is an elicitation error (-32042) for legacy clients only: modern ones do not know it (M27). */
export function failureOf(fault: UpstreamFault, { session, upstream, form }: RelayedRequestPlan): RpcError {
  const { name } = upstream.backend;
  if (fault.connect === undefined) return backendFailed(name, fault);
  const isElicited = form.asking === undefined && session.backendRequests.offersUrls;
  return consentMissing(name, fault.connect(), isElicited);
}
