// The registry over HTTP.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { PublicationWait } from '../../compositions/publication-wait.js';
import type { Registry } from '../../registry/registry.js';
import type { ServerInput } from '../../records/server-record.js';
import { serverTag } from '../../registry/server-state.js';
import { notFound } from '../../common/control-plane-fault.js';
import { mount, conditionOf, tellUnpublished } from '../mount.js';
import { operations } from '../operations.js';
import { type PageQuery, nextLink } from '../../common/page.js';

interface ListQuery extends PageQuery {
  readonly tags?: string;
  readonly status?: 'active' | 'inactive';
}

export type ServedRegistry = Pick<
  Registry,
  | 'list'
  | 'count'
  | 'find'
  | 'preview'
  | 'register'
  | 'replace'
  | 'remove'
  | 'refresh'
  | 'toolsJson'
  | 'listJson'
  | 'health'
>;

/** @param waitMs how long a change waits for its publication. */
export function mountServerRoutes(app: FastifyInstance, registry: ServedRegistry, waitMs: number): void {
  mount(app, operations.listServers, async (request, reply) => {
    const { tags, status, ...pageQuery } = request.query as ListQuery;
    const page = await registry.list({
      ...pageQuery,
      ...(tags === undefined ? {} : { tags: tags.split(',').map((tag) => tag.trim()) }),
      ...(status === undefined ? {} : { status }),
    });
    if (page.cursor !== undefined) reply.header('link', nextLink(request.url, page.cursor));
    return page.items;
  });

  mount(app, operations.registerServer, async (request, reply, note) => {
    const wait = new PublicationWait(waitMs);
    const server = await registry.register(inputOf(request), wait, note, request.caller);
    tellUnpublished(reply, wait);
    reply.header('location', `/servers/${server.id}`).header('etag', serverTag(server));
    return server;
  });

  // The tool list is passed on unparsed: it may be large.
  mount(app, operations.previewServer, async (request, reply) => {
    const { server, toolsJson } = await registry.preview(inputOf(request));
    reply.type('application/json');
    return Buffer.concat([Buffer.from(`{"server":${JSON.stringify(server)},"tools":`), toolsJson, Buffer.from('}')]);
  });

  mount(app, operations.readServer, async (request, reply) => {
    const reference = referenceOf(request);
    const server = await registry.find(reference);
    if (server === undefined) throw notFound('server', reference);
    reply.header('etag', serverTag(server));
    return server;
  });

  mount(app, operations.replaceServer, async (request, reply, note) => {
    const wait = new PublicationWait(waitMs);
    const condition = conditionOf(request);
    const { caller } = request;
    const server = await registry.replace(referenceOf(request), inputOf(request), wait, note, condition, caller);
    tellUnpublished(reply, wait);
    reply.header('etag', serverTag(server));
    return server;
  });

  mount(app, operations.removeServer, async (request, reply, note) => {
    const wait = new PublicationWait(waitMs);
    await registry.remove(referenceOf(request), wait, note, conditionOf(request), request.caller);
    tellUnpublished(reply, wait);
  });

  mount(app, operations.refreshServer, async (request, reply, note) => {
    const wait = new PublicationWait(waitMs);
    const report = await registry.refresh(referenceOf(request), wait, note, request.caller);
    tellUnpublished(reply, wait);
    return report;
  });

  mount(app, operations.listHealth, (request) => registry.health(referenceOf(request)));

  // Sent as stored, unparsed: a list may be large.
  mount(app, operations.listTools, async (request, reply) => {
    reply.type('application/json');
    return registry.toolsJson(referenceOf(request));
  });
  for (const [name, operation] of [
    ['prompts', operations.listPrompts],
    ['resources', operations.listResources],
    ['templates', operations.listTemplates],
  ] as const) {
    mount(app, operation, async (request, reply) => {
      reply.type('application/json');
      return registry.listJson(referenceOf(request), name);
    });
  }
}

function referenceOf({ params }: FastifyRequest): string {
  return (params as { server: string }).server;
}

/** The schema has checked the types; a record's other members cannot be set by people. */
function inputOf({ body }: FastifyRequest): ServerInput {
  const { name, url, description, tags, transport, enabled, auth, curation, team } = body as ServerInput;
  return { name, url, description, tags, transport, enabled, auth, curation, team };
}
