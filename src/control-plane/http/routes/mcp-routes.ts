// The MCP routes: once the caller is known, they pass Node's own request and response, with the body still unread, to
// the relay.
import type { FastifyInstance, HTTPMethods } from 'fastify';
import type { McpEndpoints } from '../../mcp/mcp-endpoints.js';
import type { Exposure } from '../../../user-config/index.js';
import { aggregateQuery } from '../operation-parts.js';

export type ServedMcp = Pick<McpEndpoints, 'handleAggregate' | 'handleComposition'>;

const METHODS: HTTPMethods[] = ['POST', 'DELETE', 'GET'];

export async function mountMcpRoutes(app: FastifyInstance, mcp: ServedMcp): Promise<void> {
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _body, done) => done(null));
    const options = { method: METHODS, exposeHeadRoute: false };

    scope.route({
      ...options,
      url: '/mcp',
      config: { role: 'reader' },
      schema: { querystring: { type: 'object', properties: aggregateQuery } },
      handler: async (request, reply) => {
        const { exposure } = request.query as { exposure?: Exposure };
        reply.hijack();
        request.isRelayed = true;
        mcp.handleAggregate(request.subject, request.raw, reply.raw, request.id, exposure);
      },
    });

    scope.route({
      ...options,
      url: '/servers/:composition/mcp',
      config: { role: 'any' },
      handler: async (request, reply) => {
        const { composition } = request.params as { composition: string };
        reply.hijack();
        request.isRelayed = true;
        mcp.handleComposition(composition, request.subject, request.raw, reply.raw, request.id);
      },
    });
  });
}
