// The registry over HTTP.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Registry } from '../../registry/registry.js';
import type { ServerInput } from '../../registry/server-record.js';
import { Refused } from '../answered-error.js';
import { mount } from '../mount.js';
import { operations } from '../operations.js';
import { nextLink, pageOf, type PageQuery } from '../page.js';

interface ListQuery extends PageQuery {
  readonly tags?: string;
  readonly status?: 'active' | 'inactive';
}

export type ServedRegistry = Pick<Registry, 'list' | 'find' | 'register' | 'replace' | 'remove' | 'refresh' | 'tools'>;

export function mountServerRoutes(app: FastifyInstance, registry: ServedRegistry): void {
  mount(app, operations.listServers, async (request, reply) => {
    const { tags, status, ...pageQuery } = request.query as ListQuery;
    const wanted = tags?.split(',').map((tag) => tag.trim());
    const servers = (await registry.list()).filter(
      (server) =>
        (wanted === undefined || server.tags.some((tag) => wanted.includes(tag))) &&
        (status === undefined || server.status === status),
    );
    const page = pageOf(servers, pageQuery);
    if (page.cursor !== undefined) reply.header('link', nextLink(request.url, page.cursor));
    return page.items;
  });

  mount(app, operations.registerServer, async (request, reply) => {
    const server = await registry.register(inputOf(request));
    reply.header('location', `/servers/${server.id}`);
    return server;
  });

  mount(app, operations.readServer, async (request) => {
    const reference = referenceOf(request);
    const server = await registry.find(reference);
    if (server === undefined) throw new Refused(404, `Server not found: ${reference}`);
    return server;
  });

  mount(app, operations.replaceServer, async (request) => registry.replace(referenceOf(request), inputOf(request)));

  mount(app, operations.removeServer, async (request) => registry.remove(referenceOf(request)));

  mount(app, operations.refreshServer, async (request) => registry.refresh(referenceOf(request)));

  mount(app, operations.listTools, async (request) => registry.tools(referenceOf(request)));
}

function referenceOf({ params }: FastifyRequest): string {
  return (params as { server: string }).server;
}

/** The schema has seen to the types; what else a record has is not people's to say. */
function inputOf({ body }: FastifyRequest): ServerInput {
  const { name, url, description, tags, enabled } = body as ServerInput;
  return { name, url, description, tags, enabled };
}
