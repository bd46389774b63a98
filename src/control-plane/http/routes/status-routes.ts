// What the control plane says about itself and its caller: health and version, which monitors request without a token, where clients
// get a token, and who the caller is.
import type { FastifyInstance } from 'fastify';
import type { Overload } from '../../../process/overload.js';
import { PROGRAM_VERSION } from '../../../shared/program-version.js';
import { LATEST_PROTOCOL_VERSION } from '../../../protocol/protocol-versions.js';
import type { RecordStore } from '../../../store/record-store.js';
import type { Compositions } from '../../compositions/compositions.js';
import type { Registry } from '../../registry/registry.js';
import { mount } from '../mount.js';
import { operations } from '../operations.js';
import type { ControlPlaneAdmission } from '../control-plane-admission.js';
import { HttpRefusal } from '../answered-error.js';

/** Where clients get a token (RFC 9728), for the whole program and for each of its MCP endpoints. */
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

/** Who the caller is to the control plane, for programs and pages that offer only what the caller may do. */
export function mountCallerRoutes(app: FastifyInstance): void {
  mount(app, operations.whoAmI, async ({ subject, caller }) => {
    if (caller === undefined) return { subject, role: 'admin', teams: [] };
    return { subject, role: caller.role ?? null, teams: caller.teams };
  });
}

export interface StatusParts {
  readonly overload: Pick<Overload, 'healthRefusal'>;
  readonly records: Pick<RecordStore, 'kind' | 'ping'>;
  readonly registry: Pick<Registry, 'count'>;
  readonly compositions: Pick<Compositions, 'countUnpublished'>;
}

type Status = 'healthy' | 'unhealthy';

export function mountStatusRoutes(app: FastifyInstance, parts: StatusParts): void {
  mount(app, operations.health, async (_request, reply) => {
    const isTaking = parts.overload.healthRefusal === undefined;
    const status = statusOf(isTaking && (await parts.records.ping()));
    if (status !== 'healthy') reply.code(503);
    return { status };
  });

  mount(app, operations.live, async () => ({ status: 'live' as const }));

  mount(app, operations.version, async () => {
    const reachable = await parts.records.ping();
    return {
      app: { name: 'switchyard', version: PROGRAM_VERSION, mcpProtocolVersion: LATEST_PROTOCOL_VERSION },
      status: statusOf(reachable),
      timestamp: new Date().toISOString(),
      uptimeSeconds: Math.round(process.uptime() * 1_000) / 1_000,
      store: { kind: parts.records.kind, reachable },
      servers: reachable ? await parts.registry.count() : null,
      unpublishedChanges: reachable ? await parts.compositions.countUnpublished() : null,
    };
  });
}

function statusOf(isAble: boolean): Status {
  return isAble ? 'healthy' : 'unhealthy';
}
