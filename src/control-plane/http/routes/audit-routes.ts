// The audit list over HTTP: who has changed what. Admins see all changes; editors see their own, and those of things
// that they may change.
import type { FastifyInstance } from 'fastify';
import { limits } from '../../../shared/limits.js';
import type { AuditEntry, AuditRecords } from '../../../store/audit-records.js';
import { isAdmin, mayChange, type Principal } from '../../common/principal.js';
import { mount } from '../mount.js';
import { nextLink } from '../../common/page.js';
import { viewOperations } from '../view-operations.js';

interface AuditPageQuery {
  readonly record?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

export function mountAuditRoutes(app: FastifyInstance, audit: Pick<AuditRecords, 'list'>): void {
  mount(app, viewOperations.listChanges, async (request, reply) => {
    const { record = '', limit = limits.auditPageMax, cursor } = request.query as AuditPageQuery;
    const page = await audit.list({ record, limit, cursor }, (entry) => maySee(request.caller, entry));
    if (page.cursor !== undefined) reply.header('link', nextLink(request.url, page.cursor));
    return page.items;
  });
}

/** @param caller `undefined`: roles are not in use, so the caller may see everything. */
export function maySee(caller: Principal | undefined, { kind, subject, owner, team }: AuditEntry): boolean {
  if (caller === undefined || isAdmin(caller)) return true;
  // Changes made by commands, whose subjects are not callers.
  if (kind === 'user-configs' || kind === 'secrets') return false;
  if (subject === caller.subject) return true;
  // A consent is visible only to its user.
  if (kind === 'connections') return false;
  return mayChange(caller, { ...(owner !== undefined && { owner }), ...(team !== undefined && { team }) });
}
