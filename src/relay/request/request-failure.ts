// What the caller of a request is told that its backend has failed. Cold.
import type { UpstreamFault } from '../../upstream/http/upstream-fault.js';
import { backendFailed, consentMissing, type RpcError } from '../exchange/answers.js';
import type { RelayedRequestPlan } from './relayed-request-plan.js';

/** Of clients without a session none knows the elicitation that is an error (M27). */
export function failureOf(fault: UpstreamFault, { session, upstream, form }: RelayedRequestPlan): RpcError {
  const { name } = upstream.backend;
  if (fault.connect === undefined) return backendFailed(name, fault);
  const isElicited = form.asking === undefined && session.backendRequests.offersUrls;
  return consentMissing(name, fault.connect(), isElicited);
}
