// The compositions over HTTP.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type CompositionInput, compositionTag } from '../../compositions/composition.js';
import type { Compositions } from '../../compositions/compositions.js';
import { notFound } from '../../common/control-plane-fault.js';
import { mount, conditionOf, isForced, tellUnpublished } from '../mount.js';
import { operations } from '../operations.js';
import { PublicationWait } from '../../compositions/publication-wait.js';
import { type PageQuery, nextLink } from '../../common/page.js';

export type ServedCompositions = Pick<
  Compositions,
  'list' | 'find' | 'create' | 'replace' | 'remove' | 'countUnpublished'
>;

/** @param waitMs how long a change waits for its publication. */
export function mountCompositionRoutes(app: FastifyInstance, compositions: ServedCompositions, waitMs: number): void {
  mount(app, operations.listCompositions, async (request, reply) => {
    const page = await compositions.list(request.query as PageQuery);
    if (page.cursor !== undefined) reply.header('link', nextLink(request.url, page.cursor));
    return page.items;
  });

  mount(app, operations.createComposition, async (request, reply, note) => {
    const wait = new PublicationWait(waitMs);
    const composition = await compositions.create(inputOf(request), request.subject, wait, note, request.caller);
    tellUnpublished(reply, wait);
    reply.header('location', `/compositions/${composition.id}`).header('etag', compositionTag(composition));
    return composition;
  });

  mount(app, operations.readComposition, async (request, reply) => {
    const reference = referenceOf(request);
    const composition = await compositions.find(reference);
    if (composition === undefined) throw notFound('composition', reference);
    reply.header('etag', compositionTag(composition));
    return composition;
  });

  mount(app, operations.replaceComposition, async (request, reply, note) => {
    const wait = new PublicationWait(waitMs);
    const reference = referenceOf(request);
    const condition = conditionOf(request);
    const { subject, caller } = request;
    const composition = await compositions.replace(reference, inputOf(request), subject, wait, note, condition, caller);
    tellUnpublished(reply, wait);
    reply.header('etag', compositionTag(composition));
    return composition;
  });

  mount(app, operations.removeComposition, async (request, reply, note) => {
    const wait = new PublicationWait(waitMs);
    await compositions.remove(referenceOf(request), wait, note, conditionOf(request), request.caller);
    tellUnpublished(reply, wait);
  });
}

function referenceOf({ params }: FastifyRequest): string {
  return (params as { composition: string }).composition;
}

/** The schema has checked the types; a composition's other members cannot be set by people. */
function inputOf(request: FastifyRequest): CompositionInput {
  const { name, description, servers, exposure, subjects, team } = request.body as CompositionInput;
  return { name, description, servers, exposure, subjects, team, isForced: isForced(request) };
}
