// Who the caller is to the control plane, for programs and pages that offer only what the caller may do.
import type { FastifyInstance } from 'fastify';
import { mount } from '../mount.js';
import { operations } from '../operations.js';

export function mountCallerRoutes(app: FastifyInstance): void {
  mount(app, operations.whoAmI, async ({ subject, caller }) => {
    if (caller === undefined) return { subject, role: 'admin', teams: [] };
    return { subject, role: caller.role ?? null, teams: caller.teams };
  });
}
