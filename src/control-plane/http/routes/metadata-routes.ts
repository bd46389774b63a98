// Where clients get a token (RFC 9728), for the whole program and for each of its MCP endpoints.
import type { FastifyInstance } from 'fastify';
import type { ControlPlaneAdmission } from '../control-plane-admission.js';
import { HttpRefusal } from '../answered-error.js';
import { mount } from '../mount.js';
import { operations } from '../operations.js';

export function mountMetadataRoutes(app: FastifyInstance, admission: Pick<ControlPlaneAdmission, 'metadata'>): void {
  const { resourceMetadata, aggregateMetadata, compositionMetadata } = operations;
  for (const operation of [resourceMetadata, aggregateMetadata, compositionMetadata]) {
    mount(app, operation, async (request, reply) => {
      const metadata = admission.metadata(request);
      if (metadata === undefined) throw new HttpRefusal(404, 'Not Found');
      reply.type('application/json');
      return metadata;
    });
  }
}
