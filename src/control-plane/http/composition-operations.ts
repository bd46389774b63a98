// The compositions over HTTP.
import type { FastifyRequest } from 'fastify';
import { compositionTag, type Composition, type CompositionInput } from '../compositions/composition.js';
import type { PageQuery } from '../mirror/named-mirror.js';
import { operationsOf } from './operation.js';
import { itemsOf, jsonListAnswer, pageHeaders, pageQuery } from './operation-parts.js';
import { thingOperations } from './thing-operations.js';

/** Whether tools that their server does not have may be named. */
function isForced({ query }: FastifyRequest): boolean {
  return (query as { readonly force?: boolean }).force === true;
}

const { create, read, replace, patch, remove } = thingOperations<Composition, CompositionInput>({
  noun: 'composition',
  schema: 'Composition',
  query: { force: { type: 'boolean', description: 'Whether tools may be named that their server does not have.' } },
  created: 'The composition is published.',
  changed: 'The changed composition is published.',
  blank: { description: '', exposure: 'all', subjects: [], team: null },
  tagOf: compositionTag,
  find: ({ compositions }, reference) => compositions.find(reference),
  create: ({ compositions }, request, input, change) =>
    compositions.create({ ...input, isForced: isForced(request) }, request.subject, change),
  replace: ({ compositions }, request, reference, input, change) =>
    compositions.replace(reference, { ...input, isForced: isForced(request) }, request.subject, change),
  remove: ({ compositions }, reference, change) => compositions.remove(reference, change),
});

export const compositionOperations = operationsOf('compositions', {
  'GET /compositions': {
    id: 'listCompositions',
    role: 'reader',
    summary: 'List the compositions, sorted by name',
    query: pageQuery,
    answers: [{ ...jsonListAnswer('The compositions.', 'Composition'), headers: pageHeaders }],
    refusals: [422],
    handle: async ({ compositions }, request, reply) =>
      itemsOf(request, reply, await compositions.list(request.query as PageQuery)),
  },
  'POST /compositions': {
    ...create,
    id: 'createComposition',
    summary: 'Compose a virtual server of tools of registered servers',
    description:
      'The dataplane serves it to its subjects from their next request on. Tools that a server does not have are refused unless `force` says that they may be named; for a server that was never reached, this cannot be checked. Missing tools are listed in `missingTools`, and served once they exist. The same goes for a pattern that matches no tool.',
  },
  'GET /compositions/{composition}': { ...read, id: 'readComposition', summary: 'Read one composition' },
  'PUT /compositions/{composition}': {
    ...replace,
    id: 'replaceComposition',
    summary: 'Change a composition',
    description: 'What is left out of description, subjects and team stays as it is.',
  },
  'PATCH /compositions/{composition}': {
    ...patch,
    id: 'patchComposition',
    summary: 'Change some properties of a composition',
    description:
      'A JSON merge patch (RFC 7396): omitted members stay, null removes a member, a list replaces the list. Without `If-Match`, it is applied to the current composition, including changes that others made meanwhile.',
  },
  'DELETE /compositions/{composition}': { ...remove, id: 'removeComposition', summary: 'Delete a composition' },
});
