// What is alike in all changes: whether they are still wanted, and what is answered before the dataplane obeys one for everybody: 202,
// with how much is still to come.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ChangeCondition } from '../../common/change-condition.js';
import type { PublicationWait } from '../../compositions/publication-wait.js';

/** User configs that did not have the change yet when it was answered. */
export const UNPUBLISHED_HEADER = 'switchyard-unpublished';

export function tellUnpublished(reply: FastifyReply, { left }: PublicationWait): void {
  if (left > 0) reply.code(202).header(UNPUBLISHED_HEADER, String(left));
}

export function conditionOf({ headers }: FastifyRequest): ChangeCondition {
  return ChangeCondition.of(headers['if-match']);
}

/** Whether tools that are not there may be named. */
export function isForced({ query }: FastifyRequest): boolean {
  return (query as { readonly force?: boolean }).force === true;
}
