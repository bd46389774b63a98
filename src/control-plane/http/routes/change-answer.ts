// What a change is answered before the dataplane obeys it for everybody: 202, with how much is still to come.
import type { FastifyReply } from 'fastify';
import type { PublicationWait } from '../../compositions/publication-wait.js';

/** User configs that did not have the change yet when it was answered. */
export const UNPUBLISHED_HEADER = 'switchyard-unpublished';

export function tellUnpublished(reply: FastifyReply, { left }: PublicationWait): void {
  if (left > 0) reply.code(202).header(UNPUBLISHED_HEADER, String(left));
}
