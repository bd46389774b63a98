// The registry over HTTP.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Registry } from '../../registry/registry.js';
import type { ServerInput } from '../../registry/server-record.js';
import { Refused } from '../answered-error.js';
import { mount } from '../mount.js';
import { operations } from '../operations.js';
import type { PageQuery } from '../../page.js';
import { nextLink } from '../page-link.js';

interface ListQuery extends PageQuery {
  readonly tags?: string;
  readonly status?: 'active' | 'inactive';
}

export type ServedRegistry = Pick<
  Registry,
  'list' | 'count' | 'find' | 'register' | 'replace' | 'remove' | 'refresh' | 'toolsJson'
>;

export function mountServerRoutes(app: FastifyInstance, registry: ServedRegistry): void {
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

  // As they are stored: a list may be large.
  mount(app, operations.listTools, async (request, reply) => {
    reply.type('application/json');
    return registry.toolsJson(referenceOf(request));
  });
}

function referenceOf({ params }: FastifyRequest): string {
  return (params as { server: string }).server;
}

/** The schema has seen to the types; what else a record has is not people's to say. */
function inputOf({ body }: FastifyRequest): ServerInput {
  const { name, url, description, tags, enabled } = body as ServerInput;
  return { name, url, description, tags, enabled };
}
