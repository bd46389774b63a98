// The compositions over HTTP.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { notFound } from '../common/control-plane-fault.js';
import type { PageQuery } from '../common/page.js';
import { compositionTag, type Composition, type CompositionInput } from '../compositions/composition.js';
import { patchThing } from './merge-patch.js';
import { operationsOf } from './operation.js';
import {
  changeRefusals,
  changedUnpublished,
  compositionChanged,
  conditionHeaders,
  forceQuery,
  itemsOf,
  json,
  jsonList,
  located,
  pageHeaders,
  pageQuery,
  parameterOf,
  removed,
  removedUnpublished,
  tagged,
} from './operation-parts.js';

/** The schema has checked the types; a composition's other members cannot be set by people. */
function inputOf(request: FastifyRequest): CompositionInput {
  const { name, description, servers, exposure, subjects, team } = request.body as CompositionInput;
  return { name, description, servers, exposure, subjects, team, isForced: isForced(request) };
}

/** Whether tools that their server does not have may be named. */
function isForced({ query }: FastifyRequest): boolean {
  return (query as { readonly force?: boolean }).force === true;
}

/** Values of members that a patch has removed. */
const BLANK = { description: '', exposure: 'all', subjects: [], team: null } as const;

function shown(reply: FastifyReply, composition: Composition): Composition {
  reply.header('etag', compositionTag(composition));
  return composition;
}

export const compositionOperations = operationsOf('compositions', {
  'GET /compositions': {
    id: 'listCompositions',
    role: 'reader',
    summary: 'List the compositions, sorted by name',
    query: pageQuery,
    answers: [{ ...jsonList('The compositions.', 'Composition'), headers: pageHeaders }],
    refusals: [422],
    handle: async ({ compositions }, request, reply) =>
      itemsOf(request, reply, await compositions.list(request.query as PageQuery)),
  },
  'POST /compositions': {
    id: 'createComposition',
    role: 'editor',
    isAudited: true,
    summary: 'Compose a virtual server of tools of registered servers',
    description:
      'The dataplane serves it to its subjects from their next request on. Tools that a server does not have are refused unless `force` says that they may be named; for a server that was never reached, this cannot be checked. Missing tools are listed in `missingTools`, and served once they exist. The same goes for a pattern that matches no tool.',
    query: forceQuery,
    body: 'CompositionInput',
    answers: [
      { ...json(201, 'The composition is published.', 'Composition'), headers: located },
      changedUnpublished('Composition', located),
    ],
    refusals: [409, 422],
    handle: async ({ compositions }, request, reply, change) => {
      const composition = await compositions.create(inputOf(request), request.subject, change);
      reply.header('location', `/compositions/${composition.id}`);
      return shown(reply, composition);
    },
  },
  'GET /compositions/{composition}': {
    id: 'readComposition',
    role: 'reader',
    summary: 'Read one composition',
    answers: [{ ...json(200, 'The composition.', 'Composition'), headers: tagged }],
    refusals: [404],
    handle: async ({ compositions }, request, reply) => {
      const reference = parameterOf(request, 'composition');
      const composition = await compositions.find(reference);
      if (composition === undefined) throw notFound('composition', reference);
      return shown(reply, composition);
    },
  },
  'PUT /compositions/{composition}': {
    id: 'replaceComposition',
    role: 'editor',
    isAudited: true,
    summary: 'Change a composition',
    description: 'What is left out of description, subjects and team stays as it is.',
    query: forceQuery,
    body: 'CompositionInput',
    headers: conditionHeaders,
    answers: compositionChanged,
    refusals: changeRefusals,
    handle: async ({ compositions }, request, reply, change) => {
      const reference = parameterOf(request, 'composition');
      return shown(reply, await compositions.replace(reference, inputOf(request), request.subject, change));
    },
  },
  'PATCH /compositions/{composition}': {
    id: 'patchComposition',
    role: 'editor',
    isAudited: true,
    summary: 'Change some properties of a composition',
    description:
      'A JSON merge patch (RFC 7396): omitted members stay, null removes a member, a list replaces the list. Without `If-Match`, it is applied to the current composition, including changes that others made meanwhile.',
    query: forceQuery,
    body: 'CompositionPatch',
    bodyType: 'application/merge-patch+json',
    headers: conditionHeaders,
    answers: compositionChanged,
    refusals: changeRefusals,
    handle: async ({ compositions }, request, reply, change) => {
      const reference = parameterOf(request, 'composition');
      const composition = await patchThing<Composition>(request, 'CompositionInput', {
        read: async () => {
          const found = await compositions.find(reference);
          if (found === undefined) throw notFound('composition', reference);
          change.condition.refuseUnlessMet('composition', found.name, compositionTag(found));
          return found;
        },
        said: ({ name, description, servers, exposure, subjects, team }) => {
          return { name, description, servers, exposure, subjects, team };
        },
        tag: compositionTag,
        change: ({ id }, whole, condition) => {
          const input = { ...BLANK, ...(whole as CompositionInput), isForced: isForced(request) };
          return compositions.replace(id, input, request.subject, { ...change, condition });
        },
      });
      return shown(reply, composition);
    },
  },
  'DELETE /compositions/{composition}': {
    id: 'removeComposition',
    role: 'editor',
    isAudited: true,
    summary: 'Delete a composition',
    headers: conditionHeaders,
    answers: [removed, removedUnpublished],
    refusals: [404, 412],
    handle: async ({ compositions }, request, _reply, change) =>
      compositions.remove(parameterOf(request, 'composition'), change),
  },
});
