// The merge patch routes of servers and compositions.
import type { FastifyInstance } from 'fastify';
import { compositionTag, type Composition, type CompositionInput } from '../../compositions/composition.js';
import { serverTag } from '../../registry/server-state.js';
import { ControlPlaneFault, notFound } from '../../common/control-plane-fault.js';
import { PublicationWait } from '../../compositions/publication-wait.js';
import type { ServerInput, ServerRecord } from '../../records/server-record.js';
import { patchThing } from '../merge-patch.js';
import { mount, conditionOf, isForced, tellUnpublished } from '../mount.js';
import { operations } from '../operations.js';
import type { ServedCompositions } from './composition-routes.js';
import type { ServedRegistry } from './server-routes.js';

const isChanged = (error: unknown): boolean => error instanceof ControlPlaneFault && error.code === 'changed-meanwhile';

export function mountServerPatch(app: FastifyInstance, registry: ServedRegistry, waitMs: number): void {
  mount(app, operations.patchServer, async (request, reply, note) => {
    const wait = new PublicationWait(waitMs);
    const { server: reference } = request.params as { server: string };
    const read = async (): Promise<ServerRecord> => {
      const server = await registry.find(reference);
      if (server === undefined) throw notFound('server', reference);
      conditionOf(request).refuseUnlessMet('server', server.name, serverTag(server));
      return server;
    };
    const server = await patchThing(request, 'ServerInput', read, {
      said: saidOfServer,
      tag: serverTag,
      change: ({ id }, whole, condition) =>
        registry.replace(id, { ...BLANK_SERVER, ...(whole as ServerInput) }, wait, note, condition, request.caller),
      isChanged,
    });
    tellUnpublished(reply, wait);
    reply.header('etag', serverTag(server));
    return server;
  });
}

export function mountCompositionPatch(app: FastifyInstance, compositions: ServedCompositions, waitMs: number): void {
  mount(app, operations.patchComposition, async (request, reply, note) => {
    const wait = new PublicationWait(waitMs);
    const { composition: reference } = request.params as { composition: string };
    const read = async (): Promise<Composition> => {
      const composition = await compositions.find(reference);
      if (composition === undefined) throw notFound('composition', reference);
      conditionOf(request).refuseUnlessMet('composition', composition.name, compositionTag(composition));
      return composition;
    };
    const { subject, caller } = request;
    const composition = await patchThing(request, 'CompositionInput', read, {
      said: saidOfComposition,
      tag: compositionTag,
      change: ({ id }, whole, condition) => {
        const input = { ...BLANK_COMPOSITION, ...(whole as CompositionInput), isForced: isForced(request) };
        return compositions.replace(id, input, subject, wait, note, condition, caller);
      },
      isChanged,
    });
    tellUnpublished(reply, wait);
    reply.header('etag', compositionTag(composition));
    return composition;
  });
}

/** Values of members that a patch has removed. */
const BLANK_SERVER: Omit<ServerInput, 'name' | 'url'> = {
  ...{ description: '', tags: [], enabled: true, auth: null, curation: null, team: null },
  transport: 'STREAMABLEHTTP',
};
const BLANK_COMPOSITION = { description: '', exposure: 'all', subjects: [], team: null } as const;

function saidOfServer(server: ServerRecord): object {
  const { name, url, description, tags, transport, enabled, auth, curation, team } = server;
  return present({ name, url, description, tags, transport, enabled, auth, curation, team });
}

function saidOfComposition({ name, description, servers, exposure, subjects, team }: Composition): object {
  return present({ name, description, servers, exposure, subjects, team });
}

function present(members: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
