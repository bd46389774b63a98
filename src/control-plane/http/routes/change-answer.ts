// Parts common to all changes: the `If-Match` condition, and the response when the request stops waiting for the
// publication: 202, with the number of user configs that are left.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ChangeCondition } from '../../common/change-condition.js';
import type { PublicationWait } from '../../compositions/publication-wait.js';

/** User configs that did not have the change yet when the response was sent. */
export const UNPUBLISHED_HEADER = 'switchyard-unpublished';

export function tellUnpublished(reply: FastifyReply, { left }: PublicationWait): void {
  if (left > 0) reply.code(202).header(UNPUBLISHED_HEADER, String(left));
}

export function conditionOf({ headers }: FastifyRequest): ChangeCondition {
  return ChangeCondition.of(headers['if-match']);
}

/** Whether tools that their server does not have may be named. */
export function isForced({ query }: FastifyRequest): boolean {
  return (query as { readonly force?: boolean }).force === true;
}
