// The MCP routes: once the caller is known, they pass Node's own request and response, with the body still unread, to
// the relay.
import type { FastifyInstance, HTTPMethods } from 'fastify';
import type { McpEndpoints } from '../../mcp/mcp-endpoints.js';
import type { Exposure } from '../../../user-config/compiled-config.js';
import { roleOf, routePath } from '../operation.js';
import { operations } from '../operations.js';

export type ServedMcp = Pick<McpEndpoints, 'handleAggregate' | 'handleComposition'>;

const METHODS: HTTPMethods[] = ['POST', 'DELETE', 'GET'];

export async function mountMcpRoutes(app: FastifyInstance, mcp: ServedMcp): Promise<void> {
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _body, done) => done(null));
    const options = { method: METHODS, exposeHeadRoute: false };

    scope.route({
      ...options,
      url: routePath(operations.postAggregate),
      config: { role: roleOf(operations.postAggregate) },
      schema: { querystring: { type: 'object', properties: operations.postAggregate.query } },
      handler: async (request, reply) => {
        const { exposure } = request.query as { exposure?: Exposure };
        reply.hijack();
        request.isRelayed = true;
        mcp.handleAggregate(request.subject, request.raw, reply.raw, request.id, exposure);
      },
    });

    scope.route({
      ...options,
      url: routePath(operations.postComposition),
      config: { role: roleOf(operations.postComposition) },
      handler: async (request, reply) => {
        const { composition } = request.params as { composition: string };
        reply.hijack();
        request.isRelayed = true;
        mcp.handleComposition(composition, request.subject, request.raw, reply.raw, request.id);
      },
    });
  });
}
