// The operations that servers and compositions have in common, and those on compositions.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ControlPlaneFault, notFoundFault } from '../common/control-plane-fault.js';
import { refuseChanged, type Change } from '../common/change.js';
import { MERGE_PATCH, applyPatch } from './merge-patch.js';
import {
  type AnswerDescription,
  type Operation,
  type OperationParts,
  operationsOf,
  unpublishedChange,
  jsonAnswer,
  locationHeader,
  pathParameter,
  etagHeader,
  unpublishedAnswer,
  itemsOf,
  jsonListAnswer,
  pageHeaders,
  pageQuery,
} from './operation.js';
import { compositionTag, type Composition, type CompositionInput } from '../compositions/composition.js';
import type { PageQuery } from '../mirror/named-mirror.js';

/** How often a patch without `If-Match` is tried while others keep changing the record. */
const PATCH_TRIES_MAX = 10;

interface CrudKind<Entity, Input> {
  readonly noun: 'server' | 'composition';
  readonly schema: 'Server' | 'Composition';
  readonly query?: NonNullable<Operation['query']>;
  readonly created: string;
  readonly changed: string;
  /** The values that members get when a patch removes them. */
  readonly defaults: Partial<Input>;
  readonly tagOf: (entity: Entity) => string;
  find(parts: OperationParts, reference: string): Promise<Entity | undefined>;
  create(parts: OperationParts, request: FastifyRequest, input: Input, change: Change): Promise<Entity>;
  replace(
    parts: OperationParts,
    request: FastifyRequest,
    reference: string,
    input: Input,
    change: Change,
  ): Promise<Entity>;
  remove(parts: OperationParts, reference: string, change: Change): Promise<void>;
}

const conditionHeaders = {
  'if-match': {
    description: 'The `ETag` of what was read: the change is made only if nobody has made another one since.',
  },
};
const removalAnswers: readonly AnswerDescription[] = [
  { status: 204, description: 'It is gone.', contents: [] },
  { status: 202, contents: [], ...unpublishedAnswer },
];

type CrudRow = Omit<Operation, 'id' | 'method' | 'path' | 'tag' | 'summary'>;

/** Rows of the endpoint table, still without ids and summaries. */
export function crudOperations<Entity extends { readonly id: string; readonly name: string }, Input>(
  kind: CrudKind<Entity, Input>,
): Readonly<Record<'create' | 'read' | 'replace' | 'patch' | 'remove', CrudRow>> {
  const { noun, schema, query, defaults, tagOf } = kind;
  const input = `${schema}Input` as const;
  const writeOperation = { role: 'editor', isAudited: true, ...(query && { query }) } as const;
  const changeOperation = {
    ...writeOperation,
    headers: conditionHeaders,
    refusals: [404, 409, 412, 422],
    answers: [{ ...jsonAnswer(200, kind.changed, schema), headers: etagHeader }, unpublishedChange(schema, etagHeader)],
  } as const;
  const withTag = (reply: FastifyReply, entity: Entity): Entity => {
    reply.header('etag', tagOf(entity));
    return entity;
  };
  const find = async (parts: OperationParts, request: FastifyRequest): Promise<Entity> => {
    const reference = pathParameter(request, noun);
    const found = await kind.find(parts, reference);
    if (found === undefined) throw notFoundFault(noun, reference);
    return found;
  };
  return {
    create: {
      ...{ ...writeOperation, body: input, refusals: [409, 422] },
      answers: [
        { ...jsonAnswer(201, kind.created, schema), headers: locationHeader },
        unpublishedChange(schema, locationHeader),
      ],
      handle: async (parts, request, reply, change) => {
        const entity = await kind.create(parts, request, request.body as Input, change);
        reply.header('location', `/${noun}s/${entity.id}`);
        return withTag(reply, entity);
      },
    },
    read: {
      ...{ role: 'reader', refusals: [404] },
      answers: [{ ...jsonAnswer(200, `The ${noun}.`, schema), headers: etagHeader }],
      handle: async (parts, request, reply) => withTag(reply, await find(parts, request)),
    },
    replace: {
      ...{ ...changeOperation, body: input },
      handle: async (parts, request, reply, change) => {
        const reference = pathParameter(request, noun);
        return withTag(reply, await kind.replace(parts, request, reference, request.body as Input, change));
      },
    },
    patch: {
      ...{ ...changeOperation, body: `${schema}Patch`, bodyType: MERGE_PATCH },
      handle: async (parts, request, reply, change) => {
        for (let tries = 1; ; tries++) {
          const found = await find(parts, request);
          refuseChanged(change, noun, found.name, tagOf(found));
          const whole = { ...defaults, ...(applyPatch(request, found, input) as Input) };
          // The patched entity is written only if nobody has changed it since it was read; otherwise the patch is applied again.
          const ifUnchanged = { ...change, ifMatch: tagOf(found) };
          try {
            return withTag(reply, await kind.replace(parts, request, found.id, whole, ifUnchanged));
          } catch (error) {
            const isChanged = error instanceof ControlPlaneFault && error.code === 'changed-meanwhile';
            if (change.ifMatch !== undefined || tries >= PATCH_TRIES_MAX || !isChanged) throw error;
          }
        }
      },
    },
    remove: {
      ...{ role: 'editor', isAudited: true, headers: conditionHeaders, answers: removalAnswers, refusals: [404, 412] },
      handle: async (parts, request, _reply, change) => kind.remove(parts, pathParameter(request, noun), change),
    },
  };
}

function isForced({ query }: FastifyRequest): boolean {
  return (query as { readonly force?: boolean }).force === true;
}

const { create, read, replace, patch, remove } = crudOperations<Composition, CompositionInput>({
  noun: 'composition',
  schema: 'Composition',
  query: { force: { type: 'boolean', description: 'Whether tools may be named that their server does not have.' } },
  created: 'The composition is published.',
  changed: 'The changed composition is published.',
  defaults: { description: '', exposure: 'all', subjects: [], team: null },
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
